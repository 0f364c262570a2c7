"""Protocols: complete, checked key by key, the same however they are written."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import improvable
from improvable.question.options import SECTIONS
from improvable.question.protocol import declare, digest_of, from_declaration
from improvable.question.settings import SETTINGS, Settings, section_keys
from improvable.trust.seal import protocol_text, read_protocol, write_protocol

FULL = Settings(
    outcome="y",
    group=["g", "h"],
    status_quo=improvable.threshold("s", capacity=0.1),
    rule="tournament:linear,ridge:10",
    features=["a*", "b"],
    exclude=["c"],
    target="t",
    accuracy=["calibration", "selection_rate"],
    fairness=["calibration:z"],
    delta_accuracy={"x": 0.1, "y": 0.0},
    delta_fairness=0.2,
    form="difference",
    gap="absolute",
    protected=["x"],
    groups=["x", "y"],
    cross=True,
    min_group=5,
    weight="w",
    cluster="c",
    scheme="split",
    repetitions=9,
    train_fraction=0.3,
    draws=500,
    alpha=0.1,
    capacity=0.2,
    monotone={"a1": "+"},
    selection_gap=0.05,
    group_blind=False,
    seed=4,
    drop_missing=True,
)


@pytest.mark.parametrize(
    "chosen",
    [
        FULL,
        Settings(outcome="y", group="g", status_quo="d"),
        Settings(
            outcome="y",
            group="g",
            status_quo=improvable.threshold("s", above=4),
            overall="population",
        ),
        Settings(
            outcome='od"d\\\n',
            group="g\t\x7f",
            status_quo="d",
            overall={"a": 0.5, "b": 0.5},
        ),
    ],
)
def test_a_protocol_survives_its_file(chosen: Settings, tmp_path: Path) -> None:
    declared = declare(chosen)
    assert declared is not None
    write_protocol(declared, tmp_path / "p.toml")
    back = read_protocol(tmp_path / "p.toml")
    assert {section: keys for section, keys in back.items() if keys} == declared
    assert declare(from_declaration(back)) == declared


@given(st.text(min_size=1).filter(lambda text: text.strip() == text))
@settings(max_examples=50)
def test_any_column_name_can_be_declared(name: str) -> None:
    import tomllib

    declared = declare(
        Settings(outcome=name, group=[f"{name}!"], status_quo=f"{name}?")
    )
    assert declared is not None
    written = tomllib.loads(protocol_text(declared, "p.toml"))
    assert {section: keys for section, keys in written.items() if keys} == declared


def test_every_setting_is_in_a_section() -> None:
    named = {
        setting.name
        for section in SECTIONS
        if section != "status_quo"
        for setting in section_keys(section).values()
    }
    assert named == set(SETTINGS) - {"status_quo", "challenge", "seal", "engine"}


def test_defaults_written_or_not_are_the_same_protocol() -> None:
    short = {
        "columns": {"outcome": "y", "group": "g"},
        "status_quo": {"decision": "d"},
        "rule": {"name": "forest"},
    }
    complete = declare(from_declaration(short))
    assert complete is not None
    assert digest_of(short) == digest_of(complete)
    assert digest_of(short) == digest_of(short | {"test": {"seed": 7}}), (
        "a seed is not part of what is declared"
    )
    assert digest_of(short) != digest_of(short | {"test": {"draws": 9_999}})


@pytest.mark.parametrize(
    "chosen",
    [
        Settings(outcome="y", group="g", status_quo=lambda rows: rows["s"] > 1),
        Settings(
            outcome="y",
            group="g",
            status_quo="d",
            accuracy=improvable.UTILITIES["calibration"],
        ),
        Settings(outcome="y", group="g", status_quo="d", rule=object()),
    ],
)
def test_objects_cannot_be_declared(chosen: Settings) -> None:
    assert declare(chosen) is None


GOOD: dict[str, Any] = {
    "columns": {"outcome": "y", "group": ["g"]},
    "status_quo": {"decision": "d"},
    "rule": {"name": "linear"},
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colums": {}}, r"no section \[colums\]. Did you mean 'columns'"),
        (
            {"rule": {"name": "linear", "feature": ["a"]}},
            "no key 'feature'. Did you mean 'features'",
        ),
        ({"columns": {"group": ["g"]}}, r"does not say \[columns\] outcome"),
        (
            {"status_quo": {"decision": "d", "score": "s"}},
            r"\[status_quo\] has decision, score",
        ),
        ({"status_quo": {}}, r"\[status_quo\] has nothing"),
        (
            {"test": {"repetitions": "seven"}},
            "repetitions is 'seven'. It must be a whole number",
        ),
        ({"test": {"repetitions": True}}, "repetitions is True"),
        (
            {"test": {"train_fraction": 0.3}},
            "train_fraction goes with scheme = 'split'",
        ),
        ({"groups": {"cross": "yes"}}, "cross is 'yes'. It must be true or false"),
        (
            {"columns": {"outcome": ["y"], "group": ["g"]}},
            r"outcome is \['y'\]. It must be text",
        ),
        ({"claim": {"delta_accuracy": [0.1]}}, r"delta_accuracy is \[0.1\]"),
        ({"test": 3}, "'test' is not a section"),
        (
            {"test": {"strip": True}},
            r"\[test\] has no key 'strip'. Write it in \[read\].",
        ),
    ],
)
def test_a_wrong_protocol_is_one_line(change: dict[str, Any], words: str) -> None:
    with pytest.raises(improvable.OptionError, match=words):
        from_declaration(GOOD | change)


def test_a_sealed_protocol_has_no_seed() -> None:
    with pytest.raises(
        improvable.OptionError, match="seed is in a protocol that is sealed"
    ):
        from_declaration(GOOD | {"test": {"seed": 3}}, challenge="docket")


def test_a_file_that_is_not_toml_or_is_there_already(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("[columns\n")
    with pytest.raises(improvable.OptionError, match="is not TOML"):
        read_protocol(tmp_path / "p.toml")
    with pytest.raises(improvable.StorageError, match="already exists"):
        write_protocol(GOOD, tmp_path / "p.toml")
    with pytest.raises(improvable.OptionError, match="there is no protocol"):
        read_protocol(tmp_path / "q.toml")
