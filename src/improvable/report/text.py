"""A result in a terminal, the answer first; and plain text in lines and columns, as
wide as the terminal.
"""

import os
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from improvable._text import shown_all
from improvable.inference.diagnostics import KINDS
from improvable.inference.evidence import ALGORITHMS, EVERYONE
from improvable.report.labels import labeled
from improvable.report.people import (
    NAMES,
    describe_turned,
    feature_table,
    left_out_lines,
    look_lines,
    people_count,
)
from improvable.report.tables import aim_words, component_cells
from improvable.results import wording
from improvable.results.facts import (
    PEOPLE,
    ComponentFacts,
    Facts,
    by_component,
    deciding,
    estimate_of,
)
from improvable.results.formatting import (
    arrow,
    capital,
    confidence,
    ends_text,
    p_equals,
    p_text,
    value_text,
)
from improvable.results.result import Result

MIN_WIDTH, MAX_WIDTH = 72, 99
"""Characters in a line: the fewest a table needs, and the most, which files and pipes
get too.
"""
GUTTER = "  "
ESTIMATE_HEADS = ("status quo", "candidate", "p")
MIN_LETTERS = 10
"""A name in a table is not wrapped to fewer characters than this."""


def page_width() -> int:
    """Characters that fit in a line here."""
    if not os.environ.get("COLUMNS") and not sys.stdout.isatty():
        return MAX_WIDTH
    return max(
        MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size((MAX_WIDTH, 24)).columns - 1)
    )


def paragraph(text: str, indent: str = "") -> str:
    """Wrap a string; lines after the first begin with `indent`."""
    return textwrap.fill(
        text, page_width(), subsequent_indent=indent, break_on_hyphens=False
    )


