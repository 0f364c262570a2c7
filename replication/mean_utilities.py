"""Figure 2 as the paper draws it: the mean utilities of several rules' candidates in one picture."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from improvable.report.plots.findings import reference_groups, utility_rows, way_to_accuracy
from improvable.report.plots.style import OKABE_ITO, SHAPES, chart, finished, padded

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.result import Result


def mean_utilities(results: "Mapping[str, Result]") -> "alt.LayerChart":
    """The mean accuracy of one group against that of another: the status quo, and what each rule found.

    Parameters
    ----------
    results : mapping from name to Audit
        Audits of the same status quo with several rules.
    """
    import altair as alt

    rows: list[dict[str, Any]] = []
    for name, result in results.items():
        facts = result.facts
        first, second = reference_groups(facts)
        means = [row for row in utility_rows(facts, first, second) if row["mean"]]
        rows += [row | {"algorithm": name} for row in means if row["algorithm"] == "candidate"]
        if not rows or rows[0]["algorithm"] != "status quo":
            rows = [row for row in means if row["algorithm"] == "status quo"] + rows
    low, high = padded([row[axis] for row in rows for axis in ("x", "y")])
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    x = alt.X("x:Q", scale=scale, title=f"accuracy of {first}")
    y = alt.Y("y:Q", scale=scale, title=f"accuracy of {second}")
    names = ["status quo", *results]
    colors, shapes = list(OKABE_ITO[: len(names)]), list(SHAPES[: len(names)])
    line = chart([{"x": low, "y": low}, {"x": high, "y": high}]).mark_line(strokeDash=[5, 4], color="#666666")
    points = chart(rows).mark_point(filled=True, size=170, opacity=1, stroke="black")
    points = points.encode(
        x=x,
        y=y,
        color=alt.Color("algorithm:N", sort=names, title=None, scale=alt.Scale(domain=names, range=colors)),
        shape=alt.Shape("algorithm:N", sort=names, title=None, scale=alt.Scale(domain=names, range=shapes)),
    )
    subtitle = [
        f"Means over the repetitions. {way_to_accuracy(facts)}: more accurate.",
        "Nearer to the dashed 45-degree line: smaller gap.",
    ]
    return finished([line.encode(x=x, y=y), points], "Accuracy of both groups", subtitle, 340, 340)
