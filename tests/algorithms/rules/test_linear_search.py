"""The search: each line search is exact, what is found is what it claims, and constraints are kept."""

from dataclasses import replace

import numpy as np
import pytest

from improvable._typing import FloatArray
from improvable.algorithms.rules.linear.problem import Evaluation, LinearProblem, evaluate, merge_rows
from improvable.algorithms.rules.linear.search import Merit, Rows, line_search, search
from improvable.errors import OptionError
from linear_oracle import KINDS, brute_force, instance, naive, random_claim, random_deltas

SEED = np.random.SeedSequence(7)


def find(problem: LinearProblem, objective: str = "fairest", restarts: int = 5) -> Evaluation:
    start = np.linalg.lstsq(problem.features, problem.gain[:, 0, 0], rcond=None)[0]
    return search(replace(problem, objective=objective), start.astype(np.float64), SEED, restarts)


def best_by_grid(problem: LinearProblem, objective: str, beta: FloatArray, k: int) -> Merit:
    """The best merit over one coefficient: a dense grid and a point between any two flips."""
    rows = Rows(replace(problem, objective=objective))
    rest = problem.features @ beta - problem.features[:, k] * beta[k]
    flips = np.sort(-rest / problem.features[:, k])
    points = [*np.linspace(-50, 50, 500), *((flips[1:] + flips[:-1]) / 2), flips[0] - 1, flips[-1] + 1]
    merits = [rows.merit_of(rest + problem.features[:, k] * b >= 0) for b in points]
    return min(merits, key=lambda merit: (round(merit.violation, 10), merit.loss))


