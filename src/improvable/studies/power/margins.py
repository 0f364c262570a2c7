"""How far a claim's components stand from their nulls in simulated tests, in standard
errors.

The centered bootstrap of a smooth statistic T gives p = 1 - Normal(T / se(T)), where se
is the delta method's. The statistics are those of `inference.statistics`; here they are
evaluated for many tests at once, from the utilities of each, which are normal with a
known covariance.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.special import ndtri

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO, W
from improvable.inference.evidence import EVERYONE, bounded, everyone_in
from improvable.inference.reference_pair import kappa, standard_errors
from improvable.inference.statistics import (
    TIE,
    ordered_pairs,
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


@dataclass(frozen=True)
class Tests:
    """Utilities of many simulated tests, along one axis for all places, utilities and
    algorithms.
    """

    values: FloatArray  # (points, width)
    # (points, width): by what the standard error of a value differs from the
    # population's
    scale: FloatArray
    spread: FloatArray  # (width, width): covariance of the population's values

    def of(self, which: IntArray) -> "Tests":
        return Tests(
            self.values[:, which],
            self.scale[:, which],
            self.spread[np.ix_(which, which)],
        )

    def margin(
        self, slopes: FloatArray, amount: float, points: BoolArray | slice = slice(None)
    ) -> FloatArray:
        """(values @ slopes - amount) / standard error; minus infinity where that is
        undefined or nothing moves.
        """
        values, loaded = self.values[points], self.scale[points] * slopes
        variance = ((loaded @ self.spread) * loaded).sum(axis=1)
        moves = variance > (TIE * np.abs(values).max(axis=1, initial=0.0)) ** 2
        ratio = (values @ slopes - amount) / np.sqrt(np.where(moves, variance, 1.0))
        return np.where(moves & np.isfinite(ratio), ratio, -np.inf)


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
    """The weakest component of a claim in each of many test samples, in standard
    errors, shape (points,).

    That is the normal quantile of one minus the p-value; minus infinity where the
    p-value is 1. `mean` is the population's mean contribution and `covariance` that of
    a test sample of `units` rows or clusters. `test` and `train`, (points, width), are
    mean contributions over test rows, and over training rows, which fix the reference
    pair of groups; None where it is chosen on the test rows. That, and the folded gap,
    take draws, which `seed` fixes.
    """
    # The strata of every group of every attribute, then of everyone, shape (places,
    # strata).
    groups = [
        attribute.member == g
        for attribute in outlook.attributes
        for g in range(len(attribute.levels))
    ]
    member = np.array([*groups, everyone_in(outlook.attributes)], dtype=np.float64)
    values, counted = _by_place(test, outlook, member)
    _, usual = _by_place(mean[None], outlook, member)
    # The residual variance of a row that counts does not depend on how many rows count.
    # What a small pilot could as well have shown is drawn from a normal distribution,
    # in which a share may be below zero.
    some = (counted > 0) & (usual > 0)
    scale = np.sqrt(
        np.divide(usual, counted, out=np.full(counted.shape, np.nan), where=some)
    )
    tests = Tests(values, scale, _utility_covariance(mean, covariance, outlook, member))
    chosen = values if train is None else _by_place(train, outlook, member)[0]
    at = np.arange(values.shape[1]).reshape(len(member), len(outlook.measures), 2)
    z = np.full(len(values), np.inf)
    if claim.asks("accuracy"):
        for which, slopes, amount in _accuracy(outlook, claim, at):
            z = np.minimum(z, tests.of(which).margin(slopes, amount))
    if claim.asks("fairness"):
        for m, measure in ((m, outlook.measures[m]) for m in outlook.fairness):
            delta, first = claim.delta_fairness, 0
            share, amount = (1 - delta, 0.0) if claim.form == "ratio" else (1.0, delta)
            for attribute in outlook.attributes:
                places, protected = (
                    slice(first, first + len(attribute.levels)),
                    attribute.place_of(claim.protected),
                )
                first = places.stop
                turn = (
                    1.0 if protected is None or measure.worse_off == "lower" else -1.0
                )
                better = 1.0 if measure.higher_is_better else -1.0
                pairs, number = (
                    ordered_pairs(len(attribute.levels), protected),
                    bounded(outlook.measures),
                )
                which = at[places, [m, m + number] if number else [m]].ravel()
                gap = _Gap(
                    tests.of(which),
                    *_contrasts(pairs, turn, better if number else 0.0),
                    share,
                    amount,
                )
                if claim.gap == "absolute":
                    z = np.minimum(z, gap.folded(seed))
                    continue
                before = gap.widths(chosen[:, which])
                signed = gap.signed(before.argmax(axis=1))
                reach = kappa(len(attribute.levels), units)
                z = np.minimum(
                    z,
                    signed
                    if train is not None
                    else gap.chosen(signed, before, reach, seed),
                )
    return z


def _by_place(
    means: FloatArray, outlook: Outlook, member: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Utilities and counted shares, (points, width) -> (points, places * M * 2)
    each.
    """
    sums = means.reshape(len(means), member.shape[1], -1, 2, 2)
    grouped = np.einsum("ls,psmtx->plmtx", member, sums)
    shape, formulas = (len(means), -1), len(outlook.measures) - sums.shape[2]
    # A formula counts where its parts do: its error is taken to be that of the
    # population.
    counted = np.concatenate(
        [grouped[..., W], np.ones((*grouped.shape[:2], formulas, 2))], axis=2
    )
    values = with_formulas(utilities_of(grouped), outlook.measures, axis=-2)
    return values.reshape(shape), counted.reshape(shape)


