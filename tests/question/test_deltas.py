"""Deltas of each utility: what may be written, what is refused, and that every
condition is tested with its own.
"""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import improvable
from conftest import Case
from flat import flat_compare
from improvable.cli import app
from improvable.question.claim import Claim, accuracy_delta, every_delta, make_claim
from improvable.question.options import parse_delta
from improvable.question.protocol import declare, from_declaration
from improvable.question.settings import Settings
from improvable.trust.seal import protocol_text

ACCURACY, FAIRNESS = (
    ["calibration", "classification_rate"],
    ["calibration", "selection_rate"],
)
EACH: dict[str, Any] = {
    "calibration": {"a": 0.03, "b": -0.02},
    "classification_rate": -0.01,
}
LINE = "calibration@a:0.03,calibration@b:-0.02,classification_rate:-0.01"
GAPS = {"calibration": 0.2, "selection_rate": -0.1}


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
    result = compared(
        accuracy=ACCURACY,
        fairness=FAIRNESS,
        delta_accuracy=EACH,
        delta_fairness=GAPS,
        form=form,
    )
    evidence = result.evidence
    labels = [measure.label for measure in evidence.measures]
    for component in result.assessment.of("accuracy"):
        asked = EACH[component.measure]
        delta = asked[component.group] if isinstance(asked, dict) else asked
        drawn = evidence.drawn[0][
            :, "ab".index(component.group), labels.index(component.measure)
        ]
        assert component.tail.p_value == pytest.approx(
            naive_p(component, drawn, delta, form), abs=1e-9
        )
    for component in result.assessment.of("fairness"):
        alone = result.with_claim(delta_fairness=GAPS[component.measure]).assessment.of(
            "fairness"
        )
        twin = next(one for one in alone if one.measure == component.measure)
        assert (component.tail, component.other) == (twin.tail, twin.other)


def test_a_table_of_equal_deltas_is_one_delta() -> None:
    one = compared(
        accuracy=ACCURACY, fairness=FAIRNESS, delta_accuracy=0.02, delta_fairness=0.1
    )
    many = compared(
        accuracy=ACCURACY,
        fairness=FAIRNESS,
        delta_accuracy={
            "calibration": {"a": 0.02, "b": 0.02},
            "classification_rate": 0.02,
        },
        delta_fairness=dict.fromkeys(FAIRNESS, 0.1),
    )
    assert one.p_value == many.p_value
    assert one.facts["repetitions"] == many.facts["repetitions"]
    assert one.frontier().to_dict() == many.frontier().to_dict()
    short = many.facts["shortfall"], one.facts["shortfall"]
    assert short[0] == short[1]


def test_verdict_tables_and_report_name_each_delta(tmp_path: Path) -> None:
    result = compared(
        accuracy=ACCURACY, fairness=FAIRNESS, delta_accuracy=EACH, delta_fairness=GAPS
    )
    words = result.alternative_hypothesis
    assert (
        "more accurate by over 3% for a and no worse by more than 2% of accuracy for b "
        "in calibration"
    ) in words
    assert (
        "no worse by more than 1% of accuracy for every group in "
        "classification_rate" in words
    )
    assert "has a gap between groups in calibration smaller by over 20%" in words
    assert (
        "and a gap between groups in selection_rate wider by no more than 10% than the "
        "status quo."
    ) in words
    assert result.to_dict()["delta_accuracy"] == EACH
    assert result.to_dict()["delta_fairness"] == GAPS
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert (
        "accuracy higher by more than calibration (a 3%, b -2%), classification_rate "
        "-1%"
    ) in page
    assert "gap smaller by more than calibration 20%, selection_rate -10%" in page
    result.save(tmp_path / "saved")
    assert improvable.load(tmp_path / "saved").to_dict() == result.to_dict()


def test_everyone_may_have_a_delta_of_each_utility() -> None:
    result = compared(
        accuracy=ACCURACY,
        overall="population",
        delta_accuracy={"calibration": 0.05, "classification_rate": 0.0},
    )
    assert (
        "more accurate by over 5% overall in calibration, and more accurate overall in"
        in (result.alternative_hypothesis)
    )
    with pytest.raises(
        improvable.OptionError, match="overall accuracy takes no deltas of groups"
    ):
        compared(accuracy=ACCURACY, overall="population", delta_accuracy=EACH)


