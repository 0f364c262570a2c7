"""Outcomes that are unknown for people whom the status quo did not select: the worst
case of every condition.

The status quo's own utilities are known. A candidate's are known but for those whom
only it selects, so that the unknown matters nowhere else (Guerdan et al., 2024). There
an outcome is known up to an interval: its mean lies within `half` of `center`. What a
person adds to a utility is a line in the outcome, so that both ends of a utility follow
from two more sums, which rows contribute beside each utility and with the same w:

- *width*: how far it is from the end that is worst for accuracy, which is what the
  utility itself is counted as, to the other one;
- *unit*: by how much one unit of the outcome moves it, for unknown outcomes alone. So
  the same draws give the p-value for any other bound on the difference of means, delta.

Accuracy is tested at its worst; the gap between two groups with the one above at its
highest and the one below at its lowest (`components.GroupGap`). Each condition has its
own worst case, and all must hold. What is ruled out, on the other hand, is ruled out in
the best case (`best_case`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import BoolArray, FloatArray
from improvable.data.frame import Rows
from improvable.data.sample import Sample
from improvable.errors import OptionError
from improvable.inference.cells import CANDIDATE, U, W
from improvable.inference.evidence import Evidence
from improvable.inference.test import assess, lower_median
from improvable.question.claim import Claim
from improvable.question.design import UNKNOWN, Design

SAME = 1e-9  # what differs by less than this does not depend on the outcome
HALVINGS = 20


@dataclass(frozen=True)
class Imputed:
    """What rows' outcomes are counted as for the candidate, one number a row."""

    unknown: BoolArray
    # the outcome; where it is unknown, its mean as far as that is known
    center: FloatArray
    half: FloatArray  # how far the mean may be from there; 0 where it is known
    # what is added to known outcomes: the weighted residuals of a doubly robust mean
    correction: FloatArray
    thin: BoolArray  # unknown, and like nobody whose outcome was seen

    def sample(self, sample: Sample, lower_is_better: bool) -> Sample:
        """Rows with each unknown outcome at its worst."""
        return sample.with_outcome(
            self.center + (self.half if lower_is_better else -self.half)
        )


def slopes(design: Design, rows: Rows, decision: FloatArray) -> list[FloatArray]:
    """By how much one unit of the audit's outcome moves the u of each utility."""
    ends, out = (np.zeros(len(decision)), np.ones(len(decision))), []
    for utility in design.utilities:
        low, high = (utility.parts(rows, outcome, decision)[U] for outcome in ends)
        out.append(high - low if utility.outcome is None else 0 * low)
    return out


def check_utilities(design: Design, rows: Rows, two_values: bool) -> None:
    """Refuse utilities that need the outcome of people who are not selected, or are not
    lines in it.
    """
    points = [
        np.full(len(rows), float(value)) for value in range(2 if two_values else 3)
    ]
    hint = "Use 'calibration', the mean outcome among the selected."
    for utility in (one for one in design.utilities if one.outcome is None):
        at = [
            [np.stack(utility.parts(rows, y, d)) for y in points]
            for d in (points[0], points[1])
        ]
        if np.abs(at[0][1] - at[0][0]).max() > SAME:
            raise OptionError(
                f"'{utility.label}' needs the outcomes of people who are not selected.",
                hint,
            )
        bend = (
            np.abs(at[1][2] - 2 * at[1][1] + at[1][0]).max() if not two_values else 0.0
        )
        if np.abs(at[1][1][W] - at[1][0][W]).max() > SAME or bend > SAME:
            raise OptionError(
                (
                    f"'{utility.label}' is not a mean of outcomes, as unknown ones "
                    "need it to be."
                ),
                hint,
            )


def contribute(
    design: Design,
    sample: Sample,
    vectors: FloatArray,
    decision: FloatArray,
    imputed: Imputed | None,
) -> FloatArray:
    """Contributions with unknown outcomes for the candidate at their worst, followed by
    widths and units.

    `vectors`, (rows, M, 2, 2), are those of an outcome of 0 wherever it is unknown;
    `decision` is the candidate's.
    """
    beside = np.zeros((len(UNKNOWN), *vectors.shape))
    beside[..., W] = vectors[..., W]
    if imputed is not None and len(sample):
        weights = np.ones(len(sample)) if sample.weights is None else sample.weights
        for m, slope in enumerate(slopes(design, sample.rows, decision)):
            moved, size = weights * slope, np.abs(weights * slope)
            better = 1 if design.measures[m].higher_is_better else -1
            vectors[:, m, CANDIDATE, U] += moved * np.where(
                imputed.unknown, imputed.center, imputed.correction
            )
            vectors[:, m, CANDIDATE, U] -= better * size * imputed.half
            beside[0, :, m, CANDIDATE, U] = 2 * size * imputed.half
            beside[1, :, m, CANDIDATE, U] = size * imputed.unknown
    return np.concatenate([vectors, *beside], axis=1) + 0.0


def _moved(evidence: Evidence, near: float, width: float, unit: float) -> Evidence:
    """Evidence whose candidate gains `near` widths of accuracy, and whose widths become
    `width` and `unit` units.
    """
    number = evidence.bounded
    better = np.array([evidence.better(m) for m in range(number)], dtype=np.float64)

    def move(sums: FloatArray) -> FloatArray:
        out = sums.copy()
        parts = out[..., CANDIDATE, U]
        widths, units = parts[..., number : 2 * number].copy(), parts[..., 2 * number :]
        parts[..., :number] += better * (near * widths - unit / 2 * units)
        parts[..., number : 2 * number] = width * widths + unit * units
        return out

    return replace(evidence, sums=move(evidence.sums), draws=move(evidence.draws))


def unknown_shares(every: Sequence[Evidence]) -> dict[str, float]:
    """By group, how much of a unit of unknown outcomes the candidate's accuracy moves
    by: for a mean, their share.
    """
    unit = every[0].accuracy[0] - every[0].bounded  # from the end
    found = [
        np.concatenate([values[:, unit, CANDIDATE] for values in one.values])
        for one in every
    ]
    return dict(zip(every[0].groups, np.mean(found, axis=0).tolist(), strict=True))


def best_case(evidence: Evidence) -> Evidence:
    """The same with every unknown outcome at the other end: what is ruled out must be
    ruled out there.
    """
    return _moved(evidence, 1.0, -1.0, 0.0) if evidence.bounded else evidence


def p_at(every: Sequence[Evidence], claim: Claim, more: float) -> float:
    """The p-value if means of unknown outcomes may differ by `more` than was asked: the
    lower median.
    """
    return float(
        lower_median(
            [assess(_moved(one, 0.0, 1.0, 2 * more), claim).p_value for one in every]
        )
    )


def last_delta(
    every: Sequence[Evidence], claim: Claim, level: float, delta: float, most: float
) -> float | None:
    """The largest delta at which the claim is still shown, up to `most`; None if it is
    not shown even at 0.
    """
    low, high = 0.0, most
    if p_at(every, claim, -delta) >= level:
        return None
    if p_at(every, claim, most - delta) < level:
        return most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if p_at(every, claim, middle - delta) < level
            else (low, middle)
        )
    return low
