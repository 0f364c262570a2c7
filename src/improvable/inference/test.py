"""The test of a claim (Section 3.2, Appendix A): p-values of its components, all of
which must reject.

    T_g  = A_1g - (1 + Delta_g) A_0g
           accuracy of group g, large where it improves
    T_gh = (F_1g - F_1h) - (1 - Delta_f) (F_0r - F_0s)
           fairness between g and h, small where it improves
    T_f  = |F_1r - F_1b| - (1 - Delta_f) |F_0r - F_0b|
           the paper's absolute value, small where it improves

and over repetitions the lower median of the largest p-value (Corollary 1). At the end:
how far components stand from their nulls, and what a test that did not reject lacked.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load when they are first used
from numpy.typing import ArrayLike

from improvable._typing import FloatArray
from improvable.inference.components import (
    Contrast,
    Gain,
    GroupGap,
    Statistic,
    asked,
    gap_statistics,
)
from improvable.inference.evidence import Evidence
from improvable.inference.reference_pair import SeveralReferences
from improvable.inference.statistics import TIE
from improvable.question.claim import Claim, Form

POWER = 0.8  # of a single test, for what would have been detected


@dataclass(frozen=True)
class Tail:
    """One component's p-value, in how many draws it was undefined, and whether no draw
    moved its statistic.
    """

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
        """The largest component: all must reject at once (intersection-union,
        Proposition B.1).
        """
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
            out[component.group] = max(
                component.tail.p_value, out.get(component.group, 0.0)
            )
        return out

    @property
    def p_fairness(self) -> float:
        """NaN where fairness is not asked for."""
        return max(
            (component.tail.p_value for component in self.of("fairness")),
            default=np.nan,
        )

    @property
    def p_fairness_other(self) -> float:
        return max(
            (
                component.other.p_value
                for component in self.of("fairness")
                if component.other
            ),
            default=np.nan,
        )


def assess(evidence: Evidence, claim: Claim) -> Assessment:
    """Test whether the candidate improves on the status quo by the claimed size, in
    every component asked for.
    """
    components = []
    for part in asked(evidence, claim):
        if isinstance(part, Gain):
            before, after = map(float, part.contrast.values)
            statistic, draws = part.statistic(claim)
            tail = upper_tail(
                float(statistic), draws, scale=max(abs(before), abs(after))
            )
            components.append(
                Component("accuracy", part.label, part.group, before, after, tail)
            )
            continue
        folded, size = part.folded(), (part.delta(claim), claim.form, part.scale)
        before, after = map(float, folded.values)
        absolute = gap_tail(folded, *size)
        signed = max(
            (gap_tail(one, *size) for one in part.tested()),
            key=lambda tail: tail.p_value,
        )
        used, other = (
            (signed, absolute) if claim.gap == "signed" else (absolute, signed)
        )
        components.append(
            Component(
                "fairness", part.label, part.attribute.name, before, after, used, other
            )
        )
    return Assessment(claim, tuple(components))


def upper_tail(statistic: float, draws: FloatArray, scale: float) -> Tail:
    """P = P*(T* - T >= T): how often chance alone moves the statistic as far up as it
    stands (Appendix A).

    `draws` are T*, NaN where undefined; `scale` is the size of the utilities that T is
    a difference of. Ties count against rejection, and so do draws in which T* is
    undefined. A statistic that no draw moves has no variance (it violates Assumption 3)
    and proves nothing: its p-value is 1.
    """
    defined = np.isfinite(draws)
    undefined = int((~defined).sum())
    tolerance = TIE * scale
    moved = np.abs(draws[defined] - statistic) > tolerance
    known = bool(np.isfinite([statistic, scale]).all())
    if not known or not moved.any():
        return Tail(1.0, undefined, degenerate=known)
    against = (
        int((draws[defined] - statistic >= statistic - tolerance).sum()) + undefined
    )
    return Tail(against / len(draws), undefined, degenerate=False)


def lower_tail(statistic: float, draws: FloatArray, scale: float) -> Tail:
    """P = P*(T* - T <= T), the mirror of `upper_tail`."""
    return upper_tail(-statistic, -draws, scale)


def gap_tail(
    gap: Contrast | SeveralReferences, delta: float, form: Form, scale: float
) -> Tail:
    """The p-value of C < (1 - delta) max G, or of C < max G - delta; ties and undefined
    draws count against.
    """
    if isinstance(gap, Contrast):
        statistic, draws = gap_statistics(gap, delta, form)
        return lower_tail(float(statistic), draws, scale)
    undefined = int((~gap.defined).sum())
    share, amount = (1 - delta, 0.0) if form == "ratio" else (1.0, delta)
    if share < 0 or not np.isfinite([*gap.before, gap.after, scale]).all():
        # no gap shrinks by more than all of it, nor one without a value
        return Tail(1.0, undefined, degenerate=False)
    before, after = gap.deviations
    apart = share * before - after[:, None]
    counted = gap.weights > 0
    if not (np.abs(apart[:, counted]) > TIE * scale).any():
        return Tail(1.0, undefined, degenerate=True)
    highest = float(
        (gap.weights * (share * gap.before - amount - gap.after))[counted].max()
    )
    largest = (gap.weights * (apart + TIE * scale))[:, counted].max(axis=1)
    against = int((largest >= highest).sum()) + undefined
    return Tail(against / len(gap.drawn_after), undefined, degenerate=False)


def threshold_for(alpha: float, repetitions: int) -> float:
    """What the lower median must be strictly below: alpha for one repetition, alpha / 2
    for several.

    Whatever their dependence, the lower median of K p-values is below alpha / 2 exactly
    when at least half of them are. Where each is below alpha / 2 with probability at
    most alpha / 2, Markov's inequality bounds the chance of that by alpha (Corollary
    1).
    """
    return alpha if repetitions == 1 else alpha / 2


def lower_median(p_values: ArrayLike) -> FloatArray:
    """The smallest median along the first axis, below a level exactly when at least
    half of the p-values are.

    >>> float(lower_median([0.2, 0.01, 0.03, 0.5]))
    0.03
    """
    p = np.sort(np.asarray(p_values, dtype=np.float64), axis=0)
    return np.asarray(p[(len(p) - 1) // 2])


@dataclass(frozen=True)
class Shortfall:
    """The condition that kept one test from rejecting."""

    component: Component  # the one with the largest p-value
    # what the candidate's value had to pass, (1 + delta) times the status quo's if the
    # form is "ratio"
    needed: float
    # from the statistic to its null, positive on the side of improvement; of several,
    # the least; None where undefined
    standard_errors: float | None
    error: float | None = None  # that standard error, in units of the utility


def shortfall(evidence: Evidence, claim: Claim, assessment: Assessment) -> Shortfall:
    """The weakest condition of a test; among equal p-values, the one nearest to its
    null.
    """
    found = []
    for part, component in zip(
        asked(evidence, claim), assessment.components, strict=True
    ):
        change, before = (
            part.delta(claim) * (part.better if isinstance(part, Gain) else -1),
            component.status_quo,
        )
        needed = before * (1 + change) if claim.form == "ratio" else before + change
        margins = [_margin(one) for one in _statistics(part, claim, claim.gap)]
        known = all(margin is not None for margin, _ in margins)
        least = (
            min(margins, key=lambda one: _or_lowest(one[0])) if known else (None, None)
        )
        found.append(Shortfall(component, needed, *least))
    return max(
        found,
        key=lambda one: (one.component.tail.p_value, -_or_lowest(one.standard_errors)),
    )


def rows_needed(rows: int, standard_errors: float | None, level: float) -> float | None:
    """About how many rows give a single test power .8 if the estimate is the truth.

    Statistics grow with the square root of the rows, in standard errors, and a test
    rejects with probability .8 where the expected one exceeds the critical value by the
    .8 quantile of the normal distribution. None where the estimate is on the wrong
    side: no number of rows would do.

    >>> round(rows_needed(1_000, 1.4, 0.025))
    4005
    """
    if standard_errors is None or standard_errors <= 0:
        return None
    return float(rows * (_reach(level) / standard_errors) ** 2)


def detectable(
    needed: float, error: float | None, level: float, above: bool
) -> float | None:
    """The value nearest to what was needed that a single test would have shown with
    probability .8.

    >>> round(detectable(5.0, 0.1, 0.025, above=True), 3)
    5.28
    """
    if error is None or not np.isfinite(needed):
        return None
    reach = float(_reach(level) * error)
    return needed + reach if above else needed - reach


def studentized_margins(evidence: Evidence, claim: Claim) -> list[float]:
    """Every statistic over its bootstrap standard error, turned so that large values
    speak for improvement.

    Fairness is judged by the signed statistics. What is undefined in a draw, or never
    varies, is infinitely far off.
    """
    statistics = [
        one
        for part in asked(evidence, claim)
        for one in _statistics(part, claim, "signed")
    ]
    return [
        _or_lowest(_margin(one)[0]) if np.isfinite(one[1]).all() else -np.inf
        for one in statistics
    ]


def _reach(level: float) -> float:
    """How many standard errors from its null a statistic must be expected for power
    .8.
    """
    return float(scipy.special.ndtri(1 - level) + scipy.special.ndtri(POWER))


def _or_lowest(errors: float | None) -> float:
    return -np.inf if errors is None else errors


def _statistics(part: Gain | GroupGap, claim: Claim, gap: str) -> list[Statistic]:
    """Of one component, turned so that large values speak for improvement."""
    if isinstance(part, Gain):
        return [part.statistic(claim)]
    conditions = part.signed() if gap == "signed" else [part.folded()]
    both = [gap_statistics(one, part.delta(claim), claim.form) for one in conditions]
    return [(-statistic, -draws) for statistic, draws in both]


def _margin(one: Statistic) -> tuple[float | None, float | None]:
    """A statistic in standard errors, and the standard error."""
    statistic, draws = one
    defined = draws[np.isfinite(draws)]
    spread = float(np.std(defined)) if len(defined) else 0.0
    return (
        (float(statistic) / spread, spread)
        if np.isfinite(statistic) and spread > 0
        else (None, None)
    )
