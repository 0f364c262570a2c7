"""Warnings: what a reader of a result must know, in words."""

import inspect
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from improvable.errors import Caution, DataError, ImprovableWarning
from improvable.inference.estimates import Disparity
from improvable.inference.evidence import ALGORITHMS, Assessment, Evidence

FEWEST_SELECTED = 30
PACKAGE = str(Path(__file__).parents[1])


def component_cautions(
    evidence: Evidence, assessment: Assessment, occupied: Mapping[str, tuple[int, int]]
) -> list[Caution]:
    """What a reader must know of each component.

    `occupied` says of every group how many rows count for the status quo and for the candidate.
    """
    out: list[Caution] = []
    for group, counts in occupied.items():
        for rows, whose in zip(counts, ("status quo", "candidate"), strict=True):
            if rows == 0:
                text = f"the candidate selects nobody of group '{group}', so it cannot be shown to improve: p is 1."
                out.append(Caution(f"nobody {group}", text))
            elif rows < FEWEST_SELECTED:
                text = (
                    f"only {rows} rows of group '{group}' count for the {whose} (fewer than {FEWEST_SELECTED}); "
                    "the bootstrap is unreliable with so few."
                )
                out.append(Caution(f"few {group} {whose}", text))
    for component in assessment.components:
        if component.tail.degenerate:
            name = f"accuracy of '{component.group}'" if component.kind == "accuracy" else "fairness"
            text = (
                f"no draw moves the {name} statistic (the two algorithms decide alike there), "
                "so it proves nothing: p is 1."
            )
            out.append(Caution(f"degenerate {name} {component.measure}", text))
    if assessment.undefined and all(min(counts) > 0 for counts in occupied.values()):
        text = (
            f"{assessment.undefined:,} of {len(evidence.draws):,} draws had nobody to average over; "
            "they count against rejection."
        )
        out.append(Caution("undefined", text))
    return out


def gap_cautions(
    disparities: Sequence[Disparity], alpha: float, constant: Mapping[str, float] | None = None
) -> list[Caution]:
    """Assumption 1: the status quo must have a gap. Refuse where it is exactly 0, warn where it may be.

    `constant` outcomes are why there is none.
    """
    out = []
    for gap in disparities:
        if gap.estimate == 0 and constant:
            name, value = next(iter(constant.items()))
            raise DataError(
                f"outcome '{name}' is {value:g} in every row, so nobody can do better or worse.",
                "Name an outcome that varies.",
            )
        if gap.estimate == 0 or (gap.one_sided and gap.estimate < 0):
            if gap.one_sided:
                message = f"the protected group '{gap.lower}' is not worse off under the status quo in '{gap.measure}'"
            else:
                message = f"the status quo has no gap at all in '{gap.measure}' between groups of '{gap.attribute}'"
            raise DataError(
                f"{message}, so no candidate can have a smaller gap.",
                "Choose the fairness utility in which the disparity shows.",
            )
        if gap.low <= 0 <= gap.high:
            text = (
                f"the status quo's gap in '{gap.measure}' between groups of '{gap.attribute}' may be zero: "
                f"{gap.estimate:.3g}, with a {100 * (1 - alpha):g}% interval from {gap.low:.3g} to {gap.high:.3g}. "
                "The test assumes a gap (Assumption 1)."
            )
            out.append(Caution(f"gap {gap.attribute} {gap.measure}", text))
    return out


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


def share_cautions(shares: Sequence[float]) -> list[Caution]:
    """Algorithms that select very different shares may differ for that reason alone: (status quo, candidate)."""
    before, after = shares
    if abs(after - before) <= 0.1 * before:
        return []
    text = (
        f"the candidate selects {after:.1%} of the rows and the status quo {before:.1%}, which alone can change "
        f"accuracy and gap. To hold the share selected, give a capacity (--capacity {before:.2g})."
    )
    return [Caution("shares", text)]


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
    """Raise them as Python warnings too, at the caller's own line, however deep in this package they arose."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    for caution in cautions:
        warnings.warn(caution.text, ImprovableWarning, stacklevel=level)
