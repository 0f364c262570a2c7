"""Sums become utilities, utilities become the test statistics of Section 3.2.

The last axes of every array are those of `Evidence`; leading axes (draws) are free, so that a statistic of a
sample and of its draws is one function.
"""

from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np

from improvable.arrays import FloatArray
from improvable.inference.cells import U, W

Form = Literal["ratio", "difference"]
Gap = Literal["signed", "absolute"]
FORMS: tuple[Form, ...] = ("ratio", "difference")
GAPS: tuple[Gap, ...] = ("signed", "absolute")


@dataclass(frozen=True)
class Claim:
    """The size of improvement to be shown: the paper's (Delta_r, Delta_b, Delta_f), Definition 2.

    Attributes
    ----------
    accuracy : tuple of float
        One delta per group.
    fairness : float
    form : {"ratio", "difference"}
        Ratio: U1 > (1 + delta) U0 and gap1 < (1 - delta) gap0. Difference (the footnote of Definition 2):
        U1 > U0 + delta and gap1 < gap0 - delta.
    gap : {"signed", "absolute"}
        Which fairness statistic decides.
    """

    accuracy: tuple[float, ...]
    fairness: float = 0.0
    form: Form = "ratio"
    gap: Gap = "signed"


def utilities_of(sums: FloatArray) -> FloatArray:
    """U = sum of u / sum of w, equation (1); NaN where w sums to zero and U is undefined.

    Shape (..., 2) -> (...): the last axis is the part, `U` or `W`.
    """
    u, w = sums[..., U], sums[..., W]
    return np.asarray(np.divide(u, w, out=np.full(u.shape, np.nan), where=w > 0))


def accuracy_statistic(status_quo: FloatArray, candidate: FloatArray, delta: float, form: Form) -> FloatArray:
    """T_g = A_1g - (1 + Delta_g) A_0g; large values speak for improvement."""
    return candidate - (1 + delta) * status_quo if form == "ratio" else candidate - status_quo - delta


def _shrunk(gap: FloatArray, delta: float, form: Form) -> FloatArray:
    return (1 - delta) * gap if form == "ratio" else gap - delta


def spread(values: FloatArray) -> FloatArray:
    """The largest gap between any two groups, shape (..., groups) -> (...); for two groups |F_r - F_b|."""
    return np.asarray(values.max(axis=-1) - values.min(axis=-1))


def folded_statistic(status_quo: FloatArray, candidate: FloatArray, delta: float, form: Form) -> FloatArray:
    """The paper's T_f = |F_1r - F_1b| - (1 - Delta_f) |F_0r - F_0b|; small values speak for improvement.

    Shapes (..., groups) -> (...).
    """
    return spread(candidate) - _shrunk(spread(status_quo), delta, form)


def widest_pair(status_quo: FloatArray) -> tuple[int, int]:
    """The pair (g, h) of groups with the largest gap F_0g - F_0h, from a vector of shape (groups,)."""
    return int(np.argmax(status_quo)), int(np.argmin(status_quo))


def signed_statistics(
    status_quo: FloatArray, candidate: FloatArray, reference: tuple[int, int], delta: float, form: Form
) -> FloatArray:
    """T_gh = (F_1g - F_1h) - (1 - Delta_f) (F_0r - F_0s) for every ordered pair (g, h).

    (r, s) is the reference pair, fixed before the test rows are seen. If every T_gh is below zero then the
    candidate's largest gap is below (1 - Delta_f) times a gap of the status quo, and so below (1 - Delta_f) times
    its largest: the paper's alternative, with nothing folded and no kink. Small values speak for improvement.

    Shapes (..., groups) -> (..., groups * (groups - 1)).
    """
    before = _shrunk(status_quo[..., reference[0]] - status_quo[..., reference[1]], delta, form)
    pairs = permutations(range(status_quo.shape[-1]), 2)
    return np.stack([candidate[..., g] - candidate[..., h] - before for g, h in pairs], axis=-1)
