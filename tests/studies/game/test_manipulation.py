"""Section 5 of the paper, statement by statement; and every number against a slow, obvious twin."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, comb
from scipy.stats import binom

import improvable
from improvable.data.arrays import FloatArray
from improvable.inference.combining import lower_median
from improvable.inference.reruns import estimate_correlation, rerun_risk, splits_to_agree
from improvable.studies.game.game import (
    best_response,
    fewest_splits,
    hoeffding_splits,
    linear_costs,
    low_cost_assumption,
    play,
    rejection_probability,
    sufficient_splits,
)
from improvable.studies.game.increments import Cost
from improvable.studies.game.mixing import INDEPENDENT, BetaMixing, DiscreteMixing, GaussianMixing, Mixing
from improvable.studies.game.picture import picture

# For one data set in eighteen nearly half of all splits reject: the median needs many to see that they are a minority.
NEAR_HALF = DiscreteMixing({0.05: ([0.0, 0.9], [17 / 18, 1 / 18]), 0.025: ([0.0, 0.45], [17 / 18, 1 / 18])})
MIXINGS: list[Mixing] = [INDEPENDENT, BetaMixing(0.05), BetaMixing(0.6), GaussianMixing(0.5), NEAR_HALF]
MIXED = pytest.mark.parametrize("mixing", MIXINGS, ids=lambda mixing: mixing.name)


def one(repetitions: int, **options: Any) -> float:
    return float(rejection_probability([repetitions], **options)[0])


def enumerated(chance: float, splits: int, repetitions: int) -> float:
    """P(some repetition has at least half of its splits reject): every outcome of every split, one by one."""
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=splits * repetitions):
        rows = np.reshape(outcome, (repetitions, splits))
        if (rows.mean(axis=1) >= 0.5).any():
            total += chance ** sum(outcome) * (1 - chance) ** (splits * repetitions - sum(outcome))
    return total


def counted(correlation: float, level: float, splits: int, repetitions: int) -> float:
    """The same for a Beta mixture, exactly: count the arrays without a rejecting row by their number of ones."""
    a, b = level * (1 / correlation - 1), (1 - level) * (1 / correlation - 1)
    row = [comb(splits, j) if 2 * j < splits else 0.0 for j in range(splits + 1)]
    arrays = np.array([1.0])
    for _ in range(repetitions):
        arrays = np.convolve(arrays, row)
    ones = np.flatnonzero(arrays)
    missed = np.log(arrays[ones]) + betaln(a + ones, b + splits * repetitions - ones) - betaln(a, b)
    return float(1 - np.exp(missed).sum())


def cost_table(paid: FloatArray) -> Cost:
    return lambda m: float(paid[m]) if m < len(paid) else math.inf


# The numbers


@pytest.mark.parametrize(("splits", "repetitions"), [(1, 3), (2, 3), (3, 3), (4, 2), (5, 2)])
def test_independent_probabilities_equal_full_enumeration(splits: int, repetitions: int) -> None:
    level = 0.3 if splits == 1 else 0.15
    expected = enumerated(level, splits, repetitions)
    assert one(repetitions, alpha=0.3, splits=splits) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("correlation", [0.001, 0.05, 0.3, 0.9, 0.999])
@pytest.mark.parametrize(("splits", "repetitions"), [(1, 1), (1, 40), (2, 5), (3, 20), (7, 1), (7, 20), (20, 4)])
def test_beta_probabilities_equal_exact_counts(correlation: float, splits: int, repetitions: int) -> None:
    expected = counted(correlation, 0.05 if splits == 1 else 0.025, splits, repetitions)
    assert abs(one(repetitions, splits=splits, mixing=BetaMixing(correlation)) - expected) < 1e-10


@pytest.mark.parametrize("correlation", [1e-6, 0.2, 0.8, 0.9999])
def test_a_million_repetitions_are_still_exact(correlation: float) -> None:
    a, b = 0.05 * (1 / correlation - 1), 0.95 * (1 / correlation - 1)
    for m in (10**3, 10**6):
        expected = -math.expm1(betaln(a, b + m) - betaln(a, b))
        # For a tiny correlation it is the twin that loses digits.
        assert abs(one(m, mixing=BetaMixing(correlation)) - expected) < (1e-8 if correlation < 0.01 else 1e-10)


def test_normal_factor_probabilities_equal_a_simulation_of_p_values() -> None:
    rng = np.random.default_rng(5)
    from scipy.special import ndtr

    sets, m, splits, rho = 40_000, 4, 5, 0.6
    factor = rng.normal(size=(sets, 1, 1))
    p = ndtr(math.sqrt(rho) * factor + math.sqrt(1 - rho) * rng.normal(size=(sets, m, splits)))
    single = (p[:, :, 0] < 0.2).any(axis=1).mean()
    repeated = ((p < 0.1).mean(axis=2) >= 0.5).any(axis=1).mean()
    mixing = GaussianMixing(rho)
    assert one(m, alpha=0.2, mixing=mixing) == pytest.approx(single, abs=4 * math.sqrt(0.25 / sets))
    assert one(m, alpha=0.2, splits=splits, mixing=mixing) == pytest.approx(repeated, abs=4 * math.sqrt(0.25 / sets))


@pytest.mark.parametrize("family", [BetaMixing, GaussianMixing])
def test_mixing_has_the_level_as_mean_and_is_independence_at_zero(family: Callable[[float], Mixing]) -> None:
    for level, correlation in itertools.product((0.001, 0.025, 0.4), (1e-6, 0.1, 0.5, 0.9, 0.999999)):
        q, weights = family(correlation).points(level)
        assert abs(weights @ q - level) < 1e-12
        if family is BetaMixing:
            assert weights @ (q - level) ** 2 == pytest.approx(correlation * level * (1 - level), rel=1e-9)
    assert one(5, splits=3, mixing=family(0.0)) == one(5, splits=3)
    assert one(5, splits=3, mixing=family(1e-9)) == pytest.approx(one(5, splits=3), rel=1e-5)


@pytest.mark.parametrize("splits", range(1, 10))
def test_the_lower_median_is_below_a_level_when_at_least_half_of_the_p_values_are(splits: int) -> None:
    for outcome in itertools.product((0.01, 0.5), repeat=splits):
        rejecting = sum(p < 0.025 for p in outcome)
        assert (lower_median(outcome) < 0.025) == (rejecting / splits >= 0.5) == (rejecting >= (splits + 1) // 2)


# Best responses


@MIXED
@pytest.mark.parametrize("splits", [1, 2, 7])
def test_gains_are_concave_in_repetitions(mixing: Mixing, splits: int) -> None:
    gains = np.diff(rejection_probability(np.arange(200), splits=splits, mixing=mixing))
    assert (gains > -1e-15).all()
    assert (np.diff(gains) < 1e-15).all()


@pytest.mark.paper("Section 5.1")
@MIXED
@pytest.mark.parametrize("splits", [1, 3, 7])
@pytest.mark.parametrize(
    "cost",
    [lambda m: 0.004 * m, lambda m: 0.0003 * m**2 + 1e-5 * m, lambda m: 3 + 1e-4 * (math.exp(0.3 * m))],
    ids=["linear", "quadratic", "exponential"],
)
def test_the_best_response_is_the_first_maximum_over_all_repetitions(mixing: Mixing, splits: int, cost: Cost) -> None:
    every = np.arange(1_500)
    payoffs = rejection_probability(every, splits=splits, mixing=mixing)
    payoffs -= [cost(m) if m < 1_000 else math.inf for m in every.tolist()]
    response = best_response(cost, splits=splits, mixing=mixing)
    assert response.repetitions == payoffs.argmax()
    assert response.analyst == pytest.approx(payoffs.max(), abs=1e-14)
    assert response.policymaker == 1 - response.rejection
    assert response.rejection == one(response.repetitions, splits=splits, mixing=mixing)


@pytest.mark.parametrize("mixing", [INDEPENDENT, BetaMixing(0.3), GaussianMixing(0.3)])
def test_ties_go_to_the_smallest_number(mixing: Mixing) -> None:
    assert best_response(lambda m: 0.05 * m, mixing=mixing).repetitions == 0
    assert best_response(lambda m: 0.05 * 0.95 * m).repetitions == 1
    assert best_response(lambda m: 0.05 * 0.95**2 * m).repetitions == 2


@pytest.mark.parametrize("correlation", [0.01, 0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_last_digit_of_an_integral_breaks_no_tie(correlation: float) -> None:
    for alpha in (0.01, 0.05, 0.1, 0.3):
        worth = alpha * (1 - alpha) * (1 - correlation)
        cost = linear_costs(worth, 1)[0]
        assert best_response(cost, alpha=alpha, mixing=BetaMixing(correlation)).repetitions == 1


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (lambda m: -0.01 * m, "the cost of 1 repetitions is not above that of 0. A cost must increase"),
        (lambda m: 0.0, "is not above that of 0"),
        (lambda m: 0.001 * m if m < 5 else 0.004, "is not above that of"),
        (lambda m: 0.01 * math.sqrt(m), "the cost is concave: repetition"),
        (lambda m: 0.001 * m if m < 9 else 0.009 + 0.0001 * (m - 9), "the cost is concave"),
        (lambda m: math.nan, "is not a number"),
    ],
)
def test_costs_that_fall_stand_still_or_are_concave_are_refused(cost: Cost, said: str) -> None:
    with pytest.raises(improvable.OptionError, match=said.replace(".", r"\.")) as caught:
        best_response(cost)
    assert "\n" not in str(caught.value)


def test_rounding_of_large_costs_is_not_concavity() -> None:
    assert best_response(lambda m: 1e6 + 1e-7 * m, splits=2, mixing=BetaMixing(0.5)).repetitions > 1_000


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BetaMixing(1.0),
        lambda: BetaMixing(-0.1),
        lambda: GaussianMixing(1.5),
        lambda: GaussianMixing(math.nan),
        lambda: rejection_probability([1], mixing=DiscreteMixing({0.05: ([0.1], [1.0])})),
        lambda: rejection_probability([1], mixing=DiscreteMixing({0.1: ([0.1], [1.0])})),
        lambda: rejection_probability([-1]),
        lambda: rejection_probability([0.5]),
        lambda: rejection_probability([1], alpha=0.0),
        lambda: play(*linear_costs(0.1, 1), splits=1),
        lambda: linear_costs(0.0, 7),
        lambda: best_response(lambda m: 1e-20 * m, mixing=BetaMixing(0.9)),
        lambda: estimate_correlation([0.3], 100),
        lambda: estimate_correlation([0.0, 0.0, 0.0], 100),
        lambda: rerun_risk([]),
        lambda: rerun_risk([1.2]),
        lambda: splits_to_agree(1.2),
    ],
)
def test_bad_input_is_one_line(wrong: Callable[[], object]) -> None:
    with pytest.raises(improvable.OptionError) as caught:
        wrong()
    assert caught.value.hint
    assert "\n" not in str(caught.value)


# The statements of Section 5


@pytest.mark.paper("Lemma D.2")
@MIXED
def test_part_1_repetitions_of_one_split_reject_more_often_than_the_level(mixing: Mixing) -> None:
    chances = rejection_probability(np.arange(1, 50), mixing=mixing)
    assert chances[0] == pytest.approx(0.05, abs=1e-12)
    assert (chances[1:] > 0.05 + 1e-6).all()


def test_part_1_is_an_equality_for_perfect_correlation_only() -> None:
    perfect = DiscreteMixing({0.05: ([0.0, 1.0], [0.95, 0.05]), 0.025: ([0.0, 1.0], [0.975, 0.025])})
    assert rejection_probability([1, 2, 100], mixing=perfect).tolist() == pytest.approx([0.05] * 3)
    assert low_cost_assumption(lambda m: 1e-9 * m, mixing=perfect).probability == 0
    assert not low_cost_assumption(lambda m: 1e-9 * m, mixing=perfect).holds


@MIXED
def test_part_2_many_splits_reject_at_most_at_the_level_for_any_fixed_repetitions(mixing: Mixing) -> None:
    for m in (1, 10, 100):
        assert one(m, splits=200_001, mixing=mixing) < 0.05 + 1e-6


@pytest.mark.paper("Lemma D.1")
@MIXED
def test_lemma_part_2_the_limit_is_the_probability_that_half_of_the_splits_reject(mixing: Mixing) -> None:
    q, weights = mixing.points(0.025)
    limit = float(weights[q > 0.5].sum())
    assert limit <= 2 * 0.025
    assert one(3, splits=2_000_001, mixing=mixing) == pytest.approx(limit, abs=2e-4)


def test_lemma_part_2_at_exactly_one_half_the_median_is_a_coin() -> None:
    coin = DiscreteMixing({0.05: ([0.0, 1.0], [0.95, 0.05]), 0.025: ([0.0, 0.5], [0.95, 0.05])})
    for m in (1, 2, 5):
        assert one(m, splits=101, mixing=coin) == pytest.approx(0.05 * (1 - 0.5**m), rel=1e-12)


@MIXED
def test_lemma_part_1_assumption_4_makes_the_analyst_repeat_one_split(mixing: Mixing) -> None:
    for cost in (0.0001, 0.003, 0.02, 0.0474, 0.0476, 0.2):
        response = best_response(lambda m, cost=cost: cost * m, mixing=mixing)  # type: ignore[misc]
        holds = low_cost_assumption(lambda m, cost=cost: cost * m, mixing=mixing).holds  # type: ignore[misc]
        assert holds == (response.repetitions > 1)


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
def test_theorem_3_many_splits_are_more_robust(mixing: Mixing, cost: float) -> None:
    solved = play(*linear_costs(cost, 2_001), splits=2_001, mixing=mixing)
    assert solved.low_cost.holds
    assert solved.more_robust == "s2"


@pytest.mark.paper("Theorem 3")
def test_theorem_3_needs_splits_to_be_many() -> None:
    def cheap(m: int) -> float:
        return 1e-9 * m

    few, many = (play(lambda m: 0.001 * m, cheap, splits=k, mixing=NEAR_HALF) for k in (7, 10_001))
    assert few.low_cost.holds
    assert few.more_robust == "s1"
    assert many.more_robust == "s2"


@pytest.mark.paper("Assumption 4")
@MIXED
def test_without_assumption_4_the_median_is_no_worse_in_the_limit(mixing: Mixing) -> None:
    """The remark after Theorem 3: with m1* = 1 the analyst rejects at alpha, and the median at most at alpha."""
    assert best_response(lambda m: 0.0499 * m, mixing=mixing).repetitions == 1
    assert best_response(lambda m: 1e-4 * m, splits=20_001, mixing=mixing).rejection <= 0.05 + 1e-4


@pytest.mark.paper("Proposition 1")
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.3])
def test_proposition_1_holds_where_repeating_the_median_is_no_cheaper(alpha: float) -> None:
    bound = -2 * math.log(alpha) / (1 - alpha) ** 2
    assert hoeffding_splits(alpha) - 1 <= bound < hoeffding_splits(alpha)
    for splits in range(hoeffding_splits(alpha), hoeffding_splits(alpha) + 6):
        assert one(1, alpha=alpha, splits=splits) < alpha
        for share in (1e-5, 1e-3, 0.02, 0.3, 0.9, 0.999):
            cost = alpha * share
            for ratio in (1, splits):
                costs: tuple[Cost, Cost] = (linear_costs(cost, 1)[0], linear_costs(cost, ratio)[1])
                assert play(*costs, splits=splits, alpha=alpha).more_robust == "s2"


@pytest.mark.paper("Proposition 1")
def test_proposition_1_is_seven_splits_at_five_percent() -> None:
    assert hoeffding_splits(0.05) == 7


@pytest.mark.paper("Proposition 1")
def test_proposition_1_fails_where_repeating_the_median_is_cheap() -> None:
    """Its lemma claims P < alpha for every m; that is true for m = 1 only, and m2* may be large."""
    assert one(1, splits=7) < 0.05 < one(10_000, splits=7)
    solved = play(lambda m: 0.01 * m, lambda m: 1e-8 * m, splits=7)
    assert solved.repeated.repetitions > 500_000
    assert solved.repeated.rejection > 0.999 > 0.9 > solved.single.rejection
    assert solved.more_robust == "s1"


def test_proposition_1_is_a_tie_where_the_analyst_does_not_even_try() -> None:
    solved = play(*linear_costs(0.05, 7), splits=7)
    assert solved.single.repetitions == solved.repeated.repetitions == 0
    assert solved.more_robust is None


@pytest.mark.paper("Lemma D.3")
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.49])
def test_lemma_compare_value_at_equal_repetitions(alpha: float) -> None:
    every = np.arange(1, 500)
    for splits in range(hoeffding_splits(alpha), hoeffding_splits(alpha) + 10):
        tail = float(binom.sf((splits + 1) // 2 - 1, splits, alpha / 2))
        assert tail <= math.exp(-splits * (1 - alpha) ** 2 / 2) < alpha
        single, repeated = (rejection_probability(every, alpha=alpha, splits=k) for k in (1, splits))
        assert ((repeated < single) | (single > 1 - 1e-12)).all()


@pytest.mark.paper("Appendix D")
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.49])
def test_the_exact_number_of_splits_is_three_and_never_above_hoeffdings(alpha: float) -> None:
    exact = sufficient_splits(alpha)
    assert exact == 3 <= hoeffding_splits(alpha)
    tails = [float(binom.sf((k + 1) // 2 - 1, k, alpha / 2)) for k in range(2, 200)]
    assert tails[0] > alpha / (1 + alpha) >= max(tails[1:])


def test_the_exact_number_of_splits_suffices_for_any_convex_costs_with_a_dearer_median() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        # Marginal costs that rise, the median's by at least as much at every repetition.
        rising = 10 ** rng.uniform(-6, -1.3) * (1 + np.cumsum(rng.exponential(rng.choice([0, 1e-3, 0.3]), 3_000)))
        dearer = rising + 10 ** rng.uniform(-9, -2) * np.cumsum(rng.random(3_000)) * rng.integers(0, 2)
        single, repeated = (cost_table(np.cumsum([0.0, *steps])) for steps in (rising, dearer))
        solved = play(single, repeated, splits=int(rng.integers(3, 12)), alpha=float(rng.choice([0.01, 0.05, 0.2])))
        assert solved.more_robust == ("s2" if solved.single.repetitions else None)


def test_the_condition_of_the_exact_number_is_sharp() -> None:
    """Two splits break it, and there are equal costs at which one split is then more robust; three splits never."""
    found = set()
    for m in range(1, 120):
        cost = linear_costs(0.05 * 0.95**m, 1)
        found.add(play(*cost, splits=2).more_robust)
        assert play(*cost, splits=3).more_robust == "s2"
    assert found == {"s1", "s2"}


def test_the_fewest_splits_of_a_game_equal_a_search_over_games() -> None:
    mixings: list[Mixing] = [INDEPENDENT, BetaMixing(0.5), NEAR_HALF]
    for mixing, cost in itertools.product(mixings, [1e-5, 0.01, 0.06]):
        robust = [k for k in range(2, 30) if play(*linear_costs(cost, k), splits=k, mixing=mixing).more_robust == "s2"]
        tail = [k for k in robust if set(range(k, 30)) <= set(robust)]
        assert fewest_splits(cost, mixing=mixing, at_most=29) == (min(tail) if tail else None)


@MIXED
def test_footnote_jensen_one_split_is_rejected_most_often_if_p_values_are_independent(mixing: Mixing) -> None:
    every = np.arange(1, 300)
    assert (rejection_probability(every, mixing=mixing) <= rejection_probability(every) + 1e-12).all()


def test_footnote_jensen_does_not_extend_to_the_median_nor_to_the_margin() -> None:
    """Correlation makes the median reject a thousand times as often, and may make the analyst repeat more."""
    mixing = BetaMixing(0.3)
    assert one(1, splits=7, mixing=mixing) > 900 * one(1, splits=7)
    cost = linear_costs(1e-6, 7)[0]
    assert best_response(cost, mixing=mixing).repetitions > 100 * best_response(cost).repetitions


@pytest.mark.paper("Definition 5")
@MIXED
def test_the_policymaker_prefers_the_procedure_with_fewer_false_rejections(mixing: Mixing) -> None:
    solved = play(*linear_costs(0.001, 7), mixing=mixing)
    facts = solved.to_dict()
    assert facts["single"]["policymaker"] == 1 - facts["single"]["rejection"]
    assert (facts["more_robust"] == "s2") == (facts["repeated"]["rejection"] < facts["single"]["rejection"])
    assert facts["mixing"] == mixing.name


# The picture


@pytest.mark.parametrize("cost", [0.06, 0.01, 1e-6])
def test_the_picture_marks_the_best_responses(cost: float) -> None:
    solved = play(*linear_costs(cost, 7), mixing=BetaMixing(0.3))
    plain = picture(solved).to_dict()
    data = {layer["mark"]["type"]: plain["datasets"][layer["data"]["name"]] for layer in plain["layer"]}
    marks, curves = data["point"], data["line"]
    both = (solved.single, solved.repeated)
    assert [(mark["m"], mark["p"]) for mark in marks] == [(one.repetitions, one.rejection) for one in both]
    assert {row["procedure"] for row in curves} == {mark["procedure"] for mark in marks}
    assert max(row["m"] for row in curves) >= max(mark["m"] for mark in marks)
    for row in curves[::25]:
        splits = 1 if row["procedure"].startswith("one split") else 7
        assert row["p"] == one(row["m"], splits=splits, mixing=BetaMixing(0.3))
