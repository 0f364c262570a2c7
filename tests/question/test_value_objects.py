"""The value objects hold every setting that `audit` and `compare` do not take by
themselves.
"""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import improvable
from conftest import Case
from flat import grouped
from improvable.procedure.compare import run_comparison
from improvable.procedure.run import run_audit
from improvable.question.protocol import asked_identity, declare
from improvable.question.settings import ELSEWHERE, OBJECTS, SETTINGS, Settings, asked

FLAT: dict[str, Any] = {
    "selection": "burden",
    "lower_is_better": True,
    "ask": "accuracy",
    "delta_accuracy": {"a": 0.1, "b": 0.0},
    "delta_fairness": 0.2,
    "form": "difference",
    "gap": "absolute",
    "protected": ["a"],
    "overall": {"a": 1.0, "b": 2.0},
    "scheme": "split",
    "repetitions": 3,
    "train_fraction": 0.3,
    "draws": 500,
    "alpha": 0.1,
    "ties": "strict",
    "method": "delta",
    "train_rows": 500,
    "positive": {"y": "yes"},
    "outcome_range": [0, 9],
    "direction": "as stated",
    "na": ["9"],
    "strip": True,
    "drop_missing": True,
    "separator": ";",
    "encoding": "latin-1",
    "decimal": ",",
    "sheet": "two",
    "engine": "arrow",
    "duplicates": "keep",
    "groups": ["a", "b"],
    "cross": True,
    "min_group": 5,
    "probabilities": {"a": "p_a", "b": "p_b"},
    "assume": "group only",
    "known": "k",
    "rake": {"a": 0.4, "b": 0.6},
    "monotone": {"x": "+"},
    "selection_gap": 0.1,
    "group_blind": False,
    "unknown_outcomes": 0.1,
    "max_unknown": 0.1,
}
PLAIN: dict[str, Any] = {"outcome": "y", "group": "g", "status_quo": "d"}


def test_every_field_of_an_object_is_a_setting_with_the_same_default() -> None:
    named = {
        ELSEWHERE.get(one.name, one.name): one
        for kind in OBJECTS.values()
        for one in fields(kind)
    }
    assert set(named) == {*FLAT, "group"}, "every field is tried below"
    for name, one in named.items():
        assert name == "group" or one.default in (SETTINGS[name].default, ()), name


@pytest.mark.parametrize("name", [None, *FLAT])
def test_an_object_asks_what_a_setting_asks(name: str | None) -> None:
    flat = PLAIN if name is None else PLAIN | {name: FLAT[name]}
    one, other = Settings(**flat), Settings(**asked(grouped(flat)))
    assert declare(one) == declare(other)
    assert asked_identity(one) == asked_identity(other)


def test_all_at_once() -> None:
    assert declare(Settings(**PLAIN, **FLAT)) == declare(
        Settings(**asked(grouped(PLAIN | FLAT)))
    )


def compared(**options: Any) -> improvable.Comparison:
    return improvable.compare(
        Case(seed=1, rows=600).frame(),
        outcome="count",
        status_quo="now",
        candidate="new",
        **options,
    )


def audited(**options: Any) -> improvable.Audit:
    return improvable.audit(
        improvable.datasets.care_management(2_000, seed=1),
        outcome="gagne_sum_t",
        rule="linear",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        features=["gagne_sum_tm1"],
        **options,
    )


def test_a_comparison_is_that_of_its_settings() -> None:
    settings = Settings(
        outcome="count",
        status_quo="now",
        group="group",
        groups=["a", "b"],
        draws=300,
        delta_accuracy=0.1,
        protected=["a"],
        strip=True,
    )
    flat = run_comparison(Case(seed=1, rows=600).frame(), settings, "new")
    by_objects = compared(
        group=improvable.Groups("group", only=["a", "b"]),
        claim=improvable.Claim(delta_accuracy=0.1, protected=["a"]),
        test=improvable.Test(draws=300),
        read=improvable.Read(strip=True),
    )
    assert flat.to_dict() == by_objects.to_dict()


def test_an_audit_is_that_of_its_settings() -> None:
    settings = Settings(
        outcome="gagne_sum_t",
        rule="linear",
        status_quo={"score": "risk_score_t", "capacity": 0.1},
        features=["gagne_sum_tm1"],
        group="race",
        min_group=10,
        repetitions=2,
        draws=300,
        delta_accuracy=-0.05,
        drop_missing=True,
    )
    flat = run_audit(improvable.datasets.care_management(2_000, seed=1), settings)
    by_objects = audited(
        group=improvable.Groups("race", min_group=10),
        claim=improvable.Claim(delta_accuracy=-0.05),
        test=improvable.Test(repetitions=2, draws=300),
        read=improvable.Read(drop_missing=True),
    )
    assert flat.to_dict() == by_objects.to_dict()


