"""`python -m replication`: on simulated data, on a file of the published schema, on the
held-out third.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import improvable
from replication import published, source, study, tables
from replication.__main__ import main
from replication.study import Effort

TINY = Effort(
    splits=2, draws=200, trees=3, simulations=20, simulation_draws=50, rows=2_500
)


TRAINED = ("next_year-forest-cost", "next_year-forest-cost-rule-for-cost")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "FAST", TINY)


def rows_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    plain = json.loads((folder / "replication.json").read_text())
    return {section["name"]: section["rows"] for section in plain["sections"]}


@pytest.mark.paper(
    "Section 6",
    "Figure 2",
    "Figure 3",
    "Figure 5",
    "Figure 6",
    "Figure 7",
    "Appendix H.3",
)
@pytest.mark.usefixtures("tiny")
def test_the_whole_command_on_a_file_of_the_published_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    improvable.datasets.care_management(2_500, seed=5).write_csv(tmp_path / "data.csv")
    arguments = [
        "--data",
        str(tmp_path / "data.csv"),
        "--fast",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "but not that file" in " ".join(out.split())
    assert "Section 6: forest, conditions of the following year" in out
    assert "SIMULATED" not in out
    assert "DIFFERENT" not in out
    assert (
        "Not comparable with the published verdict: the file is not the published one"
        in out
    )
    sections = rows_of(tmp_path / "out")
    assert set(sections) == {*published.TABLES, study.COST, study.TARGETED}
    (shown,) = [
        r for r in sections["next_year/lasso"] if r["quantity"] == "gap, candidate"
    ]
    assert shown["published"] == "0.26 (0.05 to 0.63)"
    assert float(shown["difference"]) == pytest.approx(
        float(shown["ours"]) - 0.26, abs=0.011
    )
    edges = [r for r in sections[study.MAIN] if r["quantity"].startswith("largest cut")]
    assert [r["published"] for r in edges] == ["0.64", ""]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    figures = ("2", "same-year", "3", "cost", "cost-rule")
    assert {"replication.md", *(f"figure-{name}.svg" for name in figures)} <= names
    assert {f"appendix-e-{size}.svg" for size in (100, 200, 400)} <= names
    assert {
        improvable.load(tmp_path / "out" / name).to_dict()["target"] for name in TRAINED
    } == {
        "gagne_sum_t",
        "cost_t",
    }
    facts = improvable.load(tmp_path / "out" / "next_year-forest").to_dict()
    letter = {
        "scheme": "split",
        "train_fraction": 0.5,
        "gap_statistic": "absolute",
        "ties": "strict",
    }
    assert {name: facts[name] for name in letter} == letter, "the paper to the letter"

    before = {
        path: path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    monkeypatch.setattr(
        sys.modules["improvable.procedure.run"], "in_parallel", _nothing_to_run
    )
    assert main(arguments) == 0, "a finished replication is read, not run"
    assert {path: path.read_bytes() for path in before} == before


def _nothing_to_run(work: Any, jobs: Any, *_: Any) -> None:
    assert not list(jobs)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny replication on simulated data."""
    folder = tmp_path_factory.mktemp("simulated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "FAST", TINY)
        assert main(["--fast", "--out", str(folder)]) == 0
    return folder


def test_the_outcome_is_never_a_covariate(simulated: Path) -> None:
    features = improvable.load(simulated / "same_year-linear").to_dict()["features"]
    assert len(features) <= 148
    assert "gagne_sum_tm1" not in features
    assert (
        "gagne_sum_tm1"
        in improvable.load(simulated / "next_year-linear").to_dict()["features"]
    )
    assert "SIMULATED data" in (simulated / "replication.md").read_text()


@pytest.mark.paper(
    "Table 1",
    "Table 2",
    "Table 3",
    "Table 4",
    "Table 5",
    "Table 6",
    "Appendix H.1",
    "Appendix H.2",
)
def test_every_split_stands_beside_the_published_one(simulated: Path) -> None:
    plain = json.loads((simulated / "replication.json").read_text())
    document = (simulated / "replication.md").read_text()
    for section in plain["sections"]:
        if section["name"] not in published.TABLES:
            assert not section["splits"]
            continue
        theirs = [
            tuple(row["values"])
            for row in section["splits"]
            if row["whose"] == "published"
        ]
        assert theirs == list(published.TABLES[section["name"]])
        audit = improvable.load(simulated / section["name"].replace("/", "-"))
        assert isinstance(audit, improvable.Audit)
        ours = [row["values"] for row in section["splits"] if row["whose"] == "ours"]
        assert [row[-1] for row in ours] == [
            split.p_value for split in audit.repetitions
        ]
        facts = audit.to_dict()["repetitions"]
        assert [row[3] for row in ours] == [
            one["accuracy"]["white"]["status_quo"] for one in facts
        ]
    assert len(re.findall(r"^\| \d \| published \|", document, re.MULTILINE)) == 42
    assert (
        "| 3 | published | 6.67 | 7.55 | 0.0001 | 5.15 | 7.25 | < 0.0001 | 1.52 | 0.30 "
        "| < 0.0001 | 0.0001 |"
    ) in document
    assert "[-1, 1] x [0, 1]" in document
    assert plain["sections"][0]["not_comparable_because"].startswith(
        "the data are simulated; 2 splits, 200 draws"
    )
    section_5 = {row["quantity"]: row for row in plain["section_5"]}
    assert (
        section_5["Proposition 1: splits enough at 5%, independent p-values"][
            "difference"
        ]
        == "same"
    )
    calibrated = {
        row["quantity"]: row["published"] for row in plain["appendix_e"]["rows"]
    }
    assert (
        calibrated["variance of Gamma_1, scaled to a variance of 10 for Gamma_0"]
        == "10.83"
    )


def test_a_verdict_is_compared_on_the_published_data_with_the_published_effort_alone() -> (  # noqa: E501
    None
):
    people = improvable.datasets.care_management(3_000, seed=1)
    result = improvable.compare(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.1),
        test=improvable.Test(draws=200),
        claim=improvable.Claim(gap="absolute"),
    )
    other = "not rejected" if result.reject else "rejected"
    assert tables.verdict_row(other, result, "").difference == "DIFFERENT"
    assert (
        tables.verdict_row(other, result, "fewer rows").difference == "not comparable"
    )
    assert Effort().differs == ""
    assert "forests of 3 trees" in TINY.differs
    data = source.StudyData(people, "the published data", covariates=True)
    how = (Path(), 0, 1, "cost_t", print)
    assert study.Run(data, Effort(), *how).differs == ""
    assert study.Run(data, TINY, *how).differs == TINY.differs


