"""How far a claim's components stand from their nulls in simulated tests, in standard errors.

The centered bootstrap of a smooth statistic T gives p = 1 - Normal(T / se(T)), where se is the delta method's. The
statistics are those of `inference.statistics`; here they are evaluated for many tests at once, from the utilities of
each, which are normal with a known covariance.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtri

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO, U, W
from improvable.inference.evidence import EVERYONE
from improvable.inference.reference_pair import kappa, standard_errors
from improvable.inference.statistics import (
    TIE,
    accuracy_statistic,
    folded_statistic,
    ordered_pairs,
    signed_statistics,
    slopes_of,
    utilities_of,
    with_formulas,
)
from improvable.question.claim import Claim
from improvable.studies.power.assumptions import Outlook, root

FOLDED_DRAWS, REFERENCE_DRAWS = 400, 4_000
POINTS_PER_BLOCK = 2_000
LEAST_P = 1e-9
LARGEST = 8.0  # standard errors: p-values below are as good as 0

Statistic = Callable[[FloatArray], FloatArray]
"""Of utilities, shape (points, width) -> (points, conditions); large values speak for improvement."""


@dataclass(frozen=True)
class Tests:
    """Utilities of many simulated tests, along one axis for all places, utilities and algorithms."""

    values: FloatArray  # (points, width)
    scale: FloatArray  # (points, width): by what the standard error of a value differs from the population's
    spread: FloatArray  # (width, width): covariance of the population's values

    def of(self, which: IntArray, points: BoolArray | slice = slice(None)) -> "Tests":
        """Some of the values, of some tests."""
        return Tests(self.values[points][:, which], self.scale[points][:, which], self.spread[np.ix_(which, which)])

    def margin(self, statistic: Statistic) -> FloatArray:
        """The smallest of some affine statistics over their errors; minus infinity where one is undefined or fixed."""
        width = self.values.shape[1]
        constants = statistic(np.zeros((1, width)))[0]
        z = np.full(len(self.values), np.inf)
        for coefficient, constant in zip((statistic(np.eye(width)) - constants).T, constants, strict=True):
            loaded = self.scale * coefficient
            variance = ((loaded @ self.spread) * loaded).sum(axis=1)
            moves = variance > (TIE * np.abs(self.values).max(axis=1, initial=0.0)) ** 2
            ratio = np.divide(self.values @ coefficient + constant, np.sqrt(np.where(moves, variance, 1.0)))
            z = np.minimum(z, np.where(moves & np.isfinite(ratio), ratio, -np.inf))
        return z


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
    """The weakest component of a claim in each of many test samples, in standard errors, shape (points,).

    That is the normal quantile of one minus the p-value; minus infinity where the p-value is 1. `mean` is the
    population's mean contribution and `covariance` that of a test sample of `units` rows or clusters. `test`
    and `train`, (points, width), are mean contributions over test rows, and over training rows, which fix the reference
    pair of groups; None where it is chosen on the test rows. That, and the folded gap, take draws, which `seed` fixes.
    """
    # The strata of every group of every attribute, then of everyone, shape (places, strata).
    groups = [attribute.member == g for attribute in outlook.attributes for g in range(len(attribute.levels))]
    member = np.array([*groups, np.ones(len(outlook.attributes[0].member))], dtype=np.float64)
    values, counted = _by_place(test, outlook, member)
    _, usual = _by_place(mean[None], outlook, member)
    # The residual variance of a row that counts does not depend on how many rows count. What a small pilot could as
    # well have shown is drawn from a normal distribution, in which a share may be below zero.
    some = (counted > 0) & (usual > 0)
    scale = np.sqrt(np.divide(usual, counted, out=np.full(counted.shape, np.nan), where=some))
    tests = Tests(values, scale, _utility_covariance(mean, covariance, outlook, member))
    chosen = values if train is None else _by_place(train, outlook, member)[0]
    at = np.arange(values.shape[1]).reshape(len(member), len(outlook.measures), 2)
    z = np.full(len(values), np.inf)
    if claim.asks("accuracy"):
        for which, statistic in _accuracy(outlook, claim, at):
            z = np.minimum(z, tests.of(which).margin(statistic))
    if claim.asks("fairness"):
        for gap in _gaps(outlook, claim, at):
            part = tests.of(gap.which)
            folded = claim.gap == "absolute"
            margin = gap.folded(part, seed) if folded else gap.signed(part, chosen[:, gap.which[STATUS_QUO::2]])
            if train is None and not folded:
                margin = gap.chosen(margin, part, kappa(gap.groups, units), seed)
            z = np.minimum(z, margin)
    return z


def _by_place(means: FloatArray, outlook: Outlook, member: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Utilities and counted shares, (points, width) -> (points, places * M * 2) each."""
    sums = means.reshape(len(means), member.shape[1], -1, 2, 2)
    grouped = np.einsum("ls,psmtx->plmtx", member, sums)
    shape, formulas = (len(means), -1), len(outlook.measures) - sums.shape[2]
    # A formula counts where its parts do: its error is taken to be that of the population.
    counted = np.concatenate([grouped[..., W], np.ones((*grouped.shape[:2], formulas, 2))], axis=2)
    values = with_formulas(utilities_of(grouped), outlook.measures, axis=-2)
    return values.reshape(shape), counted.reshape(shape)


