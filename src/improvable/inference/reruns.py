"""What an audit's own repetitions say about running it again with other random repetitions of the same data.

Once the data are there, fresh repetitions are independent draws from one distribution: `rerun_risk` needs no model. Only
`estimate_correlation`, which looks back at the correlation of p-values across repetitions of any data, rests on `mixing`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.errors import OptionError
from improvable.inference.combining import threshold_for
from improvable.question.checks import check_integer, check_number

CONFIDENCE = 0.9
MOST_REPETITIONS = 100_001


@dataclass(frozen=True)
class Correlation:
    """Correlation of p-values across repetitions, from the repetitions of one audit.

    Attributes
    ----------
    estimate : float
    low, high : float
        Ends of its 90% interval.
    censored : int
        Repetitions whose p-value is 0 or 1 among the draws, so that its normal score is only bounded. They make the
        estimate too high.
    """

    estimate: float
    low: float
    high: float
    censored: int


def estimate_correlation(p_values: Sequence[float], draws: int) -> Correlation:
    """Estimate the correlation of `GaussianMixing` from the p-values of one audit's repetitions.

    Normal scores of p-values that are uniform under the null have variance 1, of which 1 - correlation is between
    repetitions of the same data. So one minus the variance between repetitions estimates the correlation, whatever their mean:
    the null need not hold, as long as it only shifts the scores.

    Parameters
    ----------
    p_values : sequence of float
        At least two.
    draws : int
        Bootstrap draws behind each.

    Examples
    --------
    >>> round(estimate_correlation([0.2, 0.35, 0.5, 0.1, 0.3], draws=10_000).estimate, 2)
    0.77
    """
    from scipy.special import gammaincinv, ndtri

    p = _checked_p_values(p_values)
    if len(p) < 2:
        raise OptionError(
            "one repetition says nothing about correlation.", "Give a correlation, or an audit of more repetitions."
        )
    check_integer("draws", draws, 1)
    least = 1 / (2 * draws)
    scores = ndtri(np.clip(p, least, 1 - least))
    squares, freedom = float(((scores - scores.mean()) ** 2).sum()), len(p) - 1
    if squares == 0:
        raise OptionError(
            "all repetitions have the same p-value, which says nothing about correlation.",
            "Give a correlation, or an audit of more draws.",
        )
    tail = (1 - CONFIDENCE) / 2
    # Quantiles of chi-square; scipy.stats has them too, and takes half a second to import.
    lowest, highest = (2 * gammaincinv(freedom / 2, share) for share in (tail, 1 - tail))
    variances = squares / np.array([freedom, lowest, highest])
    estimate, low, high = np.clip(1 - variances, 0, 1 - 1e-12).tolist()
    return Correlation(estimate, low, high, int(((p < least) | (p > 1 - least)).sum()))


@dataclass(frozen=True)
class RerunRisk:
    """How a finished audit would fare with fresh random repetitions of the same data.

    Attributes
    ----------
    repetitions, rejecting : int
        K, and how many repetitions have a p-value below the threshold.
    reject : bool
        What the audit decided.
    otherwise : float
        Probability that running all K repetitions afresh decides otherwise: mean over the posterior of the share of
        rejecting repetitions (Jeffreys prior).
    otherwise_range : (float, float)
        The same probability at the ends of `share_range`.
    share : float
        Estimated share of all repetitions that reject at alpha / 2: the posterior mean, (x + 1/2) / (K + 1).
    share_range : (float, float)
        Its exact 90% interval (Clopper and Pearson); either end alone holds with 95%.
    target : float
    enough : int or None
        Smallest odd number of repetitions with which two runs disagree with probability below `target`, at `share`. None
        where that takes over 100,000.
    enough_surely : int or None
        The same at the end of `share_range` that is nearer to one half. None where the range covers one half (no number
        of repetitions can then be promised) or that takes over 100,000.
    """

    repetitions: int
    rejecting: int
    reject: bool
    otherwise: float
    otherwise_range: tuple[float, float]
    share: float
    share_range: tuple[float, float]
    target: float
    enough: int | None
    enough_surely: int | None

    def to_dict(self) -> dict[str, Any]:
        plain = asdict(self)
        return plain | {key: list(plain[key]) for key in ("otherwise_range", "share_range")}


def rerun_risk(
    p_values: Sequence[float],
    *,
    alpha: float = 0.05,
    target: float = 0.01,
    threshold: float | None = None,
) -> RerunRisk:
    """The probability that a re-run of a whole audit would have decided otherwise.

    Given the data, the p-values of fresh random repetitions are independent and identically distributed. So the number of
    rejecting repetitions is binomial, with a share that is estimated from the audit's own repetitions. This is about other seeds
    on the same data; it says nothing about other data.

    Parameters
    ----------
    p_values : sequence of float
        Of the audit's repetitions.
    alpha : float
        Level of the audit.
    target : float
        Two runs of enough repetitions disagree with a probability below this.
    threshold : float, optional
        What a p-value must be below; by default alpha for one repetition, and half of it for several.

    Returns
    -------
    RerunRisk

    Examples
    --------
    >>> risk = rerun_risk([0.001, 0.004, 0.0, 0.01, 0.002, 0.03, 0.008])
    >>> risk.rejecting, risk.reject, round(risk.otherwise, 3), risk.enough, risk.enough_surely
    (6, True, 0.075, 13, None)
    """
    from scipy.special import betaln, gammaln

    check_number("alpha", alpha, 0, 0.5)
    check_number("target", target, 0, 0.5)
    p = _checked_p_values(p_values)
    count = len(p)
    # An audit of one repetition rejects at alpha; `enough` is about several.
    level, of_several = (threshold_for(alpha, some) for some in (count, max(count, 3)))
    rejecting, needed = int((p < (level if threshold is None else threshold)).sum()), (count + 1) // 2
    reject = rejecting >= needed
    first, second = rejecting + 0.5, count - rejecting + 0.5
    x = np.arange(count + 1)
    ways = gammaln(count + 1) - gammaln(x + 1) - gammaln(count - x + 1)
    chances = np.exp(ways + betaln(first + x, second + count - x) - betaln(first, second))
    otherwise = float(chances[:needed].sum() if reject else chances[needed:].sum())
    ends = sorted(_wrong(q, count, reject) for q in _exact_interval(rejecting, count))
    below = int((p < of_several).sum())
    share, (low, high) = (below + 0.5) / (count + 1), _exact_interval(below, count)
    nearer = low if low > 0.5 else high if high < 0.5 else 0.5
    return RerunRisk(
        repetitions=count,
        rejecting=rejecting,
        reject=reject,
        otherwise=otherwise,
        otherwise_range=(ends[0], ends[1]),
        share=share,
        share_range=(low, high),
        target=target,
        enough=repetitions_to_agree(share, target),
        enough_surely=repetitions_to_agree(nearer, target),
    )


def repetitions_to_agree(share: float, target: float = 0.01) -> int | None:
    """The smallest odd number of repetitions, at least 3, with which two runs on the same data rarely disagree.

    Parameters
    ----------
    share : float
        Share of all repetitions that reject at alpha / 2.
    target : float
        The two runs' decisions differ with a probability below this.

    Returns
    -------
    int or None
        None where over 100,000 repetitions are needed, as for a share of one half.

    Examples
    --------
    >>> repetitions_to_agree(0.9), repetitions_to_agree(0.6), repetitions_to_agree(0.5)
    (7, 163, None)
    """
    from scipy.special import betainc

    if not 0 <= share <= 1:
        raise OptionError(f"the share is {share}.", "It must be a number from 0 to 1.")
    check_number("target", target, 0, 0.5)

    def agree(half: int) -> bool:
        # For K = 2h - 1 repetitions the chance to reject is P(at least h of K).
        reject = float(betainc(half, half, share))
        return 2 * reject * (1 - reject) < target

    # The larger an odd K, the further that chance is from one half (Condorcet), so the search can be by halves.
    low, high = 2, (MOST_REPETITIONS + 1) // 2
    if not agree(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if agree(middle) else (middle + 1, high)
    return 2 * low - 1


def _wrong(share: float, repetitions: int, reject: bool) -> float:
    """The chance that K fresh repetitions do not decide to reject, or not to."""
    from scipy.special import betainc

    needed = (repetitions + 1) // 2
    return float(
        betainc(repetitions - needed + 1, needed, 1 - share)
        if reject
        else betainc(needed, repetitions - needed + 1, share)
    )


def _exact_interval(count: int, total: int) -> tuple[float, float]:
    from scipy.special import betaincinv

    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return low, high


def _checked_p_values(p_values: Sequence[float]) -> FloatArray:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or len(p) == 0 or not ((p >= 0) & (p <= 1)).all():
        raise OptionError("the p-values are not numbers from 0 to 1.", "Give one for each repetition.")
    return p
