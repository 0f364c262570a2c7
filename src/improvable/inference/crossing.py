"""Who changes: rows that both algorithms select, only one of them, or neither, with their mean outcomes.

Sums are exact, so that they are the same in any order, batches or engine.
"""

from collections.abc import Sequence

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray
from improvable.data.groups import Attribute
from improvable.data.sample import Sample
from improvable.inference.exact import SCALE, exact_sum, to_float

KINDS = ("both", "only_status_quo", "only_candidate", "neither")
WHOLE = 2**53
"""Whole numbers whose sum stays below this are added without rounding as they are."""


def crossed_sums(sample: Sample, chosen: tuple[BoolArray, BoolArray]) -> tuple[int, ...]:
    """Exact sums by stratum and kind: of rows or their weight w, of w y, w y squared, and w squared.

    Parameters
    ----------
    sample : Sample
    chosen : pair of array of bool
        Whom the status quo selects, and whom the candidate does.

    Returns
    -------
    tuple of int, length 16 * strata
        Four sums for each of `KINDS`, in order, stratum by stratum.
    """
    grouping, weights = sample.grouping, sample.weights
    outcome = sample.outcomes[None]
    values = outcome if weights is None else outcome * weights
    # both, only the status quo, only the candidate, neither: 0, 1, 2, 3
    kind = np.where(chosen[0], np.where(chosen[1], 0, 1), np.where(chosen[1], 2, 3))
    place = grouping.codes * len(KINDS) + kind
    counts = np.bincount(place, minlength=grouping.strata * len(KINDS))
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(counts)
    out: list[int] = []
    for start, end in zip(ends - counts, ends, strict=True):
        rows = order[start:end]
        out.append(len(rows) << SCALE if weights is None else exact_sum(weights[rows]))
        out.append(_sum(values[rows]))
        out.append(_sum(values[rows] * outcome[rows]))
        out.append(len(rows) << SCALE if weights is None else exact_sum(weights[rows] ** 2))
    return tuple(out)


def _sum(values: FloatArray) -> int:
    if not len(values):
        return 0
    whole = bool((values == np.rint(values)).all()) and float(np.abs(values).max()) * len(values) < WHOLE
    return int(values.sum()) << SCALE if whole else exact_sum(values)


def crossed_array(sums: Sequence[int]) -> FloatArray:
    """The sums as numbers, shape (strata, kinds, 4)."""
    return np.array([to_float(total) for total in sums]).reshape(-1, len(KINDS), 4)


def changes(crossed: FloatArray, attributes: Sequence[Attribute]) -> dict[str, dict[str, tuple[float, float | None]]]:
    """Of every group: the share of each kind, and its mean outcome; None where there is nobody."""
    out = {}
    for attribute in attributes:
        for g, group in enumerate(attribute.levels):
            sums = crossed[attribute.member == g].sum(axis=0)
            total = sums[:, 0].sum()
            out[group] = {
                kind: (float(sums[k, 0] / total), float(sums[k, 1] / sums[k, 0]) if sums[k, 0] else None)
                for k, kind in enumerate(KINDS)
            }
    return out
