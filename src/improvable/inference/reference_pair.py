"""A reference pair of groups that was chosen on the rows that are tested: the test
accounts for the choice.

The claim is that the candidate's gap between g and h, C, is below (1 - delta) times the
*widest* gap of the status quo; its null, that C is at least (1 - delta) G_i for every
pair i of groups. Testing the pair whose estimated gap is widest as if it had been given
rejects too often, since the widest estimate is too wide: with eight tied groups, 35% of
true nulls at a level of 5%. So every pair that may be the widest counts, and the
statistic is

    max over these pairs i of ((1 - delta) G_i - C) / s_i,
    s_i the standard error of G_i - C.

Its null distribution is that of the largest deviation, over the same pairs, of the same
draws. The s_i do not depend on delta, so that the p-values of all deltas come from the
same draws, exactly (`critical.of_several`).

Which pairs count is contact-set selection (Andrews and Soares, 2010; Chernozhukov, Lee
and Rosen, 2013): those whose estimated gap is within kappa = sqrt(2 ln((k - 1) ln n))
standard errors, of the difference of the two gaps, of the widest, for k groups and n
independent units. By the law of the iterated logarithm a tie stays within sqrt(2 ln ln
n), and k - 1 of them are somewhat farther. kappa grows more slowly than sqrt(n):
narrower ones drop out.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt

import numpy as np

from improvable._typing import BoolArray, FloatArray
from improvable.inference.statistics import TIE, gap_between, ordered_pairs

# a standard error is at least this share of that of independent gaps; it only sets a
# weight
MIN_SPREAD = 0.01


def kappa(groups: int, units: float) -> float:
    """By how many standard errors a gap may be short of the widest and still count.

    `units` are rows, or clusters: their rows add no chances for a tie to come apart. A
    logarithm counts as at least 1.
    """
    inner = max(1.0, log(max(1.0, units)))
    return sqrt(2 * max(1.0, log(max(1.0, (groups - 1) * inner))))


def contact_set(
    values: FloatArray,
    drawn: FloatArray,
    widest: tuple[int, int],
    units: int,
    protected: int | None = None,
    relative: int = 0,
) -> tuple[tuple[int, int], ...]:
    """The ordered pairs of groups between which the status quo's gap may be the widest,
    the widest first.

    `values`, (groups,), and `drawn`, (Q, groups), are the status quo's utilities,
    turned as in `components.GroupGap`.
    """
    reach, tie = (
        kappa(len(values), units),
        TIE * (1.0 if relative else float(np.abs(values).max())),
    )

    def gap(r: int, s: int) -> tuple[float, FloatArray]:
        return float(gap_between(values[r], values[s], relative)), gap_between(
            drawn[:, r], drawn[:, s], relative
        )

    top, tops = gap(*widest)

    def near(pair: tuple[int, int]) -> bool:
        other, others = gap(*pair)
        apart = tops - others
        defined = apart[np.isfinite(apart)]
        return len(defined) > 0 and top - other <= reach * float(np.std(defined)) + tie

    others = [
        (r, s)
        for r, s in ordered_pairs(len(values), protected)
        if r != s and (r, s) != widest
    ]
    return (widest, *filter(near, others))


def standard_errors(
    before: FloatArray, after: FloatArray, together: FloatArray
) -> FloatArray:
    """Of the status quo's gaps less the candidate's, from the variances of both and
    their covariances.
    """
    apart = np.sqrt(np.maximum(before + after - 2 * together, 0.0))
    return np.asarray(np.maximum(apart, MIN_SPREAD * np.sqrt(before + after)))


@dataclass(frozen=True)
class SeveralReferences:
    """The candidate's gap, `after`, beside the gaps of the status quo that may be its
    widest, (references,).
    """

    before: FloatArray
    drawn_before: FloatArray  # (Q, references)
    after: float
    drawn_after: FloatArray  # (Q,)

    @cached_property
    def defined(self) -> BoolArray:
        """Which draws have all gaps, shape (Q,)."""
        return np.asarray(
            np.isfinite(self.drawn_before.T, order="C").all(axis=0)
            & np.isfinite(self.drawn_after)
        )

    @cached_property
    def deviations(self) -> tuple[FloatArray, FloatArray]:
        """How far the defined draws stand from the sample: the status quo's gaps, and
        the candidate's.
        """
        return self.drawn_before[self.defined] - self.before, self.drawn_after[
            self.defined
        ] - self.after

    @cached_property
    def weights(self) -> FloatArray:
        """One over the standard error of each gap's difference from the candidate's; 0
        where nothing moves.
        """
        before, after = self.deviations
        if len(after) == 0:
            return np.zeros(len(self.before))
        together = (
            np.einsum("qm,q->m", before, after) / len(after)
            - before.mean(axis=0) * after.mean()
        )
        spread = standard_errors(
            np.var(before, axis=0), np.asarray(np.var(after)), together
        )
        moves = spread > TIE * max(float(np.abs(self.before).max()), abs(self.after))
        return np.asarray(
            np.divide(1.0, spread, out=np.zeros(len(spread)), where=moves)
        )
