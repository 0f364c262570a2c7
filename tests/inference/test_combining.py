"""Rules that combine repetitions: what they compute, that they keep their level, and that an audit follows them."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import improvable
from improvable.data.arrays import FloatArray
from improvable.inference.combining import combined_threshold, lower_median
from improvable.inference.reruns import rerun_risk
from improvable.procedure.stopping import REPETITIONS_ADDED
from improvable.question.settings import Combine

ALPHA = 0.05
HOW: tuple[Combine, ...] = ("median", "sequential")


@pytest.mark.parametrize("seed", range(20))
def test_the_lower_median_is_below_a_level_where_half_of_the_p_values_are(seed: int) -> None:
    p = np.random.default_rng(seed).random(np.random.default_rng(seed).integers(1, 12))
    for level in (0.2, 0.5, 0.8):
        assert (lower_median(p) < level) == (2 * sum(p < level) >= len(p))


def test_combining_works_along_the_first_axis() -> None:
    p = np.random.default_rng(1).random((7, 3, 4))
    slow = [[lower_median(p[:, i, j]) for j in range(4)] for i in range(3)]
    np.testing.assert_array_equal(lower_median(p), slow)


def test_thresholds() -> None:
    assert combined_threshold(0.05, 1, "median") == 0.05
    assert combined_threshold(0.05, 7, "median") == 0.025
    assert combined_threshold(0.05, 1, "sequential") == 0.025
    assert combined_threshold(0.05, 7, "median", folds=2) == combined_threshold(0.05, 9, "sequential", folds=2) == 0.05
    assert [combined_threshold(0.05, 7, "median", folds) for folds in (None, 2, 3, 5)] == [0.025, 0.05, 0.025, 0.025]


def factor_p_values(correlation: float, sets: int, repetitions: int, rng: np.random.Generator) -> FloatArray:
    """Uniform p-values whose normal scores share a factor within a data set."""
    shared, own = rng.normal(size=(sets, 1)), rng.normal(size=(sets, repetitions))
    return np.asarray(norm.cdf(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own))


def hardest_p_values(sets: int, repetitions: int, rng: np.random.Generator) -> FloatArray:
    """In one data set of twenty every repetition rejects with probability one half, in the others never: mean alpha / 2."""
    half = rng.random((sets, 1)) < ALPHA
    return np.where(half & (rng.random((sets, repetitions)) < 0.5), 0.0, 1.0)


@cache
def otherwise(rejecting: int, repetitions: int, level: float) -> float:
    return rerun_risk([0.0] * rejecting + [1.0] * (repetitions - rejecting), alpha=ALPHA, threshold=level).otherwise


def rejects(p: FloatArray, how: Combine, folds: int | None = None) -> bool:
    level = combined_threshold(ALPHA, len(p), how, folds)
    if how == "median":
        return bool(lower_median(p) < level)
    below = np.cumsum(p < level)
    for k in range(7, len(p) + 1, REPETITIONS_ADDED):
        if otherwise(int(below[k - 1]), k, level) < 0.01:
            break
    return bool(lower_median(p[:k]) < level)


@pytest.mark.parametrize("how", ["median", "sequential"])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.99, None])
def test_every_rule_keeps_its_level(how: Combine, correlation: float | None) -> None:
    """8,000 data sets of up to 31 repetitions: Monte Carlo error .0024 at 5%; the margin is three of them."""
    rng = np.random.default_rng(3)
    sets, repetitions = 8_000, 31 if how == "sequential" else 7
    p = (
        hardest_p_values(sets, repetitions, rng)
        if correlation is None
        else factor_p_values(correlation, sets, repetitions, rng)
    )
    rate = np.mean([rejects(row, how) for row in p])
    assert rate < ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / sets)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8, 0.9, 0.97, 0.99])
def test_repetitions_in_folds_keep_the_level_when_they_stop_by_themselves(correlation: float) -> None:
    """As above, at alpha itself: repetitions share a center, and stopping early or late does not leave it."""
    p, sets = factor_p_values(correlation, 8_000, 31, np.random.default_rng(4)), 8_000
    rates = {how: np.mean([rejects(row if how == "sequential" else row[:7], how, 2) for row in p]) for how in HOW}
    for rate in rates.values():
        assert rate < ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / sets)
    assert rates["sequential"] == pytest.approx(rates["median"], abs=0.015)


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return {
        "data": improvable.datasets.care_management(6_000, seed=3), "outcome": "gagne_sum_t", "group": "race",
        "status_quo": improvable.threshold("risk_score_t", capacity=0.1), "rule": "linear", "draws": 300,
        "features": ["gagne_sum_tm1", "cost_*_tm1"], "repetitions": 3,
    }  # fmt: skip


def test_a_sequential_audit_stops_when_reproducible_for_any_number_of_workers(settings: dict[str, Any]) -> None:
    one = improvable.audit(**settings, combine="sequential", tolerance=0.02)
    p_values = [repetition.p_value for repetition in one.repetitions]
    risks = {k: rerun_risk(p_values[:k], alpha=0.05, threshold=0.025).otherwise for k in range(3, len(p_values) + 1, 2)}
    assert risks[len(p_values)] < 0.02
    assert all(risk >= 0.02 for k, risk in risks.items() if k < len(p_values))
    assert len(p_values) > 3
    assert one.threshold == 0.025
    many = improvable.audit(**settings, combine="sequential", tolerance=0.02, n_jobs=4)
    assert many.to_dict() == one.to_dict()
    plain = improvable.audit(**settings | {"repetitions": len(p_values)})
    assert plain.p_value == one.p_value


def test_a_sequential_audit_in_folds_stops_when_reproducible(
    settings: dict[str, Any],
) -> None:
    folded = settings | {"folds": 2, "tolerance": 0.02, "delta_fairness": 0.35, "combine": "sequential"}
    one = improvable.audit(**folded)
    p_values, level = [repetition.p_value for repetition in one.repetitions], one.threshold
    assert level == 0.05
    risks = {
        k: rerun_risk(p_values[:k], alpha=0.05, folds=2, threshold=level).otherwise
        for k in range(3, len(p_values) + 1, 2)
    }
    assert len(risks) > 1
    assert risks.pop(len(p_values)) < 0.02
    assert all(risk >= 0.02 for risk in risks.values())
    assert improvable.audit(**folded, n_jobs=4).to_dict() == one.to_dict()
    plain = improvable.audit(**settings | {"folds": 2, "delta_fairness": 0.35, "repetitions": len(p_values)})
    assert [repetition.p_value for repetition in plain.repetitions] == p_values


def test_a_sequential_audit_resumes_and_says_when_it_gives_up(settings: dict[str, Any], tmp_path: Any) -> None:
    options = settings | {
        "combine": "sequential",
        "tolerance": 1e-6,
        "most_repetitions": 6,
        "run_folder": tmp_path / "run",
    }
    result = improvable.audit(**options)
    assert len(result.repetitions) == 5
    assert "still decide otherwise with probability" in " ".join(result.warnings)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    (tmp_path / "run" / "repetition-004.npz").unlink()
    (tmp_path / "run" / "result.json").unlink()
    improvable.audit(**options)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


@pytest.mark.parametrize("folds", [None, 2])
def test_the_frontier_is_the_test(settings: dict[str, Any], folds: int | None) -> None:
    result = improvable.audit(**settings | {"repetitions": 5}, folds=folds)
    frontier = result.frontier()
    for a in (-0.3, -0.1, 0.0, 0.1):
        for f in (-0.2, 0.1, 0.4):
            asked = result.reconsider(delta_accuracy=a, delta_fairness=f)
            assert frontier.p_value(a, f) == asked.p_value
            inside = any(a < corner and f < height for corner, height in frontier.edge())
            assert inside == asked.reject


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"combine": "running_median"}, "combine is 'running_median'"),
        ({"combine": "sequential", "tolerance": 0.7}, "tolerance is 0.7"),
        ({"combine": "sequential", "most_repetitions": 2}, "most_repetitions is 2"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(improvable.OptionError, match=words):
        improvable.audit(**settings, **options)
