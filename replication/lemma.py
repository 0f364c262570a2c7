"""The lemma behind Theorem 3: for many repetitions, the analyst's choice keeps the
median near its level.

For every epsilon there are finite m-bar and K-bar such that m attempts of the median of
K repetitions reject a true null with probability below alpha + epsilon, for every m up
to m-bar and every K above K-bar; and the analyst's choice m2* is below m-bar. It needs
no Assumption 4: where that fails, the policymaker prefers the median, or is indifferent
up to epsilon.
"""

from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray
from improvable.errors import OptionError
from improvable.question.options import check_number
from improvable.studies.game import (
    INDEPENDENT,
    MAX_ATTEMPTS,
    Cost,
    Mixing,
    rejection_probability,
)

EPSILON = 0.01
MAX_REPETITIONS = 2**20
MAX_SCAN = 20_000


@dataclass(frozen=True)
class LemmaBounds:
    """The numbers of the lemma.

    Attributes
    ----------
    epsilon : float
    m_bar : int
        The smallest m with c2(m) - c2(1) > alpha + epsilon; the analyst repeats the
        median fewer times than that.
    k_bar : int or None
        The largest K at which m-bar attempts of the median of K reject with probability
        alpha + epsilon or more; 1 where there is none above one repetition, None where
        it is beyond `MAX_REPETITIONS`.
    rejection : float or None
        That probability for K-bar + 1 repetitions.
    limit : float
        What it tends to as K grows: the probability that at least half of all
        repetitions reject, at most alpha.
    """

    epsilon: float
    m_bar: int
    k_bar: int | None
    rejection: float | None
    limit: float


def lemma_bounds(
    cost_repeated: Cost,
    *,
    epsilon: float = EPSILON,
    alpha: float = 0.05,
    mixing: Mixing = INDEPENDENT,
) -> LemmaBounds:
    """m-bar and K-bar(epsilon) for the cost c2 of the median, which is held fixed while
    K grows, as in the paper.

    Where more repetitions make an attempt dearer, m-bar only falls, and K-bar still
    suffices.

    Parameters
    ----------
    cost_repeated : callable
        c2, as in `best_response`.
    epsilon : float
        Above 0.
    alpha : float
    mixing : Mixing

    Returns
    -------
    LemmaBounds

    Notes
    -----
    The probability v_K(m) increases in m, so the largest m decides. For q below one
    half the chance that at least half of K repetitions reject falls as K grows by two
    (as in Condorcet's jury theorem). Putting 1 for every q of one half or more gives a
    bound on v_K(m) that falls as K grows by two; bisection finds from where on it is
    below alpha + epsilon, for even and for odd K. Below that K, v_K(m) itself is
    computed, one K after the other.

    Examples
    --------
    >>> bounds = lemma_bounds(lambda m: 0.007 * m, epsilon=0.01)
    >>> bounds.m_bar, bounds.k_bar
    (10, 2)
    """
    check_number("epsilon", epsilon, 0, 1)
    check_number("alpha", alpha, 0, 0.5)
    goal = alpha + epsilon
    m_bar = _first_dear(cost_repeated, goal)
    q, weights = mixing.points(alpha / 2)

    def value(repetitions: int) -> float:
        return float(
            rejection_probability(
                [m_bar], alpha=alpha, repetitions=repetitions, mixing=mixing
            )[0]
        )

    limit = float(
        weights[q > 0.5].sum() + weights[q == 0.5].sum() * -np.expm1(-m_bar * np.log(2))
    )
    safe = [_safe_from(parity, q, weights, m_bar, goal) for parity in (0, 1)]
    if None in safe:
        return LemmaBounds(epsilon, m_bar, None, None, limit)
    start = max(one for one in safe if one is not None)
    k_bar = start - 1
    for _ in range(MAX_SCAN):
        if k_bar < 2 or value(k_bar) >= goal:
            break
        k_bar -= 1
    return LemmaBounds(epsilon, m_bar, k_bar, value(k_bar + 1), limit)


def _first_dear(cost: Cost, goal: float) -> int:
    """The smallest m whose cost exceeds that of one attempt by more than the goal."""
    one = cost(1)

    def dear(m: int) -> bool:
        try:
            return cost(m) - one > goal
        except OverflowError:
            return True

    high = 2
    while not dear(high):
        high *= 2
        if high > MAX_ATTEMPTS:
            raise OptionError(
                "the cost of an attempt is next to nothing.", "Give a larger one."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if dear(middle) else (middle, high)
    return high


def _safe_from(
    parity: int, q: FloatArray, weights: FloatArray, attempts: int, goal: float
) -> int | None:
    """The first K of a parity from which on the bound is below the goal; None beyond
    `MAX_REPETITIONS`.
    """
    from scipy.special import betainc

    small = q < 0.5
    sure = float(weights[~small].sum())

    def below(half: int) -> bool:
        repetitions = 2 * half + parity
        needed = (repetitions + 1) // 2
        with np.errstate(divide="ignore"):
            missed = np.log1p(-betainc(needed, repetitions - needed + 1, q[small]))
        return sure + float(weights[small] @ -np.expm1(attempts * missed)) < goal

    high = 1
    while not below(high):
        high *= 2
        if high > MAX_REPETITIONS // 2:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(middle) else (middle, high)
    return 2 * high + parity
