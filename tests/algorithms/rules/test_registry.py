"""Every rule is known by its line in the registry, and so is code of somebody else's inside it."""

from dataclasses import dataclass
from typing import Any

import pytest

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
from improvable.cli.output import warn_of_code
from improvable.errors import OptionError


@pytest.mark.parametrize("name", [name for name in rule_names() if "GROUP" not in name])
def test_every_name_that_is_proposed_is_a_rule(name: str) -> None:
    assert as_rule(name).name.startswith(name)
    assert own_modules(name) == []


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.example])
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


def test_a_new_wrapper_does_not_hide_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line in the registry is enough: neither a list of wrappers nor the name of a field has to know it."""
    line = Family(lambda _, rule: Twice(rule), "linear", split=lambda setting: ("", [setting]))
    monkeypatch.setitem(FAMILIES, "twice", line)
    assert as_rule("twice:ridge:10").name == "twice"
    for name in ("twice:their_rules:rule", "drop:x:twice:their_rules:rule", "tournament:linear,twice:their_rules:rule"):
        assert own_modules(name) == ["their_rules"]
        warn_of_code({"rule": {"name": name}})
        assert "is Python code by its author, and will run" in " ".join(capsys.readouterr().err.split())
    for known in (is_own_rule, runs_foreign_code, keeps_state):
        assert known(Twice(Twice(Theirs())))
        assert not known(Twice(as_rule("linear")))
