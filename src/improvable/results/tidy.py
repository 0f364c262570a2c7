"""A result as a tidy table: one row per repetition and condition, one column per kind of number."""

from typing import Any

from improvable.inference.evidence import ALGORITHMS
from improvable.results.facts import ComponentFacts, Facts, RepetitionFacts

NUMBERS = tuple(f"{name}{end}" for name in (*ALGORITHMS, "difference", "ratio") for end in ("", "_low", "_high"))
P_VALUES = ("p_value", "p_other", "p_repetition")
COUNTS = tuple(f"{what}_{name}" for what in ("selected", "share", "effective") for name in ALGORITHMS)
COLUMNS: dict[str, type] = {
    "repetition": int,
    "block": str,
    "kind": str,
    "utility": str,
    "group": str,
    **dict.fromkeys((*NUMBERS, *P_VALUES), float),
    "rows": int,
    **dict.fromkeys(COUNTS, float),
}
"""Every column and what it holds; `Result.table` says what each means."""
MIXTURE, ONLY_BLOCK, ALL_ROWS = "mixture", "1", "all rows"


def tidy_columns(facts: Facts) -> dict[str, list[Any]]:
    """The columns of `Result.table`; None where there is no such number."""
    rows = [
        _row(facts, repetition, component)
        for repetition in facts["repetitions"]
        for component in repetition["components"]
    ]
    return {name: [row.get(name) for row in rows] for name in COLUMNS}


def _row(facts: Facts, repetition: RepetitionFacts, one: ComponentFacts) -> dict[str, Any]:
    before, after = one["status_quo"], one["candidate"]
    row: dict[str, Any] = {
        "repetition": repetition["repetition"],
        "block": _block(facts, repetition),
        **one,
        "p_repetition": repetition["p_value"],
        "rows": repetition["rows"],
        **{f"share_{name}": repetition["share_selected"][name]["test"] for name in ALGORITHMS},
    }
    if before is not None and after is not None:
        row |= {"difference": after - before, "ratio": after / before if before else None}
    if one["kind"] == "accuracy" and facts["overall"] is None:
        for found in repetition["intervals"]:
            if (found["measure"], found["group"]) == (one["utility"], one["group"]):
                name = found["quantity"]
                row |= {name: found["estimate"], f"{name}_low": found["low"], f"{name}_high": found["high"]}
        for name in ALGORITHMS:
            row[f"selected_{name}"] = repetition["selected"][one["group"]][name]
            row[f"share_{name}"] = repetition["share_selected_by_group"][one["group"]][name]
            row[f"effective_{name}"] = repetition["effective_rows"][one["group"]][name]
    return row


def _block(facts: Facts, repetition: RepetitionFacts) -> str:
    """What the numbers are about: all blocks of a repetition together, its only block, or the rows of a comparison."""
    if facts["kind"] != "audit":
        return ALL_ROWS
    return MIXTURE if len(repetition["rule_notes"]["blocks"]) > 1 else ONLY_BLOCK
