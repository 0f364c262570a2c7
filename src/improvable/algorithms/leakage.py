"""Leakage: how well features predict the outcome or the group. Exactly, alone, and
together.

Out of sample: what is learned on the first half of the rows is scored on the second.
Rows come in the order of their keys, which is random and the same for every engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
import polars as pl

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.data.frame import Rows
from improvable.data.quality import written_number

MAX_VALUES = 50
MIN_ROWS_PER_VALUE = 10
ROWS_TO_CONTRADICT = 200, 2_000
MIN_TOLD = 5  # an outcome that fewer rows differ in may be told by accident
MAX_BINS = 64
MIN_SCORED = 20
MAX_TOGETHER = 300
DIGITS = 3  # the last digits of a sum differ between machines, and a result must not
DAY = len("2020-01-31")


@dataclass(frozen=True)
class Column:
    """A column as numbers, NaN where it is missing. Strings are numbered, and their
    numbers have no order.
    """

    name: str
    values: FloatArray
    ordered: bool

    def take(self, rows: slice | BoolArray) -> "Column":
        return replace(self, values=self.values[rows])


@dataclass(frozen=True)
class Target:
    """What a column may predict: outcomes, or the group of each row."""

    name: str
    values: FloatArray
    codes: IntArray  # the place of each value among the distinct ones
    levels: int  # how many there are
    # whether levels are names, or two: how well they are told is an AUC, and otherwise
    # an R squared
    named: bool
    # rows that must differ from the most frequent value before a column can be said to
    # predict it
    fewest: int = 0

    def take(self, rows: slice | BoolArray) -> "Target":
        return replace(self, values=self.values[rows], codes=self.codes[rows])

    @cached_property
    def ranks(self) -> FloatArray:
        """The rank of each row's value; equal values share the mean of their ranks."""
        counts = np.bincount(self.codes, minlength=self.levels)
        means = np.cumsum(counts) - (counts - 1) / 2
        return np.asarray(means[self.codes])

    @property
    def compared(self) -> range:
        """The levels that are told from all others; of two, one says it all."""
        return range(1 if self.levels == 2 else 0, self.levels)


def group_target(name: str, level: IntArray, levels: int) -> Target:
    return Target(name, level.astype(np.float64), level, levels, named=True)


def outcome_target(name: str, values: FloatArray) -> Target:
    distinct, codes = np.unique(values, return_inverse=True)
    return Target(
        name,
        values,
        codes.astype(np.int64),
        len(distinct),
        len(distinct) == 2,
        MIN_TOLD,
    )


def read_column(rows: Rows, name: str) -> Column:
    """A feature of any kind as numbers. Texts that are numbers, such as 230,000, are
    read as these.
    """
    if rows.is_numeric(name):
        return Column(name, rows.read_numbers(name), ordered=True)
    series = rows.polars([name])[name]
    if rows.is_date(name):
        texts = series.dtype.is_(pl.String)
        values = (
            [_moment(text) for text in series.to_list()]
            if texts
            else series.to_physical().cast(float).to_numpy()
        )
        return Column(name, np.array(values, dtype=np.float64), ordered=True)
    known = series.drop_nulls().unique().sort().to_list()
    numbers = map(written_number, known) if len(known) > MAX_VALUES else ()
    parsed = [number for number in numbers if number is not None]
    is_number = len(parsed) == len(known)
    meaning = dict(
        zip(known, parsed if is_number else map(float, range(len(known))), strict=True)
    )
    values = [np.nan if text is None else meaning[text] for text in series.to_list()]
    return Column(name, np.array(values, dtype=np.float64), ordered=is_number)


def _moment(text: str | None) -> float:
    """A date or time in a text as the number that a typed column has: days, or
    microseconds since 1970.
    """
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return np.nan
    since = moment.replace(tzinfo=moment.tzinfo or UTC) - datetime(
        1970, 1, 1, tzinfo=UTC
    )
    return float(
        since.days if len(text or "") == DAY else since // timedelta(microseconds=1)
    )


def upper_part(column: Column) -> BoolArray:
    """Rows above a column's mean; without an order, those of its most frequent
    value.
    """
    if column.ordered:
        return np.asarray(column.values > np.nanmean(column.values))
    distinct, counts = np.unique(column.values, return_counts=True)
    return np.asarray(column.values == distinct[np.argmax(counts)])


# Exactly. ----


