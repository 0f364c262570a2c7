"""The mixed-integer programs against brute force, and what they say where nothing is
proven.
"""

from dataclasses import replace

import numpy as np
import pytest

from improvable._typing import FloatArray
from improvable.algorithms.rules.linear.milp import Solution, solve
from improvable.algorithms.rules.linear.problem import LinearProblem, evaluate
from improvable.algorithms.rules.linear.rule import find_start
from improvable.errors import OptionError, RuleError
from improvable.question.claim import Claim
from linear_oracle import (
    KINDS,
    brute_force,
    instance,
    naive,
    random_claim,
    turned,
)

START = np.array([0.1, 1.0, 0.8])
START_OF_FIVE = np.ones(5)
NODES = 100_000
SEED = np.random.SeedSequence(1)
OBJECTIVES = ("fairest", "most_accurate:0", "most_accurate:1")


def mistakes(
    problem: LinearProblem,
    objective: str,
    solution: Solution,
    best: float | None = None,
) -> list[str]:
    """In what a solution differs from the best of every linear classifier there is."""
    best = brute_force(problem, objective) if best is None else best
    if np.isnan(best):
        return (
            []
            if (solution.status, solution.beta, solution.value)
            == ("infeasible", None, None)
            else ["infeasible"]
        )
    if solution.status != "optimal" or solution.beta is None:
        return ["not optimal"]
    claimed = naive(problem, problem.decide(solution.beta), objective)
    found = {
        "another value than brute force": solution.value
        != pytest.approx(best, abs=1e-6),
        "another value than its own classifier": solution.value
        != pytest.approx(claimed, abs=1e-12),
        "not normalised": not 0.5 <= np.abs(solution.beta).max() <= 1,
    }
    return [name for name, wrong in found.items() if wrong]


def solved(
    problem: LinearProblem, objective: str, start: FloatArray | None = None
) -> Solution:
    return solve(replace(problem, objective=objective), NODES, start)


@pytest.mark.paper("Section F.1", "Proposition F.1")
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS[1:2], KINDS[:2], KINDS[2:]])
def test_programs_agree_with_brute_force(
    kinds: tuple[str, ...], objective: str
) -> None:
    for seed in range(2):
        problem = instance(14, seed, kinds)
        assert mistakes(problem, objective, solved(problem, objective)) == []


@pytest.mark.paper("Proposition F.1")
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_with_a_capacity_too(objective: str) -> None:
    """The program P' with the capacity has the optimal value of P."""
    for seed in range(3):
        problem = replace(instance(16, seed, KINDS[1:2]), capacity=0.4)
        assert mistakes(problem, objective, solved(problem, objective)) == []


@pytest.mark.parametrize("objective", ["fairest", "most_accurate:2"])
@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS[1:2]])
def test_three_groups(kinds: tuple[str, ...], objective: str) -> None:
    problem = instance(15, 3, kinds, groups=3)
    assert mistakes(problem, objective, solved(problem, objective)) == []


@pytest.mark.paper("Appendix F")
@pytest.mark.parametrize("objective", ["fairest", "most_accurate:0"])
def test_signs_selection_gap_and_iota_are_kept(objective: str) -> None:
    for kinds in (KINDS[:1], KINDS[1:2]):
        problem = replace(
            instance(14, 5, kinds),
            signs=np.array([0, 1, -1]),
            selection_gap=0.3,
            iota=0.02,
        )
        solution = solved(problem, objective)
        assert mistakes(problem, objective, solution) == []
        if solution.beta is not None:
            assert solution.beta[1] >= 0
            assert solution.beta[2] <= 0


def test_rows_of_equal_features_share_a_decision_whatever_their_outcome() -> None:
    problem = instance(60, 8)
    cells = np.random.default_rng(1).standard_normal((9, 2))
    features = np.column_stack([np.ones(60), cells[np.arange(60) % 9]])
    problem = replace(problem, features=features, count=np.tile([1.0, 2.0, 3.0], 20))
    problem = replace(problem, status_quo_rows=problem.status_quo_rows * [0.8, 1.0])
    assert mistakes(problem, "fairest", solved(problem, "fairest")) == []


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_warm_start_changes_neither_value_nor_proof(objective: str) -> None:
    for kinds in (KINDS[:1], KINDS[1:2]):
        problem = instance(14, 4, kinds)
        start = find_start(replace(problem, objective=objective), SEED)
        assert mistakes(problem, objective, solved(problem, objective, start)) == []


