"""Improvement convergence: what the candidate reaches, against the number of rows it learned from."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from improvable.report.plots.style import OKABE_ITO, SHAPES, chart, padded, styled

if TYPE_CHECKING:
    import altair as alt


def learning_curves(rows: Sequence[dict[str, Any]], *, words: str) -> "alt.VConcatChart":
    """Accuracy of each group above, the gap below, both against training rows.

    Parameters
    ----------
    rows : sequence of dict
        Each with "x" (training rows), "kind" ("accuracy" or "fairness"), "component" (a group, or "gap"),
        "algorithm" ("status quo" or "candidate"), "value" and "error".
    words : str
        What the picture says, for its subtitle.
    """
    import altair as alt

    panels = []
    for kind, title in (("accuracy", "accuracy"), ("fairness", "gap")):
        several = [row for row in rows if row["kind"] == kind]
        if several:
            panels.append(_panel(several, title, 190 if kind == "accuracy" else 130))
    head = alt.TitleParams(
        "What the rule reaches with more training rows",
        subtitle=[*wrap(words, 100), "Bands: two Monte Carlo errors of the difference from the status quo."],
        anchor="start",
        fontSize=15,
        subtitleFontSize=12,
        limit=900,
        offset=10,
    )
    whole: alt.VConcatChart = styled(
        alt.vconcat(*panels).resolve_scale(color="independent", shape="independent").properties(title=head)
    )
    return whole


def _panel(rows: Sequence[dict[str, Any]], title: str, height: int) -> Any:
    import altair as alt

    names = list(dict.fromkeys(row["component"] for row in rows))
    values = [row | {"low": row["value"] - 2 * row["error"], "high": row["value"] + 2 * row["error"]} for row in rows]
    low, high = padded([row[end] for row in values for end in ("low", "high")])
    sizes = sorted({row["x"] for row in rows})
    x = alt.X(
        "x:Q",
        title="training rows",
        scale=alt.Scale(type="log", nice=False, domain=[sizes[0] / 1.1, sizes[-1] * 1.1]),
        axis=alt.Axis(values=sizes, format=",d", grid=False),
    )
    y = alt.Y("value:Q", title=title, scale=alt.Scale(domain=[low, high], nice=False, zero=False))
    colours = [OKABE_ITO[j % len(OKABE_ITO)] for j in range(len(names))]
    shapes = [SHAPES[j % len(SHAPES)] for j in range(len(names))]
    shared: dict[str, Any] = {
        "sort": names,
        "title": None,
        "legend": alt.Legend(symbolOpacity=1) if len(names) > 1 else None,
    }
    colour = alt.Color("component:N", scale=alt.Scale(domain=names, range=colours), **shared)
    shape = alt.Shape("component:N", scale=alt.Scale(domain=names, range=shapes), **shared)
    algorithms = ["status quo", "candidate"]
    dash = alt.StrokeDash(
        "algorithm:N", sort=algorithms, title=None, scale=alt.Scale(domain=algorithms, range=[[4, 4], [1, 0]])
    )
    base = chart(values).encode(x=x, color=colour)
    band = base.transform_filter("datum.algorithm == 'candidate'").mark_area(opacity=0.15)
    lines = base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash)
    points = base.transform_filter("datum.algorithm == 'candidate'").mark_point(filled=True, size=55, opacity=1)
    return alt.layer(
        band.encode(y=alt.Y("low:Q", title=""), y2="high:Q"), lines, points.encode(y=y, shape=shape)
    ).properties(width=480, height=height)
