"""How much each row, or cluster, moves a statistic: exact from cells, and what its shape says of the bootstrap.

A statistic is a sum of utilities times coefficients. To first order a row moves the utility U = E[u] / E[w] of its
group by (u - U w) / (sum of w), and a formula of several by the sum of that times its derivatives (the delta method).
The squares of these influence values add up to the statistic's variance. Their cubes
say how far its distribution leans: where a long tail points *against* the claim, a sample that happens to miss it looks
better than the truth and less variable, and the centered bootstrap rejects too often, by about
phi(z) z^2 / 2 = .14 times (sum of cubes) / (sum of squares)^1.5 at a level of 5% (Hall, 1992).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.inference.cells import Cells, U, W
from improvable.inference.statistics import slopes_of, utilities_of
from improvable.question.utilities import Measure


@dataclass(frozen=True)
class Shape:
    """What the influence values of a statistic look like.

    Attributes
    ----------
    spread : float
        The statistic's standard error.
    lean : float
        The tails against the claim, each kind of row (group, and which algorithms it counts for) apart: the sum of
        cubes over the spread cubed. Kinds do not cancel, since they would not if other rows had been drawn.
    largest : float
        The share of the variance that one row, or cluster, has.
    units : int
        Rows, or clusters, that move the statistic at all.
    """

    spread: float
    lean: float
    largest: float
    units: int

    @property
    def chance(self) -> float:
        """Two standard deviations of the lean of as many normal values, which have none: sqrt(6) / n each."""
        return 2 * 6**0.5 / self.units


@dataclass(frozen=True)
class Influence:
    """Influence values of any statistic of one utility.

    Attributes
    ----------
    strata : sequence of Cells
        Of rows, one block per stratum of groups; or of clusters, one block that holds the sums of all strata. One entry
        per stratum of the design.
    sums : array of shape (S, M, 2, 2)
    measures : sequence of Measure
        As in `Evidence`; without formulas they may be left out.
    """

    strata: Sequence[Cells]
    sums: FloatArray
    measures: Sequence[Measure] = ()

    @property
    def by_rows(self) -> bool:
        """Whether units are rows, each of one stratum of groups."""
        return self.strata[0].blocks == len(self.sums)

    def shape(self, measure: int, member: IntArray, coefficients: FloatArray) -> Shape:
        """Of the sum, over levels and algorithms, of coefficient times utility; large values speak for the claim.

        Parameters
        ----------
        measure : int
        member : array of shape (S,)
            The level to which each stratum of groups belongs.
        coefficients : array of shape (levels, 2)
        """
        values, kinds, counts = (
            np.concatenate(parts) for parts in zip(*self._values(measure, member, coefficients), strict=True)
        )
        squares = float((counts * values**2).sum())
        if not squares > 0:
            return Shape(0.0, 0.0, 0.0, 0)
        rows = np.bincount(kinds, weights=counts)
        mean = np.divide(np.bincount(kinds, weights=counts * values), rows, out=np.zeros(len(rows)), where=rows > 0)
        cubes = np.bincount(kinds, weights=counts * (values - mean[kinds]) ** 3)
        lean = float(np.maximum(-cubes, 0).sum()) / squares**1.5
        return Shape(squares**0.5, lean, float((values**2).max()) / squares, int(counts[values != 0].sum()))

    def _values(
        self, measure: int, member: IntArray, coefficients: FloatArray
    ) -> Iterator[tuple[FloatArray, IntArray, FloatArray]]:
        """By stratum of the design: influence values of its cells, kinds of rows, and counts."""
        levels = len(coefficients)
        sums = np.zeros((levels, *self.sums.shape[1:]))
        np.add.at(sums, member, self.sums)
        pairs = utilities_of(sums)
        slopes = [(measure, np.ones(coefficients.shape))]
        if self.measures and self.measures[measure].formula:
            slopes = slopes_of(pairs, self.measures[measure], measure)
        utilities = np.nan_to_num(pairs)
        for cells in self.strata:
            every = cells.values.reshape(len(cells.counts), -1, *self.sums.shape[1:])
            values, counts_for = np.zeros(len(every)), np.zeros((len(every), 2), dtype=np.bool_)
            for at, slope in slopes:
                parts, whole = every[:, :, at], sums[:, at, :, W]
                share = coefficients * np.nan_to_num(slope)
                factor = np.divide(share, whole, out=np.zeros_like(share), where=whole > 0)
                if self.by_rows:
                    level, one = member[cells.block], parts[:, 0]
                    values += (factor[level] * (one[..., U] - utilities[level, at] * one[..., W])).sum(axis=1)
                    counts_for |= one[..., W] != 0
                else:
                    pieces = factor[member] * (parts[..., U] - utilities[member, at] * parts[..., W])
                    values += pieces.sum(axis=(1, 2))
            kinds = np.zeros(len(every), dtype=np.int64)
            if self.by_rows:
                kinds = (member[cells.block] * 2 + counts_for[:, 0]) * 2 + counts_for[:, 1]
            yield values, kinds, cells.counts.astype(np.float64)
