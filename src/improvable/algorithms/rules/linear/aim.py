"""What a claim asks of a linear classifier, in numbers: the constraints of Appendix F for any Delta."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.inference.statistics import reference_pair
from improvable.question.claim import Claim

EVERYONE = "everyone"


@dataclass(frozen=True)
class Aim:
    """A claim as bounds on the utilities of a candidate, from the status quo's on the same rows.

    An accuracy component is a weighted sum of the utilities of blocks: one group, a mean of groups, or everyone
    (Remark 1). Blocks are the groups, then everyone where `pooled`. A fairness component is a difference between two
    groups; with a protected group only its own falling short counts (Remark 2), as in `signed_statistics`.

    Attributes
    ----------
    weights : array of shape (C, blocks)
        What each accuracy component is made of.
    pooled : bool
        Whether everyone is a block.
    before : array of shape (A, C)
        The status quo's accuracies.
    least : array of shape (A, C)
        What the candidate's must exceed, (1 + Delta_g) U_0g.
    slope : array of shape (A, C)
        By how much `least` rises with the status quo's accuracy.
    upper, lower : arrays of shape (P,)
        The pairs (g, h) of groups.
    direction : array of shape (F,)
        -1 where a protected group is worse off with a higher value.
    reference : array of shape (F, 2)
        The pair between which the status quo's gap is widest.
    gaps : array of shape (F,)
        The status quo's gaps.
    most : array of shape (F,)
        What the candidate's must stay below, (1 - Delta_f) times as much.
    gap_slope : array of shape (F,)
        By how much `most` rises with the status quo's gap.
    """

    weights: FloatArray
    pooled: bool
    before: FloatArray
    least: FloatArray
    slope: FloatArray
    upper: IntArray
    lower: IntArray
    direction: FloatArray
    reference: IntArray
    gaps: FloatArray
    most: FloatArray
    gap_slope: FloatArray

    def accuracies(self, utilities: FloatArray) -> FloatArray:
        """Accuracy components, from utilities of shape (blocks, A, B): (C, A, B)."""
        return np.asarray(np.einsum("cb,bkn->ckn", self.weights, utilities))

    def differences(self, utilities: FloatArray) -> FloatArray:
        """Fairness components, from utilities of shape (groups, F, B): (P, F, B); the gap is their maximum."""
        return np.asarray(self.direction[:, None] * (utilities[self.upper] - utilities[self.lower]))


def aim_at(
    claim: Claim,
    levels: Sequence[str],
    accuracy: FloatArray,
    fairness: FloatArray,
    everyone: FloatArray | None = None,
    lower_is_better: Sequence[bool] = (),
    utilities: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> Aim:
    """State a claim in numbers.

    Parameters
    ----------
    claim : Claim
    levels : sequence of str
        Names of the G groups.
    accuracy, fairness : arrays of shape (G, A) and (G, F)
        The status quo's utilities.
    everyone : array of shape (A,), optional
        The status quo's utilities of the whole population, for ``overall="population"``.
    lower_is_better : sequence of bool, length F
        Of the fairness utilities; none is where empty.
    utilities : pair of sequences of str
        Labels of the accuracy and of the fairness utilities, for deltas that name them.
    """
    groups, pooled = len(levels), claim.overall == "population"
    if pooled:
        assert everyone is not None
        weights, before, names = np.eye(1, groups + 1, groups), everyone[:, None], [EVERYONE]
    elif claim.overall is not None and not isinstance(claim.overall, str):
        share = np.array([claim.overall.get(level, 0.0) for level in levels])
        weights = (share / share.sum())[None, :]
        before, names = (weights @ accuracy).T, [EVERYONE]
    else:
        weights, before, names = np.eye(groups), accuracy.T, list(levels)
    labels, gap_labels = (
        list(given) or [""] * values.shape[1] for given, values in zip(utilities, (accuracy, fairness), strict=True)
    )
    deltas = np.array([[claim.delta_of(name, label) for name in names] for label in labels])
    gap_deltas = np.array([claim.gap_delta(label) for label in gap_labels])
    ratio = claim.form == "ratio"
    protected = next((g for g, level in enumerate(levels) if level in claim.protected), None)
    turned = np.array([bool(low) for low in lower_is_better] or [False] * fairness.shape[1])
    direction = np.where(turned & (protected is not None), -1.0, 1.0)
    facing = direction * fairness
    reference = np.array([reference_pair(values, protected) for values in facing.T])
    gaps = np.array([values[g] - values[h] for values, (g, h) in zip(facing.T, reference, strict=True)])
    pairs = permutations(range(groups), 2) if protected is None else ((g, protected) for g in range(groups))
    upper, lower = np.array(list(pairs), dtype=np.int64).T
    return Aim(
        weights=weights,
        pooled=pooled,
        before=before,
        least=(1 + deltas) * before if ratio else before + deltas,
        slope=1 + deltas if ratio else np.ones(deltas.shape),
        upper=upper,
        lower=lower,
        direction=direction,
        reference=reference,
        gaps=gaps,
        most=(1 - gap_deltas) * gaps if ratio else gaps - gap_deltas,
        gap_slope=1 - gap_deltas if ratio else np.ones(len(gap_deltas)),
    )
