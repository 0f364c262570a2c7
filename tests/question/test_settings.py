"""Settings are declared once: signatures, options, sections, schema, identity and pages
agree with the fields.
"""

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import typer.main

import improvable
from improvable.cli import app, run
from improvable.cli.options import PANELS, options_of, parsed
from improvable.errors import one_of
from improvable.question.claim import Claim
from improvable.question.design import make_design
from improvable.question.options import FLAG, SECTIONS, Setting
from improvable.question.protocol import (
    asked_identity,
    declare,
    digest_of,
    from_declaration,
)
from improvable.question.settings import (
    ELSEWHERE,
    OBJECTS,
    SETTINGS,
    About,
    Constraints,
    Groups,
    Read,
    Settings,
    Test,
    section_keys,
)
from other_settings import OTHER

FIELDS = {field.name: field for field in fields(Settings)}
HELD = {
    ELSEWHERE.get(one.name, one.name)
    for kind in OBJECTS.values()
    for one in fields(kind)
} - {"group"}
ELSEWHERE_SAID = {one.name for one in fields(About)} | {
    "challenge",
    "challenge_source",
    "rule_source",
    "seal",
}
COMPARED = {
    name for name, setting in SETTINGS.items() if "compare" in setting.commands
} | {"status_quo"}
PUBLIC: list[tuple[Callable[..., Any], set[str], set[str], int]] = [
    (
        improvable.audit,
        set(SETTINGS),
        {"data", "n_jobs", "run_folder", "claim", "test", "constraints", "read"},
        22,
    ),
    (
        improvable.compare,
        COMPARED,
        {"data", "n_jobs", "candidate", "claim", "test", "read"},
        17,
    ),
]


@pytest.mark.parametrize(
    ("function", "settings", "others", "most"), PUBLIC, ids=["audit", "compare"]
)
def test_public_signatures_are_those_of_the_fields(
    function: Callable[..., Any], settings: set[str], others: set[str], most: int
) -> None:
    parameters = inspect.signature(function).parameters
    flat = settings - HELD - ELSEWHERE_SAID
    assert set(parameters) == flat | others
    assert len(parameters) <= most
    for name in flat:
        required = SETTINGS[name].required
        declared: Any = FIELDS[name].type
        assert parameters[name].annotation == (
            declared | Groups if name == "group" else declared
        ), name
        assert parameters[name].default == (
            inspect.Parameter.empty if required else SETTINGS[name].default
        ), name


def described(documented: Any, title: str) -> set[str]:
    text = re.split(
        rf"^{title}\n-+\n", inspect.getdoc(documented) or "", flags=re.MULTILINE
    )[1]
    lines = re.findall(
        r"^(\w[\w, ]*) : ", re.split(r"\n\w+\n-+\n", text)[0], flags=re.MULTILINE
    )
    return {name for line in lines for name in line.split(", ")}


def test_every_parameter_is_described() -> None:
    for kind in (*OBJECTS.values(), About):
        assert described(kind, "Attributes") == {one.name for one in fields(kind)}
    assert described(improvable.audit, "Parameters") == set(
        inspect.signature(improvable.audit).parameters
    )


def test_objects_sections_and_panels_are_the_same_groups() -> None:
    held = {
        "groups": Groups,
        "constraints": Constraints,
        "claim": Claim,
        "test": Test,
        "read": Read,
        "report": About,
    }
    beside = {
        "claim": {"accuracy", "fairness"},
        "test": {"seed", "challenge", "challenge_source", "seal"},
    }
    for section, kind in held.items():
        names = {ELSEWHERE.get(one.name, one.name) for one in fields(kind)} - {"group"}
        assert names | beside.get(section, set()) == {
            one.name for one in SETTINGS.values() if one.section == section
        }
    assert [panel.lower().replace(" ", "_") for panel in PANELS.values()] == list(
        SECTIONS
    )


@pytest.mark.parametrize("command", ["audit", "compare", "power"])
def test_every_setting_of_a_command_is_an_option_with_its_help(command: str) -> None:
    options = getattr(typer.main.get_command(app), "commands")[command].params  # noqa: B009
    shown = {
        option.opts[0]: option.help
        for option in options
        if option.param_type_name == "option"
    }
    taken = options_of(command)
    assert len(taken) > 20
    for setting in taken:
        assert shown[setting.flag] == (setting.flag_help or setting.help)


def text_of(setting: Setting) -> Any:
    """A value that is not the default, as typer hands it over."""
    if setting.kind is FLAG:
        return True
    if setting.choices:
        return setting.choices[-1]
    values: dict[Any, Any] = {int: 3, float: 0.25, list[str]: ["one", "other"]}
    values[str] = re.split(",? or ", setting.kind.example)[0] or "text"
    return values[setting.kind.option]


