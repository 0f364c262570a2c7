"""How large an improvement the data support: Figure 3, and its plain look in reports,
one shaded region.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from improvable._typing import FloatArray
from improvable.errors import OptionError
from improvable.question.claim import Gap
from improvable.report.blocks import Picture, Sentence
from improvable.report.plots import style
from improvable.report.plots.style import AFTER, Plot, chart, field
from improvable.results.facts import Facts, by_component
from improvable.results.formatting import confidence
from improvable.results.frontier import Frontier
from improvable.results.result import Result

Window: TypeAlias = tuple[tuple[float, float], tuple[float, float]]
"""The least and the largest delta of accuracy, and of the gap."""
BANDS = ("#08306b", "#2b7bba", "#8fc1de", "#d5e5f2", "#f7f7f7")
"""From small p-values, dark, to large ones, light: one hue, so that gray print keeps
the order.
"""
FINE = 0.1
"""An axis that spans less has ticks of a tenth of a percent."""
APART, NEAR_AXIS = 0.12, 0.45
"""Shares of a region's height that two labels need, and of its width that one does."""
NO_REGION = (
    "No size of improvement is shown in accuracy and the gap at once, so there is no "
    "map of sizes to draw."
)
OTHER_EDGE = {
    "absolute": (
        "Black dashes: the paper's absolute statistic, which may claim too much near "
        "perfect fairness."
    ),
    "signed": (
        "Black dashes: the signed statistic, which does not claim too much near "
        "perfect fairness."
    ),
}


def surface(
    result: Result, accuracy: ArrayLike | None = None, fairness: ArrayLike | None = None
) -> style.LayerChart:
    """Figure 3: the p-value of every size of improvement, with the exact edge of what
    is rejected.

    Parameters
    ----------
    result : Audit or Comparison
    accuracy, fairness : sequence of float, optional
        Grids of deltas. By default 61 from -0.5 to 0.5 and 51 from 0 to 1; where deltas
        are amounts, these shares of the status quo's largest utility and gap.
    """
    frontier = result.frontier()
    a, f = default_grids(result, (61, 51))
    a = a if accuracy is None else _grid(accuracy, "accuracy")
    f = f if fairness is None else _grid(fairness, "fairness")
    limits, names = _bands(frontier.level)
    cells = _merged_cells(
        a, f, np.searchsorted(limits, frontier.surface(a, f), side="right"), names
    )
    unit = "share" if frontier.form == "ratio" else "amount"
    window = (float(a[0]), float(a[-1])), (float(f[0]), float(f[-1]))
    a_scale, f_scale = ({"domain": list(ends), "nice": False} for ends in window)
    x = field("f:Q", title=f"gap smaller by more than ({unit})", scale=f_scale)
    y = field("a:Q", title=f"accuracy higher by more than ({unit})", scale=a_scale)
    band = field(
        "band:N",
        sort=None,
        title="p-value",
        scale={"domain": names, "range": list(BANDS)},
    )
    heat = (
        chart(cells)
        .mark("rect", strokeWidth=0)
        .encode(x=x, x2="f2", y=y, y2="a2", color=band)
    )
    other: Gap = "absolute" if frontier.gap == "signed" else "signed"
    edge_layers, other_path = (
        _edge_layers(frontier, window),
        _staircase(frontier.edge(other), window),
    )
    edge = (
        f"Orange: the exact edge of what is rejected, p = {frontier.level:g}"
        if edge_layers
        else "No edge here"
    )
    every = ["Every group must gain the same."] if len(frontier.groups) > 1 else []
    subtitle = [
        f"{edge}; {frontier.gap} gap statistic.",
        *every,
        *([OTHER_EDGE[other]] if other_path else []),
    ]
    no_change = chart([{"a": 0.0}] if a[0] <= 0 <= a[-1] else [])
    layers = [
        heat,
        no_change.mark("rule", strokeDash=[2, 3], color="#333333").encode(y="a:Q"),
    ]
    if other_path:
        line = chart([point | {"other": True} for point in other_path])
        dashed = line.mark("line", color="black", strokeWidth=1.5, strokeDash=[5, 4])
        layers.append(dashed.encode(x="f:Q", y="a:Q", order="order:Q"))
    layers += edge_layers
    return style.finished(
        layers, "How large an improvement the data support", subtitle, style.WIDTH, 340
    )


