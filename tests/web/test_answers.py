"""What is answered becomes options of the command line, and nothing that the page does
not offer does.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from improvable.cli import run as command
from improvable.errors import OptionError
from improvable.question.catalog import UTILITIES
from improvable.question.options import parse_names
from improvable.web.answers import (
    CHOICES,
    DEFAULTS,
    GAPS_OF_AMOUNTS,
    GAPS_OF_TWO_VALUES,
    OF_AMOUNTS,
    OF_TWO_VALUES,
    audit_options,
    check_question,
    options,
    quoted,
)
from improvable.web.jobs import shown
from improvable.web.preview import guess
from improvable.web.sentences import measure_words

ROLES = {
    "repaid": "outcome",
    "sex": "group",
    "lender score": "score",
    "name, first": "left_out",
    "income": "feature",
}
ANSWERS: dict[str, Any] = {
    "file": "loans.csv",
    "roles": ROLES,
    "positive": {"repaid": "yes"},
    "binary": True,
    "score": {"cut": "top", "top": "43"},
}


def test_roles_become_options() -> None:
    words = options({**ANSWERS, "question": {"better": "no_worse", "shrink": "10"}})
    text = " ".join(words)
    assert text.startswith(
        "--outcome repaid --group sex --positive repaid=yes --score lender score "
        "--capacity 0.43"
    )
    assert '--exclude "name, first"' in text
    assert text.endswith("--delta-accuracy -0.01 --delta-fairness 0.1"), (
        "forward is the default, and needs no option"
    )


def test_the_papers_split_is_an_option() -> None:
    assert options({**ANSWERS, "question": {"procedure": "split"}})[-2:] == [
        "--scheme",
        "split",
    ]


def test_decisions_get_the_same_share() -> None:
    roles = {"repaid": "outcome", "sex": "group", "approved": "decision"}
    assert "--decision approved --capacity same" in " ".join(
        options({"file": "f.csv", "roles": roles})
    )


def test_a_cutoff_is_so_much_or_more() -> None:
    words = options(
        {**ANSWERS, "score": {"cut": "least", "least": "620", "above": "619.0"}}
    )
    assert "--score lender score --above 619.0 --capacity same" in " ".join(words)


def test_every_answer_about_reading_is_an_option() -> None:
    reading = {
        "na": '9, "n/a, or so"',
        "spelling": "one",
        "drop": "yes",
        "duplicates": "keep",
        "unknown": "0.1",
    }
    answers = {
        **ANSWERS,
        "reading": reading,
        "stated": True,
        "format": {"sheet": "May", "decimal": ","},
    }
    words = audit_options(
        {**answers, "question": {"organization": "First Bank", "date": "May 5"}}
    )
    for pair in (
        ("--na", "9"),
        ("--na", '"n/a, or so"'),
        ("--direction", "as stated"),
        ("--duplicates", "keep"),
        ("--unknown-outcomes", "0.1"),
        ("--sheet", "May"),
        ("--decimal", ","),
        ("--organization", "First Bank"),
        ("--date", "May 5"),
    ):
        assert pair in itertools.pairwise(words)
    assert {"--strip", "--drop-missing"} < set(words)
    assert not {"--duplicates", "--unknown-outcomes"} & set(options(answers)), (
        "power does not take them"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rule", "os:system"),
        ("rule", "module:object"),
        ("accuracy", "--help"),
        ("accuracy", "profit"),
        ("margin", "1e9"),
        ("procedure", ""),
        ("alpha", "nan"),
        ("alpha", "60"),
        ("fairness", "calibration"),
    ],
)
def test_only_what_the_page_offers_is_accepted(name: str, value: str) -> None:
    if value == "":
        assert check_question({name: value}, ANSWERS)[name] == DEFAULTS[name]
        return
    with pytest.raises(OptionError):
        check_question({name: value}, ANSWERS)


def test_percentages_may_have_a_decimal_comma() -> None:
    asked = check_question(
        {"alpha": "2,5 %", "margin": "0,5", "shrink": "12.5"}, ANSWERS
    )
    assert (asked["alpha"], asked["margin"], asked["shrink"]) == ("2.5", "0.5", "12.5")
    assert options({**ANSWERS, "question": asked})[-4:] == [
        "--delta-fairness",
        "0.125",
        "--alpha",
        "0.025",
    ]


def test_no_rule_of_the_page_is_code() -> None:
    assert not [rule for rule in CHOICES["rule"] if ":" in rule]


def test_each_measure_is_offered_once_in_words_of_its_own() -> None:
    two = measure_words(ANSWERS, "no")
    amounts = measure_words({"roles": {"cost": "outcome"}, "better": "lower"})
    assert (
        two["true_positive_rate"] == "of those whose repaid is yes, the share selected"
    )
    assert (
        two["true_negative_rate"]
        == "of those whose repaid is no, the share not selected"
    )
    assert amounts["calibration"] == "of those selected, the mean cost"
    for names, words in (
        (OF_TWO_VALUES, two),
        (GAPS_OF_TWO_VALUES, two),
        (OF_AMOUNTS, amounts),
        (GAPS_OF_AMOUNTS, amounts),
    ):
        assert len({words[name] for name in names}) == len(names)
    assert all(
        UTILITIES[name].higher_is_better for name in (*OF_TWO_VALUES, *OF_AMOUNTS)
    )
    assert not any(
        UTILITIES[name].binary_outcome for name in (*OF_AMOUNTS, *GAPS_OF_AMOUNTS)
    )


@pytest.mark.parametrize("name", ["age", "income, net", 'the "good" one', " spaced "])
def test_names_survive_the_command_line(name: str) -> None:
    assert parse_names(quoted(name)) == [name.strip()]


def test_a_command_can_be_pasted() -> None:
    assert (
        shown(["audit", "it's.csv", "--rule", "linear"])
        == "improvable audit 'it'\"'\"'s.csv' --rule linear"
    )


def test_a_feature_whose_name_resembles_a_role_is_no_role() -> None:
    def column(name: str, kind: str, values: int) -> dict[str, Any]:
        kinds = [str(one) for one in range(values)] if values < 60 else []
        return {
            "name": name,
            "kind": kind,
            "values": values,
            "kinds": kinds,
            "id": False,
        }

    columns = [
        column("wtloss_elixhauser", "number", 2),
        column("race", "text", 300),
        column("approved", "text", 2),
        column("risk_score", "number", 500),
    ]
    assert guess(columns) == {"approved": "decision"}
    columns = [
        {"name": "sex", "kind": "text", "values": 2, "kinds": ["f", "m"], "id": False},
        {
            "name": "repaid",
            "kind": "number",
            "values": 2,
            "kinds": ["0", "1"],
            "id": False,
        },
        {
            "name": "lender score",
            "kind": "number",
            "values": 900,
            "kinds": [],
            "id": False,
        },
    ]
    assert guess(columns) == {
        "sex": "group",
        "repaid": "outcome",
        "lender score": "score",
    }


@pytest.fixture(scope="module")
def coded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Loans by hand, in 0 and 1, and what the command line sees in them; beside them
    the same in other values.
    """
    rng = np.random.default_rng(3)
    debt = rng.gamma(2.0, 1.0, 400)
    repaid = (rng.random(400) < 1 / (1 + np.exp(debt - 2))).astype(int)
    approved = (debt + rng.normal(0, 1, 400) < 2).astype(int)
    frame = pl.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 400),
            "debt": debt.round(3),
            "repaid": repaid,
            "approved": approved,
        }
    )
    frame = frame.with_columns(
        pl.Series("default", np.where(repaid, "no", "yes")),
        pl.Series("late", 1 - repaid),
        pl.Series("said", np.where(approved, "approved", "declined")),
        pl.Series("refused", 1 - approved),
    )
    folder = tmp_path_factory.mktemp("coded")
    frame.write_csv(folder / "loans.csv")
    return folder / "loans.csv", _seen(
        folder / "loans.csv", ("repaid", "1"), ("approved", "1")
    )


