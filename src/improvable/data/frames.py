"""The only door for data frames: reading, columns as numbers or labels, what is missing."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.errors import DataError, UnknownColumnError, nearest

FrameLike: TypeAlias = Any
"""A data frame narwhals knows (pandas, Polars, PyArrow, ...), a path to CSV or Parquet, or `Rows`."""

MISSING_MARKS = ["", "NA", "NaN", "nan", "null", "NULL"]


@dataclass(frozen=True)
class Rows:
    """Some rows of a data frame, whatever library the frame came from; with their keys where these are known."""

    frame: nw.DataFrame[Any]
    keys: NDArray[np.uint64] | None = field(default=None, repr=False, compare=False)
    _kept: dict[str, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        return self.frame.columns

    def require(self, names: Iterable[str]) -> None:
        """Raise for the first name that is not a column, with the nearest ones that are."""
        for name in names:
            if name not in self.columns:
                raise UnknownColumnError(f"there is no column '{name}'.", nearest(name, self.columns))

    def is_numeric(self, name: str) -> bool:
        dtype = self.frame[name].dtype
        return bool(dtype.is_numeric()) or dtype == nw.Boolean

    def is_date(self, name: str) -> bool:
        """Whether a column holds dates: typed as such, or Python dates in a column of objects."""
        dtype = self.frame[name].dtype
        if dtype in (nw.Date, nw.Datetime) or dtype != nw.Object:
            return dtype in (nw.Date, nw.Datetime)
        return all(isinstance(value, date) for value in self.frame[name].to_list() if value is not None)

    def numbers(self, name: str) -> FloatArray:
        """A column as float64; missing values become NaN. Text is refused. Read once and kept, so not to be changed."""
        if name not in self._kept:
            values = self.read_numbers(name).view()  # the flag is ours, the numbers may be the caller's
            values.setflags(write=False)
            self._kept[name] = values
        return self._kept[name]

    def read_numbers(self, name: str) -> FloatArray:
        """The same without keeping it, for the many columns that are read once."""
        self.require([name])
        series = self.frame[name]
        if not self.is_numeric(name):
            if bool(series.is_null().all()):
                return np.full(len(self), np.nan)
            example = str(next(v for v in series.to_list() if v is not None))
            raise DataError(
                f"column '{name}' holds text such as '{example[:40]}' where numbers are needed.",
                "Name a numeric column, or turn this one into numbers first.",
            )
        if series.dtype == nw.Boolean:
            series = series.cast(nw.Int8)
        if series.implementation.is_pyarrow():  # which refuses whole numbers that float64 can only round
            series = nw.from_native(series.to_polars(), series_only=True)
        return np.ascontiguousarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)

    def matrix(self, names: Sequence[str]) -> FloatArray:
        """Several numeric columns side by side, shape (rows, columns)."""
        out = np.empty((len(self), len(names)), order="F")  # written, and read by estimators, column by column
        for j, name in enumerate(names):
            out[:, j] = self.read_numbers(name)
        return out

    def native(self, names: Sequence[str] | None = None) -> Any:
        """The rows as a frame of the caller's own kind."""
        return (self.frame if names is None else self.frame.select(list(names))).to_native()

    def polars(self, names: Sequence[str]) -> Any:
        """Columns as a Polars frame, the same whatever library they came from: numbers, dates or text."""
        import polars as pl

        columns = []
        for name in names:
            if self.is_numeric(name):
                column = pl.Series(name, self.numbers(name)).fill_nan(None)
            else:
                values = self.frame[name].to_list()
                column = pl.Series(name, values if self.is_date(name) else [text_of(value) for value in values])
            columns.append(column)
        return pl.DataFrame(columns)

    def take(self, index: IntArray | slice) -> "Rows":
        return Rows(self.frame[index], None if self.keys is None else self.keys[index])

    def select(self, names: Sequence[str]) -> "Rows":
        """Some of the columns."""
        return Rows(self.frame.select(list(names)), self.keys)


def read_rows(data: FrameLike) -> Rows:
    """Open any data frame, or a CSV or Parquet file, as `Rows`.

    Examples
    --------
    >>> import polars as pl
    >>> len(read_rows(pl.DataFrame({"outcome": [1, 2], "group": ["a", "b"]})))
    2
    """
    if isinstance(data, Rows):
        return data
    if isinstance(data, str | PathLike):
        frame = _read_file(Path(data))
        named = f"'{data}'"
    else:
        try:
            opened = nw.from_native(data)
        except TypeError as error:
            raise DataError(
                f"a {type(data).__name__} is not a data frame.",
                "Give a pandas, Polars or PyArrow frame, or a path to a CSV or Parquet file.",
            ) from error
        except ValueError as error:
            if "unique" not in str(error) and "duplicate" not in str(error).lower():
                raise
            raise DataError(
                f"the data frame has duplicate column names: {_one_line(error)}.", "Rename them."
            ) from error
        frame = opened.collect() if isinstance(opened, nw.LazyFrame) else opened
        named = "the data frame"
    duplicates = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if duplicates:
        raise _duplicate_columns(named, duplicates)
    if len(frame) == 0:
        raise DataError(f"{named} has a header and no rows.", "An audit needs rows to learn from and to test on.")
    return Rows(frame)


