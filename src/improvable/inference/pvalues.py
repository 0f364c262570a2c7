"""p-values from the centred bootstrap distribution (Section 3.2, Appendix A)."""

from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import FloatArray

TIE = 1e-10
"""Statistics closer than this share of the utilities' size are equal: floating point must not break a tie."""


@dataclass(frozen=True)
class Tail:
    """One component's p-value, with what a reader must know of it."""

    p_value: float
    undefined: int
    degenerate: bool


def upper_tail(statistic: float, draws: FloatArray, scale: float) -> Tail:
    """P = P*(T* - T >= T): how often chance alone moves the statistic as far up as it stands.

    Parameters
    ----------
    statistic : float
        T on the sample.
    draws : array of shape (draws,)
        T* on the bootstrap samples; NaN where it is undefined.
    scale : float
        Size of the utilities that T is a difference of, for ties.

    Notes
    -----
    Ties count against rejection. A draw in which T* is undefined counts against rejection. A statistic that no
    draw moves has no variance (it violates Assumption 3) and proves nothing: its p-value is 1.
    """
    defined = np.isfinite(draws)
    undefined = int((~defined).sum())
    tolerance = TIE * scale
    moved = np.abs(draws[defined] - statistic) > tolerance
    if not np.isfinite(statistic) or not moved.any():
        return Tail(1.0, undefined, degenerate=bool(np.isfinite(statistic)))
    against = int((draws[defined] - statistic >= statistic - tolerance).sum()) + undefined
    return Tail(against / len(draws), undefined, degenerate=False)


def lower_tail(statistic: float, draws: FloatArray, scale: float) -> Tail:
    """P = P*(T* - T <= T), the mirror of `upper_tail`."""
    return upper_tail(-statistic, -draws, scale)


def interval(estimate: float, draws: FloatArray, level: float) -> tuple[float, float]:
    """The centred ("basic") bootstrap interval, which agrees with the centred p-values.

    An undefined draw counts as far away on either side, so it can only widen the interval.
    """
    tail = (1 - level) / 2
    high = np.quantile(np.where(np.isfinite(draws), draws, np.inf), 1 - tail, method="higher")
    low = np.quantile(np.where(np.isfinite(draws), draws, -np.inf), tail, method="lower")
    return float(2 * estimate - high), float(2 * estimate - low)
