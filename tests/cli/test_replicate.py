"""`improvable replicate`: on simulated data, on a file of the published schema, on the held-out third."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import improvable
from improvable.cli import run
from improvable.studies.replication import published, source, study
from improvable.studies.replication.study import Effort

TINY = Effort(splits=2, draws=200, trees=3, repetitions=20, repetition_draws=50, rows=4_000)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "FAST", TINY)


def rows_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    plain = json.loads((folder / "replication.json").read_text())
    return {section["name"]: section["rows"] for section in plain["sections"]}


@pytest.mark.usefixtures("tiny")
def test_the_whole_command_on_a_file_of_the_published_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    improvable.datasets.care_management(4_000, seed=5).write_csv(tmp_path / "data.csv")
    arguments = ["replicate", "--data", str(tmp_path / "data.csv"), "--fast", "--out", str(tmp_path / "out")]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "but not that file" in out
    assert "Section 6: forest, conditions of the following year" in out
    assert "SIMULATED" not in out
    sections = rows_of(tmp_path / "out")
    assert set(sections) == {*published.TABLES, study.COST}
    (shown,) = [r for r in sections["next_year/lasso"] if r["quantity"] == "gap, candidate"]
    assert shown["published"] == "0.26 (0.05 to 0.63)"
    assert float(shown["difference"]) == pytest.approx(float(shown["ours"]) - 0.26, abs=0.011)
    edges = [r for r in sections[study.MAIN] if r["quantity"].startswith("largest cut")]
    assert [r["published"] for r in edges] == ["0.64", ""]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"replication.md", "figure-2.svg", "figure-3.svg", "figure-cost.svg", "appendix-e.svg"} <= names
    assert improvable.load(tmp_path / "out" / "next_year-forest").question.claim.gap == "absolute"

    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    monkeypatch.setattr(sys.modules["improvable.procedure.running"], "run_splits", _nothing_to_run)
    assert run(arguments) == 0, "a finished replication is read, not run"
    assert {path: path.read_bytes() for path in before} == before


def _nothing_to_run(design: Any, plan: Any, sample: Any, which: Any, *_: Any, **__: Any) -> list[Any]:
    assert not list(which)
    return []


@pytest.mark.usefixtures("tiny")
def test_the_outcome_is_never_a_covariate(tmp_path: Path) -> None:
    assert run(["replicate", "--fast", "--out", str(tmp_path)]) == 0
    features = improvable.load(tmp_path / "same_year-linear").to_dict()["features"]
    assert len(features) <= 148
    assert "gagne_sum_tm1" not in features
    assert "gagne_sum_tm1" in improvable.load(tmp_path / "next_year-linear").to_dict()["features"]
    assert "SIMULATED data" in (tmp_path / "replication.md").read_text()


@pytest.mark.usefixtures("tiny")
def test_the_held_out_third_beside_the_paper(shared_data: Path, tmp_path: Path) -> None:
    file = shared_data / "obermeyer_holdout.csv"
    assert run(["replicate", "--data", str(file), "--fast", "--out", str(tmp_path)]) == 0
    rows = {row["quantity"]: row for row in rows_of(tmp_path)[study.HELD_OUT]}
    assert rows["accuracy of white, candidate"]["ours"] == "7.46"
    assert rows["accuracy of black, status quo"]["ours"] == "6.56"
    assert rows["gap, status quo"]["ours"] == "1.37"
    assert rows["verdict at 5%"]["difference"] == "same"
    assert {row["difference"] for row in rows_of(tmp_path)[study.COST]} == {"", "same"}


def test_the_published_file_is_known_by_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    improvable.datasets.care_management(500, seed=5).write_csv(tmp_path / "data.csv")
    digest = hashlib.sha256((tmp_path / "data.csv").read_bytes()).hexdigest()
    monkeypatch.setattr(source, "PUBLISHED_SHA256", digest)
    assert "the published data, 500 rows (SHA-256 agrees)" in source.read_study(tmp_path / "data.csv").words


def test_a_file_of_another_schema_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_text("race,risk_score_t\nblack,1\n")
    assert run(["replicate", "--data", str(tmp_path / "data.csv"), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "neither the published file nor its held-out third: it has no column 'gagne_sum_t'" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("table", list(published.TABLES))
def test_published_tables_are_consistent(table: str) -> None:
    """The largest component p-value is the split's, and their median the one printed."""
    place = published.COLUMNS.index
    rows = published.TABLES[table]
    assert len(rows) == 7
    for row in rows:
        assert row[place("p")] == max(row[place(name)] for name in ("p_black", "p_white", "p_fairness"))
    median = sorted(row[place("p")] for row in rows)[3]
    printed = published.MEDIAN_P[table]
    assert printed == ("< 0.0001" if median == 0 else f"{median:.4f}")
