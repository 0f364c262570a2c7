"""Candidates that select few people, or nobody, whom the status quo does not select:
outcomes are known.

Such a candidate sees the status quo's decision when it decides. Scores of people whom
the status quo does not select are lowered by one constant, found on training rows,
until at most the share allowed is left among those selected.
"""

from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import Limits
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.models import steady
from improvable.algorithms.thresholds import Score, Threshold, ThresholdedScore, cutoff
from improvable.data.frame import FrameLike, Rows, read_rows
from improvable.errors import RuleError

HALVINGS = 40


@dataclass(frozen=True)
class LoweredScore:
    """A score that is lower by a constant for people whom the status quo does not
    select.
    """

    scorer: Score
    status_quo: Algorithm
    by: float

    def score(self, rows: Rows) -> FloatArray:
        return np.asarray(
            self.scorer.score(rows) - self.by * (self.status_quo.decide(rows) == 0)
        )


@dataclass(frozen=True)
class BothSelect:
    """Selects whom an algorithm and the status quo both select."""

    algorithm: Algorithm
    status_quo: Algorithm

    @property
    def draws_ties(self) -> bool:
        return bool(getattr(self.algorithm, "draws_ties", False))

    def decide(self, frame: FrameLike) -> FloatArray:
        rows = read_rows(frame)
        return np.asarray(
            self.algorithm.decide(rows) * (self.status_quo.decide(rows) != 0)
        )


def limit_unseen(
    found: Algorithm | Threshold,
    limits: Limits,
    status_quo: Algorithm,
    rows: Rows,
    weights: FloatArray | None,
) -> Algorithm | Threshold:
    """What a rule found, with the scores of people whom the status quo does not select
    lowered as far as need be.
    """
    if not isinstance(found, Threshold | ThresholdedScore):
        if limits.subset or limits.max_unknown is None:
            return found
        raise RuleError(
            "`max_unknown` needs a rule that scores people.",
            "Use `subset=True`, or a rule such as 'aim'.",
        )
    honest = found.honest if isinstance(found, Threshold) else None
    scores = found.scorer.score(rows) if honest is None else honest()
    others, sizes = (
        status_quo.decide(rows) == 0,
        np.ones(len(scores)) if weights is None else weights,
    )
    most = 0.0 if limits.subset or limits.max_unknown is None else limits.max_unknown

    def few_enough(by: float) -> bool:
        lowered = scores - by * others
        edge = (
            cutoff(lowered, found.capacity, weights)
            if isinstance(found, Threshold)
            else found.cutoff
        )
        chosen = sizes * (lowered > edge)
        return float(chosen[others].sum()) <= most * float(chosen.sum())

    # lowered this far, nobody comes before those selected
    low, by = 0.0, 1.01 * float(np.ptp(scores)) + 1e-9
    if not few_enough(by) and not limits.subset:
        raise RuleError(
            "the capacity is too large for `max_unknown`.",
            "Lower the one, or raise the other.",
        )
    for _ in range(HALVINGS if few_enough(by) else 0):
        middle = (low + by) / 2
        low, by = (low, middle) if few_enough(middle) else (middle, by)
    scorer = LoweredScore(found.scorer, steady(status_quo), by)
    if isinstance(found, Threshold):
        return replace(found, scorer=scorer, honest=lambda: scores - by * others)
    return replace(found, scorer=scorer)
