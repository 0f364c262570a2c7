"""What a held-out sample says, kept as sums and draws, and the intersection-union test of any claim upon it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.data.groups import Attribute
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.pvalues import Tail, lower_tail, upper_tail
from improvable.inference.statistics import (
    accuracy_statistic,
    folded_statistic,
    reference_pair,
    signed_statistics,
    unfairness,
    utilities_of,
)
from improvable.question.claim import Claim
from improvable.question.utilities import Measure

ALGORITHMS = ("status_quo", "candidate")
"""Names along the algorithm axis: index `STATUS_QUO`, index `CANDIDATE`."""
EVERYONE = "everyone"


@dataclass(frozen=True)
class Evidence:
    """Sums over a held-out sample and over its bootstrap draws: all that inference needs.

    Attributes
    ----------
    attributes : tuple of Attribute
        The groups, each a set of the S strata.
    measures : tuple of Measure, length M
        The distinct utilities.
    accuracy, fairness : tuple of int
        Which utilities measure accuracy, which fairness.
    sums : array of shape (S, M, 2, 2)
        Axes: stratum, utility, algorithm, part.
    draws : array of shape (Q, S, M, 2, 2)
    training : array of shape (S, M, 2)
        The status quo's sums on the training rows, which fix the reference pair of groups.
    method : {"bootstrap", "delta"}
        How the draws were made: from cells, or from the normal limit.
    """

    attributes: tuple[Attribute, ...]
    measures: tuple[Measure, ...]
    accuracy: tuple[int, ...]
    fairness: tuple[int, ...]
    sums: FloatArray
    draws: FloatArray
    training: FloatArray
    method: str = "bootstrap"

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(level for attribute in self.attributes for level in attribute.levels)

    @cached_property
    def values(self) -> tuple[FloatArray, ...]:
        """Utilities on the sample, one array of shape (groups, M, 2) per attribute."""
        return tuple(utilities_of(_by_level(self.sums[None], attribute)[0]) for attribute in self.attributes)

    @cached_property
    def drawn(self) -> tuple[FloatArray, ...]:
        """Utilities on the draws, one array of shape (Q, groups, M, 2) per attribute."""
        return tuple(utilities_of(_by_level(self.draws, attribute)) for attribute in self.attributes)

    def reference(self, attribute: int, measure: int, protected: int | None = None) -> tuple[int, int]:
        """The pair of groups between which the status quo's gap was widest on the training rows."""
        values = self.training_values(attribute, measure)
        return reference_pair(self.direction(measure, protected) * values, protected)

    def training_values(self, attribute: int, measure: int) -> FloatArray:
        """The status quo's utility of every group on the training rows."""
        return utilities_of(_by_level(self.training[None, :, measure, :], self.attributes[attribute])[0])

    def direction(self, measure: int, protected: int | None) -> float:
        """-1 where a protected group is worse off with a higher value (a false positive rate); 1 otherwise."""
        return 1.0 if protected is None or self.measures[measure].worse_off == "lower" else -1.0

    def better(self, measure: int) -> int:
        """-1 where a lower value is more accurate; 1 otherwise."""
        return 1 if self.measures[measure].higher_is_better else -1

    def overall(self, weights: str | Mapping[str, float], measure: int) -> tuple[FloatArray, FloatArray]:
        """One utility for everyone, (2,) on the sample and (Q, 2) on the draws (Remark 1).

        The whole population's E[u] / E[w], or a weighted mean of the groups' utilities.
        """
        if isinstance(weights, str):
            return utilities_of(self.sums[:, measure].sum(axis=0)), utilities_of(self.draws[:, :, measure].sum(axis=1))
        a = next(a for a, attribute in enumerate(self.attributes) if set(weights) <= set(attribute.levels))
        share = np.array([weights.get(level, 0.0) for level in self.attributes[a].levels])
        share /= share.sum()
        counted = np.flatnonzero(share)
        return (
            np.tensordot(share[counted], self.values[a][counted, measure], axes=(0, 0)),
            np.einsum("g,qgt->qt", share[counted], self.drawn[a][:, counted, measure]),
        )


def _by_level(sums: FloatArray, attribute: Attribute) -> FloatArray:
    """Add the strata of each level: axis 1 goes from strata to levels."""
    out = np.zeros((len(sums), len(attribute.levels), *sums.shape[2:]))
    for stratum, level in enumerate(attribute.member):
        out[:, level] += sums[:, stratum]
    return out


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
    """Test whether the candidate improves on the status quo by the claimed size, in every component."""
    components = []
    for measure in evidence.accuracy:
        if claim.overall is not None:
            values, drawn = evidence.overall(claim.overall, measure)
            components.append(_accuracy(evidence, measure, EVERYONE, values, drawn, claim))
            continue
        for a, attribute in enumerate(evidence.attributes):
            for g, group in enumerate(attribute.levels):
                values, drawn = evidence.values[a][g, measure], evidence.drawn[a][:, g, measure]
                components.append(_accuracy(evidence, measure, group, values, drawn, claim))
    for measure in evidence.fairness:
        components += [_fairness(evidence, measure, a, claim) for a in range(len(evidence.attributes))]
    return Assessment(claim, tuple(component for component in components if claim.asks(component.kind)))


def _accuracy(
    evidence: Evidence, measure: int, group: str, values: FloatArray, drawn: FloatArray, claim: Claim
) -> Component:
    before, after = float(values[STATUS_QUO]), float(values[CANDIDATE])
    size = claim.delta_of(group), claim.form, evidence.better(measure)
    tail = upper_tail(
        float(accuracy_statistic(values[STATUS_QUO], values[CANDIDATE], *size)),
        accuracy_statistic(drawn[:, STATUS_QUO], drawn[:, CANDIDATE], *size),
        scale=max(abs(before), abs(after)),
    )
    return Component("accuracy", evidence.measures[measure].label, group, before, after, tail)


def _fairness(evidence: Evidence, measure: int, a: int, claim: Claim) -> Component:
    attribute = evidence.attributes[a]
    protected = attribute.place_of(claim.protected)
    direction = evidence.direction(measure, protected)
    values, drawn = direction * evidence.values[a][:, measure], direction * evidence.drawn[a][:, :, measure]
    scale = float(np.abs(values).max())
    before, after = values[:, STATUS_QUO], values[:, CANDIDATE]
    draws_before, draws_after = drawn[..., STATUS_QUO], drawn[..., CANDIDATE]
    absolute = lower_tail(
        float(folded_statistic(before, after, claim.delta_fairness, claim.form, protected)),
        folded_statistic(draws_before, draws_after, claim.delta_fairness, claim.form, protected),
        scale,
    )
    reference = evidence.reference(a, measure, protected)
    statistics = signed_statistics(before, after, reference, claim.delta_fairness, claim.form, protected)
    draws = signed_statistics(draws_before, draws_after, reference, claim.delta_fairness, claim.form, protected)
    signed = _largest([lower_tail(float(statistics[j]), draws[:, j], scale) for j in range(len(statistics))])
    used, other = (signed, absolute) if claim.gap == "signed" else (absolute, signed)
    return Component(
        kind="fairness",
        measure=evidence.measures[measure].label,
        group=attribute.name,
        status_quo=float(unfairness(before, protected)),
        candidate=float(unfairness(after, protected)),
        tail=used,
        other=other,
    )


def _largest(tails: list[Tail]) -> Tail:
    return max(tails, key=lambda tail: tail.p_value)
