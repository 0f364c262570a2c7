"""DuckDB relations, streamed as Arrow record batches: DuckDB reads, we count."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from improvable.data.engines.base import ROWS_PER_BATCH, Merge, T, Work, arrow_rows, fold_in_threads
from improvable.data.frame import Rows, refuse_format
from improvable.data.io.csv import UNSAID, FileFormat, Note
from improvable.errors import DataError, require_extra


@dataclass(frozen=True)
class DuckDB:
    """A relation: a table, a view or a query, which DuckDB evaluates anew in every pass."""

    relation: Any
    workers: int
    notes: tuple[Note, ...] = ()

    @property
    def columns(self) -> list[str]:
        names: list[str] = list(self.relation.columns)
        return names

    @property
    def backend(self) -> nw.Implementation:
        return nw.Implementation.POLARS

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        return fold_in_threads(self._batches(columns), work, merge, self.workers)

    def _batches(self, columns: Sequence[str]) -> Iterator[Rows]:
        import duckdb

        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        try:
            yield from arrow_rows(self.relation.project(quoted).to_arrow_reader(ROWS_PER_BATCH), columns)
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            raise DataError(f"DuckDB cannot read the rows: {reason}.", "Try the query in DuckDB first.") from error


def open_duckdb(data: Any, workers: int, format_: FileFormat = UNSAID) -> DuckDB:
    refuse_format(format_)
    require_extra("this engine", "pyarrow", "duckdb")
    return DuckDB(data, workers)
