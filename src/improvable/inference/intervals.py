"""Estimates with their intervals: utilities, gaps, ratios and differences, and the
status quo's own gaps.

Differences have the centered interval of their draws (`interval`), which agrees with
the test's p-values. Other numbers need more:

- a rate near 0 or 1, where draws lean the wrong way or do not move at all, has Wilson's
  (`utility_interval`);
- a ratio has the one that Fieller's theorem makes of differences (`ratio_interval`);
- the widest of several gaps folds where groups tie, and has that of all differences at
  once (`gap_interval`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from improvable._typing import FloatArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO, U, W
from improvable.inference.components import gaps
from improvable.inference.evidence import ALGORITHMS, EVERYONE, Evidence
from improvable.inference.statistics import gap_between, unfairness
from improvable.question.claim import Claim


def interval(estimate: float, draws: FloatArray, level: float) -> tuple[float, float]:
    """The centered ("basic") bootstrap interval, which agrees with the centered
    p-values; NaN for a NaN.

    An undefined draw counts as far away on either side, so it can only widen the
    interval.
    """
    tail = (1 - level) / 2
    high = np.quantile(
        np.where(np.isfinite(draws), draws, np.inf), 1 - tail, method="higher"
    )
    low = np.quantile(
        np.where(np.isfinite(draws), draws, -np.inf), tail, method="lower"
    )
    return float(2 * estimate - high), float(2 * estimate - low)


def ratio_interval(
    values: FloatArray, draws: FloatArray, level: float
) -> tuple[float, float]:
    """The smallest and the largest ratio of candidate to status quo, (2,) and (Q, 2),
    that the draws do not reject.

    The ratio of U1 to U0 is above r where U1 - r U0 is above zero, and that is a
    difference, whose centered draws the test uses. So the interval excludes 1 exactly
    where that of U1 - U0 excludes 0. Where draws do not tell U0 from zero, no ratio is
    too large: the interval is not bounded. An undefined draw can only widen it.
    """
    reflected = 2 * values - draws
    if values[STATUS_QUO] < 0:
        reflected = -reflected
    below, above = reflected[:, STATUS_QUO], reflected[:, CANDIDATE]
    allowed = int(np.floor((len(draws) - 1) * (1 - level) / 2 + 1e-9))
    return _lowest(above, below, allowed), -_lowest(-above, below, allowed)


def _lowest(above: FloatArray, below: FloatArray, allowed: int) -> float:
    """The smallest r at which more than `allowed` draws have above - r * below <= 0."""
    defined = np.isfinite(above) & np.isfinite(below)
    always = int((~defined).sum()) + int((defined & (below == 0) & (above <= 0)).sum())
    rising, falling = defined & (below > 0), defined & (below < 0)
    turns = np.sort(above[rising] / below[rising])
    returns = np.sort(above[falling] / below[falling])
    if always + len(returns) > allowed:
        return -np.inf
    counts = (
        np.arange(1, len(turns) + 1)
        + always
        + len(returns)
        - np.searchsorted(returns, turns, side="left")
    )
    enough = np.flatnonzero(counts > allowed)
    return float(turns[enough[0]]) if len(enough) else np.inf


def utility_interval(
    evidence: Evidence, a: int, g: int, m: int, t: int, level: float
) -> tuple[float, float]:
    """The interval of one group's utility under one algorithm: Wilson's of a rate, and
    else that of its draws.

    Of 40 rows at a rate of .97, three samples in ten hold no failure. Every draw is
    then 1, and so is either end of the interval: the draws' interval covers about .7.
    Wilson's (1927) holds every rate p that a normal test with the variance of p itself,
    p (1 - p) / n, does not reject, n being the rows that the rate is worth.
    """
    value = float(evidence.values[a][g, m, t])
    if np.isnan(value):
        return np.nan, np.nan
    rows = _rows_of_rate(evidence, a, g, m, t)
    return (
        interval(value, evidence.drawn[a][:, g, m, t], level)
        if rows is None
        else wilson(value, rows, level)
    )


def _rows_of_rate(
    evidence: Evidence, attribute: int, group: int, measure: int, algorithm: int
) -> float | None:
    """How many independent rows a rate is worth; None where the utility is not a rate.

    p (1 - p) over the draws' variance, where the sample holds both successes and
    failures, so that clusters, strata and weights count for what they count in the
    test. Else Kish's effective number, (sum of w)^2 / (sum of w^2): the variance of the
    draws of w is the sum of w^2, less (sum of w)^2 over the number of units.
    """
    if evidence.measures[measure].formula:
        return None
    sums = evidence.sums[:, measure]
    drawn = evidence.drawn[attribute][:, group, measure, algorithm]
    drawn = drawn[np.isfinite(drawn)]
    # A rate has 0 <= u <= w in every stratum.
    if (
        not len(drawn)
        or (sums[..., U] < 0).any()
        or (sums[..., U] > sums[..., W]).any()
    ):
        return None
    mine = evidence.attributes[attribute].member == group
    whole = float(sums[mine, algorithm, W].sum())
    of_weights = float(evidence.draws[:, mine, measure, algorithm, W].sum(axis=1).var())
    rows = whole**2 / (of_weights + whole**2 / evidence.units)
    rate, variance = (
        float(evidence.values[attribute][group, measure, algorithm]),
        float(drawn.var()),
    )
    # No number between 0 and w varies more than a rate. Where draws vary more than
    # twice as much as those of a rate with one success and one failure more, values go
    # beyond. Counts with a mean of up to one half pass, and do no harm: their variance,
    # about p, is nearly p (1 - p).
    smoothed = (rate * rows + 1) / (rows + 2)
    if variance > 2 * smoothed * (1 - smoothed) / rows:
        return None
    if rate in (0.0, 1.0):
        return rows
    return rate * (1 - rate) / variance if variance > 0 else None


def wilson(rate: float, rows: float, level: float) -> tuple[float, float]:
    square = NormalDist().inv_cdf((1 + level) / 2) ** 2 / rows
    center = (rate + square / 2) / (1 + square)
    reach = np.sqrt(square * (rate * (1 - rate) + square / 4)) / (1 + square)
    return max(0.0, float(center - reach)), min(1.0, float(center + reach))


def gap_interval(
    values: FloatArray,
    drawn: FloatArray,
    level: float,
    protected: int | None = None,
    relative: int = 0,
    highest: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[float, float]:
    """The smallest and the largest gap that simultaneous intervals of all differences
    allow.

    The widest gap is a maximum of absolute differences, and no bootstrap interval of it
    can be trusted where some tie or are zero. Differences have no such kink. So this is
    honest wherever the differences' intervals are, ties included, and wider than need
    be where one pair of groups stands clear of the others.

    `values`, (groups,), and `drawn`, (Q, groups), are utilities under one algorithm,
    turned so that a protected group, in whose favor the gap is one-sided, is worse off
    with a lower one. A draw in which one is undefined can only widen the interval.
    `relative` is that of `gap_between`. Where these are the lowest that utilities can
    be, `highest` has the highest, and the gap is the widest that there can be.
    """
    order = np.argsort(-values, kind="stable").tolist()
    pairs = (
        list(combinations(order, 2))
        if protected is None
        else [(g, protected) for g in order if g != protected]
    )
    if highest is not None and protected is None:
        pairs += [(h, g) for g, h in pairs]
    above, below = ([pair[side] for pair in pairs] for side in (0, 1))
    top, tops = highest or (values, drawn)
    found = gap_between(top[above], values[below], relative)
    draws = gap_between(tops[:, above], drawn[:, below], relative)
    low, high = _at_once(found, draws, level)
    one_sided = protected is not None or highest is not None
    ends = np.array([_folded(end, one_sided, relative) for end in (low, high)])
    least = np.where((low <= 0) & (high >= 0), 0.0, ends.min(axis=0))
    return float(least.max()), float(ends.max())


def _at_once(
    found: FloatArray, draws: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Intervals of differences that all hold with one confidence; of a single one, the
    interval it has everywhere.

    Each is as many standard errors wide as the largest of all studentized deviations of
    a draw seldom exceeds.
    """
    if len(found) == 1:
        low, high = interval(float(found[0]), draws[:, 0], level)
        return np.array([low]), np.array([high])
    defined = np.isfinite(draws.T, order="C").all(axis=0)
    errors = (
        draws[defined].std(axis=0) if defined.any() else np.full(len(found), np.inf)
    )
    moves = np.abs(draws[defined] - found)
    apart = np.full(len(draws), np.inf)
    apart[defined] = np.divide(
        moves, errors, out=np.zeros(moves.shape), where=errors > 0
    ).max(axis=1, initial=0.0)
    times = np.quantile(apart, level, method="higher")
    reach = np.full(len(found), np.inf) if np.isinf(times) else times * errors
    return found - reach, found + reach


