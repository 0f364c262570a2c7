"""A room with data and a protocol, in which people who distrust each other work."""

import shutil
from pathlib import Path

import pytest

import improvable
from improvable.cli import run
from protocol_room import OPTIONS


@pytest.fixture(scope="session")
def furnished_room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; tests work in a copy."""
    place = tmp_path_factory.mktemp("room")
    people = improvable.datasets.care_management(3_000, seed=4)
    people = people.select(
        "gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female", "cost_t"
    )
    people.write_csv(place / "people.csv")
    people.reverse().write_parquet(place / "people.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["init", "care.toml", "--data", "people.csv", *OPTIONS]) == 0
    return place


@pytest.fixture
def room(furnished_room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(furnished_room, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
