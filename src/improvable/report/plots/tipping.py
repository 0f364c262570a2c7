"""How a p-value rises as memberships may depart from the probabilities of groups."""

from functools import partial
from typing import Any

import altair as alt

from improvable.report.blocks import Picture
from improvable.report.plots.style import AFTER, INK, LIMIT, Plot, chart, plain_style
from improvable.results.facts import Facts
from improvable.results.frontier import Frontier
from improvable.results.wording import tipping_words


@Plot
def tipping(facts: Facts, _: Frontier) -> Picture | None:
    """The p-value against Gamma, the odds by which membership may depart; None where groups are known."""
    curve = facts["tipping_curve"]
    if not curve:
        return None
    words = (
        "At 1 people are in a group exactly as often as their probability says. Further right, the odds may be higher "
        f"or lower by that factor, for whomever it hurts the claim most. {tipping_words(facts)}"
    )
    said = ", ".join(f"{one['p_value']:.3g} at {one['gamma']:g}" for one in curve)
    described = f"The p-value by the factor on the odds: {said}; shown below {facts['threshold']:g}."
    title = "How far memberships may depart from the probabilities"
    return Picture("tipping", title, (words.rstrip(),), described, partial(draw_tipping, facts))


def draw_tipping(facts: Facts, width: int) -> Any:
    values: list[dict[str, Any]] = [{**one} for one in facts["tipping_curve"]]
    scale = alt.Scale(type="log", domain=[1, float(values[-1]["gamma"])], nice=False)
    axis = alt.Axis(values=[1, 1.2, 1.5, 2, 3, 5], format="~g", grid=False)
    x = alt.X("gamma:Q", title="factor on the odds of being in a group", scale=scale, axis=axis)
    y = alt.Y("p_value:Q", title="p-value, worst case", scale=alt.Scale(domain=[0, 1]))
    base = chart(values).encode(x=x, y=y)
    line, points = base.mark_line(color=AFTER, strokeWidth=2), base.mark_point(color=AFTER, filled=True, size=40)
    limit = chart([{"p_value": facts["threshold"]}]).mark_rule(color=LIMIT, strokeDash=[6, 3]).encode(y=y)
    layers, benchmark = [limit, line, points], facts["tipping_benchmark"]
    if benchmark is not None and benchmark["factor"] <= values[-1]["gamma"]:
        place = chart([{"gamma": benchmark["factor"], "what": benchmark["what"]}]).encode(x=x)
        text = place.mark_text(align="left", dx=4, fontSize=12, color=INK).encode(text="what:N", y=alt.value(8))
        layers += [place.mark_rule(color=INK, strokeDash=[2, 2]), text]
    return plain_style(alt.layer(*layers).properties(width=width - 80, height=200))