def _folded(difference: FloatArray, one_sided: bool, relative: int) -> FloatArray:
    """The gap of two groups whose difference, first minus second, may have either
    sign.
    """
    if one_sided:
        return np.maximum(difference, 0.0)
    if not relative:
        return np.abs(difference)
    # 1 - h / g below zero: h is the higher one, and its gap is 1 - g / h.
    turned = np.divide(
        -difference,
        1 - difference,
        out=np.ones(difference.shape),
        where=np.isfinite(difference),
    )
    return np.where(difference < 0, turned, difference)


@dataclass(frozen=True)
class Disparity:
    """The status quo's gap in one fairness utility between the groups of one
    attribute.
    """

    measure: str
    attribute: str
    # the reference pair of groups: the gap is how far the utility of `higher` is above
    # that of `lower`
    higher: str
    lower: str
    # Below zero where the pair stands the other way around on these rows. Of two
    # groups, or of a pair that other rows chose, the interval is that of the
    # difference, with its sign. Where these rows chose the pair out of several, it is
    # that of the widest gap, whichever pair that is (`gap_interval`): the plain
    # interval of the pair that looks widest would exclude zero in most samples of many
    # groups that have no gap.
    estimate: float
    low: float
    high: float
    one_sided: bool  # whether only a protected group's being worse off counts
    worse_off: str  # the one of the two that is worse off, if the gap is above zero


