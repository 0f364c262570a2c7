"""The sentences say what was tested and found, and never more."""

import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable.results.facts import CandidateGapFacts, Facts
from improvable.results.wording import describe_gap_distance


def compared(case: Case, **options: object) -> improvable.Comparison:
    return flat_compare(
        case.frame(),
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        draws=300,
        **options,
    )


@pytest.mark.paper("Definition 2", "Definition 3")
def test_hypotheses_state_the_claim(case: Case) -> None:
    result = compared(case)
    assert result.null_hypothesis == (
        "Compared with the status quo, the candidate fails at least one of these "
        "conditions: it is more accurate for every group; it has a smaller gap between "
        "groups."
    )
    assert result.alternative_hypothesis == (
        "The candidate is more accurate for every group and has a smaller gap between "
        "groups than the status quo."
    )
    result = compared(case, delta_accuracy={"a": 0.05, "b": -0.1}, delta_fairness=0.25)
    assert (
        "more accurate by over 5% for a and no worse by more than 10% of accuracy for b"
        in result.null_hypothesis
    )
    assert "smaller by over 25%" in result.alternative_hypothesis
    result = compared(case, form="difference", delta_accuracy=0.5, delta_fairness=-0.1)
    assert "more accurate by over 0.5 for every group" in result.alternative_hypothesis
    assert "wider by no more than 0.1" in result.alternative_hypothesis


def test_a_verdict_always_says_what_it_does_not_mean(case: Case) -> None:
    rejected, kept = (
        compared(case, form="difference", delta_accuracy=delta, delta_fairness=delta)
        for delta in (-5.0, 5.0)
    )
    assert rejected.reject
    assert "REJECTED at level 0.05" in rejected.summary()
    assert "does not say that the status quo is unlawful" in " ".join(
        rejected.summary().split()
    )
    assert not kept.reject
    assert "NOT REJECTED" in kept.summary()
    assert "Not rejecting is no proof" in kept.summary()


def test_the_summary_names_the_statistic_used_and_gives_the_other(case: Case) -> None:
    for used, unused in (("signed", "absolute"), ("absolute", "signed")):
        result = compared(case, gap=used)
        p_other = next(
            one["p_other"]
            for one in result.facts["repetitions"][0]["components"]
            if one["p_other"]
        )
        text = " ".join(result.summary().split())
        assert (
            f"The {used} statistic decides; the {unused} one has p = {p_other:.4f}."
            in text
        )


def test_the_representation_is_one_line(case: Case) -> None:
    result = compared(case, alpha=0.25)
    word = "rejected" if result.reject else "not rejected"
    assert repr(result) == f"<Comparison: {word}, p = {result.p_value:.4f}, 2 groups>"
    audit = improvable.audit(
        case.frame(),
        outcome="count",
        group="group",
        status_quo="now",
        rule="linear",
        features=["binary", "new"],
        capacity=0.3,
        test=improvable.Test(repetitions=3, draws=200),
    )
    assert repr(audit).startswith(
        f"<Audit: {'' if audit.reject else 'not '}rejected, p "
    )
    assert repr(audit).endswith(" (lower median of 3 repetitions), 2 groups>")


def test_facts_are_computed_once_and_copied(case: Case) -> None:
    result = compared(case)
    assert result.facts is result.facts
    changed = result.to_dict()
    changed["repetitions"][0]["components"].clear()
    assert result.to_dict()["repetitions"][0]["components"]
    other = result.with_claim(delta_fairness=0.5)
    assert other.facts["delta_fairness"] == 0.5
    assert result.facts["delta_fairness"] == 0.0


def test_a_comparison_is_its_only_repetition(case: Case) -> None:
    result = compared(case)
    assert result.repetitions == (result,)


@pytest.mark.paper("Theorem 2")
def test_the_summary_gives_the_conditions_of_the_theory(case: Case) -> None:
    result = compared(case)
    assert "Theorem 2" not in result.summary()
    assert "Theorem 2" in " ".join(result.summary(verbose=True).split())
    only_accuracy = result.facts | {"ask": "accuracy"}
    assert describe_gap_distance(only_accuracy) == ""
    assert "within 2 standard errors of zero" in describe_gap_distance(
        near(result.facts, True)
    )
    assert "rely on the signed one" in describe_gap_distance(
        near(result.facts, True) | {"gap_statistic": "absolute"}
    )
    assert "3.5 standard errors from zero" in describe_gap_distance(
        near(result.facts, False)
    )


def near(facts: Facts, close: bool) -> Facts:
    gaps: list[CandidateGapFacts] = [
        {**gap, "near_zero": close, "standard_errors": 0.5 if close else 3.5}
        for gap in facts["diagnostics"]["candidate_gaps"]
    ]
    return {**facts, "diagnostics": {**facts["diagnostics"], "candidate_gaps": gaps}}


def test_results_print_their_summary(case: Case) -> None:
    result = compared(case)
    assert str(result) == result.summary()


@pytest.mark.parametrize(
    "name", ["p_value", "reject", "level", "null_hypothesis", "alternative_hypothesis"]
)
def test_results_have_one_face(case: Case, name: str) -> None:
    assert getattr(compared(case), name) is not None
