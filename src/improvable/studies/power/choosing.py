"""The reference pair of groups chosen on the rows that are tested, in simulated forward repetitions.

`inference.reference_pair` says what the test is. Here the utilities of a simulated test are normal with a known
covariance, so that errors are known, and only the largest of several correlated deviations is drawn: the same draws
serve all simulated tests in which the same pairs count.
"""

import numpy as np
from scipy.special import ndtri

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.reference_pair import standard_errors
from improvable.inference.statistics import TIE, ordered_pairs
from improvable.question.claim import Form
from improvable.studies.power.outlook import root

DRAWS = 4_000
LARGEST = 8.0
"""In standard errors: p-values below are as good as 0."""


def contact_sets(
    values: FloatArray, covariance: FloatArray, references: IntArray, reach: float, protected: int | None
) -> BoolArray:
    """In each simulated test, which of `ordered_pairs` may be the status quo's widest; shape (points, pairs).

    Parameters
    ----------
    values : array of shape (points, groups)
        The status quo's utilities, turned.
    covariance : array of shape (groups, groups)
    references : array of shape (points, 2)
        The pair that is the widest.
    reach : float
        `kappa`.
    protected : int or None
    """
    contrasts, pairs = _contrasts(values.shape[1], protected), np.array(ordered_pairs(values.shape[1], protected))
    widest = (references[:, None] == pairs).all(axis=2).argmax(axis=1)
    gaps, together = values @ contrasts.T, contrasts @ covariance @ contrasts.T
    variances = np.diag(together)[:, None] + np.diag(together) - 2 * together
    short = np.take_along_axis(gaps, widest[:, None], axis=1) - gaps
    tie = TIE * np.abs(values).max(axis=1, keepdims=True)
    near = short <= reach * np.sqrt(np.maximum(variances, 0.0))[widest] + tie
    return np.asarray(near & contrasts.any(axis=1))


def chosen_margin(
    plain: FloatArray,
    values: FloatArray,
    covariance: FloatArray,
    counted: BoolArray,
    delta: float,
    form: Form,
    protected: int | None,
    seed: int,
) -> FloatArray:
    """The margins of tests that account for the choice, from those of tests that do not.

    Parameters
    ----------
    plain : array of shape (points,)
    values : array of shape (points, groups, 2)
        Turned utilities of both algorithms.
    covariance : array of shape (groups * 2, groups * 2)
    counted : array of shape (points, pairs)
        Of `contact_sets`.
    delta, form
        By how much the gap must be smaller, as a ratio or as a difference.
    protected : int or None
    seed : int
    """
    z = plain.copy()
    contrasts = _contrasts(values.shape[1], protected)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(4,)))
    noise = (rng.standard_normal((DRAWS, len(covariance))) @ root(covariance).T).reshape(DRAWS, -1, 2)
    gaps, drawn = (np.einsum("pgt,ig->pit", one, contrasts) for one in (values, noise))
    spread = np.einsum("ig,gthu,jh->itju", contrasts, covariance.reshape(2 * noise.shape[1:]), contrasts, optimize=True)
    several = np.isfinite(plain) & (counted.sum(axis=1) > 1)
    for some in np.unique(counted[several], axis=0):
        points = several & (counted == some).all(axis=1)
        z[points] = _margin(gaps[points], drawn, spread, some, delta, form)
    return z


def _margin(
    gaps: FloatArray, drawn: FloatArray, spread: FloatArray, counted: BoolArray, delta: float, form: Form
) -> FloatArray:
    """The weakest margin of tests in which the same pairs count: the normal quantile of one minus their p-values.

    Parameters
    ----------
    gaps : array of shape (points, pairs, 2)
    drawn : array of shape (DRAWS, pairs, 2)
        Deviations of the gaps.
    spread : array of shape (pairs, 2, pairs, 2)
        Covariance of the gaps.
    counted : array of shape (pairs,)
    delta, form
    """
    share, amount = (1 - delta, 0.0) if form == "ratio" else (1.0, delta)
    before, moved = gaps[:, counted, STATUS_QUO], drawn[:, counted, STATUS_QUO]
    own, other = (np.diag(spread[:, one, :, one]) for one in (STATUS_QUO, CANDIDATE))
    weights = 1 / standard_errors(own[counted], other[:, None], spread[:, CANDIDATE, counted, STATUS_QUO])
    z = np.full(len(gaps), LARGEST)
    for i, weight in enumerate(weights):
        statistic = (weight * (share * before - amount - gaps[:, [i], CANDIDATE])).max(axis=1)
        if statistic.min() >= LARGEST:
            continue
        largest = np.sort((weight * (share * moved - drawn[:, [i], CANDIDATE])).max(axis=1))
        against = DRAWS - np.searchsorted(largest, statistic, side="left")
        z = np.minimum(z, np.maximum(-ndtri(against / DRAWS), -LARGEST))
    return z


def _contrasts(groups: int, protected: int | None) -> FloatArray:
    """What makes gaps of utilities, shape (pairs, groups); zeros for a protected group beside itself."""
    high, low = np.array(ordered_pairs(groups, protected)).T
    return np.asarray(np.eye(groups)[high] - np.eye(groups)[low])
