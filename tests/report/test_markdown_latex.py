"""Markdown and the LaTeX table from the same facts; files named by their ending."""

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import improvable
from conftest import Case
from improvable.report.html import notebook_html
from improvable.report.latex import latex_table
from improvable.report.markdown import markdown, markdown_table
from improvable.report.tables import CANDIDATE, MAX_BLOCKS, STATUS_QUO, paper_block
from improvable.report.text import estimate_rows
from improvable.report.write import write_report, write_table
from improvable.results.formatting import p_text

EVIL = r"50%_of {A&B} \input{x} #1 ~^ <b>|*x*"


@pytest.fixture(scope="module")
def audit() -> improvable.Audit:
    people = improvable.datasets.care_management(4_000, seed=1)
    return improvable.audit(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear",
        features=["gagne_sum_tm1", "dem_female"],
        test=improvable.Test(repetitions=3, draws=500),
        seed=1,
    )


@pytest.fixture(scope="module")
def evil() -> improvable.Comparison:
    frame = Case(seed=3, rows=900).frame().rename({"group": EVIL})
    frame = frame.with_columns(frame[EVIL].replace({"a": EVIL}))
    return improvable.compare(
        frame,
        outcome="count",
        group=EVIL,
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=200),
    )


def test_the_table_holds_the_numbers_of_the_facts(audit: improvable.Audit) -> None:
    facts = audit.facts
    table = paper_block(facts)
    assert [title for title, _ in table.spans] == [
        "Accuracy of black",
        "Accuracy of white",
        "Gap",
        "",
    ]
    assert table.heads == (
        "",
        *(STATUS_QUO, CANDIDATE, "p") * 2,
        STATUS_QUO,
        CANDIDATE,
        "signed p",
        "absolute p",
        "p",
    )
    names = [
        "Repetition 1",
        "Repetition 2",
        "Repetition 3",
        "Mean",
        "Lower median",
        "Selected",
        "Selected, everyone",
    ]
    assert [row[0] for row in table.rows] == names
    for row, repetition in zip(table.rows, facts["repetitions"], strict=False):
        assert row[1] == f"{repetition['accuracy']['black']['status_quo']:.3f}"
        assert row[2] == f"{repetition['accuracy']['black']['candidate']:.3f}"
        assert row[9] == p_text(repetition["p_fairness"] or 0.0, 500)
        assert row[10] == p_text(repetition["p_fairness_other"] or 0.0, 500)
        assert row[-1] == repetition["p_value_text"]
    assert table.rows[4][-1] == facts["p_value_text"]
    assert {len(row) for row in table.rows} == {12}


def test_every_output_writes_the_same_table(audit: improvable.Audit) -> None:
    """The numbers stand in the same order whichever way they are written down."""
    facts = audit.facts
    cells = [
        cell.replace("< ", "<")
        for row in paper_block(facts).rows[:-2]
        for cell in row[1:]
        if cell
    ]

    def numbers(text: str) -> list[str]:
        plain = text.replace("&lt; ", "<").replace("< ", "<").replace("$<\\,$", "<")
        return re.findall(r"<?-?\d+\.\d+(?!\d|\\?%)", plain)

    latex = latex_table(facts).split("\\midrule", 1)[1].split("\\bottomrule")[0]
    written = [
        numbers(text)
        for text in ("\n".join(markdown_table(facts).splitlines()[2:]), latex)
    ]
    assert written == [cells] * 2
    page = notebook_html(facts).split("<tbody>")[1].split("</tbody>")[0]
    assert numbers(page) == numbers(
        "\n".join(
            estimate_rows(facts, facts)[1][k][c] for k in range(3) for c in (1, 2, 3)
        )
    )
    for text in (
        audit.summary(),
        markdown(audit),
        latex_table(facts),
        notebook_html(facts),
    ):
        assert not re.search(r"\b(now|new)\b", text)
        assert "ower median" in text


