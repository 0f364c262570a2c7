"""Power curves, how often a test rejects, and learning curves, what a candidate reaches with more training rows."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from improvable.report.plots.style import OKABE_ITO, SHAPES, chart, finished, heading, padded, series, styled

if TYPE_CHECKING:
    import altair as alt

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4])


def power_curves(
    rows: Sequence[dict[str, Any]],
    *,
    x_title: str,
    title: str,
    subtitle: Sequence[str],
    level: float,
    marks: Sequence[float] = (),
) -> "alt.LayerChart":
    """One line per series, with a band of two Monte Carlo errors, and the level.

    Parameters
    ----------
    rows : sequence of dict
        Each with "x", "series", "power" and "error"; series of one "variant" have the same dashes.
    x_title, title : str
    subtitle : sequence of str
    level : float
        Drawn as a dashed line.
    marks : sequence of float
        Values of x worth a vertical line.
    """
    import altair as alt

    values = [
        row
        | {"variant": row.get("variant", row["series"])}
        | {"low": max(0.0, row["power"] - 2 * row["error"]), "high": min(1.0, row["power"] + 2 * row["error"])}
        for row in rows
    ]
    variants = list(dict.fromkeys(row["variant"] for row in values))
    dashes = [DASHES[j % len(DASHES)] for j in range(len(variants))]
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("power:Q", title="share of rejections", scale=alt.Scale(domain=[0, 1]))
    color, shape = _series("series", values, legend=True)
    base = chart(values).encode(x=x, color=color, detail="variant:N")
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=""), y2="high:Q")
    dash = alt.StrokeDash("variant:N", sort=variants, title=None, scale=alt.Scale(domain=variants, range=dashes))
    line = base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash)
    points = base.mark_point(filled=True, size=35, opacity=1).encode(y=y, shape=shape)
    rule = chart([{"power": level}]).mark_rule(strokeDash=[6, 3], color="#444444").encode(y=y)
    verticals = chart([{"x": mark} for mark in marks]).mark_rule(strokeDash=[2, 3], color="#444444").encode(x=x)
    notes = [*subtitle, f"Dashed: the level, {level:g}. Bands: two Monte Carlo errors."]
    return finished([band, rule, verticals, line, points], title, notes, 480, 320)


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

    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in ("accuracy", "fairness")}
    panels = [_panel(several, kind) for kind, several in kinds.items() if several]
    notes = [*wrap(words, 100), "Bands: two Monte Carlo errors of the difference from the status quo."]
    head = heading("What the rule reaches with more training rows", notes)
    whole: alt.VConcatChart = styled(
        alt.vconcat(*panels).resolve_scale(color="independent", shape="independent").properties(title=head)
    )
    return whole


def _panel(rows: Sequence[dict[str, Any]], kind: str) -> Any:
    import altair as alt

    title, height = ("accuracy", 190) if kind == "accuracy" else ("gap", 130)
    values = [row | {"low": row["value"] - 2 * row["error"], "high": row["value"] + 2 * row["error"]} for row in rows]
    low, high = padded([row[end] for row in values for end in ("low", "high")])
    sizes = sorted({row["x"] for row in rows})
    scale = alt.Scale(type="log", nice=False, domain=[sizes[0] / 1.1, sizes[-1] * 1.1])
    x = alt.X("x:Q", title="training rows", scale=scale, axis=alt.Axis(values=sizes, format=",d", grid=False))
    y = alt.Y("value:Q", title=title, scale=alt.Scale(domain=[low, high], nice=False, zero=False))
    color, shape = _series("component", values, legend=len({row["component"] for row in rows}) > 1)
    algorithms = ["status quo", "candidate"]
    dash = alt.StrokeDash(
        "algorithm:N", sort=algorithms, title=None, scale=alt.Scale(domain=algorithms, range=[[4, 4], [1, 0]])
    )
    base = chart(values).encode(x=x, color=color)
    candidate = base.transform_filter("datum.algorithm == 'candidate'")
    band = candidate.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=""), y2="high:Q")
    lines = base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash)
    points = candidate.mark_point(filled=True, size=55, opacity=1).encode(y=y, shape=shape)
    return alt.layer(band, lines, points).properties(width=480, height=height)


def _series(field: str, rows: Sequence[dict[str, Any]], legend: bool) -> tuple[Any, Any]:
    """The color and the shape of each series, in the order of the rows."""
    import altair as alt

    names = list(dict.fromkeys(row[field] for row in rows))
    return series(field, names, OKABE_ITO, SHAPES, title=None, legend=alt.Legend(symbolOpacity=1) if legend else None)
