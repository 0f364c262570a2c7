"""How much each row, or cluster, moves a condition of the claim, and what units of
unequal size are worth.

*Influence.* To first order a row moves the utility U = E[u] / E[w] of its group by (u -
U w) / (sum of w), a formula of several by the sum of that times its derivatives (the
delta method, Proposition B.2). The squares of what rows move a statistic by add up to
its variance. Their cubes say how far it leans: where a long tail points *against* the
claim, a sample that misses it looks better than the truth and less variable, and the
centered bootstrap rejects too often, at a level of 5% by about phi(z) z^2 / 2 = .14
times (sum of cubes) / (sum of squares)^1.5 (Hall, 1992).

*Leverage.* With 60 clusters of which one holds 30% of the rows, a bootstrap of clusters
rejects 16% of true nulls at a level of 5%: the utility follows the large cluster, whose
residual then looks small. So (MacKinnon, Nielsen and Webb, 2023; Carter, Schnepel and
Steigerwald, 2017) a unit is drawn with the deviation that leaving it out makes, as in
the jackknife (CV3; HC3 for rows): to first order its residual (u - U w) / W over 1 - l,
with leverage l = n / (n - 1) (w - mean w of its stratum) / W. And draws have Student's
t with G* - 1 degrees of freedom, G* being Kish's effective number of units; L strata
shrink them by (G - L) / (G - 1), so that equal clusters have G - L.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.inference.cells import Cells, U, W, by_utility, vectors_of
from improvable.inference.components import Condition
from improvable.inference.evidence import Evidence
from improvable.inference.statistics import slopes_of, utilities_of
from improvable.question.utility import Measure

MAX_LEAN = 0.06  # longer tails against a claim raise a level of 5% by about one point
# a statistic this many standard errors from its null is not in doubt, whatever its
# tails
FAR = 4.0
# a unit with more than this share of a group stands for it: nothing is left without it
MAX_LEVERAGE = 0.9


@dataclass(frozen=True)
class Influence:
    """Influence values of one condition, by cell. Rows of one group and for the same
    algorithms are of one kind.
    """

    values: FloatArray
    kinds: IntArray
    counts: FloatArray

    @property
    def spread(self) -> float:
        """The statistic's standard error."""
        return float(np.sqrt((self.counts * self.values**2).sum()))

    @property
    def leans(self) -> FloatArray:
        """By kind, the tail against the claim: minus the sum of cubed deviations from
        its mean, over spread cubed.
        """
        rows, sums = (
            np.bincount(self.kinds, weights=self.counts * one)
            for one in (1.0, self.values)
        )
        apart = (
            self.values
            - np.divide(sums, rows, out=np.zeros(len(rows)), where=rows > 0)[self.kinds]
        )
        cubes = np.bincount(self.kinds, weights=self.counts * apart**3)
        return np.asarray(-cubes / self.spread**3 if self.spread > 0 else 0 * cubes)

    @property
    def lean(self) -> float:
        """All tails against the claim; with other rows, kinds that lean the other way
        would not make up for them.
        """
        return float(np.maximum(self.leans, 0).sum())

    @property
    def largest(self) -> float:
        """The share of the variance that one row, or cluster, has."""
        return (
            float((self.values**2).max()) / self.spread**2 if self.spread > 0 else 0.0
        )

    def may_decide(self, margin: float) -> bool:
        """Whether tails against the claim are longer than chance makes them, and the
        margin is not far from zero.
        """
        # The lean of n normal values, which have none, is within two standard
        # deviations, 2 sqrt(6) / n.
        chance = 2 * 6**0.5 / max(1.0, float(self.counts[self.values != 0].sum()))
        return margin < FAR * self.spread and self.lean > max(MAX_LEAN, chance)