def _utility_covariance(mean: FloatArray, covariance: FloatArray, outlook: Outlook, member: FloatArray) -> FloatArray:
    """The delta method: covariance of all utilities, from that of the sums. U = u / w moves by (du - U dw) / w."""
    shape = (len(member), len(outlook.measures), 2)
    utilities, counted = (part[0].reshape(shape) for part in _by_place(mean[None], outlook, member))
    pairs = len(mean) // (4 * member.shape[1])
    gradient = np.zeros((*shape, member.shape[1], pairs, 2, 2))
    for place, m, t in product(range(len(member)), range(pairs), range(2)):
        if counted[place, m, t] > 0:
            gradient[place, m, t, :, m, t, U] = member[place] / counted[place, m, t]
            gradient[place, m, t, :, m, t, W] = -member[place] * utilities[place, m, t] / counted[place, m, t]
    for m in range(pairs, len(outlook.measures)):
        for at, slope in slopes_of(utilities[:, :pairs], outlook.measures[m], m):
            gradient[:, m] += np.nan_to_num(slope)[..., None, None, None, None] * gradient[:, at]
    flat = gradient.reshape(utilities.size, -1)
    return np.asarray(flat @ covariance @ flat.T)


def _accuracy(outlook: Outlook, claim: Claim, at: IntArray) -> Iterator[tuple[IntArray, Statistic]]:
    """Which values each accuracy statistic reads, and the statistic."""
    names = [level for attribute in outlook.attributes for level in attribute.levels]
    for m in outlook.accuracy:
        measure = outlook.measures[m]
        for name in names if claim.overall is None else [EVERYONE]:
            weights = claim.overall if isinstance(claim.overall, Mapping) else {name: 1.0}
            share = np.array(list(weights.values())) / sum(weights.values())
            delta, better = claim.delta_of(name, measure.label), 1 if measure.higher_is_better else -1

            def statistic(
                values: FloatArray, share: FloatArray = share, delta: float = delta, better: int = better
            ) -> FloatArray:
                both = np.einsum("g,pgt->pt", share, values.reshape(len(values), -1, 2))
                return accuracy_statistic(both[:, :1], both[:, 1:], delta, claim.form, better)

            places = [-1] if isinstance(claim.overall, str) else [names.index(group) for group in weights]
            yield at[places, m].ravel(), statistic


def _gaps(outlook: Outlook, claim: Claim, at: IntArray) -> Iterator["_Gap"]:
    for m in outlook.fairness:
        measure, first = outlook.measures[m], 0
        for attribute in outlook.attributes:
            protected = attribute.place_of(claim.protected)
            turn = 1.0 if protected is None or measure.worse_off == "lower" else -1.0
            groups = len(attribute.levels)
            which = at[first : first + groups, m].ravel()
            yield _Gap(which, groups, protected, turn, claim, claim.gap_delta(measure.label))
            first += groups


