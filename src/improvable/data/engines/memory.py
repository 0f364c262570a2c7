"""Rows in memory, in batches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import narwhals as nw

from improvable.data.engines.batches import ROWS_PER_BATCH, Merge, T, Work, fold_in_threads
from improvable.data.formats import UNSAID, FileFormat, Note
from improvable.data.frames import FrameLike, Rows, read_rows

if TYPE_CHECKING:
    from improvable.data.keys import Keying


@dataclass(frozen=True)
class Memory:
    """A frame of any library that narwhals knows."""

    rows: Rows
    workers: int
    size: int = ROWS_PER_BATCH

    @property
    def columns(self) -> list[str]:
        return self.rows.columns

    @property
    def backend(self) -> nw.Implementation:
        backend: nw.Implementation = self.rows.frame.implementation
        return backend

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.rows.notes

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        rows = self.rows.select(columns)
        batches = (rows.take(slice(start, start + self.size)) for start in range(0, len(rows), self.size))
        return fold_in_threads(batches, work, merge, self.workers)

    def keyed(self, keying: "Keying", columns: Sequence[str], row_id: str | None = None) -> "Memory":
        """The same rows with their keys: equal rows are told apart by how often they have occurred."""
        from improvable.data.keys import tell_apart  # which reads engines

        keys = tell_apart(self.rows, keying, columns, row_id, self.workers)
        return replace(self, rows=replace(self.rows, keys=keys))

    def alone(self) -> "Memory":
        """The same rows for one worker among others."""
        return replace(self, workers=1)


def open_memory(data: FrameLike, workers: int, format_: FileFormat = UNSAID) -> Memory:
    return Memory(read_rows(data, format_), workers)
