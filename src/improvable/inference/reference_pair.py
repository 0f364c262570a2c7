"""A reference pair of groups that was chosen on the rows that are tested: the test accounts for the choice.

The claim is that the candidate's gap between g and h, C, is below (1 - delta) times the *widest* gap of the status
quo. Its null is that C is at least (1 - delta) G_i for every pair i of groups. Picking the pair whose estimated gap is
widest, and testing it as if it had been given, rejects too often, since the widest estimate is too wide: with eight
tied groups, 35% of true nulls at a level of 5%. So every pair that may be the widest counts, and the statistic is

    max over these pairs i of ((1 - delta) G_i - C) / s_i,

s_i being the standard error of G_i - C. Its null distribution is that of the largest deviation, over the same pairs, of
the same draws. One pair alone is the plain test. The s_i do not depend on delta, so that the p-values of all deltas
come from the same draws, exactly (`critical.of_several`).

Which pairs count is contact-set selection (Andrews and Soares, 2010; Chernozhukov, Lee and Rosen, 2013): those whose
estimated gap is within kappa standard errors, of the difference of the two gaps, of the widest,

    kappa = sqrt(2 ln((k - 1) ln n))    for k groups and n independent units.

By the law of the iterated logarithm a pair that ties stays within sqrt(2 ln ln n) standard errors, and the largest of
k - 1 such differences is larger by what k - 1 adds. kappa grows without bound, so that ties count with probability
approaching one, and more slowly than sqrt(n), so that narrower pairs do not. It does not depend on the level.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt

import numpy as np

from improvable._typing import BoolArray, FloatArray
from improvable.inference.statistics import TIE, gap_between, ordered_pairs

SMALLEST_SPREAD = 0.01
"""A standard error is taken to be at least this share of that of independent gaps; it only sets a weight."""


def kappa(groups: int, units: float) -> float:
    """By how many standard errors a gap may be short of the widest and still count.

    `units` are rows or, where rows are clustered, clusters: the rows of a cluster add no further chances for a tie to
    come apart. A logarithm counts as at least 1, as is usual in the law of the iterated logarithm: ln ln n says nothing
    for a few units. So kappa is never below the square root of 2.

    Examples
    --------
    >>> [round(kappa(groups, 1_000), 2) for groups in (2, 3, 8)]
    [1.97, 2.29, 2.79]
    """
    return sqrt(2 * _log((groups - 1) * _log(units)))


def _log(value: float) -> float:
    return max(1.0, log(max(1.0, value)))


def contact_set(
    values: FloatArray,
    drawn: FloatArray,
    widest: tuple[int, int],
    units: int,
    protected: int | None = None,
    relative: int = 0,
) -> tuple[tuple[int, int], ...]:
    """The ordered pairs of groups between which the status quo's gap may be the widest, the one that is first.

    `values`, (groups,), and `drawn`, (Q, groups), are the status quo's utilities, turned as in `components.GroupGap`;
    `protected` and `relative` are those of `GroupGap` too, and `units` of `kappa`.
    """
    reach, tie = kappa(len(values), units), TIE * (1.0 if relative else float(np.abs(values).max()))

    def gap(r: int, s: int) -> tuple[float, FloatArray]:
        return float(gap_between(values[r], values[s], relative)), gap_between(drawn[:, r], drawn[:, s], relative)

    top, tops = gap(*widest)

    def near(pair: tuple[int, int]) -> bool:
        other, others = gap(*pair)
        apart = tops - others
        defined = apart[np.isfinite(apart)]
        return len(defined) > 0 and top - other <= reach * float(np.std(defined)) + tie

    others = [(r, s) for r, s in ordered_pairs(len(values), protected) if r != s and (r, s) != widest]
    return (widest, *filter(near, others))


def standard_errors(before: FloatArray, after: FloatArray, together: FloatArray) -> FloatArray:
    """Of the status quo's gaps less the candidate's, from the variances of both and their covariances."""
    apart = np.sqrt(np.maximum(before + after - 2 * together, 0.0))
    return np.asarray(np.maximum(apart, SMALLEST_SPREAD * np.sqrt(before + after)))


@dataclass(frozen=True)
class SeveralReferences:
    """One candidate gap beside the gaps of the status quo that may be its widest.

    Attributes
    ----------
    before : array of shape (references,)
        The status quo's gaps.
    drawn_before : array of shape (Q, references)
    after : float
        The candidate's gap.
    drawn_after : array of shape (Q,)
    """

    before: FloatArray
    drawn_before: FloatArray
    after: float
    drawn_after: FloatArray

    @cached_property
    def defined(self) -> BoolArray:
        """Which draws have all gaps, shape (Q,)."""
        return np.asarray(np.isfinite(self.drawn_before).all(axis=1) & np.isfinite(self.drawn_after))

    @cached_property
    def deviations(self) -> tuple[FloatArray, FloatArray]:
        """How far the defined draws stand from the sample: the status quo's gaps, and the candidate's."""
        return self.drawn_before[self.defined] - self.before, self.drawn_after[self.defined] - self.after

    @cached_property
    def weights(self) -> FloatArray:
        """One over the standard error of each gap's difference from the candidate's; 0 where nothing moves."""
        before, after = self.deviations
        if len(after) == 0:
            return np.zeros(len(self.before))
        together = np.einsum("qm,q->m", before, after) / len(after) - before.mean(axis=0) * after.mean()
        spread = standard_errors(np.var(before, axis=0), np.asarray(np.var(after)), together)
        moves = spread > TIE * max(float(np.abs(self.before).max()), abs(self.after))
        return np.asarray(np.divide(1.0, spread, out=np.zeros(len(spread)), where=moves))