@pytest.mark.parametrize("command", ["audit", "compare", "power"])
def test_every_option_reaches_its_setting(command: str) -> None:
    taken = options_of(command)
    nothing = {
        setting.name: False if setting.kind is FLAG else None for setting in taken
    }
    for setting in taken:
        found = parsed(taken, nothing | {setting.name: text_of(setting)})
        assert setting.name in found
        assert found[setting.name] != setting.default or setting.name not in SETTINGS, (
            setting.name
        )


CHOSEN = [name for name, setting in SETTINGS.items() if setting.choices]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_wrong_choice_is_one_line(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    setting = SETTINGS[name]
    command = ["audit", "rows.csv", "--outcome", "y", "--group", "g", "--decision", "d"]
    assert run([*command, setting.flag, "zzz"]) == 2
    out, err = capsys.readouterr()
    listed = one_of(map(repr, setting.choices))
    assert (out, err) == (
        "",
        f"improvable: {setting.flag} is 'zzz'. Choose {listed}.\n",
    )
    assert run([*command, setting.flag, f"{setting.choices[0]}s"]) == 2
    assert f"Did you mean {setting.choices[0]!r}" in capsys.readouterr().err
    wrong: dict[str, Any] = {name: "zzz"}
    with pytest.raises(improvable.OptionError, match=f"^`{name}` is 'zzz'. Choose"):
        make_design(replace(PLAIN, **wrong))


PLAIN = Settings(outcome="y", group="g", status_quo={"score": "s", "capacity": 0.1})


ABOUT: dict[str, Any] = {
    "organization": "A Hospital",
    "system": "Care Score",
    "author": "N. N.",
    "date": "Nov 15, 2026",
    "labels": {"y": "conditions"},
    "simulated": True,
}


def test_words_of_a_report_leave_a_run_as_it_is_and_change_its_digest() -> None:
    assert set(ABOUT) == set(section_keys("report"))
    declared = declare(PLAIN)
    assert declared is not None
    assert "report" not in declared
    for name, value in ABOUT.items():
        said = replace(PLAIN, **{name: value})
        assert asked_identity(said) == asked_identity(PLAIN), name
        now = declare(said)
        assert now is not None
        assert now["report"] == {name: value}
        assert from_declaration(now) == from_declaration(
            declared | {"report": {name: value}}
        )
        assert digest_of(now) != digest_of(declared), name
        assert make_design(said).question.about == {name: value}
    assert make_design(PLAIN).question.about == {}


@pytest.mark.parametrize(
    "wrong", [{"labels": {"y": 3}}, {"labels": "y"}, {"author": 3}]
)
def test_words_of_a_report_are_texts(wrong: dict[str, Any]) -> None:
    with pytest.raises(improvable.OptionError, match="It must be"):
        make_design(replace(PLAIN, **wrong))


def test_each_setting_but_the_engine_tells_runs_apart() -> None:
    assert set(OTHER) == set(SETTINGS) - {"engine", "train_fraction", *ABOUT}
    for name, value in OTHER.items():
        assert asked_identity(replace(PLAIN, **{name: value})) != asked_identity(
            PLAIN
        ), name
    assert asked_identity(replace(PLAIN, engine="spark")) == asked_identity(PLAIN)
    assert asked_identity(replace(PLAIN, train_fraction=0.3)) == asked_identity(
        PLAIN
    ), "it means nothing here"
    split = replace(PLAIN, scheme="split")
    assert asked_identity(replace(split, train_fraction=0.3)) != asked_identity(split)


def test_runs_are_the_same_however_they_are_asked() -> None:
    ways: list[dict[str, Any]] = [
        {"status_quo": improvable.threshold("s", capacity=0.1)},
        {"capacity": 0.1},
        {"group": ["g"]},
        {"accuracy": ["calibration"]},
        {"repetitions": np.int64(7), "alpha": np.float64(0.05)},
        {"exclude": []},
        {"monotone": {}},
    ]
    for way in ways:
        assert asked_identity(replace(PLAIN, **way)) == asked_identity(PLAIN), way
    declared = declare(PLAIN)
    assert declared is not None
    assert asked_identity(from_declaration(declared)) == asked_identity(PLAIN)
    json.dumps(asked_identity(PLAIN))


def test_a_fraction_in_a_protocol_goes_with_the_split() -> None:
    declared = declare(replace(PLAIN, scheme="split", train_fraction=0.6))
    assert declared is not None
    assert declared["test"]["train_fraction"] == 0.6
    assert from_declaration(declared).train_fraction == 0.6
    for scheme in ({}, {"scheme": "forward"}):
        with pytest.raises(
            improvable.OptionError,
            match=r"\[test\] train_fraction goes with scheme = 'split'",
        ):
            from_declaration(declared | {"test": {"train_fraction": 0.6} | scheme})


def test_functions_that_do_otherwise_are_other_runs() -> None:
    one, same, two = (
        replace(PLAIN, status_quo=function)
        for function in (
            lambda rows: rows["s"] > 1,
            lambda rows: rows["s"] > 1,
            lambda rows: rows["s"] > 2,
        )
    )
    assert asked_identity(one) == asked_identity(same) != asked_identity(two)
