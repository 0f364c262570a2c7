"""How much each row, or cluster, moves a condition of the claim, and units of unequal size.

*Influence.* A statistic is a sum of utilities times coefficients. To first order a row moves the utility
U = E[u] / E[w] of its group by (u - U w) / (sum of w), and a formula of several by the sum of that times its
derivatives (the delta method). The squares of these influence values add up to the statistic's variance. Their cubes
say how far its distribution leans: where a long tail points *against* the claim, a sample that happens to miss it looks
better than the truth and less variable, and the centered bootstrap rejects too often, by about phi(z) z^2 / 2 = .14
times (sum of cubes) / (sum of squares)^1.5 at a level of 5% (Hall, 1992).

*Leverage.* With 60 clusters of which one holds 30% of the rows, a bootstrap of clusters rejects 16% of true nulls at a
level of 5%: the utility follows the large cluster, whose residual then looks small. Two corrections are made
(MacKinnon, Nielsen and Webb, 2023; Carter, Schnepel and Steigerwald, 2017):

- A unit is drawn with the deviation that leaving it out makes, so that draws have the variance of the jackknife (CV3;
  HC3 where rows are units). To first order leaving out unit i of stratum h moves U = (sum of u) / (sum of w) by its
  residual (u - U w) / W over 1 - l, where l = n / (n - 1) (w - mean w of h) / W. With equal units l is 0.
- Deviations are multiplied by what makes a normal distribution Student's t with (G* - 1) degrees of freedom. G* is the
  effective number of units, (sum of w)^2 / (sum of w^2): G where all are equal. In strata the degrees of freedom are
  fewer by the share (G - L) / (G - 1), so that L strata of equal clusters have the usual G - L.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO, Cells, U, W, by_utility
from improvable.inference.components import Gain, GroupGap, asked
from improvable.inference.evidence import Evidence
from improvable.inference.statistics import slopes_of, utilities_of
from improvable.question.claim import Claim
from improvable.question.utility import Measure

MOST_LEAN = 0.06
"""Tails against a claim that are longer than this raise a level of 5% by about one point."""
FAR = 4.0
"""A statistic so many standard errors from its null is not in doubt, whatever its tails."""
LARGEST = 0.9
"""A unit with more than this share of a group stands for it; nothing is left when it is left out."""


@dataclass(frozen=True)
class Condition:
    """A condition of a claim as a sum of utilities; large values speak for improvement.

    Attributes
    ----------
    kind : {"accuracy", "fairness"}
    name : str
        For sentences: "the accuracy of 'women'".
    measure : int
    member : array of shape (S,)
        The level to which each stratum of groups belongs.
    coefficients : array of shape (levels, 2)
        Of the utility of each level under either algorithm.
    margin : float
        The statistic.
    group : str or None
        Whose accuracy it is; None for everyone's, and for a gap.
    delta : float
    """

    kind: str
    name: str
    measure: int
    member: IntArray
    coefficients: FloatArray
    margin: float
    group: str | None = None
    delta: float = 0.0


def conditions(evidence: Evidence, claim: Claim) -> Iterator[Condition]:
    """Every condition of a claim: accuracy by group, and the candidate's gap between each pair of groups."""
    for part in asked(evidence, claim):
        yield from [_of_gain(evidence, part, claim)] if isinstance(part, Gain) else _of_gap(part, claim)


def _of_gain(evidence: Evidence, gain: Gain, claim: Claim) -> Condition:
    delta = gain.delta(claim)
    share, amount = (1 + gain.better * delta, 0.0) if claim.form == "ratio" else (1.0, delta)
    sides = gain.better * np.array([-share, 1.0])
    if gain.attribute is not None:
        member = gain.attribute.member
        weights = (np.array(gain.attribute.levels) == gain.group).astype(np.float64)
    elif isinstance(claim.overall, str) or claim.overall is None:
        member, weights = np.zeros(len(evidence.sums), dtype=np.int64), np.ones(1)
    else:
        named = claim.overall
        attribute = next(one for one in evidence.attributes if set(named) <= set(one.levels))
        member = attribute.member
        weights = np.array([named.get(level, 0.0) for level in attribute.levels]) / sum(named.values())
    margin = float(gain.contrast.values @ sides) - amount
    name, coefficients = f"the accuracy of '{gain.group}'", weights[:, None] * sides
    group = None if gain.attribute is None else gain.group
    return Condition("accuracy", name, gain.measure, member, coefficients, margin, group, delta)


def _of_gap(gap: GroupGap, claim: Claim) -> Iterator[Condition]:
    delta, name = gap.delta(claim), f"the gap by '{gap.attribute.name}'"
    share, amount = (1 - delta, 0.0) if claim.form == "ratio" else (1.0, delta)
    reference = gap.reference
    for (g, h), one in zip(gap.pairs, gap.signed(), strict=True):
        coefficients = np.zeros(gap.values.shape)
        coefficients[list(reference), STATUS_QUO] = share * np.array(gap.slopes(reference, STATUS_QUO))
        up, down = gap.slopes((g, h), CANDIDATE)
        coefficients[g, CANDIDATE] -= up
        coefficients[h, CANDIDATE] -= down
        margin = share * float(one.values[STATUS_QUO]) - amount - float(one.values[CANDIDATE])
        yield Condition("fairness", name, gap.measure, gap.attribute.member, gap.direction * coefficients, margin)


