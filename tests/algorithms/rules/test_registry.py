"""Every rule is known by its line in the registry, and so is code of somebody else's
inside it.
"""

from dataclasses import dataclass
from typing import Any

import pytest

import improvable
from docs.generate import rules
from improvable.algorithms.constraints import CAPACITY, MONOTONE, SELECTION_GAP
from improvable.algorithms.rules import (
    FAMILIES,
    RULES,
    Family,
    as_rule,
    is_own_rule,
    keeps_state,
    own_modules,
    rule_names,
    runs_foreign_code,
)
from improvable.cli import run
from improvable.cli.options import rules_help
from improvable.cli.output import warn_of_code
from improvable.errors import OptionError


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_rule_says_what_it_is_and_what_it_honors(family: Family) -> None:
    rule = as_rule(family.usage)
    assert rule.name.startswith(family.name)
    assert family.words
    assert CAPACITY in rule.honors <= {CAPACITY, MONOTONE, SELECTION_GAP}  # type: ignore[attr-defined]
    assert family.example or family.alone


def test_help_names_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert all(
        f"{family.usage} ({family.words})" in words for family in FAMILIES.values()
    )


@dataclass(frozen=True)
class First:
    """Selects by one feature: a rule as the file of a new one would hold it."""

    column: str = ""
    honors = frozenset({CAPACITY})

    @property
    def name(self) -> str:
        return f"first:{self.column}" if self.column else "first"

    def select(
        self, training: improvable.Training, status_quo: improvable.Algorithm
    ) -> Any:
        return improvable.threshold(
            self.column or training.features[0], capacity=training.constraints.capacity
        )


def test_a_new_rule_is_one_file_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its family registered, names, help, the table of the docs and audits know
    it.
    """
    monkeypatch.setattr(First, "__module__", "improvable.algorithms.rules.first")
    monkeypatch.setitem(
        FAMILIES, "first", Family("first", "selects by one feature", First, "age")
    )
    monkeypatch.setitem(RULES, "first", First())
    assert "first:age" in rule_names()
    assert own_modules("first:age") == []
    assert not runs_foreign_code(as_rule("first:age"))
    assert own_modules("tournament:first,blend:0.5:their_rules:rule") == ["their_rules"]
    assert "first (selects by one feature)" in " ".join(rules_help().split())
    assert (
        "| `first`, `first:age` | selects by one feature | capacity |" in rules.table()
    )
    with pytest.raises(OptionError, match=r"there is no rule 'firs'.*first"):
        as_rule("firs")
    people = improvable.datasets.care_management(1_000, seed=1)
    for rule in ("first", "first:gagne_sum_tm1", "tournament:linear,first"):
        result = improvable.audit(
            people,
            outcome="gagne_sum_t",
            group="race",
            status_quo=improvable.threshold("risk_score_t", capacity=0.2),
            features=["gagne_sum_tm1", "cost_other_tm1"],
            rule=rule,
            test=improvable.Test(draws=100, repetitions=1, scheme="split"),
        )
        assert result.to_dict()["rule"] == rule


@pytest.mark.parametrize("name", [name for name in rule_names() if "GROUP" not in name])
def test_every_name_that_is_proposed_is_a_rule(name: str) -> None:
    assert as_rule(name).name.startswith(name)
    assert own_modules(name) == []


@pytest.mark.parametrize(
    "name", ["forest", "ridge", "linear_program", "blend", "tournament"]
)
def test_a_wrong_setting_says_how_to_write_it(name: str) -> None:
    with pytest.raises(OptionError):
        as_rule(f"{name}:=")


def test_rules_without_a_setting_take_none() -> None:
    with pytest.raises(OptionError, match="The rule linear takes no setting"):
        as_rule("linear:3")
    assert set(RULES) < set(FAMILIES)


class Theirs:
    name = "theirs"

    def select(self, training: Any, status_quo: Any) -> None:
        return None


@dataclass(frozen=True)
class Twice:
    """A wrapper that holds its rule under a name of its own."""

    base: Any
    name: str = "twice"

    def select(self, training: Any, status_quo: Any) -> Any:
        return self.base.select(training, status_quo)


Twice.__module__ = "improvable.algorithms.rules.twice"


def test_a_new_wrapper_does_not_hide_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line in the registry is enough: neither a list of wrappers nor the name of a
    field has to know it.
    """
    line = Family(
        "twice",
        "a rule, twice",
        lambda _, rule: Twice(rule),
        "linear",
        split=lambda setting: ("", [setting]),
    )
    monkeypatch.setitem(FAMILIES, "twice", line)
    assert as_rule("twice:ridge:10").name == "twice"
    for name in (
        "twice:their_rules:rule",
        "blend:0.5:twice:their_rules:rule",
        "tournament:linear,twice:their_rules:rule",
    ):
        assert own_modules(name) == ["their_rules"]
        warn_of_code({"rule": {"name": name}})
        assert "is Python code by its author, and will run" in " ".join(
            capsys.readouterr().err.split()
        )
    for known in (is_own_rule, runs_foreign_code, keeps_state):
        assert known(Twice(Twice(Theirs())))
        assert not known(Twice(as_rule("linear")))
