"""Power curves: how often a test rejects, against whatever is varied."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from improvable.report.plots.style import OKABE_ITO, SHAPES, chart, finished

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

    names = list(dict.fromkeys(row["series"] for row in rows))
    values = [
        row
        | {"variant": row.get("variant", row["series"])}
        | {"low": max(0.0, row["power"] - 2 * row["error"]), "high": min(1.0, row["power"] + 2 * row["error"])}
        for row in rows
    ]
    colors = [OKABE_ITO[j % len(OKABE_ITO)] for j in range(len(names))]
    shapes = [SHAPES[j % len(SHAPES)] for j in range(len(names))]
    variants = list(dict.fromkeys(row.get("variant", row["series"]) for row in rows))
    dashes = [DASHES[j % len(DASHES)] for j in range(len(variants))]
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("power:Q", title="share of rejections", scale=alt.Scale(domain=[0, 1]))
    color = alt.Color(
        "series:N",
        sort=names,
        title=None,
        legend=alt.Legend(symbolOpacity=1),
        scale=alt.Scale(domain=names, range=colors),
    )
    base = chart(values).encode(x=x, color=color, detail="variant:N")
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=""), y2="high:Q")
    dash = alt.StrokeDash("variant:N", sort=variants, title=None, scale=alt.Scale(domain=variants, range=dashes))
    line = base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash)
    shape = alt.Shape("series:N", sort=names, title=None, scale=alt.Scale(domain=names, range=shapes))
    points = base.mark_point(filled=True, size=35, opacity=1).encode(y=y, shape=shape)
    rule = chart([{"power": level}]).mark_rule(strokeDash=[6, 3], color="#444444").encode(y=y)
    verticals = chart([{"x": mark} for mark in marks]).mark_rule(strokeDash=[2, 3], color="#444444").encode(x=x)
    notes = [*subtitle, f"Dashed: the level, {level:g}. Bands: two Monte Carlo errors."]
    return finished([band, rule, verticals, line, points], title, notes, 480, 320)
