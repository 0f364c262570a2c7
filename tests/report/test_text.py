"""A result in a terminal: the answer first, in lines that fit, and no more than a
reader needs.
"""

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit, flat_compare
from improvable.cli import run
from improvable.inference.diagnostics import KINDS
from improvable.report.labels import in_words
from improvable.report.people import describe_turned, people_count
from improvable.results.formatting import ends_text, value_text
from reported import estimated

pytestmark = pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")

LONG = [
    "Non-Hispanic American Indian or Alaska Native",
    "Non-Hispanic Asian or other Pacific Islander",
    "Non-Hispanic Black or African American",
    "Hispanic or Latino of any race",
    "Non-Hispanic White",
    "w" * 60,
]


def loans(names: list[str], rows: int = 1_200, turned: bool = False) -> pl.DataFrame:
    """Loans of groups; the candidate's approvals are better and, if turned, better for
    the other group.
    """
    rng = np.random.default_rng(5)
    group, ability = rng.integers(0, len(names), rows), rng.normal(size=rows)
    repaid = ability + rng.normal(size=rows) > 0
    now = rng.normal(size=rows) + 0.8 * ability * (group == 0) > 0.5
    new = ability + rng.normal(size=rows) * ((group == 0) if turned else 0.3) > 0.5
    return pl.DataFrame(
        {
            "repaid": repaid.astype(int),
            "sex": [names[one] for one in group],
            "ability": ability,
            "now": now.astype(int),
            "new": new.astype(int),
        }
    )


def compared(names: list[str], **options: Any) -> improvable.Comparison:
    turned = options.pop("turned", False)
    return flat_compare(
        loans(names, turned=turned),
        outcome="repaid",
        group="sex",
        status_quo="now",
        candidate="new",
        draws=200,
        **options,
    )


def audited(names: list[str], **options: Any) -> improvable.Audit:
    return flat_audit(
        loans(names),
        outcome="repaid",
        group="sex",
        status_quo="now",
        capacity="same",
        rule="linear",
        features=["ability"],
        draws=200,
        repetitions=3,
        **options,
    )


def test_verdict_table_who_changes_and_cautions_come_in_this_order() -> None:
    result = audited(["men", "women"])
    text = result.summary()
    places = [
        text.index(words)
        for words in (
            "(p ",
            "Means of",
            "Gap",
            "Who changes",
            "REJECTED at level",
            "Seed 0",
        )
    ]
    assert places == sorted(places)
    assert "from 1,200 rows, with 95% intervals" in " ".join(text.split())
    first = " ".join(text.split("\n\n")[0].split())
    assert first.startswith(("Shown: ", "It is not shown that "))
    assert re.search(rf"\(p (=|<) [\d.]+, (not )?below {result.level:g}\)\.$", first)
    if result.warnings:
        assert text.index("Caution: ") > places[-1]
    for words in ("standard errors", "hash of", "predicts"):
        assert words not in text
        assert words in result.summary(verbose=True)


def test_not_shown_is_a_sentence() -> None:
    result = compared(["men", "women"], delta_accuracy=0.9)
    assert result.summary().startswith(
        "It is not shown that the candidate is more accurate by over 90% for every"
    )
    assert "Not shown: that" not in result.summary(verbose=True)


