"""Rows that a sample may have missed: draws that know of outcomes not seen.

A resample cannot draw what the sample does not hold. Two kinds of sample are known to miss what matters.

*Two values.* Say 97% repay, and a candidate approves twenty more people. With probability one half all twenty repay,
the bootstrap finds no variance among them, and a gain that is luck looks certain: it rejects 53% of true nulls at a
level of 5%. So where the rows of a group that count for one algorithm alone hold fewer than `FEWEST_SEEN` of either
value, then for drawing, and for nothing else, they get one row of either value more, as in the intervals of Agresti and
Caffo (2000), and the deviations of their draws change sign: the tail that matters is that of outcomes not seen, and a
draw around a sample without them leans the other way. What counts is what rows contribute, not how it is written:
values may be 0 and 1, 1 and 2, or 8 for a loan that is repaid and -60 for one that is lost. The ends of a range that
an outcome is known to have, such as a capped cost, are treated as two values.

*Long tails.* A mean of costs follows a few large ones, and a sample that misses them looks better than the truth and
less variable (Hall, 1992; the index of `influence`). Where a kind of rows leans against the claim it gets one row more,
`FARTHER` times as far from its median row as the worst one seen. What a sample does not hint at nobody can correct.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.inference.cells import Cells, U, W, by_utility

FEWEST_SEEN = 10
FARTHER = 3.0
SAME = 1e-9
"""Values closer than this share of the largest are one: weights round them."""


@dataclass(frozen=True)
class Unseen:
    """One row more.

    Attributes
    ----------
    block : int
        Its group.
    measure : int
        The utility that it is for.
    vector : array of shape (utilities, 2, 2)
        What it contributes.
    mirrored : bool
        Whether its deviations, and those of the rows it joins, change sign.
    """

    block: int
    measure: int
    vector: FloatArray
    mirrored: bool


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

    def is_high(self, u: FloatArray, w: FloatArray) -> BoolArray:
        return np.asarray(u > (self.low + self.high) / 2 * w)


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
            u, w = vectors[:, m, :, U], vectors[:, m, :, W]
            keys[:, m, :, U] = np.where(pair.is_high(u, w), w, 0.0)
    if np.array_equal(keys, vectors):
        return cells
    order = np.lexsort((*keys.reshape(len(keys), -1).T[::-1], cells.block))
    return Cells(np.asfortranarray(cells.values[order]), cells.block[order], cells.counts[order], cells.silent,
                 cells.blocks)  # fmt: skip


def unseen_of_two(cells: Cells, pairs: Sequence[TwoValues | None]) -> Iterator[tuple[IntArray, list[Unseen]]]:
    """Where one of two values may have been missed: which cells are mirrored, and the rows that join them."""
    vectors = by_utility(cells)
    for m, pair in enumerate(pairs):
        if pair is None:
            continue
        for algorithm in (0, 1):
            alone = pair.selects[:, algorithm] & ~pair.selects[:, 1 - algorithm]
            for b, part in enumerate(cells.slices()):
                place = part.start + np.flatnonzero(alone[part])
                counts = cells.counts[place]
                high = int(counts[pair.is_high(vectors[place, m, algorithm, U], vectors[place, m, algorithm, W])].sum())
                if not len(place) or min(high, int(counts.sum()) - high) >= FEWEST_SEEN:
                    continue
                weight = np.average(vectors[place, m, :, W], axis=0, weights=counts)
                added = []
                for value in (pair.low, pair.high):
                    row = np.zeros(vectors.shape[1:])
                    row[m, :, W] = weight
                    row[m, algorithm, U] = value * weight[algorithm]
                    added.append(Unseen(b, m, row, mirrored=True))
                yield place, added


def farther(median: FloatArray, worst: FloatArray) -> FloatArray:
    """A row, or cluster, `FARTHER` times as far from the median one as the worst; arrays of shape (..., 2)."""
    weight = worst[..., W]
    middle, far = (
        np.divide(one[..., U], one[..., W], out=np.zeros_like(weight), where=one[..., W] != 0)
        for one in (median, worst)
    )
    middle = np.where(median[..., W] != 0, middle, far)
    return np.stack([weight * (middle + FARTHER * (far - middle)), weight], axis=-1)
