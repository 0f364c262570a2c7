"""A reference pair of groups that was chosen on the rows that are tested: the test accounts for the choice.

The claim is that the candidate's gap between g and h, C, is below (1 - delta) times the *widest* gap of the status
quo. Its null is that C is at least (1 - delta) G_i for every pair i of groups. Picking the pair whose estimated gap is
widest, and testing it as if it had been given, rejects too often, since the widest estimate is too wide: with eight
tied groups, 35% of true nulls at a level of 5%. So every pair that may be the widest is a rival, and the statistic is

    max over rivals i of ((1 - delta) G_i - C) / s_i,

s_i being the standard error of G_i - C. Its null distribution is that of the largest deviation, over the same rivals,
of the same draws. A pair is a rival where its estimated gap is within `near` standard errors (of the difference of the
two gaps) of the widest. One rival alone is the plain test. The s_i do not depend on delta, so that the p-values of all
deltas come from the same draws, exactly (`critical.of_rivals`).

A pair that is tied with the widest is now and then left out by chance, and then the widest looks too wide. So where
there are rivals, p-values are multiplied by `SURCHARGE`. How near is near, and the surcharge, were chosen by simulation
in the normal limit: together they keep the level at 4.4 to 5.6% where 3, 4 or 8 groups tie, of equal sizes or not, and
cost the least power where nothing is tied. Letting in more rivals instead costs more, since pairs that are not tied
come in too.

What is near enough at a level of 5% is not at 1%: a smaller level asks for a firmer reason to leave a pair out. The
`doubt` about a pair is the level below which it is a rival. Pairs whose doubt is 5% or more are near; of those below,
the p-value says that leaving them out was allowed, or counts them: it is the smaller of (a) the p-value with the near
pairs alone, but no less than the largest doubt about the others, and (b) the p-value with all of them. At 5% this is
the test with the near pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray
from improvable.inference.pvalues import TIE, Tail
from improvable.inference.statistics import gap_between
from improvable.question.claim import Form

LEFT_OUT = 1 / 11
"""Over the number of other groups: how often a pair as wide as the widest may be left out."""
REVERSED = 2.05
"""The widest pair the other way round is a rival unless its gap is surely of that sign: by more than the 1.96 standard
errors that the test itself asks of a gap of unknown sign."""
SURCHARGE = 1.2
"""By what a p-value is multiplied where another pair than the widest, or its reverse, is a rival."""
CHOSEN_AT = 0.05
"""The level at which these were chosen."""
SURE = 1e-4
"""A pair with less doubt is left out at any level."""
SMALLEST_SPREAD = 0.01
"""A rival's standard error is taken to be at least this share of that of independent gaps; it only sets a weight."""


def doubt(errors: FloatArray | float, groups: int, *, reverse: bool) -> FloatArray:
    """The level below which a pair counts that is so many standard errors short of the widest.

    Parameters
    ----------
    errors : float or array
    groups : int
    reverse : bool
        Whether it is the widest pair the other way round.

    Examples
    --------
    >>> float(doubt(0.0, 3, reverse=False).round(3)), float(doubt(REVERSED, 2, reverse=True).round(3))
    (0.55, 0.05)
    """
    from scipy.special import ndtr

    left_out = ndtr(-REVERSED) if reverse else LEFT_OUT / (groups - 1)
    return np.asarray(CHOSEN_AT * ndtr(-np.asarray(errors)) / left_out)


@dataclass(frozen=True)
class Contenders:
    """The pairs of groups between which the status quo's gap may be the widest.

    Attributes
    ----------
    near : tuple of (int, int)
        Those that count at any level up to 5%, the one that is the widest on the sample first.
    doubtful : tuple of (int, int)
        Those that count at smaller levels only.
    doubt : float
        The largest doubt about these: at a level above it, they do not count.
    """

    near: tuple[tuple[int, int], ...]
    doubtful: tuple[tuple[int, int], ...] = ()
    doubt: float = 0.0


