"""The intersection-union test of a claim upon the evidence: one p-value per component, all of which must reject."""

from dataclasses import dataclass

import numpy as np

from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.components import Contrast, Gain, GroupGap, gains, gaps
from improvable.inference.evidence import Evidence
from improvable.inference.pvalues import Tail, lower_tail, upper_tail
from improvable.inference.reference_pair import SeveralReferences
from improvable.inference.statistics import accuracy_statistic, gap_statistic
from improvable.question.claim import Claim, Form


@dataclass(frozen=True)
class Component:
    """One of the conditions that must all hold.

    Attributes
    ----------
    kind : {"accuracy", "fairness"}
    measure : str
        The utility.
    group : str
        The group whose accuracy it is, or the attribute whose gap it is.
    status_quo, candidate : float
        The utility or the gap under either algorithm.
    tail : Tail
        The p-value that counts.
    other : Tail or None
        For fairness, that of the statistic not used.
    """

    kind: str
    measure: str
    group: str
    status_quo: float
    candidate: float
    tail: Tail
    other: Tail | None = None


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
    accuracy = [_accuracy(evidence, gain, claim) for gain in gains(evidence, claim) if claim.asks("accuracy")]
    fairness = [_fairness(evidence, gap, claim) for gap in gaps(evidence, claim) if claim.asks("fairness")]
    return Assessment(claim, (*accuracy, *fairness))


def _accuracy(evidence: Evidence, gain: Gain, claim: Claim) -> Component:
    values, drawn = gain.contrast.values, gain.contrast.drawn
    before, after = float(values[STATUS_QUO]), float(values[CANDIDATE])
    label = evidence.measures[gain.measure].label
    size = claim.delta_of(gain.group, label), claim.form, gain.better
    tail = upper_tail(
        float(accuracy_statistic(values[STATUS_QUO], values[CANDIDATE], *size)),
        accuracy_statistic(drawn[:, STATUS_QUO], drawn[:, CANDIDATE], *size),
        scale=max(abs(before), abs(after)),
    )
    return Component("accuracy", label, gain.group, before, after, tail)


def _fairness(evidence: Evidence, gap: GroupGap, claim: Claim) -> Component:
    folded, label = gap.folded(), evidence.measures[gap.measure].label
    size = claim.gap_delta(label), claim.form, gap.scale
    absolute = gap_tail(folded, *size)
    signed = max((gap_tail(one, *size) for one in gap.tested()), key=lambda tail: tail.p_value)
    used, other = (signed, absolute) if claim.gap == "signed" else (absolute, signed)
    return Component(
        kind="fairness",
        measure=label,
        group=gap.attribute.name,
        status_quo=float(folded.values[STATUS_QUO]),
        candidate=float(folded.values[CANDIDATE]),
        tail=used,
        other=other,
    )


def gap_tail(gap: Contrast | SeveralReferences, delta: float, form: Form, scale: float) -> Tail:
    """The p-value of one condition on the gap."""
    if isinstance(gap, SeveralReferences):
        return gap.tail(delta, form, scale)
    return lower_tail(
        float(gap_statistic(gap.values[STATUS_QUO], gap.values[CANDIDATE], delta, form)),
        gap_statistic(gap.drawn[:, STATUS_QUO], gap.drawn[:, CANDIDATE], delta, form),
        scale,
    )
