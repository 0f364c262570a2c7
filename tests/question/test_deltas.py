"""Deltas of accuracy, one or one for each group: what may be written, what is refused,
and that every condition is tested with its own.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import improvable
from conftest import Case
from flat import flat_compare
from improvable.cli import app
from improvable.question.claim import check_delta, every_delta, make_claim
from improvable.question.options import parse_delta
from improvable.question.protocol import declare, from_declaration
from improvable.question.settings import Settings

ACCURACY = ["calibration", "classification_rate"]
EACH = {"a": 0.03, "b": -0.02}


def compared(**options: Any) -> improvable.Comparison:
    asked = {
        "outcome": "binary",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "draws": 800,
        **options,
    }
    return flat_compare(Case(seed=3, rows=600).frame(), **asked)


def naive_p(component: Any, drawn: Any, delta: float, form: str) -> float:
    """One accuracy condition from its draws, by the definition."""
    before, after = component.status_quo, component.candidate
    share, amount = (1 + delta, 0.0) if form == "ratio" else (1.0, delta)
    statistic = after - share * before - amount
    return float(
        np.mean((drawn[:, 1] - share * drawn[:, 0] - amount) - statistic >= statistic)
    )


@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_every_condition_is_tested_with_its_own_delta(form: str) -> None:
    result = compared(accuracy=ACCURACY, delta_accuracy=EACH, form=form)
    evidence = result.evidence
    labels = [measure.label for measure in evidence.measures]
    for component in result.assessment.of("accuracy"):
        drawn = evidence.drawn[0][
            :, "ab".index(component.group), labels.index(component.measure)
        ]
        assert component.tail.p_value == pytest.approx(
            naive_p(component, drawn, EACH[component.group], form), abs=1e-9
        )


def test_a_table_of_equal_deltas_is_one_delta() -> None:
    single = compared(accuracy=ACCURACY, delta_accuracy=0.02)
    table = compared(accuracy=ACCURACY, delta_accuracy={"a": 0.02, "b": 0.02})
    assert single.p_value == table.p_value
    assert single.facts["repetitions"] == table.facts["repetitions"]
    assert single.frontier().to_dict() == table.frontier().to_dict()
    assert single.facts["shortfall"] == table.facts["shortfall"]
    assert single.alternative_hypothesis == table.alternative_hypothesis


def test_verdict_tables_and_report_name_each_delta(tmp_path: Path) -> None:
    result = compared(accuracy=ACCURACY, delta_accuracy=EACH, delta_fairness=0.2)
    assert (
        "is more accurate by over 3% for a and no worse by more than 2% of accuracy "
        "for b and has a gap between groups smaller by over 20% than the status quo."
    ) in result.alternative_hypothesis
    assert result.to_dict()["delta_accuracy"] == EACH
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "accuracy higher by more than a 3%, b -2%; gap smaller by more than" in page
    result.save(tmp_path / "saved")
    assert improvable.load(tmp_path / "saved").to_dict() == result.to_dict()


def test_everyone_has_one_delta() -> None:
    words = compared(overall="population", delta_accuracy=0.05).alternative_hypothesis
    assert "more accurate by over 5% overall and has" in words
    with pytest.raises(
        improvable.OptionError, match="overall accuracy takes no deltas of groups"
    ):
        compared(overall="population", delta_accuracy=EACH)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta_accuracy": {"a": "x"}}, "`delta_accuracy` is x"),
        ({"delta_accuracy": {"calibration": {"a": 0.1}}}, "It must be a number"),
        ({"delta_fairness": {"calibration": 0.1}}, "It must be a number"),
    ],
)
def test_what_is_no_number_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        make_claim(**changes)


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        ({"a": 0.1}, "nothing for group 'b'"),
        ({"a": 0.1, "b": 0, "c": 0}, "'c', which is not a group"),
        ({"calibration": 0.1}, "'calibration', which is not a group"),
    ],
)
def test_groups_that_are_not_there_are_named(
    delta: dict[str, Any], message: str
) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        compared(accuracy=ACCURACY, delta_accuracy=delta)


def test_one_line_and_tables_say_the_same() -> None:
    assert check_delta(parse_delta("a:0.03,b:-0.02")) == EACH
    assert sorted(every_delta(EACH)) == [-0.02, 0.03]
    settings = Settings(outcome="y", group="g", status_quo="d", delta_accuracy=EACH)
    declared = declare(settings)
    assert declared is not None
    assert declared["claim"]["delta_accuracy"] == EACH
    assert declare(from_declaration(declared)) == declared


def test_the_command_line_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    Case(seed=3, rows=600).frame().write_csv(path)
    columns = ["--outcome", "binary", "--group", "group"]
    algorithms = ["--status-quo", "now", "--candidate", "new"]
    common = ["compare", str(path), *columns, *algorithms, "--draws", "800"]
    deltas = ["--delta-accuracy", "a:0.03,b:-0.02", "--delta-fairness", "0.2"]
    done = CliRunner().invoke(app, [*common, *deltas, "--json", "-"])
    assert done.exit_code == 0, done.output
    expected = compared(delta_accuracy=EACH, delta_fairness=0.2)
    assert f'"p_value": {expected.p_value}' in done.output
    wrong = CliRunner().invoke(app, [*common, "--delta-accuracy", "lift@a:0.1,b"])
    assert "Write 0.05, or white:0.02,black:0" in str(wrong.exception)