def contenders(
    values: FloatArray, drawn: FloatArray, widest: tuple[int, int], protected: int | None, relative: int = 0
) -> Contenders:
    """Which pairs may be the widest.

    Parameters
    ----------
    values : array of shape (groups,)
    drawn : array of shape (Q, groups)
    widest : (int, int)
    protected : int or None
        The lower group of every pair, where one is protected.
    relative : {0, 1, -1}
        How a gap is measured, as in `gap_between`.
    """
    groups = range(len(values))
    lower = groups if protected is None else (protected,)
    defined = drawn[np.isfinite(drawn).all(axis=1)]
    if relative:
        defined = defined[(relative * defined > 0).all(axis=1)]
    if len(defined) == 0:
        return Contenders((widest,))

    def gap(r: int, s: int) -> tuple[float, FloatArray]:
        return float(gap_between(values[r], values[s], relative)), gap_between(defined[:, r], defined[:, s], relative)

    top, tops = gap(*widest)
    doubts: dict[tuple[int, int], float] = {}
    for r in groups:
        for s in lower:
            if r == s or (r, s) == widest:
                continue
            other, others = gap(r, s)
            spread = float(np.std(tops - others))
            errors = (top - other) / spread if spread > 0 else (np.inf if top > other else 0.0)
            doubts[r, s] = float(doubt(errors, len(values), reverse=(s, r) == widest))
    doubtful = [pair for pair, one in doubts.items() if SURE <= one < CHOSEN_AT]
    return Contenders(
        (widest, *(pair for pair, one in doubts.items() if one >= CHOSEN_AT)),
        tuple(doubtful),
        max((doubts[pair] for pair in doubtful), default=0.0),
    )


def surcharge_of(references: Sequence[tuple[int, int]]) -> float:
    """By what p-values are multiplied: a pair and its reverse leave out nothing by chance, and pay nothing.

    Examples
    --------
    >>> surcharge_of([(0, 1)]), surcharge_of([(0, 1), (1, 0)]), surcharge_of([(0, 2), (1, 2)])
    (1.0, 1.0, 1.2)
    """
    return SURCHARGE if len({frozenset(pair) for pair in references}) > 1 else 1.0


@dataclass(frozen=True)
class Rivals:
    """One candidate gap beside the gaps of the status quo that may be its widest.

    Attributes
    ----------
    before : array of shape (rivals,)
        The status quo's gaps.
    drawn_before : array of shape (Q, rivals)
    after : float
        The candidate's gap.
    drawn_after : array of shape (Q,)
    surcharge : float
        By what the p-value is multiplied.
    """

    before: FloatArray
    drawn_before: FloatArray
    after: float
    drawn_after: FloatArray
    surcharge: float = 1.0

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
        """One over the standard error of each rival's difference from the candidate's gap; 0 where nothing moves."""
        before, after = self.deviations
        if len(after) == 0:
            return np.zeros(len(self.before))
        variances = np.var(before, axis=0), np.var(after)
        together = np.einsum("qm,q->m", before, after) / len(after) - before.mean(axis=0) * after.mean()
        apart = np.sqrt(np.maximum(variances[0] + variances[1] - 2 * together, 0.0))
        spread = np.maximum(apart, SMALLEST_SPREAD * np.sqrt(variances[0] + variances[1]))
        moves = spread > TIE * max(float(np.abs(self.before).max()), abs(self.after))
        return np.asarray(np.divide(1.0, spread, out=np.zeros(len(spread)), where=moves))

    def tail(self, delta: float, form: Form, scale: float) -> Tail:
        """The p-value of C < (1 - delta) max G, or of C < max G - delta; ties and undefined draws count against."""
        undefined = int((~self.defined).sum())
        share, amount = (1 - delta, 0.0) if form == "ratio" else (1.0, delta)
        if share < 0 or not (np.isfinite(self.before).all() and np.isfinite(self.after)):
            return Tail(1.0, undefined, degenerate=False)  # no gap shrinks by more than all of it
        before, after = self.deviations
        apart = share * before - after[:, None]
        counted = self.weights > 0
        if not (np.abs(apart[:, counted]) > TIE * scale).any():
            return Tail(1.0, undefined, degenerate=True)
        statistic = float((self.weights * (share * self.before - amount - self.after))[counted].max())
        largest = (self.weights * (apart + TIE * scale))[:, counted].max(axis=1)
        against = int((largest >= statistic).sum()) + undefined
        return Tail(min(1.0, self.surcharge * against / len(self.drawn_after)), undefined, degenerate=False)
