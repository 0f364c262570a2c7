"""Linear problems against loops over their definitions."""

from dataclasses import replace

import numpy as np
import pytest

from improvable._typing import FloatArray
from improvable.algorithms.rules.linear.problem import evaluate, merge_rows
from improvable.errors import OptionError
from improvable.inference.statistics import accuracy_statistic, reference_pair
from improvable.question.claim import Claim, Form, Overall
from linear_oracle import KINDS, instance, naive, ratio, turned
from oracle import signed_statistics


def closely(a: float, b: float) -> bool:
    return bool(np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))


@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS[1:2], KINDS])
@pytest.mark.parametrize("groups", [2, 3])
def test_evaluation_agrees_with_loops(kinds: tuple[str, ...], groups: int) -> None:
    rng = np.random.default_rng(3)
    problem = instance(30, 1, kinds, groups)
    problem = replace(problem, capacity=0.5, selection_gap=0.6, iota=-2.0)
    seen = 0
    for _ in range(200):
        beta = rng.uniform(-1, 1, 3)
        for objective in ("fairest", "most_accurate:0", "most_accurate:1"):
            evaluation = evaluate(replace(problem, objective=objective), beta)
            assert (evaluation.decisions == (problem.features @ beta >= 0)).all()
            value = evaluation.value if evaluation.feasible else np.nan
            assert closely(value, naive(problem, evaluation.decisions, objective))
            seen += not np.isnan(value)
    assert seen > 0


def test_merged_rows_have_the_same_values() -> None:
    rng = np.random.default_rng(5)
    problem = instance(400, 2, KINDS)
    problem = replace(
        problem,
        features=np.column_stack([np.ones(400), rng.integers(-1, 2, (400, 2))]).astype(
            float
        ),
    )
    merged = merge_rows(problem)
    assert len(merged.features) < 200
    assert merged.count.sum() == 400
    for _ in range(30):
        beta = rng.uniform(-1, 1, 3)
        for objective in ("fairest", "most_accurate:0", "most_accurate:1"):
            one, other = (
                evaluate(replace(each, objective=objective), beta)
                for each in (problem, merged)
            )
            np.testing.assert_allclose(one.utilities, other.utilities, rtol=1e-12)
            assert (
                problem.count[one.decisions].sum()
                == merged.count[other.decisions].sum()
            )
            assert closely(one.value, other.value)
            assert one.feasible == other.feasible


@pytest.mark.parametrize("form", ["ratio", "difference"])
@pytest.mark.parametrize("overall", [None, "population", {"0": 1.0, "1": 3.0}])
@pytest.mark.parametrize("protected", [(), ("1",)])
def test_margins_over_the_claim_are_those_of_the_test(
    form: Form, overall: Overall, protected: tuple[str, ...]
) -> None:
    """What exceeds the claim, against the statistics of the same rows."""
    delta = 0.1 if overall else {"0": 0.1, "1": -0.2}
    claim = Claim(
        delta_accuracy=delta,
        delta_fairness=0.3,
        form=form,
        protected=protected,
        overall=overall,
    )
    problem = replace(turned(instance(600, 4, ("calibration",))), claim=claim)
    beta = np.array([0.2, 1.0, 0.3])
    after = problem.base + problem.gain * problem.decide(beta)[:, None, None]
    both = np.stack([problem.status_quo_rows[:, 0], after[:, 0]])
    sign, place = (-1, 1) if protected else (1, None)
    reference = reference_pair(sign * problem.status_quo[:, 0], place)

    def statistics() -> FloatArray:
        values = np.array(
            [[ratio(one[problem.group == g]) for g in (0, 1)] for one in both]
        )
        if overall is None:
            compared = values.T
        elif overall == "population":
            compared = np.array([[ratio(one) for one in both]])
        else:
            compared = (values @ [0.25, 0.75])[None]
        names = ["everyone"] if overall else ["0", "1"]
        accuracy = [
            accuracy_statistic(old, new, claim.delta_of(g), form)
            for (old, new), g in zip(compared, names, strict=True)
        ]
        old, new = sign * values
        return np.array(
            [*accuracy, *-signed_statistics(old, new, reference, 0.3, form, place)]
        )

    blocks = np.append(evaluate(problem, beta).utilities[:, 0], ratio(after[:, 0]))
    spare = [
        demand.weights @ blocks[: len(demand.weights)] - demand.least
        for demand in problem.demands
    ]
    np.testing.assert_allclose(spare, statistics(), rtol=1e-9, atol=1e-12)


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


def test_bad_problems_are_refused() -> None:
    problem = instance(20, 1)
    with pytest.raises(OptionError, match="without a utility"):
        replace(problem, status_quo_rows=problem.status_quo_rows * 0.0)
