"""Outcomes the wrong way round: a status quo that selects those whom accuracy would not.

A file whose default is coded yes, or whose approvals are read as refusals, gives a verdict about the opposite question.
What shows it is the status quo itself: whoever made it meant to select the better outcomes. It does not matter whether
selection is a benefit or a burden; a care program rightly selects the sick.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from improvable._typing import FloatArray
from improvable.data.sample import Sample
from improvable.errors import Caution, OptionError
from improvable.inference.diagnostics import KINDS
from improvable.question.design import Question
from improvable.question.settings import AsStated
from improvable.question.utility import Utility

STANDARD_ERRORS = 3.0
"""Beyond chance: a status quo that has nothing to do with the outcome is stopped once in 700 data sets."""


@dataclass(frozen=True)
class Direction:
    """Mean outcomes of those whom the status quo selects, and of the others, and how far apart these are."""

    selected: float
    others: float
    standard_errors: float

    def to_dict(self) -> dict[str, float]:
        plain = asdict(self)
        return {name: float(f"{plain[name]:.6g}") for name in ("selected", "others")} | {
            "standard_errors": round(self.standard_errors, 2)
        }


def direction_of(sample: Sample, decision: FloatArray) -> Direction | None:
    """From rows; None where the status quo does not divide them in two."""
    chosen, outcome = decision != 0, sample.outcomes[None]
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    sizes = [float(weights[side].sum()) for side in (chosen, ~chosen)]
    if not all(sizes) or not np.isin(decision, (0.0, 1.0)).all():
        return None
    means = [float((weights * outcome)[side].sum()) / size for side, size in zip((chosen, ~chosen), sizes, strict=True)]
    influence = weights * np.where(chosen, (outcome - means[0]) / sizes[0], -(outcome - means[1]) / sizes[1])
    error = float(np.sqrt((np.bincount(sample.unit_codes(), weights=influence) ** 2).sum()))
    return Direction(means[0], means[1], (means[0] - means[1]) / error if error else 0.0)


def direction_of_counts(crossed: FloatArray, rows_per_unit: float) -> Direction | None:
    """From counted rows (`diagnostics.crossed_array`), where these are not at hand.

    The rows of a cluster count as one, so that a direction is questioned less readily than it might be.
    """
    both, only, others, neither = (crossed[:, KINDS.index(kind)].sum(axis=0) for kind in KINDS)
    sides = np.array([both + only, others + neither])
    if (sides[:, 0] <= 0).any():
        return None
    weight, total, square, heavy = sides.T
    means = total / weight
    variances = np.maximum(square / weight - means**2, 0.0) * heavy / weight**2 * rows_per_unit
    error = float(np.sqrt(variances.sum()))
    return Direction(float(means[0]), float(means[1]), float(means[0] - means[1]) / error if error else 0.0)


def check_direction(
    found: Direction | None, question: Question, utilities: Sequence[Utility], stated: AsStated | None
) -> list[Caution]:
    """Refuse a direction that the status quo contradicts by more than chance; where it is as stated, say so."""
    reads = any(utility.reads_outcome and utility.outcome is None for utility in utilities)
    lower = question.lower_is_better
    if found is None or not reads or (found.standard_errors if lower else -found.standard_errors) < STANDARD_ERRORS:
        return []
    name, side, better = question.outcome, *(("higher", "lower") if lower else ("lower", "higher"))
    seen = (
        f"those whom the status quo selects have a {side} mean '{name}' ({found.selected:.4g}) than the others "
        f"({found.others:.4g}), and {better} counts as better"
    )
    if stated is not None:
        return [Caution("direction", f"{seen}. Whoever ran this confirmed it as stated.")]
    turn = (
        "leave out `lower_is_better`"
        if lower
        else f"say which value should be selected, `positive={{{name!r}: ...}}`, or of an amount `lower_is_better=True`"
    )
    raise OptionError(
        f"{seen}.",
        f"If that is the wrong way round, {turn}; if it is right, say `direction='as stated'`.",
    )
