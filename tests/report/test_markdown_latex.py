"""Markdown and LaTeX from the same facts; files named by their ending."""

import csv
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import improvable
from conftest import Case
from improvable.report.latex import latex_table
from improvable.report.markdown import markdown, markdown_table, paper_table
from improvable.report.write import write_report, write_table
from improvable.results.numbers import p_text

EVIL = r"50%_of {A&B} \input{x} #1 ~^ <b>|*x*"


@pytest.fixture(scope="module")
def audit() -> improvable.Audit:
    people = improvable.datasets.care_management(4_000, seed=1)
    return improvable.audit(
        people, outcome="gagne_sum_t", group="race", status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear", features=["gagne_sum_tm1", "dem_female"], splits=3, draws=500, seed=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def evil() -> dict[str, Any]:
    frame = Case(seed=3, rows=900).frame().rename({"group": EVIL})
    frame = frame.with_columns(frame[EVIL].replace({"a": EVIL}))
    result = improvable.compare(frame, outcome="count", group=EVIL, status_quo="now", candidate="new", draws=200)
    return result.to_dict()


def test_the_table_holds_the_numbers_of_the_facts(audit: improvable.Audit) -> None:
    facts = audit.to_dict()
    table = paper_table(facts)
    assert [title for title, _ in table.blocks] == ["Accuracy of black", "Accuracy of white", "Gap"]
    assert [row[0] for row in table.rows] == ["Split 1", "Split 2", "Split 3", "Mean", "Median"]
    for row, split in zip(table.rows, facts["splits"], strict=False):
        assert row[1] == f"{split['accuracy']['black']['candidate']:.3f}"
        assert row[2] == f"{split['accuracy']['black']['status_quo']:.3f}"
        assert row[-1] == split["p_value_text"]
    assert table.rows[-1][-1] == facts["p_value_text"]
    assert {len(row) for row in table.rows} == {12}


def test_many_components_stand_below_each_other() -> None:
    frame = Case(seed=3, rows=900).frame()
    result = improvable.compare(
        frame, outcome="count", group="group", status_quo="now", candidate="new", draws=200,
        accuracy=["calibration", "selection_rate"],
    )  # fmt: skip
    facts = result.to_dict()
    table = paper_table(facts)
    components = facts["splits"][0]["components"]
    gaps = [component for component in components if component["kind"] == "fairness"]
    assert len(table.rows) == len(components) + len(gaps) + 1
    assert [row[1] for row in table.rows if row[1]] == [f"{component['candidate']:.3f}" for component in components]
    others = [row[3] for row in table.rows if row[0].endswith("(absolute)")]
    assert others == [p_text(gap["p_other"], 200) for gap in gaps]
    assert table.rows[-1] == ["All at once", "", "", facts["p_value_text"]]
    rows = [line for line in latex_table(facts).splitlines() if line.endswith(r"\\")]
    assert {row.count("&") for row in rows[1:]} == {3}
    assert len({line.count("|") for line in markdown_table(facts).splitlines()}) == 1


def test_markdown_says_verdict_limits_and_provenance(audit: improvable.Audit, tmp_path: Path) -> None:
    write_report(audit, tmp_path / "a.md", command="improvable audit x")
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    assert "REJECTED at level 0.05" in text
    assert "Not rejecting is no proof" in text or "unlawful" in text
    assert "## How much better" in text
    assert "improvable audit x" in text
    lines = markdown_table(audit.to_dict()).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    for line in lines:
        assert line in text


def test_markdown_escapes_text_from_data(evil: dict[str, Any]) -> None:
    text = markdown(evil)
    assert "<b>" not in text
    assert r"\*x\*" in text
    assert len({line.count("|") - line.count(r"\|") for line in markdown_table(evil).splitlines()}) == 1


def test_latex_has_the_papers_layout(audit: improvable.Audit) -> None:
    text = latex_table(audit.to_dict())
    assert r"\multicolumn{3}{c}{\bfseries Accuracy of black}" in text
    assert r"\cmidrule(lr){2-4} \cmidrule(lr){5-7} \cmidrule(lr){8-11} \cmidrule(l){12-12}" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 2 + 5
    assert {row.count("&") for row in rows[1:]} == {11}


def test_latex_escapes_text_from_data(evil: dict[str, Any]) -> None:
    text = latex_table(evil)
    assert r"\input" not in text
    assert r"50\%\_of \{A\&B\} \textbackslash{}input\{x\} \#1 \textasciitilde{}\textasciicircum{}" in text


def test_latex_compiles_where_there_is_a_compiler(
    audit: improvable.Audit, evil: dict[str, Any], tmp_path: Path
) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no LaTeX compiler is installed")
    body = latex_table(audit.to_dict()) + latex_table(evil)
    source = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + body + "\\end{document}\n"
    (tmp_path / "table.tex").write_text(source, encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2_000:]


def test_tables_are_written_by_ending(audit: improvable.Audit, tmp_path: Path) -> None:
    for suffix in ("tex", "csv", "md"):
        write_table(audit, tmp_path / f"table.{suffix}")
    assert (tmp_path / "table.tex").read_text(encoding="utf-8") == latex_table(audit.to_dict())
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["p_value"]) for row in rows] == [split.p_value for split in audit.splits]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("name", ["report.docx", "report", "gone/report.html", "gone/report.md"])
def test_a_bad_report_path_is_refused_in_one_line(audit: improvable.Audit, tmp_path: Path, name: str) -> None:
    with pytest.raises(improvable.OptionError) as caught:
        write_report(audit, tmp_path / name)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["table.html", "gone/table.tex", ""])
def test_a_bad_table_path_is_refused_in_one_line(audit: improvable.Audit, tmp_path: Path, name: str) -> None:
    with pytest.raises(improvable.OptionError):
        write_table(audit, tmp_path / name)
    assert not list(tmp_path.iterdir())
