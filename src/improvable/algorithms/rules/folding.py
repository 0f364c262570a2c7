"""Folds of training rows: each row is scored by what learned from the others."""

import numpy as np

from improvable.data.arrays import IntArray
from improvable.data.sample import Sample
from improvable.errors import DataError


def folds_of(sample: Sample, folds: int, seed: np.random.SeedSequence) -> list[tuple[IntArray, IntArray]]:
    """Rows to learn from and rows to judge, for every fold, of which each has two rows; clusters stay whole.

    A block's past may hold few clusters: then there are fewer folds, but no fewer than two.
    """
    units = int(sample.unit_codes().max()) + 1
    folds = min(folds, units // 2)
    if folds < 2:
        what = "rows" if sample.clusters is None else "clusters"
        raise DataError(f"{units} training {what} are too few to judge a rule by rows left out.", f"Bring more {what}.")
    fold = fold_of_row(sample, folds, seed)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(folds)]


def fold_of_row(sample: Sample, folds: int, seed: np.random.SeedSequence) -> IntArray:
    """The fold of every row, of as many folds as there are units for; clusters stay whole."""
    unit = sample.unit_codes()
    units = int(unit.max()) + 1
    order = np.random.default_rng(seed).permutation(units)
    fold_of_unit = np.empty(units, dtype=np.int64)
    fold_of_unit[order] = np.arange(units) % folds
    return fold_of_unit[unit]
