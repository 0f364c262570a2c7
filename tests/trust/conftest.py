"""A room with data and a protocol, in which people who distrust each other work."""

from pathlib import Path

import pytest

import improvable
from improvable.cli import run
from protocol_room import OPTIONS


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people = improvable.datasets.care_management(3_000, seed=4)
    people = people.select("gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female", "cost_t")
    people.write_csv("people.csv")
    people.reverse().write_parquet("people.parquet")
    assert run(["audit", "people.csv", *OPTIONS, "--write-protocol", "care.toml"]) == 0
    return tmp_path
