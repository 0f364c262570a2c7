"""Estimates with their intervals: the status quo's own gap, and every utility, gap, ratio and difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.components import gaps
from improvable.inference.evidence import ALGORITHMS, Evidence
from improvable.inference.intervals import ratio_interval
from improvable.inference.pvalues import interval
from improvable.inference.rates import utility_interval
from improvable.inference.statistics import gap_between
from improvable.inference.widest import gap_interval
from improvable.question.claim import Claim


@dataclass(frozen=True)
class Disparity:
    """The status quo's gap in one fairness utility between the groups of one attribute.

    Attributes
    ----------
    measure, attribute : str
    higher, lower : str
        The reference pair of groups: the gap is how far the utility of `higher` is above that of `lower`.
    estimate, low, high : float
        The gap and its interval. Below zero where the pair stands the other way around on these rows.

        Of two groups, or of a pair that other rows chose, the interval is that of the difference, with its sign: which
        group is called the higher one only turns it around. Where these rows chose the pair out of several, it is that
        of the widest gap, and holds whichever pair that is (`widest.gap_interval`); the plain interval of the pair that
        looks widest would exclude zero in most samples of many groups that have no gap.
    one_sided : bool
        Whether only a protected group's being worse off counts.
    worse_off : str
        The one of the two that is worse off, if the gap is above zero.
    """

    measure: str
    attribute: str
    higher: str
    lower: str
    estimate: float
    low: float
    high: float
    one_sided: bool
    worse_off: str


def disparities(evidence: Evidence, claim: Claim, alpha: float) -> list[Disparity]:
    """The status quo's gaps, each between its reference pair of groups, with 1 - alpha intervals."""
    out = []
    for gap in gaps(evidence, claim):
        estimate, draws = gap.before()
        if evidence.chooses_here and len(gap.attribute.levels) > 2:
            values, drawn = gap.values[:, STATUS_QUO], gap.drawn[..., STATUS_QUO]
            low, high = gap_interval(values, drawn, 1 - alpha, gap.protected, gap.relative)
        else:
            low, high = interval(estimate, draws, 1 - alpha)
        named = evidence.measures[gap.measure]
        pair = gap.attribute.levels[gap.reference[0]], gap.attribute.levels[gap.reference[1]]
        # Direction -1 looks at a protected group from below: its value is the higher one.
        above, below = pair if evidence.direction(gap.measure, gap.protected) > 0 else pair[::-1]
        out.append(
            Disparity(
                measure=named.label,
                attribute=gap.attribute.name,
                higher=above,
                lower=below,
                estimate=estimate,
                low=low,
                high=high,
                one_sided=gap.protected is not None,
                worse_off=below if named.worse_off == "lower" else above,
            )
        )
    return out


@dataclass(frozen=True)
class Estimate:
    """A number with its interval."""

    measure: str
    group: str
    quantity: str
    estimate: float
    low: float
    high: float


def estimates(evidence: Evidence, alpha: float) -> list[Estimate]:
    """Every utility by group and gap between two groups, and their ratio and difference between algorithms.

    Gaps keep their sign: the largest gap folds at zero, where no bootstrap interval can be trusted. A rate of a group
    has Wilson's interval (`rates`).
    """
    out = []
    for measure in evidence.asked:
        named = evidence.measures[measure]
        for a, attribute in enumerate(evidence.attributes):
            values, drawn = evidence.values[a][:, measure], evidence.drawn[a][:, :, measure]
            for g, group in enumerate(attribute.levels):
                own = [utility_interval(evidence, a, g, measure, t, 1 - alpha) for t in (STATUS_QUO, CANDIDATE)]
                out += _changes(named.label, group, values[g], drawn[:, g], alpha, own)
            for high, low in _ordered_pairs(evidence, a, measure):
                relative = evidence.relative(measure, None)
                name = "1 - {1} / {0}" if relative else "{0} minus {1}"
                pair = name.format(attribute.levels[high], attribute.levels[low])
                gap, gaps_drawn = (gap_between(x[..., high, :], x[..., low, :], relative) for x in (values, drawn))
                own = [_interval(float(gap[t]), gaps_drawn[:, t], alpha) for t in (STATUS_QUO, CANDIDATE)]
                out += _changes(named.label, pair, gap, gaps_drawn, alpha, own)
    return out


def _ordered_pairs(evidence: Evidence, attribute: int, measure: int) -> list[tuple[int, int]]:
    """Every pair of groups, the one first that the status quo favored on the training rows."""
    values = evidence.training_values(attribute, measure)
    order = sorted(range(len(values)), key=lambda g: (-values[g], g))
    return list(combinations(order, 2))


def _changes(
    measure: str,
    group: str,
    values: FloatArray,
    draws: FloatArray,
    alpha: float,
    own: Sequence[tuple[float, float]],
) -> list[Estimate]:
    """Four numbers of a pair (status quo, candidate), shapes (2,) and (Q, 2); `own` are the intervals of the two."""
    found: dict[str, tuple[float, float, float]]
    found = {name: (float(values[t]), *own[t]) for t, name in enumerate(ALGORITHMS)}
    before, after = values[STATUS_QUO], values[CANDIDATE]
    difference = float(_difference(values))
    found["difference"] = (difference, *_interval(difference, _difference(draws), alpha))
    ratio = float(after / before) if before != 0 else np.nan
    bounds = (np.nan, np.nan) if np.isnan(ratio) else ratio_interval(values, draws, 1 - alpha)
    found["ratio"] = (ratio, *bounds)
    return [Estimate(measure, group, name, *found[name]) for name in (*ALGORITHMS, "ratio", "difference")]


def _interval(estimate: float, draws: FloatArray, alpha: float) -> tuple[float, float]:
    return (np.nan, np.nan) if np.isnan(estimate) else interval(estimate, draws, 1 - alpha)


def _difference(pair: FloatArray) -> FloatArray:
    return np.asarray(pair[..., CANDIDATE] - pair[..., STATUS_QUO])
