"""Pictures show the numbers of the result, whatever its shape, and can be kept in any
format.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable.report import plots
from improvable.report.blocks import Picture
from improvable.report.labels import in_words
from improvable.report.plots.style import NARROW, WIDE, Plot, chart, draw_svg
from improvable.results.facts import Facts
from reported import estimated, many_groups, values_of

PICTURES = (plots.dumbbells, plots.people, plots.p_values)
Result = improvable.Audit | improvable.Comparison


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
def comparison() -> improvable.Comparison:
    people = improvable.datasets.care_management(4_000, seed=1)
    return improvable.compare(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.1),
        test=improvable.Test(draws=500, ties="strict"),
    )


def compare_case(**options: Any) -> improvable.Comparison:
    case = Case(seed=3, rows=900)
    rng = np.random.default_rng(0)
    frame = case.frame().with_columns(
        region=pl.Series(rng.choice(["north", "south", "west"], 900)),
        nobody=pl.Series(np.zeros(900)),
    )
    asked: dict[str, Any] = {
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
    } | options
    return flat_compare(frame, outcome="count", draws=200, **asked)


@pytest.mark.parametrize("draw", PICTURES)
def test_every_picture_can_be_drawn(
    audit: improvable.Audit, comparison: improvable.Comparison, draw: Any
) -> None:
    for result in (audit, comparison):
        svg = draw_svg(draw(result).spec)
        assert svg.startswith("<svg")
        assert len(svg) < 120_000


def test_p_values_of_zero_stand_at_one_draw_with_a_note(
    comparison: improvable.Comparison,
) -> None:
    rows = [row for row in values_of(plots.p_values(comparison)) if "component" in row]
    zero = {row["component"]: row["p"] for row in rows if row["zero"]}
    assert zero == {"Accuracy of black": 1 / 500, "Accuracy of white": 1 / 500}
    assert "none of 500 draws" in str(plots.p_values(comparison).spec)


def test_every_condition_has_a_row_with_a_dot_for_each_repetition(
    audit: improvable.Audit,
) -> None:
    rows = [row for row in values_of(plots.p_values(audit)) if "repetition" in row]
    assert list(dict.fromkeys(row["component"] for row in rows)) == [
        "Accuracy of black",
        "Accuracy of white",
        "Gap",
        "All conditions",
    ]
    whole = [row["p"] for row in rows if row["component"] == "All conditions"]
    assert whole == [
        max(repetition.p_value, 1 / 500) for repetition in audit.repetitions
    ]
    (diamond,) = [
        row for row in values_of(plots.p_values(audit)) if row.get("combined")
    ]
    assert diamond["p"] == max(audit.p_value, 1 / 500)


def test_dumbbells_show_means_and_intervals_over_all_repetitions(
    audit: improvable.Audit,
) -> None:
    rows = [
        row
        for row in values_of(plots.dumbbells(audit))
        if "algorithm" in row and row["label"] != "Gap"
    ]
    assert rows
    for row in rows:
        group = row["label"].split("\n")[0]
        one = estimated(audit, group, row["algorithm"].replace(" ", "_"))
        assert [row["value"], row["low"], row["high"]] == list(one.values())
        assert "selected" in row["label"], "shares stand beside"
    gap = {
        row["algorithm"]: row["value"]
        for row in values_of(plots.dumbbells(audit))
        if row.get("label") == "Gap" and "algorithm" in row
    }
    assert gap["status quo"] == pytest.approx(
        np.mean([s["gap"]["status_quo"] for s in audit.facts["repetitions"]])
    )
    assert "repetition 1 of" not in str(plots.dumbbells(audit).spec)


@pytest.mark.parametrize("count", [2, 5, 10])
def test_pictures_of_many_groups_have_a_row_for_each_and_two_marks_in_the_legend(
    count: int,
) -> None:
    result = many_groups(count)
    facts, frontier = in_words(result.facts), result.frontier()
    shown, sure = (
        plot.picture(facts, frontier) for plot in (plots.dumbbells, plots.p_values)
    )
    assert isinstance(shown, Picture)
    assert isinstance(sure, Picture)
    for width in (NARROW, WIDE):
        svg = draw_svg(shown.draw(width))
        assert float(re.findall(r'width="(\d+)"', svg)[0]) <= width + 40
        for group in result.groups:
            assert svg.count(f">{group}<") == 1, "once, on the axis"
        assert svg.count(">status quo<") == svg.count(">candidate<") == 1
        plain = draw_svg(sure.draw(width))
        assert (
            plain.count(">Accuracy of") == count + 0 if facts["overall"] is None else 1
        )


def test_the_gap_is_drawn_also_where_fairness_is_another_utility() -> None:
    result = compare_case(group="region", fairness="selection_rate")
    drawn = str(plots.dumbbells(result).spec)
    assert "Gap between groups: share selected" in drawn
    assert "Mean outcome of the selected" in drawn


def test_the_map_shows_only_what_is_shown() -> None:
    result = many_groups(2)
    frontier = result.frontier()
    chart = result.plot("map")
    steps = [row for row in values_of(chart) if "a2" in row]
    assert {(row["a2"], row["f2"]) for row in steps} == {
        (a, f) for a, f in frontier.edge() if a > 0 and f > 0
    }
    for row in steps:
        assert frontier.p_value(row["a2"] * 0.999, row["f2"] * 0.999) < frontier.level
        assert frontier.p_value(row["a2"] * 1.001, row["f2"] * 0.999) >= frontier.level
        assert frontier.p_value(row["a2"] * 0.999, row["f2"] * 1.001) >= frontier.level
    assert compare_case(candidate="now").plot("map") is None
    assert "delta" not in str(chart.spec)


@pytest.mark.parametrize(
    ("suffix", "start"),
    [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!")],
)
def test_a_chart_can_be_kept(
    comparison: improvable.Comparison, tmp_path: Path, suffix: str, start: bytes
) -> None:
    path = tmp_path / f"chart.{suffix}"
    plots.dumbbells(comparison).save(path)
    content = path.read_bytes()
    assert content.startswith(start)
    assert suffix != "html" or (
        b"src=" not in content[:2_000] and b"cdn.jsdelivr" not in content
    )
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_notebook_displays_a_chart_as_it_is_saved(
    comparison: improvable.Comparison, tmp_path: Path
) -> None:
    chart = plots.dumbbells(comparison)
    chart.save(tmp_path / "chart.svg")
    shown = chart._repr_mimebundle_()
    assert shown["image/svg+xml"] == (tmp_path / "chart.svg").read_text()
    assert shown["text/plain"] == f"Chart({chart.spec['title']['text']!r})"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chart.docx", "no picture format"),
        ("chart", "no picture"),
        ("gone/chart.svg", "no folder"),
    ],
)
def test_a_bad_path_is_refused(
    comparison: improvable.Comparison, tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        plots.dumbbells(comparison).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_names_from_data_are_escaped_in_pictures() -> None:
    evil = "</script><script>alert(1)</script>"
    frame = (
        Case(seed=3, rows=900)
        .frame()
        .with_columns(pl.col("group").replace({"a": evil}))
    )
    result = improvable.compare(
        frame,
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=200),
    )
    draws: tuple[Callable[[Result], Any], ...] = PICTURES
    for draw in draws:
        assert "<script" not in draw_svg(draw(result).spec)


def test_a_new_picture_is_one_function_and_one_entry(
    comparison: improvable.Comparison, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @Plot
    def dots(facts: Facts, _: Any) -> Picture:
        rows = [{"p": one["p_value"]} for one in facts["repetitions"]]
        said = f"p-values: {facts['p_value_text']}."
        return Picture(
            "dots",
            "Dots",
            ("Each dot is a repetition.",),
            said,
            lambda _: chart(rows).mark("point"),
        )

    monkeypatch.setitem(plots.PICTURES, "dots", dots)
    assert values_of(comparison.plot("dots")) == [{"p": comparison.p_value}]
    for suffix in ("html", "md"):
        comparison.report(tmp_path / f"report.{suffix}")
    assert '<figure id="dots"><h3>Dots</h3>' in (tmp_path / "report.html").read_text()
    assert "**Dots.** p-values:" in (tmp_path / "report.md").read_text()
    with pytest.raises(improvable.OptionError, match="dots"):
        comparison.plot("dot")