def _utility_covariance(
    mean: FloatArray, covariance: FloatArray, outlook: Outlook, member: FloatArray
) -> FloatArray:
    """The delta method: covariance of all utilities, from that of the sums. U = u / w
    moves by (du - U dw) / w.
    """
    shape = (len(member), len(outlook.measures), 2)
    utilities, counted = (
        part[0].reshape(shape) for part in _by_place(mean[None], outlook, member)
    )
    pairs = len(mean) // (4 * member.shape[1])
    whole = counted[:, :pairs, :, None]
    moved = np.stack(
        [np.ones(utilities[:, :pairs].shape), -utilities[:, :pairs]], axis=-1
    )
    moved = np.divide(moved, whole, out=np.zeros(moved.shape), where=whole > 0)
    # Axes: place, measure and algorithm of a utility; stratum, pair, algorithm and part
    # of a sum.
    gradient = np.zeros((*shape, member.shape[1], pairs, 2, 2))
    gradient[:, :pairs] = np.einsum(
        "lmtx,ls,mn,tu->lmtsnux", moved, member, np.eye(pairs), np.eye(2)
    )
    for m in range(pairs, len(outlook.measures)):
        for at, slope in slopes_of(utilities[:, :pairs], outlook.measures[m], m):
            gradient[:, m] += (
                np.nan_to_num(slope)[..., None, None, None, None] * gradient[:, at]
            )
    flat = gradient.reshape(utilities.size, -1)
    return np.asarray(flat @ covariance @ flat.T)


def _accuracy(
    outlook: Outlook, claim: Claim, at: IntArray
) -> Iterator[tuple[IntArray, FloatArray, float]]:
    """Of each accuracy statistic: which values it reads, how it moves with them, and
    the amount taken off.
    """
    names = [level for attribute in outlook.attributes for level in attribute.levels]
    for m in outlook.accuracy:
        measure = outlook.measures[m]
        better = 1 if measure.higher_is_better else -1
        for name in names if claim.overall is None else [EVERYONE]:
            weights = (
                claim.overall if isinstance(claim.overall, Mapping) else {name: 1.0}
            )
            delta = claim.delta_of(name)
            share, amount = (
                (1 + better * delta, 0.0) if claim.form == "ratio" else (1.0, delta)
            )
            slopes = np.outer(
                list(weights.values()), better * np.array([-share, 1.0])
            ) / sum(weights.values())
            places = (
                [-1]
                if isinstance(claim.overall, str)
                else [names.index(group) for group in weights]
            )
            yield at[places, m].ravel(), slopes.ravel(), amount


def _contrasts(
    pairs: Sequence[tuple[int, int]], turn: float, better: float
) -> tuple[FloatArray, FloatArray]:
    """What makes either algorithm's gaps of values by group, utility and algorithm,
    (pairs, values) each.

    `turn` is -1 where a protected group is worse off with a higher value; such a group
    beside itself has zeros. Where outcomes are unknown, `better` is 1 or -1, and a
    second utility says how much better than counted the candidate's may be: its gaps
    have the group above at its highest, and the one below at its lowest
    (`Evidence.ends`).
    """
    groups = 1 + max(map(max, pairs))
    apart = np.array([np.eye(groups)[g] - np.eye(groups)[h] for g, h in pairs])
    before, after = np.zeros((2, len(pairs), groups, 2 if better else 1, 2))
    before[:, :, 0, STATUS_QUO] = after[:, :, 0, CANDIDATE] = turn * apart
    if better:
        after[:, :, 1, CANDIDATE] = np.maximum(turn * better * apart, 0.0)
    return before.reshape(len(pairs), -1), after.reshape(len(pairs), -1)


