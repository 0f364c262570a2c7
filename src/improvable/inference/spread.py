"""Estimates with intervals over all repetitions, not over one of them.

A repetition has an interval from its own draws. It covers the true value of what that repetition tested, which under
the forward scheme is the mixture of its blocks' candidates, on rows like those that were tested. Its confidence is
1 - alpha / 2, so that a vote of several repetitions has 1 - alpha, as their median p-value must be below alpha / 2
(Corollary 1); it is 1 - alpha where there is one repetition.

The vote excludes a value that most repetitions exclude, so its ends are medians of the repetitions' ends, each taken on
the wider side. What is proven is about a value that all repetitions have in common, as the status quo's: fewer than
half of their intervals miss it, with the stated confidence. Every repetition has candidates of its own, whose true
values differ; how often the interval covers their mean is simulated, not proven (`benchmarks/validity/intervals`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.estimates import Disparity, gap_interval, interval, utility_interval
from improvable.inference.evidence import ALGORITHMS, EVERYONE, Evidence
from improvable.inference.statistics import gap_between, unfairness
from improvable.question.claim import Claim


@dataclass(frozen=True)
class Spread:
    """A mean over the repetitions, with its interval; None where it is undefined in one, or an end is not bounded."""

    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Combined:
    """One number under either algorithm, from all repetitions.

    Attributes
    ----------
    kind : {"utility", "difference", "gap"}
        A utility of a group, the difference of two groups, or the gap between the groups of a column.
    measure : str
    group : str
        The group, "A minus B", or the column.
    spreads : (Spread, Spread)
        Of the status quo and of the candidate.
    """

    kind: str
    measure: str
    group: str
    spreads: tuple[Spread, ...]


def combined(estimates: Sequence[float], draws: Sequence[FloatArray], level: float) -> Spread:
    """One number from all repetitions.

    Examples
    --------
    >>> one = combined([1.0, 2.0, 3.0], [np.array([e - 1, e, e + 1]) for e in (1.0, 2.0, 3.0)], 0.9)
    >>> one.estimate, one.low, one.high
    (2.0, 1.0, 3.0)
    """
    if not np.isfinite(estimates).all():
        return Spread(None, None, None)
    return voted(estimates, [interval(float(one), drawn, level) for one, drawn in zip(estimates, draws, strict=True)])


def voted(estimates: Sequence[float], ends: Sequence[tuple[float, float]]) -> Spread:
    """The mean of the repetitions, with what most of their intervals do not exclude."""
    low = sorted(low for low, _ in ends)[(len(ends) - 1) // 2]
    high = sorted(high for _, high in ends)[len(ends) // 2]
    return Spread(float(np.mean(estimates)), *(float(end) if np.isfinite(end) else None for end in (low, high)))


def utility(every: Sequence[Evidence], a: int, g: int, m: int, t: int, level: float) -> Spread:
    """One utility of one group under one algorithm, from all repetitions."""
    estimates = [float(one.values[a][g, m, t]) for one in every]
    if not np.isfinite(estimates).all():
        return Spread(None, None, None)
    return voted(estimates, [utility_interval(one, a, g, m, t, level) for one in every])


def widest(every: Sequence[Evidence], a: int, m: int, t: int, protected: int | None, level: float) -> Spread:
    """The gap of one utility between the groups of one attribute under one algorithm, from all repetitions."""
    estimates, ends = [], []
    for one in every:
        direction, relative = one.direction(m, protected), one.relative(m, protected)
        values, drawn = direction * one.values[a][:, m, t], direction * one.drawn[a][:, :, m, t]
        estimates.append(float(unfairness(values, protected, relative)))
        if not np.isfinite(estimates[-1]):
            return Spread(None, None, None)
        ends.append(gap_interval(values, drawn, level, protected, relative))
    return voted(estimates, ends)


def difference(every: Sequence[Evidence], a: int, m: int, t: int, pair: tuple[int, int], level: float) -> Spread:
    """The difference of one utility between two groups under one algorithm, from all repetitions; with its sign."""
    relative = int(every[0].measures[m].between == "ratio")

    def between(x: FloatArray) -> FloatArray:
        return gap_between(x[..., pair[0], m, t], x[..., pair[1], m, t], relative)

    return combined([float(between(one.values[a])) for one in every], [between(one.drawn[a]) for one in every], level)


def combine_all(every: Sequence[Evidence], claim: Claim, gaps: Sequence[Disparity], level: float) -> list[Combined]:
    """Every utility of every group under both algorithms, every gap, and of two groups their difference."""
    first, both = every[0], range(len(ALGORITHMS))
    out = []
    for m in first.asked:
        label = first.measures[m].label
        for a, attribute in enumerate(first.attributes):
            for g, group in enumerate(attribute.levels):
                found = tuple(utility(every, a, g, m, t, level) for t in both)
                out.append(Combined("utility", label, group, found))
        if claim.overall is not None and m in first.accuracy:
            pairs = [one.overall(claim.overall, m) for one in every]
            found = tuple(combined([v[t] for v, _ in pairs], [drawn[:, t] for _, drawn in pairs], level) for t in both)
            out.append(Combined("utility", label, EVERYONE, found))
    for gap in gaps:
        m = next(m for m, measure in enumerate(first.measures) if measure.label == gap.measure)
        a = next(a for a, attribute in enumerate(first.attributes) if attribute.name == gap.attribute)
        levels, protected = first.attributes[a].levels, first.attributes[a].place_of(claim.protected)
        if len(levels) == 2:  # of more groups the rows chose the pair: an interval of it alone would be too narrow
            pair = levels.index(gap.higher), levels.index(gap.lower)
            found = tuple(difference(every, a, m, t, pair, level) for t in both)
            out.append(Combined("difference", gap.measure, f"{gap.higher} minus {gap.lower}", found))
        found = tuple(widest(every, a, m, t, protected, level) for t in both)
        out.append(Combined("gap", gap.measure, gap.attribute, found))
    return out
