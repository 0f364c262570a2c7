"""Figure 2 as the paper draws it: the mean utilities of several rules' candidates in
one picture.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from improvable.report.plots.findings import (
    reference_groups,
    utility_rows,
    way_to_accuracy,
)
from improvable.report.plots.style import (
    OKABE_ITO,
    SHAPES,
    chart,
    field,
    finished,
    padded,
    series,
)

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.result import Result


def mean_utilities(results: "Mapping[str, Result]") -> "alt.LayerChart":
    """The mean accuracy of one group against that of another: the status quo, and what
    each rule found.

    Parameters
    ----------
    results : mapping from name to Audit
        Audits of the same status quo with several rules.
    """
    rows: list[dict[str, Any]] = []
    for name, result in results.items():
        facts = result.facts
        first, second = reference_groups(facts)
        means = [row for row in utility_rows(facts, first, second) if row["mean"]]
        rows += [
            row | {"algorithm": name}
            for row in means
            if row["algorithm"] == "candidate"
        ]
        if not rows or rows[0]["algorithm"] != "status quo":
            rows = [row for row in means if row["algorithm"] == "status quo"] + rows
    low, high = padded([row[axis] for row in rows for axis in ("x", "y")])
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
    subtitle = [
        f"Means over the repetitions. {way_to_accuracy(facts)}: more accurate.",
        "Nearer to the dashed 45-degree line: smaller gap.",
    ]
    return finished(
        [line.encode(x=x, y=y), points], "Accuracy of both groups", subtitle, 340, 340
    )
