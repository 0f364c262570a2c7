"""The only door for data frames: columns as numbers or labels, what is missing."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.data.io.csv import UNSAID, FileFormat
from improvable.data.io.read import read_file, refuse_duplicates
from improvable.errors import (
    DataError,
    OptionError,
    UnknownColumnError,
    nearest,
    one_line,
)

NUMBERS = (bool, int, float, Decimal, np.number, np.bool_)
# a data frame narwhals knows (pandas, Polars, PyArrow, ...), a path to a file, or
# `Rows`
FrameLike: TypeAlias = Any

ISO_DATE = (
    r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$"
)
"""A day, perhaps with a time, perhaps with a zone."""


@dataclass(frozen=True)
class Rows:
    """Rows of a data frame of any library; with their keys where these are known, and
    notes on how a file was read.
    """

    frame: nw.DataFrame[Any]
    keys: NDArray[np.uint64] | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _kept: dict[str, FloatArray] = field(
        default_factory=dict, repr=False, compare=False
    )
    _kinds: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        return self.frame.columns

    @cached_property
    def _known(self) -> frozenset[str]:
        """The columns as a set: with thousands of them, looking each up in a list takes
        their square.
        """
        return frozenset(self.frame.columns)

    @cached_property
    def _native(self) -> Any:
        return self.frame.to_native()

    def column(self, name: str) -> Any:
        """A column as Polars has it, which takes a tenth of narwhals' time, or else as
        narwhals has it.
        """
        return (
            self._native if isinstance(self._native, pl.DataFrame) else self.frame
        ).get_column(name)

    def require(self, names: Iterable[str]) -> None:
        if unknown := [name for name in names if name not in self._known]:
            require_columns(self.columns, unknown)

    def kind(self, name: str) -> Any:
        """The type of a column, asked once: with thousands of columns asking takes most
        of the time.
        """
        if name not in self._kinds:
            self._kinds[name] = self.frame.get_column(name).dtype
        return self._kinds[name]

    def is_numeric(self, name: str) -> bool:
        dtype = self.kind(name)
        return bool(dtype.is_numeric()) or dtype in (nw.Boolean, nw.Duration)

    def is_date(self, name: str) -> bool:
        """Whether a column holds dates: typed as such, Python dates among objects, or
        strings as ISO 8601 has them.
        """
        dtype = self.kind(name)
        # the same dates in a CSV file, which has no types, and in a Parquet file are
        # dates
        if dtype == nw.String:
            given = self.frame[name].drop_nulls()
            return len(given) > 0 and bool(given.str.contains(ISO_DATE).all())
        if dtype == nw.Object:
            return all(
                isinstance(value, date)
                for value in self.frame[name].to_list()
                if value is not None
            )
        return dtype in (nw.Date, nw.Datetime)

    def is_nested(self, name: str) -> bool:
        """Whether a column holds lists, records or anything else that has no levels."""
        dtype = self.kind(name)
        if dtype != nw.Object:
            return bool(dtype.is_nested())
        return not all(
            isinstance(value, Hashable) for value in self.frame[name].to_list()
        )

    def numbers(self, name: str) -> FloatArray:
        """A column as float64, missing values as NaN; strings are refused. Read once
        and kept: do not change it.
        """
        if name not in self._kept:
            # the flag is ours, the numbers may be the caller's
            values = self.read_numbers(name).view()
            values.setflags(write=False)
            self._kept[name] = values
        return self._kept[name]

    def read_numbers(self, name: str) -> FloatArray:
        """The same without keeping it, for the many columns that are read once."""
        self.require([name])
        series, dtype = self.column(name), self.kind(name)
        plain = dtype.is_numeric() or dtype == nw.Boolean
        if isinstance(series, pl.Series):
            if plain:
                return np.ascontiguousarray(
                    series.cast(pl.Float64).to_numpy(), dtype=np.float64
                )
            series = self.frame.get_column(name)
        if not self.is_numeric(name):
            return _numbers_in(name, series)
        if (
            plain
            and series.implementation.is_pandas()
            and isinstance(series.to_native().dtype, np.dtype)
        ):
            return np.ascontiguousarray(series.to_native(), dtype=np.float64)
        if dtype == nw.Duration:
            series = series.dt.total_microseconds() / 1e6
        if dtype == nw.Boolean:
            series = series.cast(nw.Int8)
        # which refuses whole numbers that float64 can only round
        if series.implementation.is_pyarrow():
            series = nw.from_native(series.to_polars(), series_only=True)
        return np.ascontiguousarray(
            series.cast(nw.Float64).to_numpy(), dtype=np.float64
        )

    def matrix(self, names: Sequence[str]) -> FloatArray:
        """Several numeric columns side by side, shape (rows, columns)."""
        # written, and read by estimators, column by column
        out = np.empty((len(self), len(names)), order="F")
        for j, name in enumerate(names):
            out[:, j] = self.read_numbers(name)
        return out

    def native(self, names: Sequence[str] | None = None) -> Any:
        """The rows as a frame of the caller's own kind."""
        return (
            self.frame if names is None else self.frame.select(list(names))
        ).to_native()

    def polars(self, names: Sequence[str]) -> Any:
        """Columns as a Polars frame, the same whatever library they came from: numbers,
        dates or text.
        """
        columns = []
        for name in names:
            if self.is_numeric(name):
                column = pl.Series(name, self.numbers(name), nan_to_null=True)
            elif (
                series := self.frame[name]
            ).dtype == nw.String and not series.implementation.is_pandas_like():
                column = series.to_polars()
            else:
                codes, values = levels(series)
                held = pl.Series(
                    name, [*(values if self.is_date(name) else map(str, values)), None]
                )
                column = held.gather(np.where(codes < 0, len(values), codes))
            columns.append(column)
        return pl.DataFrame(columns)

    def take(self, index: IntArray | slice) -> "Rows":
        return Rows(
            self.frame[index],
            None if self.keys is None else self.keys[index],
            _kinds=self._kinds,
        )

    def select(self, names: Sequence[str]) -> "Rows":
        # `select` makes a lazy query of it, which takes ten times as long; but an empty
        # list would be all columns.
        return Rows(
            self.frame[list(names)] if len(names) else self.frame.select([]),
            self.keys,
            _kinds=self._kinds,
        )