def determines(column: Column, target: Target, *, where_given: bool = False) -> bool:
    """Whether a column tells the target in every row: few values, each with one level;
    or cutoffs between levels.

    Missing is a value as any other; with `where_given`, it is enough to tell the rows
    in which the column is there. What some rows already contradict need not be looked
    for in all of them.
    """
    for rows in ROWS_TO_CONTRADICT:
        few = slice(0, rows)
        if _varies(target.codes[few], 0) and not _determines(
            column.take(few), target.codes[few], where_given, 0
        ):
            return False
    return _determines(column, target.codes, where_given, target.fewest)


def _determines(
    column: Column, codes: IntArray, where_given: bool, fewest: int
) -> bool:
    missing = np.isnan(column.values)
    if where_given and missing.any():
        if _varies(codes, fewest) and _one_level_each(missing.astype(np.int64), codes):
            return True
        column, codes, missing = (
            column.take(~missing),
            codes[~missing],
            missing[~missing],
        )
    if not _varies(codes, fewest):
        return False
    if column.ordered and not missing.any() and _cutoffs_tell(column.values, codes):
        return True
    distinct, place = np.unique(column.values, return_inverse=True)
    return len(distinct) <= min(
        MAX_VALUES, len(codes) // MIN_ROWS_PER_VALUE
    ) and _one_level_each(place, codes)


def _varies(codes: IntArray, fewest: int) -> bool:
    """Whether there are two levels or more, and enough rows of another than the most
    frequent one.
    """
    counts = np.bincount(codes, minlength=1)
    return bool((counts > 0).sum() >= 2 and len(codes) - counts.max() >= fewest)


def _cutoffs_tell(values: FloatArray, codes: IntArray) -> bool:
    """Whether rows in the order of a column are in blocks of one level each, with no
    value in two blocks.
    """
    order, occurring = (
        np.argsort(values, kind="stable"),
        int((np.bincount(codes) > 0).sum()),
    )
    steps, ordered = np.diff(codes[order]), values[order]
    edges = np.flatnonzero(steps)
    # Levels that few rows share are in blocks whatever the order: they must rise or
    # fall throughout.
    many = occurring > len(codes) // MIN_ROWS_PER_VALUE
    if len(edges) != occurring - 1 or (
        many and not ((steps >= 0).all() or (steps <= 0).all())
    ):
        return False
    return bool((ordered[edges] < ordered[edges + 1]).all())


def _one_level_each(place: IntArray, codes: IntArray) -> bool:
    """Whether all rows of a value have one level."""
    first = np.zeros(int(place.max()) + 1, dtype=np.int64)
    first[place[::-1]] = codes[::-1]
    return bool((first[place] == codes).all())


# Alone. ----


