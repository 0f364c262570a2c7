"""The game of Section 5: a policymaker picks a procedure, an analyst secretly repeats it, and both are paid.

Procedure s1 is one repetition, rejected when its p-value is below alpha. Procedure s2 is K repetitions, rejected when
at least half of their p-values are below alpha / 2, which is when their lower median is. The null hypothesis holds
throughout. Repetitions of the paper's split and forward ones play the same game; only the correlation of their p-values
differs.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from improvable.data.arrays import FloatArray
from improvable.errors import OptionError
from improvable.inference.assessment import threshold_for
from improvable.question.checks import check_integer, check_number
from improvable.studies.game.increments import CHECKED, Cost, increments
from improvable.studies.game.mixing import INDEPENDENT, Mixing

PROCEDURES = ("s1", "s2")
SEEDS = (1, 5, 20)
MOST_ATTEMPTS = 2**50


@dataclass(frozen=True)
class Response:
    """What the analyst does under one procedure, and what both players get.

    Attributes
    ----------
    attempts : int
        m*, the smallest number of attempts that is best for the analyst.
    rejection : float
        Probability that the null, which is true, is rejected then.
    honest_rejection : float
        The same for one attempt.
    analyst, policymaker : float
        Expected payoffs.
    """

    attempts: int
    rejection: float
    honest_rejection: float
    analyst: float
    policymaker: float


@dataclass(frozen=True)
class LowCost:
    """Both sides of Assumption 4.

    Attributes
    ----------
    probability : float
        P(second attempt rejects | first does not).
    bound : float
        (c1(2) - c1(1)) / (1 - alpha).
    holds : bool
        Whether the probability is above the bound; the analyst then repeats a single repetition.
    """

    probability: float
    bound: float
    holds: bool


@dataclass(frozen=True)
class Game:
    """The subgame-perfect equilibrium of Section 5.

    Attributes
    ----------
    alpha : float
    repetitions : int
        K of procedure s2.
    mixing : Mixing
    single, repeated : Response
        Under s1 and under s2.
    low_cost : LowCost
        Assumption 4.
    """

    alpha: float
    repetitions: int
    mixing: Mixing
    single: Response
    repeated: Response
    low_cost: LowCost

    @property
    def more_robust(self) -> str | None:
        """The procedure, 's1' or 's2', that the policymaker picks in every equilibrium; None for a tie."""
        if self.single.policymaker == self.repeated.policymaker:
            return None
        return "s2" if self.repeated.policymaker > self.single.policymaker else "s1"

    def response(self, procedure: str) -> Response:
        """What the analyst does under 's1' or 's2'."""
        return self.single if procedure == "s1" else self.repeated

    def rejection(self, attempts: ArrayLike, procedure: str) -> FloatArray:
        """Probability that m attempts of 's1' or 's2' reject a true null."""
        repetitions = 1 if procedure == "s1" else self.repetitions
        return rejection_probability(attempts, alpha=self.alpha, repetitions=repetitions, mixing=self.mixing)

    def best_of_seeds(self) -> dict[str, list[float]]:
        """The share of true nulls that the best of 1, 5 and 20 attempts rejects, by procedure.

        Examples
        --------
        >>> from improvable.studies.game.mixing import GaussianMixing
        >>> game = play(*linear_costs(0.01, 7), mixing=GaussianMixing(0.8))
        >>> [round(share, 3) for share in game.best_of_seeds()["s2"]]
        [0.016, 0.029, 0.04]
        """
        return {procedure: self.rejection(SEEDS, procedure).tolist() for procedure in PROCEDURES}

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"mixing": self.mixing.name, "more_robust": self.more_robust}


def rejection_probability(
    attempts: ArrayLike,
    *,
    alpha: float = 0.05,
    repetitions: int = 1,
    mixing: Mixing = INDEPENDENT,
) -> FloatArray:
    """Probability that at least one of m attempts rejects a true null.

    Parameters
    ----------
    attempts : array of int
        m, at least 0.
    alpha : float
        Level of the test.
    repetitions : int
        K. One repetition is procedure s1, at level alpha; more are s2, at level alpha / 2 for each repetition.
    mixing : Mixing
        Correlation of p-values across repetitions.

    Returns
    -------
    array of float

    Examples
    --------
    >>> rejection_probability([0, 1, 14], alpha=0.05).round(3).tolist()
    [0.0, 0.05, 0.512]
    >>> rejection_probability([1, 14], alpha=0.05, repetitions=7).round(6).tolist()
    [1.3e-05, 0.00018]
    """
    times = np.asarray(attempts)
    if times.size == 0 or not np.issubdtype(times.dtype, np.integer) or (times < 0).any():
        raise OptionError("the attempts are not whole numbers.", "Give numbers such as 0, 1, 2.")
    chance, weights = _one_attempt(alpha, repetitions, mixing)
    misses = _log_miss(chance)
    return np.array([_some_hit(m, misses, weights) for m in times.ravel().tolist()]).reshape(times.shape)


def best_response(cost: Cost, *, alpha: float = 0.05, repetitions: int = 1, mixing: Mixing = INDEPENDENT) -> Response:
    """How often the analyst repeats a procedure, and what both players get.

    Given q, the gain from one more attempt after m is g (1 - g)^m, where g is the chance that one attempt
    rejects. It falls in m for every g, so its mean over q does: the gain is concave, the cost convex, and the first
    attempt that is not worth its cost ends the search. Ties go to the smaller number.

    Parameters
    ----------
    cost : callable
        Cost of m attempts, m = 0, 1, ..., in units of what a rejection is worth to the analyst. Increasing and
        weakly convex, which is checked on the numbers of attempts visited.
    alpha, repetitions, mixing
        As in `rejection_probability`.

    Returns
    -------
    Response

    Examples
    --------
    >>> best_response(lambda m: 0.01 * m).attempts
    32
    >>> best_response(lambda m: 0.07 * m, repetitions=7).attempts
    0
    """
    chance, weights = _one_attempt(alpha, repetitions, mixing)
    misses, step = _log_miss(chance), increments(cost)

    def worthwhile(m: int) -> bool:
        gain = float((weights * chance) @ np.exp(m * misses)) if m else float(weights @ chance)
        # A tie must not be broken by the last digit of an integral.
        return gain * (1 - 1e-12) > step(m)

    low, high = 0, 0
    while worthwhile(high):
        low, high = high + 1, 2 * high + 1
        if high > MOST_ATTEMPTS:
            raise OptionError("the cost of an attempt is close to zero.", "Give a larger cost.")
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if worthwhile(middle) else (low, middle)
    for m in range(min(low + 2, CHECKED)):
        step(m)
    rejection, honest = (_some_hit(m, misses, weights) for m in (low, 1))
    return Response(low, rejection, honest, rejection - float(cost(low)), 1 - rejection)


def low_cost_assumption(cost: Cost, *, alpha: float = 0.05, mixing: Mixing = INDEPENDENT) -> LowCost:
    """Assumption 4: a second attempt of a single repetition is worth its cost.

    Examples
    --------
    >>> low_cost_assumption(lambda m: 0.01 * m).holds
    True
    """
    q, weights = _one_attempt(alpha, 1, mixing)
    probability = float(weights @ (q * (1 - q))) / (1 - alpha)
    bound = increments(cost)(1) / (1 - alpha)
    return LowCost(probability, bound, probability > bound)


def play(
    cost_single: Cost, cost_repeated: Cost, *, repetitions: int = 7, alpha: float = 0.05, mixing: Mixing = INDEPENDENT
) -> Game:
    """Solve the game by backward induction.

    Parameters
    ----------
    cost_single, cost_repeated : callable
        c1 and c2: cost of m attempts of s1 and of s2, as in `best_response`.
    repetitions : int
        K of s2, at least 2.
    alpha : float
    mixing : Mixing

    Returns
    -------
    Game

    Examples
    --------
    >>> game = play(*linear_costs(0.01, 7), repetitions=7)
    >>> game.single.attempts, game.repeated.attempts, game.more_robust
    (32, 0, 's2')
    """
    check_integer("repetitions", repetitions, 2)
    return Game(
        alpha=alpha,
        repetitions=int(repetitions),
        mixing=mixing,
        single=best_response(cost_single, alpha=alpha, mixing=mixing),
        repeated=best_response(cost_repeated, alpha=alpha, repetitions=repetitions, mixing=mixing),
        low_cost=low_cost_assumption(cost_single, alpha=alpha, mixing=mixing),
    )


def linear_costs(per_repetition: float, repetitions: int) -> tuple[Cost, Cost]:
    """Every repetition costs the same: c1(m) = gamma m and c2(m) = gamma K m.

    Examples
    --------
    >>> single, repeated = linear_costs(0.01, 7)
    >>> single(3), round(repeated(3), 2)
    (0.03, 0.21)
    """
    check_number("the cost of a repetition", per_repetition, 0, np.inf)
    check_integer("repetitions", repetitions, 1)
    return (lambda m: per_repetition * m), (lambda m: per_repetition * repetitions * m)


def hoeffding_repetitions(alpha: float = 0.05) -> int:
    """The smallest whole K above -2 ln(alpha) / (1 - alpha)^2, the bound of Proposition 1.

    Examples
    --------
    >>> hoeffding_repetitions(0.05)
    7
    """
    check_number("alpha", alpha, 0, 0.5)
    return _first_above(alpha, alpha)


def sufficient_repetitions(alpha: float = 0.05) -> int:
    """The smallest K > 1 such that, for independent p-values, that K and every larger one make s2 more robust.

    That holds for all costs under which one more attempt of s2 costs at least as much as one of s1, and under which
    the analyst tries s1 at all. The condition is P(one attempt of s2 rejects) <= alpha / (1 + alpha), computed
    exactly for every K up to where Hoeffding's inequality implies it.

    Notes
    -----
    Proposition 1 asks for less, P < alpha, and for no relation between the costs. That suffices when both procedures
    are repeated equally often, and not otherwise: where s2 is cheap enough, it is repeated until it rejects. Suppose
    instead that n = m2* attempts of s2 reject at least as often as m = m1* of s1. Then n > m, and g (1 - g)^(n - 1)
    exceeds the cost of the n-th attempt of s2, hence that of attempt m + 1 of s1, hence
    alpha (1 - alpha)^m >= alpha (1 - g)^n. So g / (1 - g) > alpha, which the condition excludes.

    Examples
    --------
    >>> sufficient_repetitions(0.05)
    3
    """
    from scipy.special import betainc

    check_number("alpha", alpha, 0, 0.5)
    bound = alpha / (1 + alpha)
    counts = np.arange(2, _first_above(alpha, bound) + 1)
    needed = (counts + 1) // 2
    failing = counts[betainc(needed, counts - needed + 1, alpha / 2) > bound]
    return int(failing.max()) + 1 if len(failing) else 2


def fewest_repetitions(
    costs: float | Callable[[int], Cost], *, alpha: float = 0.05, mixing: Mixing = INDEPENDENT, at_most: int = 99
) -> int | None:
    """The smallest K > 1 such that the equilibrium itself has s2 more robust, there and up to `at_most` repetitions.

    Each game is solved; no bound is used.

    Parameters
    ----------
    costs : float or callable
        What every repetition costs; or from K to the cost of m attempts of K repetitions, where K = 1 is s1.
    alpha, mixing
    at_most : int

    Returns
    -------
    int or None
        None where s2 with `at_most` repetitions is not more robust: the theorem then asks for more of them, or its
        assumption does not hold.

    Examples
    --------
    >>> fewest_repetitions(0.01)
    2
    """
    check_integer("at_most", at_most, 2)

    def cost_of(repetitions: int) -> Cost:
        return costs(repetitions) if callable(costs) else linear_costs(costs, repetitions)[1]

    single = best_response(cost_of(1), alpha=alpha, mixing=mixing)
    for repetitions in range(at_most, 1, -1):
        if (
            best_response(cost_of(repetitions), alpha=alpha, repetitions=repetitions, mixing=mixing).policymaker
            <= single.policymaker
        ):
            return repetitions + 1 if repetitions < at_most else None
    return 2


def _first_above(alpha: float, chance: float) -> int:
    """The first K for which Hoeffding's bound on P(at least half of K reject at alpha / 2) is below `chance`."""
    return int(np.floor(-2 * np.log(chance) / (1 - alpha) ** 2)) + 1


