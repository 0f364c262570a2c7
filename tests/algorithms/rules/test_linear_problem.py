"""Linear problems against loops over their definitions."""

from dataclasses import replace

import numpy as np
import pytest

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.rules.linear.problem import evaluate, merge_rows
from improvable.errors import OptionError
from improvable.inference.statistics import accuracy_statistic, reference_pair, signed_statistics
from improvable.question.claim import Claim, Form, Overall
from linear_oracle import KINDS, instance, naive, ratio


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
        for objective in problem.objectives:
            evaluation = evaluate(replace(problem, objective=objective), beta)
            assert (evaluation.decisions == (problem.features @ beta >= 0)).all()
            value = evaluation.value if evaluation.feasible else np.nan
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
        for objective in problem.objectives:
            one, other = (evaluate(replace(each, objective=objective), beta) for each in (problem, merged))
            np.testing.assert_allclose(one.utilities, other.utilities, rtol=1e-12)
            assert problem.count[one.decisions].sum() == merged.count[other.decisions].sum()
            assert closely(one.value, other.value)
            assert one.feasible == other.feasible


def test_standard_errors_agree_with_resampling() -> None:
    problem = instance(600, 4, ("calibration",))
    beta = np.array([0.2, 1.0, 0.3])
    scale = problem.scaled_at(beta).scale
    assert scale is not None
    after = problem.base + problem.gain * problem.decide(beta)[:, None, None]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(2_000):
        rows = rng.integers(0, 600, 600)
        group = problem.group[rows]
        new, old = after[rows, 0], problem.status_quo_rows[rows, 0]
        draws.append([[ratio(part[group == g]) for g in (0, 1)] for part in (old, new)])
    old, new = np.moveaxis(np.array(draws), 1, 0)
    np.testing.assert_allclose(scale.accuracy[0], (new - old).std(axis=0), rtol=0.1)
    high = int(np.argmax(problem.status_quo[:, 0]))
    gap = old[:, high] - old[:, 1 - high] - (new[:, 0] - new[:, 1])
    np.testing.assert_allclose(scale.gap[0, 0], gap.std(), rtol=0.1)


@pytest.mark.parametrize("form", ["ratio", "difference"])
@pytest.mark.parametrize("overall", [None, "population", {"0": 1.0, "1": 3.0}])
@pytest.mark.parametrize("protected", [(), ("1",)])
def test_margins_over_the_claim_are_those_of_the_test(form: Form, overall: Overall, protected: tuple[str, ...]) -> None:
    """What exceeds the claim, and its standard error, against the statistics of resampled rows."""
    delta = 0.1 if overall else {"0": 0.1, "1": -0.2}
    claim = Claim(delta_accuracy=delta, delta_fairness=0.3, form=form, protected=protected, overall=overall)
    problem = replace(instance(600, 4, ("calibration",)), claim=claim, lower_is_better=(0,))
    beta = np.array([0.2, 1.0, 0.3])
    scale, aim = problem.scaled_at(beta).scale, problem.aim
    assert scale is not None
    after = problem.base + problem.gain * problem.decide(beta)[:, None, None]
    both = np.stack([problem.status_quo_rows[:, 0], after[:, 0]])
    sign, place = (-1, 1) if protected else (1, None)
    reference = reference_pair(sign * problem.status_quo[:, 0], place)

    def statistics(rows: IntArray) -> FloatArray:
        group, part = problem.group[rows], both[:, rows]
        values = np.array([[ratio(one[group == g]) for g in (0, 1)] for one in part])
        if overall is None:
            compared = values.T
        elif overall == "population":
            compared = np.array([[ratio(one) for one in part]])
        else:
            compared = (values @ [0.25, 0.75])[None]
        names = ["everyone"] if overall else ["0", "1"]
        accuracy = [
            accuracy_statistic(old, new, claim.delta_of(g, ""), form)
            for (old, new), g in zip(compared, names, strict=True)
        ]
        old, new = sign * values
        return np.array([*accuracy, *-signed_statistics(old, new, reference, 0.3, form, place)])

    rng = np.random.default_rng(0)
    drawn = np.array([statistics(rng.integers(0, 600, 600)) for _ in range(1_000)])
    np.testing.assert_allclose([*scale.accuracy[0], *scale.gap[0]], drawn.std(axis=0), rtol=0.15)
    utilities = evaluate(problem, beta).utilities
    blocks = np.append(utilities, [[ratio(after[:, 0])]], axis=0)[: aim.weights.shape[1]]
    spare = [*(aim.accuracies(blocks[..., None])[:, 0, 0] - aim.least[0])]
    spare += [*(aim.most[0] - aim.differences(utilities[..., None])[:, 0, 0])]
    np.testing.assert_allclose(spare, statistics(np.arange(600)), rtol=1e-9, atol=1e-12)


def test_the_status_quo_itself_has_no_margin() -> None:
    problem = instance(40, 6)
    same = replace(problem, base=problem.status_quo_rows, gain=np.zeros_like(problem.gain), objective="balanced")
    assert closely(evaluate(same, np.array([1.0, 0.0, 0.0])).value, 0.0)


def test_no_standard_error_is_zero() -> None:
    problem = instance(40, 6)
    certain = np.broadcast_to([1.0, 1.0], problem.base.shape)
    problem = replace(problem, base=certain, gain=np.zeros_like(certain), status_quo_rows=certain)
    scale = replace(problem, status_quo=np.ones((2, 1))).scaled_at(np.ones(3)).scale
    assert scale is not None
    np.testing.assert_allclose(scale.accuracy, 1 / 20)
    np.testing.assert_allclose(scale.gap, 1 / 20)


def test_nobody_selected_is_undefined_and_infeasible() -> None:
    evaluation = evaluate(instance(20, 1, ("calibration",)), np.array([-1.0, 0.0, 0.0]))
    assert np.isnan(evaluation.utilities).all()
    assert np.isnan(evaluation.value)
    assert not evaluation.feasible


def test_ties_leave_room_below_the_capacity_but_none_above() -> None:
    problem = instance(40, 1)
    assert replace(problem, capacity=0.25).capacity_range == (10, 10)
    features = problem.features.copy()
    features[:5] = features[0]
    assert replace(problem, features=features, capacity=0.25).capacity_range == (6, 10)


@pytest.mark.parametrize("wrong", ["fairness", "most_accurate", "most_accurate:2", "most_accurate:-1", "balanced:0"])
def test_unknown_objectives_are_named(wrong: str) -> None:
    with pytest.raises(OptionError, match="there is no objective"):
        replace(instance(20, 1), objective=wrong)


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
