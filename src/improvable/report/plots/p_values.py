"""p-values by split and component."""

from typing import TYPE_CHECKING, Any

from improvable.report.plots.style import OKABE_ITO, SHAPES, chart, finished
from improvable.results.facts import Facts, by_component
from improvable.results.words import component_name, round_name

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.result import Result


def p_values(result: "Result") -> "alt.LayerChart":
    """p-values by split and component, on a log scale; a p-value of no draws is drawn at one draw, with a "<".

    Parameters
    ----------
    result : Audit or Comparison
    """
    import altair as alt

    facts = result.facts
    least, what = 1 / facts["draws"], round_name(facts["folds"])
    rows = _p_rows(facts, least)
    several, names = len(facts["splits"]) > 1, list(dict.fromkeys(row["component"] for row in rows))
    x = alt.X("split:O", title=what if several else None, axis=alt.Axis(labelAngle=0, labels=several))
    y = alt.Y("p:Q", title="p-value (log scale)", scale=alt.Scale(type="log", domain=[least / 2, 1.5], nice=False))
    # Six colors and five shapes make thirty pairs before one repeats.
    colors = [OKABE_ITO[j % 6] for j in range(len(names) - 1)] + [OKABE_ITO[-1]]
    shapes = [SHAPES[j % 5] for j in range(len(names) - 1)] + [SHAPES[-1]]
    across = alt.XOffset("component:N", sort=names)
    base = chart(rows).encode(x=x, y=y, xOffset=across)
    points = base.mark_point(size=80, filled=True, opacity=1).encode(
        color=alt.Color("component:N", sort=names, title=None, scale=alt.Scale(domain=names, range=colors)),
        shape=alt.Shape("component:N", sort=names, title=None, scale=alt.Scale(domain=names, range=shapes)),
    )
    notes = base.transform_filter("datum.zero").mark_text(dy=13, fontSize=12).encode(text=alt.value("<"))
    rule = chart([{"p": facts["threshold"]}]).mark_rule(strokeDash=[6, 3], color="#444444", strokeWidth=1.5)
    below = f"the {'lower median ' if several else ''}p-value must be below"
    subtitle = [f"Dashed: {facts['threshold']:g}, which {below}."]
    if any(row["zero"] for row in rows):
        subtitle.append(f"Marked <: none of {facts['draws']:,} draws, shown at 1/{facts['draws']:,}.")
    title = f"p-values by {what} and component" if several else "p-values by component"
    width = min(900, max(300, 22 * len(rows)))
    return finished([rule.encode(y="p:Q"), points, notes], title, subtitle, width, 260)


def _p_rows(facts: Facts, least: float) -> list[dict[str, Any]]:
    named = [(component_name(one[0], facts), [split["p_value"] for split in one]) for one in by_component(facts)]
    named.append(("all conditions", [split["p_value"] for split in facts["splits"]]))
    return [
        {"split": split["split"], "component": name, "p": max(values[k], least), "zero": values[k] == 0}
        for k, split in enumerate(facts["splits"])
        for name, values in named
    ]
