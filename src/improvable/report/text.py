"""A result as plain text: the question, the paper's table, the verdict, the warnings."""

import textwrap
from collections import Counter
from itertools import accumulate, pairwise

from improvable.report.labels import labeled
from improvable.report.tables import CANDIDATE, STATUS_QUO, PaperTable, paper_table
from improvable.results.facts import Facts
from improvable.results.numbers import bound_text, value_text
from improvable.results.words import (
    candidate_words,
    conditions_words,
    draws_text,
    effective_words,
    gaps_words,
    harm_words,
    limits,
    rates_words,
    scheme_words,
    seal_words,
    shares_words,
    training_text,
    utilities_words,
    verdict,
    welfare_words,
)
from improvable.showing import shown_all

WIDTH = 99
NUMBERED = ("repeti-", "tion")
"""The head of a column of numbers that name rows: in one line it would push the p-values of two groups below."""
ASKED = {"accuracy": "accuracy", "fairness": "the gap"}


def summary(facts: Facts, warnings: bool = True) -> str:
    """A result in a terminal.

    Parameters
    ----------
    facts : Facts
    warnings : bool
        Whether to repeat the warnings, which a command has already printed.
    """
    facts = shown_all(labeled(facts))
    counts = [words for words in (shares_words(facts), effective_words(facts)) if words]
    parts = [question(facts), aligned(paper_table(facts)), "\n".join(map(paragraph, counts))]
    parts += [changes(facts)] if facts["kind"] == "comparison" else selection_notes(facts)
    beside = [f"But: {text}" for text in facts["verdict_warnings"]]
    parts.append("\n".join(paragraph(line) for line in (verdict(facts), *beside)))
    parts.append(paragraph(limits(facts)))
    parts.append("\n".join(paragraph(line) for line in (conditions_words(facts), welfare_words(facts)) if line))
    parts.append(paragraph(seal_words(facts)))
    if facts["warnings"] and warnings:
        parts.append("\n".join(paragraph(f"Warning: {text}") for text in facts["warnings"]))
    return "\n\n".join(part for part in parts if part)


def paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def question(facts: Facts) -> str:
    accuracy, fairness = facts["accuracy_utilities"], facts["fairness_utilities"]
    whose = "Accuracy of a group" if facts["overall"] is None else "Accuracy of everyone"
    lines = [f"{whose}: {utilities_words(accuracy)}."]
    if facts["lower_is_better"]:
        lines.append("Lower is better: accuracy rises where that value falls.")
    if facts["ask"] != "both":
        lines.append(f"Only {ASKED[facts['ask']]} must improve.")
    if accuracy == fairness and all(one["between"] == "difference" for one in fairness):
        lines.append(f"Gap: {'its difference' if len(accuracy) == 1 else 'their differences'} between groups.")
    else:
        lines.append(f"Gap: {gaps_words(fairness)}.")
    if facts["protected"]:
        listed = " and ".join(facts["protected"])
        lines.append(f"Only being worse off than others counts as unfair, and only for {listed}.")
    units = f"{facts['rows']:,} rows" + (f" in {facts['clusters']:,} clusters" if facts["clusters"] else "")
    for gap in facts["disparities"]:
        several = f" in {gap['utility']} by {gap['group']}" if len(facts["disparities"]) > 1 else ""
        low, high = (bound_text(bound) for bound in gap["interval"])
        lines.append(
            f"Status quo's gap{several} on {units}: {value_text(gap['gap'])}, {gap['higher']} above {gap['lower']} "
            f"({100 * (1 - facts['alpha']):g}% interval {low} to {high})."
        )
        lines.append(harm_words(gap, facts))
    lines += [words for words in (rates_words(facts),) if words]
    if facts["kind"] == "audit":
        names = list(facts["features"])
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        lines.append(f"Rule '{facts['rule']}' predicts {facts['target']} and may read {shown}.")
        lines.append(scheme_words(facts))
        lines += [candidate_words(facts)] if len(facts["blocks"]["cuts"]) > 1 else []
    if "train_rows" in facts:
        lines.append(training_text(facts))
    if facts["method"] != "bootstrap":
        lines.append(f"p-values come from {draws_text(facts)}.")
    return "\n".join(paragraph(line) for line in lines)


