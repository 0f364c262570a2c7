"""The analyst's payoff in the game of Section 5: what she expects to get from repeating a procedure in secret."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from improvable.report.plots.style import OKABE_ITO, SHAPES, WIDTH, chart, finished

if TYPE_CHECKING:
    import altair as alt


def payoff(
    rows: Sequence[dict[str, Any]], marks: Sequence[dict[str, Any]], *, title: str, subtitle: Sequence[str],
    limit: int | None = None,
) -> "alt.LayerChart":  # fmt: skip
    """u(m), the chance of a rejection less its cost, against the attempts m, for both procedures.

    Parameters
    ----------
    rows : sequence of dict
        Each with "m", "u" and "procedure".
    marks : sequence of dict
        The same for the analyst's choices.
    title : str
    subtitle : sequence of str
    limit : int, optional
        The lemma's m-bar, drawn as a vertical line.
    """
    import altair as alt

    names = list(dict.fromkeys(row["procedure"] for row in rows))
    most = max(row["m"] for row in rows)
    x = alt.X(
        "m:Q",
        title="secret attempts, m",
        scale=alt.Scale(domain=[0, most], nice=False),
        axis=alt.Axis(format=",d", tickMinStep=1),
    )
    y = alt.Y("u:Q", title="analyst's payoff, u(m)")
    legend = alt.Legend(
        orient="bottom", direction="vertical", symbolSize=150, symbolStrokeWidth=0, labelLimit=WIDTH + 100
    )
    shared: dict[str, Any] = {"sort": names, "title": None, "legend": legend}
    colour = alt.Color("procedure:N", scale=alt.Scale(domain=names, range=list(OKABE_ITO[: len(names)])), **shared)
    shape = alt.Shape("procedure:N", scale=alt.Scale(domain=names, range=list(SHAPES[: len(names)])), **shared)
    dash = alt.StrokeDash(
        "procedure:N", scale=alt.Scale(domain=names, range=[[1, 0], [7, 4]][: len(names)]), legend=None
    )
    lines = chart(rows).mark_line(strokeWidth=2.2, clip=True).encode(x=x, y=y, color=colour, strokeDash=dash)
    points = chart(marks).mark_point(size=150, filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape)
    nothing = chart([{"u": 0.0}]).mark_rule(color="#444444").encode(y="u:Q")
    shown = [{"m": limit}] if limit is not None and limit <= most else []
    end = chart(shown).mark_rule(strokeDash=[2, 3], color="#444444", strokeWidth=1.5).encode(x="m:Q")
    return finished([nothing, end, lines, points], title, subtitle, WIDTH + 100, 280)