def paragraphs(lines: Iterable[str]) -> str:
    """Each line as a paragraph, but for empty ones."""
    return "\n".join(paragraph(line) for line in lines if line)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Names on the left, wrapped where needed; numbers beside the first line of
    each.
    """
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    room = page_width() - sum(widths[1:]) - len(GUTTER) * len(widths[1:])
    widths[0] = min(widths[0], max(MIN_LETTERS, room))
    lines = []
    for name, *cells in [heads, *rows]:
        first, *below = textwrap.wrap(
            name, widths[0], subsequent_indent=GUTTER, break_on_hyphens=False
        ) or [""]
        beside = (
            cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)
        )
        lines += [GUTTER.join([first.ljust(widths[0]), *beside]).rstrip(), *below]
    return "\n".join(lines)


def summary(
    result: Result,
    *,
    verbose: bool = False,
    cautions: bool = True,
    spell: Callable[[str], str] = str,
) -> str:
    """A result in a terminal.

    `verbose` adds definitions, every repetition and the theory's conditions. A command
    prints `cautions` by itself. `spell` says how arguments in messages are spelled.
    """
    raw = labeled(result.facts)
    facts = shown_all(raw)
    beside = [f"But: {spell(text)}" for text in facts["verdict_warnings"]]
    parts = [
        paragraphs([wording.verdict_line(facts), wording.at_most_words(facts), *beside])
    ]
    caption, rows = estimate_rows(raw, facts)
    parts += [paragraph(caption), table(["", *ESTIMATE_HEADS], rows)]
    parts += [gap_notes(raw, facts), who_changes(facts), paragraph(aim_words(facts))]
    firm = [
        wording.decision,
        wording.shortfall_words,
        wording.tipping_words,
        wording.rerun_words,
    ]
    firm.append(wording.differing_words)
    parts += [
        paragraph(" ".join(filter(None, (say(facts) for say in firm)))),
        paragraph(wording.limits(facts)),
    ]
    parts += details(facts) if verbose else []
    parts.append(paragraph(wording.seal_words(facts)))
    if cautions:
        others = [
            text for text in facts["warnings"] if text not in facts["verdict_warnings"]
        ]
        parts.append(paragraphs(f"Caution: {spell(text)}" for text in others))
    return "\n\n".join(part for part in parts if part)


def estimate_rows(raw: Facts, facts: Facts) -> tuple[str, list[list[str]]]:
    """Every condition under both algorithms with its interval, and its p where it
    decides: what it is about, and rows.

    Numbers are looked up in the `raw` facts: two names may look alike once they are
    made safe to show.
    """
    several, last = len(facts["repetitions"]) > 1, deciding(facts)
    rows = []
    for named, one, end in zip(
        by_component(raw), by_component(facts), last["components"], strict=True
    ):
        cells = []
        for spread in (
            estimate_of(raw, named[0])[algorithm] for algorithm in ALGORITHMS
        ):
            ends = (
                ""
                if spread["estimate"] is None
                else f" ({ends_text(spread['low'], spread['high'])})"
            )
            cells.append(f"{value_text(spread['estimate'])}{ends}")
        rows.append(
            [row_name(one[0], facts), *cells, p_text(end["p_value"], facts["draws"])]
        )
    over = (
        f"Means of {len(facts['repetitions'])} repetitions" if several else "Estimates"
    )
    which = f"; p of repetition {last['repetition']}, which decides" if several else ""
    measures = wording.utilities_words(facts["accuracy_utilities"])
    accuracy = "" if facts["ask"] == "fairness" else f"Accuracy is {measures}. "
    lower = (
        "Lower is better: accuracy rises where that value falls. "
        if facts["lower_is_better"]
        else ""
    )
    rest = (
        f"{over} from {wording.rows_words(facts)}, with {confidence(facts['alpha'])} "
        f"intervals{which}."
    )
    return accuracy + lower + rest, rows


def gap_notes(raw: Facts, facts: Facts) -> str:
    """Who is above whom in each gap, with both gaps where the candidate changes that; p
    by the other statistic.
    """
    lines = []
    ends = deciding(facts)["components"]
    for named, (first, *_), end in zip(
        by_component(raw), by_component(facts), ends, strict=True
    ):
        if first["kind"] != "fairness":
            continue
        name = capital(wording.component_name(first, facts))
        (before, often), (after, then) = (
            _sides(first, algorithm, facts) for algorithm in ALGORITHMS
        )
        if before == after:
            told = f"{name}: {before} under both algorithms."
        else:
            values = [
                value_text(estimate_of(raw, named[0])[algorithm]["estimate"])
                for algorithm in ALGORITHMS
            ]
            told = f"{name}: {values[0]}, {before}{often} → {values[1]}, {after}{then}."
        gap = next(
            d
            for d in facts["disparities"]
            if (d["utility"], d["group"]) == (first["utility"], first["group"])
        )
        told += f" Worse off under the status quo: {gap['worse_off']}."
        other = end["p_other"]
        if other is not None:
            has = (
                f"the {wording.other_statistic(facts)} one has "
                f"{p_equals(p_text(other, facts['draws']))}"
            )
            told += f" The {facts['gap_statistic']} statistic decides; {has}."
        lines.append(told)
    return paragraphs([*lines, wording.rates_words(facts)])


def _sides(component: ComponentFacts, algorithm: str, facts: Facts) -> tuple[str, str]:
    """Which group is above which in a gap under an algorithm, in most repetitions; in
    how many, if not in all.
    """
    measure = next(
        one
        for one in facts["fairness_utilities"]
        if one["name"] == component["utility"]
    )
    rates = facts["diagnostics"]["selection_rates"]
    levels = [
        rate["group"] for rate in rates if rate["attribute"] == component["group"]
    ]
    found: Counter[tuple[str, str]] = Counter()
    for repetition in facts["repetitions"]:
        values = {
            one["group"]: one["estimate"]
            for one in repetition["intervals"]
            if one["quantity"] == algorithm
            and one["measure"] == component["utility"]
            and one["estimate"] is not None
        }
        ranked = sorted(
            (level for level in levels if level in values),
            key=lambda level: values[level],
        )
        if len(ranked) < 2:
            continue
        ends = ranked[-1], ranked[0]
        # whose gap is to the best off of the others
        for level in set(facts["protected"]) & set(levels):
            other = next(
                one
                for one in (ranked[::-1] if measure["worse_off"] == "lower" else ranked)
                if one != level
            )
            ends = (
                (level, other)
                if ranked.index(level) > ranked.index(other)
                else (other, level)
            )
        found[ends] += 1
    if not found:
        return "not defined", ""
    (above, below), times = found.most_common(1)[0]
    often = (
        ""
        if times == found.total()
        else f" (in {times} of {found.total()} repetitions)"
    )
    return f"{above} above {below}", often


def who_changes(facts: Facts) -> str:
    """Of 1,000 people in each group, by whom they are selected, and whose decision
    turns right; nothing of prices.
    """
    shares = facts["selected_shares"]
    if shares is None:
        return ""
    all_rows = f"Of all test rows, {arrow(shares[EVERYONE])} are selected."
    caption = f"Who changes, of {PEOPLE:,} people in each group. {all_rows}"
    heads = ["selected by", *(NAMES[kind] for kind in KINDS)]
    rows = [
        [group, *(people_count(facts["people"][group][kind]) for kind in KINDS)]
        for group in facts["groups"]
    ]
    return (
        f"{paragraph(caption)}\n\n{table(heads, rows)}\n\n"
        f"{paragraph(describe_turned(facts))}"
    ).rstrip()


def details(facts: Facts) -> list[str]:
    """What `verbose` adds, part by part."""
    counts = (wording.shares_words, wording.effective_words, wording.corrections_words)
    return [
        question(facts),
        every_repetition(facts),
        paragraphs(say(facts) for say in counts),
        changes(facts) if facts["kind"] == "comparison" else selection_notes(facts),
        paragraph(wording.describe_gap_distance(facts)),
    ]


def question(facts: Facts) -> str:
    accuracy, fairness = facts["accuracy_utilities"], facts["fairness_utilities"]
    whose = (
        "Accuracy of a group" if facts["overall"] is None else "Accuracy of everyone"
    )
    lines = [f"{whose}: {wording.utilities_words(accuracy)}."]
    if facts["ask"] != "both":
        lines.append(
            f"Only {'accuracy' if facts['ask'] == 'accuracy' else 'the gap'} must "
            "improve."
        )
    if accuracy == fairness and all(one["between"] == "difference" for one in fairness):
        lines.append(
            f"Gap: {'its difference' if len(accuracy) == 1 else 'their differences'} "
            "between groups."
        )
    else:
        lines.append(f"Gap: {wording.gaps_words(fairness)}.")
    if facts["protected"]:
        listed = " and ".join(facts["protected"])
        lines.append(
            f"Only being worse off than others counts as unfair, and only for {listed}."
        )
    for gap in facts["disparities"]:
        several = (
            f" in {gap['utility']} by {gap['group']}"
            if len(facts["disparities"]) > 1
            else ""
        )
        lines += [
            (
                f"Status quo's gap{several} on {wording.rows_words(facts)}: "
                f"{value_text(gap['gap'])}, {gap['higher']} above {gap['lower']} "
                f"({wording.gap_interval(gap, facts)})."
            ),
            wording.harm_words(gap, facts),
        ]
    if facts["kind"] == "audit":
        names = list(facts["features"])
        shown = ", ".join(names[:6]) + (
            f" and {len(names) - 6} more" if len(names) > 6 else ""
        )
        lines.append(
            f"Rule '{facts['rule']}' predicts {facts['target']} and may read {shown}."
        )
        lines.append(wording.scheme_words(facts))
        lines += (
            [wording.candidate_words(facts)] if len(facts["blocks"]["cuts"]) > 1 else []
        )
    if "train_rows" in facts:
        lines.append(wording.training_text(facts))
    if facts["method"] != "bootstrap":
        lines.append(f"p-values come from {wording.draws_text(facts)}.")
    return paragraphs(lines)


def row_name(component: ComponentFacts, facts: Facts) -> str:
    """A condition in a table: the group whose accuracy it is, or the gap."""
    name = wording.component_name(component, facts).removeprefix("accuracy of ")
    return name if component["kind"] == "accuracy" else capital(name)


def every_repetition(facts: Facts) -> str:
    """Every condition in every repetition, with p by both statistics of the gap;
    nothing where there is but one.
    """
    if len(facts["repetitions"]) == 1:
        return ""
    numbers = [str(repetition["repetition"]) for repetition in facts["repetitions"]]
    rows = []
    for component in by_component(facts):
        for number, one in zip(numbers, component, strict=True):
            name = row_name(one, facts) if one is component[0] else ""
            rows.append(
                [
                    name,
                    number,
                    *component_cells(one, facts["draws"]),
                    *[""] * (one["p_other"] is None),
                ]
            )
    for number, repetition in zip(numbers, facts["repetitions"], strict=True):
        name = "All conditions" if number == numbers[0] else ""
        rows.append([name, number, "", "", repetition["p_value_text"], ""])
    return table(
        [
            "",
            "repetition",
            "status quo",
            "candidate",
            "p",
            f"{wording.other_statistic(facts)} p",
        ],
        rows,
    )


def changes(facts: Facts) -> str:
    """How much every utility and gap changes, as a difference and as a ratio, with
    intervals.
    """
    intervals = facts["repetitions"][0]["intervals"]
    several = len({one["measure"] for one in intervals}) > 1
    found = {(one["measure"], one["group"], one["quantity"]): one for one in intervals}
    rows = []
    for measure, group in dict.fromkeys(
        (one["measure"], one["group"]) for one in intervals
    ):
        cells = [
            f"{value_text(one['estimate'])} ({ends_text(one['low'], one['high'])})"
            for one in (
                found[measure, group, quantity] for quantity in ("difference", "ratio")
            )
        ]
        rows.append([group + (f", {measure}" if several else ""), *cells])
    title = (
        f"Change from status quo to candidate, with {confidence(facts['alpha'])} "
        "intervals:"
    )
    return f"{paragraph(title)}\n\n{table(['', 'difference', 'ratio'], rows)}"


def selection_notes(facts: Facts) -> str:
    """How candidates were found: winners, what a solver proved, and which constraints
    were reached.
    """
    notes = [
        one
        for repetition in facts["repetitions"]
        for one in repetition["rule_notes"].get("blocks", [])
    ]
    reached = {
        "training": [note["reached"] for note in notes],
        "test": [
            repetition["rule_notes"]["reached"] for repetition in facts["repetitions"]
        ],
    }
    lines = []
    if "winner" in notes[0]:
        won = Counter(note["winner"] for note in notes)
        lines.append(
            "Won inside the training rows: "
            + ", ".join(f"{name} ({n})" for name, n in won.items())
            + "."
        )
    solved = Counter(note["status"] for note in notes if "status" in note)
    if solved:
        told = ", ".join(
            f"{status} in {n} block{'s' if n > 1 else ''}"
            for status, n in solved.items()
        )
        lines.append(f"Solver: {told}.")
    if facts["selection_gap"] is not None:
        gaps = [
            f"{max(one['selection_gap'] for one in found):.3f} on {rows} rows"
            for rows, found in reached.items()
        ]
        lines.append(
            f"Selection rates may differ by {facts['selection_gap']:g}; they differ by "
            f"at most {' and '.join(gaps)}."
        )
    if facts["monotone"]:
        broken = sum(
            one["monotone_violations"] for found in reached.values() for one in found
        )
        signs = ", ".join(f"{name}:{sign}" for name, sign in facts["monotone"].items())
        lines.append(
            f"Monotone in {signs}: decisions for {broken} rows of all repetitions "
            "violate it."
        )
    return paragraphs(lines)


def look_text(look: Mapping[str, Any]) -> str:
    """The whole look at the data."""
    look = shown_all(look)
    rows = feature_table(look)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [*(paragraph(line, GUTTER) for line in look_lines(look)), ""]
    lines.append(
        f"Features: {len(look['features']):,}. AUC or R squared of each alone, out of "
        "sample."
    )
    for name, words, *numbers in rows:
        shown = [
            number.rjust(size) for number, size in zip(numbers, widths[2:], strict=True)
        ]
        lines.append(GUTTER.join([name.ljust(widths[0]), *shown, words]).rstrip())
    left_out = (paragraph(line, GUTTER) for line in left_out_lines(look))
    return "\n".join([*lines, "", f"Left out: {len(look['left_out']):,}.", *left_out])