def changes(facts: Facts) -> str:
    """How much every utility and gap changes, as a difference and as a ratio, with intervals."""
    intervals = facts["repetitions"][0]["intervals"]
    several = len({one["measure"] for one in intervals}) > 1
    found = {(one["measure"], one["group"], one["quantity"]): one for one in intervals}
    lines = []
    for measure, group in dict.fromkeys((one["measure"], one["group"]) for one in intervals):
        pair = [found[measure, group, quantity] for quantity in ("difference", "ratio")]
        numbers = [
            text
            for one in pair
            for text in (value_text(one["estimate"]), bound_text(one["low"]), bound_text(one["high"]))
        ]
        lines.append([group + (f", {measure}" if several else ""), *numbers])
    heads = ["", "change", "from", "to", "ratio", "from", "to"]
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]

    def render(cells: list[str]) -> str:
        name, *numbers = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        return " | ".join([cells[0].ljust(len(name)), "  ".join(numbers[:3]), "  ".join(numbers[3:])])

    level = f"{100 * (1 - facts['alpha']):g}% intervals"
    title = f"Change from status quo to candidate, as a difference and as a ratio, with {level}:"
    rule = "-+-".join("-" * len(part) for part in render(heads).split(" | "))
    return "\n".join([paragraph(title), render(heads), rule, *map(render, lines)])


def selection_notes(facts: Facts) -> list[str]:
    """How candidates were found: winners, what a solver proved, and which constraints were reached."""
    notes = [one for repetition in facts["repetitions"] for one in repetition["selection"].get("blocks", [])]
    reached = {
        "training": [note["reached"] for note in notes],
        "test": [repetition["selection"]["reached"] for repetition in facts["repetitions"]],
    }
    lines = []
    if "winner" in notes[0]:
        won = Counter(note["winner"] for note in notes)
        lines.append("Won inside the training rows: " + ", ".join(f"{name} ({n})" for name, n in won.items()) + ".")
    solved = Counter(note["status"] for note in notes if "status" in note)
    if solved:
        told = ", ".join(f"{status} in {n} block{'s' if n > 1 else ''}" for status, n in solved.items())
        lines.append(f"Solver: {told}.")
    if facts["selection_gap"] is not None:
        gaps = [f"{max(one['selection_gap'] for one in found):.3f} on {rows} rows" for rows, found in reached.items()]
        lines.append(
            f"Selection rates may differ by {facts['selection_gap']:g}; they differ by at most {' and '.join(gaps)}."
        )
    if facts["monotone"]:
        broken = sum(one["monotone_violations"] for found in reached.values() for one in found)
        signs = ", ".join(f"{name}:{sign}" for name, sign in facts["monotone"].items())
        lines.append(f"Monotone in {signs}: decisions for {broken} rows of all repetitions violate it.")
    return ["\n".join(paragraph(line) for line in lines)] if lines else []


# The table in a terminal: heads take two lines, and blocks that do not fit beside each other go below.


def aligned(table: PaperTable) -> str:
    """The paper's table in letters of equal width."""
    named = len(table.rows) > 1  # a single row needs no name
    names = [row[0].removeprefix("Repetition ") for row in table.rows]
    starts = list(accumulate((len(block.heads) for block in table.blocks), initial=1))
    blocks = [
        _Columns(block.title, list(block.heads), [[c.replace("< ", "<") for c in row[i:j]] for row in table.rows])
        for block, (i, j) in zip(table.blocks, pairwise(starts), strict=True)
    ]
    # The combined p-value's row is blank but for one cell: its long name may run over the blanks.
    alone = [sum(map(bool, row[1:])) == 1 and len(table.rows) - i <= table.closing for i, row in enumerate(table.rows)]
    width = max(len(name) for name, one in zip([*NUMBERED, *names], [False, False, *alone], strict=True) if not one)
    used = width if named else -3
    panels: list[list[_Columns]] = [[]]
    for block in (piece for one in blocks for piece in one.pieces(WIDTH - used - 3)):
        if panels[-1] and used + sum(one.width + 3 for one in [*panels[-1], block]) > WIDTH:
            panels.append([])
        panels[-1].append(block)
    return "\n\n".join(_panel(panel, names, alone, width if named else None) for panel in panels)