def claim(**changes: Any) -> Claim:
    whole = {
        "delta_accuracy": 0.0,
        "delta_fairness": 0.0,
        "form": "ratio",
        "gap": "signed",
        "protected": None,
        "overall": None,
        "accuracy": ACCURACY,
        "fairness": FAIRNESS,
    }
    return make_claim(**{**whole, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"delta_accuracy": {"calibration": 0.1}},
            "nothing for the utility 'classification_rate'",
        ),
        (
            {"delta_accuracy": {"calibration": 0.1, "a": 0.2}},
            "'a', which does not measure accuracy",
        ),
        (
            {"delta_accuracy": {"selection_rate": {"a": 0.1}}},
            "'selection_rate', which does not measure accuracy",
        ),
        (
            {"delta_accuracy": {"calibration": {"a": "x"}, "classification_rate": 0}},
            "`delta_accuracy` is x",
        ),
        (
            {"delta_fairness": {"calibration": 0.1}},
            "`delta_fairness` has nothing for the utility 'selection_rate'",
        ),
        (
            {"delta_fairness": {"a": 0.1, "b": 0.1}},
            "'a', which does not measure fairness",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        claim(**changes)


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        (
            {"calibration": {"a": 0.1}, "classification_rate": 0.0},
            "nothing for group 'b'",
        ),
        (
            {"calibration": {"a": 0.1, "b": 0, "c": 0}, "classification_rate": 0.0},
            "'c', which is not a group",
        ),
        ({"calibratio": 0.1, "classification_rat": 0.0}, "Did you mean 'calibration'"),
    ],
)
def test_groups_that_are_not_there_are_named(
    delta: dict[str, Any], message: str
) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        compared(accuracy=ACCURACY, delta_accuracy=delta)


def test_a_group_that_is_called_as_a_utility_is_refused() -> None:
    frame = Case(seed=3, rows=300).frame()
    frame = frame.with_columns(group=frame["group"].replace("a", "calibration"))
    with pytest.raises(improvable.OptionError, match="a group and a utility"):
        improvable.compare(
            frame,
            outcome="binary",
            group="group",
            status_quo="now",
            candidate="new",
            claim=improvable.Claim(delta_accuracy={"calibration": 0}),
        )


def test_one_line_and_tables_say_the_same() -> None:
    assert accuracy_delta(parse_delta(LINE), ACCURACY) == EACH
    for wrong in ("lift@a:0.1,lift:0.2", "lift:0.2,lift@a:0.1", "lift@a"):
        with pytest.raises(ValueError, match=r"whole|value"):
            parse_delta(wrong + ",b:0")
    assert sorted(every_delta(EACH)) == [-0.02, -0.01, 0.03]
    settings = Settings(
        outcome="y",
        group="g",
        status_quo="d",
        accuracy=ACCURACY,
        fairness=FAIRNESS,
        delta_accuracy=EACH,
        delta_fairness=GAPS,
    )
    declared = declare(settings)
    assert declared is not None
    assert declared["claim"]["delta_accuracy"] == EACH
    assert declare(from_declaration(declared)) == declared
    written = tomllib.loads(protocol_text(declared, "p.toml"))
    assert declare(from_declaration(written)) == declared


def test_the_command_line_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    Case(seed=3, rows=600).frame().write_csv(path)
    arguments = [
        "compare",
        str(path),
        "--outcome",
        "binary",
        "--group",
        "group",
        "--status-quo",
        "now",
        "--candidate",
        "new",
        "--accuracy",
        ",".join(ACCURACY),
        "--fairness",
        ",".join(FAIRNESS),
        "--draws",
        "800",
        "--delta-accuracy",
        LINE,
        "--delta-fairness",
        "calibration:0.2,selection_rate:-0.1",
        "--json",
        "-",
    ]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    expected = compared(
        accuracy=ACCURACY, fairness=FAIRNESS, delta_accuracy=EACH, delta_fairness=GAPS
    )
    assert f'"p_value": {expected.p_value}' in done.output
    wrong = CliRunner().invoke(app, [*arguments[:-3], "calibration", "--json", "-"])
    assert "--delta-fairness is 'calibration'. Write 0.1, or calibration:0.1" in str(
        wrong.exception
    )
