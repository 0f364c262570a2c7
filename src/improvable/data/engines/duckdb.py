"""DuckDB relations, streamed as Arrow record batches: DuckDB reads, we count."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from improvable.data.engines.base import (
    ROWS_PER_BATCH,
    Merge,
    Opener,
    T,
    Work,
    arrow_rows,
    fold_in_threads,
)
from improvable.data.frame import Rows, refuse_format
from improvable.data.io.csv import UNSAID, FileFormat
from improvable.errors import DataError, OptionError, one_line, require_extra


@dataclass(frozen=True)
class DuckDB:
    """A relation: a table, a view or a query, which DuckDB evaluates anew in every
    pass.
    """

    relation: Any
    workers: int
    notes: tuple[str, ...] = ()
    backend: nw.Implementation = nw.Implementation.POLARS

    @property
    def columns(self) -> list[str]:
        return list(self.relation.columns)

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        return fold_in_threads(self._batches(columns), work, merge, self.workers)

    def _batches(self, columns: Sequence[str]) -> Iterator[Rows]:
        import duckdb

        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        try:
            yield from arrow_rows(
                self.relation.project(quoted).to_arrow_reader(ROWS_PER_BATCH), columns
            )
        except duckdb.Error as error:
            reason = one_line(error)
            raise DataError(
                f"DuckDB cannot read the rows: {reason}.",
                "Try the query in DuckDB first.",
            ) from error


def open_duckdb(data: Any, workers: int, format_: FileFormat = UNSAID) -> DuckDB:
    if not ENGINE.owns(data):
        raise OptionError(
            "engine 'duckdb' reads relations.",
            "Give one, such as duckdb.sql('select ...').",
        )
    refuse_format(format_)
    require_extra("this engine", "pyarrow", "duckdb")
    return DuckDB(data, workers)


ENGINE = Opener(
    open_duckdb,
    owns=lambda data: type(data).__module__.startswith(("duckdb", "_duckdb")),
)
