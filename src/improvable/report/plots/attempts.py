"""The game of Section 5: how often a true null is rejected, against how often the procedure is secretly repeated."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from improvable.report.plots.style import OKABE_ITO, SHAPES, WIDTH, chart, finished

if TYPE_CHECKING:
    import altair as alt

LONGEST_LINEAR = 200
DASHES = [[1, 0], [7, 4], [2, 2], [9, 3, 2, 3]]


class Repeated(TypedDict):
    """A point: after m attempts of a procedure, a true null is rejected with probability p."""

    m: int
    p: float
    procedure: str


def attempts(
    curves: Sequence[Repeated], marks: Sequence[Repeated], *, title: str, subtitle: Sequence[str], level: float
) -> "alt.LayerChart":
    """Probability of rejecting a true null against attempts, one line per procedure, with the analyst's choices.

    Parameters
    ----------
    curves : sequence of dict
        Points of the lines, each with "m", "p" and "procedure".
    marks : sequence of dict
        The analyst's choice, one for each procedure.
    title : str
    subtitle : sequence of str
    level : float
        Drawn as a dotted line.
    """
    import altair as alt

    names = [mark["procedure"] for mark in marks]
    scale, axis = _across(max(point["m"] for point in curves))
    x = alt.X("m:Q", title="secret attempts", scale=scale, axis=axis)
    y = alt.Y(
        "p:Q",
        title="probability that a true null is rejected",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=5),
    )
    legend = alt.Legend(
        orient="bottom", direction="vertical", symbolSize=150, symbolStrokeWidth=0, labelLimit=WIDTH + 100
    )
    shared: dict[str, Any] = {"sort": names, "title": None, "legend": legend}
    color = alt.Color("procedure:N", scale=alt.Scale(domain=names, range=list(OKABE_ITO[: len(names)])), **shared)
    shape = alt.Shape("procedure:N", scale=alt.Scale(domain=names, range=list(SHAPES[: len(names)])), **shared)
    dash = alt.StrokeDash("procedure:N", scale=alt.Scale(domain=names, range=DASHES[: len(names)]), legend=None)
    lines = chart([{**point} for point in curves]).mark_line(strokeWidth=2.2)
    points = chart([{**mark} for mark in marks]).mark_point(size=150, filled=True, opacity=1)
    rule = chart([{"p": level}]).mark_rule(strokeDash=[2, 3], color="#444444", strokeWidth=1.5).encode(y="p:Q")
    layers = [
        rule,
        lines.encode(x=x, y=y, color=color, strokeDash=dash),
        points.encode(x=x, y=y, color=color, shape=shape),
    ]
    return finished(layers, title, subtitle, WIDTH + 100, 280)


def _across(most: int) -> tuple[Any, Any]:
    """The axis of attempts: plain where they are few, else by powers of ten that begin at none."""
    import altair as alt

    if most <= LONGEST_LINEAR:
        return alt.Scale(domain=[0, most], nice=False), alt.Axis(format=",d", tickMinStep=1)
    powers = [10**power for power in range(int(np.log10(most)) + 1)]
    scale = alt.Scale(type="symlog", constant=1, domain=[0, most], nice=False)
    return scale, alt.Axis(format=",d", values=[0, *powers])