def disparities(evidence: Evidence, claim: Claim, alpha: float) -> list[Disparity]:
    """The status quo's gaps, each between its reference pair of groups, with 1 - alpha
    intervals.
    """
    out = []
    for gap in gaps(evidence, claim):
        estimate, draws = gap.between(gap.reference, STATUS_QUO)
        if evidence.chooses_here and len(gap.attribute.levels) > 2:
            values, drawn = gap.values[:, STATUS_QUO], gap.drawn[..., STATUS_QUO]
            low, high = gap_interval(
                values, drawn, 1 - alpha, gap.protected, gap.relative
            )
        else:
            low, high = interval(estimate, draws, 1 - alpha)
        above, below = gap.reference_names
        worse_off = (
            below if evidence.measures[gap.measure].worse_off == "lower" else above
        )
        which, one_sided = (
            (gap.label, gap.attribute.name, above, below),
            gap.protected is not None,
        )
        out.append(Disparity(*which, estimate, low, high, one_sided, worse_off))
    return out


@dataclass(frozen=True)
class Estimate:
    measure: str
    group: str
    quantity: str
    estimate: float
    low: float
    high: float


def estimates(evidence: Evidence, alpha: float) -> list[Estimate]:
    """Every utility by group and gap between two groups, and their ratio and difference
    between algorithms.

    Gaps keep their sign: the largest gap folds at zero, where no bootstrap interval can
    be trusted.
    """
    out = []
    for measure in evidence.asked:
        label, relative = (
            evidence.measures[measure].label,
            evidence.relative(measure, None),
        )
        for a, attribute in enumerate(evidence.attributes):
            values, drawn = (
                evidence.values[a][:, measure],
                evidence.drawn[a][:, :, measure],
            )
            for g, group in enumerate(attribute.levels):
                own = [
                    utility_interval(evidence, a, g, measure, t, 1 - alpha)
                    for t in (STATUS_QUO, CANDIDATE)
                ]
                out += _changes(label, group, values[g], drawn[:, g], alpha, own)
            # Of each pair, the group first that the status quo favored on the training
            # rows.
            favored = evidence.training_values(a, measure)
            for high, low in combinations(
                sorted(range(len(favored)), key=lambda g: (-favored[g], g)), 2
            ):
                name = "1 - {1} / {0}" if relative else "{0} minus {1}"
                pair = name.format(attribute.levels[high], attribute.levels[low])
                gap, gaps_drawn = _between(evidence, a, measure, (high, low), relative)
                own = [
                    interval(float(gap[t]), gaps_drawn[:, t], 1 - alpha)
                    for t in (STATUS_QUO, CANDIDATE)
                ]
                out += _changes(label, pair, gap, gaps_drawn, alpha, own)
    return out


def _between(
    evidence: Evidence, a: int, m: int, pair: tuple[int, int], relative: int
) -> tuple[FloatArray, FloatArray]:
    """The gap between two groups under both algorithms, at its widest: on the sample,
    (2,), and on the draws.
    """
    values, drawn = (
        gap_between(above[..., pair[0], m, :], below[..., pair[1], m, :], relative)
        for below, above in zip(*(end[a] for end in evidence.ends), strict=True)
    )
    return values, drawn


def _changes(
    measure: str,
    group: str,
    values: FloatArray,
    draws: FloatArray,
    alpha: float,
    own: Sequence[tuple[float, float]],
) -> list[Estimate]:
    """Four numbers of a pair (status quo, candidate), shapes (2,) and (Q, 2); `own` are
    the intervals of the two.
    """
    before, after = values
    ratio = float(after / before) if before != 0 else np.nan
    difference = float(after - before)
    bounds = (
        (np.nan, np.nan)
        if np.isnan(ratio)
        else ratio_interval(values, draws, 1 - alpha)
    )
    apart = interval(difference, draws[:, CANDIDATE] - draws[:, STATUS_QUO], 1 - alpha)
    return [
        *(
            Estimate(measure, group, name, float(values[t]), *own[t])
            for t, name in enumerate(ALGORITHMS)
        ),
        Estimate(measure, group, "ratio", ratio, *bounds),
        Estimate(measure, group, "difference", difference, *apart),
    ]


