"""How far a claim's components stand from their nulls in simulated samples, in standard errors.

The centered bootstrap of a smooth statistic T gives p = 1 - Normal(T / se(T)), where se is the delta method's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtri

from improvable.data.arrays import FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO, U, W
from improvable.inference.reference_pair import kappa
from improvable.inference.statistics import (
    TIE,
    accuracy_statistic,
    folded_statistic,
    signed_statistics,
    slopes_of,
    utilities_of,
    with_formulas,
)
from improvable.question.claim import Claim
from improvable.studies.power.choosing import chosen_margin, contact_sets
from improvable.studies.power.outlook import Outlook, root

FOLDED_DRAWS = 400
POINTS_PER_BLOCK = 2_000
LEAST_P = 1e-9


def margins(
    outlook: Outlook,
    claim: Claim,
    mean: FloatArray,
    covariance: FloatArray,
    units: int,
    test: FloatArray,
    train: FloatArray | None,
    seed: int = 0,
) -> FloatArray:
    """The weakest component of a claim in each of many test samples, in standard errors.

    Parameters
    ----------
    outlook : Outlook
        For groups and utilities.
    claim : Claim
    mean : array of shape (width,)
        The population's mean contribution.
    covariance : array of shape (width, width)
        Covariance of a test sample's mean contribution.
    units : int
        How many rows or clusters a test sample has.
    test, train : arrays of shape (points, width)
        Mean contributions over test rows, and over training rows, which fix the reference pair of groups; None where
        it is chosen on the test rows.
    seed : int
        For the folded gap, and for a reference chosen on test rows, which are drawn.

    Returns
    -------
    array of shape (points,)
        The normal quantile of one minus the p-value; minus infinity where the p-value is 1.
    """
    places = _places(outlook)
    values, counted = _by_place(test, outlook, places)
    spread = _utility_covariance(mean, covariance, outlook, places)
    _, usual = _by_place(mean[None], outlook, places)
    # The residual variance of a row that counts does not depend on how many rows count. What a small pilot could as
    # well have shown is drawn from a normal distribution, in which a share may be below zero.
    some = (counted > 0) & (usual > 0)
    scale = np.sqrt(np.divide(usual, counted, out=np.full(counted.shape, np.nan), where=some))
    chosen = values if train is None else _by_place(train, outlook, places)[0]
    before = chosen.reshape(len(values), len(places), len(outlook.measures), 2)
    z = np.full(len(values), np.inf)
    for which, statistic in _accuracy_statistics(outlook, claim, places):
        z = np.minimum(z, _margin(values, scale, spread, which, statistic))
    for which, block in _fairness_blocks(outlook, claim):
        chosen_among = units if train is None else None
        margin = _fairness_margin(values, scale, spread, which, block, before, claim, seed, chosen_among)
        z = np.minimum(z, margin)
    return z


Place = tuple[str, FloatArray]
"""A group by name, and which strata belong to it."""


def _places(outlook: Outlook) -> list[Place]:
    """Every group of every attribute, and at last everyone."""
    out = [
        (level, (attribute.member == g).astype(np.float64))
        for attribute in outlook.attributes
        for g, level in enumerate(attribute.levels)
    ]
    return [*out, ("everyone", np.ones(len(outlook.attributes[0].member)))]


def _by_place(means: FloatArray, outlook: Outlook, places: Sequence[Place]) -> tuple[FloatArray, FloatArray]:
    """Utilities and counted shares, (points, width) -> (points, places * M * 2) each."""
    strata = len(places[0][1])
    sums = means.reshape(len(means), strata, -1, 2, 2)
    grouped = np.einsum("ls,psmtx->plmtx", np.stack([member for _, member in places]), sums)
    shape, formulas = (len(means), -1), len(outlook.measures) - sums.shape[2]
    # A formula counts where its parts do: its error is taken to be that of the population.
    counted = np.concatenate([grouped[..., W], np.ones((*grouped.shape[:2], formulas, 2))], axis=2)
    values = with_formulas(utilities_of(grouped), outlook.measures, axis=-2)
    return values.reshape(shape), counted.reshape(shape)


def _utility_covariance(
    mean: FloatArray, covariance: FloatArray, outlook: Outlook, places: Sequence[Place]
) -> FloatArray:
    """The delta method: covariance of all utilities, from that of the sums. U = u / w moves by (du - U dw) / w."""
    shape = (len(places), len(outlook.measures), 2)
    utilities, counted = (part[0].reshape(shape) for part in _by_place(mean[None], outlook, places))
    strata, measures = len(places[0][1]), len(outlook.measures)
    pairs = len(mean) // (4 * strata)
    gradient = np.zeros((len(places), measures, 2, strata, pairs, 2, 2))
    for place, m, t in product(range(len(places)), range(pairs), range(2)):
        if counted[place, m, t] > 0:
            gradient[place, m, t, :, m, t, U] = places[place][1] / counted[place, m, t]
            gradient[place, m, t, :, m, t, W] = -places[place][1] * utilities[place, m, t] / counted[place, m, t]
    for m in range(pairs, measures):
        for at, slope in slopes_of(utilities[:, :pairs], outlook.measures[m], m):
            gradient[:, m] += np.nan_to_num(slope)[..., None, None, None, None] * gradient[:, at]
    flat = gradient.reshape(utilities.size, -1)
    return np.asarray(flat @ covariance @ flat.T)


Statistic = Callable[[FloatArray], FloatArray]
Affine = tuple[FloatArray, FloatArray]
"""Coefficients (statistics, values) and constants of statistics that are affine in utilities."""


def _accuracy_statistics(outlook: Outlook, claim: Claim, places: Sequence[Place]) -> list[tuple[IntArray, Affine]]:
    """Which values each accuracy statistic reads, and how."""
    names = [name for name, _ in places]
    out = []
    for measure in outlook.accuracy if claim.asks("accuracy") else ():
        better = 1 if outlook.measures[measure].higher_is_better else -1
        if claim.overall is None:
            weights = [(name, {name: 1.0}) for name in names[:-1]]
        else:
            weights = [("everyone", {"everyone": 1.0} if isinstance(claim.overall, str) else dict(claim.overall))]
        for name, shares in weights:
            counted = [group for group, share in shares.items() if share > 0]
            which = np.array([_value(outlook, names.index(group), measure) for group in counted])
            share = np.array([shares[group] for group in counted]) / sum(shares.values())
            delta = claim.delta_of(name, outlook.measures[measure].label)

            def statistic(
                values: FloatArray, share: FloatArray = share, delta: float = delta, better: int = better
            ) -> FloatArray:
                both = np.einsum("g,pgt->pt", share, values.reshape(len(values), -1, 2))
                return accuracy_statistic(both[:, :1], both[:, 1:], delta, claim.form, better)

            out.append((which.ravel(), _affine(statistic, which.size)))
    return out


@dataclass(frozen=True)
class _FairnessBlock:
    """One gap: its groups, its utility, which way is up, and by how much it must be smaller."""

    first: int
    groups: int
    measure: int
    protected: int | None
    direction: float
    delta: float


def _fairness_blocks(outlook: Outlook, claim: Claim) -> list[tuple[IntArray, _FairnessBlock]]:
    out = []
    for measure in outlook.fairness if claim.asks("fairness") else ():
        first = 0
        for attribute in outlook.attributes:
            protected = attribute.place_of(claim.protected)
            upward = protected is None or outlook.measures[measure].worse_off == "lower"
            delta = claim.gap_delta(outlook.measures[measure].label)
            block = _FairnessBlock(first, len(attribute.levels), measure, protected, 1.0 if upward else -1.0, delta)
            which = [_value(outlook, first + g, measure) for g in range(block.groups)]
            out.append((np.array(which).ravel(), block))
            first += block.groups
    return out


def _value(outlook: Outlook, place: int, measure: int) -> list[int]:
    """Where the two algorithms' values of a group stand."""
    at = (place * len(outlook.measures) + measure) * 2
    return [at, at + 1]