@dataclass(frozen=True)
class _Gap:
    """One gap: which values it reads, which way is up, and by how much it must be smaller."""

    which: IntArray
    groups: int
    protected: int | None
    turn: float
    claim: Claim
    delta: float

    def signed(self, tests: Tests, status_quo: FloatArray) -> FloatArray:
        """The margin with the reference pair that is widest in `status_quo`, of shape (points, groups)."""
        references = self._references(self.turn * status_quo)
        z = np.empty(len(references))
        for pair in np.unique(references, axis=0):
            points = (references == pair).all(axis=1)
            reference = int(pair[0]), int(pair[1])

            def statistic(values: FloatArray, reference: tuple[int, int] = reference) -> FloatArray:
                before, after = self._turned(values)
                return -signed_statistics(before, after, reference, self.delta, self.claim.form, self.protected)

            z[points] = tests.of(np.arange(len(self.which)), points).margin(statistic)
        return z

    def folded(self, tests: Tests, seed: int) -> FloatArray:
        """The paper's folded gap has a kink, so its centered p-value is counted among normal draws of the utilities."""
        half = _normal(tests.spread, FOLDED_DRAWS // 2, seed, 2)
        noise = np.concatenate([half, -half])

        def statistic(values: FloatArray) -> FloatArray:
            return folded_statistic(*self._turned(values), self.delta, self.claim.form, self.protected)

        z = np.empty(len(tests.values))
        for start in range(0, len(z), POINTS_PER_BLOCK):
            part = slice(start, start + POINTS_PER_BLOCK)
            center = tests.values[part]
            here = statistic(center)[:, None]
            against = (statistic(center[:, None] + tests.scale[part][:, None] * noise) - here <= here).mean(axis=1)
            moves = np.isfinite(here[:, 0]) & bool(noise.any())
            z[part] = np.where(moves, ndtri(1 - np.clip(against, LEAST_P, 1 - LEAST_P)), -np.inf)
        return z

    def chosen(self, plain: FloatArray, tests: Tests, reach: float, seed: int) -> FloatArray:
        """The margins of tests that account for a reference chosen on the test rows (`inference.reference_pair`).

        Errors are known here, and only the largest of several correlated deviations is drawn: the same draws serve all
        tests in which the same pairs count.
        """
        both = np.stack(self._turned(tests.values), axis=-1)
        pairs = np.array(ordered_pairs(self.groups, self.protected))
        # What makes gaps of utilities, shape (pairs, groups); zeros for a protected group beside itself.
        contrasts = np.eye(self.groups)[pairs[:, 0]] - np.eye(self.groups)[pairs[:, 1]]
        shape = (self.groups, 2, self.groups, 2)
        spread = np.einsum("ig,gthu,jh->itju", contrasts, tests.spread.reshape(shape), contrasts, optimize=True)
        # In each test, which pairs may be the status quo's widest (`contact_set`), shape (points, pairs).
        status_quo = np.nan_to_num(both[..., STATUS_QUO])
        widest = (self._references(status_quo)[:, None] == pairs).all(axis=2).argmax(axis=1)
        before, together = status_quo @ contrasts.T, spread[:, STATUS_QUO, :, STATUS_QUO]
        variances = np.diag(together)[:, None] + np.diag(together) - 2 * together
        short = np.take_along_axis(before, widest[:, None], axis=1) - before
        tie = TIE * np.abs(status_quo).max(axis=1, keepdims=True)
        near = short <= reach * np.sqrt(np.maximum(variances, 0.0))[widest] + tie
        counted = near & contrasts.any(axis=1)
        z, several = plain.copy(), np.isfinite(plain) & (counted.sum(axis=1) > 1)
        if not several.any():
            return z
        noise = _normal(tests.spread, REFERENCE_DRAWS, seed, 4).reshape(REFERENCE_DRAWS, -1, 2)
        gaps, drawn = (np.einsum("pgt,ig->pit", one, contrasts) for one in (both, noise))
        for some in np.unique(counted[several], axis=0):
            points = several & (counted == some).all(axis=1)
            z[points] = self._weakest(gaps[points], drawn, spread, some)
        return z

    def _weakest(self, gaps: FloatArray, drawn: FloatArray, spread: FloatArray, counted: BoolArray) -> FloatArray:
        """The weakest margin of tests in which the same pairs count: the normal quantile of one minus their p-values.

        `gaps` has shape (points, pairs, 2), `drawn`, their deviations, (REFERENCE_DRAWS, pairs, 2), and `spread`, their
        covariance, (pairs, 2, pairs, 2).
        """
        share, amount = (1 - self.delta, 0.0) if self.claim.form == "ratio" else (1.0, self.delta)
        before, moved = gaps[:, counted, STATUS_QUO], drawn[:, counted, STATUS_QUO]
        own, other = (np.diag(spread[:, one, :, one]) for one in (STATUS_QUO, CANDIDATE))
        weights = 1 / standard_errors(own[counted], other[:, None], spread[:, CANDIDATE, counted, STATUS_QUO])
        z = np.full(len(gaps), LARGEST)
        for i, weight in enumerate(weights):
            statistic = (weight * (share * before - amount - gaps[:, [i], CANDIDATE])).max(axis=1)
            if statistic.min() >= LARGEST:
                continue
            largest = np.sort((weight * (share * moved - drawn[:, [i], CANDIDATE])).max(axis=1))
            against = REFERENCE_DRAWS - np.searchsorted(largest, statistic, side="left")
            z = np.minimum(z, np.maximum(-ndtri(against / REFERENCE_DRAWS), -LARGEST))
        return z

    def _references(self, turned: FloatArray) -> IntArray:
        """`statistics.reference_pair` of every point at once, (points, groups) -> (points, 2)."""
        others = np.nan_to_num(turned)
        low = np.argmin(others, axis=1) if self.protected is None else np.full(len(others), self.protected)
        others[np.arange(len(others)), low] = -np.inf
        return np.stack([np.argmax(others, axis=1), low], axis=1)

    def _turned(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The status quo's and the candidate's values of all groups, from (..., groups * 2)."""
        both = self.turn * values.reshape(*values.shape[:-1], -1, 2)
        return both[..., STATUS_QUO], both[..., CANDIDATE]


def _normal(covariance: FloatArray, draws: int, seed: int, key: int) -> FloatArray:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))
    return np.asarray(rng.standard_normal((draws, len(covariance))) @ root(covariance).T)
