"""p-values by split and component."""

from typing import TYPE_CHECKING, Any

from improvable.report.plots.style import OKABE_ITO, SHAPES, chart, finished
from improvable.results.words import combined_name, component_name

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.result import Result


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
    base = chart(rows).encode(x=x, y=y, xOffset=across)
    points = base.mark_point(size=80, filled=True, opacity=1).encode(
        color=alt.Color("component:N", sort=names, title=None, scale=alt.Scale(domain=names, range=colours)),
        shape=alt.Shape("component:N", sort=names, title=None, scale=alt.Scale(domain=names, range=shapes)),
    )
    notes = base.transform_filter("datum.zero").mark_text(dy=13, fontSize=12).encode(text=alt.value("<"))
    rule = chart([{"p": facts["threshold"]}]).mark_rule(strokeDash=[6, 3], color="#444444", strokeWidth=1.5)
    below = f"the {combined_name(facts) + ' ' if several else ''}p-value must be below"
    subtitle = [f"Dashed: {facts['threshold']:g}, which {below}."]
    if any(row["zero"] for row in rows):
        subtitle.append(f"Marked <: none of {facts['draws']:,} draws, drawn at 1/{facts['draws']:,}.")
    title = "p-values by split and component" if several else "p-values by component"
    width = min(900, max(300, 22 * len(rows)))
    return finished([rule.encode(y="p:Q"), points, notes], title, subtitle, width, 260)


def _p_rows(facts: dict[str, Any], least: float) -> list[dict[str, Any]]:
    rows = []
    for split in facts["splits"]:
        named = [(component_name(c, facts), c["p_value"]) for c in split["components"]]
        for name, p in [*named, ("all at once", split["p_value"])]:
            rows.append({"split": split["split"], "component": name, "p": max(p, least), "zero": p == 0})
    return rows
