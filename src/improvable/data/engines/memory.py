"""Rows in memory, in batches: what the other engines are measured and checked against."""

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw

from improvable.data.engines.batches import ROWS_PER_BATCH, Merge, T, Work, fold_in_threads
from improvable.data.frames import FrameLike, Rows, read_rows


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

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        frame = self.rows.frame.select(list(columns))
        batches = (Rows(frame[start : start + self.size]) for start in range(0, len(frame), self.size))
        return fold_in_threads(batches, work, merge, self.workers)


def open_memory(data: FrameLike, workers: int) -> Memory:
    return Memory(read_rows(data), workers)
