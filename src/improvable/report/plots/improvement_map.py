"""Which sizes of improvement are shown: one shaded region, in plain words."""

from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.report.plots.style import AFTER, INK, LIMIT, REGION, SOFT, WIDE, chart, plain_style, with_title
from improvable.report.plots.surface import intercepts

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.frontier import Frontier
    from improvable.results.result import Result

FINE = 0.1
"""An axis that spans less has ticks of a tenth of a percent."""
APART, NEAR_AXIS = 0.12, 0.45
"""Shares of the picture's height that two texts need, and of its width that one does."""
NOTHING = "No size of improvement is shown in accuracy and the gap at once, so there is no map of sizes to draw."


def improvement_map(result: "Result") -> "alt.LayerChart | None":
    """The sizes of improvement that are shown, as a region; None where there are none in both respects.

    Parameters
    ----------
    result : Audit or Comparison
    """
    if not has_map(result.frontier()):
        return None
    drawn: alt.LayerChart = with_title(draw_map(result, WIDE), *map_words(result))
    return drawn


def has_map(frontier: "Frontier") -> bool:
    """Whether some improvement in both respects is shown."""
    return frontier.ask == "both" and None not in intercepts(frontier)


def map_words(result: "Result") -> tuple[str, list[str]]:
    """Title and how to read the picture."""
    confidence = f"{100 * (1 - result.question.alpha):g}%"
    return "Which sizes of improvement are shown", [
        f"Shaded: pairs of improvements that are shown at once, each with {confidence} confidence. "
        "The cross is what was asked for."
    ]


def corners(frontier: "Frontier") -> list[tuple[float, float]]:
    """Corners of the region with no loss in either respect, gap first."""
    return [(f, a) for a, f in frontier.edge() if a > 0 and f > 0]


def _size(value: float, share: bool) -> str:
    """Never rounded up: the edge itself is not shown."""
    return f"{np.floor(value * 1000 + 1e-9) / 10:g}%" if share else f"{float(f'{value:.4g}'):g}"


def ends_of(marks: list[dict[str, Any]], height: float) -> list[dict[str, Any]]:
    """Of the corners the two ends, which are told in words; one where their texts would stand on each other."""
    first, last = marks[0], marks[-1]
    return [last] if first is last or first["a"] - last["a"] < APART * height else [first, last]


def draw_map(result: "Result", width: int) -> Any:
    """The picture for a page of so many pixels, without a title."""
    import altair as alt

    frontier = result.frontier()
    share, found = frontier.form == "ratio", corners(frontier)
    claim = result.question.claim
    asked = [d if isinstance(d, int | float) else 0.0 for d in (claim.delta_fairness, claim.delta_accuracy)]
    ends = [1.18 * max(max(one[i] for one in found), asked[i]) for i in (0, 1)]
    starts = [min(0.0, 1.3 * asked[i]) for i in (0, 1)]
    steps, left = [], starts[0]
    for f, a in sorted(found):
        steps.append({"f": left, "f2": f, "a": starts[1], "a2": a})
        left = f
    every = "of every group " if len(frontier.groups) > 1 else ""
    spans = [end - start for start, end in zip(starts, ends, strict=True)]
    forms = [(".0%" if span > FINE else ".1%") if share else "~g" for span in spans]
    better = "better" if frontier.lower_is_better else "higher"
    x = alt.X(
        "f:Q", title="gap smaller by", scale=alt.Scale(domain=[starts[0], ends[0]], nice=False),
        axis=alt.Axis(format=forms[0], labelColor=SOFT, tickCount=5),
    )  # fmt: skip
    y = alt.Y(
        "a:Q", title=f"accuracy {every}{better} by", scale=alt.Scale(domain=[starts[1], ends[1]], nice=False),
        axis=alt.Axis(format=forms[1], labelColor=SOFT, tickCount=5),
    )  # fmt: skip
    region = chart(steps).mark_rect(color=REGION, opacity=1).encode(x=x, x2="f2:Q", y=y, y2="a2:Q")
    path = [{"f": starts[0], "a": max(a for _, a in found), "order": 0}]
    for f, a in sorted(found):
        path += [{"f": f, "a": a, "order": len(path)}]
        below = max((b for g, b in found if g > f), default=starts[1])
        path += [{"f": f, "a": below, "order": len(path)}]
    edge = chart(path).mark_line(color=AFTER, strokeWidth=2.5).encode(x=x, y=y, order="order:Q")
    marks = [{"f": f, "a": a, "text": f"gap -{_size(f, share)}, accuracy +{_size(a, share)}"} for f, a in sorted(found)]
    few = ends_of(marks, spans[1])
    layers = [region, edge, chart(few).mark_point(filled=True, size=90, color=AFTER, opacity=1).encode(x=x, y=y)]
    for mark in few:
        # Below and left of its corner a text is inside of the region, where no line is; near the axis, outside of it.
        inside = mark["f"] - starts[0] > NEAR_AXIS * spans[0]
        place = {"align": "right", "baseline": "top", "dx": -8, "dy": 8}
        place = place if inside else {"align": "left", "baseline": "bottom", "dx": 4, "dy": -8}
        text = chart([mark]).mark_text(color=INK, fontSize=12, **place)
        layers.append(text.encode(x=x, y=y, text="text:N"))
    cross = chart([{"f": asked[0], "a": asked[1]}]).mark_point(
        shape="cross", size=150, color=LIMIT, filled=True, opacity=1, clip=False
    )
    layers.append(cross.encode(x=x, y=y))
    return plain_style(alt.layer(*layers).properties(width=min(width - 70, 430), height=250))


def map_alt(result: "Result") -> str:
    """The corners of the region in words."""
    frontier = result.frontier()
    share = frontier.form == "ratio"
    said = [
        f"gap smaller by {_size(f, share)} with accuracy higher by {_size(a, share)}"
        for f, a in sorted(corners(frontier))
    ]
    return f"Shown up to: {'; '.join(said)}."
