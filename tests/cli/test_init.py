"""`improvable init` writes a protocol with guessed roles, guesses no meaning, and says
what to fill in.
"""

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from improvable.cli import run
from improvable.cli.init import as_declaration, declare_options, guess_roles
from improvable.cli.options import completed
from improvable.question.options import SECTIONS
from improvable.question.protocol import declare, digest_of, from_declaration
from improvable.question.settings import SETTINGS, Settings, section_keys
from improvable.trust.seal import LEFT_OUT, protocol_text
from other_settings import OTHER
from people import make_people
from protocol_room import said


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people = make_people(1_500).drop("region", "holes")
    people = people.with_columns(
        hired=(pl.col("score") > 1.5).cast(pl.Int8), performance=pl.col("visits")
    )
    people.drop("score", "cost", "visits").write_csv("people.csv")


def test_columns_are_guessed_and_the_protocol_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["init", "new.toml", "--data", "people.csv"]) == 0
    printed = capsys.readouterr().out
    for line in (
        "[columns] outcome = 'performance'",
        "[columns] group = ['group']",
        "[status_quo] decision = 'hired'",
        "Then: improvable check new.toml --data people.csv",
    ):
        assert line in printed
    assert "Fill in" not in printed, (
        "an amount, and decisions of 0 and 1, say what they mean"
    )
    guessed = tomllib.loads(Path("new.toml").read_text())
    assert guessed["columns"]["outcome"] == "performance"
    assert (guessed["rule"]["name"], guessed["rule"]["capacity"]) == (
        "aim",
        "status_quo",
    )
    assert run(["check", "new.toml", "--data", "people.csv"]) == 0
    options = [
        "--outcome",
        "performance",
        "--group",
        "group",
        "--decision",
        "hired",
        "--capacity",
        "same",
    ]
    assert run(["init", "options.toml", "--data", "people.csv", *options]) == 0
    mine, theirs = (
        tomllib.loads(Path(name).read_text()) for name in ("new.toml", "options.toml")
    )
    guesses = ("weight", "cluster", "row_id")
    mine["columns"] = {
        key: value for key, value in mine["columns"].items() if key not in guesses
    }
    assert digest_of(mine) == digest_of(theirs), (
        "what is a comment is what holds if nothing is said"
    )


