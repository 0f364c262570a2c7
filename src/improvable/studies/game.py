"""The game of Section 5: a policymaker picks a procedure, an analyst secretly repeats
it, and both are paid.

Procedure s1 is one repetition, rejected when its p-value is below alpha. Procedure s2
is K repetitions, rejected when at least half of their p-values are below alpha / 2,
which is when their lower median is. The null hypothesis holds throughout. Repetitions
of the paper's split and forward ones play the same game; only the correlation of their
p-values differs.

p-values of one data set are exchangeable: given a q that is drawn once for the data
set, each is below a level independently with probability q (de Finetti). A distribution
of q is a `Mixing`.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, ndtr, ndtri

from improvable._typing import FloatArray
from improvable.errors import OptionError
from improvable.inference.test import threshold_for
from improvable.question.formula import Formula
from improvable.question.options import check_integer, check_number

PROCEDURES = ("s1", "s2")
SEEDS = (1, 5, 20)
# of normal scores; 0.82 for least squares in `benchmarks/best_of_seeds.py`
FORWARD_CORRELATION = 0.8
MAX_ATTEMPTS = 2**50
# the first attempts, at each of which a cost must increase and be weakly convex
CHECKED = 64
NODES = 4_001
# an integral leaves out densities this many powers of e below their peak
NEGLIGIBLE = 45.0

Cost = Callable[[int], float]
"""Of m attempts, m = 0, 1, ..., in units of what a rejection is worth to the
analyst.
"""


class Mixing(Protocol):
    """The distribution of q, by which p-values are correlated across the repetitions of
    one data set.

    `points` are values of q and their weights, or the nodes of an integral over q; the
    mean of q is the level.
    """

    @property
    def name(self) -> str: ...
    def points(self, level: float) -> tuple[FloatArray, FloatArray]: ...


@dataclass(frozen=True)
class Independent:
    """Independent p-values: q is the level itself, the analyst's best case for one
    repetition.
    """

    name: str = "independent"

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        return np.array([level]), np.ones(1)


INDEPENDENT = Independent()


@dataclass(frozen=True)
class GaussianMixing:
    """Normal scores of the p-values of one data set share a factor, and have this
    correlation (0 to below 1).

    Two rejections are less correlated than that, and the less so the smaller the level.
    """

    correlation: float

    def __post_init__(self) -> None:
        number = isinstance(
            self.correlation, float | int | np.number
        ) and not isinstance(self.correlation, bool)
        if not number or not 0 <= self.correlation < 1:
            raise OptionError(
                f"the correlation is {self.correlation}.",
                "Give a number from 0 to below 1.",
            )

    @property
    def name(self) -> str:
        return f"normal scores have correlation {self.correlation:.3g}"

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        if self.correlation == 0:
            return INDEPENDENT.points(level)
        # Given the factor z, q is a step at `step` of width `width`: the nodes crowd
        # there.
        step, width = (
            ndtri(level) / np.sqrt(self.correlation),
            np.sqrt(1 / self.correlation - 1),
        )
        reach = np.sqrt(2 * NEGLIGIBLE)
        s = np.linspace(
            np.arcsinh((-reach - step) / width),
            np.arcsinh((reach - step) / width),
            NODES,
        )
        z = step + width * np.sinh(s)
        weights = np.exp(-(z**2) / 2) * np.cosh(s)
        return np.asarray(ndtr((step - z) / width)), weights / weights.sum()


def costs_of(price: float | str, repetitions: int) -> tuple[Cost, Cost]:
    """c1 and c2: the cost of m attempts of one repetition, and of the median of K,
    which is that of K m repetitions.

    Parameters
    ----------
    price : float or str
        What one repetition costs; or a formula of m, the cost of m repetitions:
        "0.001 * m**1.5".
    repetitions : int
        K.

    Examples
    --------
    >>> single, repeated = costs_of(0.01, 7)
    >>> single(3), round(repeated(3), 2)
    (0.03, 0.21)
    >>> round(costs_of("0.001*m**2", 7)[1](3), 3)
    0.441
    """
    check_integer("repetitions", repetitions, 1)
    if not isinstance(price, str):
        check_number("the cost of a repetition", price, 0, np.inf)
        return (lambda m: price * m), lambda m: price * repetitions * m
    formula, example = Formula(price), "Write, for example, 0.001*m**1.5."
    if set(formula.names) - {"m"}:
        raise OptionError(f"the cost formula '{price}' may read m alone.", example)

    def cost(m: int) -> float:
        value = float(formula({"m": np.asarray(float(m))}))
        if np.isnan(value) and m <= 1:
            raise OptionError(
                f"the cost formula '{price}' has no value at m = {m}.", example
            )
        # beyond the first attempt, a cost that overflows is too high
        return np.inf if np.isnan(value) else value

    return cost, lambda m: cost(repetitions * m)


def _increments(cost: Cost) -> Callable[[int], float]:
    """The cost of one more attempt after m; refuses a cost that falls, stays flat or is
    concave where visited.
    """
    seen: dict[int, tuple[float, float]] = {}

    def value(m: int) -> float:
        try:
            return float(cost(m))
        except OverflowError:
            return np.inf

    @cache
    def step(m: int) -> float:
        before, after = value(m), value(m + 1)
        if np.isnan([before, after]).any() or before == -np.inf:
            raise OptionError(
                f"the cost of {m} or {m + 1} attempts is not a number.",
                "Give one for each.",
            )
        here = np.inf if np.isinf(after) else after - before
        if here <= 0:
            hint = "A cost must increase: 0.01 * m does."
            raise OptionError(
                f"the cost of {m + 1:,} attempts is not above that of {m:,}.", hint
            )
        # A difference of large costs is known up to their rounding only.
        rounding = (
            8 * np.finfo(float).eps * max(abs(before), abs(after))
            if np.isfinite(after)
            else 0.0
        )
        seen[m] = here, rounding
        for other, (_, unsure) in seen.items():
            early, late = sorted((m, other))
            if seen[late][0] + rounding + unsure < seen[early][0]:
                what = (
                    f"the cost is concave: attempt {late + 1:,} costs less than "
                    f"attempt {early + 1:,}."
                )
                raise OptionError(
                    what, "It must be weakly convex: 0.01 * m or 0.01 * m**2 is."
                )
        return here

    return step


@dataclass(frozen=True)
class Response:
    """What the analyst does under one procedure, and what both players expect to
    get.
    """

    attempts: int  # m*, the smallest number that is best for the analyst
    rejection: float  # P(the true null is rejected) then
    honest_rejection: float  # and after one attempt
    analyst: float
    policymaker: float


@dataclass(frozen=True)
class LowCost:
    """Both sides of Assumption 4; where it holds, the analyst repeats a single
    repetition.
    """

    probability: float  # P(second attempt rejects | first does not)
    bound: float  # (c1(2) - c1(1)) / (1 - alpha)
    holds: bool


@dataclass(frozen=True)
class Game:
    """The subgame-perfect equilibrium of Section 5."""

    alpha: float
    repetitions: int  # K of procedure s2
    mixing: Mixing
    single: Response  # under s1
    repeated: Response  # under s2
    low_cost: LowCost  # Assumption 4

    @property
    def more_robust(self) -> str | None:
        """The procedure, 's1' or 's2', that the policymaker picks in every equilibrium;
        None for a tie.
        """
        if self.single.policymaker == self.repeated.policymaker:
            return None
        return "s2" if self.repeated.policymaker > self.single.policymaker else "s1"

    def response(self, procedure: str) -> Response:
        return self.single if procedure == "s1" else self.repeated

    def rejection(self, attempts: ArrayLike, procedure: str) -> FloatArray:
        """Probability that m attempts of 's1' or 's2' reject a true null."""
        repetitions = 1 if procedure == "s1" else self.repetitions
        return rejection_probability(
            attempts, alpha=self.alpha, repetitions=repetitions, mixing=self.mixing
        )

    def best_of_seeds(self) -> dict[str, list[float]]:
        """The share of true nulls that the best of 1, 5 and 20 attempts rejects, by
        procedure.

        Examples
        --------
        >>> game = play(*costs_of(0.01, 7), mixing=GaussianMixing(0.8))
        >>> [round(share, 3) for share in game.best_of_seeds()["s2"]]
        [0.016, 0.029, 0.04]
        """
        return {
            procedure: self.rejection(SEEDS, procedure).tolist()
            for procedure in PROCEDURES
        }

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "mixing": self.mixing.name,
            "more_robust": self.more_robust,
        }


def rejection_probability(
    attempts: ArrayLike,
    *,
    alpha: float = 0.05,
    repetitions: int = 1,
    mixing: Mixing = INDEPENDENT,
) -> FloatArray:
    """Probability that at least one of m attempts, m = 0, 1, ..., rejects a true null.

    One repetition is procedure s1, at level alpha; K > 1 repetitions are s2, at level
    alpha / 2 for each.

    Examples
    --------
    >>> rejection_probability([0, 1, 14], alpha=0.05).round(3).tolist()
    [0.0, 0.05, 0.512]
    >>> rejection_probability([1, 14], alpha=0.05, repetitions=7).round(6).tolist()
    [1.3e-05, 0.00018]
    """
    times = np.asarray(attempts)
    if (
        times.size == 0
        or not np.issubdtype(times.dtype, np.integer)
        or (times < 0).any()
    ):
        raise OptionError(
            "the attempts are not whole numbers.", "Give numbers such as 0, 1, 2."
        )
    _, misses, weights = _one_attempt(alpha, repetitions, mixing)
    return np.array(
        [_some_hit(m, misses, weights) for m in times.ravel().tolist()]
    ).reshape(times.shape)


def best_response(
    cost: Cost,
    *,
    alpha: float = 0.05,
    repetitions: int = 1,
    mixing: Mixing = INDEPENDENT,
) -> Response:
    """How often the analyst repeats a procedure, and what both players get.

    Given q, the gain from one more attempt after m is g (1 - g)^m, where g is the
    chance that one attempt rejects. It falls in m for every g, so its mean over q does:
    the gain is concave, the cost convex, and the first attempt that is not worth its
    cost ends the search. Ties go to the smaller number. That the cost increases and is
    weakly convex is checked on the numbers of attempts visited.

    Examples
    --------
    >>> best_response(lambda m: 0.01 * m).attempts
    32
    >>> best_response(lambda m: 0.07 * m, repetitions=7).attempts
    0
    """
    chance, misses, weights = _one_attempt(alpha, repetitions, mixing)
    step = _increments(cost)

    def worthwhile(m: int) -> bool:
        gain = (
            float((weights * chance) @ np.exp(m * misses))
            if m
            else float(weights @ chance)
        )
        # A tie must not be broken by the last digit of an integral.
        return gain * (1 - 1e-12) > step(m)

    low = high = 0
    while worthwhile(high):
        low, high = high + 1, 2 * high + 1
        if high > MAX_ATTEMPTS:
            raise OptionError(
                "the cost of an attempt is close to zero.", "Give a larger cost."
            )
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if worthwhile(middle) else (low, middle)
    for m in range(min(low + 2, CHECKED)):
        step(m)
    rejection, honest = (_some_hit(m, misses, weights) for m in (low, 1))
    return Response(low, rejection, honest, rejection - float(cost(low)), 1 - rejection)


def low_cost_assumption(
    cost: Cost, *, alpha: float = 0.05, mixing: Mixing = INDEPENDENT
) -> LowCost:
    """Assumption 4: a second attempt of a single repetition is worth its cost.

    Examples
    --------
    >>> low_cost_assumption(lambda m: 0.01 * m).holds
    True
    """
    q, _, weights = _one_attempt(alpha, 1, mixing)
    probability = float(weights @ (q * (1 - q))) / (1 - alpha)
    bound = _increments(cost)(1) / (1 - alpha)
    return LowCost(probability, bound, probability > bound)


def play(
    cost_single: Cost,
    cost_repeated: Cost,
    *,
    repetitions: int = 7,
    alpha: float = 0.05,
    mixing: Mixing = INDEPENDENT,
) -> Game:
    """Solve the game by backward induction, for costs c1 and c2 of m attempts of s1 and
    of s2, which has K repetitions.

    Examples
    --------
    >>> game = play(*costs_of(0.01, 7), repetitions=7)
    >>> game.single.attempts, game.repeated.attempts, game.more_robust
    (32, 0, 's2')
    """
    check_integer("repetitions", repetitions, 2)
    single = best_response(cost_single, alpha=alpha, mixing=mixing)
    repeated = best_response(
        cost_repeated, alpha=alpha, repetitions=repetitions, mixing=mixing
    )
    low_cost = low_cost_assumption(cost_single, alpha=alpha, mixing=mixing)
    return Game(alpha, int(repetitions), mixing, single, repeated, low_cost)


def _one_attempt(
    alpha: float, repetitions: int, mixing: Mixing
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The chance that one attempt rejects, given q; the logarithm of the chance that it
    does not; the weights of q.
    """
    check_number("alpha", alpha, 0, 0.5)
    check_integer("repetitions", repetitions, 1)
    level = threshold_for(alpha, repetitions)
    q, weights = mixing.points(level)
    proper = (
        q.shape == weights.shape and min(q.min(), (1 - q).min(), weights.min()) >= 0
    )
    if not proper or abs(weights.sum() - 1) > 1e-9 or abs(weights @ q - level) > 1e-9:
        raise OptionError(
            (
                f"the mixing distribution for level {level:g} is not a distribution, "
                "or its mean is not the level."
            ),
            (
                "Its values lie in [0, 1], its weights add up to 1, and its weighted "
                "mean is the level."
            ),
        )
    needed = (repetitions + 1) // 2
    chance = (
        q
        if repetitions == 1
        else np.asarray(betainc(needed, repetitions - needed + 1, q))
    )
    with np.errstate(divide="ignore"):
        return chance, np.asarray(np.log1p(-chance)), weights


