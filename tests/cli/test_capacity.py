"""`--capacity same` and `--ties`, from the command line to the protocol."""

import json
from pathlib import Path

import polars as pl
import pytest

from improvable.cli import run
from people import make_people

COLUMNS = ["--outcome", "visits", "--group", "group", "--features", "signal,small"]
SHORT = ["--rule", "linear", "--repetitions", "1", "--draws", "200"]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = make_people(1_500).with_columns(
        chosen=(pl.col("score") > 1.5).cast(pl.Int8)
    )
    chosen.drop("region", "holes").write_csv("people.csv")


@pytest.mark.usefixtures("room")
def test_the_same_share_for_a_column_of_decisions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = [
        *COLUMNS,
        "--decision",
        "chosen",
        "--capacity",
        "same",
        *SHORT,
    ]
    assert run(["audit", "people.csv", *asked, "--json", "-"]) == 0
    facts = json.loads(capsys.readouterr().out)
    shares = facts["repetitions"][0]["share_selected"]
    assert facts["capacity"] == "status_quo"
    assert shares["candidate"]["train"] == pytest.approx(
        shares["status_quo"]["train"], abs=0.01
    )
    assert run(["init", "care.toml", "--data", "people.csv", *asked]) == 0
    assert 'capacity = "status_quo"' in Path("care.toml").read_text()
    assert 'ties = "random"' in Path("care.toml").read_text()
    capsys.readouterr()
    assert run(["audit", "care.toml", "--data", "people.csv", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["repetitions"] == facts["repetitions"]


@pytest.mark.usefixtures("room")
def test_a_score_alone_selects_no_share_to_be_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run(
            [
                "audit",
                "people.csv",
                *COLUMNS,
                "--score",
                "score",
                "--capacity",
                "same",
                *SHORT,
            ]
        )
        == 2
    )
    assert (
        "--capacity same is the share that the status quo selects"
        in capsys.readouterr().err
    )
    assert (
        run(
            [
                "audit",
                "people.csv",
                *COLUMNS,
                "--decision",
                "chosen",
                "--capacity",
                "some",
                *SHORT,
            ]
        )
        == 2
    )
    assert "--capacity is 'some'. Write 0.03 or same." in capsys.readouterr().err
    assert (
        run(
            [
                "audit",
                "people.csv",
                *COLUMNS,
                "--decision",
                "chosen",
                "--capacity",
                "3",
                *SHORT,
            ]
        )
        == 2
    )
    assert "capacity is 3. It is a share of the rows" in capsys.readouterr().err
