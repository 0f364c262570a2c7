"""Dask data frames: partitions are counted where they are, in threads, in processes or on a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw

from improvable.data.engines.arrow import Arrow, open_arrow, separator_of, streams
from improvable.data.engines.base import Merge, T, Work, merge_all
from improvable.data.frame import Rows, read_rows, refuse_format
from improvable.data.io.csv import UNSAID, FileFormat, Note
from improvable.errors import DataError, ImprovableError, require_extra

PARTS_PER_MERGE = 8


@dataclass(frozen=True)
class Dask:
    """A Dask data frame, on whatever scheduler or cluster is current; with its files, where we opened them."""

    frame: Any
    files: Arrow | None = None
    notes: tuple[Note, ...] = ()

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    @property
    def backend(self) -> nw.Implementation:
        return nw.Implementation.PANDAS

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        from dask import delayed

        shared = delayed(work, traverse=False)
        parts = [delayed(_work)(shared, part) for part in self.frame[list(columns)].to_delayed()]
        while len(parts) > 1:
            starts = range(0, len(parts), PARTS_PER_MERGE)
            parts = [delayed(_merge)(merge, parts[start : start + PARTS_PER_MERGE]) for start in starts]
        try:
            found: T | None = parts[0].compute()
        except (ImprovableError, MemoryError):
            raise
        except Exception as error:
            if self.files is not None:
                self.files.refuse_damaged(columns)
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:240].rstrip(".")
            raise DataError(f"Dask could not finish: {reason}.", "Try the data frame's own compute() first.") from error
        return found


def _work(work: Work[T], part: Any) -> T | None:
    import polars as pl

    if not len(part):
        return None
    return work(Rows(nw.from_native(pl.from_pandas(part), eager_only=True)))


def _merge(merge: Merge[T], parts: Sequence[T | None]) -> T | None:
    return merge_all((part for part in parts if part is not None), merge)


def open_dask(data: Any, workers: int, format_: FileFormat = UNSAID) -> Dask:
    """A Dask frame, a path that Dask can read, or a frame in memory or other file, to be divided."""
    require_extra("this engine", "dask", "dask")
    require_extra("this engine", "pyarrow", "dask")
    import dask.dataframe as dd

    if isinstance(data, dd.DataFrame):
        refuse_format(format_)
        return Dask(data)
    if isinstance(data, str | Path):
        path = Path(data)
        separator = separator_of(path, format_)
        if separator is not None:
            files = open_arrow(data, workers, format_)
            return Dask(dd.read_csv(str(path), sep=separator), files, files.notes)
        if streams(path):
            files = open_arrow(data, workers, format_)
            return Dask(dd.read_parquet(files.dataset.files), files)
    rows = read_rows(data, format_)
    whole = rows.frame.to_pandas().reset_index(drop=True)
    return Dask(dd.from_pandas(whole, npartitions=max(1, workers)), notes=rows.notes)
