"""What drives the candidate: features that matter most to it, what each is worth, and how it goes with the group."""

from collections.abc import Mapping
from typing import Any

from improvable.report.blocks import Block, Heading, Sentence, Table
from improvable.results.facts import Facts
from improvable.results.numbers import value_text

MOST = 10


def drivers_of(facts: Facts) -> dict[str, float]:
    """By feature, in falling order: of those the candidate selects, the share whose decision changes."""
    found: dict[str, float] = facts["repetitions"][0]["selection"].get("drivers", {})
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def driving_section(facts: Facts) -> list[Block]:
    """The features that matter most, with their worth in accuracy, and how each goes with the group by itself."""
    found = {name: share for name, share in drivers_of(facts).items() if share > 0}
    if not found:
        return []
    labels, tells = facts["about"].get("labels", {}), facts.get("look", {}).get("features", {})
    worth: dict[str, Any] = facts["repetitions"][0]["selection"].get("importance", {})
    shown = list(found.items())[:MOST]
    groups = list(next(iter(tells.values()))["tells_group"]) if tells else []
    columns = list(next(iter(worth.values()))["correlation"]) if worth else []
    heads = ["Feature", "Decisions changed", *["Accuracy lost"] * bool(worth)]
    heads += [_correlation_head(labels.get(name, name), facts, worth) for name in columns]
    heads += [f"Tells {group} (AUC)" for group in groups]
    rows = []
    for name, share in shown:
        label, mine = labels.get(name, name), worth.get(name)
        cells = [label, f"{share:.1%}"]
        if worth:
            cells.append("" if mine is None else value_text(mine["accuracy_loss"]))
        cells += [_correlation(mine, column, labels.get(column, column), facts) for column in columns]
        rows.append((*cells, *_told(tells.get(label), groups)))
    rest = len(drivers_of(facts)) - len(shown)
    others = f" Features that change fewer decisions, or none: {rest:,}." if rest else ""
    return [
        Heading("What drives the candidate", 3),
        Sentence(
            "What happens if one feature's values are shuffled among held-out rows (permutation importance, in the "
            f"{'last block of the ' if len(facts['blocks']['cuts']) > 1 else ''}first repetition)."
        ),
        Table("drivers-table", tuple(heads), tuple(rows), note=_words(facts, bool(worth), bool(groups)) + others),
    ]


def _words(facts: Facts, worth: bool, told: bool) -> str:
    """What the columns are."""
    said = ["Decisions changed: of those whom the candidate selects, the share it would decide otherwise about."]
    if worth:
        measure = facts["accuracy_utilities"][0]["name"]
        said += [
            f"Accuracy lost: how much worse accuracy ({measure}) would be over everyone; below zero is better. The "
            "cutoff stays, so that the share selected may move.",
            "Correlation: of the feature with being in the group, from -1 to 1; none where the feature is not a number "
            "or does not vary.",
        ]
    if told:
        said.append("AUC: how well the feature alone tells the group; 0.5 is not at all, 1 is exactly.")
    return " ".join(said)


def _correlation_head(attribute: str, facts: Facts, worth: Mapping[str, Any]) -> str:
    group = _one_group(attribute, facts, worth)
    return f"Correlation with {group}" if group else f"Largest correlation by {attribute}"


def _one_group(attribute: str, facts: Facts, worth: Mapping[str, Any]) -> str | None:
    """Of two groups the one that is worse off: the other's correlation is the same with its sign turned."""
    labels = facts["about"].get("labels", {})
    found = next(iter(worth.values()))["correlation"]
    levels = next(levels for name, levels in found.items() if labels.get(name, name) == attribute)
    worse = [gap["worse_off"] for gap in facts["disparities"] if gap["group"] == attribute]
    return worse[0] if len(levels) == 2 and worse else None


def _correlation(mine: Any, column: str, attribute: str, facts: Facts) -> str:
    """The correlation of one feature; of more than two groups the largest, with the group it is with."""
    if mine is None:
        return ""
    found = {group: value for group, value in mine["correlation"][column].items() if value is not None}
    if not found:
        return "none"
    group = _one_group(attribute, facts, {"": mine})
    if group is not None:
        return f"{found[group]:.2f}"
    largest = max(found, key=lambda one: abs(found[one]))
    return f"{found[largest]:.2f}, {largest}"


def _told(one: Any, groups: list[str]) -> list[str]:
    values = [None if one is None else one["tells_group"].get(group) for group in groups]
    return ["" if value is None else f"{value:.3f}" for value in values]