@dataclass(frozen=True)
class Spread:
    """A mean over the repetitions, with its interval; None where it is undefined in
    one, or an end is not bounded.
    """

    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Combined:
    """One number under either algorithm, from all repetitions."""

    # "utility" of a group, "difference" of two groups, or "gap" between the groups of a
    # column
    kind: str
    measure: str
    group: str  # the group, "A minus B", or the column
    spreads: tuple[Spread, ...]  # of the status quo and of the candidate


def combined(
    estimates: Sequence[float], draws: Sequence[FloatArray], level: float
) -> Spread:
    """One number from its estimates and draws in all repetitions."""
    return _voted(
        estimates,
        (
            interval(float(one), drawn, level)
            for one, drawn in zip(estimates, draws, strict=True)
        ),
    )


def _voted(estimates: Sequence[float], ends: Iterable[tuple[float, float]]) -> Spread:
    """The mean of the repetitions, with what most of their intervals do not exclude."""
    if not np.isfinite(estimates).all():
        return Spread(None, None, None)
    lows, highs = map(sorted, zip(*ends, strict=True))
    middle = lows[(len(lows) - 1) // 2], highs[len(highs) // 2]
    return Spread(
        float(np.mean(estimates)),
        *(float(end) if np.isfinite(end) else None for end in middle),
    )


def utility(
    every: Sequence[Evidence], a: int, g: int, m: int, t: int, level: float
) -> Spread:
    estimates = [float(one.values[a][g, m, t]) for one in every]
    return _voted(
        estimates, (utility_interval(one, a, g, m, t, level) for one in every)
    )


def widest(
    every: Sequence[Evidence],
    a: int,
    m: int,
    t: int,
    protected: int | None,
    level: float,
) -> Spread:
    direction, relative = (
        every[0].direction(m, protected),
        every[0].relative(m, protected),
    )
    found, intervals = [], []
    for one in every:
        low, high = one.turned(a, m, direction)
        top = (
            None
            if high is None or t == STATUS_QUO
            else (high[0][:, t], high[1][..., t])
        )
        found.append(
            float(
                unfairness(
                    low[0][:, t], protected, relative, None if top is None else top[0]
                )
            )
        )
        intervals.append(
            gap_interval(low[0][:, t], low[1][..., t], level, protected, relative, top)
        )
    return _voted(found, intervals)


def combine_all(
    every: Sequence[Evidence], claim: Claim, gaps: Sequence[Disparity], level: float
) -> list[Combined]:
    """Every utility of every group under both algorithms, every gap, and of two groups
    their difference.
    """
    first, both = every[0], range(len(ALGORITHMS))
    out = []
    for m in first.asked:
        label = first.measures[m].label
        for a, attribute in enumerate(first.attributes):
            for g, group in enumerate(attribute.levels):
                out.append(
                    Combined(
                        "utility",
                        label,
                        group,
                        tuple(utility(every, a, g, m, t, level) for t in both),
                    )
                )
        if claim.overall is not None and m in first.accuracy:
            pairs = [one.overall(claim.overall, m) for one in every]
            found = tuple(
                combined(
                    [v[t] for v, _ in pairs], [drawn[:, t] for _, drawn in pairs], level
                )
                for t in both
            )
            out.append(Combined("utility", label, EVERYONE, found))
    for gap in gaps:
        m = next(
            m
            for m, measure in enumerate(first.measures)
            if measure.label == gap.measure
        )
        a = next(
            a
            for a, attribute in enumerate(first.attributes)
            if attribute.name == gap.attribute
        )
        levels, protected = (
            first.attributes[a].levels,
            first.attributes[a].place_of(claim.protected),
        )
        # of more groups the rows chose the pair: an interval of it alone would be too
        # narrow
        if len(levels) == 2:
            g, h = levels.index(gap.higher), levels.index(gap.lower)
            relative = int(first.measures[m].between == "ratio")
            pairs = [_between(one, a, m, (g, h), relative) for one in every]
            found = tuple(
                combined(
                    [float(v[t]) for v, _ in pairs], [d[:, t] for _, d in pairs], level
                )
                for t in both
            )
            out.append(
                Combined(
                    "difference", gap.measure, f"{gap.higher} minus {gap.lower}", found
                )
            )
        found = tuple(widest(every, a, m, t, protected, level) for t in both)
        out.append(Combined("gap", gap.measure, gap.attribute, found))
    return out