def _read_file(path: Path) -> nw.DataFrame[Any]:
    import polars as pl

    if path.is_dir():
        raise DataError(f"'{path}' is a folder.", "Give a CSV or Parquet file.")
    if not path.exists():
        beside = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        raise DataError(f"there is no file '{path}'.", nearest(path.name, beside) if beside else "Check the path.")
    if path.stat().st_size == 0:
        raise DataError(f"'{path}' is empty.", "Give a file with a header and rows.")
    kind = path.name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
    try:
        if kind in ("parquet", "pq"):
            return nw.from_native(pl.read_parquet(path), eager_only=True)
        if kind in ("csv", "tsv", "txt"):
            separator = "\t" if kind == "tsv" else ","
            if not path.name.lower().endswith(".gz"):
                _refuse_duplicate_header(path, separator)
            table = pl.read_csv(path, separator=separator, infer_schema_length=None, null_values=MISSING_MARKS)
            return nw.from_native(table, eager_only=True)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise DataError(
            f"'{path}' cannot be read: {_one_line(error)}.", "Is it a plain CSV or Parquet file?"
        ) from error
    raise DataError(f"'{path}' is of an unknown kind.", "Give a file that ends in .csv, .csv.gz, .tsv or .parquet.")


def _refuse_duplicate_header(path: Path, separator: str) -> None:
    with path.open(newline="", encoding="utf-8-sig") as file:
        header = next(csv.reader(file, delimiter=separator), [])
    duplicates = sorted({name for name in header if header.count(name) > 1})
    if duplicates:
        raise _duplicate_columns(f"'{path}'", duplicates)


def _duplicate_columns(named: str, duplicates: list[str]) -> DataError:
    return DataError(f"{named} has duplicate column names: {', '.join(map(repr, duplicates))}.", "Rename them.")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


def missing_labels(rows: Rows, name: str) -> BoolArray:
    """Which rows have no value in a column of labels."""
    series = rows.frame[name]
    missing = series.is_null().to_numpy()
    if series.dtype.is_float():
        missing = missing | np.isnan(rows.numbers(name))
    return np.asarray(missing, dtype=np.bool_)


def incomplete(rows: Rows, numeric: Sequence[str], labels: Sequence[str]) -> dict[str, BoolArray]:
    """Which rows have missing or infinite values, for each of the named columns that has any."""
    rows.require([*numeric, *labels])
    bad: dict[str, BoolArray] = {name: ~np.isfinite(rows.numbers(name)) for name in dict.fromkeys(numeric)}
    for name in dict.fromkeys(labels):
        bad[name] = missing_labels(rows, name)
    return {name: flags for name, flags in bad.items() if flags.any()}


def check_complete(missing: Mapping[str, int], dropped: int, rows: int, drop_missing: bool) -> None:
    """Refuse missing values, by column, unless they may be dropped and leave something."""
    if missing and not drop_missing:
        listed = ", ".join(f"{count:,} in '{name}'" for name, count in missing.items())
        raise DataError(
            f"missing or infinite values: {listed}.",
            "Fix them, or drop those rows with drop_missing=True (--drop-missing).",
        )
    if dropped == rows:
        raise DataError("every row has a missing or infinite value in a needed column.", "Check the columns named.")


def labels_of(rows: Rows, name: str, most: int) -> tuple[tuple[str, ...], IntArray]:
    """The levels of a column of labels, sorted, and the level of every row."""
    rows.require([name])
    series = rows.frame[name]
    values = series.unique().to_list()
    if len(values) > most:
        raise DataError(
            f"column '{name}' has {len(values):,} levels; a group column has at most {most}.",
            "Name the column that says which group a row belongs to.",
        )
    labelled = sorted((labeltext_of(value), value) for value in values)
    codes = np.empty(len(rows), dtype=np.int64)
    for code, (_, value) in enumerate(labelled):
        codes[np.asarray((series == value).to_numpy(), dtype=np.bool_)] = code
    return tuple(label for label, _ in labelled), codes


def text_of(value: Any) -> str | None:
    """A value as a text; None where it is missing."""
    if value is None or type(value).__name__ == "NAType" or value != value:  # pandas' NA is not even equal to itself
        return None
    return str(value)


def labeltext_of(value: object) -> str:
    """The same text for 1, 1.0 and numpy's versions of them, so that frame libraries agree."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def build_frame(columns: dict[str, list[Any]], backend: Any) -> Any:
    """A frame of the caller's own kind."""
    return nw.from_dict(columns, backend=backend).to_native()
