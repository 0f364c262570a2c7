"""The delta at which each draw turns against a claim: p-values of every delta at once,
from the same draws.

A draw counts against an accuracy claim where A1* - (1 + delta) A0* >= 2 (A1 - (1 +
delta) A0), which is where delta is at least (2 A1 - A1*) / (2 A0 - A0*) - 1; and
likewise for the gap, and for differences. So p(delta) is the share of draws whose
critical delta is at most delta, and the largest delta that a level supports is an order
statistic of critical deltas: exact, with no grid and no resampling.
"""

from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.components import Contrast, gains, gaps
from improvable.inference.evidence import Evidence
from improvable.inference.reference_pair import SeveralReferences
from improvable.inference.statistics import TIE
from improvable.question.claim import Claim, Form

# Where a draw turns that counts against no share: a gap cannot shrink by more than all
# of it.
BEYOND = float(np.nextafter(1.0, 2.0))
LOWER = -1  # a gap is better where it is lower


@dataclass(frozen=True)
class Critical:
    """The critical deltas of one condition."""

    turns: FloatArray  # sorted; such a draw counts against every delta from its own up
    # Sorted; such a draw counts against every delta up to its own. There are some only
    # where the status quo's value is so uncertain that a draw reflects it below zero,
    # or where several gaps may be its widest.
    returns: FloatArray
    # how many turns have their own return: such a draw counts against every delta from
    # the one to the other
    between: int = 0
    # how many draws there are, where some count against several ranges of delta
    number: int | None = None

    @property
    def draws(self) -> int:
        return (
            len(self.turns) + len(self.returns) if self.number is None else self.number
        )


Conditions = tuple[Critical, ...]


@dataclass(frozen=True)
class CriticalDeltas:
    """Critical deltas of one repetition."""

    # from each group (or "everyone") to its conditions, one per accuracy utility
    accuracy: dict[str, Conditions]
    # of the gap, by either statistic; one per condition that must hold
    signed: Conditions
    absolute: Conditions


def p_values(conditions: Conditions, deltas: FloatArray) -> FloatArray:
    """The p-value at each delta: the largest over the conditions of the share of draws
    against it; 0 without any.
    """
    shares = [
        np.zeros(len(deltas)),
        *(_against(one, deltas) / one.draws for one in conditions),
    ]
    return np.asarray(np.max(shares, axis=0), dtype=np.float64)


def largest_delta(conditions: Conditions, level: float) -> float:
    """The edge: every delta from no change up to it has a p-value strictly below the
    level.

    p < level where few enough draws count against delta. Going up from zero, draws turn
    and others return; the edge is the first turn at which there are too many, so that
    no claim below it rests on a test that was skipped. Where zero itself is not
    rejected, the edge is below it, and draws that return are taken to count against
    all.
    """
    return min((_edge(one, level) for one in conditions), default=np.inf)


def _edge(one: Critical, level: float) -> float:
    allowed = int(np.ceil(level * one.draws - 1e-9)) - 1
    ahead = one.turns[(one.turns > 0) & np.isfinite(one.turns)]
    if _against(one, np.zeros(1))[0] > allowed or len(ahead) == 0:
        rank = allowed - (len(one.returns) - one.between)
        return float(one.turns[rank]) if 0 <= rank < len(one.turns) else -np.inf
    too_many = _against(one, ahead) > allowed
    return float(ahead[np.argmax(too_many)] if too_many.any() else ahead[-1])


def _against(one: Critical, deltas: FloatArray) -> IntArray:
    """How many draws count against each delta."""
    turned = np.searchsorted(one.turns, deltas, side="right")
    back = np.searchsorted(one.returns, deltas, side="left")
    return np.asarray(turned + len(one.returns) - one.between - back)


def critical_deltas(evidence: Evidence, claim: Claim) -> CriticalDeltas:
    """Critical deltas of every component of a claim's form, sides and groups; its own
    deltas do not matter.
    """
    accuracy: dict[str, Conditions] = {}
    for gain in gains(evidence, claim):
        found = _of_contrast(gain.contrast, claim.form, gain.better)
        accuracy[gain.group] = (*accuracy.get(gain.group, ()), found)
    signed, absolute = [], []
    for gap in gaps(evidence, claim):
        for one in gap.tested():
            if isinstance(one, SeveralReferences):
                signed.append(of_several(one, claim.form, gap.scale))
            else:
                signed.append(_of_contrast(one, claim.form, LOWER))
        absolute.append(_of_contrast(gap.folded(), claim.form, LOWER))
    return CriticalDeltas(accuracy, tuple(signed), tuple(absolute))


def _of_contrast(contrast: Contrast, form: Form, better: int) -> Critical:
    """Critical deltas of U1 > (1 + delta) U0, or of U1 > U0 + delta; of a gap, gap1 <
    (1 - delta) gap0.
    """
    values, drawn = contrast.values, contrast.drawn
    reflected = 2 * values - drawn
    before, after = reflected[:, STATUS_QUO], reflected[:, CANDIDATE]
    if form == "difference":
        return _settled(
            better * (after - before), np.ones(len(before)), values, drawn, form
        )
    nothing = np.abs(before) <= TIE * float(np.abs(values).max())
    # Where the status quo's reflected value is zero no share of it matters: a draw is
    # against every delta, or none.
    always = np.where(better * after <= 0, -np.inf, np.inf)
    ratio = np.divide(
        after, before, out=np.full(after.shape, np.nan), where=before != 0
    )
    return _settled(
        np.where(nothing, always, better * (ratio - 1)), before, values, drawn, form
    )