@dataclass(frozen=True)
class _Gap:
    """The candidate's gap must be below `share` times that of the status quo, less
    `amount`.
    """

    tests: Tests
    before: FloatArray  # what makes the status quo's gaps of values, (pairs, values)
    after: FloatArray  # and the candidate's
    share: float
    amount: float

    def widths(self, values: FloatArray) -> FloatArray:
        """The status quo's gaps that may be the reference, (points, values) -> (points,
        pairs).
        """
        return np.where(
            self.before.any(axis=1), np.nan_to_num(values) @ self.before.T, -np.inf
        )

    def signed(self, reference: IntArray) -> FloatArray:
        """The margin with the reference pair given, (points,)."""
        z = np.full(len(reference), np.inf)
        for pair in np.unique(reference):
            points = reference == pair
            for after in self.after:
                slopes = self.share * self.before[pair] - after
                z[points] = np.minimum(
                    z[points], self.tests.margin(slopes, self.amount, points)
                )
        return z

    def folded(self, seed: int) -> FloatArray:
        """The paper's folded gap has a kink, so its centered p-value is counted among
        normal draws of the utilities.
        """
        half = _normal(self.tests.spread, FOLDED_DRAWS // 2, seed, 2)
        noise = np.concatenate([half, -half])

        def statistic(values: FloatArray) -> FloatArray:
            before, after = (
                reduce(np.maximum, (values @ one for one in each))
                for each in (self.before, self.after)
            )
            return np.asarray(after - (self.share * before - self.amount))

        z = np.empty(len(self.tests.values))
        for start in range(0, len(z), POINTS_PER_BLOCK):
            part = slice(start, start + POINTS_PER_BLOCK)
            center = self.tests.values[part]
            here = statistic(center)[:, None]
            drawn = statistic(center[:, None] + self.tests.scale[part][:, None] * noise)
            against = (drawn - here <= here).mean(axis=1)
            moves = np.isfinite(here[:, 0]) & bool(noise.any())
            z[part] = np.where(
                moves, ndtri(1 - np.clip(against, LEAST_P, 1 - LEAST_P)), -np.inf
            )
        return z

    def chosen(
        self, plain: FloatArray, before: FloatArray, reach: float, seed: int
    ) -> FloatArray:
        """The margins of tests that account for a reference chosen on the test rows
        (`inference.reference_pair`).

        Errors are known here, and only the largest of several correlated deviations is
        drawn: the same draws serve all tests in which the same pairs count. `plain` are
        the margins with the widest of `before` as if it were given.
        """
        both = np.stack([self.before, self.after], axis=1)
        spread = np.einsum(
            "itv,vw,juw->itju", both, self.tests.spread, both, optimize=True
        )
        # In each test, which pairs may be the status quo's widest (`contact_set`),
        # shape (points, pairs).
        together = spread[:, STATUS_QUO, :, STATUS_QUO]
        variances = np.diag(together)[:, None] + np.diag(together) - 2 * together
        utilities = np.nan_to_num(self.tests.values[:, self.before.any(axis=0)])
        tie = TIE * np.abs(utilities).max(axis=1, keepdims=True)
        short = before.max(axis=1, keepdims=True) - before
        counted = (
            short
            <= reach * np.sqrt(np.maximum(variances, 0.0))[before.argmax(axis=1)] + tie
        )
        z, several = plain.copy(), np.isfinite(plain) & (counted.sum(axis=1) > 1)
        if not several.any():
            return z
        noise = _normal(self.tests.spread, REFERENCE_DRAWS, seed, 4)
        gaps, drawn = (
            np.einsum("pv,itv->pit", values, both)
            for values in (self.tests.values, noise)
        )
        for some in np.unique(counted[several], axis=0):
            points = several & (counted == some).all(axis=1)
            z[points] = self._weakest(gaps[points], drawn, spread, some)
        return z

    def _weakest(
        self,
        gaps: FloatArray,
        drawn: FloatArray,
        spread: FloatArray,
        counted: BoolArray,
    ) -> FloatArray:
        """The weakest margin of tests in which the same pairs count.

        Shapes: gaps (points, pairs, 2), their deviations (draws, pairs, 2), their
        covariance (pairs, 2, pairs, 2).
        """
        before, moved = gaps[:, counted, STATUS_QUO], drawn[:, counted, STATUS_QUO]
        own, other = (
            np.diag(spread[:, one, :, one]) for one in (STATUS_QUO, CANDIDATE)
        )
        weights = 1 / standard_errors(
            own[counted], other[:, None], spread[:, CANDIDATE, counted, STATUS_QUO]
        )
        z = np.full(len(gaps), LARGEST)
        for i, weight in enumerate(weights):
            statistic = (
                weight * (self.share * before - self.amount - gaps[:, [i], CANDIDATE])
            ).max(axis=1)
            # A weight is one over the standard error of two gaps' difference; a share
            # moves that by at most this much.
            if statistic.min() >= LARGEST * (
                1 + abs(self.share - 1) * float((weight * np.sqrt(own[counted])).max())
            ):
                continue
            largest = np.sort(
                (weight * (self.share * moved - drawn[:, [i], CANDIDATE])).max(axis=1)
            )
            against = REFERENCE_DRAWS - np.searchsorted(largest, statistic, side="left")
            z = np.minimum(z, np.maximum(-ndtri(against / REFERENCE_DRAWS), -LARGEST))
        return z


def _normal(covariance: FloatArray, draws: int, seed: int, key: int) -> FloatArray:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))
    return np.asarray(
        rng.standard_normal((draws, len(covariance))) @ root(covariance).T
    )