def influence_of(
    condition: Condition,
    cells: Cells,
    sums: FloatArray,
    measures: Sequence[Measure] = (),
) -> Influence:
    """Influence values of rows, one block per stratum of groups; or of clusters, one
    block with the sums of all.

    `sums` has shape (S, M, 2, 2); without formulas `measures` may be left out.
    """
    m, coefficients = condition.measure, condition.coefficients
    totals, inside = (
        np.zeros((len(coefficients), *sums.shape[1:])),
        condition.member >= 0,
    )
    np.add.at(totals, condition.member[inside], sums[inside])
    pairs = utilities_of(totals)
    slopes = (
        slopes_of(pairs, measures[m], m)
        if measures and measures[m].formula
        else [(m, np.ones(coefficients.shape))]
    )
    utilities, level, every = (
        np.nan_to_num(pairs),
        condition.levels(cells),
        vectors_of(cells, sums.shape),
    )
    values, loads = np.zeros(len(every)), np.zeros((len(every), 2), dtype=np.bool_)
    for at, slope in slopes:
        parts, whole, share = (
            every[:, :, at],
            totals[:, at, :, W],
            coefficients * np.nan_to_num(slope),
        )
        factor = np.divide(share, whole, out=np.zeros_like(share), where=whole > 0)
        factor = np.where((level >= 0)[..., None], factor[level], 0.0)
        values += (factor * (parts[..., U] - utilities[level, at] * parts[..., W])).sum(
            axis=(1, 2)
        )
        loads |= (parts[..., W] != 0).any(axis=1)
    by_row = cells.blocks == len(sums)  # clusters are all of one kind
    kinds = (
        (level[:, 0] * 2 + loads[:, 0]) * 2 + loads[:, 1]
        if by_row
        else np.zeros(len(every), dtype=np.int64)
    )
    return Influence(values, kinds, cells.counts.astype(np.float64))


def slopes_by_stratum(condition: Condition, evidence: Evidence) -> FloatArray:
    """By how much a row of each stratum moves a condition, by what it adds to u and to
    w: (S, M, 2 algorithms, 2).
    """
    m, coefficients = condition.measure, condition.coefficients
    totals, inside = (
        np.zeros((len(coefficients), *evidence.sums.shape[1:])),
        condition.member >= 0,
    )
    np.add.at(totals, condition.member[inside], evidence.sums[inside])
    utilities, out = utilities_of(totals), np.zeros_like(totals)
    for at, derivative in slopes_of(utilities, evidence.measures[m], m):
        whole, share = totals[:, at, :, W], coefficients * derivative
        factor = np.nan_to_num(
            np.divide(share, whole, out=np.zeros_like(share), where=whole > 0)
        )
        out[:, at, :, U] = factor
        out[:, at, :, W] = -factor * np.nan_to_num(utilities[:, at])
    return np.asarray(np.where(inside[:, None, None, None], out[condition.member], 0.0))


def left_out(cells: Cells, whole: FloatArray) -> FloatArray:
    """1 / (1 - l) of one stratum's units, (cells, k, M, 2); `whole` is W, the sum over
    all strata, (S, M, 2).
    """
    loads, units = vectors_of(cells, (*whole.shape, 2))[..., W], cells.rows
    mean = (sum_by_block(cells, loads) / units)[cells.block]
    total = whole.reshape(cells.blocks, -1, *whole.shape[1:])[cells.block]
    share = np.divide(loads - mean, total, out=np.zeros_like(loads), where=total > 0)
    return np.asarray(
        1 / (1 - np.minimum(units / max(units - 1, 1) * share, MAX_LEVERAGE))
    )


def effective_units(first: FloatArray, second: FloatArray) -> FloatArray:
    """Kish's effective number, (sum of w)^2 / (sum of w^2): that of equal units;
    infinite where nothing has weight.
    """
    return np.asarray(
        np.divide(
            first**2,
            second,
            out=np.full(np.shape(second), np.inf),
            where=np.asarray(second) > 0,
        )
    )


def sum_loads(cells: Cells) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Units that count, and sums of w and of its square, by utility and algorithm: each
    (blocks, utilities, 2).
    """
    loads = by_utility(cells)[..., W]
    return (
        sum_by_block(cells, loads != 0),
        sum_by_block(cells, loads),
        sum_by_block(cells, loads**2),
    )


def sum_by_block(cells: Cells, values: FloatArray) -> FloatArray:
    """Sums over the units of each block, (cells, ...) -> (blocks, ...)."""
    counts = cells.counts.astype(np.float64)
    return np.stack(
        [
            np.einsum("c,c...->...", counts[part], values[part])
            for part in cells.slices()
        ]
    )
