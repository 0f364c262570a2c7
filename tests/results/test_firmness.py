"""Verdicts say how firm they are: reruns, what failed, by how much, and how many rows
would do.
"""

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import improvable
from conftest import Case
from improvable.inference.reruns import rerun_risk
from improvable.inference.test import rows_needed
from improvable.results.facts import Facts, RerunFacts
from improvable.results.wording import rerun_words, shortfall_words, verdict

AGREE = "All seven repetitions agree; another seed"
HARDLY = "hardly decide otherwise (under 1%)"


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


def test_the_probability_of_a_rerun_stands_beside_every_verdict_with_its_interval(
    audit: improvable.Audit,
) -> None:
    risk = rerun_risk(
        [repetition.p_value for repetition in audit.repetitions], draws=500
    )
    rerun = audit.facts["rerun"]
    assert rerun is not None
    for name in (
        "otherwise",
        "otherwise_range",
        "share",
        "share_range",
        "repetitions",
        "rejecting",
    ):
        assert rerun[name] == pytest.approx(getattr(risk, name), abs=1e-6)
    assert rerun_words(audit.facts) in verdict(audit.facts)
    assert "another seed would" in rerun_words(audit.facts).lower()
    assert audit.repetitions[0].facts["rerun"] is None, "a comparison repeats nothing"


def test_one_repetition_cannot_tell_how_firm_it_is(audit: improvable.Audit) -> None:
    facts: Facts = {**audit.facts, "rerun": None}
    assert rerun_words(facts) == (
        "One repetition cannot tell whether another seed would decide otherwise. Make "
        "several."
    )
    assert rerun_words(audit.repetitions[0].facts) == ""


def with_rerun(
    facts: Facts,
    otherwise: float,
    ends: tuple[float, float],
    rejecting: int,
    repetitions: int,
) -> Facts:
    rerun: RerunFacts = {
        "otherwise": otherwise,
        "otherwise_range": [*ends],
        "share": 0.5,
        "share_range": [0.0, 1.0],
        "repetitions": repetitions,
        "rejecting": rejecting,
    }
    return {**facts, "rerun": rerun}


@pytest.mark.parametrize(
    ("otherwise", "ends", "rejecting", "repetitions", "words"),
    [
        (
            0.021,
            (0.0003, 0.0812),
            6,
            7,
            "Another seed would decide otherwise with probability at most 9%.",
        ),
        (
            0.17,
            (0.07, 0.41),
            5,
            7,
            "Another seed would decide otherwise with probability between 7% and 41%.",
        ),
        (
            0.004,
            (0.0, 0.01),
            7,
            7,
            f"{AGREE} would decide otherwise with probability at most 1%.",
        ),
        (
            0.03,
            (0.012, 0.0719),
            7,
            7,
            f"{AGREE} would decide otherwise with probability between 1% and 8%.",
        ),
        (0.0, (0.0, 0.002), 7, 7, f"{AGREE} would {HARDLY}."),
        (
            0.0,
            (0.0, 0.002),
            0,
            2,
            f"Both repetitions agree; another seed would {HARDLY}.",
        ),
        (
            0.0,
            (0.0, 0.002),
            0,
            21,
            f"All 21 repetitions agree; another seed would {HARDLY}.",
        ),
        (0.0, (0.0, 0.002), 40, 51, f"Another seed would {HARDLY}."),
    ],
)
def test_a_rerun_is_told_as_a_range(
    audit: improvable.Audit,
    otherwise: float,
    ends: tuple[float, float],
    rejecting: int,
    repetitions: int,
    words: str,
) -> None:
    facts = with_rerun(audit.facts, otherwise, ends, rejecting, repetitions)
    assert rerun_words(facts) == words
    assert words in verdict(facts)
    challenged: Facts = {**facts, "challenge": "docket"}
    assert rerun_words(challenged) == words.replace("nother seed", "nother challenge")


