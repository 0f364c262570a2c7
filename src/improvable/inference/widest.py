"""An interval of the gap between any number of groups: the widest difference, which folds where groups tie.

The gap is a maximum of absolute differences, and no bootstrap interval of it can be trusted where some of them tie or
are zero. Differences of two groups have no such kink. So all of them get intervals that hold at once, and the gap's
interval holds every gap that differences within these intervals have. It is honest wherever the differences' intervals
are, ties included, and wider than need be where one pair of groups stands clear of the others.
"""

from itertools import combinations

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.pvalues import interval
from improvable.inference.statistics import gap_between


def gap_interval(
    values: FloatArray, drawn: FloatArray, level: float, protected: int | None = None, relative: int = 0
) -> tuple[float, float]:
    """The smallest and the largest gap that simultaneous intervals of all differences allow.

    Parameters
    ----------
    values : array of shape (groups,)
        Utilities under one algorithm; turned so that a protected group is worse off with a lower one.
    drawn : array of shape (Q, groups)
        The same on the draws. A draw in which one is undefined can only widen the interval.
    level : float
        The confidence.
    protected : int, optional
        The group in whose favor the gap is one-sided.
    relative : {0, 1, -1}
        Whether the gap is a share of the higher value; see `gap_between`.

    Examples
    --------
    >>> values = np.array([0.5, 0.5, 0.6])
    >>> drawn = values + 0.01 * np.random.default_rng(0).normal(size=(2_000, 3))
    >>> [round(end, 2) for end in gap_interval(values, drawn, 0.95)]
    [0.07, 0.13]
    """
    order = np.argsort(-values, kind="stable").tolist()
    pairs = list(combinations(order, 2)) if protected is None else [(g, protected) for g in order if g != protected]
    above, below = ([pair[side] for pair in pairs] for side in (0, 1))
    found = gap_between(values[above], values[below], relative)
    draws = gap_between(drawn[:, above], drawn[:, below], relative)
    low, high = _at_once(found, draws, level)
    ends = np.array([_folded(end, protected is not None, relative) for end in (low, high)])
    least = np.where((low <= 0) & (high >= 0), 0.0, ends.min(axis=0))
    return float(least.max()), float(ends.max())


def _at_once(found: FloatArray, draws: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Intervals of differences that all hold with one confidence; of a single one, the interval it has everywhere.

    Each is as many standard errors wide as the largest of all studentized deviations of a draw seldom exceeds.
    """
    if len(found) == 1:
        low, high = interval(float(found[0]), draws[:, 0], level)
        return np.array([low]), np.array([high])
    defined = np.isfinite(draws).all(axis=1)
    errors = draws[defined].std(axis=0) if defined.any() else np.full(len(found), np.inf)
    moves = np.abs(draws[defined] - found)
    apart = np.full(len(draws), np.inf)
    apart[defined] = np.divide(moves, errors, out=np.zeros(moves.shape), where=errors > 0).max(axis=1, initial=0.0)
    times = np.quantile(apart, level, method="higher")
    reach = np.full(len(found), np.inf) if np.isinf(times) else times * errors
    return found - reach, found + reach


def _folded(difference: FloatArray, one_sided: bool, relative: int) -> FloatArray:
    """The gap of two groups whose difference, first minus second, may have either sign."""
    if one_sided:
        return np.maximum(difference, 0.0)
    if not relative:
        return np.abs(difference)
    # 1 - h / g below zero: h is the higher one, and its gap is 1 - g / h.
    turned = np.divide(-difference, 1 - difference, out=np.ones(difference.shape), where=np.isfinite(difference))
    return np.where(difference < 0, turned, difference)
