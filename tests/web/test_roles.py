"""What a value means is asked, of each column, in words; nothing is chosen, and what
makes no question is refused.
"""

from typing import Any

import pytest

from improvable.errors import OptionError
from improvable.web.answers import answers_from, form_of, hint_of, number, roles_of


def column(name: str, *levels: str, kind: str = "text", **facts: Any) -> dict[str, Any]:
    base = {
        "name": name,
        "kind": kind,
        "missing": 0,
        "values": len(levels),
        "levels": list(levels),
    }
    return {
        **base,
        "kinds": list(levels),
        "alike": [],
        "first": [],
        "id": False,
        **facts,
    }


FOUND: dict[str, Any] = {
    "rows": 900,
    "roles": {"default": "outcome", "sex": "group", "approved": "decision"},
    "columns": [
        column("default", "no", "yes"),
        column("sex", "F", "M"),
        column("approved", "no", "yes"),
        column("score", kind="number", values=400, least=300, most=850),
        column("cost", kind="number", values=700),
        column("loan", kind="text", values=900, id=True),
        column("always", "yes"),
        column("state", "a", "b", "c"),
        column("flag", "0", "1", kind="number"),
        column(
            "answer", "No", "Yes", "yes", kinds=["No", "Yes"], alike=[["Yes", "yes"]]
        ),
    ],
}
PLACES = {one["name"]: str(place) for place, one in enumerate(FOUND["columns"])}


def form(
    outcome: str = "default",
    group: str = "sex",
    algorithm: str = "approved",
    **rest: str,
) -> dict[str, str]:
    named = {"outcome": outcome, "group": group, "algorithm": algorithm}
    return {role: PLACES[name] for role, name in named.items()} | {
        f"{field.partition('__')[0]}-{PLACES[field.partition('__')[2]]}"
        if "__" in field
        else field: value
        for field, value in rest.items()
    }


def test_columns_are_proposed_and_meanings_are_not() -> None:
    proposed = form_of({}, FOUND)
    assert (proposed["outcome"], proposed["group"], proposed["algorithm"]) == (
        "0",
        "1",
        "2",
    )
    assert not any(name.startswith(("outcome-", "decision-")) for name in proposed)
    assert (
        not proposed["better"]
        + proposed["cut"]
        + proposed["top"]
        + proposed["drop"]
        + proposed["spelling"]
    )


def test_each_column_has_its_own_meaning() -> None:
    answers = answers_from(form(outcome__default="no", decision__approved="yes"), FOUND)
    assert answers["positive"] == {"default": "no", "approved": "yes"}
    assert form_of(answers, FOUND) | form(
        outcome__default="no", decision__approved="yes"
    ) == form_of(answers, FOUND)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            form(),
            (
                "whom should the algorithm select: those whose 'default' is 'no', or "
                "'yes'?"
            ),
        ),
        (form(outcome__default="maybe"), "whom should the algorithm select"),
        (form(outcome__default="no"), "which value of 'approved' means selected?"),
        (form("cost"), "those with a higher 'cost', or a lower one?"),
        (form("loan"), "'loan' is different in every row: it is an id"),
        (form("always"), "'always' is the same for everyone: yes."),
        (
            form("state"),
            (
                "'state' holds 'a', 'b', 'c'. An outcome is an amount or one of two "
                "values."
            ),
        ),
        (
            form(outcome__default="no", algorithm="always"),
            "'always' decides the same for everyone",
        ),
        (
            form(outcome__default="no", algorithm="state"),
            "A decision is one of two values",
        ),
        (
            form(outcome__default="no", algorithm="loan"),
            "'loan' is different in every row",
        ),
        (form(outcome__default="no", algorithm="score"), "whom does the score select?"),
        (
            form(outcome__default="no", algorithm="score", cut="top", top="x"),
            "the share that it selects",
        ),
        (
            form(outcome__default="no", algorithm="score", cut="top", top="100"),
            "the share that it selects",
        ),
        (
            form(outcome__default="no", algorithm="score", cut="least", least=""),
            "lowest score",
        ),
        (
            form(outcome__default="no", algorithm="answer"),
            "'Yes' and 'yes' of 'answer' differ only in capitals",
        ),
        (form(group="default"), "chosen twice"),
        ({**form(), "outcome": ""}, "how each person fared"),
        ({**form(), "group": "99"}, "groups to compare"),
        ({**form(), "algorithm": "x"}, "the algorithm in use"),
        (
            form(
                outcome__default="no",
                decision__approved="yes",
                role__cost="weight",
                role__score="weight",
            ),
            "are both",
        ),
    ],
)
def test_what_makes_no_question_is_said(given: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError) as refused:
        answers_from(given, FOUND)
    assert said in str(refused.value)


def test_spellings_are_one_or_apart() -> None:
    given = form(
        outcome__default="no",
        algorithm="answer",
        decision__answer="Yes",
        spelling="one",
    )
    assert answers_from(given, FOUND)["positive"] == {"default": "no", "answer": "Yes"}
    with pytest.raises(OptionError, match="two values"):
        answers_from({**given, "spelling": "apart"}, FOUND)


def test_values_that_mean_missing_are_no_values() -> None:
    given = form(outcome__default="no", algorithm="state", decision__state="a", na="c")
    assert answers_from(given, FOUND)["positive"] == {"default": "no", "state": "a"}


def test_two_values_have_no_second_switch() -> None:
    """A direction cannot be turned twice: an amount is higher or lower, two values are
    named, and never both.
    """
    given = form("flag", outcome__flag="0", decision__approved="yes", better="lower")
    assert answers_from(given, FOUND)["better"] == ""
    assert answers_from(form("cost", decision__approved="yes", better="lower"), FOUND)[
        "positive"
    ] == {"approved": "yes"}


def test_names_are_hints() -> None:
    for name in ("Default", "two_year_recid", "isFraud", "CHURN", "days late"):
        assert "A lender selects those without it" in hint_of(name, "outcome")
    assert hint_of("translated", "outcome") == ""
    assert hint_of("repaid", "outcome") == ""
    assert "not selected" in hint_of("was_denied", "decision")
    roles = roles_of(
        answers_from(form(outcome__default="yes", decision__approved="no"), FOUND)
    )
    assert roles.positive == {"default": "yes", "approved": "no"}, (
        "a hint answers nothing"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2,5", 2.5),
        (" 2.5 % ", 2.5),
        ("10", 10),
        (",5", 0.5),
        ("1.000,5", None),
        ("1e3", None),
        ("nan", None),
        ("", None),
    ],
)
def test_numbers_may_have_a_decimal_comma(text: str, value: float | None) -> None:
    assert number(text) == value
