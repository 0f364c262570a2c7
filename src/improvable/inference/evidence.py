"""What a held-out sample says, kept as sums and draws, and the intersection-union test of any claim upon it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from improvable.arrays import FloatArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.criteria import (
    Claim,
    accuracy_statistic,
    folded_statistic,
    signed_statistics,
    utilities_of,
)
from improvable.inference.pvalues import Tail, lower_tail, upper_tail

ALGORITHMS = ("status_quo", "candidate")
"""Names along the algorithm axis: index `STATUS_QUO`, index `CANDIDATE`."""


@dataclass(frozen=True)
class Evidence:
    """Sums over a held-out sample and over its bootstrap draws: all that inference needs.

    Attributes
    ----------
    groups : tuple of str, length G
    utilities : tuple of str, length M
        Labels of the distinct utilities.
    accuracy, fairness : int
        Which utility measures accuracy, which fairness.
    sums : array of shape (G, M, 2, 2)
        Axes: group, utility, algorithm, part.
    draws : array of shape (Q, G, M, 2, 2)
    reference : tuple of int
        The pair of groups with the status quo's largest gap on the training rows.
    """

    groups: tuple[str, ...]
    utilities: tuple[str, ...]
    accuracy: int
    fairness: int
    sums: FloatArray
    draws: FloatArray
    reference: tuple[int, int]

    @cached_property
    def values(self) -> FloatArray:
        """Utilities on the sample, shape (G, M, 2)."""
        return utilities_of(self.sums)

    @cached_property
    def drawn(self) -> FloatArray:
        """Utilities on the draws, shape (Q, G, M, 2)."""
        return utilities_of(self.draws)


@dataclass(frozen=True)
class Assessment:
    """The component p-values of one claim: accuracy by group, fairness by both statistics."""

    claim: Claim
    accuracy: tuple[Tail, ...]
    signed: Tail
    absolute: Tail

    @property
    def fairness(self) -> Tail:
        return self.signed if self.claim.gap == "signed" else self.absolute

    @property
    def fairness_other(self) -> Tail:
        return self.absolute if self.claim.gap == "signed" else self.signed

    @property
    def p_value(self) -> float:
        """The largest component: all must reject at once (intersection-union, Proposition B.1)."""
        return max(tail.p_value for tail in (*self.accuracy, self.fairness))

    @property
    def undefined(self) -> int:
        """The most draws in which a component was undefined."""
        return max(tail.undefined for tail in (*self.accuracy, self.fairness))


def assess(evidence: Evidence, claim: Claim) -> Assessment:
    """Test whether the candidate improves on the status quo by the claimed size."""
    values, drawn = evidence.values, evidence.drawn
    accuracy = []
    for g, delta in enumerate(claim.accuracy):
        before, after = values[g, evidence.accuracy]
        draws = drawn[:, g, evidence.accuracy]
        accuracy.append(
            upper_tail(
                float(accuracy_statistic(before, after, delta, claim.form)),
                accuracy_statistic(draws[:, STATUS_QUO], draws[:, CANDIDATE], delta, claim.form),
                scale=max(abs(before), abs(after)),
            )
        )
    before, after = values[:, evidence.fairness, STATUS_QUO], values[:, evidence.fairness, CANDIDATE]
    draws_before, draws_after = drawn[:, :, evidence.fairness, STATUS_QUO], drawn[:, :, evidence.fairness, CANDIDATE]
    scale = float(np.abs(values[:, evidence.fairness]).max())
    size = (claim.fairness, claim.form)
    folded = lower_tail(
        float(folded_statistic(before, after, *size)), folded_statistic(draws_before, draws_after, *size), scale
    )
    statistics = signed_statistics(before, after, evidence.reference, *size)
    draws = signed_statistics(draws_before, draws_after, evidence.reference, *size)
    signed = max(
        (lower_tail(float(statistics[j]), draws[:, j], scale) for j in range(len(statistics))),
        key=lambda tail: tail.p_value,
    )
    return Assessment(claim, tuple(accuracy), signed, folded)
