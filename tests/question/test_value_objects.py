"""Claim, Test, Read and Groups ask what flat arguments ask, to the last bit."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

import improvable
from conftest import Case
from flat import flat_audit, flat_compare
from improvable.question.protocol import asked_identity, declare
from improvable.question.settings import ELSEWHERE, OBJECTS, SETTINGS, Settings, asked

FLAT: dict[str, Any] = {
    "selection": "burden", "lower_is_better": True, "ask": "accuracy", "delta_accuracy": {"a": 0.1, "b": 0.0},
    "no_worse": 0.1, "delta_fairness": 0.2, "form": "difference", "gap": "absolute", "protected": ["a"],
    "overall": {"a": 1.0, "b": 2.0}, "scheme": "split", "repetitions": 3, "train_fraction": 0.3, "draws": 500,
    "alpha": 0.1, "ties": "strict", "method": "delta", "train_rows": 500, "positive": {"y": "yes"},
    "outcome_range": [0, 9], "direction": "as stated", "na": ["9"], "strip": True, "drop_missing": True,
    "separator": ";", "encoding": "latin-1", "decimal": ",", "sheet": "two", "engine": "arrow", "duplicates": "keep",
    "group": ["g", "h"], "groups": ["a", "b"], "cross": True, "min_group": 5, "small": "pool",
}  # fmt: skip
PLAIN: dict[str, Any] = {"outcome": "y", "group": "g", "status_quo": "d"}


def in_objects(flat: dict[str, Any]) -> dict[str, Any]:
    """The same settings, in the objects that have them."""
    out = {}
    for argument, kind in OBJECTS.items():
        named = {one.name: ELSEWHERE.get(one.name, one.name) for one in fields(kind)}
        out[argument] = kind(**{field: flat[name] for field, name in named.items() if name in flat})
    return {name: value for name, value in flat.items() if name not in FLAT} | out


def test_every_field_of_an_object_is_a_setting_with_the_same_default() -> None:
    named = {ELSEWHERE.get(one.name, one.name): one for kind in OBJECTS.values() for one in fields(kind)}
    assert set(named) == set(FLAT), "every field is tried below"
    for name, one in named.items():
        assert name == "group" or one.default in (SETTINGS[name].default, ()), name


@pytest.mark.parametrize("name", [None, *FLAT])
def test_an_object_asks_what_an_argument_asks(name: str | None) -> None:
    flat = PLAIN if name is None else PLAIN | {name: FLAT[name]}
    one, other = Settings(**asked(flat)), Settings(**asked(in_objects(flat)))
    assert declare(one) == declare(other)
    assert asked_identity(one) == asked_identity(other)


def test_all_at_once() -> None:
    one, other = Settings(**asked(PLAIN | FLAT)), Settings(**asked(in_objects(PLAIN | FLAT)))
    assert declare(one) == declare(other)
    assert Settings(**asked(PLAIN | {"form": "ratio", "claim": improvable.Claim(form="difference")})).form == (
        "difference"
    ), "an argument that is left at its default says nothing"


def compared(**options: Any) -> improvable.Comparison:
    return flat_compare(Case(seed=1, rows=600).frame(), outcome="count", status_quo="now", candidate="new", **options)


def audited(**options: Any) -> improvable.Audit:
    return flat_audit(
        improvable.datasets.care_management(2_000, seed=1), outcome="gagne_sum_t", rule="linear",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1), features=["gagne_sum_tm1"], **options,
    )  # fmt: skip


def test_a_comparison_is_the_same() -> None:
    flat = compared(group="group", groups=["a", "b"], draws=300, delta_accuracy=0.1, protected=["a"], strip=True)
    grouped = compared(
        group=improvable.Groups("group", only=["a", "b"]),
        claim=improvable.Claim(delta_accuracy=0.1, protected=["a"]),
        test=improvable.Test(draws=300),
        read=improvable.Read(strip=True),
    )
    assert flat.to_dict() == grouped.to_dict()


def test_an_audit_is_the_same() -> None:
    flat = audited(group="race", min_group=10, repetitions=2, draws=300, no_worse=0.05, drop_missing=True)
    grouped = audited(
        group=improvable.Groups("race", min_group=10),
        claim=improvable.Claim(no_worse=0.05),
        test=improvable.Test(repetitions=2, draws=300),
        read=improvable.Read(drop_missing=True),
    )
    assert flat.to_dict() == grouped.to_dict()


@pytest.mark.parametrize(
    ("ask", "options", "message"),
    [
        (compared, {"draws": 300, "test": improvable.Test(draws=400)}, "`draws` is given twice"),
        (audited, {"min_group": 3, "group": improvable.Groups("race", min_group=4)}, "`min_group` is given twice"),
        (compared, {"claim": {"form": "ratio"}}, "`claim` is a dict. Give improvable.Claim"),
        (compared, {"test": improvable.Test(repetitions=9)}, "Test has `repetitions`, which `compare` does not take"),
        (compared, {"read": improvable.Read(duplicates="keep")}, "Read has `duplicates`, which `compare` does not"),
        (compared, {"claim": improvable.Claim(form="rati")}, "`form` is 'rati'. Did you mean 'ratio'"),  # type: ignore[arg-type]
    ],
)
def test_what_contradicts_is_refused(ask: Callable[..., Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        ask(**{"group": "group" if ask is compared else "race", **options})


@pytest.mark.parametrize("name", ["selection", "lower_is_better"])
def test_what_the_data_mean_cannot_be_changed_without_them(name: str) -> None:
    result = compared(group="group", draws=200)
    assert name not in result.question.claim.to_dict()
    assert name in result.question.to_dict()
    with pytest.raises(improvable.OptionError, match=f"'{name}' cannot be changed without the data"):
        result.with_claim(**{name: SETTINGS[name].default})
