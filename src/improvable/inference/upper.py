"""Upper bounds: how large an improvement the draws rule out, the mirror image of what
they support.

The parameter is the largest delta for which every condition holds: accuracy with no
loss and the candidate's gap, for every pair of groups, at most (1 - delta) times the
widest gap of the status quo; or the like of accuracy. "It is at least delta" is
rejected where *some* condition is significantly violated (union-intersection). With T_c
turned so that large values speak for improvement and s_c its standard error, the
statistic and its distribution are

    max over c of -T_c(delta) / s_c    and    max over c of (T_c - T*_c)(delta) / s_c,
    jointly, from the same draws,

where conditions are taken to hold just so, which is the least favorable case. Those
that clearly hold, by more than kappa standard errors, are left out (moment selection,
as in `reference_pair`, with the number of conditions for that of other groups). Which
pair of groups has the widest gap under the status quo is not known: the violation must
be significant beside every pair of the contact set, whichever pair lower bounds are
about. With a protected group the gap may also be zero. Draws may be corrected for the
other tail (`corrections`), and draws of skewed sums lean the wrong way: the p-value is
the larger one of the draws as they are and of their mirror image.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np

from improvable._typing import FloatArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.components import Gain, GroupGap, asked
from improvable.inference.evidence import Evidence
from improvable.inference.reference_pair import contact_set, kappa
from improvable.inference.statistics import TIE, reference_pair
from improvable.inference.unknown import best_case
from improvable.question.claim import Claim, Form

# steps from the top, then halvings of one of them: a bound is up to a thousandth too
# high
COARSE, HALVINGS = 8, 7
ALL = 0.999  # a bound above this share of all there is rules out nothing
# the statistic; draws of it, and their mirror image, (Q,)
Violation = tuple[float, FloatArray, FloatArray]


@dataclass(frozen=True)
class Part:
    """Conditions on the accuracy of groups, or on one gap, n of them.

    T = sign * after - (sign + delta) * before, or sign * (after - before) - delta for
    amounts. Of a gap, whose sign is -1, it is (1 - delta) * before - after, for each
    reference pair that may be the status quo's widest.
    """

    sign: FloatArray  # (n,)
    before: FloatArray  # (references, n), or (references, 1)
    after: FloatArray  # (n,)
    drawn_before: FloatArray  # (Q, references, n), or (Q, references, 1)
    drawn_after: FloatArray  # (Q, n)
    scale: FloatArray  # size of the utilities, for ties: (n,), or (1,)
    form: Form
    reach: float  # conditions that hold by more standard errors than this do not count
    # the delta of conditions that stay as they are, (n,); None for the one in question
    held: FloatArray | None = None
    # by reference, of conditions that stay as they are
    known: dict[int, Violation] = field(default_factory=dict)

    def violation(self, delta: float, reference: int) -> Violation:
        if self.held is None:
            return self._violation(delta, reference)
        if reference not in self.known:
            self.known[reference] = self._violation(self.held, reference)
        return self.known[reference]

    def _violation(self, size: float | FloatArray, reference: int) -> Violation:
        """How far the conditions are violated beside one reference, in standard errors.

        What never moves is left out, and what clearly holds. An undefined draw counts
        against rejecting, and of an undefined statistic all do.
        """

        def statistic(before: FloatArray, after: FloatArray) -> FloatArray:
            if self.form == "ratio":
                return np.asarray(self.sign * after - (self.sign + size) * before)
            return np.asarray(self.sign * (after - before) - size)

        value = statistic(self.before[reference], self.after)
        apart = statistic(self.drawn_before[:, reference], self.drawn_after) - value
        # a row for each condition: long ones are faster
        defined = np.isfinite(apart.T, order="C").all(axis=0)
        down, up = np.full((2, len(apart)), np.inf)
        if not defined.any():
            return -np.inf, down, up
        spread = (apart := apart[defined]).std(axis=0)
        moves = (spread > TIE * self.scale) & (value <= self.reach * spread)
        studentized = np.ascontiguousarray(apart.T)[moves] / spread[moves, None]
        down[defined], up[defined] = (
            -studentized.min(axis=0, initial=np.inf),
            studentized.max(axis=0, initial=-np.inf),
        )
        return (
            float(
                ((-value - TIE * self.scale)[moves] / spread[moves]).max(
                    initial=-np.inf
                )
            ),
            down,
            up,
        )


def parts_of(evidence: Evidence, claim: Claim, what: str, form: Form) -> list[Part]:
    """The conditions of a claim. The delta of `what`, accuracy or fairness, is in
    question; others have the claim's.
    """
    parts, every = [], list(asked(best_case(evidence), claim))
    number = sum(1 if isinstance(part, Gain) else len(part.pairs) for part in every)
    reach = kappa(number + 1, evidence.units)
    gains = [part for part in every if isinstance(part, Gain)]
    if gains:
        values = np.stack([one.contrast.values for one in gains], axis=1)  # (2, n)
        drawn = np.stack([one.contrast.drawn for one in gains], axis=2)  # (Q, 2, n)
        own, sign = (
            np.array([one.delta(claim) for one in gains]),
            np.array([float(one.better) for one in gains]),
        )
        sides = (
            values[[STATUS_QUO]],
            values[CANDIDATE],
            drawn[:, [STATUS_QUO]],
            drawn[:, CANDIDATE],
        )
        size = (form, reach, None) if what == "accuracy" else (claim.form, reach, own)
        parts.append(Part(sign, *sides, np.abs(values).max(axis=0), *size))
    for gap in (part for part in every if isinstance(part, GroupGap)):
        held = np.full(len(gap.pairs), gap.delta(claim))
        size = (form, reach, None) if what == "fairness" else (claim.form, reach, held)
        before = [gap.between(pair, STATUS_QUO) for pair in _references(gap, evidence)]
        after = [gap.between(pair, CANDIDATE) for pair in gap.pairs]
        sides = (
            np.array([[value] for value, _ in before]),
            np.array([value for value, _ in after]),
            np.stack([drawn for _, drawn in before], axis=1)[:, :, None],
            np.stack([drawn for _, drawn in after], axis=1),
        )
        parts.append(
            Part(np.full(len(after), -1.0), *sides, np.array([gap.scale]), *size)
        )
    return parts


def _references(gap: GroupGap, evidence: Evidence) -> list[tuple[int, int]]:
    """The pairs of groups whose gap may be the widest; beside a protected group itself,
    the gap is zero.
    """
    values, drawn = gap.values[:, STATUS_QUO], gap.drawn[..., STATUS_QUO]
    widest = reference_pair(values, gap.protected)
    found = contact_set(
        values, drawn, widest, evidence.units, gap.protected, gap.relative
    )
    return [
        *found,
        *([] if gap.protected is None else [(gap.protected, gap.protected)]),
    ]


def _p_values(parts: Sequence[Part], delta: float) -> Iterator[float]:
    """One for each choice of a reference in every part, the widest ones first."""
    violation = cache(lambda j, reference: parts[j].violation(delta, reference))
    for choice in product(*(range(len(part.before)) for part in parts)):
        values, *draws = zip(
            *(violation(j, reference) for j, reference in enumerate(choice)),
            strict=True,
        )
        yield max(float((np.max(some, axis=0) >= max(values)).mean()) for some in draws)


def upper_p_value(parts: Sequence[Part], delta: float) -> float:
    """The p-value of "the improvement is at least delta": the largest over the
    references.
    """
    return max(_p_values(parts, delta))


def upper_bound(parts: Sequence[Part], level: float) -> float:
    """The smallest delta from which every larger one has a p-value strictly below the
    level, or slightly more.

    It is looked for between 0 and all there is: a share of 1, or an amount of the
    status quo's own value. 0 where even no change is ruled out, and infinite where
    nothing is.
    """
    asked_about = [part for part in parts if part.held is None]
    whole = 1.0
    if asked_about[0].form == "difference":
        whole = min(
            float(np.abs(part.before.max(axis=0)).min()) for part in asked_about
        )

    def ruled_out(share: float) -> bool:
        return all(p < level for p in _p_values(parts, share * whole))

    steps = range(COARSE, -1, -1)
    kept = next((step for step in steps if not ruled_out(step / COARSE)), -1)
    if kept in (COARSE, -1) or not np.isfinite(whole):
        return 0.0 if kept == -1 else np.inf
    low, high = kept / COARSE, (kept + 1) / COARSE
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if ruled_out(middle) else (middle, high)
    return high * whole if high < ALL else np.inf
