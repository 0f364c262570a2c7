"""What an audit's own repetitions say about running it again, each number against its definition or a simulation."""

import math

import numpy as np
import pytest
from scipy.stats import beta, betabinom, binom

from improvable.inference.combining import lower_median
from improvable.inference.reruns import estimate_correlation, rerun_risk, repetitions_to_agree


def test_the_correlation_of_splits_is_found_again() -> None:
    from scipy.special import ndtr

    rng = np.random.default_rng(2)
    truth = 0.6
    scores = math.sqrt(truth) * rng.normal(size=(2_000, 1)) + math.sqrt(1 - truth) * rng.normal(size=(2_000, 7))
    found = [estimate_correlation(row.tolist(), 10**6) for row in ndtr(scores)]
    assert np.mean([1 - one.estimate for one in found]) == pytest.approx(1 - truth, abs=0.02)
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert covered == pytest.approx(0.9, abs=0.02)


def test_p_values_at_a_bound_are_counted() -> None:
    assert estimate_correlation([0.0, 0.2, 1.0, 0.4], 1_000).censored == 2


@pytest.mark.parametrize(
    ("rejecting", "repetitions"), [(7, 7), (6, 7), (4, 7), (3, 7), (0, 7), (2, 4), (1, 1), (40, 51)]
)
def test_the_risk_of_a_rerun_equals_its_definition(rejecting: int, repetitions: int) -> None:
    risk = rerun_risk([0.001] * rejecting + [0.5] * (repetitions - rejecting))
    needed = (repetitions + 1) // 2
    assert (
        risk.reject
        == (rejecting >= needed)
        == (lower_median([0.001] * rejecting + [0.5] * (repetitions - rejecting)) < 0.025)
    )
    fresh = betabinom(repetitions, rejecting + 0.5, repetitions - rejecting + 0.5)
    assert risk.otherwise == pytest.approx(fresh.cdf(needed - 1) if risk.reject else fresh.sf(needed - 1), rel=1e-9)
    low = beta.ppf(0.05, rejecting, repetitions - rejecting + 1) if rejecting else 0.0
    high = beta.ppf(0.95, rejecting + 1, repetitions - rejecting) if rejecting < repetitions else 1.0
    assert risk.share_range == pytest.approx((low, high))
    ends = [float(binom.cdf(needed - 1, repetitions, q)) for q in (low, high)]
    assert risk.otherwise_range == pytest.approx(sorted(ends if risk.reject else [1 - end for end in ends]), abs=1e-12)


def test_the_risk_of_a_rerun_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    for share in (0.3, 0.55, 0.8):
        covered = []
        for _ in range(400):
            risk = rerun_risk(np.where(rng.random(7) < share, 0.001, 0.5).tolist())
            truth = binom.cdf(3, 7, share) if risk.reject else binom.sf(3, 7, share)
            covered.append(risk.otherwise_range[0] - 1e-12 <= truth <= risk.otherwise_range[1] + 1e-12)
        assert np.mean(covered) > 0.88


def test_no_number_of_splits_is_promised_where_half_may_reject() -> None:
    doubtful, clear = rerun_risk([0.001] * 6 + [0.5]), rerun_risk([0.001] * 7)
    assert doubtful.enough_surely is None
    assert doubtful.share_range[0] < 0.5 < doubtful.share_range[1]
    assert clear.enough == 5
    assert clear.enough_surely == 69
    assert rerun_risk([0.001, 0.5]).enough is None


def test_one_split_is_judged_at_alpha_and_more_splits_at_half_of_it() -> None:
    risk = rerun_risk([0.04])
    assert (risk.reject, risk.rejecting, risk.share) == (True, 1, 0.25)


def test_repetitions_in_two_folds_are_judged_at_alpha_and_in_more_at_half_of_it() -> None:
    risk, halves = rerun_risk([0.04, 0.03, 0.001], folds=2), rerun_risk([0.04, 0.03, 0.001])
    assert (risk.reject, risk.rejecting, risk.share) == (True, 3, 3.5 / 4)
    assert (halves.reject, halves.rejecting, halves.share) == (False, 1, 1.5 / 4)
    assert rerun_risk([0.04, 0.03, 0.001], folds=5) == halves


@pytest.mark.parametrize("share", [0.02, 0.3, 0.58, 0.7, 0.95])
def test_splits_to_agree_is_the_first_odd_number_that_does(share: float) -> None:
    def disagree(repetitions: int) -> float:
        reject = float(binom.sf((repetitions + 1) // 2 - 1, repetitions, share))
        return 2 * reject * (1 - reject)

    first = next(k for k in range(3, 2_001, 2) if disagree(k) < 0.01)
    assert repetitions_to_agree(share) == first
    assert all(disagree(k) < 0.01 for k in range(first, first + 100, 2))