def _one_attempt(alpha: float, repetitions: int, mixing: Mixing) -> tuple[FloatArray, FloatArray]:
    """The chance that one attempt rejects, given q, and the weights of q."""
    from scipy.special import betainc

    check_number("alpha", alpha, 0, 0.5)
    check_integer("repetitions", repetitions, 1)
    level = threshold_for(alpha, repetitions)
    q, weights = mixing.points(level)
    proper = q.shape == weights.shape and (q >= 0).all() and (q <= 1).all() and (weights >= 0).all()
    if not proper or abs(weights.sum() - 1) > 1e-9 or abs(weights @ q - level) > 1e-9:
        raise OptionError(
            f"the mixing distribution for level {level:g} is not a distribution, or its mean is not the level.",
            "Its values lie in [0, 1], its weights add up to 1, and its weighted mean is the level.",
        )
    needed = (repetitions + 1) // 2
    return (q if repetitions == 1 else np.asarray(betainc(needed, repetitions - needed + 1, q))), weights


def _log_miss(chance: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-chance))


def _some_hit(attempts: int, misses: FloatArray, weights: FloatArray) -> float:
    """P(at least one attempt rejects), a sum of positive terms: small probabilities keep their digits."""
    return float(weights @ -np.expm1(attempts * misses)) if attempts else 0.0
