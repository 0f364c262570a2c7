"""Units of unequal size: what each would move a utility by if it were left out, and how many units that amounts to.

With 60 clusters of which one holds 30% of the rows, a bootstrap of clusters rejects 16% of true nulls at a level of 5%:
the utility follows the large cluster, whose residual then looks small. Two corrections are made (MacKinnon, Nielsen and
Webb, 2023; Carter, Schnepel and Steigerwald, 2017):

- A unit is drawn with the deviation that leaving it out makes, so that draws have the variance of the jackknife (CV3;
  HC3 where rows are units). To first order leaving out unit i of stratum h moves U = (sum of u) / (sum of w) by its
  residual (u - U w) / W over 1 - l, where l = n / (n - 1) (w - mean w of h) / W. With equal units l is 0.
- Deviations are multiplied by what makes a normal distribution Student's t with (G* - 1) degrees of freedom. G* is the
  effective number of units, (sum of w)^2 / (sum of w^2): G where all are equal. In strata the degrees of freedom are
  fewer by the share (G - L) / (G - 1), so that L strata of equal clusters have the usual G - L.
"""

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.cells import Cells, W, by_utility
from improvable.inference.resampling import child

LARGEST = 0.9
"""A unit with more than this share of a group stands for it; nothing is left when it is left out."""
STRETCHING = 1
"""Which child of the seed the factors come from; blocks of draws have children of their own, with longer keys."""


def left_out(loads: FloatArray, counts: FloatArray, units: int, whole: FloatArray) -> FloatArray:
    """By what the residuals of one stratum's units are multiplied, 1 / (1 - l).

    Parameters
    ----------
    loads : array of shape (cells, ...)
        w of a unit of each cell.
    counts : array of shape (cells,)
    units : int
        How many units the stratum has, those of no cell included.
    whole : array of shape (...)
        W, the sum over all strata.
    """
    mean = np.einsum("c,c...->...", counts, loads) / units
    share = np.divide(loads - mean, whole, out=np.zeros_like(loads), where=np.broadcast_to(whole > 0, loads.shape))
    return np.asarray(1 / (1 - np.minimum(units / max(units - 1, 1) * share, LARGEST)))


def effective_units(first: FloatArray, second: FloatArray) -> FloatArray:
    """Kish's effective number, (sum of w)^2 / (sum of w^2); infinite where there is no weight at all."""
    return np.asarray(np.divide(first**2, second, out=np.full(np.shape(second), np.inf), where=np.asarray(second) > 0))


def freedom_of(effective: FloatArray, units: int, strata: int) -> FloatArray:
    """Degrees of freedom for each group: of the utility and algorithm for which its units are worth least."""
    least = effective.reshape(len(effective), -1).min(axis=1)
    return np.asarray(np.maximum((least - 1) * (units - strata) / max(units - 1, 1), 1.0))


def stretch(deviations: FloatArray, freedom: FloatArray, seed: np.random.SeedSequence) -> FloatArray:
    """Multiply deviations by sqrt(f / chi-squared with f degrees of freedom), one factor for a draw.

    Parameters
    ----------
    deviations : array of shape (draws, blocks, width)
    freedom : array of shape (blocks,)
        f; infinite where nothing is to be multiplied. Blocks with different f have the same quantile of it in a draw.
    seed : SeedSequence
    """
    from scipy.special import gammaincinv

    rng = np.random.default_rng(child(seed, STRETCHING, 0))
    place = (rng.permutation(len(deviations)) + 0.5) / len(deviations)
    factors = np.ones((len(deviations), len(freedom)))
    for b in np.flatnonzero(np.isfinite(freedom)):
        half = freedom[b] / 2
        factors[:, b] = np.sqrt(half / gammaincinv(half, place))
    return np.asarray(factors[:, :, None] * deviations)


def loads_of(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Rows that count, by group, utility and algorithm, and what they are worth in rows of equal weight (Kish).

    Returns
    -------
    arrays of shape (blocks, utilities, 2)
    """
    first, second = sums_of_loads(cells)
    number = _by_block(cells, (by_utility(cells)[..., W] != 0).astype(np.float64))
    return number, np.where(second > 0, effective_units(first, second), 0.0)


def sums_of_loads(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Sums of w and of its square, by group, utility and algorithm: arrays of shape (blocks, utilities, 2)."""
    loads = by_utility(cells)[..., W]
    return _by_block(cells, loads), _by_block(cells, loads**2)


def _by_block(cells: Cells, values: FloatArray) -> FloatArray:
    """Sums over the rows of each block, (cells, ...) -> (blocks, ...)."""
    counts = cells.counts.astype(np.float64)
    return np.stack([np.einsum("c,c...->...", counts[part], values[part]) for part in cells.slices()])