def bins_of(column: Column) -> tuple[IntArray, int]:
    """Each value of a column by itself where there are few, else between quantiles of
    the first half; and how many.
    """
    values = column.values
    learned = np.sort(values[: len(values) // 2])
    learned = learned[: len(learned) - int(np.isnan(learned).sum())]
    if not len(learned):
        return np.isnan(values).astype(np.int64), 2
    edges = learned[np.flatnonzero(np.diff(learned, prepend=np.nan) != 0)]
    if column.ordered and len(edges) > MAX_BINS:
        edges = np.unique(learned[(np.arange(MAX_BINS) * len(learned)) // MAX_BINS])
    bins = np.searchsorted(edges, values, side="left").astype(np.int64)
    if not column.ordered:  # a string that the first half lacks matches none
        known = edges[np.minimum(bins, len(edges) - 1)] == values
        bins[~known] = len(edges)
    bins[np.isnan(values)] = len(edges) + 1
    return bins, len(edges) + 2


def score_column(
    column: Column, bins: IntArray, count: int, target: Target
) -> float | None:
    """How well a column alone predicts the target in the second half of the rows: AUC,
    or R squared; None with too few rows.
    """
    if target.named:
        return _score_levels(bins, count, target)
    return _score_values(column, bins, count, target)


def _score_levels(bins: IntArray, count: int, target: Target) -> float | None:
    half = len(bins) // 2
    joint = bins * target.levels + target.codes
    learned, scored = (
        np.bincount(part, minlength=count * target.levels).reshape(count, -1)
        for part in (joint[:half], joint[half:])
    )
    aucs = []
    for level in target.compared:
        yes = scored[:, level]
        no = scored.sum(axis=1) - yes
        if min(yes.sum(), no.sum()) >= MIN_SCORED and learned[:, level].any():
            shares = _means(learned[:, level], learned.sum(axis=1))
            aucs.append(_auc(shares, yes, no))
    return round(max(aucs), DIGITS) if aucs else None


def _score_values(
    column: Column, bins: IntArray, count: int, target: Target
) -> float | None:
    """The largest R squared of three: of the outcome by bins, of its ranks by bins, and
    of the outcome by a straight line.

    Where an outcome has a long tail, a few large values decide the first, and 64 bins
    may reach .5 for an exact copy. Among ranks every row counts alike; and a line
    follows a copy into the tail through noise that hides all ranks but the highest.
    """
    half = len(bins) // 2
    if half < MIN_SCORED or np.ptp(target.values[half:]) == 0:
        return None
    sizes = np.bincount(bins[:half], minlength=count)
    explained = [0.0]
    for values in (target.values, target.ranks):
        sums = np.bincount(bins[:half], weights=values[:half], minlength=count)
        predicted = _means(sums, sizes)[bins[half:]]
        explained.append(_r_squared(values[half:], predicted))
    if column.ordered:
        line = _predict_by_line(column.values, target.values, half)
        explained.append(_r_squared(target.values[half:], line[half:]))
    return round(max(explained), DIGITS)


def _predict_by_line(x: FloatArray, y: FloatArray, half: int) -> FloatArray:
    """A straight line through the first half of the rows, for all; where x is missing,
    the mean.
    """
    predicted = np.full(len(y), y[:half].mean())
    known = np.isfinite(x)
    learned = np.flatnonzero(known[:half])
    if not len(learned):
        return predicted
    apart = x[known] - x[learned].mean()
    apart /= float(np.abs(apart).max()) or 1.0  # squares of large numbers overflow
    before = apart[: len(learned)]
    spread = float((before**2).sum())
    slope = float((before * y[learned]).sum()) / spread if spread > 0 else 0.0
    predicted[known] = y[learned].mean() + slope * apart
    return predicted


def _means(sums: FloatArray | IntArray, sizes: IntArray) -> FloatArray:
    """The mean of each bin, and that of all rows for a bin without any."""
    return np.where(sizes > 0, sums / np.maximum(sizes, 1), sums.sum() / sizes.sum())


def _auc(
    scores: FloatArray, yes: FloatArray | IntArray, no: FloatArray | IntArray
) -> float:
    """The AUC, from how many rows of either kind have each score."""
    place = np.unique(scores, return_inverse=True)[1]
    yes, no = np.bincount(place, weights=yes), np.bincount(place, weights=no)
    return float((yes * (np.cumsum(no) - no / 2)).sum() / (yes.sum() * no.sum()))


def _r_squared(values: FloatArray, predicted: FloatArray) -> float:
    return 1 - float(
        ((values - predicted) ** 2).sum() / ((values - values.mean()) ** 2).sum()
    )


# Together. ----


def told_together(
    columns: Sequence[Column], bins: Sequence[tuple[IntArray, int]], target: Target
) -> float | None:
    """The AUC with which all columns together tell a level from all others,
    cross-validated in two halves.
    """
    # A linear discriminant: cheap, the same numbers every time, and for ranking rows as
    # good as a logistic regression.
    half = len(target.codes) // 2
    answers = np.eye(target.levels)[target.codes]
    parts = [part for column in columns if column.ordered for part in _filled(column)]
    named = [
        cut for column, cut in zip(columns, bins, strict=True) if not column.ordered
    ]
    halves = (slice(0, half), slice(half, None))
    found = []
    for learn, score in (halves, halves[::-1]):
        # Of a string, the share of each level among the rows that have it.
        sizes = [np.bincount(cut[learn], minlength=count) for cut, count in named]
        shares = [
            _means(
                np.bincount(cut[learn], weights=answers[learn, level], minlength=count),
                size,
            )[cut]
            for (cut, count), size in zip(named, sizes, strict=True)
            for level in target.compared
        ]
        matrix = np.array(
            [
                (part - part.mean()) / (float(part.std()) or 1.0)
                for part in (*parts, *shares)
            ]
        )
        known, rest = matrix[:, learn], answers[score]
        centered = answers[learn] - answers[learn].mean(axis=0)
        # a ridge of one row
        slopes = np.linalg.solve(
            known @ known.T + np.eye(len(matrix)), known @ centered
        )
        aucs = [
            _auc(
                slopes[:, level] @ matrix[:, score], rest[:, level], 1 - rest[:, level]
            )
            for level in target.compared
            if min(rest[:, level].sum(), (1 - rest[:, level]).sum()) >= MIN_SCORED
        ]
        if not aucs:
            return None
        found.append(max(aucs))
    return round(sum(found) / 2, DIGITS)


def _filled(column: Column) -> list[FloatArray]:
    """A column of numbers, and a flag where it has holes."""
    missing = np.isnan(column.values)
    if not missing.any():
        return [column.values]
    given = column.values[~missing]
    return [
        np.where(missing, given.mean() if len(given) else 0.0, column.values),
        missing.astype(np.float64),
    ]
