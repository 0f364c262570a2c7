"""Whom both algorithms select, or only one of them: bars of people, one for each group."""

from functools import partial
from typing import TYPE_CHECKING, Any

from improvable.inference.diagnostics import KINDS
from improvable.report.blocks import Picture
from improvable.report.people import NAMES, people_count, people_table
from improvable.report.plots.style import AFTER, BEFORE, BOTH, PAPER, SOFT, WIDE, Plot, chart, plain_style, room_for
from improvable.results.collect import PEOPLE
from improvable.results.facts import Facts

if TYPE_CHECKING:
    from improvable.results.frontier import Frontier

SHOWN = ("only_status_quo", "both", "only_candidate")
"""In the order of a bar: what the status quo selects, and what the candidate does, are each in one piece."""
LETTER = 7.5
"""Pixels that a digit takes."""


@Plot
def people(facts: Facts, _: "Frontier") -> Picture | None:
    """Of 1,000 people in each group, whom both algorithms select, or only one; None where decisions are prices."""
    if not facts["people"]:
        return None
    over = " Means over the repetitions." if len(facts["repetitions"]) > 1 else ""
    words = (
        "The first two parts of a bar are the status quo's selection, the last two the candidate's; all others are "
        f"selected by neither.{over}"
    )
    said = [
        f"{group}: {', '.join(f'{people_count(kinds[kind])} by {NAMES[kind]}' for kind in KINDS)}"
        for group, kinds in facts["people"].items()
    ]
    return Picture(
        name="people",
        title=f"Of {PEOPLE:,} people in each group, who would be selected",
        words=(words,),
        alt=f"Of {PEOPLE:,} people, selected: {'; '.join(said)}.",
        draw=partial(draw_people, facts),
        table=people_table(facts),
    )


def draw_people(facts: Facts, width: int) -> Any:
    import altair as alt

    found = facts["people"]
    groups = list(found)
    room = room_for(groups, 190 if width >= WIDE else 110)
    most = max(sum(kinds[kind]["people"] for kind in SHOWN) for kinds in found.values()) or 1.0
    inner = width - room - 24
    rows = []
    for group, kinds in found.items():
        start = 0.0
        for kind in SHOWN:
            number, text = kinds[kind]["people"], people_count(kinds[kind])
            fits = number / most * inner > LETTER * len(text) + 6
            rows.append(
                {
                    "group": group, "kind": NAMES[kind], "start": start, "end": start + number,
                    "middle": start + number / 2, "text": text if fits else "",
                }
            )  # fmt: skip
            start += number
    names = [NAMES[kind] for kind in SHOWN]
    legend = alt.Legend(orient="top", title=None, symbolType="square", columns=3 if width >= WIDE else 1)
    color = alt.Color("kind:N", sort=names, legend=legend, scale=alt.Scale(domain=names, range=[BEFORE, BOTH, AFTER]))
    y = alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(labelLimit=room), scale=alt.Scale(paddingInner=0.35))
    axis = alt.Axis(labelColor=SOFT, tickCount=5)
    x = alt.X("start:Q", title=f"people, of {PEOPLE:,}", axis=axis, scale=alt.Scale(domain=[0, most], nice=False))
    bars = chart(rows).mark_bar(height=26, stroke=PAPER, strokeWidth=1).encode(x=x, x2="end:Q", y=y, color=color)
    text = chart(rows).mark_text(fontSize=12, color=PAPER, fontWeight="bold").encode(x="middle:Q", y=y, text="text:N")
    drawn = alt.layer(bars, text).properties(width=inner, height=42 * len(groups))
    return plain_style(drawn)