def test_infeasible_is_said_plainly() -> None:
    solution = solve(replace(instance(30, 1), iota=0.9), NODES, START)
    assert (solution.status, solution.beta, solution.value, solution.gap) == (
        "infeasible",
        None,
        None,
        None,
    )


def test_out_of_nodes_is_never_optimal_and_keeps_the_start() -> None:
    problem = replace(instance(200, 1, d=4), objective="most_accurate:0")
    start = find_start(problem, SEED)
    assert start is not None
    lines: list[tuple[int, float, float]] = []
    warm = solve(problem, 5, start, lambda *line: lines.append(line))
    assert warm.status == "node_limit"
    assert warm.value is not None
    assert warm.value >= evaluate(problem, start).value
    assert warm.bound is not None
    assert warm.gap is not None
    assert warm.bound >= warm.value
    assert warm.gap == pytest.approx(warm.bound - warm.value)
    assert lines
    assert lines[-1][1] == pytest.approx(warm.value)


def test_the_same_program_gives_the_same_classifier_to_the_last_bit() -> None:
    problem = instance(100, 1, d=3)
    one, other = (
        solve(replace(problem, objective="most_accurate:0"), 40) for _ in range(2)
    )
    assert one.beta is not None
    assert other.beta is not None
    assert one.beta.tobytes() == other.beta.tobytes()
    assert (one.status, one.value, one.bound) == (
        other.status,
        other.value,
        other.bound,
    )


def test_out_of_time_is_an_error_and_not_a_result() -> None:
    with pytest.raises(
        RuleError, match=r"400 binaries did not end within 0 s.*nodes=50"
    ):
        solve(instance(400, 1, d=4), 100, START_OF_FIVE, time_limit=0.0)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    solve(instance(12, 1), 5, START)
    assert capfd.readouterr() == ("", "")


def test_too_large_says_how_large_and_what_to_use() -> None:
    with pytest.raises(OptionError, match=r"12,000 rows x 6,000 binaries.*'aim'"):
        solve(instance(6_000, 1), 1)


@pytest.mark.paper("Appendix F")
@pytest.mark.parametrize("kind", ["each", "population", "weighted", "protected"])
@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_programs_of_any_claim_agree_with_brute_force(form: str, kind: str) -> None:
    rng = np.random.default_rng([len(form), len(kind)])
    feasible = 0
    for seed in range(4):
        for kinds in (KINDS[:1], KINDS[1:2]):
            claim = random_claim(rng, form, kind)
            problem = replace(
                instance(12, seed, kinds),
                claim=claim,
                iota=float(rng.uniform(-0.02, 0.05)),
            )
            problem = turned(problem) if seed % 2 and kind == "protected" else problem
            for objective in ("fairest", "most_accurate:0"):
                best = brute_force(problem, objective)
                found = mistakes(problem, objective, solved(problem, objective), best)
                assert found == [], (seed, kinds, objective, claim)
                feasible += not np.isnan(best)
    assert feasible >= 4


@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_programs_with_several_utilities_agree_with_brute_force(form: str) -> None:
    rng = np.random.default_rng(len(form))
    feasible = 0
    for seed in range(3):
        labels = KINDS[:2]
        problem = replace(instance(12, seed, labels), accuracy=(0, 1))
        claim = random_claim(rng, form, "each")
        problem = replace(problem, claim=claim, iota=-0.02)
        for objective in ("fairest", "most_accurate:1"):
            best = brute_force(problem, objective)
            assert (
                mistakes(problem, objective, solved(problem, objective), best) == []
            ), (seed, objective)
            feasible += not np.isnan(best)
    assert feasible >= 1


def test_with_several_utilities_every_gap_meets_the_claim() -> None:
    for seed in range(3):
        claim = Claim(delta_accuracy=-0.3, delta_fairness=0.2)
        problem = replace(instance(13, seed, KINDS[:2]), claim=claim)
        for objective in OBJECTIVES:
            assert mistakes(problem, objective, solved(problem, objective)) == []
