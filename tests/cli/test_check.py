"""`improvable check`, and the same look in an audit's JSON and reports."""

import json
from pathlib import Path

import polars as pl
import pytest

import improvable
from improvable.cli import run

ASKED = (
    "patients.csv --outcome gagne_sum_t --group race --score risk_score_t --capacity "
    "0.1 --rule linear"
)
FEATURES = ["--features", "gagne_sum_tm1,cost_*_tm1,dem_female"]


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    improvable.datasets.care_management(3_000, seed=2).write_csv(
        tmp_path / "patients.csv"
    )
    return tmp_path


def test_check_shows_every_column_and_records_nothing(
    patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *ASKED.split(), *FEATURES]) == 0
    out = capsys.readouterr().out
    for column in pl.read_csv("patients.csv").columns:
        assert column in out
    assert "risk_score_t: the status quo decides by it" in out
    assert "All features together tell race with an AUC of" in out
    assert [path.name for path in patients.iterdir()] == ["patients.csv"]


def test_an_audit_carries_the_same_look(
    patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *ASKED.split(), *FEATURES, "--json", "-"]) == 0
    seen = json.loads(capsys.readouterr().out)
    small = ["--repetitions", "1", "--draws", "200"]
    assert (
        run(
            [
                "audit",
                *ASKED.split(),
                *FEATURES,
                *small,
                "--json",
                "-",
                "--report",
                "r.html",
                "--out",
                "run",
            ]
        )
        == 0
    )
    facts = json.loads(capsys.readouterr().out)
    assert facts["look"] == {
        name: part for name, part in seen.items() if name != "warnings"
    }
    assert improvable.load("run").to_dict()["look"] == facts["look"]
    page = Path("r.html").read_text(encoding="utf-8")
    assert "The data, before they were divided" in page
    assert "the status quo decides by it" in page


def test_check_refuses_the_answer_in_one_line(
    patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pl.read_csv("patients.csv").with_columns(
        later=pl.col("gagne_sum_t") * 2 + 1
    )
    frame.write_csv("patients.csv")
    assert run(["check", *ASKED.split()]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "'later' determines the outcome 'gagne_sum_t' exactly" in error
    assert "--exclude later" in error
    assert run(["audit", *ASKED.split()]) == 2
    assert (
        run(["check", *ASKED.split(), "--exclude", "later", "--json", "seen.json"]) == 0
    )
    assert json.loads(Path("seen.json").read_text())["left_out"]["later"] == "excluded"


def test_check_takes_a_protocol(
    patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "care.toml", "--data", *ASKED.split(), *FEATURES]) == 0
    assert run(["check", "care.toml", "--data", "patients.csv"]) == 0
    assert "Left out" in capsys.readouterr().out
