"""The lower median of several repetitions: what it computes, that it keeps its level,
and that an audit follows it.
"""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import improvable
from flat import flat_audit
from improvable._typing import FloatArray
from improvable.inference.test import lower_median, threshold_for

ALPHA = 0.05


@pytest.mark.parametrize("seed", range(20))
def test_the_lower_median_is_below_a_level_where_half_of_the_p_values_are(
    seed: int,
) -> None:
    p = np.random.default_rng(seed).random(np.random.default_rng(seed).integers(1, 12))
    for level in (0.2, 0.5, 0.8):
        assert (lower_median(p) < level) == (2 * sum(p < level) >= len(p))


def test_combining_works_along_the_first_axis() -> None:
    p = np.random.default_rng(1).random((7, 3, 4))
    slow = [[lower_median(p[:, i, j]) for j in range(4)] for i in range(3)]
    np.testing.assert_array_equal(lower_median(p), slow)


def test_one_repetition_is_held_against_alpha_and_several_against_half_of_it() -> None:
    assert [threshold_for(0.05, repetitions) for repetitions in (1, 2, 7, 101)] == [
        0.05,
        0.025,
        0.025,
        0.025,
    ]


def factor_p_values(
    correlation: float, sets: int, repetitions: int, rng: np.random.Generator
) -> FloatArray:
    """Uniform p-values whose normal scores share a factor within a data set."""
    shared, own = rng.normal(size=(sets, 1)), rng.normal(size=(sets, repetitions))
    return np.asarray(
        norm.cdf(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
    )


def hardest_p_values(
    sets: int, repetitions: int, rng: np.random.Generator
) -> FloatArray:
    """In one data set of twenty every repetition rejects with probability one half, in
    the others never.
    """
    half = rng.random((sets, 1)) < ALPHA
    return np.where(half & (rng.random((sets, repetitions)) < 0.5), 0.0, 1.0)


@pytest.mark.parametrize("repetitions", [1, 2, 7, 8])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.99, None])
def test_the_median_keeps_its_level_however_repetitions_depend(
    repetitions: int, correlation: float | None
) -> None:
    """40,000 data sets: Monte Carlo error .0011 at 5%; the margin is four of them.

    Each p-value is below alpha / 2 with probability alpha / 2. One repetition needs
    more, a p-value that is uniform up to alpha, which the hardest case is not.
    """
    rng, sets = np.random.default_rng(3), 40_000
    if correlation is None:
        p = hardest_p_values(sets, max(repetitions, 2), rng)
    else:
        p = factor_p_values(correlation, sets, repetitions, rng)
    rate = float(np.mean(lower_median(p.T) < threshold_for(ALPHA, p.shape[1])))
    assert rate < ALPHA + 4 * np.sqrt(ALPHA * (1 - ALPHA) / sets)


def test_half_of_alpha_is_needed() -> None:
    """Where four of seven p-values are small together, a median held against alpha
    itself rejects 7/4 alpha.
    """
    together = np.random.default_rng(4).random((40_000, 1)) < 7 / 4 * ALPHA
    p = np.where(together, np.array([[0, 0, 0, 0, 1, 1, 1]]), 1.0)
    assert float((p < ALPHA).mean()) == pytest.approx(ALPHA, abs=0.004)
    assert float(np.mean(lower_median(p.T) < ALPHA)) == pytest.approx(
        7 / 4 * ALPHA, abs=0.006
    )


@pytest.mark.parametrize("scheme", ["forward", "split"])
def test_the_frontier_is_the_test(scheme: Any) -> None:
    result = improvable.audit(
        improvable.datasets.care_management(6_000, seed=3),
        outcome="gagne_sum_t",
        group="race",
        rule="linear",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        features=["gagne_sum_tm1", "cost_*_tm1"],
        test=improvable.Test(repetitions=5, draws=300, scheme=scheme),
    )
    assert result.p_value == sorted(one.p_value for one in result.repetitions)[2]
    frontier = result.frontier()
    for a in (-0.3, -0.1, 0.0, 0.1):
        for f in (-0.2, 0.1, 0.4):
            asked = result.with_claim(delta_accuracy=a, delta_fairness=f)
            assert frontier.p_value(a, f) == asked.p_value
            inside = any(
                a < corner and f < height for corner, height in frontier.edge()
            )
            assert inside == asked.reject


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scheme": "folds"}, r"`scheme` is 'folds'\. Choose 'forward' or 'split'\."),
        ({"repetitions": 0}, "`repetitions` is 0"),
        ({"repetitions": 2.5}, "`repetitions` is 2.5"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(improvable.OptionError, match=words):
        flat_audit(
            improvable.datasets.care_management(500, seed=3),
            outcome="gagne_sum_t",
            group="race",
            status_quo=improvable.threshold("risk_score_t", capacity=0.1),
            **options,
        )
