"""What was counted becomes draws: of rows, of clusters, within strata of a design, or from the normal limit.

Two corrections are made here, in the draws and nowhere else, so that every p-value, interval and edge that is computed
from them has them, and no estimate changes:

- rows: outcomes that the sample happens not to hold (`rare`);
- few independent units: the standard error is itself an estimate, and with few clusters, or with weights so uneven that
  few rows carry them, a normal reference rejects too often. The deviation of a draw from the sample is multiplied by
  sqrt(f / X), X being chi-squared with f degrees of freedom, independent of the draw: what was normal is then Student's
  t. f is the number of clusters minus that of strata. For weighted rows it is Kish's effective number of the rows that
  count in a group, times the share that it is of them, minus one: the effective number alone leaves levels of 7% where
  few weights are worth most. Rows that all count alike are drawn as Appendix A says, and nothing is multiplied.
"""

from collections.abc import Sequence

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray
from improvable.inference.cells import Cells, W
from improvable.inference.rare import by_utility, resample_rare
from improvable.inference.resampling import child, resample_strata

STRETCHING = 1
"""Which child of the seed the factors come from; blocks of draws have children of their own, with longer keys."""
UNEVEN = 1e-9
"""Weights that leave less than one minus this of the number of rows are uneven."""


def draw_rows(strata: Sequence[Cells], draws: int, seed: np.random.SeedSequence, workers: int = 1) -> FloatArray:
    """Bootstrap sums of rows, shape (draws, blocks, width).

    Parameters
    ----------
    strata : sequence of Cells
        The rows of each stratum of the design, one block per group; a sample without strata is one, and is drawn as
        Appendix A says. Within strata, `rare` makes no correction.
    draws, seed, workers
        As in `resample`.
    """
    if len(strata) > 1:
        drawn = resample_strata(strata, draws, seed, workers)
    else:
        drawn = resample_rare(strata[0], draws, seed, workers)
    rows, effective = loads_of(strata)
    uneven = (rows > 0) & (effective < (1 - UNEVEN) * rows)
    if not uneven.any():
        return drawn
    share = np.divide(effective, rows, out=np.ones_like(rows), where=rows > 0)
    freedom = np.where(uneven, np.maximum(effective * share - 1, 1), np.inf).min(axis=(1, 2))
    return stretch(drawn, _sums(strata), freedom, seed)


def draw_clusters(strata: Sequence[Cells], draws: int, seed: np.random.SeedSequence, workers: int = 1) -> FloatArray:
    """Bootstrap sums of clusters, shape (draws, 1, width); `strata` holds the clusters of each, in one block."""
    drawn = resample_strata(strata, draws, seed, workers)
    freedom = sum(cells.rows for cells in strata) - len(strata)
    return stretch(drawn, _sums(strata), np.array([float(freedom)]), seed)


def stretch(drawn: FloatArray, sums: FloatArray, freedom: FloatArray, seed: np.random.SeedSequence) -> FloatArray:
    """Multiply deviations from the sums by sqrt(f / chi-squared with f degrees of freedom), one factor for a draw.

    Parameters
    ----------
    drawn : array of shape (draws, blocks, width)
    sums : array of shape (blocks, width)
    freedom : array of shape (blocks,)
        f; infinite where nothing is to be multiplied. Blocks with different f have the same quantile of it in a draw.
    seed : SeedSequence
    """
    from scipy.special import gammaincinv

    rng = np.random.default_rng(child(seed, STRETCHING, 0))
    place = (rng.permutation(len(drawn)) + 0.5) / len(drawn)
    factors = np.ones((len(drawn), len(freedom)))
    for b in np.flatnonzero(np.isfinite(freedom)):
        half = freedom[b] / 2
        factors[:, b] = np.sqrt(half / gammaincinv(half, place))
    return np.asarray(sums + factors[:, :, None] * (drawn - sums))


def loads_of(strata: Sequence[Cells]) -> tuple[FloatArray, FloatArray]:
    """Rows that count, by group, utility and algorithm, and what they are worth in rows of equal weight.

    Returns
    -------
    arrays of shape (blocks, utilities, 2)
        How many rows have a w that is not zero, and Kish's effective number of them, (sum of w)^2 / (sum of w^2).
    """
    rows = sum(_by_block(cells, by_utility(cells)[..., W] != 0) for cells in strata)
    first, second = (sum(parts) for parts in zip(*map(sums_of_loads, strata), strict=True))
    return np.asarray(rows), np.divide(first**2, second, out=np.zeros_like(second), where=np.asarray(second) > 0)


def sums_of_loads(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Sums of w and of its square, by group, utility and algorithm: arrays of shape (blocks, utilities, 2)."""
    loads = by_utility(cells)[..., W]
    return _by_block(cells, loads), _by_block(cells, loads**2)


def _sums(strata: Sequence[Cells]) -> FloatArray:
    return np.asarray(np.sum([cells.sums() for cells in strata], axis=0))


def _by_block(cells: Cells, values: FloatArray | BoolArray) -> FloatArray:
    """Sums over the rows of each block, (cells, ...) -> (blocks, ...)."""
    counts = cells.counts.astype(np.float64)
    return np.stack(
        [np.einsum("c,c...->...", counts[part], values[part].astype(np.float64)) for part in cells.slices()]
    )
