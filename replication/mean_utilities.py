"""Figure 2 as the paper draws it: the mean utilities of several rules' candidates in
one picture.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from improvable.report.plots.style import (
    OKABE_ITO,
    SHAPES,
    chart,
    field,
    make_figure,
    series,
)
from improvable.results.facts import Facts

if TYPE_CHECKING:
    from improvable.report.plots import Chart
    from improvable.results.result import Result


def mean_utilities(results: "Mapping[str, Result]") -> "Chart":
    """The mean accuracy of one group against that of another: the status quo, and what
    each rule found.

    Parameters
    ----------
    results : mapping from name to Audit
        Audits of the same status quo with several rules.
    """
    facts = next(iter(results.values())).facts
    first, second = find_reference_groups(facts)
    rows = [find_means(facts, first, second, "status_quo", "status quo")]
    for name, result in results.items():
        rows.append(find_means(result.facts, first, second, "candidate", name))
    rows = [row for row in rows if row["x"] is not None and row["y"] is not None]
    low, high = pad_range([row[axis] for row in rows for axis in ("x", "y")])
    scale = {"domain": [low, high], "nice": False, "zero": False}
    x = field("x:Q", scale=scale, title=f"accuracy of {first}")
    y = field("y:Q", scale=scale, title=f"accuracy of {second}")
    line = chart([{"x": low, "y": low}, {"x": high, "y": high}]).mark(
        "line", strokeDash=[5, 4], color="#666666"
    )
    points = chart(rows).mark("point", filled=True, size=170, opacity=1, stroke="black")
    color, shape = series(
        "algorithm", ["status quo", *results], OKABE_ITO, SHAPES, title=None
    )
    points = points.encode(x=x, y=y, color=color, shape=shape)
    higher_is_better = facts["accuracy_utilities"][0]["higher_is_better"]
    way = "Right and up" if higher_is_better else "Left and down"
    subtitle = [
        f"Means over the repetitions. {way}: more accurate.",
        "Nearer to the dashed 45-degree line: smaller gap.",
    ]
    return make_figure(
        [line.encode(x=x, y=y), points], "Accuracy of both groups", subtitle, 340, 340
    )


def find_reference_groups(facts: Facts) -> tuple[str, str]:
    """The pair of groups to draw, in the order of the result's groups."""
    pair = facts["repetitions"][0]["reference"]
    first, second = sorted(pair, key=facts["groups"].index)
    return first, second


def find_means(
    facts: Facts,
    first: str,
    second: str,
    algorithm: Literal["status_quo", "candidate"],
    name: str,
) -> dict[str, Any]:
    """An algorithm's mean accuracy in two groups, as a point called `name`."""
    measure = facts["accuracy_utilities"][0]["name"]
    means = {
        estimate["group"]: estimate[algorithm]["estimate"]
        for estimate in facts["estimates"]
        if (estimate["kind"], estimate["utility"]) == ("utility", measure)
    }
    return {"algorithm": name, "x": means[first], "y": means[second]}


def pad_range(values: Sequence[float]) -> tuple[float, float]:
    low = min(values)
    high = max(values)
    room = 0.08 * (high - low) or max(abs(high), 1.0) * 0.05
    return low - room, high + room