@pytest.mark.parametrize("name", [name for name in OTHER if SETTINGS[name].in_protocol])
def test_each_option_of_an_audit_is_declared(name: str) -> None:
    """The protocol asks what the option asks of `improvable audit`."""
    options = {"outcome": "y", "group": ["g"], "score": "s", "capacity": 0.1}
    value = OTHER[name]
    if name == "status_quo":
        options = {"outcome": "y", "group": ["g"], "decision": value}
    else:
        options[name] = value
    given = declare_options(options)
    declared = tomllib.loads(protocol_text(as_declaration(given), "new.toml"))
    assert declare(from_declaration(declared)) == declare(
        Settings(**completed(options))
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--outcome", "performanse"], "Did you mean 'performance'"),
        (["--scheme", "forwards"], "Did you mean 'forward'"),
    ],
)
def test_options_are_checked_against_the_data(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--outcome", "performance", "--group", "group", "--decision", "hired"]
    assert run(["init", "new.toml", "--data", "people.csv", *asked, *options]) == 2
    assert message in said(capsys)
    assert not Path("new.toml").exists()


def test_a_column_that_is_named_ends_guessing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is not said stays to be filled in."""
    assert run(["init", "new.toml", "--data", "people.csv", "--group", "group"]) == 0
    printed = capsys.readouterr().out
    assert "Check what was guessed" not in printed
    for place in ("[columns] outcome", "[status_quo] decision"):
        assert f"  {place}: " in printed
    assert tomllib.loads(Path("new.toml").read_text())["columns"] == {
        "group": ["group"]
    }


def test_options_stand_beside_guesses(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--alpha", "0.1", "--capacity", "0.2"]
    assert run(["init", "new.toml", "--data", "people.csv", *asked]) == 0
    assert "[columns] outcome = 'performance'" in capsys.readouterr().out
    protocol = tomllib.loads(Path("new.toml").read_text())
    assert (protocol["test"]["alpha"], protocol["rule"]["capacity"]) == (0.1, 0.2)


def test_what_a_value_means_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    people = pl.read_csv("people.csv").with_columns(
        default=pl.when(pl.int_range(pl.len()) < 5)
        .then(None)
        .when(pl.col("performance") > 2)
        .then(pl.lit("no"))
        .otherwise(pl.lit("yes")),
        hired=pl.when(pl.col("hired") == 1).then(pl.lit("in")).otherwise(pl.lit("out")),
    )
    people.drop("performance").write_csv("people.csv")
    assert run(["init", "new.toml", "--data", "people.csv"]) == 0
    printed = capsys.readouterr().out
    assert (
        "Whom should the algorithm select: those whose default is 'no' or 'yes'?"
        in printed
    )
    assert "Which hired means selected: 'in' or 'out'?" in printed
    assert "Values are missing: 5 in 'default'. true leaves these rows out." in printed
    text = Path("new.toml").read_text()
    assert text.count("# FILL IN. ") == 2
    assert not {"positive", "drop_missing"} & tomllib.loads(text)["read"].keys()
    assert run(["check", "new.toml", "--data", "people.csv"]) == 2
    # which is fast
    filled = text.replace("# drop_missing = false", "drop_missing = true").replace(
        '"aim"', '"linear"'
    )
    meant = 'positive = { "default" = "no", "hired" = "in" }\n# '
    Path("new.toml").write_text(filled.replace("# positive = ", meant, 1))
    assert run(["audit", "new.toml", "--data", "people.csv"]) == 0


def test_an_outcome_of_0_and_1_is_asked_about_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of `default` nobody but the user knows whether 1 is whom to select; a decision of
    1 is a selection.
    """
    people = pl.read_csv("people.csv").with_columns(
        default=(pl.col("performance") < 2).cast(pl.Int8)
    )
    people.drop("performance").write_csv("people.csv")
    assert run(["init", "new.toml", "--data", "people.csv"]) == 0
    assert "those whose default is '0' or '1'?" in capsys.readouterr().out
    assert run(["check", "new.toml", "--data", "people.csv"]) == 2
    assert "have a lower mean 'default'" in said(capsys)


def test_a_score_does_not_say_how_many_it_selects(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_people(1_500).drop("region", "holes").rename(
        {"visits": "performance"}
    ).write_csv("people.csv")
    assert run(["init", "new.toml", "--data", "people.csv"]) == 0
    assert (
        "[status_quo] capacity: The share of people that the score selects"
        in capsys.readouterr().out
    )
    assert run(["check", "new.toml", "--data", "people.csv"]) == 2
    assert "[status_quo] has score." in capsys.readouterr().err


def test_without_data_everything_is_to_be_filled_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["init", "new.toml"]) == 0
    printed = capsys.readouterr().out
    for key in ("[columns] outcome", "[columns] group", "[status_quo] decision"):
        assert f"  {key}: " in printed
    assert "improvable check new.toml --data DATA" in printed
    assert run(["check", "new.toml", "--data", "people.csv"]) == 2
    assert "the protocol does not say [columns] outcome" in capsys.readouterr().err


def test_every_setting_of_a_protocol_is_there_with_what_it_means() -> None:
    text = protocol_text({}, "new.toml")
    for section, words in SECTIONS.items():
        assert f"# {words}\n[{section}]" in text
        for key, setting in section_keys(section).items():
            if setting.name not in LEFT_OUT:
                assert f"{key} = " in text
                assert setting.help in text
    defaults = "\n".join(
        line.removeprefix("# ")
        for line in text.splitlines()
        if " = <" not in line and " = " in line
    )
    assert len(tomllib.loads(defaults)) > 20, "a line without its # is TOML"


@pytest.mark.parametrize("name", ['a "quoted" name', "line\nbreak", "x\x7f", "]#="])
def test_a_name_cannot_leave_its_line(name: str) -> None:
    column: dict[str, Any] = {"name": name, "kinds": ["no", "yes"], "missing": 3}
    given, missing = guess_roles([column], {name: "outcome"})
    text = protocol_text(as_declaration(given), "new.toml", missing)
    assert tomllib.loads(text)["columns"] == {"outcome": name}


def test_a_protocol_is_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.toml").write_text("kept")
    assert run(["init", "new.toml"]) == 2
    assert "already exists" in said(capsys)
    assert Path("new.toml").read_text() == "kept"
