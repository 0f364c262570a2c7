"""A result in full, as plain text: the question, the paper's table, intervals of changes, the theory's conditions."""

from collections import Counter

from improvable.report.layout import paragraph, table
from improvable.results.facts import ComponentFacts, Facts, by_component
from improvable.results.numbers import bound_text, ends_text, p_text, value_text
from improvable.results.words import (
    candidate_words,
    component_name,
    conditions_words,
    corrections_words,
    draws_text,
    effective_words,
    gap_choice,
    gaps_words,
    harm_words,
    rows_words,
    scheme_words,
    shares_words,
    training_text,
    utilities_words,
    welfare_words,
)

ASKED = {"accuracy": "accuracy", "fairness": "the gap"}


def details(facts: Facts) -> list[str]:
    """What `verbose` adds, part by part."""
    counts = [words for words in (shares_words(facts), effective_words(facts), corrections_words(facts)) if words]
    parts = [question(facts), every_repetition(facts), "\n".join(map(paragraph, counts))]
    parts += [changes(facts)] if facts["kind"] == "comparison" else selection_notes(facts)
    parts.append("\n".join(paragraph(line) for line in (conditions_words(facts), welfare_words(facts)) if line))
    return [part for part in parts if part]


def question(facts: Facts) -> str:
    accuracy, fairness = facts["accuracy_utilities"], facts["fairness_utilities"]
    whose = "Accuracy of a group" if facts["overall"] is None else "Accuracy of everyone"
    lines = [f"{whose}: {utilities_words(accuracy)}."]
    if facts["ask"] != "both":
        lines.append(f"Only {ASKED[facts['ask']]} must improve.")
    if accuracy == fairness and all(one["between"] == "difference" for one in fairness):
        lines.append(f"Gap: {'its difference' if len(accuracy) == 1 else 'their differences'} between groups.")
    else:
        lines.append(f"Gap: {gaps_words(fairness)}.")
    if facts["protected"]:
        listed = " and ".join(facts["protected"])
        lines.append(f"Only being worse off than others counts as unfair, and only for {listed}.")
    units = rows_words(facts)
    for gap in facts["disparities"]:
        several = f" in {gap['utility']} by {gap['group']}" if len(facts["disparities"]) > 1 else ""
        low, high = (bound_text(bound) for bound in gap["interval"])
        lines.append(
            f"Status quo's gap{several} on {units}: {value_text(gap['gap'])}, {gap['higher']} above {gap['lower']} "
            f"({100 * (1 - facts['alpha']):g}% interval {low} to {high}{gap_choice(gap, facts)})."
        )
        lines.append(harm_words(gap, facts))
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


def row_name(component: ComponentFacts, facts: Facts) -> str:
    """A condition in a table: the group whose accuracy it is, or the gap."""
    name = component_name(component, facts).removeprefix("accuracy of ")
    return name if component["kind"] == "accuracy" else name[:1].upper() + name[1:]


def every_repetition(facts: Facts) -> str:
    """Every condition in every repetition, with p by both statistics of the gap; nothing where there is but one."""
    if len(facts["repetitions"]) == 1:
        return ""
    other, draws = ("absolute" if facts["gap_statistic"] == "signed" else "signed"), facts["draws"]
    rows = []
    for component in by_component(facts):
        for repetition, one in zip(facts["repetitions"], component, strict=True):
            rows.append(
                [
                    row_name(one, facts) if one is component[0] else "",
                    str(repetition["repetition"]),
                    value_text(one["status_quo"]),
                    value_text(one["candidate"]),
                    p_text(one["p_value"], draws),
                    "" if one["p_other"] is None else p_text(one["p_other"], draws),
                ]
            )
    rows += [
        ["All conditions" * (k == 0), str(one["repetition"]), "", "", one["p_value_text"], ""]
        for k, one in enumerate(facts["repetitions"])
    ]
    return table(["", "repetition", "status quo", "candidate", "p", f"{other} p"], rows)


def changes(facts: Facts) -> str:
    """How much every utility and gap changes, as a difference and as a ratio, with intervals."""
    intervals = facts["repetitions"][0]["intervals"]
    several = len({one["measure"] for one in intervals}) > 1
    found = {(one["measure"], one["group"], one["quantity"]): one for one in intervals}
    rows = []
    for measure, group in dict.fromkeys((one["measure"], one["group"]) for one in intervals):
        cells = [
            f"{value_text(one['estimate'])} ({ends_text(one['low'], one['high'])})"
            for one in (found[measure, group, quantity] for quantity in ("difference", "ratio"))
        ]
        rows.append([group + (f", {measure}" if several else ""), *cells])
    level = f"{100 * (1 - facts['alpha']):g}% intervals"
    title = f"Change from status quo to candidate, with {level}:"
    return f"{paragraph(title)}\n\n{table(['', 'difference', 'ratio'], rows)}"


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
