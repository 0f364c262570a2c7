"""The delta at which each draw turns against a claim: p-values of every delta at once, from the same draws.

A draw counts against an accuracy claim where A1* - (1 + delta) A0* >= 2 (A1 - (1 + delta) A0), which is where delta is
at least (2 A1 - A1*) / (2 A0 - A0*) - 1; and likewise for the gap, and for differences. So p(delta) is the share of
draws whose critical delta is at most delta, and the largest delta that a level supports is an order statistic of
critical deltas: exact, with no grid and no resampling.
"""

from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.evidence import EVERYONE, Evidence
from improvable.inference.pvalues import TIE
from improvable.inference.statistics import unfairness
from improvable.question.claim import Claim, Form


@dataclass(frozen=True)
class Critical:
    """The critical deltas of one condition.

    Attributes
    ----------
    turns : array
        Sorted; such a draw counts against every delta from its own up.
    returns : array
        Sorted; such a draw counts against every delta up to its own. There are some only where the status quo's value
        is so uncertain that a draw reflects it below zero.
    """

    turns: FloatArray
    returns: FloatArray

    @property
    def draws(self) -> int:
        return len(self.turns) + len(self.returns)


Conditions = tuple[Critical, ...]


@dataclass(frozen=True)
class CriticalDeltas:
    """Critical deltas of one split.

    Attributes
    ----------
    accuracy : dict
        From each group (or "everyone") to its conditions, one per accuracy utility.
    signed, absolute : tuple of Critical
        Of the gap, by either statistic; one per condition that must hold.
    """

    accuracy: dict[str, Conditions]
    signed: Conditions
    absolute: Conditions


def p_values(conditions: Conditions, deltas: FloatArray) -> FloatArray:
    """The p-value at each delta: the largest over the conditions of the share of draws that count against it.

    No conditions, where only the others are asked for, are met: 0.
    """
    shares = [np.zeros(len(deltas)), *(_against(one, deltas) / one.draws for one in conditions)]
    return np.asarray(np.max(shares, axis=0), dtype=np.float64)


def largest_delta(conditions: Conditions, level: float) -> float:
    """The edge: every delta from no change up to it has a p-value strictly below the level.

    p < level where at most so many draws count against delta. Going up from zero, draws turn and others return; the
    edge is the first turn at which there are too many, so that no claim below it rests on a test that was skipped.
    Where zero itself is not rejected, the edge is below it, and draws that return are taken to count against all.
    """
    return min((_edge(one, int(np.ceil(level * one.draws - 1e-9)) - 1) for one in conditions), default=np.inf)


def _edge(one: Critical, allowed: int) -> float:
    ahead = one.turns[(one.turns > 0) & np.isfinite(one.turns)]
    if _against(one, np.zeros(1))[0] > allowed or len(ahead) == 0:
        rank = allowed - len(one.returns)
        return float(one.turns[rank]) if rank >= 0 else -np.inf
    too_many = _against(one, ahead) > allowed
    return float(ahead[np.argmax(too_many)] if too_many.any() else ahead[-1])


def _against(one: Critical, deltas: FloatArray) -> IntArray:
    """How many draws count against each delta."""
    turned = np.searchsorted(one.turns, deltas, side="right")
    return np.asarray(turned + len(one.returns) - np.searchsorted(one.returns, deltas, side="left"))


