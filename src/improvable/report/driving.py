"""What drives the candidate: features whose shuffling changes most of its decisions, and how they tell the group."""

from typing import Any

from improvable.report.blocks import Block, Heading, Sentence, Table
from improvable.results.facts import Facts
from improvable.results.words import round_name

MOST = 10


def drivers_of(facts: Facts) -> dict[str, float]:
    """By feature, in falling order: of those the candidate selects, the share whose decision changes."""
    found: dict[str, float] = facts["splits"][0]["selection"].get("drivers", {})
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def driving_section(facts: Facts) -> list[Block]:
    """The features that matter most, with how well each tells the group by itself."""
    found = {name: share for name, share in drivers_of(facts).items() if share > 0}
    if not found:
        return []
    labels, tells = facts["about"].get("labels", {}), facts.get("look", {}).get("features", {})
    shown = [(labels.get(name, name), share) for name, share in list(found.items())[:MOST]]
    groups = list(next(iter(tells.values()))["tells_group"]) if tells else []
    rows = tuple((name, f"{share:.1%}", *_told(tells.get(name), groups)) for name, share in shown)
    rest = len(drivers_of(facts)) - len(shown)
    others = f" Features that change fewer decisions, or none: {rest:,}." if rest else ""
    return [
        Heading("What drives the candidate", 3),
        Sentence(
            "Of those whom the candidate selects, the share it would decide otherwise about if the feature's values "
            f"were shuffled among held-out rows; in the first {round_name(facts['folds'])}. "
            f"Beside it, how well the feature alone tells the group: 0.5 is not at all, 1 is exactly.{others}"
        ),
        Table("drivers-table", ("Feature", "Decisions changed", *(f"Tells {group} (AUC)" for group in groups)), rows),
    ]


def _told(one: Any, groups: list[str]) -> list[str]:
    values = [None if one is None else one["tells_group"].get(group) for group in groups]
    return ["" if value is None else f"{value:.3f}" for value in values]
