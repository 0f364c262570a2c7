"""A progress bar per split with the stage it is in: on a terminal only, on standard error."""

import sys
from types import TracebackType
from typing import Any


class Progress:
    """Shows which stage each split is in. Silent unless enabled; a pickled copy (in a worker process) is silent."""

    def __init__(self, splits: int, done: int = 0, enabled: bool | None = None) -> None:
        self.splits = splits
        self.already = done
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Progress":
        if self.enabled:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("splits"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("starting", total=self.splits, completed=self.already)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def stage(self, split: int, name: str) -> None:
        """Split `split` has begun stage `name`."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"split {split}: {name}")

    def done(self) -> None:
        """One more split is finished."""
        if self._bar is not None:
            self._bar.advance(self._task)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Progress, (self.splits, 0, False))
