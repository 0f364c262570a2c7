"""The test of a claim (Section 3.2, Appendix A): p-values of its components, all of which must reject.

    T_g  = A_1g - (1 + Delta_g) A_0g                    accuracy of group g, large where it improves
    T_gh = (F_1g - F_1h) - (1 - Delta_f) (F_0r - F_0s)  fairness between g and h, small where it improves
    T_f  = |F_1r - F_1b| - (1 - Delta_f) |F_0r - F_0b|  the paper's absolute value, small where it improves

and over repetitions the lower median of the largest p-value (Corollary 1).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from improvable._typing import FloatArray
from improvable.inference.components import Contrast, Gain, asked, gap_statistics
from improvable.inference.evidence import Evidence
from improvable.inference.reference_pair import SeveralReferences
from improvable.inference.statistics import TIE
from improvable.question.claim import Claim, Form


@dataclass(frozen=True)
class Tail:
    """One component's p-value, in how many draws it was undefined, and whether no draw moved its statistic."""

    p_value: float
    undefined: int
    degenerate: bool


@dataclass(frozen=True)
class Component:
    """One of the conditions that must all hold."""

    kind: str  # "accuracy" or "fairness"
    measure: str  # the utility
    group: str  # the group whose accuracy it is, or the attribute whose gap it is
    status_quo: float  # the utility or the gap under either algorithm
    candidate: float
    tail: Tail  # the p-value that counts
    other: Tail | None = None  # for fairness, that of the statistic not used


@dataclass(frozen=True)
class Assessment:
    """The component p-values of one claim."""

    claim: Claim
    components: tuple[Component, ...]

    @property
    def p_value(self) -> float:
        """The largest component: all must reject at once (intersection-union, Proposition B.1)."""
        return max(component.tail.p_value for component in self.components)

    @property
    def undefined(self) -> int:
        """The most draws in which a component was undefined."""
        return max(component.tail.undefined for component in self.components)

    def of(self, kind: str) -> list[Component]:
        return [component for component in self.components if component.kind == kind]

    @property
    def p_accuracy(self) -> dict[str, float]:
        """By group, the largest over the accuracy utilities."""
        out: dict[str, float] = {}
        for component in self.of("accuracy"):
            out[component.group] = max(component.tail.p_value, out.get(component.group, 0.0))
        return out

    @property
    def p_fairness(self) -> float:
        """NaN where fairness is not asked for."""
        return max((component.tail.p_value for component in self.of("fairness")), default=np.nan)

    @property
    def p_fairness_other(self) -> float:
        return max((component.other.p_value for component in self.of("fairness") if component.other), default=np.nan)


def assess(evidence: Evidence, claim: Claim) -> Assessment:
    """Test whether the candidate improves on the status quo by the claimed size, in every component asked for."""
    components = []
    for part in asked(evidence, claim):
        if isinstance(part, Gain):
            before, after = map(float, part.contrast.values)
            statistic, draws = part.statistic(claim)
            tail = upper_tail(float(statistic), draws, scale=max(abs(before), abs(after)))
            components.append(Component("accuracy", part.label, part.group, before, after, tail))
            continue
        folded, size = part.folded(), (part.delta(claim), claim.form, part.scale)
        before, after = map(float, folded.values)
        absolute = gap_tail(folded, *size)
        signed = max((gap_tail(one, *size) for one in part.tested()), key=lambda tail: tail.p_value)
        used, other = (signed, absolute) if claim.gap == "signed" else (absolute, signed)
        components.append(Component("fairness", part.label, part.attribute.name, before, after, used, other))
    return Assessment(claim, tuple(components))


def upper_tail(statistic: float, draws: FloatArray, scale: float) -> Tail:
    """P = P*(T* - T >= T): how often chance alone moves the statistic as far up as it stands (Appendix A).

    `draws` are T*, NaN where undefined; `scale` is the size of the utilities that T is a difference of. Ties count
    against rejection, and so do draws in which T* is undefined. A statistic that no draw moves has no variance (it
    violates Assumption 3) and proves nothing: its p-value is 1.
    """
    defined = np.isfinite(draws)
    undefined = int((~defined).sum())
    tolerance = TIE * scale
    moved = np.abs(draws[defined] - statistic) > tolerance
    known = bool(np.isfinite([statistic, scale]).all())
    if not known or not moved.any():
        return Tail(1.0, undefined, degenerate=known)
    against = int((draws[defined] - statistic >= statistic - tolerance).sum()) + undefined
    return Tail(against / len(draws), undefined, degenerate=False)


def lower_tail(statistic: float, draws: FloatArray, scale: float) -> Tail:
    """P = P*(T* - T <= T), the mirror of `upper_tail`."""
    return upper_tail(-statistic, -draws, scale)


def gap_tail(gap: Contrast | SeveralReferences, delta: float, form: Form, scale: float) -> Tail:
    """The p-value of C < (1 - delta) max G, or of C < max G - delta; ties and undefined draws count against."""
    if isinstance(gap, Contrast):
        statistic, draws = gap_statistics(gap, delta, form)
        return lower_tail(float(statistic), draws, scale)
    undefined = int((~gap.defined).sum())
    share, amount = (1 - delta, 0.0) if form == "ratio" else (1.0, delta)
    if share < 0 or not np.isfinite([*gap.before, gap.after, scale]).all():
        return Tail(1.0, undefined, degenerate=False)  # no gap shrinks by more than all of it, nor one without a value
    before, after = gap.deviations
    apart = share * before - after[:, None]
    counted = gap.weights > 0
    if not (np.abs(apart[:, counted]) > TIE * scale).any():
        return Tail(1.0, undefined, degenerate=True)
    highest = float((gap.weights * (share * gap.before - amount - gap.after))[counted].max())
    largest = (gap.weights * (apart + TIE * scale))[:, counted].max(axis=1)
    against = int((largest >= highest).sum()) + undefined
    return Tail(against / len(gap.drawn_after), undefined, degenerate=False)


def threshold_for(alpha: float, repetitions: int) -> float:
    """What the lower median must be strictly below: alpha for one repetition, alpha / 2 for several.

    Whatever their dependence, the lower median of K p-values is below alpha / 2 exactly when at least half of them
    are. Where each is below alpha / 2 with probability at most alpha / 2, Markov's inequality bounds the chance of
    that by alpha (Corollary 1).
    """
    return alpha if repetitions == 1 else alpha / 2


def lower_median(p_values: ArrayLike) -> FloatArray:
    """The smallest median along the first axis, below a level exactly when at least half of the p-values are.

    >>> float(lower_median([0.2, 0.01, 0.03, 0.5]))
    0.03
    """
    p = np.sort(np.asarray(p_values, dtype=np.float64), axis=0)
    return np.asarray(p[(len(p) - 1) // 2])
