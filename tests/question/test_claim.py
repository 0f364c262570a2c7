"""One rule for deltas; a margin of non-inferiority; questions about accuracy or
fairness alone.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable.inference.test import lower_median
from improvable.question.claim import make_claim
from improvable.report.html import html_page
from improvable.report.latex import latex_table
from improvable.report.markdown import markdown
from improvable.results.wording import verdict_line

CLAIM: dict[str, Any] = {
    "delta_accuracy": 0.0,
    "delta_fairness": 0.0,
    "form": "ratio",
    "gap": "signed",
    "protected": None,
    "overall": None,
}


def claim(**changes: Any) -> Any:
    return make_claim(**{**CLAIM, **changes})


def compared(**options: Any) -> improvable.Comparison:
    return flat_compare(
        Case(seed=1, rows=800).frame(),
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        draws=400,
        **options,
    )


@pytest.fixture(scope="module")
def audit() -> improvable.Audit:
    return improvable.audit(
        improvable.datasets.care_management(4_000, seed=1),
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear",
        features=["gagne_sum_tm1", "*_elixhauser_tm1"],
        test=improvable.Test(repetitions=5, draws=500),
        seed=1,
    )


@pytest.mark.paper("Definition 2")
@pytest.mark.parametrize("form", ["ratio", "difference"])
@pytest.mark.parametrize("delta", [-5.0, -1.0, 1.0, 7.5])
def test_any_finite_delta_is_a_claim_and_a_point_of_the_surface(
    form: Any, delta: float
) -> None:
    result = compared(form=form, delta_accuracy=delta, delta_fairness=delta)
    assert result.p_value == pytest.approx(
        result.frontier().p_value(delta, delta), abs=1e-9
    )
    mixed = result.with_claim(delta_accuracy=-delta)
    assert mixed.p_value == pytest.approx(
        result.frontier().p_value(-delta, delta), abs=1e-9
    )


@pytest.mark.parametrize("name", ["delta_accuracy", "delta_fairness"])
@pytest.mark.parametrize("delta", [np.inf, np.nan, "0.1", True])
def test_what_is_no_number_is_refused(name: str, delta: Any) -> None:
    with pytest.raises(
        improvable.OptionError, match=f"`{name}` is .* It must be a number."
    ):
        claim(**{name: delta})


@pytest.mark.parametrize("gap", ["signed", "absolute"])
def test_a_gap_below_zero_is_never_shown(gap: Any) -> None:
    assert compared(gap=gap, delta_accuracy=-1.0, delta_fairness=1.5).p_value > 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"delta_accuracy": -0.01},
            "is no worse by more than 1% of accuracy for every group and has a smaller "
            "gap between groups than the status quo",
        ),
        (
            {"delta_accuracy": -0.5, "form": "difference"},
            "no worse by more than 0.5 of accuracy for every group",
        ),
        (
            {"delta_accuracy": -0.02, "overall": "population"},
            "no worse by more than 2% of accuracy overall",
        ),
        (
            {"delta_accuracy": {"a": -0.02, "b": 0.0}},
            "no worse by more than 2% of accuracy for a and more accurate for b",
        ),
    ],
)
def test_a_negative_delta_is_a_margin(options: dict[str, Any], words: str) -> None:
    assert words in compared(**options).alternative_hypothesis


@pytest.mark.paper("Definition 1")
@pytest.mark.parametrize("ask", ["accuracy", "fairness"])
def test_one_question_alone_has_its_own_combined_p_value(
    audit: improvable.Audit, ask: Any
) -> None:
    alone = audit.with_claim(ask=ask)
    by_repetition = [
        max(component.tail.p_value for component in repetition.assessment.of(ask))
        for repetition in audit.repetitions
    ]
    assert alone.p_value == lower_median(by_repetition)
    assert {
        one["kind"]
        for repetition in alone.facts["repetitions"]
        for one in repetition["components"]
    } == {ask}
    assert alone.facts["p_value"] <= audit.facts["p_value"]
    assert alone.frontier().p_value(0.0, 0.0) == pytest.approx(alone.p_value, abs=1e-9)
    other = {"accuracy": (0.0, 3.0), "fairness": (3.0, 0.0)}[ask]
    assert alone.frontier().p_value(*other) == pytest.approx(alone.p_value, abs=1e-9), (
        "the other delta does not matter"
    )
    assert {bound.what.split()[0] for bound in alone.bounds()} == {ask}


@pytest.mark.paper("Definition 1")
def test_each_question_has_its_own_hypotheses(audit: improvable.Audit) -> None:
    accuracy, fairness = (
        audit.with_claim(ask="accuracy"),
        audit.with_claim(ask="fairness"),
    )
    assert accuracy.null_hypothesis == (
        "No algorithm that the rule 'linear' can find is more accurate for every group "
        "than the status quo."
    )
    assert fairness.alternative_hypothesis == (
        "The rule 'linear' can find an algorithm that has a smaller gap between groups "
        "than the status quo."
    )
    assert (
        "fails this condition: it has a smaller gap"
        in fairness.repetitions[0].null_hypothesis
    )
    for result, words in (
        (accuracy, "Only accuracy must improve."),
        (fairness, "Only the gap must improve."),
    ):
        facts = result.facts
        assert words in result.summary(verbose=True)
        assert " ".join(result.summary().split()).startswith(verdict_line(facts))
        assert "only" in html_page(result)
        assert markdown(result)
        assert latex_table(facts)
    assert accuracy.facts["repetitions"][0]["p_fairness"] is None
    assert fairness.facts["repetitions"][0]["p_accuracy"] == {}
    assert (
        accuracy.facts["repetitions"][0]["gap"] == audit.facts["repetitions"][0]["gap"]
    ), "the gap is still reported"


@pytest.mark.paper("Assumption 1")
def test_accuracy_alone_needs_no_gap() -> None:
    """Assumption 1 is about fairness: a status quo without a gap can be tested for
    accuracy.
    """
    frame = Case(seed=1, rows=800).frame().with_columns(now=pl.lit(1.0))
    asked: dict[str, Any] = {
        "outcome": "count",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "draws": 200,
    }
    with pytest.raises(improvable.DataError, match="no gap at all"):
        flat_compare(frame, accuracy="calibration", fairness="selection_rate", **asked)
    result = flat_compare(
        frame,
        accuracy="calibration",
        fairness="selection_rate",
        ask="accuracy",
        **asked,
    )
    assert result.facts["ask"] == "accuracy"


def test_power_follows_the_question() -> None:
    from improvable.studies.power import AssumedGroup, power_from_assumptions

    groups = [
        AssumedGroup(
            "black", 0.12, rates=(0.05, 0.07), means=(6.5, 7.4), spread=3.5, overlap=0.4
        ),
        AssumedGroup(
            "white",
            0.88,
            rates=(0.027, 0.024),
            means=(5.1, 7.3),
            spread=3.5,
            overlap=0.3,
        ),
    ]
    both, accuracy, margin = (
        power_from_assumptions(
            groups, rows=20_000, simulations=300, **asked
        ).asked.power
        for asked in ({}, {"ask": "accuracy"}, {"delta_accuracy": -0.05})
    )
    assert both <= accuracy
    assert both <= margin
