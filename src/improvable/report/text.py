"""A result as plain text: the question, the paper's table, the verdict, the warnings."""

import textwrap
from typing import Any

from improvable.results.words import (
    combined_name,
    component_title,
    draws_text,
    limits,
    measure_words,
    p_text,
    seal_words,
    training_text,
    value_text,
    verdict,
)

WIDTH = 100
MOST_BLOCKS = 4


def summary(facts: dict[str, Any]) -> str:
    parts = [question(facts), table(facts)]
    parts += [changes(facts)] if facts["kind"] == "comparison" else selection_notes(facts)
    parts += [paragraph(verdict(facts)), paragraph(limits(facts))]
    parts.append(paragraph(seal_words(facts)))
    if facts["warnings"]:
        parts.append("\n".join(paragraph(f"Warning: {text}") for text in facts["warnings"]))
    return "\n\n".join(parts)


def paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def question(facts: dict[str, Any]) -> str:
    accuracy, fairness = facts["accuracy_utilities"], facts["fairness_utilities"]
    whose = "Accuracy of a group" if facts["overall"] is None else "Accuracy of everyone"
    lines = [f"{whose}: {_named(accuracy)}."]
    if accuracy == fairness:
        lines.append("Gap: the difference of that between groups.")
    else:
        lines.append(f"Gap: the difference between groups of {_named(fairness)}.")
    if facts["protected"]:
        listed = " and ".join(facts["protected"])
        lines.append(f"Only falling short of others counts as unfair, and only for {listed}.")
    units = f"{facts['rows']:,} rows" + (f" in {facts['clusters']:,} clusters" if facts["clusters"] else "")
    for gap in facts["disparities"]:
        several = f" in {gap['utility']} by {gap['group']}" if len(facts["disparities"]) > 1 else ""
        low, high = (value_text(bound) for bound in gap["interval"])
        lines.append(
            f"Status quo's gap{several} on {units}: {value_text(gap['gap'])}, {gap['higher']} above {gap['lower']} "
            f"({100 * (1 - facts['alpha']):g}% interval {low} to {high})."
        )
    if facts["kind"] == "audit":
        names = list(facts["features"])
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        lines.append(f"Rule '{facts['rule']}' learns {facts['target']} and may read {shown}.")
    if "train_rows" in facts:
        lines.append(training_text(facts))
    candidate = "the candidate" if facts["kind"] == "comparison" else f"what rule '{facts['rule']}' found on other rows"
    lines.append(f"Below, now is the status quo and new is {candidate}.")
    if facts["method"] != "bootstrap":
        lines.append(f"p-values come from {draws_text(facts)}.")
    return "\n".join(paragraph(line) for line in lines)


def _named(measures: list[dict[str, str]]) -> str:
    return ", and ".join(measure_words(measure) for measure in measures)


def table(facts: dict[str, Any]) -> str:
    """The paper's layout where it fits: a line per split; otherwise a line per component."""
    return _by_split(facts) if len(facts["splits"][0]["components"]) <= MOST_BLOCKS else _by_component(facts)


def _by_split(facts: dict[str, Any]) -> str:
    """For each component status quo (now), candidate (new), p; last the split's p."""
    draws, splits = facts["draws"], facts["splits"]
    other = "absolute" if facts["gap_statistic"] == "signed" else "signed"
    components = splits[0]["components"]
    fair = [component["kind"] == "fairness" for component in components]
    head = [["split"]]
    head += [["now", "new", f"p {facts['gap_statistic']}", f"({other})"] if f else ["now", "new", "p"] for f in fair]
    head += [["p"]]
    body = []
    for split in splits:
        blocks = [_numbers(component, draws) for component in split["components"]]
        body.append([[str(split["split"])], *blocks, [p_text(split["p_value"], draws)]])
    if len(splits) > 1:
        shown, means = "running" if facts["combine"] == "running_median" else "median", []
        for j, f in enumerate(fair):
            pair = [_mean([s["components"][j][name] for s in splits]) for name in ("status_quo", "candidate")]
            means.append([*pair, *[""] * (2 if f else 1)])
        body.append([["mean"], *means, [""]])
        body.append([[shown], *([""] * (4 if f else 3) for f in fair), [facts["p_value_text"]]])
    titles = ["", *(component_title(component, facts) for component in components), ""]
    if facts["kind"] == "comparison":
        titles, head, body = titles[1:], head[1:], [line[1:] for line in body]
    return _aligned(titles, head, body)


