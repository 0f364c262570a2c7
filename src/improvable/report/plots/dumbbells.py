"""Every group's utility as a dumbbell, status quo to candidate, with intervals over all repetitions; the gap below."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from improvable._text import shown
from improvable.inference.evidence import ALGORITHMS
from improvable.report.blocks import Picture
from improvable.report.plots.style import (
    AFTER,
    ALGORITHM_NAMES,
    BEFORE,
    INK,
    SOFT,
    WIDE,
    Plot,
    chart,
    plain_style,
    room_for,
    series,
)
from improvable.results.facts import EstimateFacts, Facts, by_component, estimate_of
from improvable.results.formatting import arrow, capital, confidence, value_text

if TYPE_CHECKING:
    from improvable.results.frontier import Frontier

STEP = 52
Panel: TypeAlias = tuple[str, list[dict[str, Any]], bool]
"""Title, rows, and whether it is a gap."""


@Plot
def dumbbells(facts: Facts, _: "Frontier") -> Picture | None:
    """Every group's accuracy from status quo to candidate with intervals over all repetitions, and the gap."""
    panels = dumbbell_panels(facts)
    over = " over all repetitions" if len(facts["repetitions"]) > 1 else ""
    better = f"Further {'right' if facts['accuracy_utilities'][0]['higher_is_better'] else 'left'} is more accurate."
    shares = " Under each group: the share of it that either algorithm selects." if facts["selected_shares"] else ""
    words = f"Thin lines: {confidence(facts['alpha'])} intervals{over}. {better}{shares}"
    alt = " ".join(
        f"{capital(title)}, status quo to candidate: "
        + "; ".join(
            f"{row['group']} from {value_text(row['status_quo'])} to {value_text(row['candidate'])}" for row in rows
        )
        + "."
        for title, rows, _ in panels
    )
    title, draw = "Accuracy of every group, and the gap", partial(draw_dumbbells, panels)
    return Picture("dumbbells", title, (words,), alt, draw) if panels else None


def dumbbell_panels(facts: Facts) -> list[Panel]:
    panels: list[Panel] = []
    shares = facts["selected_shares"] or {}
    for measure in dict.fromkeys(one["name"] for one in facts["accuracy_utilities"]):
        mine = [one for one in facts["estimates"] if one["kind"] == "utility" and one["utility"] == measure]
        rows = [row for one in mine if (row := _row(one["group"], one))]
        for row in rows:
            if row["group"] in shares:
                row["label"] = f"{shown(row['group'])}\nselected {arrow(shares[row['group']])}"
        panels.append((measure, sorted(rows, key=lambda row: -row["status_quo"]), False))
    several = len({gap["group"] for gap in facts["disparities"]}) > 1
    for component in (one[0] for one in by_component(facts) if one[0]["kind"] == "fairness"):
        row = _row(f"Gap by {component['group']}" if several else "Gap", estimate_of(facts, component))
        panels.append((f"Gap between groups: {component['utility']}", [row] if row else [], True))
    return [panel for panel in panels if panel[1]]


def _row(name: str, one: EstimateFacts) -> dict[str, Any]:
    if one["status_quo"]["estimate"] is None or one["candidate"]["estimate"] is None:
        return {}
    row: dict[str, Any] = {"group": name, "label": name}
    for algorithm in ALGORITHMS:
        spread = one[algorithm]
        row |= {algorithm: spread["estimate"], f"{algorithm}_low": spread["low"], f"{algorithm}_high": spread["high"]}
    return row


def draw_dumbbells(panels: Sequence[Panel], width: int) -> Any:
    """Draw the chart at the given width in pixels, without a title."""
    import altair as alt

    if width < WIDE:  # a label on a phone is shorter: the words above the picture say what the shares are
        panels = [
            (title, [row | {"label": row["label"].replace("\nselected ", "\n")} for row in rows], gap)
            for title, rows, gap in panels
        ]
    room = room_for([row["label"] for _, rows, _ in panels for row in rows], 190 if width >= WIDE else 132)
    drawn = [_panel(title, rows, gap, width - room - 12, room) for title, rows, gap in panels]
    return plain_style(alt.vconcat(*drawn, spacing=26).resolve_scale(color="shared", shape="shared"))


def _panel(title: str, rows: Sequence[dict[str, Any]], gap: bool, width: int, room: int) -> Any:
    import altair as alt

    names = [row["label"] for row in rows]
    ends = [row[key] for row in rows for key in row if key not in ("group", "label") and row[key] is not None]
    low, high = min(ends), max(ends)
    margin = (0.16 if width > 300 else 0.3) * ((high - low) or abs(high) or 1.0)
    domain = [min(0.0, low - margin) if gap else low - margin, high + margin]  # room for the numbers beside marks
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    axis = alt.Axis(labelLimit=room, minExtent=room, labelExpr="split(datum.value, '\\n')", grid=False)
    y = alt.Y("label:N", sort=names, title=None, axis=axis)
    # No gap is below zero: what is left of it is only room for numbers.
    said = "datum.value < 0 ? '' : datum.label" if gap else "datum.label"
    x = alt.X("value:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5, labelColor=SOFT, labelExpr=said))
    points = [
        {
            "label": row["label"], "algorithm": called, "value": row[name], "low": row[f"{name}_low"],
            "high": row[f"{name}_high"], "text": value_text(row[name]), "left": _left(row, name),
        }
        for row in rows
        for name, called in zip(ALGORITHMS, ALGORITHM_NAMES, strict=True)
    ]  # fmt: skip
    legend = alt.Legend(orient="top", title=None, symbolSize=110, symbolOpacity=1)
    color, shape = series("algorithm", ALGORITHM_NAMES, (BEFORE, AFTER), ("circle", "diamond"), legend=legend)
    links = chart([row for row in rows if row["status_quo"] != row["candidate"]])
    link = links.mark_rule(strokeWidth=1.5, color=SOFT).encode(
        y=y, x=alt.X("status_quo:Q", scale=scale), x2="candidate:Q"
    )
    bounded = [point for point in points if point["low"] is not None and point["high"] is not None]
    layers = [link]
    for called, shift, hue in ((ALGORITHM_NAMES[0], -9, BEFORE), (ALGORITHM_NAMES[1], 9, AFTER)):
        some = [point for point in bounded if point["algorithm"] == called]
        bars = chart(some).mark_rule(strokeWidth=2.5, opacity=0.6, yOffset=shift, y2Offset=shift, color=hue)
        layers.append(bars.encode(y=y, x=alt.X("low:Q", scale=scale), x2="high:Q"))
    dots = chart(points).mark_point(filled=True, size=150, opacity=1)
    layers.append(dots.encode(x=x, y=y, color=color, shape=shape))
    for left in (True, False):
        some = [point for point in points if point["left"] == left]
        text = chart(some).mark_text(align="right" if left else "left", dx=-11 if left else 11, fontSize=12, color=INK)
        layers.append(text.encode(x=x, y=y, text="text:N"))
    height = STEP * len(rows)
    return alt.layer(*layers).properties(width=width, height=height, title=capital(title))


def _left(row: dict[str, Any], name: str) -> bool:
    """Whether a number stands left of its mark: that of the smaller one does."""
    other = "candidate" if name == "status_quo" else "status_quo"
    return row[name] < row[other] or (row[name] == row[other] and name == "status_quo")