def test_not_shown_says_what_failed_and_how_many_rows_would_do(
    audit: improvable.Audit,
) -> None:
    result = audit.with_claim(delta_accuracy=0.0)
    facts = result.facts
    assert not result.reject
    lack = facts["shortfall"]
    assert lack is not None
    repetition = next(
        repetition
        for repetition in result.repetitions
        if repetition.p_value == result.p_value
    )
    assert lack["repetition"] == repetition.repetition
    p_values = {
        **{("accuracy", g): p for g, p in repetition.assessment.p_accuracy.items()},
        ("fairness", "race"): repetition.assessment.p_fairness,
    }
    assert max(p_values, key=lambda key: p_values[key]) == (lack["kind"], lack["group"])
    # By hand, for the accuracy of a group.
    evidence, g = repetition.evidence, repetition.groups.index(lack["group"])
    values, drawn = evidence.values[0][g, 0], evidence.drawn[0][:, g, 0]
    errors = (values[1] - values[0]) / np.std(drawn[:, 1] - drawn[:, 0])
    assert lack["standard_errors"] == pytest.approx(errors, rel=1e-5)
    assert lack["needed"] == pytest.approx(values[0])
    rows = 4_000 * ((ndtri(0.975) + ndtri(0.8)) / errors) ** 2
    assert lack["rows"] == pytest.approx(rows, rel=0.06), "two digits"
    text = verdict(facts)
    assert text.startswith(
        "It is not shown that the rule 'linear' can find an algorithm that is more "
        "accurate"
    )
    assert "NOT REJECTED at level 0.05 (lower median p = " in text
    assert (
        f"the accuracy of {lack['group']} fell short: it is {lack['candidate']:.3f}, "
        f"only {errors:.1f}"
    ) in text
    assert f"about {lack['rows']:,} rows would show it with probability 0.8." in text


def test_what_is_on_the_wrong_side_needs_no_more_rows(audit: improvable.Audit) -> None:
    result = audit.with_claim(delta_accuracy=0.8)
    lack = result.facts["shortfall"]
    assert lack is not None
    assert lack["rows"] is None
    assert lack["standard_errors"] is not None
    assert lack["standard_errors"] < 0
    assert "on the wrong side" in verdict(result.facts)
    assert "more rows would not show it" in verdict(result.facts)


def test_a_rejection_lacks_nothing(audit: improvable.Audit) -> None:
    result = audit.with_claim(delta_accuracy=-0.9, delta_fairness=-2.0)
    assert result.reject
    assert result.facts["shortfall"] is None
    assert verdict(result.facts).startswith("Shown: the rule 'linear' can find")
    assert "REJECTED at level 0.05 (lower median p" in verdict(result.facts)


def test_identical_algorithms_could_not_be_tested() -> None:
    with pytest.warns(improvable.ImprovableWarning):
        result = improvable.compare(
            Case().frame(),
            outcome="count",
            group="group",
            status_quo="now",
            candidate="now",
            test=improvable.Test(draws=200),
        )
    assert shortfall_words(result.facts).endswith(
        "could not be tested, so its p-value is 1."
    )


def test_rows_needed_give_the_power_they_promise() -> None:
    """A mean of normal rows, tested at that many rows: power .8 within three Monte
    Carlo errors.
    """
    effect, rows = 0.1, 100
    enough = rows_needed(rows, effect * np.sqrt(rows), 0.025)
    assert enough is not None
    z = np.random.default_rng(0).normal(effect * np.sqrt(enough), 1.0, 20_000)
    assert np.mean(z > ndtri(0.975)) == pytest.approx(
        0.8, abs=3 * np.sqrt(0.16 / 20_000)
    )
    assert rows_needed(rows, 0.0, 0.025) is None
    assert rows_needed(rows, None, 0.025) is None


@pytest.mark.parametrize("gap", ["signed", "absolute"])
def test_a_gap_that_fell_short_is_told_by_its_own_statistic(
    case: Case, gap: Any
) -> None:
    result = improvable.compare(
        case.frame(),
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=400),
        claim=improvable.Claim(gap=gap, ask="fairness", delta_fairness=0.9),
    )
    lack = result.facts["shortfall"]
    assert lack is not None
    assert (lack["kind"], lack["group"], lack["above"]) == ("fairness", "group", False)
    before = result.facts["repetitions"][0]["gap"]["status_quo"]
    assert before is not None
    assert lack["needed"] == pytest.approx(0.1 * before)
