"""A result as plain text: the question, the paper's table, the verdict, the warnings."""

import textwrap
from typing import Any

from improvable.report.words import limits, p_text, verdict

WIDTH = 100


def summary(facts: dict[str, Any]) -> str:
    parts = [question(facts), table(facts), paragraph(verdict(facts)), paragraph(limits(facts))]
    if facts["warnings"]:
        parts.append("\n".join(paragraph(f"Warning: {text}") for text in facts["warnings"]))
    return "\n\n".join(parts)


def paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def question(facts: dict[str, Any]) -> str:
    accuracy, fairness = facts["accuracy_utility"], facts["fairness_utility"]
    disparity = facts["disparity"]
    low, high = disparity["interval"]
    lines = [
        f"Accuracy of a group: {accuracy['words']} ({accuracy['outcome']}).",
        "Gap: the difference of that between groups."
        if accuracy == fairness
        else f"Gap: the difference between groups of {fairness['words']} ({fairness['outcome']}).",
        f"Status quo's gap on {facts['rows']:,} rows: {disparity['gap']:.4g}, {disparity['higher']} above "
        f"{disparity['lower']} ({100 * (1 - facts['alpha']):g}% interval {low:.4g} to {high:.4g}).",
    ]
    candidate = "the candidate" if facts["kind"] == "comparison" else f"what rule '{facts['rule']}' found on other rows"
    lines.append(f"Below, now is the status quo and new is {candidate}.")
    return "\n".join(paragraph(line) for line in lines)


def table(facts: dict[str, Any]) -> str:
    """The paper's layout: for each group and for the gap, status quo (now), candidate (new), p; last the split's p."""
    draws, groups, splits = facts["draws"], facts["groups"], facts["splits"]
    other = "absolute" if facts["gap_statistic"] == "signed" else "signed"
    head = [["split"], *(["now", "new", "p"] for _ in groups)]
    head += [["now", "new", f"p {facts['gap_statistic']}", f"({other})"], ["p"]]
    body = []
    for split in splits:
        blocks = [[str(split["split"])]]
        blocks += [_utilities(split["accuracy"][g], split["p_accuracy"][g], draws) for g in groups]
        blocks += [[*_utilities(split["gap"], split["p_fairness"], draws), p_text(split["p_fairness_other"], draws)]]
        body.append([*blocks, [p_text(split["p_value"], draws)]])
    if len(splits) > 1:
        means = [[*_mean([s["accuracy"][g] for s in splits]), ""] for g in groups]
        gap = [*_mean([s["gap"] for s in splits]), "", ""]
        body.append([["mean"], *means, gap, [""]])
        body.append([["median"], *([[""] * 3] * len(groups)), [""] * 4, [facts["p_value_text"]]])
    titles = ["", *groups, "gap", ""]
    if facts["kind"] == "comparison":
        titles, head, body = titles[1:], head[1:], [line[1:] for line in body]
    return _aligned(titles, head, body)


def _aligned(titles: list[str], head: list[list[str]], body: list[list[list[str]]]) -> str:
    """Blocks of columns between bars, every column as wide as its widest text."""
    lines = [head, *body]
    widths = [[max(len(line[b][j]) for line in lines) for j in range(len(head[b]))] for b in range(len(head))]
    for b, title in enumerate(titles):
        widths[b][0] += max(0, len(title) - sum(widths[b]) - 2 * (len(widths[b]) - 1))

    def render(line: list[list[str]]) -> str:
        blocks = zip(line, widths, strict=True)
        return " | ".join("  ".join(t.rjust(w) for t, w in zip(*block, strict=True)) for block in blocks)

    top = " | ".join(t.center(sum(w) + 2 * (len(w) - 1)) for t, w in zip(titles, widths, strict=True))
    rule = "-+-".join("-" * (sum(w) + 2 * (len(w) - 1)) for w in widths)
    return "\n".join(line.rstrip() for line in [top, render(head), rule, *map(render, body)])


def _utilities(pair: dict[str, float | None], p_value: float, draws: int) -> list[str]:
    return [_value(pair["status_quo"]), _value(pair["candidate"]), p_text(p_value, draws)]


def _mean(pairs: list[dict[str, float | None]]) -> list[str]:
    out = []
    for name in ("status_quo", "candidate"):
        values = [pair[name] for pair in pairs]
        defined = [value for value in values if value is not None]
        out.append(_value(sum(defined) / len(defined) if len(defined) == len(values) else None))
    return out


def _value(value: float | None) -> str:
    """Enough digits to compare, never more than a reader can hold."""
    if value is None:
        return "none"
    size = abs(value)
    return f"{value:,.0f}" if size >= 10_000 else f"{value:.1f}" if size >= 100 else f"{value:.3f}"