@pytest.mark.parametrize("outcome", [("default", "no"), ("late", "0"), ("repaid", "1")])
@pytest.mark.parametrize(
    "decision", [("said", "approved"), ("refused", "0"), ("approved", "1")]
)
def test_the_question_is_that_of_the_hand_coded_file(
    coded: tuple[Path, dict[str, Any]],
    outcome: tuple[str, str],
    decision: tuple[str, str],
) -> None:
    path, expected = coded
    assert _seen(path, outcome, decision) == expected


def _seen(
    path: Path, outcome: tuple[str, str], decision: tuple[str, str]
) -> dict[str, Any]:
    used = {
        outcome[0]: "outcome",
        decision[0]: "decision",
        "sex": "group",
        "debt": "feature",
    }
    columns = pl.read_csv(path).columns
    answers: dict[str, Any] = {
        "file": str(path),
        "roles": {name: used.get(name, "left_out") for name in columns},
        "binary": True,
        "positive": dict([outcome, decision]),
        "flags": ["repaid", "approved", "late", "refused"],
    }
    out = path.with_name("seen.json")
    assert (
        command(["check", str(path), *audit_options(answers), "--json", str(out)]) == 0
    )
    seen = json.loads(out.read_text())
    return {
        "groups": seen["groups"],
        "direction": seen["direction"],
        "features": list(seen["features"]),
    }


def test_probabilities_of_groups_become_one_option() -> None:
    roles = {
        "repaid": "outcome",
        "p_white": "group",
        "p_black": "probability",
        "approved": "decision",
    }
    words = options({"file": "f.csv", "roles": roles})
    assert (
        words[words.index("--group-probabilities") + 1] == "white=p_white,black=p_black"
    )
    assert "--group" not in words
