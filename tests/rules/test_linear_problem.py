"""Linear problems by brute force: every linear classifier of points in the plane, evaluated by loops."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from improvable.arrays import BoolArray, FloatArray
from improvable.errors import OptionError
from improvable.rules.linear.problem import LinearProblem, merge_rows, parse_objective

KINDS = ("classification_rate", "calibration", "calibration_rejected")


def instance(
    m: int, seed: int, kinds: tuple[str, ...] = ("classification_rate",), groups: int = 2, d: int = 2
) -> LinearProblem:
    """A problem whose status quo decides by noise, so that it can be improved on."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((m, d))
    group = np.arange(m) % groups
    y = (x.sum(axis=1) + 0.7 * group + rng.standard_normal(m) > 0).astype(np.float64)
    y_of = {"classification_rate": y, "calibration": y * rng.integers(1, 6, m), "calibration_rejected": y}
    one, zero = np.ones(m), np.zeros(m)
    off = {"classification_rate": (1 - y, one), "calibration": (zero, zero), "calibration_rejected": (y, one)}
    on = {
        "classification_rate": (y, one),
        "calibration": (y_of["calibration"], one),
        "calibration_rejected": (zero,) * 2,
    }
    base = np.stack([np.stack(off[kind], axis=-1) for kind in kinds], axis=1)
    gain = np.stack([np.stack(on[kind], axis=-1) for kind in kinds], axis=1) - base
    before = np.arange(m) % (2 * groups) < groups
    rows = base + gain * before[:, None, None]
    status_quo = np.array([[_ratio(rows[group == g, k]) for k in range(len(kinds))] for g in range(groups)])
    features = np.column_stack([one, x])
    both = tuple(range(len(kinds)))
    return LinearProblem(features, one, group, base, gain, both[:1], both, status_quo, status_quo_rows=rows)


def _ratio(rows: FloatArray) -> float:
    u, w = rows.sum(axis=0)
    return float(u / w) if w > 0 else np.nan


def all_decisions(problem: LinearProblem) -> list[BoolArray]:
    """Every linear classifier's decisions on points in the plane (up to ties), by angle and then by cutoff."""
    x = problem.features[:, 1:]
    i, j = np.triu_indices(len(x), 1)
    across = np.arctan2(x[j, 0] - x[i, 0], x[i, 1] - x[j, 1])
    turns = np.sort(np.concatenate([across, across + np.pi, [0, np.pi / 2, np.pi, -np.pi / 2]]) % (2 * np.pi))
    found: dict[bytes, BoolArray] = {}
    for left, right in pairwise([*turns, turns[0] + 2 * np.pi]):
        direction = np.array([np.cos((left + right) / 2), np.sin((left + right) / 2)])
        if problem.signs is not None and (direction * problem.signs[1:] < 0).any():
            continue
        score = x @ direction
        for cutoff in [*np.sort(score), np.inf]:
            found.setdefault((score >= cutoff).tobytes(), score >= cutoff)
    return list(found.values())


def naive(problem: LinearProblem, decisions: BoolArray, objective: str) -> float:
    """An objective's value, NaN where a constraint fails; written from the definitions, with loops."""
    groups = range(problem.groups)
    sums = np.zeros((problem.groups, problem.base.shape[1], 2))
    chosen = np.zeros(problem.groups)
    for g in groups:
        mine = problem.group == g
        chosen[g] = problem.count[mine & decisions].sum()
        for selected, added in ((False, 0.0), (True, problem.gain)):
            rows = mine & (decisions == selected)
            sums[g] += ((problem.base + added) * problem.count[:, None, None])[rows].sum(axis=0)
    if (sums[..., 1] <= 0).any():
        return np.nan
    utility = sums[..., 0] / sums[..., 1]
    limit = None if problem.capacity is None else np.floor(problem.capacity * problem.count.sum() + 1e-9)
    if limit is not None and chosen.sum() != limit:
        return np.nan
    rates = [chosen[g] / problem.count[problem.group == g].sum() for g in groups]
    if problem.selection_gap is not None and max(rates) - min(rates) > problem.selection_gap + 1e-12:
        return np.nan
    kind, _, target = objective.partition(":")
    gaps = {k: np.ptp(utility[:, k]) for k in problem.fairness}
    before = {k: np.ptp(problem.status_quo[:, k]) for k in problem.fairness}
    short = [
        (g, k)
        for g in groups
        for k in problem.accuracy
        if utility[g, k] < problem.status_quo[g, k] + problem.iota - 1e-12
        and not (kind == "most_accurate" and g == int(target) and k == problem.accuracy[0])
    ]
    if kind != "balanced" and short:
        return np.nan
    if kind == "fairest":
        return float(max(gaps.values()))
    if kind == "most_accurate":
        unfair = any(gaps[k] > before[k] - problem.iota + 1e-12 for k in gaps)
        return np.nan if unfair else float(utility[int(target), problem.accuracy[0]])
    assert problem.scale is not None
    margins = [
        (utility[g, k] - problem.status_quo[g, k]) / problem.scale.accuracy[a, g]
        for a, k in enumerate(problem.accuracy)
        for g in groups
    ]
    pairs = [(g, h) for g in groups for h in groups if g != h]
    margins += [
        (before[k] - utility[g, k] + utility[h, k]) / problem.scale.gap[f, p]
        for f, k in enumerate(problem.fairness)
        for p, (g, h) in enumerate(pairs)
    ]
    return float(min(margins))


