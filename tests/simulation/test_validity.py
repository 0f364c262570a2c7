"""The validity study in short, and the checks that it stands on; `benchmarks/validity`
has the long one.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import improvable
from flat import flat_audit, flat_compare
from improvable.question.claim import Claim
from validity import hard, levels, processes, run_study
from validity.learning_study import CODE, NAMED
from validity.levels import Given, fast_assessment, fast_audit, p_values, selected_of
from validity.page_parts import WAYS
from validity.processes import PROCESSES, Process, by_name
from validity.schemes import SCHEMES
from validity.study import ALPHA, Unit, found_of, path_of, quiet, repeat, run

SAMPLES = 80
ERRORS = 3.5
MARGIN = ERRORS * (ALPHA * (1 - ALPHA) / SAMPLES) ** 0.5


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_the_null_holds_with_equality_and_the_alternative_is_an_improvement(
    process: Process,
) -> None:
    slack = {}
    for kind, truth in (("null", process.null), ("alternative", process.alternative)):
        before, after = np.array([*process.reached(truth).values()]).T
        gap = np.ptp(after) - (1 - process.delta_fairness) * np.ptp(before)
        slack[kind] = min(float((after - before).min()), -float(gap))
    assert slack["null"] == pytest.approx(0, abs=1e-12)
    assert slack["alternative"] > 0


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_drawn_rows_have_the_utilities_of_the_population(process: Process) -> None:
    frame = process.draw(np.random.default_rng(1), 200_000, process.null)
    status_quo, candidate = process.algorithms()
    with quiet():
        result = flat_compare(
            frame,
            outcome="outcome",
            group="group",
            status_quo=status_quo,
            candidate=candidate,
            draws=100,
            n_jobs=1,
            direction="as stated",
            **process.options(),
        )
    values, drawn = result.evidence.values[0][:, 0], result.evidence.drawn[0][:, :, 0]
    truth = np.array([process.reached(process.null)[group] for group in result.groups])
    assert (np.abs(values - truth) < 5 * drawn.std(axis=0)).all()


def test_rows_of_the_application_have_the_gap_asked_for() -> None:
    truth = processes.application(0.64)
    sample = levels.draw_selected(np.random.default_rng(2), 20_000_000, truth)
    sums = np.zeros((2, 4))
    np.add.at(sums, sample.group, sample.vectors())
    black, white = sums[:, [0, 2]] / sums[:, [1, 3]]
    assert black - white == pytest.approx([1.41, 0.36 * 1.41], abs=0.05)
    per_repetition = sums[:, [1, 3]] * 24_392 / 20_000_000
    assert per_repetition == pytest.approx(np.array([[147, 211], [586, 523]]), rel=0.02)


def test_one_comparison_has_the_p_values_of_both_gap_statistics() -> None:
    process = by_name("gap turned round")
    frame = process.draw(np.random.default_rng(3), 600, process.alternative)
    common: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
    }
    by_gap = {
        gap: flat_compare(frame, **common, gap=gap, draws=300)
        for gap in ("signed", "absolute")
    }
    for result in by_gap.values():
        assert p_values(result.assessment) == {
            gap: one.p_value for gap, one in by_gap.items()
        }


@pytest.mark.parametrize("name", ["gap", "nearly fair", "three groups, gap"])
def test_the_fast_path_equals_compare(name: str) -> None:
    process = by_name(name)
    frame = process.draw(np.random.default_rng(4), 800, process.null)
    slow = improvable.compare(
        frame,
        outcome="outcome",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=300),
        seed=5,
        claim=improvable.Claim(delta_fairness=process.delta_fairness),
    )
    sample = selected_of(frame, slow.groups)
    claim = Claim(delta_fairness=process.delta_fairness)
    fast = fast_assessment(sample, None, claim, np.random.SeedSequence(5), 300)
    assert p_values(fast) == p_values(slow.assessment)
    assert fast.p_accuracy == slow.assessment.p_accuracy


def test_the_fast_path_equals_audit_of_a_fixed_candidate() -> None:
    process = by_name("gap")
    frame = process.draw(np.random.default_rng(6), 2_400, process.null).with_row_index(
        "row"
    )
    slow = flat_audit(
        frame,
        outcome="outcome",
        group="group",
        status_quo="now",
        rule=Given("new"),
        features=["new"],
        repetitions=5,
        draws=200,
        seed=7,
        delta_fairness=0.2,
        row_id="row",
        scheme="split",
    )
    fast = fast_audit(
        selected_of(frame, slow.groups), Claim(delta_fairness=0.2), 7, 5, 200
    )
    assert not any(repetition.counts["corrections"] for repetition in slow.repetitions)
    assert [p_values(repetition) for repetition in fast] == [
        p_values(repetition.assessment) for repetition in slow.repetitions
    ]


def test_both_schemes_are_those_of_audits() -> None:
    found = levels.rule_found(processes.IMPROVABLE, "linear", 500, (8, 0), 100)
    for scheme in SCHEMES:
        result = levels.rule_once(
            processes.IMPROVABLE, "linear", 500, (8, 0), 100, scheme=scheme
        )
        alone = levels.rule_once(
            processes.IMPROVABLE,
            "linear",
            500,
            (8, 0),
            100,
            scheme=scheme,
            repetitions=1,
        )
        assert (found[scheme] < result.level) == result.reject
        assert found[scheme] == result.p_value
        assert alone.p_value == result.repetitions[0].p_value
        assert alone.level == ALPHA
    result = levels.rule_once(
        processes.IMPROVABLE, "linear", 500, (8, 0), 100, gap="absolute"
    )
    assert found["absolute"] == result.p_value


def test_a_study_continues_where_it_stopped(tmp_path: Path) -> None:
    seen: list[int] = []

    def once(i: int) -> dict[str, float]:
        seen.append(i)
        return {"p": i / 10, **({"caution: odd": 1.0} if i % 2 else {})}

    unit = Unit("some/thing", once, 10)
    run(tmp_path, [unit], 0.4)
    run(tmp_path, [unit], 1.0)
    found = found_of(tmp_path, unit)
    assert seen == list(range(10))
    assert found.below("p", 0.5).share == 0.5
    assert found.kinds("caution: ") == {"odd": 0.5}


def test_the_page_is_written_from_what_is_kept(tmp_path: Path) -> None:
    """Every sentence and table, from made-up samples."""
    rng = np.random.default_rng(10)
    ways = ["signed", "absolute", "plain", "mended", "alone", "whole", "differs"]
    ways += [f"{scheme}{one}" for scheme in SCHEMES for one in ("", ", one")]
    more = (
        "signed alone",
        "absolute alone",
        "signed whole",
        "absolute whole",
        "centered",
        "studentized",
        "each",
        "all",
    )
    for unit in (one for units in run_study.STUDIES.values() for one in units):
        made = {name: rng.random(50).tolist() for name in (*ways, *more)}
        path_of(tmp_path, unit).write_text(
            json.dumps({"samples": 50, "seconds": 1.0, "values": made})
        )
    page = tmp_path / "evidence" / "page.md"
    page.parent.mkdir()
    run_study.main(["--page", "--kept", str(tmp_path), "--out", str(page)])
    text = page.read_text()
    cases: list[Any] = [*PROCESSES, *hard.HARD, *CODE, *NAMED]
    names = [one.name for one in cases]
    assert [name for name in names if f"| {name} |" not in text] == []
    assert (tmp_path / "pictures" / run_study.PICTURE).read_text().count(
        "<circle"
    ) == 100


def test_a_section_that_was_not_run_stays_as_it_is(tmp_path: Path) -> None:
    """With what the head of the page says of it."""
    point = "- Few rows break it; [below](#ties-and-so-on) says how."
    section = (
        "## Where a plain bootstrap breaks\n\nIt was 0.123.\n\n### Ties, and so on\n\n"
        "They break it."
    )
    gone = "## Another\n\nOf no study."
    out = tmp_path / "page.md"
    out.write_text(
        "# Title\n\n## What it says\n\n- Something "
        f"else.\n{point}\n\n{section}\n\n{gone}\n"
    )
    (unit,) = [one for one in run_study.STUDIES["tiny"] if one.name == "tiny gap/15"]
    for one in run_study.STUDIES["tiny"]:
        made = {"alone": [0.01] * 30, "whole": [0.2] * 30}
        path_of(tmp_path, one).write_text(
            json.dumps({"samples": 30, "seconds": 1.0, "values": made})
        )
    run_study.main(["--page", "--kept", str(tmp_path), "--out", str(out)])
    text = out.read_text()
    assert section in text
    assert point in text
    assert f"{unit.name.replace('/', ' with about ')} selected" in text
    assert not any(
        words in text
        for words in ("Something else", "Of no study", "## One comparison")
    )
    run_study.main(["--page", "--kept", str(tmp_path), "--out", str(out)])
    assert out.read_text() == text


@pytest.mark.paper("Theorem 1")
@pytest.mark.parametrize(
    "name",
    [
        "gap turned round",
        "near-identical",
        "tiny group, accuracy",
        "tiny group, gap",
        "heavy ties",
    ],
)
def test_the_level_of_compare(name: str) -> None:
    process = by_name(name)
    found = repeat(
        lambda i: levels.compare_found(process, process.null, (21, i)), SAMPLES
    )
    assert found.below("signed", ALPHA).share <= ALPHA + MARGIN


def test_a_claim_of_near_fairness_is_false_too_often_by_the_absolute_statistic_and_not_by_the_signed_one() -> (  # noqa: E501
    None
):
    process = by_name("nearly fair")
    found = repeat(
        lambda i: levels.compare_found(process, process.null, (22, i)), SAMPLES
    )
    assert found.below("signed", ALPHA).share <= ALPHA + MARGIN
    assert found.below("absolute", ALPHA).share > ALPHA + MARGIN


@pytest.mark.parametrize("turned", [False, True])
def test_the_level_of_both_gap_statistics_at_the_size_of_the_application(
    turned: bool,
) -> None:
    found = repeat(lambda i: levels.gap_found(0.8, turned, (23, i)), SAMPLES)
    assert found.below("signed alone", ALPHA).share <= ALPHA + MARGIN
    assert found.below("absolute alone", ALPHA).share > ALPHA + MARGIN


def test_the_level_of_the_signed_statistic_in_an_audit_of_the_application() -> None:
    found = repeat(lambda i: levels.gap_found(0.64, False, (24, i), 7), 60)
    assert not found.below("signed alone", ALPHA / 2).exceeds(ALPHA, ERRORS)


@pytest.mark.paper("Corollary 1")
@pytest.mark.parametrize("rule", ["ridge:10", "aim"])
def test_the_level_of_audit_where_every_candidate_ties_for_one_group(rule: str) -> None:
    found = repeat(
        lambda i: levels.rule_found(
            processes.TIED, rule, 300, (25, i), 200, repetitions=3
        ),
        4,
    )
    for way, level in WAYS.items():
        assert not level(found).exceeds(ALPHA, ERRORS), way


@pytest.mark.parametrize("rule", ["linear", "logistic", "forest:5"])
def test_no_rule_improves_on_the_best_decision_there_is(rule: str) -> None:
    found = repeat(
        lambda i: levels.rule_found(processes.OPTIMAL, rule, 400, (26, i), 200), 6
    )
    for scheme in SCHEMES:
        assert found.below(scheme, ALPHA / 2).share == 0


@pytest.mark.paper("Theorem 2")
def test_power_where_an_improvement_exists() -> None:
    found = repeat(
        lambda i: levels.rule_found(
            processes.IMPROVABLE, "linear", 1_500, (27, i), 200
        ),
        8,
    )
    assert found.below("split", ALPHA / 2).share > 0.5
    assert (
        found.below("forward", ALPHA / 2).share >= found.below("split", ALPHA / 2).share
    )
