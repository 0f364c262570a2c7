"""Warnings: what a reader of a result must know, in words."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from improvable.arrays import IntArray
from improvable.design import Design
from improvable.errors import DataError, ImprovableWarning
from improvable.inference.evidence import ALGORITHMS, Assessment, Evidence

FEWEST_SELECTED = 30


@dataclass(frozen=True)
class Caution:
    """A warning, with a name by which the same warning of several splits is gathered."""

    kind: str
    text: str


def component_cautions(evidence: Evidence, assessment: Assessment, occupied: IntArray) -> list[Caution]:
    """What a reader must know of each component.

    `occupied`, of shape (groups, utilities, 2), counts the rows that each utility averages over.
    """
    out: list[Caution] = []
    few = occupied.min(axis=1)
    for g, group in enumerate(evidence.groups):
        for t, whose in enumerate(("status quo", "candidate")):
            if few[g, t] == 0:
                text = f"the candidate selects nobody of group '{group}', so it cannot be shown to improve: p is 1."
                out.append(Caution(f"nobody {group}", text))
            elif few[g, t] < FEWEST_SELECTED:
                text = (
                    f"only {few[g, t]} rows of group '{group}' count for the {whose} (fewer than {FEWEST_SELECTED}); "
                    "the bootstrap is unreliable with so few."
                )
                out.append(Caution(f"few {group} {whose}", text))
    degenerate = [
        f"accuracy of '{group}'"
        for group, tail in zip(evidence.groups, assessment.accuracy, strict=True)
        if tail.degenerate
    ]
    degenerate += ["fairness"] if assessment.fairness.degenerate else []
    for name in degenerate:
        text = (
            f"no draw moves the {name} statistic (the two algorithms decide alike there), so it proves nothing: p is 1."
        )
        out.append(Caution(f"degenerate {name}", text))
    if assessment.undefined and not (few == 0).any():
        text = (
            f"{assessment.undefined:,} of {len(evidence.draws):,} draws had nobody to average over; "
            "they count against rejection."
        )
        out.append(Caution("undefined", text))
    return out


def gap_caution(gap: tuple[float, float, float], design: Design) -> list[Caution]:
    """Assumption 1: the status quo must have a gap. Refuse where it is exactly 0, warn where it may be."""
    estimate, low, high = gap
    if estimate == 0:
        raise DataError(
            f"the status quo has no gap at all in '{design.fairness.label}', so no candidate can have a smaller one.",
            "Choose the fairness utility in which the disparity shows.",
        )
    if low <= 0 <= high:
        text = (
            f"the status quo's gap may be zero: {estimate:.3g}, with a {1 - design.alpha:.0%} interval from {low:.3g} "
            f"to {high:.3g}. The test assumes a gap (Assumption 1)."
        )
        return [Caution("gap", text)]
    return []


def dropped_caution(dropped: int) -> list[Caution]:
    return [Caution("dropped", f"{dropped:,} rows with missing or infinite values were dropped.")] if dropped else []


def capacity_cautions(capacities: Sequence[float | None], reached: Sequence[float]) -> list[Caution]:
    """Ties in scores can break the capacity on the rows that set the threshold: (status quo, candidate)."""
    out = []
    for name, capacity, share in zip(ALGORITHMS, capacities, reached, strict=True):
        if capacity is not None and share < 0.9 * capacity:
            text = (
                f"ties in the {name.replace('_', ' ')}'s score: it selects {share:.2%} of the rows that set its "
                f"threshold, where the capacity is {capacity:.2%}."
            )
            out.append(Caution(f"ties {name}", text))
    return out


def gather(by_split: Sequence[Sequence[Caution]]) -> list[Caution]:
    """One caution per kind, saying in which splits it arose; the text is that of the first."""
    first: dict[str, Caution] = {}
    where: dict[str, list[int]] = {}
    for split, cautions in enumerate(by_split, start=1):
        for caution in cautions:
            first.setdefault(caution.kind, caution)
            where.setdefault(caution.kind, []).append(split)
    out = []
    for kind, caution in first.items():
        splits = where[kind]
        which = f"split {splits[0]}" if len(splits) == 1 else f"splits {', '.join(map(str, splits))} (first shown)"
        out.append(Caution(kind, f"{which}: {caution.text}" if len(by_split) > 1 else caution.text))
    return out


def emit(cautions: Sequence[Caution]) -> None:
    """Raise them as Python warnings too, at the line that called the public function."""
    for caution in cautions:
        warnings.warn(caution.text, ImprovableWarning, stacklevel=3)
