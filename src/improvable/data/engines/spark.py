"""Spark data frames: batches are counted inside the executors, through `mapInArrow`."""

import os
import pickle
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw

from improvable.data.engines.arrow import Arrow, open_files
from improvable.data.engines.base import (
    Merge,
    Opener,
    T,
    Work,
    arrow_rows,
    fold_batches,
    merge_all,
)
from improvable.data.frame import read_rows, refuse_format
from improvable.data.io.csv import UNSAID, FileFormat
from improvable.errors import DataError, OptionError, one_line, require_extra


@dataclass(frozen=True)
class Spark:
    """A Spark data frame, in whatever session it belongs to; with its files, where we
    opened them.
    """

    frame: Any
    files: Arrow | None = None
    notes: tuple[str, ...] = ()
    backend: nw.Implementation = nw.Implementation.POLARS

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        names = [f"`{name.replace('`', '``')}`" for name in columns]
        counted = self.frame.select(*names).mapInArrow(
            _Partition(work, tuple(columns), merge), "part binary"
        )
        try:
            parts = counted.collect()
        except Exception as error:
            if self.files is not None:
                self.files.refuse_damaged(columns)
            raise _unfinished(error) from error
        return merge_all((pickle.loads(bytes(part["part"])) for part in parts), merge)


@dataclass(frozen=True)
class _Partition:
    """What runs inside an executor: one partition's batches become one pickled part."""

    work: Any
    columns: tuple[str, ...]
    merge: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        found = fold_batches(arrow_rows(batches, self.columns), self.work, self.merge)
        if found is not None:
            yield pa.RecordBatch.from_pydict(
                {"part": pa.array([pickle.dumps(found)], type=pa.binary())}
            )


def _unfinished(error: Exception) -> DataError:
    """One line for the many in which Spark says what went wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [
        line
        for line in lines
        if ("Error" in line or "Exception" in line) and not line.startswith("at ")
    ]
    reason = one_line((telling or lines or [type(error).__name__])[-1], 240)
    hint = "Try the data frame's own count() first."
    if "No module named 'improvable'" in reason:
        hint = (
            "Spark's Python must have improvable installed; the variable "
            "PYSPARK_PYTHON says which it is."
        )
    return DataError(f"Spark could not finish: {reason}.", hint)


def open_spark(data: Any, workers: int, format_: FileFormat = UNSAID) -> Spark:
    """A Spark frame, a path that Spark can read, or a frame in memory or other file,
    sent to it.
    """
    require_extra("this engine", "pyspark", "spark")
    require_extra("this engine", "pyarrow", "spark")
    if hasattr(data, "mapInArrow"):
        refuse_format(format_)
        return Spark(data)
    session = _session(workers)
    # Spark's own working folder may be another
    path = Path(data).resolve() if isinstance(data, str) else data
    files = open_files(path, workers, format_)
    if files is None:
        rows = read_rows(data, format_)
        return Spark(session.createDataFrame(rows.frame.to_arrow()), notes=rows.notes)
    if files.separator is None:
        return Spark(session.read.parquet(*files.dataset.files), files)
    from pyspark.sql.pandas.types import from_arrow_schema

    reader = session.read.schema(from_arrow_schema(files.dataset.schema)).option(
        "sep", files.separator
    )
    return Spark(reader.csv(str(path), header=True), files, files.notes)


def _session(workers: int) -> Any:
    """The session that is there, or one on this machine, with this Python."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise OptionError(
            "Spark needs Java, and there is none.",
            "Install a Java runtime, or use another engine.",
        )
    # Spark would take the python3 of the path
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master(f"local[{workers}]")
        .appName("improvable")
        .getOrCreate()
    )


ENGINE = Opener(
    open_spark,
    owns=lambda data: type(data).__module__.startswith("pyspark"),
    reads_folders=True,
)
