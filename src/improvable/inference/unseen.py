"""Rows that a sample may have missed: draws that know of outcomes not seen.

A resample cannot draw what the sample does not hold. Three kinds of sample are known to miss what matters.

*Two values.* Say 97% repay, and a candidate approves twenty more people. With probability one half all twenty repay,
the bootstrap finds no variance among them, and a gain that is luck looks certain: it rejects 53% of true nulls at a
level of 5%. So where the rows of a group that count for one algorithm alone hold fewer than `FEWEST_SEEN` of either
value, then for drawing, and for nothing else, they get one row of either value more, as in the intervals of Agresti and
Caffo (2000), and the deviations of their draws change sign: the tail that matters is that of outcomes not seen, and a
draw around a sample without them leans the other way. What counts is what rows contribute, not how it is written:
values may be 0 and 1, 1 and 2, or 8 for a loan that is repaid and -60 for one that is lost. The ends of a range that
an outcome is known to have, such as a capped cost, are treated as two values.

*Margins near the edge.* "No worse by more than 5%" at a rate of .98 with 60 rows of a group is decided by one or two
failures. A sample with none looks both better and less variable than the truth, and a centered bootstrap rejects up to
15% of true nulls. A score test has the variance that the statistic would have *if the null held* (Farrington and
Manning, 1990; for pairs, Tango, 1998). It is found by empirical likelihood (Owen, 2001): of all weights of the rows
under which the claim just fails, those nearest to equal ones. The deviations of draws are multiplied by the ratio of
the two standard errors, the rows on which the algorithms differ get one more of each value, and deviations change sign.
With two values per row only; where a margin allows no loss, nothing is done.

*Long tails.* A mean of costs follows a few large ones, and a sample that misses them looks better than the truth and
less variable (Hall, 1992; the index of `influence`). Where a kind of rows leans against the claim it gets one row more,
`FARTHER` times as far from its median row as the worst one seen. What a sample does not hint at nobody can correct.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.inference.cells import Cells, U, W, by_utility

FEWEST_SEEN = 10
FARTHER = 3.0
SAME = 1e-9
"""Values closer than this share of the largest are one: weights round them."""
HALVINGS = 60


@dataclass(frozen=True)
class Unseen:
    """One row more of a group (`block`) for one utility, and what it contributes, shape (utilities, 2, 2)."""

    block: int
    measure: int
    vector: FloatArray


@dataclass(frozen=True)
class TwoValues:
    """Of a utility whose contributions, u / w of a row, have two values; weights do not matter to them.

    Attributes
    ----------
    low, high : float
    selects : array of bool, shape (cells, 2)
        The rows that have either value under an algorithm. Where the normalizer depends on decisions, those whose w is
        not zero; where it does not and rows that are not selected contribute nothing, those whose u is not zero.
    rate : bool
        Whether every row that counts has one of the two.
    """

    low: float
    high: float
    selects: BoolArray
    rate: bool

    def is_high(self, parts: FloatArray) -> BoolArray:
        """Which contributions, shape (..., 2), have the higher value."""
        return np.asarray(parts[..., U] > (self.low + self.high) / 2 * parts[..., W])


def two_values(vectors: FloatArray) -> list[TwoValues | None]:
    """Of each utility, (cells, M, 2, 2); None where contributions do not have two values.

    Where only 0, or only 1, was seen of rows that an algorithm selects, the other is taken to exist.
    """
    out: list[TwoValues | None] = []
    for m in range(vectors.shape[1]):
        u, w = vectors[:, m, :, U], vectors[:, m, :, W]
        loads = w != 0
        values = np.unique(u[loads] / w[loads])
        if len(values) > 1:
            values = values[np.concatenate([[True], np.diff(values) > SAME * np.abs(values).max()])]
        varies = not loads.all()
        if len(values) == 1 and values[0] in (0.0, 1.0) and varies:
            values = np.array([0.0, 1.0])
        if len(values) == 2:
            out.append(TwoValues(float(values[0]), float(values[1]), loads, rate=True))
        elif len(values) == 3 and 0.0 in values and not varies:
            low, high = values[values != 0]
            out.append(TwoValues(float(low), float(high), u != 0, rate=False))
        else:
            out.append(None)
    return out


def within(vectors: FloatArray, bounds: tuple[float, float] | None) -> TwoValues | None:
    """A range that is known: its ends are what rows of one utility, (cells, 2, 2), may have missed."""
    return None if bounds is None else TwoValues(*bounds, vectors[..., W] != 0, rate=False)


def ordered_as_zero_one(cells: Cells) -> Cells:
    """The same cells in the order that they would have if each pair of values were 0 and 1.

    Draws follow the order of cells, and must not depend on how an outcome is written.
    """
    vectors = by_utility(cells)
    keys = vectors.copy()
    for m, pair in enumerate(two_values(vectors)):
        if pair is not None and pair.rate and (pair.low, pair.high) != (0.0, 1.0):
            keys[:, m, :, U] = np.where(pair.is_high(vectors[:, m]), vectors[:, m, :, W], 0.0)
    if np.array_equal(keys, vectors):
        return cells
    order = np.lexsort((*keys.reshape(len(keys), -1).T[::-1], cells.block))
    values = np.asfortranarray(cells.values[order])
    return replace(cells, values=values, block=cells.block[order], counts=cells.counts[order])


def unseen_of_two(cells: Cells, pairs: Sequence[TwoValues | None]) -> Iterator[tuple[IntArray, int, int, list[Unseen]]]:
    """Where one of two values may be missing: the cells that change sign, whose, how often it was seen, rows more."""
    vectors = by_utility(cells)
    for m, pair in enumerate(pairs):
        if pair is None:
            continue
        for algorithm in (0, 1):
            alone = pair.selects[:, algorithm] & ~pair.selects[:, 1 - algorithm]
            for b, part in enumerate(cells.slices()):
                place = part.start + np.flatnonzero(alone[part])
                counts = cells.counts[place]
                high = int(counts[pair.is_high(vectors[place, m, algorithm])].sum())
                seen = min(high, int(counts.sum()) - high)
                if not len(place) or seen >= FEWEST_SEEN:
                    continue
                sides = [np.where(np.arange(2) == algorithm, value, 0.0) for value in (pair.low, pair.high)]
                yield place, algorithm, seen, [_one_more(cells, place, b, m, values) for values in sides]


def discordant_rows(cells: Cells, place: IntArray, measure: int, pair: TwoValues) -> list[Unseen]:
    """One row more that only the candidate gets right, and one that only the status quo does."""
    block = int(np.argmax(np.bincount(cells.block[place], weights=cells.counts[place])))
    sides = np.array([[pair.low, pair.high], [pair.high, pair.low]])
    return [_one_more(cells, place, block, measure, values) for values in sides]


def _one_more(cells: Cells, place: IntArray, block: int, measure: int, values: FloatArray) -> Unseen:
    """A row as heavy as those it joins are on average, with a value under either algorithm, shape (2,)."""
    vectors = by_utility(cells)[place]
    weight = np.average(vectors[:, measure, :, W], axis=0, weights=cells.counts[place])
    row = np.zeros(vectors.shape[1:])
    row[measure, :, U], row[measure, :, W] = values * weight, weight
    return Unseen(block, measure, row)


def ratio_at_the_null(values: FloatArray, counts: FloatArray, statistic: float) -> float:
    """The standard error that a mean of n values would have if the mean were zero, over the one it has; at least 1.

    Parameters
    ----------
    values : array
        What each row adds to the statistic; their mean is the statistic.
    counts : array
        How many rows there are of each.
    statistic : float

    Notes
    -----
    The weights are q_i = 1 / (n + t v_i) with the t that makes their mean of v zero.

    Examples
    --------
    Ten rows, one of which speaks against: at a mean of zero half of the weight would.

    >>> round(ratio_at_the_null(np.array([1.0, -1.0]), np.array([9.0, 1.0]), 0.8), 2)
    1.67
    """
    total = float(counts.sum())
    against = values[values < 0]
    if statistic <= 0 or not len(against):
        return 1.0
    low, high = 0.0, total / -float(against.min())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = float((counts * values / (total + middle * values)).sum()) > 0
        low, high = (middle, high) if above else (low, middle)
    weights = counts / (total + low * values)
    weights /= weights.sum()
    there = float((weights * values**2).sum() - (weights * values).sum() ** 2)
    here = float((counts * values**2).sum()) / total - (float((counts * values).sum()) / total) ** 2
    return max(1.0, (there / here) ** 0.5) if here > 0 else 1.0


def farther(median: FloatArray, worst: FloatArray) -> FloatArray:
    """A row, or cluster, `FARTHER` times as far from the median one as the worst; arrays of shape (..., 2)."""
    weight = worst[..., W]
    middle, far = (
        np.divide(one[..., U], one[..., W], out=np.zeros_like(weight), where=one[..., W] != 0)
        for one in (median, worst)
    )
    middle = np.where(median[..., W] != 0, middle, far)
    return np.stack([weight * (middle + FARTHER * (far - middle)), weight], axis=-1)