@dataclass(frozen=True)
class Influence:
    """Influence values of one condition, one for each cell of rows or clusters.

    Attributes
    ----------
    values : array of shape (cells,)
    kinds : array of shape (cells,)
        Kinds of rows: group, and which algorithms they count for. Clusters are of one kind.
    counts : array of shape (cells,)
    unit : {"row", "cluster"}
    """

    values: FloatArray
    kinds: IntArray
    counts: FloatArray
    unit: str

    @property
    def spread(self) -> float:
        """The statistic's standard error."""
        return float(np.sqrt((self.counts * self.values**2).sum()))

    @property
    def cubes(self) -> FloatArray:
        """By kind, the sum of cubes of deviations from the kind's mean.

        Kinds do not cancel, since they would not if other rows had been drawn.
        """
        rows = np.bincount(self.kinds, weights=self.counts)
        sums = np.bincount(self.kinds, weights=self.counts * self.values)
        mean = np.divide(sums, rows, out=np.zeros(len(rows)), where=rows > 0)
        return np.asarray(
            np.bincount(self.kinds, weights=self.counts * (self.values - mean[self.kinds]) ** 3), dtype=np.float64
        )

    @property
    def lean(self) -> float:
        """The tails against the claim: the sum of their cubes over the spread cubed."""
        return float(np.maximum(-self.cubes, 0).sum()) / self.spread**3 if self.spread > 0 else 0.0

    @property
    def largest(self) -> float:
        """The share of the variance that one row, or cluster, has."""
        return float((self.values**2).max()) / self.spread**2 if self.spread > 0 else 0.0

    def leans(self, margin: float) -> bool:
        """Whether tails against the claim are longer than chance makes them, and may decide.

        The lean of n normal values, which have none, is within two standard deviations, 2 sqrt(6) / n.
        """
        moving = float(self.counts[self.values != 0].sum())
        if self.spread == 0 or margin >= FAR * self.spread:
            return False
        return self.lean > max(MOST_LEAN, 2 * 6**0.5 / moving)


def influence_of(
    condition: Condition, strata: Sequence[Cells], sums: FloatArray, measures: Sequence[Measure] = ()
) -> Influence:
    """Influence values on a condition, by cell.

    The cells of each stratum of the design are of rows, one block per stratum of groups; or of clusters, one block that
    holds the sums of all strata. `sums` has shape (S, M, 2, 2); without formulas `measures` may be left out.
    """
    member, measure, coefficients = condition.member, condition.measure, condition.coefficients
    by_rows = strata[0].blocks == len(sums)
    totals = np.zeros((len(coefficients), *sums.shape[1:]))
    np.add.at(totals, member, sums)
    pairs = utilities_of(totals)
    slopes = [(measure, np.ones(coefficients.shape))]
    if measures and measures[measure].formula:
        slopes = slopes_of(pairs, measures[measure], measure)
    utilities = np.nan_to_num(pairs)
    out = []
    for cells in strata:
        every = cells.values.reshape(len(cells.counts), -1, *sums.shape[1:])
        values, counts_for = np.zeros(len(every)), np.zeros((len(every), 2), dtype=np.bool_)
        for at, slope in slopes:
            parts, whole = every[:, :, at], totals[:, at, :, W]
            share = coefficients * np.nan_to_num(slope)
            factor = np.divide(share, whole, out=np.zeros_like(share), where=whole > 0)
            if by_rows:
                level, one = member[cells.block], parts[:, 0]
                values += (factor[level] * (one[..., U] - utilities[level, at] * one[..., W])).sum(axis=1)
                counts_for |= one[..., W] != 0
            else:
                pieces = factor[member] * (parts[..., U] - utilities[member, at] * parts[..., W])
                values += pieces.sum(axis=(1, 2))
        kinds = np.zeros(len(every), dtype=np.int64)
        if by_rows:
            kinds = (member[cells.block] * 2 + counts_for[:, 0]) * 2 + counts_for[:, 1]
        out.append((values, kinds, cells.counts.astype(np.float64)))
    values, kinds, counts = (np.concatenate(parts) for parts in zip(*out, strict=True))
    return Influence(values, kinds, counts, "row" if by_rows else "cluster")


def largest_share(condition: Condition, strata: Sequence[Cells], shape: Sequence[int]) -> float:
    """The largest share that one row, or cluster, has in a sum of outcomes that a condition depends on."""
    member, whose = condition.member, condition.coefficients != 0
    total, top = np.zeros(whose.shape), np.zeros(whose.shape)
    for cells in strata:
        size = np.abs(cells.values.reshape(len(cells.counts), -1, *shape[1:])[:, :, condition.measure, :, U])
        levels = np.broadcast_to(member, size.shape[:2]) if size.shape[1] > 1 else member[cells.block][:, None]
        np.add.at(total, levels, cells.counts[:, None, None] * size)
        np.maximum.at(top, levels, size)
    return float(np.divide(top, total, out=np.zeros(whose.shape), where=whose & (total > 0)).max())


def left_out(loads: FloatArray, counts: FloatArray, units: int, whole: FloatArray) -> FloatArray:
    """By what the residuals of one stratum's units are multiplied, 1 / (1 - l).

    `loads` are w of a unit of each cell, (cells, ...); `units` counts those of no cell too; `whole` is W, the sum over
    all strata, shape (...).
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


def loads_of(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Rows that count, and what they are worth in rows of equal weight (Kish), each (blocks, utilities, 2)."""
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
