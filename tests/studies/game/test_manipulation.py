"""Section 5 of the paper, statement by statement."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from improvable._typing import FloatArray
from improvable.report.plots import attempts
from improvable.studies.game import (
    Cost,
    GaussianMixing,
    Mixing,
    best_response,
    costs_of,
    hoeffding_repetitions,
    low_cost_assumption,
    play,
    rejection_probability,
    sufficient_repetitions,
)
from mixings import MIXED, NEAR_HALF, DiscreteMixing, one
from replication.mixing import BetaMixing


def cost_table(paid: FloatArray) -> Cost:
    return lambda m: float(paid[m]) if m < len(paid) else math.inf


@pytest.mark.paper("Lemma D.2")
@MIXED
def test_part_1_attempts_of_one_repetition_reject_more_often_than_the_level(
    mixing: Mixing,
) -> None:
    chances = rejection_probability(np.arange(1, 50), mixing=mixing)
    assert chances[0] == pytest.approx(0.05, abs=1e-12)
    assert (chances[1:] > 0.05 + 1e-6).all()


def test_part_1_is_an_equality_for_perfect_correlation_only() -> None:
    perfect = DiscreteMixing(
        {0.05: ([0.0, 1.0], [0.95, 0.05]), 0.025: ([0.0, 1.0], [0.975, 0.025])}
    )
    assert rejection_probability([1, 2, 100], mixing=perfect).tolist() == pytest.approx(
        [0.05] * 3
    )
    assert low_cost_assumption(lambda m: 1e-9 * m, mixing=perfect).probability == 0
    assert not low_cost_assumption(lambda m: 1e-9 * m, mixing=perfect).holds


@MIXED
def test_part_2_many_repetitions_reject_at_most_at_the_level_for_any_fixed_attempts(
    mixing: Mixing,
) -> None:
    for m in (1, 10, 100):
        assert one(m, repetitions=200_001, mixing=mixing) < 0.05 + 1e-6


@pytest.mark.paper("Lemma D.1")
@MIXED
def test_lemma_part_2_the_limit_is_the_probability_that_half_of_the_repetitions_reject(
    mixing: Mixing,
) -> None:
    q, weights = mixing.points(0.025)
    limit = float(weights[q > 0.5].sum())
    assert limit <= 2 * 0.025
    assert one(3, repetitions=2_000_001, mixing=mixing) == pytest.approx(
        limit, abs=2e-4
    )


def test_lemma_part_2_at_exactly_one_half_the_median_is_a_coin() -> None:
    coin = DiscreteMixing(
        {0.05: ([0.0, 1.0], [0.95, 0.05]), 0.025: ([0.0, 0.5], [0.95, 0.05])}
    )
    for m in (1, 2, 5):
        assert one(m, repetitions=101, mixing=coin) == pytest.approx(
            0.05 * (1 - 0.5**m), rel=1e-12
        )


@MIXED
def test_lemma_part_1_assumption_4_makes_the_analyst_try_one_repetition_again(
    mixing: Mixing,
) -> None:
    for cost in (0.0001, 0.003, 0.02, 0.0474, 0.0476, 0.2):
        response = best_response(lambda m, cost=cost: cost * m, mixing=mixing)  # type: ignore[misc]
        holds = low_cost_assumption(lambda m, cost=cost: cost * m, mixing=mixing).holds  # type: ignore[misc]
        assert holds == (response.attempts > 1)


@pytest.mark.paper("Assumption 4")
def test_assumption_4_has_the_sides_of_the_paper() -> None:
    rng = np.random.default_rng(1)
    both = rng.random((200_000, 2)) < rng.beta(0.05 * 4, 0.95 * 4, size=(200_000, 1))
    found = low_cost_assumption(lambda m: 0.002 * m**2, mixing=BetaMixing(0.2))
    assert found.probability == pytest.approx(both[~both[:, 0], 1].mean(), abs=0.003)
    assert found.bound == pytest.approx((0.008 - 0.002) / 0.95)
    assert found.holds


@pytest.mark.paper("Theorem 3")
@MIXED
@pytest.mark.parametrize("cost", [1e-4, 0.002])
def test_theorem_3_many_repetitions_are_more_robust(
    mixing: Mixing, cost: float
) -> None:
    solved = play(*costs_of(cost, 2_001), repetitions=2_001, mixing=mixing)
    assert solved.low_cost.holds
    assert solved.more_robust == "s2"


@pytest.mark.paper("Theorem 3")
def test_theorem_3_needs_repetitions_to_be_many() -> None:
    def cheap(m: int) -> float:
        return 1e-9 * m

    few, many = (
        play(lambda m: 0.001 * m, cheap, repetitions=k, mixing=NEAR_HALF)
        for k in (7, 10_001)
    )
    assert few.low_cost.holds
    assert few.more_robust == "s1"
    assert many.more_robust == "s2"


@pytest.mark.paper("Assumption 4")
@MIXED
def test_without_assumption_4_the_median_is_no_worse_in_the_limit(
    mixing: Mixing,
) -> None:
    """The remark after Theorem 3: with m1* = 1 the analyst rejects at alpha, and the
    median at most at alpha.
    """
    assert best_response(lambda m: 0.0499 * m, mixing=mixing).attempts == 1
    assert (
        best_response(lambda m: 1e-4 * m, repetitions=20_001, mixing=mixing).rejection
        <= 0.05 + 1e-4
    )


@pytest.mark.paper("Proposition 1")
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.3])
def test_proposition_1_holds_where_repeating_the_median_is_no_cheaper(
    alpha: float,
) -> None:
    bound = -2 * math.log(alpha) / (1 - alpha) ** 2
    assert hoeffding_repetitions(alpha) - 1 <= bound < hoeffding_repetitions(alpha)
    for repetitions in range(
        hoeffding_repetitions(alpha), hoeffding_repetitions(alpha) + 6
    ):
        assert one(1, alpha=alpha, repetitions=repetitions) < alpha
        for share in (1e-5, 1e-3, 0.02, 0.3, 0.9, 0.999):
            cost = alpha * share
            for ratio in (1, repetitions):
                costs: tuple[Cost, Cost] = (
                    costs_of(cost, 1)[0],
                    costs_of(cost, ratio)[1],
                )
                assert (
                    play(*costs, repetitions=repetitions, alpha=alpha).more_robust
                    == "s2"
                )


@pytest.mark.paper("Proposition 1")
def test_proposition_1_is_seven_repetitions_at_five_percent() -> None:
    assert hoeffding_repetitions(0.05) == 7


@pytest.mark.paper("Proposition 1")
def test_proposition_1_fails_where_repeating_the_median_is_cheap() -> None:
    """Its lemma claims P < alpha for every m; that is true for m = 1 only, and m2* may
    be large.
    """
    assert one(1, repetitions=7) < 0.05 < one(10_000, repetitions=7)
    solved = play(lambda m: 0.01 * m, lambda m: 1e-8 * m, repetitions=7)
    assert solved.repeated.attempts > 500_000
    assert solved.repeated.rejection > 0.999 > 0.9 > solved.single.rejection
    assert solved.more_robust == "s1"


def test_proposition_1_is_a_tie_where_the_analyst_does_not_even_try() -> None:
    solved = play(*costs_of(0.05, 7), repetitions=7)
    assert solved.single.attempts == solved.repeated.attempts == 0
    assert solved.more_robust is None


@pytest.mark.paper("Lemma D.3")
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.49])
def test_lemma_compare_value_at_equal_attempts(alpha: float) -> None:
    every = np.arange(1, 500)
    for repetitions in range(
        hoeffding_repetitions(alpha), hoeffding_repetitions(alpha) + 10
    ):
        tail = float(binom.sf((repetitions + 1) // 2 - 1, repetitions, alpha / 2))
        assert tail <= math.exp(-repetitions * (1 - alpha) ** 2 / 2) < alpha
        single, repeated = (
            rejection_probability(every, alpha=alpha, repetitions=k)
            for k in (1, repetitions)
        )
        assert ((repeated < single) | (single > 1 - 1e-12)).all()


@pytest.mark.paper("Appendix D")
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.49])
def test_the_exact_number_of_repetitions_is_three_and_never_above_hoeffdings(
    alpha: float,
) -> None:
    exact = sufficient_repetitions(alpha)
    assert exact == 3 <= hoeffding_repetitions(alpha)
    tails = [float(binom.sf((k + 1) // 2 - 1, k, alpha / 2)) for k in range(2, 200)]
    assert tails[0] > alpha / (1 + alpha) >= max(tails[1:])


def test_the_exact_number_of_repetitions_suffices_for_any_convex_costs_with_a_dearer_median() -> (  # noqa: E501
    None
):
    rng = np.random.default_rng(4)
    for _ in range(300):
        # Marginal costs that rise, the median's by at least as much at every attempt.
        rising = 10 ** rng.uniform(-6, -1.3) * (
            1 + np.cumsum(rng.exponential(rng.choice([0, 1e-3, 0.3]), 3_000))
        )
        dearer = rising + 10 ** rng.uniform(-9, -2) * np.cumsum(
            rng.random(3_000)
        ) * rng.integers(0, 2)
        single, repeated = (
            cost_table(np.cumsum([0.0, *steps])) for steps in (rising, dearer)
        )
        solved = play(
            single,
            repeated,
            repetitions=int(rng.integers(3, 12)),
            alpha=float(rng.choice([0.01, 0.05, 0.2])),
        )
        assert solved.more_robust == ("s2" if solved.single.attempts else None)


def test_the_condition_of_the_exact_number_is_sharp() -> None:
    """Two repetitions break it: there are equal costs at which one is then more robust.
    Three never do.
    """
    found = set()
    for m in range(1, 120):
        cost = costs_of(0.05 * 0.95**m, 1)
        found.add(play(*cost, repetitions=2).more_robust)
        assert play(*cost, repetitions=3).more_robust == "s2"
    assert found == {"s1", "s2"}


@MIXED
def test_footnote_jensen_one_repetition_is_rejected_most_often_if_p_values_are_independent(  # noqa: E501
    mixing: Mixing,
) -> None:
    every = np.arange(1, 300)
    assert (
        rejection_probability(every, mixing=mixing)
        <= rejection_probability(every) + 1e-12
    ).all()


def test_footnote_jensen_does_not_extend_to_the_median_nor_to_the_margin() -> None:
    """Correlation makes the median reject a thousand times as often, and may make the
    analyst repeat more.
    """
    mixing = BetaMixing(0.3)
    assert one(1, repetitions=7, mixing=mixing) > 900 * one(1, repetitions=7)
    cost = costs_of(1e-6, 7)[0]
    assert (
        best_response(cost, mixing=mixing).attempts > 100 * best_response(cost).attempts
    )


@pytest.mark.paper("Definition 5")
@MIXED
def test_the_policymaker_prefers_the_procedure_with_fewer_false_rejections(
    mixing: Mixing,
) -> None:
    solved = play(*costs_of(0.001, 7), mixing=mixing)
    facts = solved.to_dict()
    assert facts["single"]["policymaker"] == 1 - facts["single"]["rejection"]
    assert (facts["more_robust"] == "s2") == (
        facts["repeated"]["rejection"] < facts["single"]["rejection"]
    )
    assert facts["mixing"] == mixing.name


@pytest.mark.parametrize("cost", [0.06, 0.01, 1e-6])
def test_the_picture_marks_the_best_responses(cost: float) -> None:
    mixings: dict[str, Mixing] = {
        "split": BetaMixing(0.3),
        "forward": GaussianMixing(0.8),
    }
    solved, forward = (
        play(*costs_of(cost, 7), mixing=mixing) for mixing in mixings.values()
    )
    plain = attempts({"split": solved, "forward": forward}).spec
    data = {layer["mark"]["type"]: layer["data"]["values"] for layer in plain["layer"]}
    marks, curves = data["point"], data["line"]
    every = [
        game.response(procedure)
        for game in (solved, forward)
        for procedure in ("s1", "s2")
    ]
    assert [(mark["m"], mark["p"]) for mark in marks] == [
        (one.attempts, one.rejection) for one in every
    ]
    assert {row["procedure"] for row in curves} == {mark["procedure"] for mark in marks}
    assert max(row["m"] for row in curves) >= max(mark["m"] for mark in marks)
    for row in curves[::25]:
        scheme, what = row["procedure"].split(":")[0].split(", ")
        repetitions = 1 if what == "one repetition" else 7
        assert row["p"] == one(
            row["m"], repetitions=repetitions, mixing=mixings[scheme]
        )
