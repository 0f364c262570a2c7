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
from improvable.report.html import (
    details,
    group_counts,
    html_page,
    notebook_html,
    script_json,
    selection_rates,
    slider_curves,
    smallest_eigenvalues,
)
from improvable.report.write import write_report

SECTIONS = [
    "What was asked", "The three steps of a disparate impact case", "The test, split by split", "Pictures",
    "Diagnostics", "Welfare of both algorithms", "What this does not say", "Where this comes from",
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
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.1), draws=500,
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
        {"overall": "population", "protected": "b"},
        {"candidate": "nobody", "form": "difference"},
        {"candidate": "now"},
    ],
)
def test_results_of_every_shape_have_a_report(options: dict[str, Any]) -> None:
    assert read(html_page(compare_case(**options))).open == []


def test_a_loaded_audit_has_a_report_without_what_it_did_not_keep(audit: improvable.Audit, tmp_path: Path) -> None:
    audit.save(tmp_path / "kept")
    text = html_page(improvable.load(tmp_path / "kept"))
    assert "which this result did not keep" in text or "Selection rate" in text
    assert audit.to_dict()["p_value_text"] in text


def test_selection_rates_are_those_of_the_data(audit: improvable.Audit, people: Any) -> None:
    frame = pl.DataFrame(people)
    cut = np.quantile(frame["risk_score_t"].to_numpy(), 0.9)
    expected = frame.with_columns(chosen=pl.col("risk_score_t") > cut).group_by("race").agg(pl.col("chosen").mean())
    counts = group_counts(audit)
    assert counts is not None
    rates = {one["group"]: one for one in selection_rates(counts)}
    for group, rate in expected.iter_rows():
        assert rates[group]["rate"] == pytest.approx(rate, abs=0.002)
    best = max(rates.values(), key=lambda one: one["rate"])
    assert best["is_highest"]
    assert best["ratio"] == 1


def test_standard_deviations_are_those_of_two_proportions() -> None:
    counts = {
        "a": {"attribute": "g", "rows": 100.0, "selected": 50.0, "weight": 100.0},
        "b": {"attribute": "g", "rows": 400.0, "selected": 100.0, "weight": 400.0},
    }
    one = selection_rates(counts)[1]
    assert one["ratio"] == 0.5
    assert one["below"]
    assert one["deviations"] == pytest.approx(-0.25 / np.sqrt(0.3 * 0.7 * (1 / 100 + 1 / 400)))


def test_the_smallest_eigenvalue_is_that_of_rows_contributions() -> None:
    case = Case(seed=3, rows=900)
    result = compare_case()
    columns = []
    for g in (0, 1):
        for d in case.decisions:
            w = d * (case.group == g)
            mean = (w * case.count).sum() / w.sum()
            columns.append((w * case.count - mean * w) / w.mean())
    rows = np.cov(np.array(columns), bias=True)
    covariance, correlation = smallest_eigenvalues(result)
    assert covariance == pytest.approx(np.linalg.eigvalsh(rows)[0], rel=0.35)
    assert 0 < correlation < 1
    assert smallest_eigenvalues(compare_case(candidate="now"))[1] == pytest.approx(0, abs=1e-9)
    assert smallest_eigenvalues(compare_case(candidate="nobody", form="difference")) == (0.0, 0.0)


def test_welfare_is_the_weighted_mean_and_the_minimum(audit: improvable.Audit) -> None:
    found = {one["criterion"]: one for one in details(audit)["welfare"]}
    counts = group_counts(audit)
    assert counts is not None
    share = counts["black"]["rows"] / sum(one["rows"] for one in counts.values())
    splits = [s["accuracy"] for s in audit.to_dict()["splits"]]
    for name in ("status_quo", "candidate"):
        both = np.array([[s["black"][name], s["white"][name]] for s in splits])
        assert found["utilitarian"][name] == pytest.approx((both @ [share, 1 - share]).mean())
        assert found["Rawlsian"][name] == pytest.approx(both.min(axis=1).mean())


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
    assert EVIL not in notebook_html(result.to_dict())
    assert read(text).open == read(notebook_html(result.to_dict())).open == []


def test_json_in_a_script_cannot_end_it() -> None:
    text = script_json({"x": "</script><!--&"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"x": "</script><!--&"}


def test_the_same_result_has_the_same_report(audit: improvable.Audit, page: str, tmp_path: Path) -> None:
    write_report(audit, tmp_path / "a.html", command="improvable audit patients.csv")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