@pytest.mark.parametrize("columns", ["80", "100"])
@pytest.mark.parametrize("names", [["men", "women"], LONG], ids=["short", "long"])
@pytest.mark.parametrize("verbose", [False, True])
def test_lines_fit_and_names_are_whole(
    columns: str, names: list[str], verbose: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for result in (compared(names), audited(names)):
        text = result.summary(verbose=verbose)
        assert max(map(len, text.splitlines())) < int(columns)
        assert not [line for line in text.splitlines() if line in (*names, "Gap")], (
            "a row without numbers"
        )
        assert "repeti-" not in text
        assert all(word in text for name in names[:5] for word in name.split())


def test_the_table_has_the_estimates_the_intervals_and_the_p_values() -> None:
    result = audited(["men", "women"])
    facts = result.facts
    place = next(
        k
        for k, one in enumerate(facts["repetitions"])
        if one["p_value"] == facts["p_value"]
    )
    lines = {
        line.split("  ")[0]: line
        for line in result.summary().splitlines()
        if " (0" in line
    }
    for group in ("men", "women"):
        cells = []
        for algorithm in ("status_quo", "candidate"):
            mean = np.mean(
                [
                    one["accuracy"][group][algorithm] or np.nan
                    for one in facts["repetitions"]
                ]
            )
            one = estimated(result, group, algorithm)
            cells.append(
                f"{value_text(float(mean))} ({ends_text(one['low'], one['high'])})"
            )
        assert all(cell in lines[group] for cell in cells)
        assert lines[group].endswith(
            f"{facts['repetitions'][place]['p_accuracy'][group]:.4f}".replace(
                "0.0000", "0.005"
            )
        )
    assert (
        f"{facts['repetitions'][place]['p_fairness']:.4f}".replace("0.0000", "0.005")
        in lines["Gap"]
    )
    assert (
        f"p of repetition {facts['repetitions'][place]['repetition']}, which decides"
        in " ".join(result.summary().split())
    )


def test_who_changes_is_a_table_of_a_thousand_people() -> None:
    result = compared(["men", "women"])
    lines = result.summary().splitlines()
    start = lines.index(next(line for line in lines if line.startswith("selected by")))
    for line, group in zip(lines[start + 1 :], ["men", "women"], strict=False):
        kinds = result.facts["people"][group]
        assert line.split() == [group, *(people_count(kinds[kind]) for kind in KINDS)]


def turning(
    rows: dict[str, list[tuple[int, int, int]]], **options: Any
) -> improvable.Comparison:
    """Rows of outcome, status quo and candidate, by group."""
    found = [(group, *row, 1.0) for group, mine in rows.items() for row in mine]
    found += [("a", 1, 1, 1, 1.0)] * 20  # so that the status quo has a gap
    frame = pl.DataFrame(found, schema=["g", "y", "now", "new", "w"], orient="row")
    return flat_compare(
        frame,
        outcome="y",
        group="g",
        status_quo="now",
        candidate="new",
        draws=100,
        **options,
    )


def test_who_turns_right_is_one_sentence_that_names_where_more_turn_wrong() -> None:
    same = [(1, 1, 1), (0, 0, 0), (0, 1, 1), (1, 0, 0)] * 20
    right, wrong = [(1, 0, 1), (0, 1, 0)], [(1, 1, 0), (0, 0, 1)]
    better, tied, worse = (
        same + right * 3 + wrong,
        same + right * 2 + wrong * 2,
        same + right + wrong * 3,
    )
    told = {
        "more are put right than wrong in every group.": {"a": better, "b": better},
        "more are put right than wrong in every group but b, c and d.": {
            "a": better,
            "b": tied,
            "c": worse,
            "d": tied,
        },
        "in no group are more put right than wrong.": {"a": tied, "b": worse},
    }
    for end, rows in told.items():
        result = turning(rows, accuracy="classification_rate")
        text = " ".join(result.summary().split())
        turned = result.facts["turned"]
        assert turned is not None
        ups, downs = int(turned["right"]), int(turned["wrong"])
        start = (
            f"changes for {ups + downs} of {result.rows} people tested: {ups} go from "
            "a wrong decision to a"
        )
        assert (
            f"{start} right one and {downs} from a right one to a wrong one, as judged "
            "by the recorded"
        ) in text
        assert end in text
    weighted = " ".join(
        turning({"a": better, "b": better}, weight="w").summary().split()
    )
    assert (
        "The decision changes for 81 of 1,000 people, by weight: 61 go from a wrong"
        in weighted
    )
    nobody = turning({"a": same, "b": same})
    assert "decision changes for" not in nobody.summary()


def test_groups_where_more_turn_wrong_are_named_only_where_accuracy_counts_right_decisions() -> (  # noqa: E501
    None
):
    same, right, wrong = (
        [(1, 1, 1), (0, 0, 0), (0, 1, 1), (1, 0, 0)] * 20,
        [(1, 0, 1)] * 3,
        [(0, 0, 1)] * 9,
    )
    rows = {"a": same + right * 2, "b": same + right + wrong}
    for labels, measure in product(
        ({}, {"y": "repaid"}), ("classification_rate", "true_positive_rate")
    ):
        result = turning(
            rows, accuracy=measure, **({"labels": labels} if labels else {})
        )
        named = (
            "; more are put right than wrong in every group but b."
            if measure == "classification_rate"
            else "."
        )
        for text in (
            " ".join(result.summary().split()),
            describe_turned(in_words(result.facts)),
        ):
            assert (
                "9 go from a wrong decision to a right one and 9 from a right one to a "
                "wrong one"
            ) in text
            assert (
                f"as judged by the recorded outcome (1 selected, 0 not){named}" in text
            )


def test_a_gap_that_changes_sides_is_printed_with_its_sides() -> None:
    result = compared(["men", "women"], turned=True)
    values = result.facts["repetitions"][0]["fairness"]
    before, after = (
        {group: values[group][name] or 0.0 for group in values}
        for name in ("status_quo", "candidate")
    )
    assert before["men"] > before["women"]
    assert after["men"] < after["women"], "the candidate turns the gap around"
    gaps = [abs(one["men"] - one["women"]) for one in (before, after)]
    text = " ".join(result.summary().split())
    assert (
        f"Gap: {gaps[0]:.3f}, men above women → {gaps[1]:.3f}, women above men." in text
    )
    same = " ".join(compared(["men", "women"]).summary().split())
    assert "Gap: men above women under both algorithms." in same


def test_sides_of_a_protected_group_are_its_own() -> None:
    worse = compared(["a", "b", "c"]).facts["disparity"]["worse_off"]
    result = compared(["a", "b", "c"], protected=worse)
    gap = " ".join(result.summary().split()).split("Gap: ")[1].split(" Worse off")[0]
    for told in gap.split("→"):
        assert re.search(rf"\b{worse} above|above {worse}\b", told)


def test_a_command_says_the_answer_first_and_cautions_last(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    loans(["men", "women"]).write_csv(tmp_path / "loans.csv")
    command = (
        f"compare {tmp_path / 'loans.csv'} --outcome repaid --group sex --status-quo "
        "now --candidate new"
    ).split()
    assert run([*command, "--draws", "200"]) == 0
    out, _ = capfd.readouterr()
    assert out.startswith(("Shown: ", "It is not shown that "))
    assert "Caution: " not in out, "which standard error has"
    assert run([*command, "--draws", "200", "--quiet"]) == 0
    line, err = capfd.readouterr()
    assert err == ""
    assert line.count("\n") == 1
    assert " ".join(out.split()).startswith(line.strip())
    assert run([*command, "--draws", "200", "--verbose"]) == 0
    assert "(Theorem 2)" in capfd.readouterr().out
    assert run([*command, "--verbose", "--quiet"]) == 2
    assert (
        "--verbose and --quiet contradict each other. Give one of them."
        in capfd.readouterr().err
    )


def test_an_arrow_that_a_terminal_cannot_show_is_spelled() -> None:
    import io
    import sys

    from improvable.cli.output import say

    kept, sys.stdout = (
        sys.stdout,
        io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True),
    )
    try:
        say("0.1 → 0.2, Zoë")
        said = sys.stdout.buffer.getvalue()
    finally:
        sys.stdout = kept
    assert said.decode().strip() == r"0.1 -> 0.2, Zo\xeb"
