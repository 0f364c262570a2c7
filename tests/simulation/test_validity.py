"""The validity study in short, and the checks that it stands on; `validity.py` is the long one."""

from typing import Any

import numpy as np
import pytest

import improvable
from improvable.question.claim import Claim
from simulation import levels, processes
from simulation.levels import ALPHA, Given, fast_assessment, fast_audit, p_values, selected_of
from simulation.processes import PROCESSES, Process, by_name

REPETITIONS = 200
ERRORS = 3.5
MARGIN = ERRORS * (ALPHA * (1 - ALPHA) / REPETITIONS) ** 0.5


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_the_null_holds_with_equality_and_the_alternative_is_an_improvement(process: Process) -> None:
    slack = {}
    for kind, truth in (("null", process.null), ("alternative", process.alternative)):
        before, after = np.array([one.utility for one in truth.values()]).T
        gap = np.ptp(after) - (1 - process.delta_fairness) * np.ptp(before)
        slack[kind] = min(float((after - before).min()), -float(gap))
    assert slack["null"] == pytest.approx(0, abs=1e-12)
    assert slack["alternative"] > 0


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_drawn_rows_have_the_utilities_of_the_population(process: Process) -> None:
    frame = process.draw(np.random.default_rng(1), 200_000, process.null)
    status_quo, candidate = process.algorithms()
    with levels.quiet():
        result = improvable.compare(
            frame, outcome="outcome", group="group", status_quo=status_quo, candidate=candidate, draws=100, n_jobs=1,
            **process.options(),
        )  # fmt: skip
    values, drawn = result.evidence.values[0][:, 0], result.evidence.drawn[0][:, :, 0]
    truth = np.array([process.null[group].utility for group in result.groups])
    assert (np.abs(values - truth) < 5 * drawn.std(axis=0)).all()


def test_rows_of_the_application_have_the_gap_asked_for() -> None:
    truth = processes.application(0.64)
    sample = levels.draw_selected(np.random.default_rng(2), 20_000_000, truth)
    sums = np.zeros((2, 4))
    np.add.at(sums, sample.group, sample.vectors())
    black, white = sums[:, [0, 2]] / sums[:, [1, 3]]
    assert black - white == pytest.approx([1.41, 0.36 * 1.41], abs=0.05)
    per_split = sums[:, [1, 3]] * 24_392 / 20_000_000
    assert per_split == pytest.approx(np.array([[147, 211], [586, 523]]), rel=0.02)


def test_one_comparison_has_the_p_values_of_both_gap_statistics() -> None:
    process = by_name("gap turned round")
    frame = process.draw(np.random.default_rng(3), 600, process.alternative)
    common: dict[str, Any] = {"outcome": "outcome", "group": "group", "status_quo": "now", "candidate": "new"}
    by_gap = {gap: improvable.compare(frame, **common, gap=gap, draws=300) for gap in ("signed", "absolute")}
    for result in by_gap.values():
        assert p_values(result.assessment) == {gap: one.p_value for gap, one in by_gap.items()}


@pytest.mark.parametrize("name", ["gap", "nearly fair", "three groups, gap"])
def test_the_fast_path_equals_compare(name: str) -> None:
    process = by_name(name)
    frame = process.draw(np.random.default_rng(4), 800, process.null)
    slow = improvable.compare(
        frame, outcome="outcome", group="group", status_quo="now", candidate="new", draws=300, seed=5,
        delta_fairness=process.delta_fairness,
    )  # fmt: skip
    sample = selected_of(frame, slow.groups)
    claim = Claim(delta_fairness=process.delta_fairness)
    fast = fast_assessment(sample, None, claim, np.random.SeedSequence(5), 300)
    assert p_values(fast) == p_values(slow.assessment)
    assert fast.p_accuracy == slow.assessment.p_accuracy


def test_the_fast_path_equals_audit() -> None:
    process = by_name("gap")
    frame = process.draw(np.random.default_rng(6), 1_200, process.null).with_row_index("row")
    slow = improvable.audit(
        frame, outcome="outcome", group="group", status_quo="now", rule=Given("new"), features=["filler"], splits=5,
        draws=200, seed=7, delta_fairness=0.2, progress=False, row_id="row",
    )  # fmt: skip
    fast = fast_audit(selected_of(frame, slow.groups), Claim(delta_fairness=0.2), 7, 5, 200)
    assert [p_values(split) for split in fast] == [p_values(split.assessment) for split in slow.splits]


def test_a_sequential_audit_tells_what_the_other_ways_of_combining_decide() -> None:
    scene, seen = processes.IMPROVABLE, set()
    for seed in range(4):
        whole = levels.rule_once(scene, "linear", 500, (8, seed), 100)
        found = levels.audit_rejections(whole, 7)
        seen.add(len(whole.splits))
        assert found["sequential"] == whole.reject
        other = levels.rule_once(scene, "linear", 500, (8, seed), 100, combine="median")
        assert found["median"] == other.reject
        absolute = levels.rule_once(scene, "linear", 500, (8, seed), 100, combine="median", gap="absolute")
        assert found["absolute, median"] == absolute.reject
    assert max(seen) > 7


@pytest.mark.paper("Theorem 1")
@pytest.mark.parametrize(
    "name", ["gap turned round", "near-identical", "tiny group, accuracy", "tiny group, gap", "heavy ties"]
)
def test_the_level_of_compare(name: str) -> None:
    process = by_name(name)
    assert levels.compare_levels(process, process.null, REPETITIONS, 21)["signed"].share <= ALPHA + MARGIN


def test_a_claim_of_near_fairness_is_false_too_often_by_the_absolute_statistic_and_not_by_the_signed_one() -> None:
    process = by_name("nearly fair")
    level = levels.compare_levels(process, process.null, REPETITIONS, 22)
    assert level["signed"].share <= ALPHA + MARGIN
    assert level["absolute"].share > ALPHA + MARGIN


def test_the_level_of_both_gap_statistics_at_the_size_of_the_application() -> None:
    one, turned = (levels.gap_levels_of_compare(0.8, way, REPETITIONS, 23).gap_alone for way in (False, True))
    for level in (one, turned):
        assert level["signed"].share <= ALPHA + MARGIN
        assert level["absolute"].share > ALPHA + MARGIN


def test_the_level_of_the_signed_statistic_in_an_audit_of_the_application() -> None:
    level = levels.gap_levels_of_audit(0.64, False, 60, 24)
    assert not level.gap_alone["signed"].exceeds(ALPHA, ERRORS)


@pytest.mark.paper("Corollary 1")
@pytest.mark.parametrize("rule", ["ridge:10", "linear_search:fairest"])
def test_the_level_of_audit_where_every_candidate_ties_for_one_group(rule: str) -> None:
    found = levels.rule_levels(processes.TIED, rule, 300, 15, 25, draws=200, splits=3, most_splits=5)
    for way, level in found.items():
        assert not level.exceeds(ALPHA, ERRORS), way


@pytest.mark.parametrize("rule", ["linear", "logistic", "forest:5"])
def test_no_rule_improves_on_the_best_decision_there_is(rule: str) -> None:
    level = levels.rule_levels(processes.OPTIMAL, rule, 400, 8, 26, draws=200)
    assert level["median"].share == 0


@pytest.mark.paper("Theorem 2")
def test_power_where_an_improvement_exists() -> None:
    level = levels.rule_levels(processes.IMPROVABLE, "linear", 1_500, 8, 27, draws=200)
    assert level["median"].share > 0.5