def test_many_components_stand_below_each_other() -> None:
    frame = Case(seed=3, rows=900).frame()
    result = improvable.compare(
        frame,
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=200),
        accuracy=["calibration", "selection_rate"],
    )
    facts = result.facts
    assert len(facts["repetitions"][0]["components"]) > MAX_BLOCKS
    table = paper_block(facts)
    components = facts["repetitions"][0]["components"]
    gaps = [component for component in components if component["kind"] == "fairness"]
    assert len(table.rows) == len(components) + len(gaps) + 1 + 3, (
        "and the shares of both groups and of everyone"
    )
    assert [row[1] for row in table.rows[:-3] if row[1]] == [
        f"{component['status_quo']:.3f}" for component in components
    ]
    others = [row[3] for row in table.rows if row[0].endswith("absolute statistic")]
    assert others == [p_text(gap["p_other"] or 0.0, 200) for gap in gaps]
    assert table.rows[-4] == ("All conditions", "", "", facts["p_value_text"])
    rows = [line for line in latex_table(facts).splitlines() if line.endswith(r"\\")]
    assert {row.count("&") for row in rows[1:]} == {3}
    assert len({line.count("|") for line in markdown_table(facts).splitlines()}) == 1


def test_markdown_says_verdict_limits_and_provenance(
    audit: improvable.Audit, tmp_path: Path
) -> None:
    write_report(audit, tmp_path / "a.md", command="improvable audit x")
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    assert "REJECTED at level 0.05" in text
    assert "**Yes: shown.**" in text or "**Not shown: " in text
    assert "Not rejecting is no proof" in text or "unlawful" in text
    assert "## How large the improvement is" in text
    assert "improvable audit x" in text
    lines = markdown_table(audit.facts).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    for line in lines:
        assert line in text


def test_markdown_escapes_text_from_data(evil: improvable.Comparison) -> None:
    text = markdown(evil)
    assert "<b>" not in text
    assert r"\*x\*" in text
    assert (
        len(
            {
                line.count("|") - line.count(r"\|")
                for line in markdown_table(evil.facts).splitlines()
            }
        )
        == 1
    )


def test_latex_has_the_papers_layout(audit: improvable.Audit) -> None:
    text = latex_table(audit.facts)
    assert r"\multicolumn{3}{c}{\bfseries Accuracy of black}" in text
    assert (
        r"\cmidrule(lr){2-4} \cmidrule(lr){5-7} \cmidrule(lr){8-11} \cmidrule(l){12-12}"
        in text
    )
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 2 + 5 + 2
    assert {row.count("&") for row in rows[1:]} == {11}


def test_latex_escapes_text_from_data(evil: improvable.Comparison) -> None:
    text = latex_table(evil.facts)
    assert r"\input" not in text
    assert (
        r"50\%\_of \{A\&B\} \textbackslash{}input\{x\} \#1 "
        r"\textasciitilde{}\textasciicircum{}"
    ) in text


def compiled(source: str, folder: Path) -> str:
    """What the compiler says of a document."""
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no LaTeX compiler is installed")
    (folder / "page.tex").write_text(source, encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, timeout=120, check=False
    )
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, said[-2_000:]
    return said


def test_latex_compiles_where_there_is_a_compiler(
    audit: improvable.Audit, evil: improvable.Comparison, tmp_path: Path
) -> None:
    body = latex_table(audit.facts) + latex_table(evil.facts)
    page = (
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
        + body
        + "\\end{document}\n"
    )
    assert "Output written on page.pdf" in compiled(page, tmp_path)


def test_tables_are_written_by_ending(audit: improvable.Audit, tmp_path: Path) -> None:
    for suffix in ("tex", "csv", "md"):
        write_table(audit, tmp_path / f"table.{suffix}")
    assert (tmp_path / "table.tex").read_text(encoding="utf-8") == latex_table(
        audit.facts
    )
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    components = [
        one
        for repetition in audit.facts["repetitions"]
        for one in repetition["components"]
    ]
    never_zero = [
        p_text(one["p_value"], 500) if one["p_value"] == 0 else str(one["p_value"])
        for one in components
    ]
    assert [row["p_value"] for row in rows] == never_zero
    assert {float(row["p_repetition"]) for row in rows} == {
        repetition.p_value for repetition in audit.repetitions
    }
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    "name", ["report.odt", "report.tex", "report", "gone/report.html", "gone/report.md"]
)
def test_a_bad_report_path_is_refused_in_one_line(
    audit: improvable.Audit, tmp_path: Path, name: str
) -> None:
    with pytest.raises(improvable.OptionError) as caught:
        write_report(audit, tmp_path / name)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["table.html", "gone/table.tex", ""])
def test_a_bad_table_path_is_refused_in_one_line(
    audit: improvable.Audit, tmp_path: Path, name: str
) -> None:
    with pytest.raises(improvable.OptionError):
        write_table(audit, tmp_path / name)
    assert not list(tmp_path.iterdir())
