"""Variations of a rule: without some features, blended with the status quo's own score, or given a name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import CAPACITY, MONOTONE, SELECTION_GAP, honors_of
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.models import FittedModel
from improvable.algorithms.rules.base import Family, Selection, SelectionRule, Training, rule_after_colon
from improvable.algorithms.rules.predictive import PredictiveRule
from improvable.algorithms.rules.selection_gap import bound_selection_gap
from improvable.algorithms.thresholds import Score, Threshold, ThresholdedScore
from improvable.data.frame import Rows
from improvable.errors import OptionError, RuleError


@dataclass(frozen=True)
class WithoutFeatures:
    """A rule that may not read the features that match a pattern: ``drop:cost_*:linear``."""

    pattern: str
    rule: SelectionRule

    @property
    def name(self) -> str:
        return f"drop:{self.pattern}:{self.rule.name}"

    @property
    def honors(self) -> frozenset[str]:
        return honors_of(self.rule) - {MONOTONE}

    def select(self, training: Training, status_quo: Algorithm) -> Any:
        kept = tuple(name for name in training.features if not fnmatchcase(name, self.pattern))
        if not kept or len(kept) == len(training.features):
            raise RuleError(
                f"'{self.pattern}' matches {'every' if not kept else 'no'} feature.",
                "Drop some features and keep some.",
            )
        return self.rule.select(replace(training, features=kept), status_quo)


@dataclass(frozen=True)
class Named:
    """A rule of the caller's that has no name of its own."""

    name: str
    honors: frozenset[str]
    rule: Any

    def select(self, training: Training, status_quo: Algorithm) -> Any:
        return self.rule.select(training, status_quo)


@dataclass(frozen=True)
class BlendedScore:
    """A weighted mean of two standardized scores; `parts` holds (score, weight, mean, standard deviation)."""

    parts: tuple[tuple[Score, float, float, float], ...]

    def score(self, rows: Rows) -> FloatArray:
        return self.of([score.score(rows) for score, *_ in self.parts])

    def of(self, values: Sequence[FloatArray]) -> FloatArray:
        """The same from the scores of the parts."""
        blended: FloatArray = np.zeros(len(values[0]))
        for own, (_, weight, mean, spread) in zip(values, self.parts, strict=True):
            blended += weight * (own - mean) / spread
        return blended


@dataclass(frozen=True)
class Blend:
    """A predictive rule's score blended with the status quo's: ``blend:0.5:linear`` gives the model half the weight."""

    weight: float
    rule: PredictiveRule

    @property
    def name(self) -> str:
        return f"blend:{self.weight:g}:{self.rule.name}"

    honors = frozenset({CAPACITY, SELECTION_GAP})
    reads_status_quo = True

    def select(self, training: Training, status_quo: Algorithm) -> Threshold | Selection:
        if not isinstance(status_quo, ThresholdedScore) or training.constraints.capacity is None:
            raise RuleError(
                f"rule '{self.name}' blends the status quo's score, and it has none with a capacity.",
                "Give the status quo as a score with a capacity.",
            )
        now, capacity = status_quo.scorer, training.constraints.capacity
        if training.constraints.selection_gap is not None:
            return bound_selection_gap(training, lambda rows: self._blended(rows, now)[0], None)
        score, model = self._blended(training, now)

        def honest() -> FloatArray:
            return score.of([now.score(training.rows), self.rule.honest_scores(model, training)])

        return Threshold(score, capacity, honest)

    def _blended(self, training: Training, now: Score) -> tuple[BlendedScore, FittedModel]:
        model, parts = self.rule.fit(training), []
        for score, weight in ((now, 1 - self.weight), (model, self.weight)):
            values = score.score(training.rows)
            parts.append((score, weight, float(values.mean()), float(values.std()) or 1.0))
        return BlendedScore(tuple(parts)), model


def _blend(weight: str, rule: SelectionRule) -> Blend:
    """Parse the weight of a blend."""
    try:
        share = float(weight)
    except ValueError:
        share = -1.0
    if not 0 < share < 1 or not isinstance(rule, PredictiveRule):
        raise OptionError(
            f"'blend:{weight}:{rule.name}' is not a blend.",
            "Write blend:0.5:linear, with a predictive rule and a share.",
        )
    return Blend(share, rule)


FAMILIES = (
    Family(
        "drop", "a rule without some features", WithoutFeatures, "cost_*:linear", alone=False, split=rule_after_colon
    ),
    Family(
        "blend",
        "a predictive rule's score mixed with the status quo's",
        _blend,
        "0.5:linear",
        alone=False,
        split=rule_after_colon,
    ),
)  # fmt: skip
