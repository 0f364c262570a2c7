"""The sentences say what was tested and found, and never more."""

import polars as pl
import pytest

import improvable
from conftest import Case


def compared(case: Case, **options: object) -> improvable.Comparison:
    return improvable.compare(
        case.frame(),
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        draws=300,
        **options,  # type: ignore[arg-type]
    )


def test_hypotheses_state_the_claim(case: Case) -> None:
    result = compared(case)
    claim = "is more accurate for every group and has a smaller gap between groups"
    assert result.null_hypothesis == f"It is not so that the candidate {claim} than the status quo."
    assert result.alternative_hypothesis == f"The candidate {claim} than the status quo."
    result = compared(case, delta_accuracy={"a": 0.05, "b": -0.1}, delta_fairness=0.25)
    assert (
        "more accurate by over 5% for a and less accurate by no more than 10%, if at all, for b"
        in result.null_hypothesis
    )
    assert "smaller by over 25%" in result.alternative_hypothesis
    result = compared(case, form="difference", delta_accuracy=0.5, delta_fairness=-0.1)
    assert "more accurate by over 0.5 for every group" in result.alternative_hypothesis
    assert "wider by no more than 0.1" in result.alternative_hypothesis


def test_a_verdict_always_says_what_it_does_not_mean(case: Case) -> None:
    rejected, kept = (
        compared(case, form="difference", delta_accuracy=delta, delta_fairness=delta) for delta in (-5.0, 5.0)
    )
    assert rejected.reject
    assert "REJECTED at level 0.05" in rejected.summary()
    assert "does not say that the status quo is unlawful" in " ".join(rejected.summary().split())
    assert not kept.reject
    assert "NOT REJECTED" in kept.summary()
    assert "Not rejecting is no proof" in kept.summary()


def test_the_summary_names_the_statistic_used_and_gives_the_other(case: Case) -> None:
    assert "p signed  (absolute)" in compared(case).summary()
    assert "p absolute  (signed)" in compared(case, gap="absolute").summary()


def test_levels_of_any_length_keep_the_table_aligned() -> None:
    frame = (
        Case().frame().with_columns(group=pl.when(pl.col("group") == "a").then(pl.lit("x" * 60)).otherwise(pl.lit("y")))
    )
    result = improvable.compare(frame, outcome="count", group="group", status_quo="now", candidate="new", draws=200)
    lines = result.summary().split("\n\n")[1].splitlines()
    assert {line.count("|") for line in (lines[0], lines[1], lines[3])} == {3}


def test_results_print_their_summary(case: Case) -> None:
    result = compared(case)
    assert str(result) == result.summary()


@pytest.mark.parametrize("name", ["p_value", "reject", "threshold", "null_hypothesis", "alternative_hypothesis"])
def test_results_have_one_face(case: Case, name: str) -> None:
    assert getattr(compared(case), name) is not None
