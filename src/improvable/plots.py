"""Pictures of a result, one function each: every function takes an audit or a comparison and returns an Altair chart.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart, and every colour comes with a shape, so
that a picture printed in grey says the same.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from improvable.arrays import FloatArray
from improvable.errors import OptionError, nearest
from improvable.storage import write_whole

if TYPE_CHECKING:
    import altair as alt

    from improvable.audit import Audit
    from improvable.comparison import Comparison
    from improvable.frontier import Frontier

    Result = Audit | Comparison
    Chart = alt.Chart | alt.LayerChart | alt.VConcatChart

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
BANDS = ("#08306b", "#2b7bba", "#8fc1de", "#d5e5f2", "#f7f7f7")
"""From small p-values, dark, to large ones, light: one hue, so that grey print keeps the order."""
ALGORITHM_NAMES = ("status quo", "candidate")
SUFFIXES = (".svg", ".png", ".pdf", ".html")
WIDTH = 420


def utilities(result: "Result") -> "alt.LayerChart":
    """Figure 2: the accuracy of one group against that of another, for the status quo and for the candidates.

    Of more than two groups, the pair is shown between which the status quo's gap was widest on the training rows.

    Parameters
    ----------
    result : Audit or Comparison
    """
    import altair as alt

    facts = result.to_dict()
    first, second = sorted(facts["splits"][0]["reference"], key=facts["groups"].index)
    rows = _utility_rows(facts, first, second)
    low, high = _padded([row[axis] for row in rows for axis in ("x", "y")])
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    measure = facts["accuracy_utilities"][0]
    same = measure == facts["fairness_utilities"][0]
    subtitle = [f"Accuracy: {measure['words']} ({measure['outcome']}).", "Right and up: more accurate."]
    subtitle[1] += " Nearer to the dashed 45-degree line: smaller gap." if same else " Dashed: the 45-degree line."
    if len(facts["splits"]) > 1:
        subtitle.append("Light: each split. Bold: mean of the splits.")
    x = alt.X("x:Q", scale=scale, title=f"accuracy of {first}")
    y = alt.Y("y:Q", scale=scale, title=f"accuracy of {second}")
    line = _chart([{"x": low, "y": low}, {"x": high, "y": high}]).mark_line(strokeDash=[5, 4], color="#666666")
    colour, shape = _algorithm_scales()
    points = _chart(rows).encode(x=x, y=y, color=colour, shape=shape)
    light = points.transform_filter("!datum.mean").mark_point(filled=False, size=60, opacity=0.55)
    bold = points.transform_filter("datum.mean").mark_point(filled=True, size=190, opacity=1, stroke="black")
    return _finished([line.encode(x=x, y=y), light, bold], "Accuracy of both groups", subtitle, 340, 340)


def surface(result: "Result", accuracy: ArrayLike | None = None, fairness: ArrayLike | None = None) -> "alt.LayerChart":
    """Figure 3: the p-value of every size of improvement, with the exact edge of what is rejected.

    Parameters
    ----------
    result : Audit or Comparison
    accuracy, fairness : sequence of float, optional
        Grids of deltas. By default 61 from -0.5 to 0.5 and 51 from 0 to 1; where deltas are amounts, these shares of
        the status quo's largest utility and gap.
    """
    import altair as alt

    frontier = result.frontier()
    a, f = default_grids(result, (61, 51))
    a = a if accuracy is None else _grid(accuracy, "accuracy")
    f = f if fairness is None else _grid(fairness, "fairness")
    limits, names = _bands(frontier.level)
    cells = _merged_cells(a, f, np.searchsorted(limits, frontier.surface(a, f), side="right"), names)
    unit = "share" if frontier.form == "ratio" else "amount"
    x = alt.X(
        "f:Q",
        title=f"gap smaller by more than (delta_f, {unit})",
        scale=alt.Scale(domain=_window(cells, "f"), nice=False),
    )
    y = alt.Y(
        "a:Q",
        title=f"accuracy higher by more than (delta_a, {unit})",
        scale=alt.Scale(domain=_window(cells, "a"), nice=False),
    )
    band = alt.Color("band:N", sort=None, title="p-value", scale=alt.Scale(domain=names, range=list(BANDS)))
    heat = _chart(cells).mark_rect(strokeWidth=0).encode(x=x, x2="f2:Q", y=y, y2="a2:Q", color=band)
    layers = [heat, _zero_line(cells), *_edge_layers(frontier, cells)]
    edge = f"Orange: the exact edge of what is rejected, p = {frontier.level:g}" if len(layers) > 2 else "No edge here"
    every = ["The same delta_a is asked of every group."] if len(frontier.groups) > 1 else []
    subtitle = [f"{edge}; {frontier.gap} gap statistic.", *every]
    return _finished(layers, "How large an improvement the data support", subtitle, WIDTH, 340)


def p_values(result: "Result") -> "alt.LayerChart":
    """p-values by split and component, on a log scale; none of the draws is drawn at one in so many, with a "<".

    Parameters
    ----------
    result : Audit or Comparison
    """
    import altair as alt

    facts = result.to_dict()
    least = 1 / facts["draws"]
    rows = _p_rows(facts, least)
    several, names = len(facts["splits"]) > 1, list(dict.fromkeys(row["component"] for row in rows))
    x = alt.X("split:O", title="split" if several else None, axis=alt.Axis(labelAngle=0, labels=several))
    y = alt.Y("p:Q", title="p-value (log scale)", scale=alt.Scale(type="log", domain=[least / 2, 1.5], nice=False))
    # Six colours and five shapes make thirty pairs before one comes again.
    colours = [OKABE_ITO[j % 6] for j in range(len(names) - 1)] + [OKABE_ITO[-1]]
    shapes = [SHAPES[j % 5] for j in range(len(names) - 1)] + [SHAPES[-1]]
    across = alt.XOffset("component:N", sort=names)
    base = _chart(rows).encode(x=x, y=y, xOffset=across)
    points = base.mark_point(size=80, filled=True, opacity=1).encode(
        color=alt.Color("component:N", sort=names, title=None, scale=alt.Scale(domain=names, range=colours)),
        shape=alt.Shape("component:N", sort=names, title=None, scale=alt.Scale(domain=names, range=shapes)),
    )
    notes = base.transform_filter("datum.zero").mark_text(dy=13, fontSize=12).encode(text=alt.value("<"))
    rule = _chart([{"p": facts["threshold"]}]).mark_rule(strokeDash=[6, 3], color="#444444", strokeWidth=1.5)
    below = f"the {'median ' if several else ''}p-value must be below"
    subtitle = [f"Dashed: {facts['threshold']:g}, which {below}."]
    if any(row["zero"] for row in rows):
        subtitle.append(f"Marked <: none of {facts['draws']:,} draws, drawn at 1/{facts['draws']:,}.")
    title = "p-values by split and component" if several else "p-values by component"
    width = min(900, max(300, 22 * len(rows)))
    return _finished([rule.encode(y="p:Q"), points, notes], title, subtitle, width, 260)


def intervals(result: "Result") -> "alt.VConcatChart":
    """Confidence intervals of every utility and gap under either algorithm; of an audit, those of its first split.

    Parameters
    ----------
    result : Audit or Comparison
    """
    import altair as alt

    facts = result.to_dict()
    split = facts["splits"][0]
    kept = [one for one in split["intervals"] if one["quantity"] in ("status_quo", "candidate")]
    groups = set(facts["groups"])
    panels = []
    for measure in dict.fromkeys(one["measure"] for one in kept):
        for gap in (False, True):
            rows = [one for one in kept if one["measure"] == measure and (one["group"] not in groups) == gap]
            if rows:
                panels.append(_interval_panel(rows, f"{measure}: {'gap' if gap else 'utility'}", gap))
    which = f", split {split['split']} of {len(facts['splits'])}" if facts["kind"] == "audit" else ""
    title = f"{100 * (1 - facts['alpha']):g}% confidence intervals{which}"
    chart: alt.VConcatChart = _styled(alt.vconcat(*panels, title=alt.TitleParams(title, anchor="start", fontSize=15)))
    return chart


def save_chart(chart: "Chart", path: str | Path) -> None:
    """Write a chart to a file, in the format its name ends with; the HTML works with no network.

    Parameters
    ----------
    chart : altair chart
    path : str or path
        Ends with .svg, .png, .pdf or .html.
    """
    import vl_convert

    place, suffix = Path(path), Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(f"'{place}' has no picture format.", nearest(suffix, SUFFIXES))
    if not place.resolve().parent.is_dir():
        raise OptionError(f"there is no folder for '{place}'.", "Make it first, or write elsewhere.")
    spec = chart.to_json()
    if suffix == ".svg":
        content = vl_convert.vegalite_to_svg(spec).encode()
    elif suffix == ".png":
        content = vl_convert.vegalite_to_png(spec, scale=2)
    elif suffix == ".pdf":
        content = vl_convert.vegalite_to_pdf(spec)
    else:
        content = _page(spec).encode()
    write_whole(place, content)


def chart_svg(chart: "Chart") -> str:
    """A chart as the text of an SVG element."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(chart.to_json()))


