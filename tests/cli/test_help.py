"""Help that cuts nothing, has its options in panels, and small texts that are whole
sentences.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer

import improvable
from flat import flat_audit, flat_compare
from improvable.cli import app, run
from improvable.cli.options import ORDER, PANELS, options_of
from pages import DOCS

COMMANDS: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009


def shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run([*arguments, "--help"]) == 0
    return capsys.readouterr().out


def test_the_list_of_commands_cuts_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = shown([], capsys).splitlines()
    for name, command in COMMANDS.items():
        first = (command.help or "").partition("\n\n")[0]
        assert first.endswith((".", "?"))
        assert any(line.split(maxsplit=1) == [name, first] for line in lines), (
            f"{name}: one line of 80 columns"
        )


def panels(text: str) -> dict[str, str]:
    heads = re.split(rf"^({'|'.join(ORDER)}):$", text, flags=re.MULTILINE)
    return dict(zip(heads[1::2], heads[2::2], strict=True))


@pytest.mark.parametrize("command", ["audit", "compare", "check", "power"])
def test_options_stand_in_panels(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = panels(shown([command], capsys))
    assert list(found) == [name for name in ORDER if name in found]
    for setting in options_of("audit" if command == "check" else command):
        assert re.search(
            rf"^  {setting.flag}\b", found[PANELS[setting.section]], flags=re.MULTILINE
        ), setting.flag
    if command == "audit":
        assert set(found) == set(ORDER)
        assert found["Options"].split() == [
            "-h,",
            "--help",
            "Show",
            "this",
            "message",
            "and",
            "exit.",
        ]
    assert not re.search(r"<(str|int|float|list)", " ".join(found.values())), (
        "types of Python"
    )


def test_a_mistyped_command_is_answered_in_whole_sentences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["audits"]) == 2
    assert (
        capsys.readouterr().err
        == "improvable: No such command 'audits'. Did you mean 'audit'? Try --help.\n"
    )


def test_a_file_that_is_not_there_is_not_replaced_by_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prog.py").write_text("")
    command = ["--outcome", "y", "--group", "g", "--decision", "d"]
    assert run(["audit", "loans.csv", *command]) == 2
    err = capsys.readouterr().err
    assert "prog.py" not in err
    assert err.endswith("Check the path.\n")
    Path("loan.csv").write_text("y\n1\n")
    assert run(["audit", "loans.csv", *command]) == 2
    assert "Did you mean 'loan.csv'?" in capsys.readouterr().err


def people(levels: int) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "y": rng.integers(0, 2, 1_200),
            "g": [None, *(f"g{k % levels}" for k in range(1_199))],
            "d": rng.integers(0, 2, 1_200),
            "score": rng.normal(size=1_200),
            "x": rng.normal(size=1_200),
        }
    )


def test_what_lets_a_candidate_read_the_score_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    people(2).write_csv("people.csv")
    command = shlex.split(
        "check people.csv --outcome y --group g --score score --capacity 0.2 "
        "--drop-missing --direction 'as stated'"
    )
    assert run([*command, "--features", "x"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "score: the status quo decides by it; to let a candidate read it: name it in "
        "--features."
    ) in out
    assert run(command) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "score: the status quo decides by it; to let a candidate read it: --features "
        "'*'."
    ) in out


WITHOUT_PYARROW = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


def test_the_page_about_rules_needs_no_pyarrow() -> None:
    code = (
        (DOCS / "how-to" / "choose-a-rule.md")
        .read_text(encoding="utf-8")
        .split("```py\n")[2]
        .split("```")[0]
    )
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            WITHOUT_PYARROW + code.replace("draws=1_000", "draws=100"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "shown" in done.stdout.lower()


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("accuracy", "classification_rate"),
        ("recall", "true_positive_rate"),
        ("sensitivity", "true_positive_rate"),
        ("specificity", "true_negative_rate"),
        ("precision", "positive_predictive_value"),
    ],
)
@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
def test_names_that_people_try_are_the_utilities_they_mean(
    name: str, ours: str
) -> None:
    frame = people(2).drop_nulls().with_columns(e=pl.col("y"))
    asked: dict[str, Any] = {
        "outcome": "y",
        "group": "g",
        "status_quo": "d",
        "candidate": "e",
        "draws": 100,
    }
    one, other = (
        flat_compare(frame, **asked, accuracy=called) for called in (name, ours)
    )
    assert one.to_dict() == other.to_dict()
    assert one.facts["accuracy_utilities"][0]["name"] == ours


def test_an_unknown_utility_lists_them_all() -> None:
    from improvable.question.catalog import UTILITIES, as_utility

    with pytest.raises(improvable.OptionError) as refused:
        as_utility("recal")
    assert "Did you mean 'recall'" in str(refused.value)
    assert all(name in str(refused.value) for name in UTILITIES)


@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
def test_same_is_the_share_of_the_status_quo() -> None:
    asked: dict[str, Any] = {
        "outcome": "y",
        "group": "g",
        "status_quo": "d",
        "rule": "linear",
        "features": ["x", "score"],
        "draws": 100,
        "repetitions": 1,
        "duplicates": "keep",
        "direction": "as stated",
    }
    frame = people(2).drop_nulls()
    one, other = (
        flat_audit(frame, capacity=share, **asked) for share in ("same", "status_quo")
    )
    assert one.to_dict() == other.to_dict()
