"""A run to attack, made once."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest
import vl_convert

import improvable
from improvable.cli import run
from protocol_room import OPTIONS


@pytest.fixture(scope="module", autouse=True)
def pictures() -> Iterator[None]:
    """To verify a page draws it again: the same text is the same picture, and to draw
    one is half of that time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", cache(vl_convert.vegalite_to_svg))
        yield


@pytest.fixture(scope="session")
def sealed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a protocol, its seal, a run and its results."""
    place = tmp_path_factory.mktemp("sealed")
    people = improvable.datasets.care_management(3_000, seed=4).with_columns(
        gagne_sum_t=(pl.col("gagne_sum_t") > 2).cast(int)
    )
    people.select(
        "gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female"
    ).write_csv(place / "people.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["init", "care.toml", "--data", "people.csv", *OPTIONS]) == 0
        assert (
            run(
                ["seal", "care.toml", "--data", "people.csv", "--challenge", "docket 1"]
            )
            == 0
        )
        assert (
            run(
                [
                    "audit",
                    "care.toml",
                    "--data",
                    "people.csv",
                    "--out",
                    "run",
                    "--json",
                    "result.json",
                ]
            )
            == 0
        )
    return place


@pytest.fixture
def sealed(sealed_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to be attacked."""
    place = Path(shutil.copytree(sealed_run, tmp_path / "sealed"))
    monkeypatch.chdir(place)
    return place