def critical_deltas(evidence: Evidence, claim: Claim) -> CriticalDeltas:
    """Critical deltas of every component of a claim's form, sides and groups; its own deltas do not matter."""
    accuracy: dict[str, Conditions] = {}
    for measure in evidence.accuracy:
        # Where lower is better, U1 < (1 - delta) U0 is the condition that a gap has.
        gain = _of_gain if evidence.better(measure) > 0 else _of_gap
        if claim.overall is not None:
            values, drawn = evidence.overall(claim.overall, measure)
            accuracy[EVERYONE] = (*accuracy.get(EVERYONE, ()), gain(values, drawn, claim.form))
            continue
        for a, attribute in enumerate(evidence.attributes):
            for g, group in enumerate(attribute.levels):
                values, drawn = evidence.values[a][g, measure], evidence.drawn[a][:, g, measure]
                accuracy[group] = (*accuracy.get(group, ()), gain(values, drawn, claim.form))
    signed: list[Critical] = []
    absolute: list[Critical] = []
    for measure in evidence.fairness:
        for a, attribute in enumerate(evidence.attributes):
            protected = attribute.place_of(claim.protected)
            direction = evidence.direction(measure, protected)
            values = direction * evidence.values[a][:, measure]
            drawn = direction * evidence.drawn[a][:, :, measure]
            r, s = evidence.reference(a, measure, protected)
            before, before_drawn = values[r] - values[s], drawn[:, r] - drawn[:, s]
            groups = range(len(attribute.levels))
            for g in groups:
                for h in groups if protected is None else (protected,):
                    if g != h or protected is not None:
                        pair = np.array([before[STATUS_QUO], values[g, CANDIDATE] - values[h, CANDIDATE]])
                        draws = np.stack(
                            [before_drawn[:, STATUS_QUO], drawn[:, g, CANDIDATE] - drawn[:, h, CANDIDATE]], axis=1
                        )
                        signed.append(_of_gap(pair, draws, claim.form))
            folded, folds = (unfairness(np.moveaxis(x, -2, -1), protected) for x in (values, drawn))
            absolute.append(_of_gap(folded, folds, claim.form))
    return CriticalDeltas(accuracy, tuple(signed), tuple(absolute))


def _of_gain(values: FloatArray, drawn: FloatArray, form: Form) -> Critical:
    """Critical deltas of U1 > (1 + delta) U0, or of U1 > U0 + delta; arrays (2,) and (draws, 2)."""
    reflected = 2 * values - drawn
    before, after = reflected[:, STATUS_QUO], reflected[:, CANDIDATE]
    if form == "difference":
        return _settled(after - before, np.ones(len(before)), values, drawn, form)
    nothing = np.abs(before) <= TIE * float(np.abs(values).max())
    critical = np.where(nothing, _for_or_against(after <= 0), _ratio(after, before) - 1)
    return _settled(critical, before, values, drawn, form)


def _of_gap(values: FloatArray, drawn: FloatArray, form: Form) -> Critical:
    """Critical deltas of gap1 < (1 - delta) gap0, or of gap1 < gap0 - delta; arrays (2,) and (draws, 2)."""
    reflected = 2 * values - drawn
    before, after = reflected[:, STATUS_QUO], reflected[:, CANDIDATE]
    if form == "difference":
        return _settled(before - after, np.ones(len(before)), values, drawn, form)
    nothing = np.abs(before) <= TIE * float(np.abs(values).max())
    critical = np.where(nothing, _for_or_against(after >= 0), 1 - _ratio(after, before))
    return _settled(critical, before, values, drawn, form)


def _for_or_against(against: BoolArray) -> FloatArray:
    """Where the status quo's reflected value is zero no share of it matters: a draw is against every delta, or none."""
    return np.where(against, -np.inf, np.inf)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0))


def _settled(
    critical: FloatArray, reflected: FloatArray, values: FloatArray, drawn: FloatArray, form: Form
) -> Critical:
    """Sort draws into those that turn and those that return; what is undefined or never moves is always against.

    `reflected` is the status quo's reflected value: below zero a share of it turns the inequality round. A draw turns a
    hair early and returns a hair late, so that floating point breaks no tie in favour of rejection.
    """
    scale = float(np.abs(values).max())
    defined = np.isfinite(drawn).all(axis=1)
    moved = np.abs(drawn[defined] - values) > TIE * scale
    if not np.isfinite(values).all() or not moved.any():
        return Critical(np.full(len(critical), -np.inf), np.empty(0))
    hair = TIE * (1.0 if form == "ratio" else scale)
    turns = np.where(defined, critical - hair, -np.inf)
    back = defined & np.isfinite(critical) & (reflected < 0)
    return Critical(np.sort(turns[~back]), np.sort(critical[back] + hair))