class _Columns:
    """A block's columns with their widths; "candidate" may begin under "status", where "quo" leaves room."""

    def __init__(self, title: str, heads: list[str], rows: list[list[str]]) -> None:
        self.title, self.heads, self.rows = title, heads, rows
        words = [max(map(len, head.split())) if head != CANDIDATE else 0 for head in heads]
        self.widths = [max([word, *(len(row[j]) for row in rows)]) for j, word in enumerate(words)]
        if self.paired:
            self.widths[1] = max(self.widths[1], len("quo") + len(CANDIDATE) - self.widths[0])
        self.widths[0] += max(0, len(title) - self.width)

    @property
    def paired(self) -> bool:
        return self.heads[:2] == [STATUS_QUO, CANDIDATE]

    @property
    def width(self) -> int:
        return sum(self.widths) + len(self.widths) - 1

    def pieces(self, room: int) -> "list[_Columns]":
        """The block itself, or, if it is wider than the room, parts of it that are not."""
        if self.width <= room or len(self.heads) == 1:
            return [self]
        half = len(self.heads) // 2
        left, right = (_Columns(self.title, self.heads[s], [row[s] for row in self.rows])
                       for s in (slice(None, half), slice(half, None)))  # fmt: skip
        return [*left.pieces(room), *right.pieces(room)]

    def head(self, line: int) -> str:
        words = [["", *head.split()][-2:][line] for head in self.heads]
        if not self.paired:
            return self.line(words)
        first = words[0] + words[1].rjust(self.widths[0] + 1 + self.widths[1] - len(words[0]))
        return " ".join([first, *(w.rjust(n) for w, n in zip(words[2:], self.widths[2:], strict=True))])

    def line(self, cells: list[str]) -> str:
        return " ".join(cell.rjust(width) for cell, width in zip(cells, self.widths, strict=True))


def _panel(blocks: list[_Columns], names: list[str], alone: list[bool], width: int | None) -> str:
    """Blocks beside each other between bars; the rows' names in `width` letters, or none."""

    def joined(name: str, parts: list[str], bar: str = " | ") -> str:
        return bar.join(parts if width is None else [name, *parts]).rstrip()

    if width is not None:
        # A long name runs over blanks; where the panel has too few of them, the column of names is as wide as it.
        for name, one, *cells in zip(names, alone, *(map(block.line, block.rows) for block in blocks), strict=True):
            text = joined(" " * width, cells, "   ")
            if one and text.strip() and len(text) - len(text.lstrip()) <= len(name):
                width = max(width, len(name))
    numbered, blank = any(name.isdigit() for name in names), " " * (width or 0)
    lines = [joined(blank, [block.title.center(block.width) for block in blocks])]
    for line, part in enumerate(NUMBERED):
        name = part.ljust(len(NUMBERED[0])).rjust(width or 0) if numbered else blank
        lines.append(joined(name, [block.head(line) for block in blocks]))
    lines.append(joined("-" * (width or 0), ["-" * block.width for block in blocks], "-+-"))
    for i, name in enumerate(names):
        cells = [block.line(block.rows[i]) for block in blocks]
        if not alone[i]:
            lines.append(joined(name.rjust(width or 0) if numbered else name.ljust(width or 0), cells))
        elif any(cell.strip() for cell in cells):
            lines.append(name + joined(blank, cells, "   ")[len(name) :])
    return "\n".join(line for line in lines if line.strip(" |"))