def _some_hit(attempts: int, misses: FloatArray, weights: FloatArray) -> float:
    """P(at least one attempt rejects), a sum of positive terms: small probabilities
    keep their digits.
    """
    return float(weights @ -np.expm1(attempts * misses)) if attempts else 0.0


def hoeffding_repetitions(alpha: float = 0.05, chance: float | None = None) -> int:
    """The smallest whole K above -2 ln(chance) / (1 - alpha)^2, for chance = alpha the
    bound of Proposition 1.

    From there on Hoeffding's bound on P(at least half of K reject at alpha / 2) is
    below `chance`.

    Examples
    --------
    >>> hoeffding_repetitions(0.05)
    7
    """
    check_number("alpha", alpha, 0, 0.5)
    return (
        int(
            np.floor(
                -2 * np.log(alpha if chance is None else chance) / (1 - alpha) ** 2
            )
        )
        + 1
    )


def sufficient_repetitions(alpha: float = 0.05) -> int:
    """The smallest K > 1 such that, for independent p-values, that K and every larger
    one make s2 more robust.

    That holds for all costs under which one more attempt of s2 costs at least as much
    as one of s1, and under which the analyst tries s1 at all. The condition is P(one
    attempt of s2 rejects) <= alpha / (1 + alpha), computed exactly for every K up to
    where Hoeffding's inequality implies it.

    Notes
    -----
    Proposition 1 asks for less, P < alpha, and for no relation between the costs. That
    suffices when both procedures are repeated equally often, and not otherwise: where
    s2 is cheap enough, it is repeated until it rejects. Suppose instead that n = m2*
    attempts of s2 reject at least as often as m = m1* of s1. Then n > m, and g (1 -
    g)^(n - 1) exceeds the cost of the n-th attempt of s2, hence that of attempt m + 1
    of s1, hence alpha (1 - alpha)^m >= alpha (1 - g)^n. So g / (1 - g) > alpha, which
    the condition excludes.

    Examples
    --------
    >>> sufficient_repetitions(0.05)
    3
    """
    bound = alpha / (1 + alpha)
    counts = range(2, hoeffding_repetitions(alpha, bound) + 1)
    return 1 + max(
        (k for k in counts if _one_attempt(alpha, k, INDEPENDENT)[0] > bound), default=1
    )
