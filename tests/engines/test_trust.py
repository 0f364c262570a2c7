"""A run through an engine can be declared and verified."""

from pathlib import Path

import polars as pl
import pytest

import improvable
from improvable.cli import run
from improvable.trust.verification import read_facts

OPTIONS = [
    *(
        "--outcome",
        "gagne_sum_t",
        "--group",
        "race",
        "--score",
        "risk_score_t",
        "--capacity",
        "0.1",
        "--rule",
        "linear",
    ),
    *(
        "--features",
        "gagne_sum_tm1,dem_female",
        "--row-id",
        "person",
        "--draws",
        "200",
        "--repetitions",
        "2",
    ),
]


def test_a_run_on_pieces_is_verified_and_can_be_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    people = improvable.datasets.care_management(6_000, seed=1).with_columns(
        person=pl.int_range(6_000)
    )
    Path("people").mkdir()
    for piece in range(3):
        people.slice(2_000 * piece, 2_000).write_parquet(f"people/{piece}.parquet")
    assert (
        run(
            [
                "audit",
                "people",
                "--engine",
                "arrow",
                *OPTIONS,
                "--out",
                "run",
                "--json",
                "run.json",
            ]
        )
        == 0
    )
    assert run(["verify", "run", "--data", "people", "--unsealed"]) == 0
    assert "line 2 of people.ledger" in capsys.readouterr().out
    assert run(["init", "care.toml", "--data", "people", *OPTIONS]) == 0
    assert "engine" not in Path("care.toml").read_text()
    assert (
        run(["audit", "care.toml", "--data", "people", "--json", "declared.json"]) == 0
    )
    first, second = (read_facts(name) for name in ("run.json", "declared.json"))
    assert first["repetitions"] == second["repetitions"]


def test_a_sealed_run_on_pieces_is_that_of_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    people = improvable.datasets.care_management(4_000, seed=1).with_columns(
        person=pl.int_range(4_000)
    )
    Path("people").mkdir()
    for piece in range(2):
        people.slice(2_000 * piece, 2_000).write_parquet(f"people/{piece}.parquet")
    people.reverse().write_csv("people.csv")
    assert run(["init", "care.toml", "--data", "people.csv", *OPTIONS]) == 0
    assert (
        run(["seal", "care.toml", "--data", "people", "--challenge", "round 4411"]) == 0
    )
    for data, out in (("people", "pieces"), ("people.csv", "file")):
        assert run(["audit", "care.toml", "--data", data, "--out", out]) == 0
    one, two = (
        {path.name: path.read_bytes() for path in Path(out).iterdir()}
        for out in ("pieces", "file")
    )
    assert one.pop("provenance.json") != two.pop("provenance.json"), (
        "each has its own data and ledger"
    )
    assert one == two
    assert run(["verify", "pieces", "--data", "people.csv"]) == 0
    assert "Sealed" in capsys.readouterr().out
