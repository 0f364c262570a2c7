"""Whom both algorithms select, or only one of them: bars of people, one for each group."""

from typing import TYPE_CHECKING, Any

from improvable.report.labels import in_words
from improvable.report.people import NAMES, PEOPLE, people_by_group, people_words
from improvable.report.plots.style import (
    AFTER,
    BEFORE,
    BOTH,
    PAPER,
    SOFT,
    WIDE,
    chart,
    plain_style,
    room_for,
    with_title,
)
from improvable.results.facts import Facts

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.result import Result

SHOWN = ("only_status_quo", "both", "only_candidate")
"""In the order of a bar: what the status quo selects, and what the candidate does, are each in one piece."""
LETTER = 7.5
"""Pixels that a digit takes."""


def people(result: "Result") -> "alt.LayerChart | None":
    """Of 1,000 people in each group, whom both algorithms select, or only one; None where decisions are prices.

    Parameters
    ----------
    result : Audit or Comparison
    """
    facts = in_words(result.facts)
    if not people_by_group(facts):
        return None
    drawn: alt.LayerChart = with_title(draw_people(facts, WIDE), *people_words(facts))
    return drawn


def draw_people(facts: Facts, width: int) -> Any:
    """Draw the chart at the given width in pixels, without a title."""
    import altair as alt

    found = people_by_group(facts)
    groups = list(found)
    room = room_for(groups, 190 if width >= WIDE else 110)
    most = max(sum(kinds[kind].people for kind in SHOWN) for kinds in found.values()) or 1.0
    inner = width - room - 24
    rows = []
    for group, kinds in found.items():
        start = 0.0
        for kind in SHOWN:
            one = kinds[kind]
            fits = one.people / most * inner > LETTER * len(one.count) + 6
            rows.append(
                {
                    "group": group, "kind": NAMES[kind], "start": start, "end": start + one.people,
                    "middle": start + one.people / 2, "text": one.count if fits else "",
                }
            )  # fmt: skip
            start += one.people
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