def of_several(gap: SeveralReferences, form: Form, scale: float) -> Critical:
    """Critical deltas of a gap with several references, by the same inequality as
    `test.gap_tail`.

    With x = 1 - delta, a draw counts against x where one of its lines, w_i (x (G*_i -
    G_i) - (C* - C)), is at least as high as the statistic, the upper envelope of the
    lines w_j (x G_j - C). A line is above a convex function in an interval, so that a
    draw counts against a union of intervals. For amounts its lines are flat, and it is
    a half-line.
    """
    counted = np.flatnonzero(gap.weights > 0)
    before, after = (
        one[..., counted] if one.ndim > 1 else one for one in gap.deviations
    )
    total, tie = len(gap.drawn_after), TIE * scale
    undefined = np.full(total - len(after), -np.inf)
    if len(counted) == 0 or not np.isfinite([*gap.before, gap.after, scale]).all():
        return Critical(np.full(total, -np.inf), np.empty(0))
    weights, sample = gap.weights[counted], gap.before[counted]
    if form == "difference":
        largest = (weights * (before - after[:, None] + tie)).max(axis=1)
        turns = np.max(
            [g - gap.after - largest / w for g, w in zip(sample, weights, strict=True)],
            axis=0,
        )
        return Critical(np.sort(np.concatenate([undefined, turns])), np.empty(0))
    low, high = np.full(before.shape, -np.inf), np.full(before.shape, np.inf)
    for j in _envelope(weights * sample, -weights * gap.after):
        slope = weights * before - weights[j] * sample[j]
        level = weights * (tie - after[:, None]) + weights[j] * gap.after
        with np.errstate(divide="ignore", invalid="ignore"):
            root = -level / slope
        low = np.where(slope > 0, np.maximum(low, root), low)
        high = np.where(slope < 0, np.minimum(high, root), high)
        high = np.where((slope == 0) & (level < 0), -np.inf, high)
    starts, ends = _united(low, high)
    turn, back = np.isfinite(ends), starts > 0  # x runs from 0 up, against delta
    always = len(undefined) + int((~turn & ~back).sum())
    # where x is 0; more than all of the gap is against every draw
    absent = len(after) - int((~back).sum())
    turns = [np.full(always, -np.inf), 1 - ends[turn], np.full(absent, BEYOND)]
    between = int((turn & back).sum())
    return Critical(
        np.sort(np.concatenate(turns)), np.sort(1 - starts[back]), between, total
    )


def _envelope(slopes: FloatArray, levels: FloatArray) -> list[int]:
    """Which of several lines are the highest at some x from 0 up."""
    at = int(np.lexsort((slopes, levels))[-1])
    out = [at]
    while (slopes > slopes[at]).any():
        steeper = np.flatnonzero(slopes > slopes[at])
        crossing = (levels[at] - levels[steeper]) / (slopes[steeper] - slopes[at])
        at = int(steeper[np.lexsort((-slopes[steeper], crossing))[0]])
        out.append(at)
    return out


def _united(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Unions of intervals [low, high] from 0 up, by row: all starts and all ends."""
    empty = (low > high) | (high < 0)
    low, high = np.where(empty, np.inf, low), np.where(empty, -np.inf, high)
    order = np.argsort(low, axis=1, kind="stable")
    low, high = (np.take_along_axis(one, order, axis=1) for one in (low, high))
    reached = np.maximum.accumulate(high, axis=1)
    opens = low < np.inf
    opens[:, 1:] &= low[:, 1:] > reached[:, :-1]
    closes = np.ones_like(opens)
    closes[:, :-1] = opens[:, 1:] | (low[:, 1:] == np.inf)
    closes &= low < np.inf
    return low[opens], reached[closes]


def _settled(
    critical: FloatArray,
    reflected: FloatArray,
    values: FloatArray,
    drawn: FloatArray,
    form: Form,
) -> Critical:
    """Sort draws into those that turn and those that return; what is undefined or never
    moves is always against.

    `reflected` is the status quo's reflected value: below zero a share of it turns the
    inequality round. A draw turns a hair early and returns a hair late, so that
    floating point breaks no tie in favor of rejection.
    """
    scale = float(np.abs(values).max())
    defined = np.isfinite(drawn.T, order="C").all(axis=0)
    moved = np.abs(drawn[defined] - values) > TIE * scale
    if not np.isfinite(values).all() or not moved.any():
        return Critical(np.full(len(critical), -np.inf), np.empty(0))
    hair = TIE * (1.0 if form == "ratio" else scale)
    turns = np.where(defined, critical - hair, -np.inf)
    back = defined & np.isfinite(critical) & (reflected < 0)
    return Critical(np.sort(turns[~back]), np.sort(critical[back] + hair))