def test_a_target_that_is_no_column_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--fast", "--target", "cost", "--out", str(tmp_path / "out")]) == 2
    assert (
        "`target` is 'cost', which is no column of the data" in capsys.readouterr().err
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.paper("Section 6")
@pytest.mark.usefixtures("tiny")
def test_the_held_out_third_beside_the_paper(shared_data: Path, tmp_path: Path) -> None:
    file = shared_data / "obermeyer_holdout.csv"
    assert main(["--data", str(file), "--fast", "--out", str(tmp_path)]) == 0
    rows = {row["quantity"]: row for row in rows_of(tmp_path)[study.HELD_OUT]}
    assert rows["accuracy of white, candidate"]["ours"] == "7.46"
    assert rows["accuracy of black, status quo"]["ours"] == "6.56"
    assert rows["gap, status quo"]["ours"] == "1.37"
    assert rows["verdict at 5%"]["ours"] == "rejected"
    assert rows["verdict at 5%"]["difference"] == "not comparable"
    assert rows_of(tmp_path)[study.HELD_OUT_COST][-1]["ours"] == "not rejected"
    assert all("lasso" in name for name in rows_of(tmp_path))
    document = (tmp_path / "replication.md").read_text()
    assert (
        "the LASSO score gagne_sum_t_hat, trained on the other two thirds" in document
    )
    assert "the LASSO score log_cost_t_hat" in document
    assert "16,099 held-out rows instead of 48,784" in document
    assert "forests of" not in document
    powers = json.loads((tmp_path / "replication.json").read_text())["appendix_e"][
        "rows"
    ]
    near = {row["quantity"]: float(row["ours"].split()[0]) for row in powers[:3]}
    # from 200 draws: an error of 10%
    assert list(near.values()) == pytest.approx([1.37, 6.48, 9.91], rel=0.4)


def test_the_published_file_is_known_by_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    improvable.datasets.care_management(500, seed=5).write_csv(tmp_path / "data.csv")
    digest = hashlib.sha256((tmp_path / "data.csv").read_bytes()).hexdigest()
    monkeypatch.setattr(source, "PUBLISHED_SHA256", digest)
    assert (
        "the published data, 500 rows (SHA-256 agrees)"
        in source.read_study(tmp_path / "data.csv").words
    )


def test_a_file_of_another_schema_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data.csv").write_text("race,risk_score_t\nblack,1\n")
    assert (
        main(["--data", str(tmp_path / "data.csv"), "--out", str(tmp_path / "out")])
        == 2
    )
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert (
        "neither the published file nor its held-out third: it has no column "
        "'gagne_sum_t'"
    ) in error
    assert not (tmp_path / "out").exists()


@pytest.mark.paper("Table 1", "Table 2", "Table 3", "Table 4", "Table 5", "Table 6")
@pytest.mark.parametrize("table", list(published.TABLES))
def test_published_tables_are_consistent(table: str) -> None:
    """The largest component p-value is the split's, and their median the one
    printed.
    """
    place = published.COLUMNS.index
    rows = published.TABLES[table]
    assert len(rows) == 7
    for row in rows:
        assert row[place("p")] == max(
            row[place(name)] for name in ("p_black", "p_white", "p_fairness")
        )
    median = sorted(row[place("p")] for row in rows)[3]
    printed = published.MEDIAN_P[table]
    assert printed == ("< 0.0001" if median == 0 else f"{median:.4f}")