def default_grids(
    result: Result, sizes: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Deltas of accuracy and of the gap worth looking at, as round numbers: shares, or
    amounts of their size.
    """
    a, f = np.linspace(-0.5, 0.5, sizes[0]), np.linspace(0.0, 1.0, sizes[1])
    if result.question.claim.form == "difference":
        first = [one[0] for one in by_component(result.facts)]
        for grid, kind in ((a, "accuracy"), (f, "fairness")):
            grid *= max(
                (
                    abs(c["status_quo"])
                    for c in first
                    if c["kind"] == kind and c["status_quo"]
                ),
                default=1.0,
            )
    return np.array([float(f"{v:.6g}") for v in a]), np.array(
        [float(f"{v:.6g}") for v in f]
    )


def intercepts(frontier: Frontier) -> tuple[float | None, float | None]:
    """Where the edge crosses no change in accuracy and no change in the gap: (delta_a,
    delta_f); None where nowhere.
    """
    corners = frontier.edge()
    highest = [a for a, f in corners if f > 0 and a > 0]
    widest = [f for a, f in corners if a > 0 and f > 0]
    return max(highest, default=None), max(widest, default=None)


def _grid(deltas: ArrayLike, name: str) -> FloatArray:
    grid = np.unique(np.asarray(deltas, dtype=np.float64))
    if len(grid) < 2:
        raise OptionError(
            f"the grid of {name} deltas has fewer than two values.",
            "Give a range of deltas.",
        )
    return grid


def _bands(level: float) -> tuple[FloatArray, list[str]]:
    """Limits between bands of p-values, and what the bands are called; the level is
    always one of the limits.
    """
    limits = (
        [level / 10, level, 4 * level, 0.5]
        if 4 * level < 0.5
        else [level / 10, level, (level + 1) / 2, 1.0]
    )
    shown = [f"{limit:.3g}" for limit in limits]
    names = [
        f"below {shown[0]}",
        *(f"{low} to {high}" for low, high in pairwise(shown)),
    ]
    return np.array(limits), [*names, f"{shown[-1]} or more"]


def _merged_cells(
    a: FloatArray, f: FloatArray, band: Any, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Rectangles around the grid's points; neighbors of one band are one, which keeps a
    picture small and seamless.
    """
    # Borders halfway between the points, the outer ones at the outer points.
    a_edges, f_edges = (
        np.concatenate([grid[:1], (grid[1:] + grid[:-1]) / 2, grid[-1:]]).tolist()
        for grid in (a, f)
    )
    cells = []
    for bottom, top in pairwise(
        [0, *(np.flatnonzero((np.diff(band, axis=0) != 0).any(axis=1)) + 1), len(a)]
    ):
        for left, right in pairwise(
            [0, *(np.flatnonzero(np.diff(band[bottom])) + 1), len(f)]
        ):
            place = {
                "a": a_edges[bottom],
                "a2": a_edges[top],
                "f": f_edges[left],
                "f2": f_edges[right],
            }
            cells.append(place | {"band": names[int(band[bottom, left])]})
    return cells


def _staircase(
    corners: Sequence[tuple[float, float]], window: Window
) -> list[dict[str, Any]]:
    """The points of an edge, as far as it is in the window."""
    (a_low, a_high), (f_low, f_high) = window
    seen = [(a, f) for a, f in corners if a > a_low and f > f_low]
    path, floor = [], f_low
    for a, f in seen:
        path += [
            {"a": min(a, a_high), "f": min(height, f_high)} for height in (floor, f)
        ]
        floor = f
    if seen:
        path.append({"a": a_low, "f": min(floor, f_high)})
    return [point | {"order": i} for i, point in enumerate(path)]


def _edge_layers(frontier: Frontier, window: Window) -> list[Any]:
    """The edge, its two intercepts and their labels, as far as they are in the
    window.
    """
    path = _staircase(frontier.edge(), window)
    if not path:
        return []
    (a_low, a_high), (f_low, f_high) = window
    line = chart(path).mark("line", color=style.OKABE_ITO[1], strokeWidth=3)
    a_cross, f_cross = intercepts(frontier)
    marks: list[dict[str, Any]] = []
    if a_cross is not None and a_cross <= a_high and f_low <= 0:
        marks.append(
            {
                "a": a_cross,
                "f": 0.0,
                "label": f"accuracy + {_down(a_cross)}",
                "left": False,
            }
        )
    if f_cross is not None and f_cross <= f_high and a_low <= 0 <= a_high:
        marks.append(
            {
                "a": 0.0,
                "f": f_cross,
                "label": f"gap - {_down(f_cross)}",
                "left": f_cross > f_high / 2,
            }
        )
    points = chart(marks).encode(x="f:Q", y="a:Q")
    dots = points.mark(
        "point",
        shape="diamond",
        size=140,
        filled=True,
        color="black",
        stroke="white",
        opacity=1,
    )
    layers = [line.encode(x="f:Q", y="a:Q", order="order:Q"), dots]
    # white behind the letters, legible on any band
    for halo in ({"stroke": "white", "strokeWidth": 3}, {}):
        text = {
            "fontSize": 13,
            "fontWeight": "bold",
            "text": {"expr": "datum.label"},
            **halo,
        }
        layers.append(
            points.mark("text", "!datum.left", align="left", dx=9, dy=-12, **text)
        )
        layers.append(
            points.mark("text", "datum.left", align="right", dx=-9, dy=18, **text)
        )
    return layers


def _down(value: float) -> str:
    """Three digits, never rounded up: the edge itself is not rejected."""
    return (
        f"{np.floor(value * 1000) / 1000:.3f}"
        if abs(value) < 100
        else f"{np.floor(value):,.0f}"
    )


@Plot
def improvement_map(facts: Facts, frontier: Frontier) -> Picture | Sentence | None:
    """Pairs of improvements, in accuracy and in the gap, that are shown at once."""
    if facts["ask"] != "both":
        return None
    corners = _corners(frontier)
    if not corners:
        return Sentence(NO_REGION)
    said = [
        (
            f"gap smaller by {_amount(f, frontier)} with accuracy higher by "
            f"{_amount(a, frontier)}"
        )
        for a, f in corners
    ]
    words = (
        "Shaded: pairs of improvements that are shown at once, each with "
        f"{confidence(facts['alpha'])} confidence. The cross is what was asked for."
    )
    draw = partial(draw_region, facts, frontier)
    return Picture(
        "map",
        "Which sizes of improvement are shown",
        (words,),
        f"Shown up to: {'; '.join(said)}.",
        draw,
    )


def draw_region(facts: Facts, frontier: Frontier, width: int) -> Any:
    corners, deltas = (
        _corners(frontier),
        (facts["delta_accuracy"], facts["delta_fairness"]),
    )
    asked = [delta if isinstance(delta, int | float) else 0.0 for delta in deltas]
    ends = [1.18 * max(*(one[i] for one in corners), asked[i]) for i in (0, 1)]
    starts = [min(0.0, 1.3 * delta) for delta in asked]
    spans = [end - start for start, end in zip(starts, ends, strict=True)]
    every = "of every group " if len(frontier.groups) > 1 else ""
    better = "better" if frontier.lower_is_better else "higher"

    def look(i: int) -> dict[str, Any]:
        digits = (
            (".0%" if spans[i] > FINE else ".1%") if frontier.form == "ratio" else "~g"
        )
        axis = {"format": digits, "labelColor": style.SOFT, "tickCount": 5}
        return {"scale": {"domain": [starts[i], ends[i]], "nice": False}, "axis": axis}

    y = field("a:Q", title=f"accuracy {every}{better} by", **look(0))
    x = field("f:Q", title="gap smaller by", **look(1))
    steps, path = [], [{"a": corners[0][0], "f": starts[1], "order": 0}]
    lower = [*(a for a, _ in corners[1:]), starts[0]]
    for (a, f), below in zip(corners, lower, strict=True):
        steps.append({"a": starts[0], "a2": a, "f": path[-1]["f"], "f2": f})
        path += [
            {"a": a, "f": f, "order": len(path)},
            {"a": below, "f": f, "order": len(path) + 1},
        ]
    region = (
        chart(steps)
        .mark("rect", color=style.REGION, opacity=1)
        .encode(x=x, x2="f2", y=y, y2="a2")
    )
    edge = (
        chart(path)
        .mark("line", color=AFTER, strokeWidth=2.5)
        .encode(x=x, y=y, order="order:Q")
    )
    # Both ends are labeled, or one where the labels would overlap.
    few = (
        [corners[-1]]
        if corners[0][0] - corners[-1][0] < APART * spans[0]
        else [corners[0], corners[-1]]
    )
    marks = [
        {
            "a": a,
            "f": f,
            "text": f"gap -{_amount(f, frontier)}, accuracy +{_amount(a, frontier)}",
        }
        for a, f in few
    ]
    layers = [
        region,
        edge,
        chart(marks)
        .mark("point", filled=True, size=90, color=AFTER, opacity=1)
        .encode(x=x, y=y),
    ]
    for mark, (_, f) in zip(marks, few, strict=True):
        # Below and left of its corner a text is inside of the region, where no line is;
        # near the axis, outside of it.
        place: dict[str, Any] = {
            "align": "left",
            "baseline": "bottom",
            "dx": 4,
            "dy": -8,
        }
        if f - starts[1] > NEAR_AXIS * spans[1]:
            place = {"align": "right", "baseline": "top", "dx": -8, "dy": 8}
        layers.append(
            chart([mark])
            .mark("text", color=style.INK, fontSize=12, **place)
            .encode(x=x, y=y, text="text:N")
        )
    cross = chart([{"a": asked[0], "f": asked[1]}]).encode(x=x, y=y)
    layers.append(
        cross.mark(
            "point",
            shape="cross",
            size=150,
            color=style.LIMIT,
            filled=True,
            opacity=1,
            clip=False,
        )
    )
    return style.plain_style(
        {"layer": layers, "width": min(width - 70, 430), "height": 250}
    )


def _corners(frontier: Frontier) -> list[tuple[float, float]]:
    """Corners of the region with no loss in either respect: accuracy, falling, and
    gap.
    """
    return [(a, f) for a, f in frontier.edge() if a > 0 and f > 0]


def _amount(value: float, frontier: Frontier) -> str:
    """Never rounded up: the edge itself is not shown."""
    return (
        f"{np.floor(value * 1000 + 1e-9) / 10:g}%"
        if frontier.form == "ratio"
        else f"{float(f'{value:.4g}'):g}"
    )
