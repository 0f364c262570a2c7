"""Figures 2 and 3 show the numbers of a result."""

import itertools
from typing import Any

import numpy as np
import pytest

import improvable
from improvable.report.plots.style import draw_svg
from replication.document import ACCURACY, FAIRNESS
from replication.mean_utilities import mean_utilities
from replication.surface import draw_surface, find_intercepts
from reported import make_audit, values_of


def compare_scores(candidate: Any) -> improvable.Comparison:
    people = improvable.datasets.care_management(4_000, seed=1)
    return improvable.compare(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        candidate=candidate,
        test=improvable.Test(draws=500, ties="strict"),
    )


@pytest.fixture(scope="module")
def comparison() -> improvable.Comparison:
    return compare_scores(improvable.threshold("gagne_sum_tm1", capacity=0.1))


def draw(result: improvable.Comparison) -> Any:
    return draw_surface(result.frontier(), ACCURACY, FAIRNESS)


@pytest.mark.paper("Figure 2", "Figure 6")
def test_points_of_figure_2_are_the_mean_utilities() -> None:
    audit = make_audit()
    chart = mean_utilities({"linear": audit, "the same": audit})
    assert draw_svg(chart.spec).startswith("<svg")
    rows = {row["algorithm"]: row for row in values_of(chart) if "algorithm" in row}
    assert list(rows) == ["status quo", "linear", "the same"]
    repetitions = audit.to_dict()["repetitions"]
    for axis, group in (("x", "black"), ("y", "white")):
        for name, algorithm in (("status quo", "status_quo"), ("linear", "candidate")):
            mean = np.mean([r["accuracy"][group][algorithm] for r in repetitions])
            assert rows[name][axis] == pytest.approx(mean)


@pytest.mark.paper("Figure 3", "Figure 7")
def test_bands_of_figure_3_are_the_p_values(comparison: improvable.Comparison) -> None:
    frontier = comparison.frontier()
    chart = draw(comparison)
    assert draw_svg(chart.spec).startswith("<svg")
    cells = [row for row in values_of(chart) if "band" in row]
    surface = frontier.surface(ACCURACY, FAIRNESS)
    for i, j in itertools.product(range(0, 81, 9), range(0, 51, 7)):
        a = min(max(ACCURACY[i], -0.999), 0.999)
        f = min(max(FAIRNESS[j], 0.001), 0.999)
        cell = next(
            cell
            for cell in cells
            if cell["a"] <= a < cell["a2"] and cell["f"] <= f < cell["f2"]
        )
        dark = cell["band"] in ("below 0.005", "0.005 to 0.05")
        assert dark == (surface[i, j] < frontier.level)


def test_the_edges_and_the_intercepts_are_exact(
    comparison: improvable.Comparison,
) -> None:
    frontier = comparison.frontier()
    ((a, f),) = frontier.edge()
    assert find_intercepts(frontier) == (a, f)
    rows = values_of(draw(comparison))
    path = [
        (row["a"], row["f"]) for row in rows if "order" in row and "other" not in row
    ]
    assert path == [(a, 0.0), (a, f), (-1.0, f)]
    labels = {row["label"] for row in rows if "label" in row}
    assert len(labels) == 2
    for label in labels:
        name, _, number = label.split(" ")
        assert float(number) <= (a if name == "accuracy" else f) < float(number) + 0.001
    ((a, f),) = frontier.edge("absolute")
    path = [(row["a"], row["f"]) for row in rows if "other" in row]
    assert path == [(a, 0.0), (a, f), (-1.0, f)]


def test_there_is_no_edge_where_nothing_is_rejected() -> None:
    result = compare_scores(improvable.threshold("risk_score_t", capacity=0.1))
    assert find_intercepts(result.frontier()) == (None, None)
    assert not [row for row in values_of(draw(result)) if "order" in row]
