"""How a p-value rises as what is not known departs from what is assumed: memberships,
or unknown outcomes.
"""

from functools import partial

from improvable.report.blocks import Picture
from improvable.report.plots.style import (
    AFTER,
    INK,
    LIMIT,
    Plot,
    Spec,
    chart,
    field,
    plain_style,
)
from improvable.results.facts import BenchmarkFacts, Facts
from improvable.results.frontier import Frontier
from improvable.results.wording import membership_words, unknown_words

Points = list[tuple[float, float]]  # how far, and the p-value there


@Plot
def tipping(facts: Facts, _: Frontier) -> Picture | None:
    """The p-value against how far memberships may depart; None where groups are known,
    or nothing is assumed.
    """
    points = [(one["gamma"], one["p_value"]) for one in facts["tipping_curve"]]
    how = (
        "At 1 people are in a group exactly as often as their probability says. "
        "Further right, the odds may be higher or lower by that factor, for whomever "
        f"it hurts the claim most. {membership_words(facts)}"
    )
    scale = {
        "type": "log",
        "domain": [1, max((far for far, _ in points), default=1)],
        "nice": False,
    }
    axis = {"values": [1, 1.2, 1.5, 2, 3, 5], "format": "~g", "grid": False}
    x = field(
        "x:Q", title="factor on the odds of being in a group", scale=scale, axis=axis
    )
    title = "How far memberships may depart from the probabilities"
    return _picture(
        "tipping", title, how, points, x, facts["threshold"], facts["tipping_benchmark"]
    )


@Plot
def unknown(facts: Facts, _: Frontier) -> Picture | None:
    """The p-value against how far unknown outcomes may be from known ones; None where
    there is no model of them.
    """
    points = (
        [(one["delta"], one["p_value"]) for one in facts["unknown"]["curve"]]
        if facts["unknown"]
        else []
    )
    how = (
        "At 0 the mean outcome of people whom nobody has seen is that of people seen "
        "with the same features. Further right it may be higher or lower by that much, "
        f"for whomever it hurts the claim most. {unknown_words(facts)}"
    )
    scale, axis = {"type": "sqrt", "nice": False}, {"grid": False}
    x = field("x:Q", title="difference of the mean outcome", scale=scale, axis=axis)
    title = "How far unknown outcomes may be from known ones"
    return _picture("unknown", title, how, points, x, facts["threshold"], None)


def _picture(
    name: str,
    title: str,
    how: str,
    points: Points,
    x: Spec,
    limit: float,
    benchmark: BenchmarkFacts | None,
) -> Picture | None:
    if not points:
        return None
    said = ", ".join(f"{p:.3g} at {far:.3g}" for far, p in points)
    described = f"The p-value by the {x['title']}: {said}; shown below {limit:g}."
    return Picture(
        name,
        title,
        (how.rstrip(),),
        described,
        partial(draw_tipping, points, x, limit, benchmark),
    )


def draw_tipping(
    points: Points, x: Spec, limit: float, benchmark: BenchmarkFacts | None, width: int
) -> Spec:
    y = field("p_value:Q", title="p-value, worst case", scale={"domain": [0, 1]})
    base = chart([{"x": far, "p_value": p} for far, p in points]).encode(x=x, y=y)
    line, marks = (
        base.mark("line", color=AFTER, strokeWidth=2),
        base.mark("point", color=AFTER, filled=True, size=40),
    )
    level = (
        chart([{"p_value": limit}])
        .mark("rule", color=LIMIT, strokeDash=[6, 3])
        .encode(y=y)
    )
    layers = [level, line, marks]
    if benchmark is not None and benchmark["factor"] <= points[-1][0]:
        place = chart([{"x": benchmark["factor"], "what": benchmark["what"]}]).encode(
            x=x
        )
        text = place.mark("text", align="left", dx=4, fontSize=12, color=INK).encode(
            text="what:N", y={"value": 8}
        )
        layers += [place.mark("rule", color=INK, strokeDash=[2, 2]), text]
    return plain_style({"layer": layers, "width": width - 80, "height": 200})
