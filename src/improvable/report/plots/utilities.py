"""Figure 2: the utilities of two groups under both algorithms."""

from typing import TYPE_CHECKING, Any

from improvable.inference.evidence import ALGORITHMS
from improvable.report.plots.style import ALGORITHM_NAMES, OKABE_ITO, SHAPES, chart, finished, padded, series
from improvable.results.facts import Facts
from improvable.results.wording import measure_words

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.result import Result


def utilities(result: "Result") -> "alt.LayerChart":
    """Figure 2: the accuracy of one group against that of another, for the status quo and for the candidates.

    With more than two groups, it shows the pair with the status quo's widest gap in the first repetition.

    Parameters
    ----------
    result : Audit or Comparison
    """
    import altair as alt

    facts = result.facts
    first, second = reference_groups(facts)
    rows = utility_rows(facts, first, second)
    low, high = padded([row[axis] for row in rows for axis in ("x", "y")])
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    measure = facts["accuracy_utilities"][0]
    same = measure == facts["fairness_utilities"][0]
    subtitle = [f"Accuracy: {measure_words(measure)}.", f"{way_to_accuracy(facts)}: more accurate."]
    subtitle[1] += " Nearer to the dashed 45-degree line: smaller gap." if same else " Dashed: the 45-degree line."
    if len(facts["repetitions"]) > 1:
        subtitle.append("Light: each repetition. Bold: mean of the repetitions.")
    x = alt.X("x:Q", scale=scale, title=f"accuracy of {first}")
    y = alt.Y("y:Q", scale=scale, title=f"accuracy of {second}")
    line = chart([{"x": low, "y": low}, {"x": high, "y": high}]).mark_line(strokeDash=[5, 4], color="#666666")
    color, shape = series("algorithm", ALGORITHM_NAMES, OKABE_ITO, SHAPES, title=None)
    points = chart(rows).encode(x=x, y=y, color=color, shape=shape)
    light = points.transform_filter("!datum.mean").mark_point(filled=False, size=60, opacity=0.55)
    bold = points.transform_filter("datum.mean").mark_point(filled=True, size=190, opacity=1, stroke="black")
    return finished([line.encode(x=x, y=y), light, bold], "Accuracy of both groups", subtitle, 340, 340)


def way_to_accuracy(facts: Facts) -> str:
    """Where in the picture accuracy is higher."""
    return "Right and up" if facts["accuracy_utilities"][0]["higher_is_better"] else "Left and down"


def reference_groups(facts: Facts) -> tuple[str, str]:
    """The pair of groups to draw, in the order of the result's groups."""
    first, second = sorted(facts["repetitions"][0]["reference"], key=facts["groups"].index)
    return first, second


def utility_rows(facts: Facts, first: str, second: str) -> list[dict[str, Any]]:
    """The utilities of two groups: in every repetition, if there are several, and their means."""
    measure = facts["accuracy_utilities"][0]["name"]
    mine = [one for one in facts["estimates"] if (one["kind"], one["utility"]) == ("utility", measure)]
    means, rows = {one["group"]: one for one in mine}, []
    for name, algorithm in zip(ALGORITHM_NAMES, ALGORITHMS, strict=True):
        pairs = [(s["accuracy"][first][algorithm], s["accuracy"][second][algorithm]) for s in facts["repetitions"]]
        defined = [(x, y) for x, y in pairs if x is not None and y is not None]
        if len(pairs) > 1:
            rows += [{"algorithm": name, "x": x, "y": y, "mean": False} for x, y in defined]
        x, y = (means[group][algorithm]["estimate"] for group in (first, second))
        if x is not None and y is not None:
            rows.append({"algorithm": name, "x": x, "y": y, "mean": True})
    return rows
