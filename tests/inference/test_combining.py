"""Rules that combine splits: what they compute, that they keep their level, and that an audit follows them."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import improvable
from improvable.data.arrays import FloatArray
from improvable.inference.combining import combine, combined_threshold
from improvable.inference.reruns import rerun_risk
from improvable.procedure.stopping import SPLITS_ADDED
from improvable.question.settings import Combine

ALPHA = 0.05


@pytest.mark.parametrize("seed", range(20))
def test_the_running_median_is_the_smallest_median_of_the_first_splits(seed: int) -> None:
    p = np.random.default_rng(seed).random(np.random.default_rng(seed).integers(1, 12))
    slow = min(sorted(p[:k])[(k - 1) // 2] for k in range(1, len(p) + 1))
    assert combine(p, "running_median") == slow
    assert combine(p, "running_median") <= combine(p, "median") == combine(p, "sequential")


def test_combining_works_along_the_first_axis() -> None:
    p = np.random.default_rng(1).random((7, 3, 4))
    rules: tuple[Combine, ...] = ("median", "running_median")
    for how in rules:
        slow = [[combine(p[:, i, j], how) for j in range(4)] for i in range(3)]
        np.testing.assert_array_equal(combine(p, how), slow)


def test_thresholds() -> None:
    assert combined_threshold(0.05, 1, "median") == 0.05
    assert combined_threshold(0.05, 7, "running_median") == 0.025
    assert combined_threshold(0.05, 1, "sequential") == 0.025
    assert [combined_threshold(0.05, 7, "median", folds) for folds in (None, 2, 3, 5)] == [0.025, 0.05, 0.025, 0.025]


def factor_p_values(correlation: float, sets: int, splits: int, rng: np.random.Generator) -> FloatArray:
    """Uniform p-values whose normal scores share a factor within a data set."""
    shared, own = rng.normal(size=(sets, 1)), rng.normal(size=(sets, splits))
    return np.asarray(norm.cdf(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own))


def hardest_p_values(sets: int, splits: int, rng: np.random.Generator) -> FloatArray:
    """In one data set of twenty every split rejects with probability one half, in the others never: mean alpha / 2."""
    half = rng.random((sets, 1)) < ALPHA
    return np.where(half & (rng.random((sets, splits)) < 0.5), 0.0, 1.0)


@cache
def otherwise(rejecting: int, splits: int) -> float:
    return rerun_risk([0.0] * rejecting + [1.0] * (splits - rejecting), alpha=ALPHA, threshold=ALPHA / 2).otherwise


def rejects(p: FloatArray, how: Combine) -> bool:
    if how != "sequential":
        return bool(combine(p, how) < combined_threshold(ALPHA, len(p), how))
    below = np.cumsum(p < ALPHA / 2)
    for k in range(7, len(p) + 1, SPLITS_ADDED):
        if otherwise(int(below[k - 1]), k) < 0.01:
            break
    return bool(combine(p[:k], "sequential") < ALPHA / 2)


@pytest.mark.parametrize("how", ["median", "running_median", "sequential"])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.99, None])
def test_every_rule_keeps_its_level(how: Combine, correlation: float | None) -> None:
    """8,000 data sets of up to 31 splits: Monte Carlo error .0024 at 5%; the margin is three of them."""
    rng = np.random.default_rng(3)
    sets, splits = 8_000, 31 if how == "sequential" else 7
    p = hardest_p_values(sets, splits, rng) if correlation is None else factor_p_values(correlation, sets, splits, rng)
    rate = np.mean([rejects(row, how) for row in p])
    assert rate < ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / sets)
    if correlation is None and how == "running_median":
        assert rate > 0.7 * ALPHA, "the bound is nearly reached"


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return {
        "data": improvable.datasets.care_management(6_000, seed=3), "outcome": "gagne_sum_t", "group": "race",
        "status_quo": improvable.threshold("risk_score_t", capacity=0.1), "rule": "linear", "draws": 300,
        "features": ["gagne_sum_tm1", "cost_*_tm1"], "splits": 3,
    }  # fmt: skip


def test_a_sequential_audit_stops_when_reproducible_for_any_number_of_workers(settings: dict[str, Any]) -> None:
    one = improvable.audit(**settings, combine="sequential", tolerance=0.02)
    p_values = [split.p_value for split in one.splits]
    risks = {k: rerun_risk(p_values[:k], alpha=0.05, threshold=0.025).otherwise for k in range(3, len(p_values) + 1, 2)}
    assert risks[len(p_values)] < 0.02
    assert all(risk >= 0.02 for k, risk in risks.items() if k < len(p_values))
    assert len(p_values) > 3
    assert one.threshold == 0.025
    many = improvable.audit(**settings, combine="sequential", tolerance=0.02, n_jobs=4)
    assert many.to_dict() == one.to_dict()
    plain = improvable.audit(**settings | {"splits": len(p_values)})
    assert plain.p_value == one.p_value


def test_a_sequential_audit_resumes_and_says_when_it_gives_up(settings: dict[str, Any], tmp_path: Any) -> None:
    options = settings | {"combine": "sequential", "tolerance": 1e-6, "most_splits": 6, "run_folder": tmp_path / "run"}
    result = improvable.audit(**options)
    assert len(result.splits) == 5
    assert "still decide otherwise with probability" in " ".join(result.warnings)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    (tmp_path / "run" / "split-004.npz").unlink()
    (tmp_path / "run" / "result.json").unlink()
    improvable.audit(**options)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_the_frontier_of_a_running_median_is_the_test(settings: dict[str, Any]) -> None:
    result = improvable.audit(**settings | {"splits": 5}, combine="running_median")
    frontier = result.frontier()
    for a in (-0.3, -0.1, 0.0, 0.1):
        for f in (-0.2, 0.1, 0.4):
            asked = result.reconsider(delta_accuracy=a, delta_fairness=f)
            assert frontier.p_value(a, f) == asked.p_value
            inside = any(a < corner and f < height for corner, height in frontier.edge())
            assert inside == asked.reject
    assert "smallest running median" in " ".join(result.summary().split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"combine": "mean"}, "combine is 'mean'"),
        ({"combine": "sequential", "tolerance": 0.7}, "tolerance is 0.7"),
        ({"combine": "sequential", "most_splits": 2}, "most_splits is 2"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(improvable.OptionError, match=words):
        improvable.audit(**settings, **options)