def brute_force(problem: LinearProblem, objective: str) -> float:
    """The best value over every linear classifier in the plane; NaN where none is feasible."""
    values = np.array([naive(problem, decisions, objective) for decisions in all_decisions(problem)])
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return np.nan
    return float(values.min() if objective == "fairest" else values.max())


def closely(a: float, b: float) -> bool:
    return bool(np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))


@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS[1:2], KINDS])
@pytest.mark.parametrize("groups", [2, 3])
def test_evaluation_agrees_with_loops(kinds: tuple[str, ...], groups: int) -> None:
    rng = np.random.default_rng(3)
    problem = instance(30, 1, kinds, groups)
    problem = replace(problem.scaled_at(np.array([0.1, 1.0, 0.5])), capacity=0.5, selection_gap=0.3, iota=0.01)
    seen = 0
    for _ in range(200):
        beta = rng.uniform(-1, 1, 3)
        evaluation = problem.evaluate(beta)
        assert (evaluation.decisions == (problem.features @ beta >= 0)).all()
        for objective in problem.objectives:
            value = evaluation.values[objective] if evaluation.feasible(objective) else np.nan
            assert closely(value, naive(problem, evaluation.decisions, objective))
            seen += not np.isnan(value)
    assert seen > 0


def test_merged_rows_have_the_same_values() -> None:
    rng = np.random.default_rng(5)
    problem = instance(400, 2, KINDS)
    problem = replace(problem, features=np.column_stack([np.ones(400), rng.integers(-1, 2, (400, 2))]).astype(float))
    merged = merge_rows(problem)
    assert len(merged.features) < 200
    assert merged.count.sum() == 400
    for _ in range(30):
        beta = rng.uniform(-1, 1, 3)
        one, other = problem.evaluate(beta), merged.evaluate(beta)
        np.testing.assert_allclose(one.utilities, other.utilities, rtol=1e-12)
        assert one.selected == other.selected
        for objective in problem.objectives:
            assert closely(one.values[objective], other.values[objective])
            assert one.feasible(objective) == other.feasible(objective)


def test_standard_errors_agree_with_resampling() -> None:
    problem = instance(600, 4, ("calibration",))
    beta = np.array([0.2, 1.0, 0.3])
    scale = problem.scaled_at(beta).scale
    assert scale is not None
    assert problem.status_quo_rows is not None
    after = problem.base + problem.gain * problem.decide(beta)[:, None, None]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(2_000):
        rows = rng.integers(0, 600, 600)
        group = problem.group[rows]
        new, old = after[rows, 0], problem.status_quo_rows[rows, 0]
        draws.append([[_ratio(part[group == g]) for g in (0, 1)] for part in (old, new)])
    old, new = np.moveaxis(np.array(draws), 1, 0)
    np.testing.assert_allclose(scale.accuracy[0], (new - old).std(axis=0), rtol=0.1)
    high = int(np.argmax(problem.status_quo[:, 0]))
    gap = old[:, high] - old[:, 1 - high] - (new[:, 0] - new[:, 1])
    np.testing.assert_allclose(scale.gap[0, 0], gap.std(), rtol=0.1)


def test_the_status_quo_itself_has_no_margin() -> None:
    problem = instance(40, 6)
    assert problem.status_quo_rows is not None
    same = replace(problem, base=problem.status_quo_rows, gain=np.zeros_like(problem.gain))
    assert closely(same.evaluate(np.array([1.0, 0.0, 0.0])).values["balanced"], 0.0)


def test_no_standard_error_is_zero() -> None:
    problem = instance(40, 6)
    certain = np.broadcast_to([1.0, 1.0], problem.base.shape)
    problem = replace(problem, base=certain, gain=np.zeros_like(certain), status_quo_rows=certain)
    scale = replace(problem, status_quo=np.ones((2, 1))).scaled_at(np.ones(3)).scale
    assert scale is not None
    np.testing.assert_allclose(scale.accuracy, 1 / 20)
    np.testing.assert_allclose(scale.gap, 1 / 20)


def test_nobody_selected_is_undefined_and_infeasible() -> None:
    evaluation = instance(20, 1, ("calibration",)).evaluate(np.array([-1.0, 0.0, 0.0]))
    assert np.isnan(evaluation.utilities).all()
    assert np.isnan(evaluation.values["fairest"])
    assert not evaluation.feasible("fairest")


def test_ties_leave_room_below_the_capacity_but_none_above() -> None:
    problem = instance(40, 1)
    assert replace(problem, capacity=0.25).capacity_range == (10, 10)
    features = problem.features.copy()
    features[:5] = features[0]
    assert replace(problem, features=features, capacity=0.25).capacity_range == (6, 10)


@pytest.mark.parametrize("wrong", ["fairness", "most_accurate", "most_accurate:2", "most_accurate:-1", "balanced:0"])
def test_unknown_objectives_are_named(wrong: str) -> None:
    with pytest.raises(OptionError, match="there is no objective"):
        parse_objective(wrong, 2)


def test_bad_problems_are_refused() -> None:
    problem = instance(20, 1)
    with pytest.raises(OptionError, match="below one row"):
        replace(problem, capacity=0.04)
    with pytest.raises(OptionError, match="constant 1"):
        replace(problem, features=problem.features[:, ::-1])
    with pytest.raises(OptionError, match="do not fit"):
        replace(problem, count=np.ones(3))
    with pytest.raises(OptionError, match="without a utility"):
        replace(problem, status_quo=np.full((2, 1), np.nan))
    with pytest.raises(OptionError, match="status_quo_rows"):
        replace(problem, status_quo_rows=None).scaled_at(np.ones(3))
