"""What an audit's own repetitions say about running it again with other random
repetitions of the same data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load when they are first used

from improvable._typing import FloatArray
from improvable.errors import OptionError
from improvable.inference.test import threshold_for
from improvable.question.options import check_integer, check_number

CONFIDENCE = 0.9
NODES, POINTS = 200, 1_001
# densities that many powers of e below their peak are left out of an integral
NEGLIGIBLE = 30.0


@dataclass(frozen=True)
class RerunRisk:
    """How a finished audit would fare with fresh random repetitions of the same
    data.
    """

    repetitions: int  # K
    rejecting: int  # how many have a p-value below alpha / 2
    reject: bool  # what the audit decided
    otherwise: float  # probability that K fresh repetitions decide otherwise
    # Its 90% interval, at the ends of `share_range`; it includes `otherwise`, a mean,
    # which may be larger near 0.
    otherwise_range: tuple[float, float]
    share: float  # probability that one fresh repetition has a p-value below alpha / 2
    # its 90% interval; either end alone holds with 95%
    share_range: tuple[float, float]


def rerun_risk(
    p_values: Sequence[float], *, draws: int = 10_000, alpha: float = 0.05
) -> RerunRisk:
    """The probability that a rerun of a whole audit, with another seed on the same
    data, would decide otherwise.

    Given the data, the p-values of fresh repetitions are independent draws from one
    distribution. Their normal scores are taken as normal, with unknown mean and
    variance. What counts is how many deviations the mean is from the threshold. With
    the prior 1 / deviation this distance is distributed as d chi / sqrt(K - 1) + N /
    sqrt(K), where d is its estimate: its quantiles are the confidence limits of the
    noncentral t, exact for normal scores, and `share` is the predictive t. Scores vary
    at least as much as the draws behind them make them vary. A p-value that no draw
    bounds, 0 on the side that decided, is censored at 1 / (2 draws): its score is where
    the line through the others, against normal order statistics, puts it, and no nearer
    than that. A score on the side that did not decide counts as no farther off than the
    farthest of the others: a candidate that changes nothing has p-value 1, which is no
    measure of how far.

    The number of rejecting repetitions is binomial without any model, but knows only
    the side of a p-value: after three near 1 a rerun would reject with probability 8%,
    and the interval of seven that agree would reach 20%.

    >>> risk = rerun_risk([0.001, 0.004, 0.0, 0.01, 0.002, 0.03, 0.008])
    >>> (
    ...     risk.rejecting,
    ...     risk.reject,
    ...     round(risk.otherwise, 3),
    ...     [round(end, 3) for end in risk.otherwise_range],
    ... )
    (6, True, 0.045, [0.0, 0.236])
    >>> rerun_risk([0.97, 0.99, 0.93]).otherwise_range[1] < 0.01
    True
    """
    betainc, ndtr, ndtri = (
        scipy.special.betainc,
        scipy.special.ndtr,
        scipy.special.ndtri,
    )
    check_number("alpha", alpha, 0, 0.5)
    p = _checked_p_values(p_values)
    level, count = threshold_for(alpha, len(p)), len(p)
    check_integer("draws", draws, 1)
    rejecting = int((p < level).sum())
    reject = 2 * rejecting >= count
    # How far scores are on the side that decided, of which so many decide.
    side, needed = (1, (count + 1) // 2) if reject else (-1, count // 2 + 1)
    least = min(1 / (2 * draws), level / 2)
    scores = _scores(p, least)
    ahead = _beyond(
        np.sort(side * (scores + ndtri(level))),
        int(((p < least) if reject else (p > 1 - least)).sum()),
    )
    ahead = np.maximum(ahead, -ahead.max())
    # The standard deviation that the draws alone give to a normal score.
    score, tail = float(scores.mean()), float(ndtr(scores.mean()))
    noise = float(
        np.sqrt(tail * (1 - tail) / draws) * np.sqrt(2 * np.pi) * np.exp(score**2 / 2)
    )
    distance = float(ahead.mean()) / max(float(ahead.std(ddof=1)), noise)
    edges, below = _standardized(distance, count)
    middles, weights = (edges[1:] + edges[:-1]) / 2, np.diff(below)
    ends = np.interp([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], below, edges)
    # Fewer than needed are on that side.
    otherwise = float(weights @ betainc(count - needed + 1, needed, ndtr(-middles)))
    high, low = betainc(count - needed + 1, needed, ndtr(-ends)).tolist()
    least, most = sorted(ndtr(side * ends).tolist())
    return RerunRisk(
        repetitions=count,
        rejecting=rejecting,
        reject=reject,
        otherwise=otherwise,
        otherwise_range=(min(low, otherwise), max(high, otherwise)),
        share=float(weights @ ndtr(side * middles)),
        share_range=(least, most),
    )


def _standardized(distance: float, repetitions: int) -> tuple[FloatArray, FloatArray]:
    """The distribution of a standardized distance given its estimate: points, and the
    probability below each.
    """
    freedom = repetitions - 1
    # The logarithm of chi / sqrt(freedom), whose density falls off exponentially or
    # faster on both sides.
    reach = NEGLIGIBLE / freedom
    logs = np.linspace(-reach - np.sqrt(reach), np.sqrt(reach), NODES)
    weights = np.exp(freedom * (logs - np.expm1(2 * logs) / 2))
    weights /= weights.sum()
    centers = distance * np.exp(logs)
    seen, margin = (
        centers[weights > np.exp(-NEGLIGIBLE)],
        np.sqrt(2 * NEGLIGIBLE / repetitions),
    )
    points = np.linspace(seen.min() - margin, seen.max() + margin, POINTS)
    return points, np.asarray(
        scipy.special.ndtr(np.sqrt(repetitions) * (points[:, None] - centers)) @ weights
    )


def _scores(p: FloatArray, least: float) -> FloatArray:
    """Normal scores, high for low p-values; a p-value of 0 or 1 counts as `least` away
    from it.
    """
    return np.asarray(-scipy.special.ndtri(np.clip(p, least, 1 - least)))


def _beyond(ordered: FloatArray, censored: int) -> FloatArray:
    """Rising scores, of which the last `censored`, known only from below, are put where
    normal ones would be.
    """
    count, seen = len(ordered), len(ordered) - censored
    if not 0 < seen < count:
        return ordered
    # Blom's (1958)
    places = scipy.special.ndtri((np.arange(1, count + 1) - 0.375) / (count + 0.25))
    # The first that is censored stands at its bound, so that there is a line even where
    # a single one is seen.
    slope, start = np.polyfit(places[: seen + 1], ordered[: seen + 1], 1)
    return np.concatenate(
        [ordered[:seen], np.maximum(ordered[seen:], start + slope * places[seen:])]
    )


def _checked_p_values(p_values: Sequence[float]) -> FloatArray:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise OptionError(
            "the p-values are not numbers from 0 to 1.", "Give one for each repetition."
        )
    if len(p) < 2:
        raise OptionError(
            "one repetition says nothing about others.",
            "Audit with several repetitions.",
        )
    return p