def _by_component(facts: dict[str, Any]) -> str:
    """A line per component: means over splits, and the p-value of each split."""
    draws, splits = facts["draws"], facts["splits"]
    numbered = [str(s["split"]) for s in splits] if len(splits) > 1 else ["p"]
    head = [[""], ["now", "new"], numbered]
    body = []
    for j, component in enumerate(splits[0]["components"]):
        pair = [_mean([s["components"][j][name] for s in splits]) for name in ("status_quo", "candidate")]
        p_values = [p_text(s["components"][j]["p_value"], draws) for s in splits]
        body.append([[f"{component['kind']}: {component_title(component, facts)}"], pair, p_values])
    body.append([["all at once"], ["", ""], [p_text(s["p_value"], draws) for s in splits]])
    if len(splits) > 1:
        body.append([[combined_name(facts)], ["", ""], [facts["p_value_text"], *[""] * (len(splits) - 1)]])
    width = max(len(line[0][0]) for line in body)
    for line in body:
        line[0][0] = line[0][0].ljust(width)
    titles = ["", "mean" if len(splits) > 1 else "", "p of split" if len(splits) > 1 else ""]
    return _aligned(titles, head, body)


def changes(facts: dict[str, Any]) -> str:
    """How much every utility and gap changes, as a difference and as a ratio, with intervals."""
    intervals = facts["splits"][0]["intervals"]
    several = len({one["measure"] for one in intervals}) > 1
    body = []
    for one in intervals:
        if one["quantity"] == "difference":
            ratio = next(
                other for other in intervals
                if other["quantity"] == "ratio" and (other["group"], other["measure"]) == (one["group"], one["measure"])
            )  # fmt: skip
            name = one["group"] + (f", {one['measure']}" if several else "")
            numbers = [[value_text(x[key]) for key in ("estimate", "low", "high")] for x in (one, ratio)]
            body.append([[name], *numbers])
    width = max(len(line[0][0]) for line in body)
    for line in body:
        line[0][0] = line[0][0].ljust(width)
    level = f"{100 * (1 - facts['alpha']):g}% interval"
    head = [[""], ["change", "from", "to"], ["ratio", "from", "to"]]
    return _aligned(["", f"new - now, {level}", f"new / now, {level}"], head, body)


def selection_notes(facts: dict[str, Any]) -> list[str]:
    """How candidates were found: winners, what a solver proved, and which constraints were reached."""
    notes = [split["selection"] for split in facts["splits"]]
    lines = []
    if "winner" in notes[0]:
        won = {note["winner"]: sum(other["winner"] == note["winner"] for other in notes) for note in notes}
        lines.append("Won inside the training rows: " + ", ".join(f"{name} ({n})" for name, n in won.items()) + ".")
    statuses = [note["status"] for note in notes if "status" in note]
    if statuses:
        found = {status: statuses.count(status) for status in statuses}
        lines.append(
            "Solver: " + ", ".join(f"{status} in {n} split{'s' if n > 1 else ''}" for status, n in found.items()) + "."
        )
    if facts["selection_gap"] is not None:
        gaps = [max(note["reached"][sample]["selection_gap"] for note in notes) for sample in ("train", "test")]
        lines.append(
            f"Selection rates may differ by {facts['selection_gap']:g}; they differ by at most {gaps[0]:.3f} on "
            f"training rows and {gaps[1]:.3f} on test rows."
        )
    if facts["monotone"]:
        broken = sum(note["reached"][sample]["monotone_violations"] for note in notes for sample in ("train", "test"))
        signs = ", ".join(f"{name}:{sign}" for name, sign in facts["monotone"].items())
        lines.append(f"Monotone in {signs}: {broken} rows of all splits decide against it.")
    return ["\n".join(paragraph(line) for line in lines)] if lines else []


def _numbers(component: dict[str, Any], draws: int) -> list[str]:
    out = [value_text(component["status_quo"]), value_text(component["candidate"]), p_text(component["p_value"], draws)]
    return [*out, p_text(component["p_other"], draws)] if component["kind"] == "fairness" else out


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


def _mean(values: list[float | None]) -> str:
    defined = [value for value in values if value is not None]
    return value_text(sum(defined) / len(defined) if len(defined) == len(values) else None)