@pytest.mark.parametrize(
    ("ask", "options", "message"),
    [
        (
            compared,
            {"claim": {"form": "ratio"}},
            "`claim` is a dict. Give improvable.Claim",
        ),
        (
            compared,
            {"test": improvable.Test(repetitions=9)},
            "Test has `repetitions`, which `compare` does not take",
        ),
        (
            compared,
            {"read": improvable.Read(duplicates="keep")},
            "Read has `duplicates`, which `compare` does not",
        ),
        (
            compared,
            {"claim": improvable.Claim(form="rati")},  # type: ignore[arg-type]
            "`form` is 'rati'. Did you mean 'ratio'",
        ),
    ],
)
def test_what_contradicts_is_refused(
    ask: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        ask(**{"group": "group" if ask is compared else "race", **options})


@pytest.mark.parametrize("name", ["selection", "lower_is_better"])
def test_what_the_data_mean_cannot_be_changed_without_them(name: str) -> None:
    result = compared(group="group", test=improvable.Test(draws=200))
    assert name not in result.question.claim.to_dict()
    assert name in result.question.to_dict()
    with pytest.raises(
        improvable.OptionError, match=f"'{name}' cannot be changed without the data"
    ):
        result.with_claim(**{name: SETTINGS[name].default})


@pytest.mark.parametrize(
    ("ask", "options", "message"),
    [
        (audited, {"draws": 500}, "`draws` is part of `test`: test=Test(draws=500)."),
        (
            audited,
            {"delta_accuracy": 0.1},
            "`delta_accuracy` is part of `claim`: claim=Claim(delta_accuracy=0.1).",
        ),
        (
            compared,
            {"strip": True},
            "`strip` is part of `read`: read=Read(strip=True).",
        ),
        (
            audited,
            {"group_blind": False},
            (
                "`group_blind` is part of `constraints`: "
                "constraints=Constraints(group_blin"
            ),
        ),
        (
            compared,
            {"groups": ["a"]},
            "`groups` is part of `group`: group=Groups(..., only=['a']).",
        ),
        (
            audited,
            {"system": "S"},
            (
                "`system` is part of a report: result.report(path, "
                "about=About(system='S'))."
            ),
        ),
        (
            audited,
            {"challenge": "c"},
            "`challenge` belongs to a protocol or to the command line: --challenge.",
        ),
        (
            audited,
            {"feature": ["x"]},
            "there is no argument `feature`. Did you mean 'features'?",
        ),
    ],
)
def test_a_setting_that_is_no_argument_is_told_where_it_goes(
    ask: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError) as refused:
        ask(group="group", **options)
    assert str(refused.value).startswith(message)


def test_a_report_is_told_what_it_is_about(tmp_path: Path) -> None:
    result = compared(group="group", test=improvable.Test(draws=200))
    about = improvable.About(organization="A Hospital", labels={"count": "conditions"})
    result.report(tmp_path / "report.md", about)
    result.report(
        tmp_path / "same.md",
        {"organization": "A Hospital", "labels": {"count": "conditions"}},
    )
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "A Hospital" in text
    assert "conditions" in text
    assert (tmp_path / "same.md").read_text(encoding="utf-8") == text
    assert "conditions" in result.summary(about=about)
    assert "conditions" in str(result.plot(about=about).spec)
    assert result.facts["about"] == {}
    with pytest.raises(improvable.OptionError, match=r"`author` is 3. It must be text"):
        result.report(tmp_path / "no.md", {"author": 3})
    with pytest.raises(
        improvable.OptionError,
        match=r"a key of about is 'auther'. Did you mean 'author'",
    ):
        result.report(tmp_path / "no.md", {"auther": "N. N."})


def test_tab_completion_offers_public_names_alone() -> None:
    assert dir(improvable) == sorted(improvable.__all__)
    assert not {"procedure", "data", "inference", "question"} & set(dir(improvable))
    assert callable(improvable.verify)
    assert callable(improvable.power.power_from_pilot)
    assert callable(improvable.plots.dumbbells)
    with pytest.raises(
        AttributeError, match="module 'improvable' has no attribute 'nothing'"
    ):
        getattr(improvable, "nothing")  # noqa: B009