def _affine(statistic: Statistic, width: int) -> Affine:
    constant = statistic(np.zeros((1, width)))[0]
    return (statistic(np.eye(width)) - constant).T, constant


def _margin(values: FloatArray, scale: FloatArray, spread: FloatArray, which: IntArray, affine: Affine) -> FloatArray:
    """The smallest of some statistics over their standard errors; minus infinity where one is undefined or fixed."""
    coefficients, constants = affine
    read = values[:, which]
    covariance = spread[np.ix_(which, which)]
    z = np.full(len(values), np.inf)
    for coefficient, constant in zip(coefficients, constants, strict=True):
        loaded = scale[:, which] * coefficient
        variance = ((loaded @ covariance) * loaded).sum(axis=1)
        moves = variance > (TIE * np.abs(read).max(axis=1, initial=0.0)) ** 2
        ratio = np.divide(read @ coefficient + constant, np.sqrt(np.where(moves, variance, 1.0)))
        z = np.minimum(z, np.where(moves & np.isfinite(ratio), ratio, -np.inf))
    return z


def _fairness_margin(
    values: FloatArray,
    scale: FloatArray,
    spread: FloatArray,
    which: IntArray,
    block: _FairnessBlock,
    training: FloatArray,
    claim: Claim,
    seed: int,
    chosen_among: int | None,
) -> FloatArray:
    """The margin of one gap; the reference is chosen among so many units tested, or was given."""
    if claim.gap == "absolute":
        return _folded_margin(values, scale, spread, which, block, claim, seed)
    status_quo = training[:, block.first : block.first + block.groups, block.measure, STATUS_QUO]
    status_quo = np.nan_to_num(block.direction * status_quo)
    z = np.empty(len(values))
    references = _references(status_quo, block.protected)
    for pair in np.unique(references, axis=0):
        points = (references == pair).all(axis=1)
        reference = int(pair[0]), int(pair[1])

        def statistic(values: FloatArray, reference: tuple[int, int] = reference) -> FloatArray:
            both = block.direction * values.reshape(len(values), -1, 2)
            rest = reference, block.delta, claim.form, block.protected
            return -signed_statistics(both[..., STATUS_QUO], both[..., CANDIDATE], *rest)

        z[points] = _margin(values[points], scale[points], spread, which, _affine(statistic, len(which)))
    if chosen_among is None:
        return z
    both = block.direction * values[:, which].reshape(len(values), -1, 2)
    covariance = spread[np.ix_(which, which)]
    reach, own = kappa(block.groups, chosen_among), covariance[STATUS_QUO::2, STATUS_QUO::2]
    counted = contact_sets(status_quo, own, references, reach, block.protected)
    return chosen_margin(z, both, covariance, counted, block.delta, claim.form, block.protected, seed)


