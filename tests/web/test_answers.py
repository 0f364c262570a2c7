"""What is answered becomes options of the command line, and nothing that the page does not offer does."""

from typing import Any

import pytest

from improvable.errors import OptionError
from improvable.question.kinds import parse_names
from improvable.web.answers import CHOICES, DEFAULTS, check_question, check_roles, options, quoted, roles_of
from improvable.web.commands import shown
from improvable.web.preview import guess

ROLES = {"repaid": "outcome", "sex": "group", "lender score": "score", "name, first": "left_out", "income": "feature"}
ANSWERS: dict[str, Any] = {"file": "loans.csv", "roles": ROLES, "positive": "yes"}


def test_roles_become_options() -> None:
    words = options({**ANSWERS, "question": {**DEFAULTS, "capacity": "43", "better": "no_worse", "shrink": "10"}})
    text = " ".join(words)
    assert text.startswith("--outcome repaid --group sex --positive yes --score lender score --capacity 0.43")
    assert '--exclude "name, first"' in text
    assert text.endswith("--no-worse 0.01 --delta-fairness 0.1"), "forward is the default, and needs no option"


def test_the_papers_split_is_an_option() -> None:
    asked = {**DEFAULTS, "capacity": "43", "procedure": "split"}
    assert options({**ANSWERS, "question": asked})[-2:] == ["--scheme", "split"]


def test_decisions_get_the_same_share() -> None:
    roles = {"repaid": "outcome", "sex": "group", "approved": "decision"}
    assert "--decision approved --capacity same" in " ".join(options({"file": "f.csv", "roles": roles}))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"repaid": "feature"}, "how each person fared"),
        ({"sex": "feature"}, "groups to compare"),
        ({"lender score": "feature"}, "must be one column"),
        ({"income": "decision"}, "must be one column"),
        ({"income": "outcome"}, "are all"),
    ],
)
def test_roles_that_make_no_question_are_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_roles({**ROLES, **changed}, "")


@pytest.mark.parametrize(
    ("name", "value"),
    [("rule", "os:system"), ("rule", "module:object"), ("accuracy", "--help"), ("capacity", "x"), ("margin", "1e9"),
     ("procedure", ""), ("capacity", "nan"), ("alpha", "60"), ("capacity", "0")],
)  # fmt: skip
def test_only_what_the_page_offers_is_accepted(name: str, value: str) -> None:
    given = {**DEFAULTS, "capacity": "10", name: value}
    if value == "":
        assert check_question(given, roles_of(ANSWERS))[name] == DEFAULTS[name]
        return
    with pytest.raises(OptionError):
        check_question(given, roles_of(ANSWERS))


def test_no_rule_of_the_page_is_code() -> None:
    assert not [rule for rule in CHOICES["rule"] if ":" in rule]


@pytest.mark.parametrize("name", ["age", "income, net", 'the "good" one', " spaced "])
def test_names_survive_the_command_line(name: str) -> None:
    assert parse_names(quoted(name)) == [name.strip()]


def test_a_command_can_be_pasted() -> None:
    assert shown(["audit", "it's.csv", "--rule", "linear"]) == "improvable audit 'it'\"'\"'s.csv' --rule linear"


def test_a_feature_whose_name_resembles_a_role_is_no_role() -> None:
    columns = [
        {"name": "wtloss_elixhauser", "kind": "number", "values": 2, "unique": False},
        {"name": "race", "kind": "text", "values": 300, "unique": False},
        {"name": "approved", "kind": "text", "values": 2, "unique": False},
        {"name": "risk_score", "kind": "number", "values": 500, "unique": False},
    ]
    assert guess(columns) == {"approved": "decision"}
