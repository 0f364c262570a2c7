"""Which sizes of improvement are shown: one shaded region of accuracy and gap."""

from functools import partial
from typing import Any

import numpy as np

from improvable.report.blocks import Picture, Sentence
from improvable.report.plots import style
from improvable.report.plots.style import AFTER, Plot, chart, field
from improvable.results.facts import Facts
from improvable.results.formatting import confidence
from improvable.results.frontier import Frontier

FINE = 0.1
"""An axis that spans less has ticks of a tenth of a percent."""
APART, NEAR_AXIS = 0.12, 0.45
"""Shares of a region's height that two labels need, and of its width that one does."""
NO_REGION = (
    "No size of improvement is shown in accuracy and the gap at once, so there is no "
    "map of sizes to draw."
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
