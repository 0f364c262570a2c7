"""What is ruled out, in every output: numbers that round up, and sentences that say no
more than was bounded.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable.cli import run
from improvable.inference.upper import parts_of, upper_bound
from improvable.results.frontier import _rounded
from improvable.results.wording import answer_words, at_most_words, verdict

RATES = {  # of correct decisions, by group, under the status quo and the candidate
    "at most": ((0.90, 0.91), (0.60, 0.62)),
    "no cut": ((0.80, 0.85), (0.60, 0.55)),
    "too few": ((0.66, 0.70), (0.64, 0.67)),
}


def compared(kind: str, rows: int = 4_000, **options: Any) -> improvable.Comparison:
    rng = np.random.default_rng(3)
    group, outcome = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    right = rng.random(rows)[:, None] < np.array(RATES[kind])[group]
    now, new = (np.where(right[:, t], outcome, 1 - outcome) for t in (0, 1))
    frame = pl.DataFrame(
        {"y": outcome, "group": np.array(["a", "b"])[group], "now": now, "new": new}
    )
    return flat_compare(
        frame,
        outcome="y",
        group="group",
        status_quo="now",
        candidate="new",
        accuracy="classification_rate",
        draws=500,
        **{"delta_fairness": 0.3, **options},
    )


@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
def test_not_shown_splits_into_too_few_rows_and_at_most() -> None:
    found, none, few = (
        compared("at most"),
        compared("no cut"),
        compared("too few", rows=120),
    )
    assert [one.reject for one in (found, none, few)] == [False] * 3
    bound = found.at_most()[0]
    assert 0 < bound.value < 0.4
    assert bound.words == (
        f"With 95% confidence, the candidate cuts the gap by at most {bound.size} with "
        "no loss of accuracy."
    )
    assert answer_words(found.facts) == f"Not shown: at most {bound.size}"
    assert none.at_most()[0].words == (
        "With 95% confidence, the candidate does not cut the gap without a loss of "
        "accuracy."
    )
    assert (none.at_most()[0].value, answer_words(none.facts)) == (
        0,
        "Not shown: at most 0%",
    )
    assert few.at_most()[0].value == np.inf
    assert answer_words(few.facts) == "Not shown: too few rows to tell"
    for result in (found, none, few):
        words = result.at_most()[0].words
        assert (
            words == at_most_words(result.facts) == result.facts["at_most"][0]["words"]
        )
        assert words in verdict(result.facts)
        assert words in " ".join(result.summary().split())
    assert few.to_dict()["at_most"][0] == {
        "what": "fairness",
        "value": None,
        "size": "",
        "words": (
            "Too few rows to tell how far the candidate can cut the gap with no loss "
            "of accuracy: nothing is ruled out."
        ),
    }


@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
def test_words_follow_what_is_asked() -> None:
    result = compared("at most")

    def words(**claim: Any) -> list[str]:
        bounds = result.with_claim(**claim).at_most()
        return [
            one.words.replace(one.size or "-", "SIZE").split(", ", 1)[-1]
            for one in bounds
        ]

    assert words(delta_fairness=0.0)[1] == (
        "the candidate raises the accuracy of every group by at most SIZE with no "
        "wider gap."
    )
    assert words(ask="accuracy") == [
        "the candidate raises the accuracy of every group by at most SIZE."
    ]
    assert words(ask="fairness") == ["the candidate cuts the gap by at most SIZE."]
    assert words(delta_accuracy=-0.02) == [
        (
            "the candidate cuts the gap by at most SIZE with the accuracy that the "
            "claim asks for."
        ),
        (
            "the candidate does not raise the accuracy of every group with the gap "
            "that the claim asks for."
        ),
    ]
    assert (
        "raises the accuracy by at most"
        in words(overall="population", delta_fairness=0.0)[1]
    )
    difference = result.with_claim(form="difference").at_most()[0]
    assert 0 < float(difference.size) < 0.1
    assert difference.value <= float(difference.size)


def test_over_repetitions_the_bound_is_the_one_that_half_of_them_reach() -> None:
    case, rng = Case(seed=4, rows=2_000), np.random.default_rng(0)
    frame = case.frame().with_columns(
        signal=pl.Series(case.count + rng.normal(0, 1, 2_000)),
        score=pl.Series(case.count + rng.normal(0, 4, 2_000)),
    )
    audit = improvable.audit(
        frame,
        outcome="count",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.3),
        rule="linear",
        features=["signal"],
        test=improvable.Test(repetitions=4, draws=400),
    )
    claim = audit.question.claim
    for form in ("ratio", "difference"):
        for bound in audit.at_most(form):
            each = [
                upper_bound(parts_of(one.evidence, claim, bound.what, form), 0.025)
                for one in audit.repetitions
            ]
            assert bound.value == sorted(each)[1], (
                "the lower median of four p-values is the second smallest"
            )
    assert "what this rule finds" in audit.at_most()[0].words


def test_upper_bounds_are_rounded_up() -> None:
    assert [
        _rounded(value, "ratio", up=True) for value in (0.1, 0.1001, 0.1239, 0)
    ] == ["10%", "10.1%", "12.4%", "0%"]
    assert [
        _rounded(value, "difference", up=True) for value in (0.12341, 12.341, 0.0)
    ] == ["0.124", "12.4", "0"]
    assert _rounded(0.1239, "ratio") == "12.3%"


@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
def test_the_command_prints_both_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = compared("at most", delta_fairness=0.0)
    result.save(tmp_path / "run")
    assert run(["frontier", str(tmp_path / "run"), "--at-most"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for bound in (*result.bounds(), *result.at_most()):
        assert bound.words in said
    assert said.count("Another rule may find more.") == 1
    assert run(["frontier", str(tmp_path / "run"), "--at-most", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["at_most"] == result.to_dict()["at_most"]
    assert run(["frontier", str(tmp_path / "run")]) == 0
    assert "at most" not in capsys.readouterr().out
    assert run(["frontier", str(tmp_path / "run"), "--at-most", "--simultaneous"]) == 2
    assert (
        "do not go together. What is ruled out holds separately."
        in capsys.readouterr().err
    )