def _references(status_quo: FloatArray, protected: int | None) -> IntArray:
    """`statistics.reference_pair` of every point at once, shape (points, 2)."""
    low = np.argmin(status_quo, axis=1) if protected is None else np.full(len(status_quo), protected)
    others = status_quo.copy()
    others[np.arange(len(others)), low] = -np.inf
    return np.stack([np.argmax(others, axis=1), low], axis=1)


def _folded_margin(
    values: FloatArray,
    scale: FloatArray,
    spread: FloatArray,
    which: IntArray,
    block: _FairnessBlock,
    claim: Claim,
    seed: int,
) -> FloatArray:
    """The paper's folded gap has a kink, so its centered p-value is counted among normal draws of the utilities."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    half = rng.standard_normal((FOLDED_DRAWS // 2, len(which))) @ root(spread[np.ix_(which, which)]).T
    noise = np.concatenate([half, -half])
    z = np.empty(len(values))
    for start in range(0, len(values), POINTS_PER_BLOCK):
        part = slice(start, start + POINTS_PER_BLOCK)
        center = values[part][:, which]
        drawn = center[:, None] + scale[part][:, which][:, None] * noise
        statistic = _folded(center, block, claim)[:, None]
        against = (_folded(drawn, block, claim) - statistic <= statistic).mean(axis=1)
        moves = np.isfinite(statistic[:, 0]) & bool(noise.any())
        z[part] = np.where(moves, ndtri(1 - np.clip(against, LEAST_P, 1 - LEAST_P)), -np.inf)
    return z


def _folded(values: FloatArray, block: _FairnessBlock, claim: Claim) -> FloatArray:
    """The folded statistic of values of shape (..., groups * 2)."""
    both = block.direction * values.reshape(*values.shape[:-1], -1, 2)
    return folded_statistic(both[..., STATUS_QUO], both[..., CANDIDATE], block.delta, claim.form, block.protected)
