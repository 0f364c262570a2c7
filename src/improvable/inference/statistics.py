"""Sums become utilities, utilities become the test statistics of Section 3.2.

The last axes of every array are those of `Evidence`; leading axes (draws) are free, so
that a statistic of a sample and of its draws is one function.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import permutations

import numpy as np

from improvable._typing import FloatArray
from improvable.inference.cells import U, W
from improvable.question.claim import Form
from improvable.question.formula import Formula
from improvable.question.utility import Measure

# statistics closer than this share of the utilities' size are equal: floats must not
# break a tie
TIE = 1e-10


def utilities_of(sums: FloatArray) -> FloatArray:
    """U = sum of u / sum of w, equation (1), (..., 2) -> (...); NaN where w sums to
    zero and U is undefined.
    """
    u, w = sums[..., U], sums[..., W]
    return np.asarray(np.divide(u, w, out=np.full(u.shape, np.nan), where=w > 0))


def drawn_utilities(sums: FloatArray, draws: FloatArray, linear: bool) -> FloatArray:
    """Utilities of draws, (..., 2) and (Q, ..., 2) -> (Q, ...); linear ones are U +
    (du - U dw) / W.
    """
    if not linear:
        return utilities_of(draws)
    utilities, apart = utilities_of(sums), draws - sums
    whole = np.where(sums[..., W] > 0, sums[..., W], np.nan)
    return np.asarray(utilities + (apart[..., U] - utilities * apart[..., W]) / whole)


def with_formulas(
    values: FloatArray, measures: Sequence[Measure], axis: int
) -> FloatArray:
    """Values of pairs (u, w) followed by those of formulas of them, along the axis of
    measures.
    """
    formulas = [measure for measure in measures if measure.formula]
    if not formulas:
        return values
    more = [
        Formula(one.formula)(
            {
                name: np.asarray(values.take(place, axis=axis))
                for name, place in one.reads
            }
        )
        for one in formulas
    ]
    return np.concatenate([values, np.stack(more, axis=axis)], axis=axis)


def slopes_of(
    values: FloatArray, measure: Measure, place: int
) -> list[tuple[int, FloatArray]]:
    """By how much a measure moves with each pair (u, w) that it is made of: their
    places, and derivatives.

    `values` are those of the pairs, shape (..., M, 2); derivatives have shape (..., 2).
    `place` is the measure's own.
    """
    if not measure.formula:
        return [(place, np.ones((*values.shape[:-2], values.shape[-1])))]
    formula, read = (
        Formula(measure.formula),
        {name: values[..., at, :] for name, at in measure.reads},
    )
    return [(at, formula.derivative(read, name)) for name, at in measure.reads]


def accuracy_statistic(
    status_quo: FloatArray,
    candidate: FloatArray,
    delta: float,
    form: Form,
    better: int = 1,
) -> FloatArray:
    """T_g = A_1g - (1 + Delta_g) A_0g; large values speak for improvement.

    Where lower is better (`better` is -1), it is (1 - Delta_g) A_0g - A_1g: lower by a
    share Delta_g.
    """
    if form == "ratio":
        return better * (candidate - (1 + better * delta) * status_quo)
    return better * (candidate - status_quo) - delta


def gap_statistic(
    status_quo: FloatArray, candidate: FloatArray, delta: float, form: Form
) -> FloatArray:
    """T_f of two gaps, D_1 - (1 - Delta_f) D_0; small values speak for improvement."""
    return candidate - (
        (1 - delta) * status_quo if form == "ratio" else status_quo - delta
    )


def gap_between(above: FloatArray, below: FloatArray, relative: int = 0) -> FloatArray:
    """The gap between two groups: F_g - F_h, or as a share of the higher one, 1 - F_h /
    F_g.

    `relative` is 0 for a difference, 1 for a share, and -1 for a share of values whose
    signs are turned. A share is undefined where the higher one is not above zero.
    """
    difference = np.asarray(above - below)
    if not relative:
        return difference
    whole = np.asarray(above if relative > 0 else -below)
    return np.asarray(
        np.divide(
            difference, whole, out=np.full(difference.shape, np.nan), where=whole > 0
        )
    )


def gap_slopes(above: float, below: float, relative: int = 0) -> tuple[float, float]:
    """By how much `gap_between` moves with either group's value."""
    if not relative:
        return 1.0, -1.0
    whole = above if relative > 0 else -below
    return (
        (below / whole**2, -1 / whole)
        if relative > 0
        else (1 / whole, above / whole**2)
    )


def unfairness(
    values: FloatArray,
    protected: int | None = None,
    relative: int = 0,
    highest: FloatArray | None = None,
) -> FloatArray:
    """How uneven utilities are, shape (..., groups) -> (...).

    The largest gap between any two groups, for two groups |F_r - F_b|. With a protected
    group, how far it falls short of the best-off group: the positive part instead of
    the absolute value (Remark 2). `relative` is that of `gap_between`. Where `values`
    are the lowest that utilities can be, `highest` has the highest.
    """
    groups = np.moveaxis(values, -1, 0)
    if highest is not None:
        above = np.moveaxis(highest, -1, 0)
        pairs = [(g, h) for g, h in ordered_pairs(len(groups), protected) if g != h]
        every = [gap_between(above[g], groups[h], relative) for g, h in pairs]
        return reduce(
            np.maximum, every, *([] if protected is None else [0 * groups[protected]])
        )
    worst = reduce(np.minimum, groups) if protected is None else groups[protected]
    return gap_between(reduce(np.maximum, groups), worst, relative)


def reference_pair(
    status_quo: FloatArray, protected: int | None = None
) -> tuple[int, int]:
    """The pair (g, h) of groups with the largest gap F_0g - F_0h, from a vector of
    shape (groups,).

    With a protected group, h is that group and g another. Where all are equal, the
    first pair that can be.
    """
    low = int(np.argmin(status_quo)) if protected is None else protected
    others = [g for g in range(len(status_quo)) if g != low]
    return max(others, key=lambda g: float(status_quo[g])), low


def ordered_pairs(groups: int, protected: int | None = None) -> list[tuple[int, int]]:
    """Every pair (g, h) between which a candidate's gap must be small.

    With a protected group, h is that group and g every group, itself included: its own
    zero stands for the positive part, and demands that the status quo's gap be above
    zero.
    """
    if protected is None:
        return list(permutations(range(groups), 2))
    return [(g, protected) for g in range(groups)]
