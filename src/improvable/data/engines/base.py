"""What an engine is: something that holds rows and can apply a function to every batch
of them.

An engine only moves batches. What is computed of a batch, and how two results become
one, is given to it; both are the same functions whatever the engine, and results may be
put together in any order.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

import narwhals as nw
import polars as pl

from improvable.data.frame import Rows
from improvable.data.io.csv import FileFormat
from improvable.errors import DataError, ImprovableError

T = TypeVar("T")
Work = Callable[[Rows], T]
Merge = Callable[[T, T], T]

# large enough that NumPy's loops outweigh Python's, small enough for a core's share of
# memory
ROWS_PER_BATCH = 1 << 18


class Engine(Protocol):
    """Where rows live."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    @property
    def backend(self) -> nw.Implementation:
        """The kind of frame that results are given in."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of how files were read."""

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        """Apply `work` to every batch of these columns and merge what it gives; None
        where there is no row.

        `merge` is associative and commutative. `work` must be picklable, and must not
        change anything.
        """


@dataclass(frozen=True)
class Opener:
    """How an engine opens data, whether data are its own by their nature, and whether
    it reads folders of files.
    """

    open: Callable[[Any, int, FileFormat], Engine]
    owns: Callable[[Any], bool]
    reads_folders: bool = False


@dataclass(frozen=True)
class Failure:
    """An error of our own inside a worker, brought home as a value, so that every
    engine raises it alike.
    """

    error: ImprovableError


def _guard(work: Work[Any], rows: Rows) -> Any:
    """Work that returns its errors instead of raising them."""
    try:
        return work(rows)
    except ImprovableError as error:
        return Failure(error)
    except UnicodeEncodeError as error:
        text = error.object[max(0, error.start - 20) : error.end]
        return Failure(
            DataError(
                f"{text!r} holds half of a character.",
                "Fix that value: no file can hold it.",
            )
        )


def _guard_merge(merge: Merge[Any], one: Any, other: Any) -> Any:
    """A merge that hands failures on: of two, always the same one."""
    failures = [part for part in (one, other) if isinstance(part, Failure)]
    if failures:
        return min(failures, key=lambda failure: str(failure.error))
    try:
        return merge(one, other)
    except ImprovableError as error:
        return Failure(error)


def run(engine: Engine, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T:
    """One pass over the data; no row at all is refused."""
    merging = partial(_guard_merge, merge)
    found: T | Failure | None = engine.fold(
        partial(_guard, work), list(dict.fromkeys(columns)), merging
    )
    if found is None:
        raise DataError(
            "the data have columns and no rows.",
            "An audit needs rows to learn from and to test on.",
        )
    if isinstance(found, Failure):
        raise found.error
    return found


def fold_batches(batches: Iterable[Rows], work: Work[T], merge: Merge[T]) -> T | None:
    """One after the other; batches without rows are passed over."""
    return merge_all((work(rows) for rows in batches if len(rows)), merge)


def fold_in_threads(
    batches: Iterable[Rows], work: Work[T], merge: Merge[T], workers: int
) -> T | None:
    """The same in several threads, with a few batches in memory at a time."""
    if workers == 1:
        return fold_batches(batches, work, merge)
    filled = (rows for rows in batches if len(rows))
    first = deque(islice(filled, 2))
    # a pool costs more than a small batch: joblib sleeps ten milliseconds before it
    # looks again
    if len(first) < 2:
        return fold_batches(first, work, merge)
    from joblib import Parallel, delayed, parallel_config

    # which holds no batch that was handed out
    every = chain((first.popleft() for _ in range(2)), filled)
    with parallel_config(backend="threading"):
        parts = Parallel(
            n_jobs=workers, return_as="generator_unordered", pre_dispatch="n_jobs"
        )(delayed(work)(rows) for rows in every)
        return merge_all(parts, merge)


def merge_all(parts: Iterable[T], merge: Merge[T]) -> T | None:
    """What all parts are together; None where there is none.

    Parts that hold equally many batches are merged first, as a binary counter carries:
    where parts grow as they are merged, work grows as n log n and not as the square of
    n.
    """
    # ever smaller powers of two, each with the merge of so many parts
    waiting: list[tuple[int, T]] = []
    for part in parts:
        size = 1
        while waiting and waiting[-1][0] == size:
            part = merge(waiting.pop()[1], part)
            size *= 2
        waiting.append((size, part))
    merged = [part for _, part in reversed(waiting)]
    return reduce(merge, merged) if merged else None


def arrow_rows(tables: Iterable[Any], columns: Sequence[str]) -> Iterator[Rows]:
    """Arrow tables or record batches as `Rows` of a good size: Polars frames, small
    pieces put together, large cut.
    """
    import pyarrow as pa

    def together(pieces: list[Any]) -> Rows:
        table = pa.concat_tables(pieces).select(list(columns))
        return Rows(nw.from_native(pl.DataFrame(pl.from_arrow(table)), eager_only=True))

    waiting: list[Any] = []
    for table in tables:
        whole = (
            pa.Table.from_batches([table])
            if isinstance(table, pa.RecordBatch)
            else table
        )
        for start in range(0, whole.num_rows, ROWS_PER_BATCH):
            waiting.append(whole.slice(start, ROWS_PER_BATCH))
            if sum(piece.num_rows for piece in waiting) >= ROWS_PER_BATCH:
                yield together(waiting)
                waiting = []
    if waiting:
        yield together(waiting)
