"""Figure 3 as the paper draws it: the p-value of every size of improvement, with the
exact edge of what is rejected.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from improvable._typing import FloatArray
from improvable.question.claim import Gap
from improvable.report.plots import style
from improvable.report.plots.style import chart, field
from improvable.results.frontier import Frontier

Window: TypeAlias = tuple[tuple[float, float], tuple[float, float]]
"""The least and the largest delta of accuracy, and of the gap."""
BANDS = ("#08306b", "#2b7bba", "#8fc1de", "#d5e5f2", "#f7f7f7")
"""From small p-values, dark, to large ones, light: one hue, so that gray print keeps
the order.
"""
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


def draw_surface(
    frontier: Frontier, accuracy: FloatArray, fairness: FloatArray
) -> style.Chart:
    """Draw p-values over two rising grids of deltas, as bands, and both edges."""
    limits, names = name_bands(frontier.level)
    p_values = frontier.surface(accuracy, fairness)
    band = np.searchsorted(limits, p_values, side="right")
    cells = merge_cells(accuracy, fairness, band, names)
    window = span(accuracy), span(fairness)
    unit = "share" if frontier.form == "ratio" else "amount"
    y_scale, x_scale = ({"domain": list(ends), "nice": False} for ends in window)
    x = field("f:Q", title=f"gap smaller by more than ({unit})", scale=x_scale)
    y = field("a:Q", title=f"accuracy higher by more than ({unit})", scale=y_scale)
    colors = {"domain": names, "range": list(BANDS)}
    color = field("band:N", sort=None, title="p-value", scale=colors)
    heat = chart(cells).mark("rect", strokeWidth=0)
    no_change = chart([{"a": 0.0}]).mark("rule", strokeDash=[2, 3], color="#333333")
    layers = [
        heat.encode(x=x, x2="f2", y=y, y2="a2", color=color),
        no_change.encode(y="a:Q"),
    ]
    contrast: Gap = "absolute" if frontier.gap == "signed" else "signed"
    edge_layers = draw_edge(frontier, window)
    contrast_path = trace_staircase(frontier.edge(contrast), window)
    subtitle = [f"No edge here; {frontier.gap} gap statistic."]
    if edge_layers:
        subtitle = [
            "Orange: the exact edge of what is rejected, "
            f"p = {frontier.level:g}; {frontier.gap} gap statistic."
        ]
    if len(frontier.groups) > 1:
        subtitle.append("Every group must gain the same.")
    if contrast_path:
        subtitle.append(OTHER_EDGE[contrast])
        line = chart([point | {"other": True} for point in contrast_path])
        dashed = line.mark("line", color="black", strokeWidth=1.5, strokeDash=[5, 4])
        layers.append(dashed.encode(x="f:Q", y="a:Q", order="order:Q"))
    title = "How large an improvement the data support"
    return style.make_figure([*layers, *edge_layers], title, subtitle, style.WIDTH, 340)


def span(grid: FloatArray) -> tuple[float, float]:
    return float(grid[0]), float(grid[-1])


def find_intercepts(frontier: Frontier) -> tuple[float | None, float | None]:
    """Where the edge crosses no change in accuracy and no change in the gap: (delta_a,
    delta_f); None where nowhere.
    """
    corners = frontier.edge()
    highest = [a for a, f in corners if f > 0 and a > 0]
    widest = [f for a, f in corners if a > 0 and f > 0]
    return max(highest, default=None), max(widest, default=None)


def name_bands(level: float) -> tuple[FloatArray, list[str]]:
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


def merge_cells(
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


def trace_staircase(
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


def draw_edge(frontier: Frontier, window: Window) -> list[Any]:
    """The edge, its two intercepts and their labels, as far as they are in the
    window.
    """
    path = trace_staircase(frontier.edge(), window)
    if not path:
        return []
    (a_low, a_high), (f_low, f_high) = window
    line = chart(path).mark("line", color=style.OKABE_ITO[1], strokeWidth=3)
    a_cross, f_cross = find_intercepts(frontier)
    marks: list[dict[str, Any]] = []
    if a_cross is not None and a_cross <= a_high and f_low <= 0:
        marks.append(
            {
                "a": a_cross,
                "f": 0.0,
                "label": f"accuracy + {round_down(a_cross)}",
                "left": False,
            }
        )
    if f_cross is not None and f_cross <= f_high and a_low <= 0 <= a_high:
        marks.append(
            {
                "a": 0.0,
                "f": f_cross,
                "label": f"gap - {round_down(f_cross)}",
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


def round_down(value: float) -> str:
    """Three digits, never rounded up: the edge itself is not rejected."""
    return (
        f"{np.floor(value * 1000) / 1000:.3f}"
        if abs(value) < 100
        else f"{np.floor(value):,.0f}"
    )
