"""Dask data frames: partitions are counted where they are, in threads, in processes or
on a cluster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from improvable.data.engines.arrow import Arrow, open_files
from improvable.data.engines.base import Merge, Opener, T, Work, merge_all
from improvable.data.frame import Rows, read_rows, refuse_format
from improvable.data.io.csv import UNSAID, FileFormat
from improvable.errors import DataError, ImprovableError, one_line, require_extra

PARTS_PER_MERGE = 8


@dataclass(frozen=True)
class Dask:
    """A Dask data frame, on whatever scheduler or cluster is current; with its files,
    where we opened them.
    """

    frame: Any
    files: Arrow | None = None
    notes: tuple[str, ...] = ()
    backend: nw.Implementation = nw.Implementation.PANDAS

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        from dask import delayed

        shared = delayed(work, traverse=False)
        parts = [
            delayed(_work)(shared, part)
            for part in self.frame[list(columns)].to_delayed()
        ]
        while len(parts) > 1:
            starts = range(0, len(parts), PARTS_PER_MERGE)
            parts = [
                delayed(_merge)(merge, parts[start : start + PARTS_PER_MERGE])
                for start in starts
            ]
        try:
            found: T | None = parts[0].compute()
        except (ImprovableError, MemoryError):
            raise
        except Exception as error:
            if self.files is not None:
                self.files.refuse_damaged(columns)
            reason = one_line(f"{type(error).__name__}: {error}", 240)
            raise DataError(
                f"Dask could not finish: {reason}.",
                "Try the data frame's own compute() first.",
            ) from error
        return found


def _work(work: Work[T], part: Any) -> T | None:
    if not len(part):
        return None
    return work(Rows(nw.from_native(pl.from_pandas(part), eager_only=True)))


def _merge(merge: Merge[T], parts: Sequence[T | None]) -> T | None:
    return merge_all((part for part in parts if part is not None), merge)


def open_dask(data: Any, workers: int, format_: FileFormat = UNSAID) -> Dask:
    """A Dask frame, a path that Dask can read, or a frame in memory or other file, to
    be divided.
    """
    require_extra("this engine", "dask", "dask")
    require_extra("this engine", "pyarrow", "dask")
    import dask.dataframe as dd

    if isinstance(data, dd.DataFrame):
        refuse_format(format_)
        return Dask(data)
    files = open_files(data, workers, format_)
    if files is not None:
        paths, separator = files.dataset.files, files.separator
        frame = (
            dd.read_parquet(paths)
            if separator is None
            else dd.read_csv(paths, sep=separator)
        )
        return Dask(frame, files, files.notes)
    rows = read_rows(data, format_)
    whole = rows.frame.to_pandas().reset_index(drop=True)
    return Dask(dd.from_pandas(whole, npartitions=max(1, workers)), notes=rows.notes)


ENGINE = Opener(
    open_dask,
    owns=lambda data: type(data).__module__.startswith(("dask.", "dask_expr.")),
    reads_folders=True,
)
