"""Rows in memory, in batches."""

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw

from improvable.data.engines.base import (
    ROWS_PER_BATCH,
    Merge,
    Opener,
    T,
    Work,
    fold_in_threads,
)
from improvable.data.frame import Rows, read_rows


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
    def notes(self) -> tuple[str, ...]:
        return self.rows.notes

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        rows = self.rows.select(columns)
        batches = (
            rows.take(slice(start, start + self.size))
            for start in range(0, len(rows), self.size)
        )
        return fold_in_threads(batches, work, merge, self.workers)


ENGINE = Opener(
    lambda data, workers, format_: Memory(read_rows(data, format_), workers),
    owns=lambda data: False,
)
