"""The lemma behind Theorem 3, against brute force: every K and every m, one by one."""

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

import improvable
from improvable._typing import FloatArray
from improvable.studies.game import (
    INDEPENDENT,
    Cost,
    GaussianMixing,
    Mixing,
    best_response,
    play,
)
from mixings import NEAR_HALF, DiscreteMixing
from replication.lemma import lemma_bounds
from replication.mixing import BetaMixing

ABOVE_HALF = DiscreteMixing(
    {0.05: ([0.0, 1.0], [0.95, 0.05]), 0.025: ([0.0, 0.55], [21 / 22, 1 / 22])}
)
MIXINGS: list[Mixing] = [
    INDEPENDENT,
    BetaMixing(0.2),
    BetaMixing(0.7),
    GaussianMixing(0.6),
    NEAR_HALF,
    ABOVE_HALF,
]
COSTS: list[Cost] = [
    lambda m: 0.03 * m,
    lambda m: 0.002 * m**1.5 + 1,
    lambda m: 0.0005 * m,
]
FARTHEST = 600


def slow_value(mixing: Mixing, repetitions: int, m: int, alpha: float) -> float:
    """v_K(m), from the definition: P(some of m attempts has at least half of its K
    repetitions below alpha / 2).
    """
    weights, misses = one_repetition(MIXINGS.index(mixing), repetitions, alpha)
    return float(weights @ (1 - misses**m))


@cache
def one_repetition(
    mixing: int, repetitions: int, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """The chance that less than half of K repetitions reject, at every point of a
    mixture, and the points' weights.
    """
    q, weights = MIXINGS[mixing].points(alpha / 2)
    return weights, binom.cdf(np.ceil(repetitions / 2) - 1, repetitions, q)


@pytest.mark.paper("Lemma D.1")
@pytest.mark.parametrize("mixing", MIXINGS, ids=lambda mixing: mixing.name)
@pytest.mark.parametrize(
    ("cost", "epsilon"), list(itertools.product(COSTS, (0.004, 0.05)))
)
def test_the_bounds_are_those_of_brute_force(
    mixing: Mixing, cost: Cost, epsilon: float
) -> None:
    found = lemma_bounds(cost, epsilon=epsilon, mixing=mixing)
    m_bar = next(m for m in itertools.count(1) if cost(m) - cost(1) > 0.05 + epsilon)
    assert found.m_bar == m_bar
    failing = [
        k
        for k in range(2, FARTHEST)
        if slow_value(mixing, k, m_bar, 0.05) >= 0.05 + epsilon
    ]
    assert found.k_bar is not None
    if found.k_bar < FARTHEST:
        assert found.k_bar == max(failing, default=1)
        assert found.rejection == pytest.approx(
            slow_value(mixing, found.k_bar + 1, m_bar, 0.05), abs=1e-9
        )
    else:
        assert slow_value(mixing, found.k_bar, m_bar, 0.05) >= 0.05 + epsilon
        later = np.unique(
            np.geomspace(found.k_bar + 1, 50 * found.k_bar, 60).astype(int)
        )
        assert all(
            slow_value(mixing, int(k), m_bar, 0.05) < 0.05 + epsilon for k in later
        )


@pytest.mark.paper("Lemma D.1", "Figure 4")
@pytest.mark.parametrize("mixing", MIXINGS, ids=lambda mixing: mixing.name)
@pytest.mark.parametrize("cost", COSTS)
def test_the_analyst_tries_less_than_m_bar_and_false_rejections_stay_below(
    mixing: Mixing, cost: Cost
) -> None:
    found = lemma_bounds(cost, epsilon=0.02, mixing=mixing)
    assert found.k_bar is not None
    for repetitions in (max(2, found.k_bar + 1), found.k_bar + 2, found.k_bar + 9):
        payoff = [
            slow_value(mixing, repetitions, m, 0.05) - cost(m)
            for m in range(4 * found.m_bar)
        ]
        best = int(np.argmax(np.array(payoff) > max(payoff) - 1e-12))
        assert best < found.m_bar
        assert (
            best_response(cost, repetitions=repetitions, mixing=mixing).rejection < 0.07
        )


def test_the_limit_is_the_chance_that_half_of_all_repetitions_reject() -> None:
    found = lemma_bounds(lambda m: 0.01 * m, epsilon=0.03, mixing=ABOVE_HALF)
    assert found.limit == pytest.approx(1 / 22)
    assert found.limit <= 0.05
    coin = DiscreteMixing(
        {0.05: ([0.0, 1.0], [0.95, 0.05]), 0.025: ([0.0, 0.5], [0.95, 0.05])}
    )
    assert lemma_bounds(
        lambda m: 0.05 * m, epsilon=0.01, mixing=coin
    ).limit == pytest.approx(0.05 * (1 - 0.5**3))


def test_without_assumption_4_the_policymaker_loses_at_most_epsilon() -> None:
    """One repetition is run once, and rejects at its level; the median rejects at most
    epsilon more often.
    """
    cost = 0.03
    for mixing in (BetaMixing(0.5), NEAR_HALF):
        found = lemma_bounds(lambda m: cost * m, epsilon=0.01, mixing=mixing)
        assert found.k_bar is not None
        for repetitions in range(max(2, found.k_bar + 1), found.k_bar + 6):
            game = play(
                lambda m: 0.049 * m,
                lambda m: cost * m,
                repetitions=repetitions,
                mixing=mixing,
            )
            assert not game.low_cost.holds or mixing is NEAR_HALF
            assert game.repeated.policymaker > 1 - 0.05 - 0.01


def test_repetitions_beyond_reach_are_said_so() -> None:
    stubborn = DiscreteMixing(
        {
            0.05: ([0.0, 0.9998], [0.94999, 0.05001]),
            0.025: ([0.0, 0.4999], [0.94999, 0.05001]),
        }
    )
    found = lemma_bounds(lambda m: 1e-6 * m, epsilon=1e-6, mixing=stubborn)
    assert found.k_bar is None
    assert found.rejection is None


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1.0, float("nan")])
def test_a_bad_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(improvable.OptionError, match="`epsilon` is"):
        lemma_bounds(lambda m: 0.01 * m, epsilon=epsilon)
