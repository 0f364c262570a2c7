"""p-values by condition, every repetition a dot, with the threshold."""

from functools import partial
from typing import TYPE_CHECKING, Any

from improvable.report.blocks import Picture
from improvable.report.plots.style import AFTER, INK, LIMIT, SOFT, WIDE, Plot, chart, plain_style, room_for
from improvable.results.facts import Facts, by_component
from improvable.results.formatting import capital, p_text
from improvable.results.wording import component_name

if TYPE_CHECKING:
    from improvable.results.frontier import Frontier

ALL = "All conditions"


@Plot
def p_values(facts: Facts, _: "Frontier") -> Picture:
    """p-values of every condition in every repetition, on a log scale, with the threshold."""
    several = len(facts["repetitions"]) > 1
    each = "Each dot is a repetition; the diamond is the lower median of all conditions. " if several else ""
    words = [f"{each}The answer is yes where {'the diamond' if several else 'every dot'} is left of the dashed line."]
    if any(row["zero"] for row in p_rows(facts)):
        words.append(f"A p-value of none of {facts['draws']:,} draws stands at the left edge, 1/{facts['draws']:,}.")
    title = "How sure each condition is: p-values"
    return Picture("p-values", title, tuple(words), p_value_alt(facts), partial(draw_p_values, facts))


def p_rows(facts: Facts) -> list[dict[str, Any]]:
    """One dot per condition and repetition; a p-value of no draws stands at one draw."""
    least = 1 / facts["draws"]
    named = [
        (component_name(one[0], facts), [repetition["p_value"] for repetition in one]) for one in by_component(facts)
    ]
    if len(named) > 1 or len(facts["repetitions"]) > 1:
        named.append((ALL, [repetition["p_value"] for repetition in facts["repetitions"]]))
    return [
        {"component": capital(name), "repetition": repetition["repetition"], "p": max(p, least), "zero": p == 0}
        for name, values in named
        for p, repetition in zip(values, facts["repetitions"], strict=True)
    ]


def draw_p_values(facts: Facts, width: int) -> Any:
    import altair as alt

    rows, least = p_rows(facts), 1 / facts["draws"]
    names = list(dict.fromkeys(row["component"] for row in rows))
    room = room_for(names, 230 if width >= WIDE else 140)
    scale = alt.Scale(type="log", domain=[least * 0.8, 1.25], nice=False)
    ticks = [tick for tick in (0.0001, 0.001, 0.01, 0.1, 1) if tick >= least]
    x = alt.X(
        "p:Q", scale=scale, title="p-value (log scale)", axis=alt.Axis(values=ticks, format="~g", labelColor=SOFT)
    )
    y = alt.Y("component:N", sort=names, title=None, axis=alt.Axis(labelLimit=room, grid=True))
    dots = chart(rows).mark_point(filled=True, size=60, opacity=0.65, color=AFTER).encode(x=x, y=y)
    limit = [{"p": facts["threshold"], "text": f"{facts['threshold']:g}"}]
    line = chart(limit).mark_rule(strokeDash=[5, 4], strokeWidth=2, color=LIMIT).encode(x=alt.X("p:Q", scale=scale))
    text = chart(limit).mark_text(dy=-8, baseline="bottom", color=LIMIT, fontSize=12, fontWeight="bold")
    layers = [line, text.encode(x=alt.X("p:Q", scale=scale), y=alt.value(0), text="text:N"), dots]
    if len(facts["repetitions"]) > 1:
        whole = [{"component": ALL, "p": max(facts["p_value"], least), "combined": True}]
        mark = chart(whole).mark_point(filled=True, shape="diamond", size=190, opacity=1, color=INK)
        layers.append(mark.encode(x=x, y=y))
    return plain_style(alt.layer(*layers).properties(width=width - room - 12, height=30 * len(names)))


def p_value_alt(facts: Facts) -> str:
    parts = []
    for one in by_component(facts):
        values = [repetition["p_value"] for repetition in one]
        span = p_text(min(values), facts["draws"])
        if max(values) > min(values):
            span += f" to {p_text(max(values), facts['draws'])}"
        parts.append(f"{component_name(one[0], facts)} {span}")
    return f"p-values: {'; '.join(parts)}. All conditions {facts['p_value_text']}, threshold {facts['threshold']:g}."
