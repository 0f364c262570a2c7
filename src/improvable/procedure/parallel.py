"""Several repetitions at a time: workers, their threads, and a progress bar that shows
the stage of each.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

from improvable.errors import OptionError

T = TypeVar("T")
LOOKING = "reading and looking at the data"


def worker_count(n_jobs: int | None, *, own_code: bool = False) -> int:
    """How many workers `n_jobs` means: -1 is all cores, -2 all but one, and None all
    cores too.

    None is one worker where the caller's own code runs, which may keep state that
    threads would share.
    """
    from joblib import cpu_count

    if n_jobs is None:
        n_jobs = 1 if own_code else -1
    if n_jobs == 0:
        raise OptionError("n_jobs is 0.", "Give 1 or more, or -1 for all cores.")
    return int(n_jobs) if n_jobs > 0 else max(1, cpu_count() + 1 + int(n_jobs))


def limited_threads(workers: int, repetitions: int) -> AbstractContextManager[Any]:
    """Keep `workers` cores busy and no more: repetitions first, then the estimators'
    own threads.

    BLAS always gets one thread, because it may round differently with another number of
    them.
    """
    import sklearn  # noqa: F401  loads OpenMP: what is loaded later would not be limited

    return _limited({"blas": 1, "openmp": max(1, workers // repetitions)})


def one_blas_thread() -> AbstractContextManager[Any]:
    """The same for work that fits no estimator, which need not load them."""
    return _limited({"blas": 1})


def _limited(threads: dict[str, int]) -> AbstractContextManager[Any]:
    """Libraries are looked for again, which takes longer than many a repetition, if a
    module was imported since.
    """
    limit: AbstractContextManager[Any] = _libraries(frozenset(sys.modules)).limit(
        limits=threads
    )
    return limit


@lru_cache(maxsize=1)
def _libraries(_imported: frozenset[str]) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_parallel(
    work: Callable[..., T],
    jobs: Iterable[tuple[Any, ...]],
    workers: int,
    take: Callable[[T], None],
) -> None:
    """Run jobs on joblib's current backend, threads unless the caller chose another.

    `take` gets results in order as they are ready, or all at once from a registered
    backend that cannot stream. Of several errors, that of the first job is raised,
    whichever came first.
    """
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    streams = getattr(backend, "supports_return_generator", False)
    wanted = True
    calls = (
        delayed(_one_of_several)(work, job, workers, os.getpid())
        for job in takewhile(lambda _: wanted, jobs)
    )
    done: Iterable[T | _Failed] = Parallel(
        n_jobs=workers,
        prefer="threads",
        pre_dispatch="n_jobs",
        return_as="generator" if streams else "list",
    )(calls)
    try:
        for one in done:
            if isinstance(one, _Failed):
                raise one.error
            take(one)
    except BaseException as error:
        wanted = False
        if isinstance(error, Exception):  # whoever interrupts does not wait
            # jobs that have begun end; joblib would warn of any that nobody waits for
            for _ in done:
                pass
        raise


class _Failed(NamedTuple):
    """An error brought home as a value, so that errors come in the order of the
    jobs.
    """

    error: Exception


def _one_of_several(
    work: Callable[..., T], job: tuple[Any, ...], workers: int, parent: int
) -> T | _Failed:
    """Run a job beside others: its estimators start no workers of their own, and a
    process gets one core.
    """
    from joblib import parallel_config

    with ExitStack() as held:
        if workers > 1:
            held.enter_context(parallel_config(backend="sequential"))
        if os.getpid() != parent:
            held.enter_context(limited_threads(workers=1, repetitions=1))
        try:
            return work(*job)
        except Exception as error:
            return _Failed(error)


@contextmanager
def announced(text: str, enabled: bool | None = None) -> Iterator[None]:
    """Say what is being done before the first repetition; by default on a terminal
    only, as `Progress` does.
    """
    if not (sys.stderr.isatty() if enabled is None else enabled):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


class Progress:
    """Shows the stage of each repetition. Silent unless enabled; a pickled copy (in a
    worker process) is silent.
    """

    def __init__(
        self, repetitions: int, done: int = 0, enabled: bool | None = None
    ) -> None:
        self.repetitions, self.already = repetitions, done
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        if self.enabled:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
            )
            from rich.progress import Progress as Bar

            texts = TextColumn("repetitions"), TextColumn("{task.description}")
            columns = (
                texts[0],
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                texts[1],
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(
                "starting", total=self.repetitions, completed=self.already
            )
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def stage(self, repetition: int, name: str) -> None:
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0], description=f"repetition {repetition}: {name}"
            )

    def done(self) -> None:
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Progress, (self.repetitions, 0, False))