def require_columns(available: Collection[str], names: Iterable[str]) -> None:
    """Raise for the first name that is not a column, with the nearest ones that are."""
    known = set(available)
    for name in names:
        if name not in known:
            whole = next(
                (one for one in available if "," in one and name in one.split(",")[0]),
                None,
            )
            hint = nearest(name, available)
            if whole is not None:  # the name is half of one with a comma
                hint = f"A name with a comma stands in double quotes: '\"{whole}\"'."
            raise UnknownColumnError(f"there is no column '{name}'.", hint)


def read_rows(data: FrameLike, format_: FileFormat = UNSAID) -> Rows:
    """Open any data frame, or a file, as `Rows`."""
    if isinstance(data, Rows):
        return data
    notes: tuple[str, ...] = ()
    if isinstance(data, str | PathLike):
        table = read_file(Path(data), format_)
        frame, notes, named = (
            nw.from_native(table.frame, eager_only=True),
            table.notes,
            f"'{data}'",
        )
    else:
        refuse_format(format_)
        frame, named = _open_frame(data), "the data frame"
    refuse_duplicates(frame.columns, named)
    if len(frame) == 0:
        raise DataError(
            f"{named} has a header and no rows.",
            "An audit needs rows to learn from and to test on.",
        )
    return Rows(frame, notes=notes)


def refuse_format(format_: FileFormat) -> None:
    """Refuse what is said of a file where the data are not one."""
    for name in format_.given:
        raise OptionError(
            f"{name} is given, and the data are not a file.",
            f"Leave out {name}, or give a path.",
        )


