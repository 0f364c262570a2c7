"""How well columns tell something they should not: the outcome, or the group. Exactly, one by one, and together.

Out of sample: what is learned on the first half of the rows is scored on the second. Rows come in the order of their
keys, which is random and the same for every engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.data.frames import Rows
from improvable.data.quality import written_number

MOST_VALUES = 50
FEWEST_ROWS_PER_VALUE = 10
ROWS_TO_CONTRADICT = 200, 2_000
FEWEST_TOLD = 5
"""An outcome that fewer rows differ in may be told by accident."""
MOST_BINS = 64
FEWEST_SCORED = 20
WORTH_FITTING = 0.5
MOST_TOGETHER = 300
DIGITS = 3
"""Shares are told to so many digits: the last ones of a sum differ between machines, and a result must not."""


@dataclass(frozen=True)
class Column:
    """A column as numbers, NaN where it is missing; the values of text are numbered, and only as good as names."""

    name: str
    values: FloatArray
    ordered: bool

    def take(self, rows: slice | BoolArray) -> "Column":
        return Column(self.name, self.values[rows], self.ordered)


@dataclass(frozen=True)
class Target:
    """What a column may tell.

    Attributes
    ----------
    name : str
    values : array
        Outcomes, or the level of each row.
    codes : array of int
        The place of each value among the distinct ones.
    levels : int
        How many there are.
    named : bool
        Whether levels are only names, or two: how well they are told is an AUC. Otherwise it is an R squared.
    fewest : int
        How many rows must differ from the most frequent value before a column can be said to tell it.
    """

    name: str
    values: FloatArray
    codes: IntArray
    levels: int
    named: bool
    fewest: int = 0

    def take(self, rows: slice | BoolArray) -> "Target":
        return Target(self.name, self.values[rows], self.codes[rows], self.levels, self.named, self.fewest)


def group_target(name: str, level: IntArray, levels: int) -> Target:
    return Target(name, level.astype(np.float64), level, levels, named=True)


def outcome_target(name: str, values: FloatArray) -> Target:
    distinct, codes = np.unique(values, return_inverse=True)
    return Target(name, values, codes.astype(np.int64), len(distinct), len(distinct) == 2, FEWEST_TOLD)


def read_column(rows: Rows, name: str) -> Column:
    """A feature of any kind as numbers. Texts that are numbers, such as 230,000, are read as these."""
    if rows.is_numeric(name):
        return Column(name, rows.read_numbers(name), ordered=True)
    series = rows.polars([name])[name]
    if rows.is_date(name):
        texts = series.dtype.is_(pl.String)
        values = [_moment(text) for text in series.to_list()] if texts else series.to_physical().cast(float).to_numpy()
        return Column(name, np.array(values, dtype=np.float64), ordered=True)
    known = series.drop_nulls().unique().sort().to_list()
    numbers = [written_number(text) for text in known] if len(known) > MOST_VALUES else [None]
    parsed = [number for number in numbers if number is not None]
    is_number = len(parsed) == len(known)
    meaning = dict(zip(known, parsed if is_number else map(float, range(len(known))), strict=True))
    values = [np.nan if text is None else meaning[text] for text in series.to_list()]
    return Column(name, np.array(values, dtype=np.float64), ordered=is_number)


def _moment(text: str | None) -> float:
    """A date or time in a text as the number that a typed column has: days, or microseconds since 1970."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return float("nan")
    since = moment.replace(tzinfo=moment.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return float(since.days if len(text or "") == DAY else since // timedelta(microseconds=1))


DAY = len("2020-01-31")

# Exactly. ----


def determines(column: Column, target: Target, *, where_given: bool = False) -> bool:
    """Whether a column tells the target in every row: few values, each with one level; or cutoffs between levels.

    Missing is a value as any other; with `where_given`, it is enough to tell the rows in which the column is there.
    What some rows already contradict need not be looked for in all of them.
    """
    for rows in ROWS_TO_CONTRADICT:
        few = slice(0, rows)
        if not _undecided(target.codes[few]) and not _determines(column.take(few), target.take(few), where_given, 0):
            return False
    return _determines(column, target, where_given, target.fewest)


def _undecided(codes: IntArray) -> bool:
    """Whether some rows are all of one level, so that they contradict nothing."""
    return bool((codes == codes[0]).all())


def _determines(column: Column, target: Target, where_given: bool, fewest: int) -> bool:
    missing = np.isnan(column.values)
    if missing.any() and where_given:
        if _few_values_tell(missing.astype(np.int64), 2, target.codes, fewest):
            return True
        column, target, missing = column.take(~missing), target.take(~missing), missing[~missing]
    values, codes = column.values, target.codes
    counts = np.bincount(codes, minlength=1)
    occurring = int((counts > 0).sum())
    if occurring < 2 or len(codes) - counts.max() < fewest:
        return False
    if column.ordered and not missing.any() and _cutoffs_tell(values, codes, occurring):
        return True
    distinct, place = np.unique(values, return_inverse=True)
    most = min(MOST_VALUES, len(codes) // FEWEST_ROWS_PER_VALUE)
    return len(distinct) <= most and _few_values_tell(place, len(distinct), codes, fewest)


def _cutoffs_tell(values: FloatArray, codes: IntArray, occurring: int) -> bool:
    """Whether rows in the order of a column are in blocks of one level each, with no value in two blocks."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(codes[order])
    edges = np.flatnonzero(steps)
    if len(edges) != occurring - 1:
        return False
    # Levels that few rows share are in blocks whatever the order: they must rise or fall throughout.
    many = occurring > len(codes) // FEWEST_ROWS_PER_VALUE
    if many and not ((steps >= 0).all() or (steps <= 0).all()):
        return False
    ordered = values[order]
    return bool((ordered[edges] < ordered[edges + 1]).all())


def _few_values_tell(place: IntArray, distinct: int, codes: IntArray, fewest: int) -> bool:
    """Whether all rows of a value have one level."""
    first = np.full(distinct, -1, dtype=np.int64)
    first[place[::-1]] = codes[::-1]
    counts = np.bincount(codes)
    if (counts > 0).sum() < 2 or len(codes) - counts.max() < fewest:
        return False
    return bool((first[place] == codes).all())


# One by one. ----


def bins_of(column: Column) -> tuple[IntArray, int]:
    """Each value of a column by itself where there are few, else between quantiles of the first half; and how many."""
    values = column.values
    learned = np.sort(values[: len(values) // 2])
    learned = learned[: len(learned) - int(np.isnan(learned).sum())]
    if not len(learned):
        return np.isnan(values).astype(np.int64), 2
    edges = learned[np.flatnonzero(np.diff(learned, prepend=np.nan) != 0)]
    if column.ordered and len(edges) > MOST_BINS:
        places = (np.arange(MOST_BINS) * len(learned)) // MOST_BINS
        edges = np.unique(learned[places])
    bins = np.searchsorted(edges, values, side="left").astype(np.int64)
    if not column.ordered:  # a text that the first half does not have is none of those it has
        known = edges[np.minimum(bins, len(edges) - 1)] == values
        bins[~known] = len(edges)
    bins[np.isnan(values)] = len(edges) + 1
    return bins, len(edges) + 2


def told(column: Column, bins: IntArray, count: int, target: Target) -> float | None:
    """How well a column alone tells the target in the second half: AUC, or R squared. None where too few rows say."""
    half = len(bins) // 2
    if target.named:
        joint = bins * target.levels + target.codes
        size = count * target.levels
        before, after = (
            np.bincount(part, minlength=size).reshape(count, target.levels) for part in (joint[:half], joint[half:])
        )
        return _best_level(before, after)
    found = _binned_r_squared(bins, count, target.values, half)
    if found is not None and found > WORTH_FITTING and column.ordered:
        found = max(found, _isotonic_r_squared(column.values, target.values, half))
    return None if found is None else round(max(found, 0.0), DIGITS)


def _best_level(before: IntArray, after: IntArray) -> float | None:
    """The AUC with which the share of a level in a bin tells it from all others; of several levels, the best told."""
    sizes, everyone = before.sum(axis=1), after.sum()
    found = []
    for level in range(1 if before.shape[1] == 2 else 0, before.shape[1]):
        mine, others = after[:, level], after.sum(axis=1) - after[:, level]
        if min(mine.sum(), everyone - mine.sum()) < FEWEST_SCORED or not before[:, level].any():
            continue
        overall = before[:, level].sum() / sizes.sum()
        share = np.where(sizes > 0, before[:, level] / np.maximum(sizes, 1), overall)
        _, place = np.unique(share, return_inverse=True)
        yes, no = np.bincount(place, weights=mine), np.bincount(place, weights=others)
        below = np.cumsum(no) - no
        found.append(float((yes * (below + no / 2)).sum() / (yes.sum() * no.sum())))
    return round(max(found), DIGITS) if found else None


def _binned_r_squared(bins: IntArray, count: int, values: FloatArray, half: int) -> float | None:
    spread = float(((values[half:] - values[half:].mean()) ** 2).sum())
    if not spread or half < FEWEST_SCORED:
        return None
    sizes = np.bincount(bins[:half], minlength=count)
    sums = np.bincount(bins[:half], weights=values[:half], minlength=count)
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), values[:half].mean())
    return 1 - float(((values[half:] - means[bins[half:]]) ** 2).sum()) / spread


def _isotonic_r_squared(column: FloatArray, values: FloatArray, half: int) -> float:
    """Bins are too coarse for outcomes with long tails; a rising or falling curve is not."""
    from sklearn.isotonic import IsotonicRegression

    given = ~np.isnan(column)
    learn, score = np.flatnonzero(given[:half]), half + np.flatnonzero(given[half:])
    if min(len(learn), len(score)) < FEWEST_SCORED:
        return 0.0
    curve = IsotonicRegression(increasing="auto", out_of_bounds="clip").fit(column[learn], values[learn])
    predicted = np.full(len(values), values[:half].mean())
    predicted[score] = curve.predict(column[score])
    rest = values[half:]
    return 1 - float(((rest - predicted[half:]) ** 2).sum() / ((rest - rest.mean()) ** 2).sum())


# Together. ----


def told_together(columns: Sequence[Column], bins: Sequence[tuple[IntArray, int]], target: Target) -> float | None:
    """The AUC with which all columns together tell a level from all others, cross-validated in two halves.

    A linear discriminant: cheap, the same numbers every time, and for ranking rows as good as a logistic regression.
    """
    half = len(target.codes) // 2
    answers = np.eye(target.levels)[target.codes]
    numbers = [part for column in columns if column.ordered for part in _filled(column)]
    texts = [cut for column, cut in zip(columns, bins, strict=True) if not column.ordered]
    halves = (slice(0, half), slice(half, None))
    found = []
    for learn, score in (halves, halves[::-1]):
        shares = [part for cut in texts for part in _shares(*cut, answers, learn)]
        matrix = np.array([_standard(part) for part in (*numbers, *shares)])
        known = matrix[:, learn]
        gram = known @ known.T + np.eye(len(matrix))
        slopes = np.linalg.solve(gram, known @ (answers[learn] - answers[learn].mean(axis=0)))
        aucs = [
            _auc(slopes[:, level] @ matrix[:, score], answers[score, level] > 0)
            for level in range(1 if target.levels == 2 else 0, target.levels)
            if min(answers[score, level].sum(), (1 - answers[score, level]).sum()) >= FEWEST_SCORED
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
    return [np.where(missing, given.mean() if len(given) else 0.0, column.values), missing.astype(np.float64)]


def _standard(values: FloatArray) -> FloatArray:
    spread = float(values.std())
    out: FloatArray = (values - values.mean()) / (spread if spread > 0 else 1.0)
    return out


def _shares(bins: IntArray, count: int, answers: FloatArray, learn: slice) -> list[FloatArray]:
    """Of a text, the share of each level among the rows that have it."""
    sizes = np.bincount(bins[learn], minlength=count)
    shares = []
    for level in range(1 if answers.shape[1] == 2 else 0, answers.shape[1]):
        sums = np.bincount(bins[learn], weights=answers[learn, level], minlength=count)
        shares.append(np.where(sizes > 0, sums / np.maximum(sizes, 1), answers[learn, level].mean())[bins])
    return shares


def _auc(scores: FloatArray, positive: BoolArray) -> float:
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    yes, no = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - yes * (yes + 1) / 2) / (yes * no))