def component_name(component: dict[str, Any], facts: dict[str, Any]) -> str:
    """How a component of the test is called: "accuracy of black", "gap"; with its utility where there are several."""
    accuracy = component["kind"] == "accuracy"
    measures = facts["accuracy_utilities" if accuracy else "fairness_utilities"]
    attributes = {c["group"] for c in facts["splits"][0]["components"] if c["kind"] == "fairness"}
    name = f"accuracy of {component['group']}"
    if not accuracy:
        name = "gap" + (f" by {component['group']}" if len(attributes) > 1 else "")
    return name + (f", {component['utility']}" if len(measures) > 1 else "")


def default_grids(result: "Result", sizes: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Deltas of accuracy and of the gap worth looking at, as round numbers: shares, or amounts of their size."""
    a, f = np.linspace(-0.5, 0.5, sizes[0]), np.linspace(0.0, 1.0, sizes[1])
    if result.question.claim.form == "difference":
        components = result.to_dict()["splits"][0]["components"]
        a *= _size([c["status_quo"] for c in components if c["kind"] == "accuracy"])
        f *= _size([c["status_quo"] for c in components if c["kind"] == "fairness"])
    return np.array([float(f"{v:.6g}") for v in a]), np.array([float(f"{v:.6g}") for v in f])


def intercepts(frontier: "Frontier") -> tuple[float | None, float | None]:
    """Where the edge crosses no change in accuracy and no change in the gap: (delta_a, delta_f); None where nowhere."""
    corners = frontier.edge()
    highest = [a for a, f in corners if f > 0 and a > 0]
    widest = [f for a, f in corners if a > 0 and f > 0]
    return max(highest, default=None), max(widest, default=None)


def _finished(layers: Sequence[Any], title: str, subtitle: Sequence[str], width: int, height: int) -> "alt.LayerChart":
    import altair as alt

    head = alt.TitleParams(
        title, subtitle=list(subtitle), anchor="start", fontSize=15, subtitleFontSize=12, limit=900, offset=10
    )
    chart: alt.LayerChart = _styled(alt.layer(*layers).properties(title=head, width=width, height=height))
    return chart


def _styled(chart: Any) -> Any:
    axis = {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 320, "titleLimit": 600}
    framed = chart.configure_view(stroke="#cccccc").configure_axis(**axis)
    return framed.configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=320)


def _chart(rows: Sequence[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(rows)))


def _algorithm_scales() -> "tuple[alt.Color, alt.Shape]":
    import altair as alt

    names = list(ALGORITHM_NAMES)
    return (
        alt.Color("algorithm:N", sort=names, title=None, scale=alt.Scale(domain=names, range=list(OKABE_ITO[:2]))),
        alt.Shape("algorithm:N", sort=names, title=None, scale=alt.Scale(domain=names, range=list(SHAPES[:2]))),
    )


def _utility_rows(facts: dict[str, Any], first: str, second: str) -> list[dict[str, Any]]:
    rows = []
    for name, algorithm in zip(ALGORITHM_NAMES, ("status_quo", "candidate"), strict=True):
        pairs = [(s["accuracy"][first][algorithm], s["accuracy"][second][algorithm]) for s in facts["splits"]]
        defined = [(x, y) for x, y in pairs if x is not None and y is not None]
        if len(pairs) > 1:
            rows += [{"algorithm": name, "x": x, "y": y, "mean": False} for x, y in defined]
        if defined:
            x, y = (float(value) for value in np.mean(defined, axis=0))
            rows.append({"algorithm": name, "x": x, "y": y, "mean": True})
    return rows


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or max(abs(high), 1.0) * 0.05
    return low - room, high + room


def _size(values: Sequence[float | None]) -> float:
    return max((abs(v) for v in values if v), default=1.0)


def _grid(deltas: ArrayLike, name: str) -> FloatArray:
    grid = np.unique(np.asarray(deltas, dtype=np.float64))
    if len(grid) < 2:
        raise OptionError(f"the grid of {name} deltas has fewer than two values.", "Give a range of deltas.")
    return grid


def _bands(level: float) -> tuple[FloatArray, list[str]]:
    """Limits between bands of p-values, and what the bands are called; the level is always one of the limits."""
    limits = [level / 10, level, 4 * level, 0.5] if 4 * level < 0.5 else [level / 10, level, (level + 1) / 2, 1.0]
    shown = [f"{limit:.3g}" for limit in limits]
    names = [f"below {shown[0]}", *(f"{low} to {high}" for low, high in pairwise(shown))]
    return np.array(limits), [*names, f"{shown[-1]} or more"]


def _merged_cells(a: FloatArray, f: FloatArray, band: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Rectangles around the grid's points; neighbours of one band are one, which keeps a picture small and seamless."""
    a_edges, f_edges = _edges(a), _edges(f)
    cells = []
    for bottom, top in pairwise([0, *(np.flatnonzero((np.diff(band, axis=0) != 0).any(axis=1)) + 1), len(a)]):
        for left, right in pairwise([0, *(np.flatnonzero(np.diff(band[bottom])) + 1), len(f)]):
            place = {"a": a_edges[bottom], "a2": a_edges[top], "f": f_edges[left], "f2": f_edges[right]}
            cells.append(place | {"band": names[int(band[bottom, left])]})
    return cells


def _edges(grid: FloatArray) -> list[float]:
    """Borders halfway between the points, the outer ones at the outer points."""
    return [float(v) for v in [grid[0], *((grid[1:] + grid[:-1]) / 2), grid[-1]]]


def _window(cells: Sequence[dict[str, Any]], axis: str) -> list[float]:
    return [min(cell[axis] for cell in cells), max(cell[f"{axis}2"] for cell in cells)]


def _zero_line(cells: Sequence[dict[str, Any]]) -> Any:
    """No change in accuracy, where that is in the window."""
    low, high = _window(cells, "a")
    values = [{"a": 0.0}] if low <= 0 <= high else []
    return _chart(values).mark_rule(strokeDash=[2, 3], color="#333333").encode(y="a:Q")


def _edge_layers(frontier: "Frontier", cells: Sequence[dict[str, Any]]) -> list[Any]:
    """The staircase, its two intercepts and their labels, as far as they are in the window."""
    (a_low, a_high), (f_low, f_high) = _window(cells, "a"), _window(cells, "f")
    corners = [(a, f) for a, f in frontier.edge() if a > a_low and f > f_low]
    if not corners:
        return []
    path, floor = [], f_low
    for a, f in corners:
        path += [{"a": min(a, a_high), "f": min(height, f_high)} for height in (floor, f)]
        floor = f
    path.append({"a": a_low, "f": min(floor, f_high)})
    line = _chart([point | {"order": i} for i, point in enumerate(path)]).mark_line(color=OKABE_ITO[1], strokeWidth=3)
    a_cross, f_cross = intercepts(frontier)
    marks: list[dict[str, Any]] = []
    if a_cross is not None and a_cross <= a_high and f_low <= 0:
        marks.append({"a": a_cross, "f": 0.0, "label": f"delta_a = {_down(a_cross)}", "left": False})
    if f_cross is not None and f_cross <= f_high and a_low <= 0 <= a_high:
        marks.append({"a": 0.0, "f": f_cross, "label": f"delta_f = {_down(f_cross)}", "left": f_cross > f_high / 2})
    points = _chart(marks).encode(x="f:Q", y="a:Q")
    dots = points.mark_point(shape="diamond", size=140, filled=True, color="black", stroke="white", opacity=1)
    layers = [line.encode(x="f:Q", y="a:Q", order="order:Q"), dots]
    for halo in ({"stroke": "white", "strokeWidth": 3}, {}):  # white behind the letters, legible on any band
        text = {"fontSize": 13, "fontWeight": "bold", "text": {"expr": "datum.label"}, **halo}
        layers.append(points.transform_filter("!datum.left").mark_text(align="left", dx=9, dy=-12, **text))
        layers.append(points.transform_filter("datum.left").mark_text(align="right", dx=-9, dy=18, **text))
    return layers


def _down(value: float) -> str:
    """Three digits, never rounded up: the edge itself is not rejected."""
    return f"{np.floor(value * 1000) / 1000:.3f}" if abs(value) < 100 else f"{np.floor(value):,.0f}"


def _p_rows(facts: dict[str, Any], least: float) -> list[dict[str, Any]]:
    rows = []
    for split in facts["splits"]:
        named = [(component_name(c, facts), c["p_value"]) for c in split["components"]]
        for name, p in [*named, ("all at once", split["p_value"])]:
            rows.append({"split": split["split"], "component": name, "p": max(p, least), "zero": p == 0})
    return rows


def _interval_panel(rows: Sequence[dict[str, Any]], title: str, gap: bool) -> Any:
    import altair as alt

    values = [row | {"algorithm": row["quantity"].replace("_", " ")} for row in rows if row["estimate"] is not None]
    names = list(dict.fromkeys(row["group"] for row in rows))
    colour, shape = _algorithm_scales()
    across = alt.YOffset("algorithm:N", sort=list(ALGORITHM_NAMES))
    x = alt.X("low:Q", title=title, scale=alt.Scale(zero=gap))
    base = _chart(values).encode(y=alt.Y("group:N", sort=names, title=None), yOffset=across)
    bars = base.mark_rule(strokeWidth=2.5).encode(x=x, x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x="estimate:Q", color=colour, shape=shape)
    return alt.layer(bars, points).properties(width=WIDTH, height=alt.Step(26))


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>improvable</title><link rel="icon" href="data:,"></head>
<body><div id="chart"></div>
<script>{bundle}</script>
<script>vegaEmbed("#chart", {spec}, {{actions: false}});</script>
</body></html>
"""


def _page(spec: str) -> str:
    """A chart as a page that needs no network: the libraries are in it, and no text of the data can end a script."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
    return _PAGE.format(bundle=bundle, spec=json.dumps(json.loads(spec)).replace("<", "\\u003c"))