def _open_frame(data: FrameLike) -> nw.DataFrame[Any]:
    """A frame of any library, with names as strings, and objects that are numbers as
    numbers.
    """
    try:
        opened = nw.from_native(data)
    except TypeError as error:
        raise DataError(
            f"a {type(data).__name__} is not a data frame.",
            (
                "Give a pandas, Polars or PyArrow frame, or a path to a CSV or Parquet "
                "file."
            ),
        ) from error
    except ValueError as error:
        if "unique" not in str(error) and "duplicate" not in str(error).lower():
            raise
        raise DataError(
            f"the data frame has duplicate column names: {one_line(error)}.",
            "Rename them.",
        ) from error
    frame: nw.DataFrame[Any] = (
        opened.collect() if isinstance(opened, nw.LazyFrame) else opened
    )
    if others := {
        name: str(name) for name in frame.columns if not isinstance(name, str)
    }:
        refuse_duplicates(
            [others.get(name, name) for name in frame.columns], "the data frame"
        )
        frame = frame.rename(others)
    unboxed = [
        _unboxed(frame[name])
        for name, dtype in frame.schema.items()
        if dtype == nw.Object
    ]
    numbers = [series for series in unboxed if series is not None]
    return frame.with_columns(numbers) if numbers else frame


def _unboxed(series: nw.Series[Any]) -> nw.Series[Any] | None:
    """A column of objects that are numbers or durations, as such; None where it holds
    anything else.
    """
    values = [None if is_missing(value) else value for value in series.to_list()]
    filled = [value for value in values if value is not None]
    if not filled or not all(
        isinstance(value, (timedelta, *NUMBERS)) for value in filled
    ):
        return None
    spans = sum(isinstance(value, timedelta) for value in filled)
    whole = [value for value in filled if isinstance(value, int | np.integer)]
    if 0 < spans < len(filled) or any(abs(int(value)) >= 2**53 for value in whole):
        # durations among numbers; long ids, which floats would run together
        return None
    dtype: Any = nw.Duration("us")
    if not spans:
        dtype, as_type = (
            (nw.Int64(), int) if len(whole) == len(values) else (nw.Float64(), float)
        )
        values = [None if value is None else as_type(value) for value in values]
    return nw.new_series(series.name, values, dtype, backend=series.implementation)


def is_missing(value: Any) -> bool:
    """Whether one value is missing, in whatever way its library says so."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | Decimal) and value != value


def levels(series: nw.Series[Any]) -> tuple[IntArray, list[Any]]:
    """Which of a column's distinct values each row holds, -1 where it is missing; and
    these values.
    """
    # Numbered by their library where it can: a value is looked at once, not in every
    # row.
    if series.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Date, nw.Datetime):
        if series.implementation.is_pandas():
            codes, distinct = series.to_native().factorize()
            return codes.astype(np.int64), distinct.tolist()
        held = series.to_polars()
        if held.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Date, pl.Datetime):
            labels = held.dtype in (pl.Categorical, pl.Enum)
            column = (held.cast(pl.String) if labels else held).to_frame("value")
            known = column.drop_nulls().unique().with_row_index("code")
            codes = column.join(known, on="value", how="left", maintain_order="left")[
                "code"
            ]
            return codes.cast(pl.Int64).fill_null(-1).to_numpy(), known[
                "value"
            ].to_list()
    places: dict[tuple[type, str], int] = {}
    values: list[Any] = []
    codes = np.full(len(series), -1)
    for row, value in enumerate(series.to_list()):
        if not is_missing(value):
            codes[row] = place = places.setdefault(
                (type(value), str(value)), len(values)
            )
            if place == len(values):
                values.append(value)
    return codes, values


def _numbers_in(name: str, series: nw.Series[Any]) -> FloatArray:
    """Numbers that stand in a column of strings, categories or objects; anything else
    is refused.
    """
    codes, values = levels(series)
    numbers = [as_number(value) for value in values]
    if None not in numbers:
        # -1, where a value is missing, is the last
        return np.array([*numbers, np.nan], dtype=np.float64)[codes]
    texts, counts = [str(value) for value in values], text_counts(codes, values)
    if len(counts) == 2:
        raise two_levels(name, sorted(counts))
    stray = np.flatnonzero(
        np.array([*(as_number(text) is None for text in texts), False])[codes]
    )
    if len(stray) < 0.5 * len(codes):
        odd = texts[codes[stray[0]]][:40]
        raise DataError(
            (
                f"column '{name}' holds text in {len(stray):,} of {len(codes):,} rows "
                f"where numbers are needed: '{odd}' in row {stray[0] + 1:,}."
            ),
            (
                "Fix the file; or, if it is an outcome or a decision, read it as "
                f"missing: `na={[odd]}`."
            ),
        )
    example = max(counts, key=lambda level: (counts[level], level))
    raise DataError(
        (
            f"column '{name}' holds text such as '{example[:40]}' where numbers are "
            "needed."
        ),
        "Name a numeric column, or turn this one into numbers first.",
    )


def two_levels(name: str, levels: Sequence[str]) -> DataError:
    """A column of two levels that are not numbers, where the caller has not said which
    one is 1.
    """
    one, other = levels
    return DataError(
        f"column '{name}' holds '{one}' and '{other}' where numbers are needed.",
        (
            "Say which of them means selected (a decision) or should be selected (an "
            f"outcome): `positive={ {name: other} }` or `positive={ {name: one} }`."
        ),
    )


def text_counts(codes: IntArray, values: Sequence[Any]) -> Counter[str]:
    """How many rows hold each of the levels, as strings, which several levels may
    share.
    """
    counts = Counter[str]()
    for value, times in zip(
        values,
        np.bincount(codes[codes >= 0], minlength=len(values)).tolist(),
        strict=True,
    ):
        counts[str(value)] += times
    return counts


def as_number(value: Any) -> float | None:
    """A value as a number, if it is one: a text of digits, a flag, the seconds of a
    duration.
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, (str, *NUMBERS)) or (
        isinstance(value, str) and "_" in value
    ):
        return None  # to Python 1_000 is a number; to the reader of a file it is not
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def missing_labels(rows: Rows, name: str) -> BoolArray:
    missing = rows.column(name).is_null().to_numpy()
    if rows.kind(name).is_float():
        missing = missing | np.isnan(rows.numbers(name))
    return np.asarray(missing, dtype=np.bool_)


