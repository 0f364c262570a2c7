"""How a p-value rises as what is not known departs from what is assumed: memberships, or unknown outcomes."""

from functools import partial
from typing import Any

from improvable.report.blocks import Picture
from improvable.report.plots.style import AFTER, INK, LIMIT, Plot, chart, field, plain_style
from improvable.results.facts import Facts
from improvable.results.frontier import Frontier
from improvable.results.wording import tipping_words

MEMBERSHIPS = (
    "How far memberships may depart from the probabilities",
    "At 1 people are in a group exactly as often as their probability says. Further right, the odds may be higher or "
    "lower by that factor, for whomever it hurts the claim most.",
    "factor on the odds of being in a group",
)
OUTCOMES = (
    "How far unknown outcomes may be from known ones",
    "At 0 the mean outcome of people whom nobody has seen is that of people seen with the same features. Further right "
    "it may be higher or lower by that much, for whomever it hurts the claim most.",
    "difference of the mean outcome",
)
"""Title, how to read it, and what stands below."""


@Plot
def tipping(facts: Facts, _: Frontier) -> Picture | None:
    """The p-value against how far what is not known may depart; None where all is known, or nothing is assumed."""
    points = points_of(facts)
    if not points:
        return None
    title, how, what = OUTCOMES if facts["unknown"] else MEMBERSHIPS
    said = ", ".join(f"{p:.3g} at {x:.3g}" for x, p in points)
    described = f"The p-value by the {what}: {said}; shown below {facts['threshold']:g}."
    return Picture(
        "tipping", title, (f"{how} {tipping_words(facts)}".rstrip(),), described, partial(draw_tipping, facts)
    )


def points_of(facts: Facts) -> list[tuple[float, float]]:
    """How far, and the p-value there."""
    if facts["unknown"] is not None:
        return [(one["delta"], one["p_value"]) for one in facts["unknown"]["curve"]]
    return [(one["gamma"], one["p_value"]) for one in facts["tipping_curve"]]


def draw_tipping(facts: Facts, width: int) -> Any:
    values = [{"x": x, "p_value": p} for x, p in points_of(facts)]
    scale = {"type": "log", "domain": [1, values[-1]["x"]], "nice": False}
    axis = {"values": [1, 1.2, 1.5, 2, 3, 5], "format": "~g", "grid": False}
    x = field("x:Q", title=MEMBERSHIPS[-1], scale=scale, axis=axis)
    if facts["unknown"]:
        x = field("x:Q", title=OUTCOMES[-1], scale={"type": "sqrt", "nice": False}, axis={"grid": False})
    y = field("p_value:Q", title="p-value, worst case", scale={"domain": [0, 1]})
    base = chart(values).encode(x=x, y=y)
    line, points = base.mark("line", color=AFTER, strokeWidth=2), base.mark("point", color=AFTER, filled=True, size=40)
    limit = chart([{"p_value": facts["threshold"]}]).mark("rule", color=LIMIT, strokeDash=[6, 3]).encode(y=y)
    layers, benchmark = [limit, line, points], facts["tipping_benchmark"]
    if benchmark is not None and benchmark["factor"] <= values[-1]["x"]:
        place = chart([{"x": benchmark["factor"], "what": benchmark["what"]}]).encode(x=x)
        text = place.mark("text", align="left", dx=4, fontSize=12, color=INK).encode(text="what:N", y={"value": 8})
        layers += [place.mark("rule", color=INK, strokeDash=[2, 2]), text]
    return plain_style({"layer": layers, "width": width - 80, "height": 200})
