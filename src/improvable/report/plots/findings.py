"""What was found, in pictures: utilities of every group, who is selected, p-values."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from improvable._text import shown
from improvable.inference.diagnostics import KINDS
from improvable.inference.evidence import ALGORITHMS
from improvable.report.blocks import Picture
from improvable.report.people import (
    NAMES,
    describe_turned,
    people_count,
    people_table,
)
from improvable.report.plots import style
from improvable.report.plots.style import (
    AFTER,
    ALGORITHM_NAMES,
    BEFORE,
    INK,
    SOFT,
    WIDE,
    Plot,
    chart,
    field,
    series,
)
from improvable.results.facts import (
    PEOPLE,
    EstimateFacts,
    Facts,
    PersonFacts,
    by_component,
    estimate_of,
)
from improvable.results.formatting import arrow, capital, confidence, p_text, value_text
from improvable.results.frontier import Frontier
from improvable.results.wording import component_name

STEP = 52
Panel: TypeAlias = tuple[str, list[dict[str, Any]], bool]
"""Title, rows, and whether it is a gap."""
SELECTED = ("only_status_quo", "both", "only_candidate")
"""In the order of a bar: what the status quo selects, and what the candidate does, are
each in one piece.
"""
LETTER = 7.5
"""Pixels that a digit takes."""
ALL = "All conditions"


@Plot
def dumbbells(facts: Facts, _: Frontier) -> Picture | None:
    """Every group's accuracy from status quo to candidate with intervals over all
    repetitions, and the gap.
    """
    return dumbbells_of(facts)


def dumbbells_of(facts: Facts) -> Picture | None:
    """The picture that `dumbbells` makes, of facts alone."""
    panels = dumbbell_panels(facts)
    over = " over all repetitions" if len(facts["repetitions"]) > 1 else ""
    better = (
        "Further "
        f"{'right' if facts['accuracy_utilities'][0]['higher_is_better'] else 'left'} "
        "is more accurate."
    )
    shares = (
        " Under each group: the share of it that either algorithm selects."
        if facts["selected_shares"]
        else ""
    )
    words = (
        f"Thin lines: {confidence(facts['alpha'])} intervals{over}. {better}{shares}"
    )
    said = []
    for title, rows, _gap in panels:
        ends = [
            (row["group"], value_text(row["status_quo"]), value_text(row["candidate"]))
            for row in rows
        ]
        moves = [f"{group} from {before} to {after}" for group, before, after in ends]
        said.append(f"{capital(title)}, status quo to candidate: {'; '.join(moves)}.")
    title, draw = (
        "Accuracy of every group, and the gap",
        partial(draw_dumbbells, panels),
    )
    return (
        Picture("dumbbells", title, (words,), " ".join(said), draw) if panels else None
    )


def dumbbell_panels(facts: Facts) -> list[Panel]:
    panels: list[Panel] = []
    shares = facts["selected_shares"] or {}
    for measure in dict.fromkeys(one["name"] for one in facts["accuracy_utilities"]):
        mine = [
            one
            for one in facts["estimates"]
            if one["kind"] == "utility" and one["utility"] == measure
        ]
        rows = [row for one in mine if (row := _row(one["group"], one))]
        for row in rows:
            if row["group"] in shares:
                row["label"] = (
                    f"{shown(row['group'])}\nselected {arrow(shares[row['group']])}"
                )
        panels.append(
            (measure, sorted(rows, key=lambda row: -row["status_quo"]), False)
        )
    several = len({gap["group"] for gap in facts["disparities"]}) > 1
    for component in (
        one[0] for one in by_component(facts) if one[0]["kind"] == "fairness"
    ):
        row = _row(
            f"Gap by {component['group']}" if several else "Gap",
            estimate_of(facts, component),
        )
        panels.append(
            (f"Gap between groups: {component['utility']}", [row] if row else [], True)
        )
    return [panel for panel in panels if panel[1]]


def _row(name: str, one: EstimateFacts) -> dict[str, Any]:
    if one["status_quo"]["estimate"] is None or one["candidate"]["estimate"] is None:
        return {}
    row: dict[str, Any] = {"group": name, "label": name}
    for algorithm in ALGORITHMS:
        spread = one[algorithm]
        row |= {
            algorithm: spread["estimate"],
            f"{algorithm}_low": spread["low"],
            f"{algorithm}_high": spread["high"],
        }
    return row


def draw_dumbbells(panels: Sequence[Panel], width: int) -> Any:
    # a label on a phone is shorter: the words above the picture say what the shares are
    if width < WIDE:
        panels = [
            (
                title,
                [
                    row | {"label": row["label"].replace("\nselected ", "\n")}
                    for row in rows
                ],
                gap,
            )
            for title, rows, gap in panels
        ]
    room = style.room_for(
        [row["label"] for _, rows, _ in panels for row in rows],
        190 if width >= WIDE else 132,
    )
    drawn = [
        _panel(title, rows, gap, width - room - 12, room) for title, rows, gap in panels
    ]
    scales = {"color": "shared", "shape": "shared"}
    return style.plain_style(
        {"vconcat": drawn, "spacing": 26, "resolve": {"scale": scales}}
    )


def _panel(
    title: str, rows: Sequence[dict[str, Any]], gap: bool, width: int, room: int
) -> Any:
    names = [row["label"] for row in rows]
    ends = [
        row[key]
        for row in rows
        for key in row
        if key not in ("group", "label") and row[key] is not None
    ]
    low, high = min(ends), max(ends)
    margin = (0.16 if width > 300 else 0.3) * ((high - low) or abs(high) or 1.0)
    # room for the numbers beside marks
    domain = [min(0.0, low - margin) if gap else low - margin, high + margin]
    scale = {"domain": domain, "nice": False, "zero": False}
    axis = {
        "labelLimit": room,
        "minExtent": room,
        "labelExpr": "split(datum.value, '\\n')",
        "grid": False,
    }
    y = field("label:N", sort=names, title=None, axis=axis)
    # No gap is below zero: what is left of it is only room for numbers.
    said = "datum.value < 0 ? '' : datum.label" if gap else "datum.label"
    x = field(
        "value:Q",
        title=None,
        scale=scale,
        axis={"tickCount": 5, "labelColor": SOFT, "labelExpr": said},
    )
    points = []
    for row in rows:
        # The number of the smaller mark stands left of it.
        left = {
            "status_quo": row["status_quo"] <= row["candidate"],
            "candidate": row["candidate"] < row["status_quo"],
        }
        points += [
            {
                "label": row["label"],
                "algorithm": called,
                "value": row[name],
                "low": row[f"{name}_low"],
                "high": row[f"{name}_high"],
                "text": value_text(row[name]),
                "left": left[name],
            }
            for name, called in zip(ALGORITHMS, ALGORITHM_NAMES, strict=True)
        ]
    legend = {"orient": "top", "title": None, "symbolSize": 110, "symbolOpacity": 1}
    color, shape = series(
        "algorithm",
        ALGORITHM_NAMES,
        (BEFORE, AFTER),
        ("circle", "diamond"),
        legend=legend,
    )
    links = chart([row for row in rows if row["status_quo"] != row["candidate"]])
    start = field("status_quo:Q", scale=scale)
    layers = [
        links.mark("rule", strokeWidth=1.5, color=SOFT).encode(
            y=y, x=start, x2="candidate"
        )
    ]
    bounded = [
        point
        for point in points
        if point["low"] is not None and point["high"] is not None
    ]
    for called, shift, hue in (
        (ALGORITHM_NAMES[0], -9, BEFORE),
        (ALGORITHM_NAMES[1], 9, AFTER),
    ):
        some = [point for point in bounded if point["algorithm"] == called]
        bars = chart(some).mark(
            "rule",
            strokeWidth=2.5,
            opacity=0.6,
            yOffset=shift,
            y2Offset=shift,
            color=hue,
        )
        layers.append(bars.encode(y=y, x=field("low:Q", scale=scale), x2="high"))
    dots = chart(points).mark("point", filled=True, size=150, opacity=1)
    layers.append(dots.encode(x=x, y=y, color=color, shape=shape))
    for align, dx in (("right", -11), ("left", 11)):
        some = [point for point in points if point["left"] == (align == "right")]
        text = chart(some).mark("text", align=align, dx=dx, fontSize=12, color=INK)
        layers.append(text.encode(x=x, y=y, text="text:N"))
    return {
        "layer": layers,
        "width": width,
        "height": STEP * len(rows),
        "title": capital(title),
    }


@Plot
def people(facts: Facts, _: Frontier) -> Picture | None:
    """Of 1,000 people in each group, whom both algorithms select, or only one; None
    where decisions are prices.
    """
    if not facts["people"]:
        return None
    over = " Means over the repetitions." if len(facts["repetitions"]) > 1 else ""
    words = (
        "The first two parts of a bar are the status quo's selection, the last two the "
        f"candidate's; all others are selected by neither.{over}"
    )
    turned = describe_turned(facts)
    said = [
        (
            f"{group}: "
            f"{', '.join(f'{people_count(kinds[kind])} by {NAMES[kind]}' for kind in KINDS)}"  # noqa: E501
        )
        for group, kinds in _people_by_group(facts).items()
    ]
    title = f"Of {PEOPLE:,} people in each group, who would be selected"
    described = f"{turned} Of {PEOPLE:,} people, selected: {'; '.join(said)}.".strip()
    return Picture(
        "people",
        title,
        (words, turned) if turned else (words,),
        described,
        partial(draw_people, facts),
        people_table(facts),
    )


def _people_by_group(facts: Facts) -> dict[str, dict[str, PersonFacts]]:
    """The people of every group, without everyone."""
    return {group: facts["people"][group] for group in facts["groups"]}


def draw_people(facts: Facts, width: int) -> Any:
    found = _people_by_group(facts)
    room = style.room_for(list(found), 190 if width >= WIDE else 110)
    inner = width - room - 24
    names_axis, spacing = {"labelLimit": room}, {"paddingInner": 0.35}
    y = field("group:N", sort=list(found), title=None, axis=names_axis, scale=spacing)
    most = (
        max(sum(kinds[kind]["people"] for kind in SELECTED) for kinds in found.values())
        or 1.0
    )
    rows = []
    for group, kinds in found.items():
        start = 0.0
        for kind in SELECTED:
            number, said = kinds[kind]["people"], people_count(kinds[kind])
            fits = number / most * inner > LETTER * len(said) + 6
            rows.append(
                {
                    "group": group,
                    "kind": NAMES[kind],
                    "start": start,
                    "end": start + number,
                    "middle": start + number / 2,
                    "text": said if fits else "",
                }
            )
            start += number
    names, hues = [NAMES[kind] for kind in SELECTED], [BEFORE, style.BOTH, AFTER]
    legend = {
        "orient": "top",
        "title": None,
        "symbolType": "square",
        "columns": 3 if width >= WIDE else 1,
    }
    color = field(
        "kind:N", sort=names, legend=legend, scale={"domain": names, "range": hues}
    )
    axis = {"labelColor": SOFT, "tickCount": 5}
    x = field(
        "start:Q",
        title=f"people, of {PEOPLE:,}",
        axis=axis,
        scale={"domain": [0, most], "nice": False},
    )
    bars = chart(rows).mark("bar", height=26, stroke=style.PAPER, strokeWidth=1)
    text = chart(rows).mark("text", fontSize=12, color=style.PAPER, fontWeight="bold")
    layers = [
        bars.encode(x=x, x2="end", y=y, color=color),
        text.encode(x="middle:Q", y=y, text="text:N"),
    ]
    return style.plain_style(
        {"layer": layers, "width": inner, "height": 42 * len(found)}
    )


@Plot
def p_values(facts: Facts, _: Frontier) -> Picture:
    """p-values of every condition in every repetition, on a log scale, with the
    threshold.
    """
    several, draws = len(facts["repetitions"]) > 1, facts["draws"]
    each = (
        "Each dot is a repetition; the diamond is the lower median of all conditions. "
        if several
        else ""
    )
    words = [
        f"{each}The answer is yes where {'the diamond' if several else 'every dot'} is "
        "left of the dashed line."
    ]
    if any(row["zero"] for row in p_rows(facts)):
        words.append(
            f"A p-value of none of {draws:,} draws stands at the left edge, "
            f"1/{draws:,}."
        )
    said = []
    for one in by_component(facts):
        values = [repetition["p_value"] for repetition in one]
        ends = sorted({min(values), max(values)})
        said.append(
            f"{component_name(one[0], facts)} "
            f"{' to '.join(p_text(end, draws) for end in ends)}"
        )
    whole = f"All conditions {facts['p_value_text']}, threshold {facts['threshold']:g}."
    described = f"p-values: {'; '.join(said)}. {whole}"
    title = "How sure each condition is: p-values"
    return Picture(
        "p-values", title, tuple(words), described, partial(draw_p_values, facts)
    )


def p_rows(facts: Facts) -> list[dict[str, Any]]:
    """One dot per condition and repetition; a p-value of no draws stands at one
    draw.
    """
    named = [
        (component_name(one[0], facts), [repetition["p_value"] for repetition in one])
        for one in by_component(facts)
    ]
    if len(named) > 1 or len(facts["repetitions"]) > 1:
        named.append(
            (ALL, [repetition["p_value"] for repetition in facts["repetitions"]])
        )
    least = 1 / facts["draws"]
    return [
        {
            "component": capital(name),
            "repetition": number["repetition"],
            "p": max(p, least),
            "zero": p == 0,
        }
        for name, values in named
        for p, number in zip(values, facts["repetitions"], strict=True)
    ]


def draw_p_values(facts: Facts, width: int) -> Any:
    rows, least = p_rows(facts), 1 / facts["draws"]
    names = list(dict.fromkeys(row["component"] for row in rows))
    room = style.room_for(names, 230 if width >= WIDE else 140)
    scale = {"type": "log", "domain": [least * 0.8, 1.25], "nice": False}
    ticks = [tick for tick in (0.0001, 0.001, 0.01, 0.1, 1) if tick >= least]
    axis = {"values": ticks, "format": "~g", "labelColor": SOFT}
    x = field("p:Q", scale=scale, title="p-value (log scale)", axis=axis)
    y = field(
        "component:N", sort=names, title=None, axis={"labelLimit": room, "grid": True}
    )
    dots = (
        chart(rows)
        .mark("point", filled=True, size=60, opacity=0.65, color=AFTER)
        .encode(x=x, y=y)
    )
    limit, at = (
        chart([{"p": facts["threshold"], "text": f"{facts['threshold']:g}"}]),
        field("p:Q", scale=scale),
    )
    line = limit.mark(
        "rule", strokeDash=[5, 4], strokeWidth=2, color=style.LIMIT
    ).encode(x=at)
    text = limit.mark(
        "text",
        dy=-8,
        baseline="bottom",
        color=style.LIMIT,
        fontSize=12,
        fontWeight="bold",
    )
    layers = [line, text.encode(x=at, y={"value": 0}, text="text:N"), dots]
    if len(facts["repetitions"]) > 1:
        whole = [
            {"component": ALL, "p": max(facts["p_value"], least), "combined": True}
        ]
        mark = chart(whole).mark(
            "point", filled=True, shape="diamond", size=190, opacity=1, color=INK
        )
        layers.append(mark.encode(x=x, y=y))
    return style.plain_style(
        {"layer": layers, "width": width - room - 12, "height": 30 * len(names)}
    )
