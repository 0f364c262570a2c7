"""Every group's utility as a dumbbell, status quo to candidate, with intervals over all repetitions; the gap below."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from improvable.inference.evidence import ALGORITHMS, EVERYONE
from improvable.report.labels import in_words
from improvable.report.opening import mean_shares
from improvable.report.plots.style import (
    AFTER,
    ALGORITHM_NAMES,
    BEFORE,
    INK,
    SOFT,
    WIDE,
    chart,
    paired_scales,
    plain_style,
    room_for,
    with_title,
)
from improvable.report.spread import Key, Spread, gap_by, spreads
from improvable.results.facts import Facts, by_component
from improvable.results.numbers import value_text
from improvable.showing import shown

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.result import Result

STEP = 52


def dumbbells(result: "Result") -> "alt.VConcatChart":
    """Every group's accuracy from status quo to candidate with intervals over all repetitions, and the gap.

    Parameters
    ----------
    result : Audit or Comparison
    """
    facts = in_words(result.facts)
    drawn = with_title(draw_dumbbells(facts, spreads(result), WIDE), *dumbbell_words(facts))
    whole: alt.VConcatChart = drawn
    return whole


def dumbbell_words(facts: Facts) -> tuple[str, list[str]]:
    """Title and how to read the picture."""
    level = f"{100 * (1 - facts['alpha']):g}%"
    over = " over all repetitions" if len(facts["repetitions"]) > 1 else ""
    lower = not facts["accuracy_utilities"][0]["higher_is_better"]
    better = f"{'Further left' if lower else 'Further right'} is more accurate."
    percent = " Under each group: the share of it that either algorithm selects." if mean_shares(facts) else ""
    return "Accuracy of every group, and the gap", [f"Thin lines: {level} intervals{over}. {better}{percent}"]


def dumbbell_panels(facts: Facts, found: Mapping[Key, Spread]) -> list[tuple[str, list[dict[str, Any]], bool]]:
    """Title, rows and whether it is a gap, for every panel."""
    panels: list[tuple[str, list[dict[str, Any]], bool]] = []
    shares = mean_shares(facts)
    for measure in dict.fromkeys(one["name"] for one in facts["accuracy_utilities"]):
        named = [group for name, group, _ in found if name == measure]
        groups = [g for g in dict.fromkeys(named) if g in facts["groups"] or g == EVERYONE]
        rows = [_row(group, [found[measure, group, one] for one in ALGORITHMS]) for group in groups]
        rows = [row for row in rows if row]
        for row in rows:
            if shares is not None and row["group"] in shares:
                before, after = shares[row["group"]]
                row["label"] = f"{shown(row['group'])}\nselected {before:.1%} → {after:.1%}"
        panels.append((measure, sorted(rows, key=lambda row: -row["status_quo"]), False))
    panels += [_gap_panel(one, facts, found) for one in by_component(facts) if one[0]["kind"] == "fairness"]
    return [panel for panel in panels if panel[1]]


def _gap_panel(one: Any, facts: Facts, found: Mapping[Key, Spread]) -> tuple[str, list[dict[str, Any]], bool]:
    """The gap, the widest of more than two groups, with its interval."""
    name, attribute = one[0]["utility"], one[0]["group"]
    several = len({g["group"] for g in facts["disparities"]}) > 1
    pair = [found[name, gap_by(attribute), algorithm] for algorithm in ALGORITHMS]
    row = _row(f"Gap by {attribute}" if several else "Gap", pair)
    return f"Gap between groups: {name}", [row] if row else [], True


def _row(group: str, pair: Sequence[Spread]) -> dict[str, Any]:
    if pair[0].estimate is None or pair[1].estimate is None:
        return {}
    row: dict[str, Any] = {"group": group, "label": group}
    for name, one in zip(ALGORITHMS, pair, strict=True):
        row |= {name: one.estimate, f"{name}_low": one.low, f"{name}_high": one.high}
    return row


def draw_dumbbells(facts: Facts, found: Mapping[Key, Spread], width: int) -> Any:
    """The picture for a page of so many pixels, without a title."""
    import altair as alt

    panels = dumbbell_panels(facts, found)
    if width < WIDE:
        panels = [(title, [_shorter(row) for row in rows], gap) for title, rows, gap in panels]
    room = room_for([row["label"] for _, rows, _ in panels for row in rows], 190 if width >= WIDE else 132)
    drawn = [_panel(title, rows, gap, width - room - 12, room) for title, rows, gap in panels]
    return plain_style(alt.vconcat(*drawn, spacing=26).resolve_scale(color="shared", shape="shared"))


def _shorter(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose label has room on a phone: the words above the picture say what the shares are."""
    return {**row, "label": row["label"].replace("\nselected ", "\n")}


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
    color, shape = paired_scales()
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
    return alt.layer(*layers).properties(width=width, height=height, title=title[:1].upper() + title[1:])


def _left(row: dict[str, Any], name: str) -> bool:
    """Whether a number stands left of its mark: that of the smaller one does."""
    other = "candidate" if name == "status_quo" else "status_quo"
    return row[name] < row[other] or (row[name] == row[other] and name == "status_quo")


def dumbbell_alt(facts: Facts, found: Mapping[Key, Spread]) -> str:
    """The numbers of the picture in words."""
    parts = []
    for title, rows, _ in dumbbell_panels(facts, found):
        said = "; ".join(
            f"{row['group']} from {value_text(row['status_quo'])} to {value_text(row['candidate'])}" for row in rows
        )
        parts.append(f"{title[:1].upper()}{title[1:]}, status quo to candidate: {said}.")
    return " ".join(parts)
