"""Chances of rejecting and best responses, every number against a slow, obvious
twin.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import betaln, comb

import improvable
from improvable.inference.reruns import rerun_risk
from improvable.inference.test import lower_median
from improvable.studies.game import (
    INDEPENDENT,
    Cost,
    GaussianMixing,
    Mixing,
    best_response,
    costs_of,
    play,
    rejection_probability,
)
from mixings import MIXED, DiscreteMixing, one
from replication.mixing import BetaMixing


def enumerated(chance: float, repetitions: int, attempts: int) -> float:
    """P(some attempt has at least half of its repetitions reject): every outcome of
    every repetition, one by one.
    """
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=repetitions * attempts):
        rows = np.reshape(outcome, (attempts, repetitions))
        if (rows.mean(axis=1) >= 0.5).any():
            total += chance ** sum(outcome) * (1 - chance) ** (
                repetitions * attempts - sum(outcome)
            )
    return total


def counted(correlation: float, level: float, repetitions: int, attempts: int) -> float:
    """The same for a Beta mixture, exactly: count the arrays without a rejecting row by
    their number of ones.
    """
    a, b = level * (1 / correlation - 1), (1 - level) * (1 / correlation - 1)
    row = [
        comb(repetitions, j) if 2 * j < repetitions else 0.0
        for j in range(repetitions + 1)
    ]
    arrays = np.array([1.0])
    for _ in range(attempts):
        arrays = np.convolve(arrays, row)
    ones = np.flatnonzero(arrays)
    missed = (
        np.log(arrays[ones])
        + betaln(a + ones, b + repetitions * attempts - ones)
        - betaln(a, b)
    )
    return float(1 - np.exp(missed).sum())


@pytest.mark.parametrize(
    ("repetitions", "attempts"), [(1, 3), (2, 3), (3, 3), (4, 2), (5, 2)]
)
def test_independent_probabilities_equal_full_enumeration(
    repetitions: int, attempts: int
) -> None:
    level = 0.3 if repetitions == 1 else 0.15
    expected = enumerated(level, repetitions, attempts)
    assert one(attempts, alpha=0.3, repetitions=repetitions) == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize("correlation", [0.001, 0.05, 0.3, 0.9, 0.999])
@pytest.mark.parametrize(
    ("repetitions", "attempts"),
    [(1, 1), (1, 40), (2, 5), (3, 20), (7, 1), (7, 20), (20, 4)],
)
def test_beta_probabilities_equal_exact_counts(
    correlation: float, repetitions: int, attempts: int
) -> None:
    expected = counted(
        correlation, 0.05 if repetitions == 1 else 0.025, repetitions, attempts
    )
    assert (
        abs(
            one(attempts, repetitions=repetitions, mixing=BetaMixing(correlation))
            - expected
        )
        < 1e-10
    )


@pytest.mark.parametrize("correlation", [1e-6, 0.2, 0.8, 0.9999])
def test_a_million_attempts_are_still_exact(correlation: float) -> None:
    a, b = 0.05 * (1 / correlation - 1), 0.95 * (1 / correlation - 1)
    for m in (10**3, 10**6):
        expected = -math.expm1(betaln(a, b + m) - betaln(a, b))
        # For a tiny correlation it is the twin that loses digits.
        assert abs(one(m, mixing=BetaMixing(correlation)) - expected) < (
            1e-8 if correlation < 0.01 else 1e-10
        )


def test_normal_factor_probabilities_equal_a_simulation_of_p_values() -> None:
    rng = np.random.default_rng(5)
    from scipy.special import ndtr

    sets, m, repetitions, rho = 40_000, 4, 5, 0.6
    factor = rng.normal(size=(sets, 1, 1))
    p = ndtr(
        math.sqrt(rho) * factor
        + math.sqrt(1 - rho) * rng.normal(size=(sets, m, repetitions))
    )
    single = (p[:, :, 0] < 0.2).any(axis=1).mean()
    repeated = ((p < 0.1).mean(axis=2) >= 0.5).any(axis=1).mean()
    mixing = GaussianMixing(rho)
    assert one(m, alpha=0.2, mixing=mixing) == pytest.approx(
        single, abs=4 * math.sqrt(0.25 / sets)
    )
    assert one(m, alpha=0.2, repetitions=repetitions, mixing=mixing) == pytest.approx(
        repeated, abs=4 * math.sqrt(0.25 / sets)
    )


@pytest.mark.parametrize("family", [BetaMixing, GaussianMixing])
def test_mixing_has_the_level_as_mean_and_is_independence_at_zero(
    family: Callable[[float], Mixing],
) -> None:
    for level, correlation in itertools.product(
        (0.001, 0.025, 0.4), (1e-6, 0.1, 0.5, 0.9, 0.999999)
    ):
        q, weights = family(correlation).points(level)
        assert abs(weights @ q - level) < 1e-12
        if family is BetaMixing:
            assert weights @ (q - level) ** 2 == pytest.approx(
                correlation * level * (1 - level), rel=1e-9
            )
    assert one(5, repetitions=3, mixing=family(0.0)) == one(5, repetitions=3)
    assert one(5, repetitions=3, mixing=family(1e-9)) == pytest.approx(
        one(5, repetitions=3), rel=1e-5
    )


@pytest.mark.parametrize("repetitions", range(1, 10))
def test_the_lower_median_is_below_a_level_when_at_least_half_of_the_p_values_are(
    repetitions: int,
) -> None:
    for outcome in itertools.product((0.01, 0.5), repeat=repetitions):
        rejecting = sum(p < 0.025 for p in outcome)
        assert (
            (lower_median(outcome) < 0.025)
            == (rejecting / repetitions >= 0.5)
            == (rejecting >= (repetitions + 1) // 2)
        )


# Best responses


@MIXED
@pytest.mark.parametrize("repetitions", [1, 2, 7])
def test_gains_are_concave_in_attempts(mixing: Mixing, repetitions: int) -> None:
    gains = np.diff(
        rejection_probability(np.arange(200), repetitions=repetitions, mixing=mixing)
    )
    assert (gains > -1e-15).all()
    assert (np.diff(gains) < 1e-15).all()


@pytest.mark.paper("Section 5.1")
@MIXED
@pytest.mark.parametrize("repetitions", [1, 3, 7])
@pytest.mark.parametrize(
    "cost",
    [
        lambda m: 0.004 * m,
        lambda m: 0.0003 * m**2 + 1e-5 * m,
        lambda m: 3 + 1e-4 * (math.exp(0.3 * m)),
    ],
    ids=["linear", "quadratic", "exponential"],
)
def test_the_best_response_is_the_first_maximum_over_all_attempts(
    mixing: Mixing, repetitions: int, cost: Cost
) -> None:
    every = np.arange(1_500)
    payoffs = rejection_probability(every, repetitions=repetitions, mixing=mixing)
    payoffs -= [cost(m) if m < 1_000 else math.inf for m in every.tolist()]
    response = best_response(cost, repetitions=repetitions, mixing=mixing)
    assert response.attempts == payoffs.argmax()
    assert response.analyst == pytest.approx(payoffs.max(), abs=1e-14)
    assert response.policymaker == 1 - response.rejection
    assert response.rejection == one(
        response.attempts, repetitions=repetitions, mixing=mixing
    )


@pytest.mark.parametrize("mixing", [INDEPENDENT, BetaMixing(0.3), GaussianMixing(0.3)])
def test_ties_go_to_the_smallest_number(mixing: Mixing) -> None:
    assert best_response(lambda m: 0.05 * m, mixing=mixing).attempts == 0
    assert best_response(lambda m: 0.05 * 0.95 * m).attempts == 1
    assert best_response(lambda m: 0.05 * 0.95**2 * m).attempts == 2


@pytest.mark.parametrize("correlation", [0.01, 0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_last_digit_of_an_integral_breaks_no_tie(correlation: float) -> None:
    for alpha in (0.01, 0.05, 0.1, 0.3):
        worth = alpha * (1 - alpha) * (1 - correlation)
        cost = costs_of(worth, 1)[0]
        assert (
            best_response(cost, alpha=alpha, mixing=BetaMixing(correlation)).attempts
            == 1
        )


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (
            lambda m: -0.01 * m,
            "the cost of 1 attempts is not above that of 0. A cost must increase",
        ),
        (lambda m: 0.0, "is not above that of 0"),
        (lambda m: 0.001 * m if m < 5 else 0.004, "is not above that of"),
        (lambda m: 0.01 * math.sqrt(m), "the cost is concave: attempt"),
        (
            lambda m: 0.001 * m if m < 9 else 0.009 + 0.0001 * (m - 9),
            "the cost is concave",
        ),
        (lambda m: math.nan, "is not a number"),
    ],
)
def test_costs_that_fall_stand_still_or_are_concave_are_refused(
    cost: Cost, said: str
) -> None:
    with pytest.raises(
        improvable.OptionError, match=said.replace(".", r"\.")
    ) as caught:
        best_response(cost)
    assert "\n" not in str(caught.value)


def test_rounding_of_large_costs_is_not_concavity() -> None:
    assert (
        best_response(
            lambda m: 1e6 + 1e-7 * m, repetitions=2, mixing=BetaMixing(0.5)
        ).attempts
        > 1_000
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BetaMixing(1.0),
        lambda: BetaMixing(-0.1),
        lambda: GaussianMixing(1.5),
        lambda: GaussianMixing(math.nan),
        lambda: rejection_probability(
            [1], mixing=DiscreteMixing({0.05: ([0.1], [1.0])})
        ),
        lambda: rejection_probability([-1]),
        lambda: rejection_probability([0.5]),
        lambda: rejection_probability([1], alpha=0.0),
        lambda: play(*costs_of(0.1, 1), repetitions=1),
        lambda: costs_of(0.0, 7),
        lambda: best_response(lambda m: 1e-20 * m, mixing=BetaMixing(0.9)),
        lambda: rerun_risk([]),
        lambda: rerun_risk([1.2]),
    ],
)
def test_bad_input_is_one_line(wrong: Callable[[], object]) -> None:
    with pytest.raises(improvable.OptionError) as caught:
        wrong()
    assert caught.value.hint
    assert "\n" not in str(caught.value)
