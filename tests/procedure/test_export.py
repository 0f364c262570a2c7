"""From the exported rows alone, every estimate of an audit can be computed again."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.cli import run
from people import make_people

ASKED: dict[str, Any] = {
    "outcome": "visits",
    "group": "group",
    "status_quo": improvable.threshold("score", capacity=0.2),
    "rule": "linear",
    "features": ["signal", "small", "holes"],
    "repetitions": 3,
    "draws": 200,
}


def mean(rows: list[dict[str, Any]], column: str, weight: str | None) -> float:
    """The mean outcome of the selected, row by row."""
    above = below = 0.0
    for row in rows:
        w = row[weight] if weight else 1.0
        above += w * row["visits"] * row[column]
        below += w * row[column]
    return above / below


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_id": "person"},
        {"scheme": "split"},
        {"weight": "weight"},
        {"cluster": "clinic"},
    ],
)
def test_every_utility_share_and_gap_follows_from_the_rows(
    options: dict[str, Any], tmp_path: Path
) -> None:
    people = make_people(1_200)
    result = flat_audit(people, **ASKED, **options)
    result.export_rows(tmp_path / "rows.parquet")
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    weight = options.get("weight")
    name = options.get("row_id", "row")
    for repetition in result.facts["repetitions"]:
        rows = frame.filter(
            pl.col("block") > 0, repetition=repetition["repetition"]
        ).to_dicts()
        assert len(rows) == len({row[name] for row in rows}) == repetition["rows"]
        values: dict[str, dict[str, float]] = {"status_quo": {}, "candidate": {}}
        for group in ("a", "b"):
            own = [row for row in rows if row["group"] == group]
            for algorithm, found in values.items():
                found[group] = mean(own, algorithm, weight)
                assert found[group] == pytest.approx(
                    repetition["accuracy"][group][algorithm]  # type: ignore[literal-required]
                )
                total = sum(row[weight] if weight else 1.0 for row in own)
                chosen = sum(
                    (row[weight] if weight else 1.0) * row[algorithm] for row in own
                )
                assert repetition["share_selected_by_group"][group][
                    algorithm
                ] == pytest.approx(chosen / total)
        for algorithm, found in values.items():
            assert repetition["gap"][algorithm] == pytest.approx(  # type: ignore[literal-required]
                abs(found["a"] - found["b"])
            )
        assert {row["block"] for row in rows} == (
            {1} if "scheme" in options else {1, 2, 3, 4}
        )
    taught = frame.filter(block=0)
    assert taught.select("status_quo", "candidate").null_count().row(0) == (
        len(taught),
        len(taught),
    )
    assert len(frame) == 3 * 1_200
    if name == "row":
        numbered = people.with_columns(row=pl.int_range(1, 1_201))
        joined = frame.join(numbered, on="row", suffix="_data")
        assert len(joined) == len(frame)
        assert (
            joined["visits"].cast(float).to_list()
            == joined["visits_data"].cast(float).to_list()
        )


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    result = flat_audit(make_people(600), **ASKED)
    with pytest.raises(improvable.OptionError, match=r"\.csv or \.parquet"):
        result.export_rows(tmp_path / "rows.xlsx")
    result.save(tmp_path / "kept")
    loaded = improvable.load(tmp_path / "kept")
    assert isinstance(loaded, improvable.Audit)
    with pytest.raises(improvable.OptionError, match="loaded audit has no rows"):
        loaded.export_rows(tmp_path / "rows.csv")
    make_people(600).write_parquet(tmp_path / "data.parquet")
    through = flat_audit(tmp_path / "data.parquet", engine="arrow", **ASKED)
    with pytest.raises(improvable.OptionError, match="in memory"):
        through.export_rows(tmp_path / "rows.csv")
    assert not (tmp_path / "rows.csv").exists()


def test_the_command_writes_them_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_people(600).write_csv(tmp_path / "people.csv")
    command = [
        "audit",
        str(tmp_path / "people.csv"),
        "--outcome",
        "visits",
        "--group",
        "group",
        "--score",
        "score",
    ]
    command += [
        "--capacity",
        "0.2",
        "--rule",
        "linear",
        "--features",
        "signal,small",
        "--repetitions",
        "1",
    ]
    command += ["--draws", "200", "--jobs", "1", "--export-rows"]
    assert run([*command, str(tmp_path / "rows.csv")]) == 0
    assert pl.read_csv(tmp_path / "rows.csv").columns == [
        "row",
        "group",
        "visits",
        "repetition",
        "block",
        "status_quo",
        "candidate",
    ]
    assert run([*command, str(tmp_path / "rows.txt")]) == 2
    assert ".csv or .parquet" in capsys.readouterr().err