@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS[1:2], KINDS])
@pytest.mark.parametrize("objective", ["fairest", "most_accurate:1", "balanced"])
def test_a_line_search_is_the_best_of_its_line(kinds: tuple[str, ...], objective: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(3):
        beta = rng.uniform(-1, 1, 4)
        problem = replace(instance(60, seed, kinds, d=3).scaled_at(beta), selection_gap=0.4)
        rows = Rows(replace(problem, objective=objective))
        score = problem.features @ beta
        for k in range(4):
            step = line_search(rows, score, rows.columns[k], (-1e6, 1e6))
            assert step is not None
            best = best_by_grid(problem, objective, beta, k)
            assert step.merit.violation == pytest.approx(best.violation, abs=1e-9)
            assert step.merit.loss == pytest.approx(best.loss, abs=1e-9)
            moved = beta + step.length * np.eye(4)[k]
            reached = rows.merit_of(problem.decide(moved))
            assert reached.loss == pytest.approx(step.merit.loss, abs=1e-9)
            assert reached.violation == pytest.approx(step.merit.violation, abs=1e-9)


def honest_search(problem: LinearProblem, objective: str, restarts: int) -> tuple[bool, bool]:
    """Whether there is anything to find, and whether the best was found; what was found is what it claims to be."""
    found, best = find(problem, objective, restarts), brute_force(problem, objective)
    claimed = naive(problem, found.decisions, objective)
    assert found.feasible == (not np.isnan(claimed))
    if not found.feasible:
        return not np.isnan(best), False
    assert found.value == pytest.approx(claimed, abs=1e-12)
    worse = found.value - best if objective == "fairest" else best - found.value
    assert worse > -1e-9
    return not np.isnan(best), bool(worse < 1e-9)


@pytest.mark.paper("Appendix F")
@pytest.mark.parametrize("capacity", [None, 0.4])
@pytest.mark.parametrize("objective", ["fairest", "most_accurate:0", "balanced"])
def test_found_is_what_it_claims_and_never_better_than_brute_force(capacity: float | None, objective: str) -> None:
    reached = 0
    for seed in range(3):
        problem = instance(16, seed, KINDS[:2])
        problem = replace(problem.scaled_at(np.array([0.0, 1.0, 1.0])), capacity=capacity)
        reached += honest_search(problem, objective, restarts=20)[1]
    assert reached >= 2


@pytest.mark.parametrize("kind", ["each", "population", "weighted", "protected"])
@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_with_any_claim_too(form: str, kind: str) -> None:
    rng = np.random.default_rng([len(form), len(kind)])
    reached, possible = 0, 0
    for seed in range(4):
        problem = replace(instance(16, seed, KINDS[:2]), claim=random_claim(rng, form, kind), iota=0.01)
        problem = replace(problem, lower_is_better=(1,)).scaled_at(np.array([0.0, 1.0, 1.0]))
        for objective in ("fairest", "most_accurate:0", "balanced"):
            exists, best = honest_search(problem, objective, restarts=10)
            possible += exists
            reached += best
    assert reached >= 0.8 * possible > 3


@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_with_deltas_of_each_utility_too(form: str) -> None:
    rng = np.random.default_rng(len(form))
    reached, possible = 0, 0
    for seed in range(5):
        labels = KINDS[:2]
        problem = replace(instance(16, seed, labels), accuracy=(0, 1), labels=labels)
        problem = replace(problem, claim=random_deltas(rng, form, labels), iota=-0.02)
        problem = problem.scaled_at(np.array([0.0, 1.0, 1.0]))
        for objective in ("fairest", "balanced"):
            exists, best = honest_search(problem, objective, restarts=10)
            possible += exists
            reached += best
    assert reached >= 0.8 * possible > 3


def test_the_start_is_never_made_worse() -> None:
    for seed in range(5):
        problem = instance(100, seed, d=4)
        start = np.random.default_rng(seed).standard_normal(5)
        before = evaluate(problem, start / np.abs(start).max())
        after = search(problem, start, SEED, 0)
        assert after.violation <= before.violation
        assert after.violation < before.violation or after.value <= before.value


def test_same_seed_same_result() -> None:
    problem = replace(instance(200, 1, KINDS[1:2], d=4), capacity=0.2)
    one, other = find(problem), find(problem)
    assert (one.beta == other.beta).all()
    assert one.value == other.value


def test_constraints_are_kept() -> None:
    problem = replace(
        instance(300, 2, d=4), signs=np.array([0, 1, -1, 1, 0]), selection_gap=0.1, iota=0.01, capacity=0.4
    )
    found = find(problem, restarts=20)
    assert found.feasible
    assert found.beta[1] >= 0
    assert found.beta[2] <= 0
    assert found.beta[3] >= 0
    assert np.ptp([found.decisions[problem.group == g].mean() for g in (0, 1)]) <= 0.1 + 1e-9
    assert found.decisions.sum() == 120
    assert (found.utilities >= problem.status_quo + 0.01 - 1e-9).all()
    assert np.abs(found.beta).max() <= 1


@pytest.mark.parametrize("objective", ["fairest", "most_accurate:0"])
def test_capacity_with_weights_and_ties_is_never_exceeded(objective: str) -> None:
    problem = instance(400, 3, KINDS[1:2])
    rng = np.random.default_rng(0)
    tied = np.column_stack([np.ones(400), rng.integers(-3, 4, (400, 2))]).astype(float)
    merged = merge_rows(replace(problem, features=tied, capacity=0.2))
    weighted = replace(problem, count=rng.uniform(0.5, 3, 400), capacity=0.2)
    for each in (merged, weighted):
        found = find(each, objective)
        assert each.capacity_range is not None
        assert each.capacity_range[0] - 1e-9 <= each.count[found.decisions].sum() <= each.capacity_range[1]
        assert found.feasible


def test_where_nothing_is_feasible_it_says_so() -> None:
    assert not find(replace(instance(60, 1), iota=0.9)).feasible


def test_a_start_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(OptionError, match="start of a search"):
        search(instance(20, 1), np.ones(2), SEED, 0)


def test_a_start_of_zeros_still_moves() -> None:
    assert search(instance(100, 1), np.zeros(3), SEED, 5).feasible
