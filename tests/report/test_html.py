"""The HTML report says what the result says, explains it, and keeps text from data as
text.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import improvable
from conftest import Case
from improvable.report.blocks import Note
from improvable.report.carried import script_json
from improvable.report.html import html_page, notebook_html
from improvable.report.plots.style import COLORS
from improvable.report.sections import cautions_section
from improvable.report.write import write_report
from reported import SHAPES, compare_case, make_audit, make_evil, many_groups

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def audit() -> improvable.Audit:
    return make_audit()


@pytest.fixture(scope="module")
def page(audit: improvable.Audit) -> str:
    return html_page(audit, command="improvable audit patients.csv")


class Reader(HTMLParser):
    """Tags that are open at the end, and addresses that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "data") and not (
                value or ""
            ).startswith(("data:", "#")):
                self.fetched.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_the_answer_comes_first(page: str, audit: improvable.Audit) -> None:
    assert page.index(
        "Yes: shown" if audit.reject else "Not shown", page.index("<main>")
    ) < page.index("<h2>")
    assert re.findall(r"<h(\d)", page)[:2] == ["1", "2"]
    for words in (
        "this run is not sealed",
        "four-fifths",
        "improvable audit patients.csv",
        "numpy",
    ):
        assert words in page


def test_the_page_is_whole_and_fetches_nothing(page: str) -> None:
    reader = read(page)
    assert reader.open == []
    assert reader.fetched == []
    assert "url(http" not in page
    assert len(page) < 300_000


@pytest.mark.parametrize("delta", [0.0, 0.95])
def test_what_not_rejecting_means_is_always_said(delta: float) -> None:
    result = many_groups(2).with_claim(delta_fairness=delta)
    text = html_page(result)
    assert result.reject == (delta == 0)
    assert "Not rejecting is no proof" in text
    assert "unlawful" in text


@pytest.mark.parametrize("options", SHAPES)
def test_results_of_every_shape_have_a_report(options: dict[str, Any]) -> None:
    assert read(html_page(compare_case(**options))).open == []


def test_a_loaded_audit_has_the_same_report(
    audit: improvable.Audit, page: str, tmp_path: Path
) -> None:
    audit.save(tmp_path / "kept")
    assert (
        html_page(
            improvable.load(tmp_path / "kept"), command="improvable audit patients.csv"
        )
        == page
    )


def test_the_report_shows_the_diagnostics(audit: improvable.Audit, page: str) -> None:
    found = audit.facts["diagnostics"]
    for gap in found["candidate_gaps"]:
        assert f"<td>{gap['standard_errors']:.1f}</td>" in page
    for rate in found["selection_rates"]:
        assert f"<td>{rate['rows']:,}</td><td>{rate['selected']:,}</td>" in page


def test_every_warning_is_explained() -> None:
    result = compare_case(candidate="now")
    assert result.warnings
    found = [one for one in cautions_section(result) if isinstance(one, Note)]
    assert [one.text for one in found] == list(result.warnings)
    assert all(one.meaning for one in found)


def test_text_from_data_is_escaped() -> None:
    frame = (
        Case(seed=3, rows=900)
        .frame()
        .with_columns(pl.col("group").replace({"a": EVIL}))
    )
    frame = frame.rename({"group": f"{EVIL}&\"'"})
    result = improvable.compare(
        frame,
        outcome="count",
        group=f"{EVIL}&\"'",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=200),
    )
    text = html_page(result, command=EVIL)
    assert EVIL not in text
    assert text.count("<script") == 1, "the result, which is never run"
    assert EVIL not in notebook_html(result.facts)
    assert read(text).open == read(notebook_html(result.facts)).open == []


def test_json_in_a_script_cannot_end_it() -> None:
    text = script_json({"x": "</script><!--&"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"x": "</script><!--&"}


def test_the_same_result_has_the_same_report(
    audit: improvable.Audit, page: str, tmp_path: Path
) -> None:
    write_report(audit, tmp_path / "a.html", command="improvable audit patients.csv")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page


def test_pictures_change_their_colors_with_the_page(page: str) -> None:
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert pictures
    for picture in pictures:
        assert "var(--ink)" in picture
        assert not set(re.findall(r"#[0-9a-f]{6}\b", picture)) - {"#000000", "#ffffff"}
        assert re.match(
            r'<svg class="(wide|narrow)" role="img" aria-label="[^"]*\d', picture
        )


def test_a_color_of_the_page_is_there_for_every_color_of_a_picture(page: str) -> None:
    light, dark = page.split("prefers-color-scheme: dark", 1)
    for name in COLORS:
        assert f"--{name}: #" in light
        assert f"--{name}: #" in dark


def test_no_two_elements_have_the_same_id(page: str) -> None:
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))


def test_a_cell_of_a_notebook_is_short_needs_no_script_and_no_style_sheet(
    audit: improvable.Audit,
) -> None:
    results = (audit, make_evil(), many_groups(8), many_groups(24))
    cells = [notebook_html(result.facts) for result in results]
    for result, cell in zip(results, cells, strict=True):
        assert len(cell) < 60_000
        assert not re.search(
            r"<(script|style|link)|\bon\w+=|javascript:| id=\"(?!dumbbells-cell-)", cell
        )
        assert read(cell).open == read(cell).fetched == []
        assert (
            cell.index("<b>")
            < cell.index("<table")
            < cell.index("Not rejecting is no proof")
            or result.reject
        )
    assert "<svg" in cells[0]
    assert "result.plot() draws it" in cells[-1]


def test_two_cells_of_a_notebook_have_no_part_of_the_same_name(
    audit: improvable.Audit,
) -> None:
    names = [
        set(re.findall(r' id="([^"]+)"', notebook_html(one.facts)))
        for one in (audit, many_groups(2))
    ]
    assert not names[0] & names[1]