def incomplete(
    rows: Rows, numeric: Sequence[str], labels: Sequence[str]
) -> dict[str, BoolArray]:
    """Which rows have missing or infinite values, for each of the named columns that
    has any.
    """
    rows.require([*numeric, *labels])
    bad: dict[str, BoolArray] = {
        name: ~np.isfinite(rows.numbers(name)) for name in dict.fromkeys(numeric)
    }
    bad |= {name: missing_labels(rows, name) for name in dict.fromkeys(labels)}
    return {name: flags for name, flags in bad.items() if flags.any()}


def labels_of(rows: Rows, name: str, most: int) -> tuple[tuple[str, ...], IntArray]:
    """The levels of a column of labels, sorted, and the level of every row."""
    rows.require([name])
    hint = "Name the column that says which group a row belongs to."
    if rows.is_nested(name) or rows.kind(name) == nw.Binary:
        raise DataError(
            f"column '{name}' holds lists, records or bytes, which are no groups.", hint
        )
    series: Any = rows.column(name)
    values = series.unique().to_list()
    if len(values) > most:
        raise DataError(
            (
                f"column '{name}' has {len(values):,} levels; a group column has at "
                f"most {most}."
            ),
            hint,
        )
    labeled = sorted((labeltext_of(value), value) for value in values)
    codes = np.empty(len(rows), dtype=np.int64)
    for code, (_, value) in enumerate(labeled):
        codes[np.asarray((series == value).to_numpy(), dtype=np.bool_)] = code
    return tuple(label for label, _ in labeled), codes


def labeltext_of(value: object) -> str:
    """The same string for 1, 1.0 and numpy's versions of them, so that frame libraries
    agree.
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    return str(value)


def build_frame(
    columns: dict[str, list[Any]], backend: Any, types: Mapping[str, type] | None = None
) -> Any:
    """A frame of the caller's own kind; `types` (int, float, str or bool) hold also
    where all values are missing.
    """
    known = {int: nw.Int64(), float: nw.Float64(), str: nw.String(), bool: nw.Boolean()}
    schema = None if types is None else {name: known[types[name]] for name in columns}
    return nw.from_dict(columns, schema, backend=backend).to_native()
