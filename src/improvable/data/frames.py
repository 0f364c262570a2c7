"""The only door for data frames: reading, column roles, validation, and one canonical order of rows."""

import csv
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
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

MOST_EXACT_INTEGER = 2**53
MISSING_MARKS = ["", "NA", "NaN", "nan", "null", "NULL"]


@dataclass(frozen=True)
class Rows:
    """Some rows of a data frame, whatever library the frame came from."""

    frame: nw.DataFrame[Any]
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
                column = pl.Series(name, values if self.is_date(name) else [_text(value) for value in values])
            columns.append(column)
        return pl.DataFrame(columns)

    def take(self, index: IntArray) -> "Rows":
        return Rows(self.frame[index])


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


def keep_complete(rows: Rows, numeric: Sequence[str], labels: Sequence[str], drop_missing: bool) -> tuple[Rows, int]:
    """Refuse rows with missing or infinite values in the named columns, or drop them and count them."""
    bad = incomplete(rows, numeric, labels)
    if not bad:
        return rows, 0
    keep = ~np.logical_or.reduce(list(bad.values()))
    dropped = int((~keep).sum())
    check_complete({name: int(flags.sum()) for name, flags in bad.items()}, dropped, len(rows), drop_missing)
    return rows.take(np.flatnonzero(keep)), dropped


def incomplete(rows: Rows, numeric: Sequence[str], labels: Sequence[str]) -> dict[str, BoolArray]:
    """Which rows have missing or infinite values, for each of the named columns that has any."""
    rows.require([*numeric, *labels])
    bad: dict[str, BoolArray] = {name: ~np.isfinite(rows.numbers(name)) for name in dict.fromkeys(numeric)}
    for name in dict.fromkeys(labels):
        bad[name] = missing_labels(rows, name)
    return {name: flags for name, flags in bad.items() if flags.any()}


def check_complete(holes: Mapping[str, int], dropped: int, rows: int, drop_missing: bool) -> None:
    """Refuse holes, by column, unless they may be dropped and leave something."""
    if holes and not drop_missing:
        listed = ", ".join(f"{count:,} in '{name}'" for name, count in holes.items())
        raise DataError(
            f"missing or infinite values: {listed}.",
            "Mend them, or drop those rows with drop_missing=True (--drop-missing).",
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
    labelled = sorted((label_text(value), value) for value in values)
    codes = np.empty(len(rows), dtype=np.int64)
    for code, (_, value) in enumerate(labelled):
        codes[np.asarray((series == value).to_numpy(), dtype=np.bool_)] = code
    return tuple(label for label, _ in labelled), codes


def identities(rows: Rows, name: str) -> IntArray:
    """Which of the distinct values of a column each row has, numbered the same in any row order or frame library."""
    _, codes = np.unique(column_bits(rows, name), return_inverse=True)
    return codes.astype(np.int64)


def _text(value: Any) -> str | None:
    if value is None or type(value).__name__ == "NAType" or value != value:  # pandas' NA is not even equal to itself
        return None
    return str(value)


def _texts(series: nw.Series[Any]) -> list[str | None]:
    """Values as texts; of times, also what is below a microsecond, which Python's own times leave away."""
    texts = [_text(value) for value in series.to_list()]
    if series.dtype == nw.Datetime and getattr(series.dtype, "time_unit", "") == "ns":
        below = [stamp % 1000 if stamp is not None else 0 for stamp in series.dt.timestamp("ns").to_list()]
        texts = [f"{text} {rest} ns" if text and rest else text for text, rest in zip(texts, below, strict=True)]
    return texts


def label_text(value: object) -> str:
    """The same text for 1, 1.0 and numpy's versions of them, so that frame libraries agree."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def content_keys(rows: Rows, columns: Sequence[str] | None = None) -> NDArray[np.uint64]:
    """A 64-bit key of each row's content, the same in any frame library, row order or column order."""
    keys = np.zeros(len(rows), dtype=np.uint64)
    for name in sorted(rows.columns if columns is None else columns):
        keys = mix(keys ^ mix(column_bits(rows, name) ^ np.uint64(digest(name))))
    return keys


def column_bits(rows: Rows, name: str) -> NDArray[np.uint64]:
    """64 bits of each value of a column, the same in any frame library and for numbers of any width."""
    if not rows.is_numeric(name):
        return _text_bits(rows.frame[name])
    values = rows.read_numbers(name) + 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan  # one NaN among its many bit patterns
    bits = values.view(np.uint64)
    rough = _beyond_floats(rows, name, values)
    if rough.any():  # value by value, so that no other row of a batch matters
        exact = _exact_texts(rows.frame[name])
        bits[rough] = [digest(f"#{exact[row]}") for row in np.flatnonzero(rough)]
    return bits


def _beyond_floats(rows: Rows, name: str, values: FloatArray) -> BoolArray:
    """Which numbers a float would run together with others: long ids, decimals with many digits."""
    dtype = rows.frame[name].dtype
    if not (dtype.is_integer() or dtype.is_decimal()):
        return np.zeros(len(values), dtype=np.bool_)
    rough = np.abs(values) >= MOST_EXACT_INTEGER
    if dtype.is_decimal():
        pairs = zip(rows.frame[name].to_list(), values.tolist(), strict=True)
        rough |= np.array([value is not None and Decimal(rounded) != value for value, rounded in pairs])
    return rough


def _exact_texts(series: nw.Series[Any]) -> list[str | None]:
    """Numbers with all their digits, the same for whole numbers and decimals."""
    values = [None if _text(value) is None else Decimal(str(value)) for value in series.to_list()]
    return [None if value is None else f"{value.normalize():f}" for value in values]


def exact_column(rows: Rows, name: str, order: IntArray) -> bytes:
    """A column's values in a given order, as bytes that are the same in any frame library and number type."""
    kind, texts = b"text", None
    if rows.is_numeric(name):
        if not _beyond_floats(rows, name, rows.read_numbers(name)).any():
            return b"numbers" + column_bits(rows, name)[order].astype("<u8").tobytes()
        kind, texts = b"digits", _exact_texts(rows.frame[name])
    texts = _texts(rows.frame[name]) if texts is None else texts
    levels = sorted({text for text in texts if text is not None})
    place: dict[str | None, int] = {text: code for code, text in enumerate(levels)} | {None: -1}
    codes = np.fromiter(map(place.__getitem__, texts), dtype=np.int64, count=len(texts))
    listed = b"".join(len(text.encode()).to_bytes(8, "little") + text.encode() for text in levels)
    return kind + len(levels).to_bytes(8, "little") + listed + codes[order].astype("<i8").tobytes()


def canonical_order(rows: Rows, *columns: Sequence[str]) -> IntArray:
    """The order of rows by the content of the first columns named, ties by the next; by default of all columns."""
    return np.lexsort([content_keys(rows, names) for names in reversed(columns or (rows.columns,))])


def _text_bits(series: nw.Series[Any]) -> NDArray[np.uint64]:
    values = series.to_list()
    if series.dtype != nw.String or bool(series.is_null().any()):
        values = _texts(series)
    digests = {text: digest("" if text is None else f"={text}") for text in set(values)}
    return np.fromiter(map(digests.__getitem__, values), dtype=np.uint64, count=len(values))


def digest(text: str) -> int:
    """64 bits of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every input bit moves every output bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def build_frame(columns: dict[str, list[Any]], backend: Any) -> Any:
    """A frame of the caller's own kind."""
    return nw.from_dict(columns, backend=backend).to_native()
