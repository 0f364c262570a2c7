"""The HTML report says what the result says, explains it, and keeps text from data as text."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from improvable.report.embedding import script_json
from improvable.report.html import (
    details,
    html_page,
    notebook_html,
    slider_curves,
)
from improvable.report.write import write_report
from improvable.results.numbers import value_text

SECTIONS = [
    "What was asked", "The three steps of a disparate impact case", "The test, split by split", "Pictures",
    "Diagnostics", "Welfare of both algorithms", "A look at the data, before the first split", "What this does not say",
    "Where this comes from",
]  # fmt: skip
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def people() -> Any:
    return improvable.datasets.care_management(4_000, seed=1)


@pytest.fixture(scope="module")
def audit(people: Any) -> improvable.Audit:
    return improvable.audit(
        people, outcome="gagne_sum_t", group="race", status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear", features=["gagne_sum_tm1", "dem_female"], splits=3, draws=500, seed=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(audit: improvable.Audit) -> str:
    return html_page(audit, command="improvable audit patients.csv")


def compare_case(**options: Any) -> improvable.Comparison:
    case = Case(seed=3, rows=900)
    frame = case.frame().with_columns(
        region=pl.Series(np.random.default_rng(0).choice(["north", "south", "west"], 900)),
        nobody=pl.Series(np.zeros(900)),
    )
    asked: dict[str, Any] = {"group": "group", "status_quo": "now", "candidate": "new"} | options
    return improvable.compare(frame, outcome="count", draws=200, **asked)


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
            if name in ("src", "href", "xlink:href", "srcset", "data") and not (value or "").startswith(("data:", "#")):
                self.fetched.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_sections_come_in_order(page: str, audit: improvable.Audit) -> None:
    assert re.findall(r"<h2>(.*?)</h2>", page) == SECTIONS
    assert page.index("NOT REJECTED" if not audit.reject else "REJECTED") < page.index(SECTIONS[0])
    for words in ("this run is not sealed", "four-fifths", "Rawlsian", "improvable audit patients.csv", "numpy"):
        assert words in page


def test_the_page_is_whole_and_fetches_nothing(page: str) -> None:
    reader = read(page)
    assert reader.open == []
    assert reader.fetched == []
    assert "url(http" not in page
    assert len(page) < 300_000


@pytest.mark.parametrize("reject", [True, False])
def test_what_not_rejecting_means_is_always_said(people: Any, reject: bool) -> None:
    result = improvable.compare(
        people, outcome="gagne_sum_t", group="race", status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.1), draws=500, ties="strict",
        delta_fairness=0.0 if reject else 0.9,
    )  # fmt: skip
    assert result.reject == reject
    text = html_page(result)
    assert "Not rejecting is no proof" in text
    assert "unlawful" in text


@pytest.mark.parametrize(
    "options",
    [
        {"group": ["group", "region"], "accuracy": ["calibration", "selection_rate"], "gap": "absolute"},
        {"group": "region", "fairness": "selection_rate"},
        {"form": "difference", "delta_accuracy": {"a": 0.01, "b": 0.0}},
        {"overall": "population", "protected": "b", "selection": "burden"},
        {"ask": "accuracy", "lower_is_better": True},
        {"ask": "fairness", "selection": "burden"},
        {"no_worse": 0.02},
        {"candidate": "nobody", "form": "difference"},
        {"candidate": "now"},
    ],
)
def test_results_of_every_shape_have_a_report(options: dict[str, Any]) -> None:
    assert read(html_page(compare_case(**options))).open == []


def test_a_loaded_audit_has_the_same_report(audit: improvable.Audit, page: str, tmp_path: Path) -> None:
    audit.save(tmp_path / "kept")
    assert html_page(improvable.load(tmp_path / "kept"), command="improvable audit patients.csv") == page


def test_the_report_shows_the_diagnostics(audit: improvable.Audit, page: str) -> None:
    found = audit.facts["diagnostics"]
    for one in found["eigenvalues"]:
        assert f"<td>{one['covariance']:.3g}</td>" in page
    for gap in found["candidate_gaps"]:
        assert f"<td>{gap['standard_errors']:.1f}</td>" in page
    for criterion in found["welfare"]:
        assert f"<td>{value_text(criterion['status_quo'])}</td><td>{value_text(criterion['candidate'])}</td>" in page
    for rate in found["selection_rates"]:
        assert f"<td>{rate['rows']:,}</td><td>{rate['selected']:,}</td>" in page


@pytest.mark.parametrize("changes", [{}, {"form": "difference"}, {"gap": "absolute"}, {"delta_fairness": 0.123}])
def test_embedded_curves_give_the_p_value_of_every_step(audit: improvable.Audit, changes: dict[str, Any]) -> None:
    result = audit.reconsider(**changes)
    curves = json.loads(json.dumps(slider_curves(result)))
    p = np.array(curves["p"])
    codes = [np.maximum(np.array(a)[:, None], np.array(f)[None, :]) for a, f in curves["splits"]]
    embedded = p[np.sort(codes, axis=0)[(len(codes) - 1) // 2]]
    assert (embedded == result.frontier().surface(curves["accuracy"], curves["fairness"])).all()
    assert embedded[curves["start"][0], curves["start"][1]] == result.p_value


def test_every_warning_is_explained() -> None:
    result = compare_case(candidate="now")
    assert result.warnings
    found = details(result)["warnings"]
    assert [one["text"] for one in found] == list(result.warnings)
    assert all(one["meaning"] for one in found)


def test_text_from_data_is_escaped() -> None:
    frame = Case(seed=3, rows=900).frame().with_columns(pl.col("group").replace({"a": EVIL}))
    frame = frame.rename({"group": f"{EVIL}&\"'"})
    result = improvable.compare(
        frame, outcome="count", group=f"{EVIL}&\"'", status_quo="now", candidate="new", draws=200
    )
    text = html_page(result, command=EVIL)
    assert EVIL not in text
    assert text.count("<script") == 2
    assert EVIL not in notebook_html(result.facts)
    assert read(text).open == read(notebook_html(result.facts)).open == []


def test_json_in_a_script_cannot_end_it() -> None:
    text = script_json({"x": "</script><!--&"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"x": "</script><!--&"}


def test_the_same_result_has_the_same_report(audit: improvable.Audit, page: str, tmp_path: Path) -> None:
    write_report(audit, tmp_path / "a.html", command="improvable audit patients.csv")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
