"""The reference pair of groups chosen on the rows that are tested, in simulated forward repetitions.

`inference.rivals` says what the test is. Here the utilities of a simulated test are normal with a known covariance, so
that errors are known, and only the largest of several correlated deviations is drawn: the same draws serve all
simulated tests with the same rivals.
"""

from itertools import product

import numpy as np
from scipy.special import ndtri

from improvable.data.arrays import FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.rivals import CHOSEN_AT, SMALLEST_SPREAD, SURE, doubt, surcharge_of
from improvable.inference.statistics import ordered_pairs
from improvable.question.claim import Form
from improvable.studies.power.outlook import root

DRAWS = 4_000
LARGEST = 8.0
"""In standard errors: p-values below are as good as 0."""


def doubts_about(
    values: FloatArray, covariance: FloatArray, references: IntArray, protected: int | None
) -> tuple[list[tuple[int, int]], FloatArray]:
    """Pairs of groups, and in each simulated test the level below which a pair may be the status quo's widest.

    Parameters
    ----------
    values : array of shape (points, groups)
        The status quo's utilities, turned.
    covariance : array of shape (groups, groups)
    references : array of shape (points, 2)
        The pair that is the widest; it counts at any level.
    protected : int or None

    Returns
    -------
    pairs : list of (int, int)
    doubts : array of shape (points, pairs)
    """
    groups = values.shape[1]
    pairs = ordered_pairs(groups, protected)
    contrasts = np.array([_contrast(pair, groups) for pair in pairs])
    gaps = values @ contrasts.T
    doubts = np.zeros(gaps.shape)
    for i, j in product(range(len(pairs)), repeat=2):
        here = (references == pairs[i]).all(axis=1)
        apart = contrasts[i] - contrasts[j]
        spread = float(np.sqrt(max(apart @ covariance @ apart, 0.0)))
        short = gaps[here, i] - gaps[here, j]
        errors = short / spread if spread > 0 else np.where(short > 0, np.inf, 0.0)
        about = doubt(errors, groups, reverse=pairs[j] == pairs[i][::-1]) * bool(contrasts[j].any())
        doubts[here, j] = 1.0 if i == j else about
    return pairs, doubts


def chosen_margin(
    plain: FloatArray,
    values: FloatArray,
    covariance: FloatArray,
    pairs: list[tuple[int, int]],
    doubts: FloatArray,
    delta: float,
    form: Form,
    seed: int,
) -> FloatArray:
    """The margins of tests that account for the choice, from those of tests that do not.

    `inference.rivals` says how: with the pairs that count at 5%, but no p-value below the largest doubt about the
    others; or with all of them.
    """
    near, wide = doubts >= CHOSEN_AT, doubts >= SURE
    doubtful = wide & ~near
    margins = []
    for counted in (near, wide):
        z = plain.copy()
        several = np.isfinite(plain) & (counted.sum(axis=1) > 1)
        for some in np.unique(counted[several], axis=0):
            points = several & (counted == some).all(axis=1)
            z[points] = rivals_margin(values[points], covariance, pairs, np.flatnonzero(some), delta, form, seed)
        margins.append(z)
        if not doubtful.any():
            return z
    firm = np.where(doubtful, doubts, 0.0).max(axis=1)
    firmly = np.clip(-ndtri(firm), -LARGEST, LARGEST)
    return np.asarray(np.maximum(np.minimum(margins[0], firmly), margins[1]))


def rivals_margin(
    values: FloatArray,
    covariance: FloatArray,
    pairs: list[tuple[int, int]],
    rivals: IntArray,
    delta: float,
    form: Form,
    seed: int,
) -> FloatArray:
    """The weakest margin of tests that have the same rivals: the normal quantile of one minus their p-values.

    Parameters
    ----------
    values : array of shape (points, groups, 2)
        Turned utilities of both algorithms.
    covariance : array of shape (groups * 2, groups * 2)
    pairs : list of (int, int)
        Between which the candidate's gap must be small.
    rivals : array of int
        Which of the pairs may be the widest.
    delta : float
        By how much the gap must be smaller.
    form : str
        As a ratio or as a difference.
    seed : int
    """
    points, groups, _ = values.shape
    share, amount = (1 - delta, 0.0) if form == "ratio" else (1.0, delta)
    contrasts, surcharge = (
        np.array([_contrast(pair, groups) for pair in pairs]),
        surcharge_of([pairs[i] for i in rivals]),
    )
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(4,)))
    noise = (rng.standard_normal((DRAWS, 2 * groups)) @ root(covariance).T).reshape(DRAWS, groups, 2)
    drawn, gaps = noise[..., STATUS_QUO] @ contrasts[rivals].T, values[..., STATUS_QUO] @ contrasts[rivals].T
    z = np.full(points, np.inf)
    for contrast in contrasts:
        after, candidate = noise[..., CANDIDATE] @ contrast, values[..., CANDIDATE] @ contrast
        apart = (drawn - after[:, None]).std(axis=0)
        weights = 1 / np.maximum(apart, SMALLEST_SPREAD * np.hypot(drawn.std(axis=0), after.std()))
        statistic = (weights * (share * gaps - amount - candidate[:, None])).max(axis=1)
        largest = np.sort((weights * (share * drawn - after[:, None])).max(axis=1))
        against = DRAWS - np.searchsorted(largest, statistic, side="left")
        p = np.minimum(surcharge * against / DRAWS, 1.0)
        z = np.minimum(z, np.clip(-ndtri(p), -LARGEST, LARGEST))
    return z


def _contrast(pair: tuple[int, int], groups: int) -> FloatArray:
    out: FloatArray = np.zeros(groups)
    out[pair[0]] += 1.0
    out[pair[1]] -= 1.0
    return out
