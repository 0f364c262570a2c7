"""Candidates that select few people, or nobody, whom the status quo does not select:
outcomes are known.

Such a candidate sees the status quo's decision when it decides. Scores of people whom
the status quo does not select are lowered by one constant, found on training rows,
until at most the share allowed is left among those selected.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import FloatArray
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
    algorithm: Algorithm | Threshold,
    most: float,
    status_quo: Algorithm,
    rows: Rows,
    weights: FloatArray | None,
) -> Algorithm | Threshold:
    """Lower the scores of people whom the status quo does not select, as far as need
    be.

    At most the share `most` of those selected is then not selected by the status quo.
    Where it is 0, `BothSelect` keeps out whoever is left: of an algorithm without
    scores, or of a capacity that the status quo's people do not fill.
    """
    if not isinstance(algorithm, Threshold | ThresholdedScore):
        if most == 0:
            return algorithm
        raise RuleError(
            "`max_unknown` above 0 needs a rule that scores people.",
            "Use `max_unknown=0`, or a rule such as 'aim'.",
        )
    honest = algorithm.honest if isinstance(algorithm, Threshold) else None
    scores = algorithm.scorer.score(rows) if honest is None else honest()
    is_unseen = status_quo.decide(rows) == 0
    sizes = np.ones(len(scores)) if weights is None else weights

    def is_enough(by: float) -> bool:
        lowered = scores - by * is_unseen
        if isinstance(algorithm, Threshold):
            edge = cutoff(lowered, algorithm.capacity, weights)
        else:
            edge = algorithm.cutoff
        selected = sizes * (lowered > edge)
        return float(selected[is_unseen].sum()) <= most * float(selected.sum())

    # lowered this far, nobody comes before those whom the status quo selects
    by = 1.01 * float(np.ptp(scores)) + 1e-9
    if is_enough(by):
        by = find_smallest(is_enough, by)
    elif most > 0:
        raise RuleError(
            "the capacity is too large for `max_unknown`.",
            "Lower the one, or raise the other.",
        )
    scorer = LoweredScore(algorithm.scorer, steady(status_quo), by)
    if isinstance(algorithm, Threshold):
        return replace(algorithm, scorer=scorer, honest=lambda: scores - by * is_unseen)
    return replace(algorithm, scorer=scorer)


def find_smallest(is_enough: Callable[[float], bool], high: float) -> float:
    """The smallest number that is enough, by halving; `high` is."""
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high
