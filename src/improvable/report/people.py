"""Who changes: of 1,000 people in each group, whom both algorithms select, only one of them, or neither."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from improvable.inference.diagnostics import KINDS
from improvable.report.blocks import Table
from improvable.report.opening import mean_shares
from improvable.results.facts import Facts
from improvable.results.numbers import value_text

PEOPLE = 1_000
NAMES = {
    "both": "both",
    "only_status_quo": "only the status quo",
    "only_candidate": "only the candidate",
    "neither": "neither",
}
"""Kinds of people, and whom they are selected by."""


@dataclass(frozen=True)
class Kind:
    """Those of a group that are selected by the same algorithms.

    Attributes
    ----------
    people : float
        Of `PEOPLE`, a mean over the repetitions.
    outcome : float or None
        Their mean outcome: over repetitions, by how many they are; None where there are none.
    """

    people: float
    outcome: float | None

    @property
    def count(self) -> str:
        """How many, to a whole person; a tenth where there are fewer than ten."""
        digits = Decimal(1) if self.people >= 9.95 or self.people == 0 else Decimal("0.1")
        return f"{Decimal(self.people).quantize(digits, ROUND_HALF_UP):,f}"


def people_by_group(facts: Facts) -> dict[str, dict[str, Kind]]:
    """Of 1,000 people in each group, how many are of each kind; empty of prices, and where it was not counted."""
    repetitions = [repetition["changes"] for repetition in facts["repetitions"]]
    if mean_shares(facts) is None or not all(repetitions):
        return {}
    out = {}
    for group in facts["groups"]:
        kinds = {}
        for kind in KINDS:
            found = [repetition[group][kind] for repetition in repetitions]
            shares = [one["share"] for one in found]
            total = sum(one["share"] * one["mean_outcome"] for one in found if one["mean_outcome"] is not None)
            kinds[kind] = Kind(PEOPLE * sum(shares) / len(shares), total / sum(shares) if sum(shares) else None)
        out[group] = kinds
    return out


def people_words(facts: Facts) -> tuple[str, list[str]]:
    """Title and how to read the picture."""
    over = " Means over the repetitions." if len(facts["repetitions"]) > 1 else ""
    return f"Of {PEOPLE:,} people in each group, who would be selected", [
        f"The first two parts of a bar are the status quo's selection, the last two the candidate's; all others are "
        f"selected by neither.{over}"
    ]


def people_alt(facts: Facts) -> str:
    """The numbers of the picture in words."""
    said = []
    for group, kinds in people_by_group(facts).items():
        parts = ", ".join(f"{kinds[kind].count} by {NAMES[kind]}" for kind in KINDS)
        said.append(f"{group}: {parts}")
    return f"Of {PEOPLE:,} people, selected: {'; '.join(said)}."


def people_table(facts: Facts) -> Table:
    """How many of each kind, and their mean outcome."""
    rows = tuple(
        (group, *(cell for kind in KINDS for cell in (kinds[kind].count, value_text(kinds[kind].outcome))))
        for group, kinds in people_by_group(facts).items()
    )
    heads = ("Group", *("people", "mean outcome") * len(KINDS))
    spans = tuple((f"Selected by {NAMES[kind]}", 2) for kind in KINDS)
    note = f"Of {PEOPLE:,} people in each group, on test rows; the outcome is {facts['outcome']}."
    return Table("people-table", heads, rows, spans, note=note)
