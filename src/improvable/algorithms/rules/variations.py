"""Rules made of rules: blended with the status quo's own score, or in a tournament."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import CAPACITY, honors_of
from improvable.algorithms.decisions import Algorithm, decide
from improvable.algorithms.models import FittedModel
from improvable.algorithms.rules import base
from improvable.algorithms.rules.base import (
    Family,
    Selection,
    SelectionRule,
    Training,
    rule_after_colon,
)
from improvable.algorithms.rules.predictive import PredictiveRule
from improvable.algorithms.thresholds import Score, Threshold, ThresholdedScore
from improvable.data.frame import Rows
from improvable.errors import OptionError, RuleError
from improvable.inference.bootstrap import child
from improvable.inference.tally import (
    Clusters,
    counted_of,
    drawable_of,
    evidence_without_draws,
    tally_rows,
    with_draws,
)
from improvable.inference.test import studentized_margins

DRAWS = 400
REFIT = 2  # the child of a rule's seed after those of `folds_of`
CONTENDERS = "linear,lasso,boosting,aim"
"""Who competes unless rules are named: a plain line, a line of few features, trees that
bend and interact, and a line that is aimed at the claim. All four are fast, take a
target of 0/1 or any number, and err differently; a forest takes minutes, and logistic
only 0/1."""


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
    """A weighted mean of two standardized scores; `parts` holds (score, weight, mean,
    standard deviation).
    """

    parts: tuple[tuple[Score, float, float, float], ...]

    def score(self, rows: Rows) -> FloatArray:
        return self.of([score.score(rows) for score, *_ in self.parts])

    def of(self, values: Sequence[FloatArray]) -> FloatArray:
        blended: FloatArray = np.zeros(len(values[0]))
        for own, (_, weight, mean, spread) in zip(values, self.parts, strict=True):
            blended += weight * (own - mean) / spread
        return blended


@dataclass(frozen=True)
class Blend:
    """A predictive rule's score blended with the status quo's: ``blend:0.5:linear``
    gives the model half the weight.
    """

    weight: float
    rule: PredictiveRule

    @property
    def name(self) -> str:
        return f"blend:{self.weight:g}:{self.rule.name}"

    honors = frozenset({CAPACITY})
    reads_status_quo = True

    def select(self, training: Training, status_quo: Algorithm) -> Threshold:
        if (
            not isinstance(status_quo, ThresholdedScore)
            or training.constraints.capacity is None
        ):
            what = (
                f"rule '{self.name}' blends the status quo's score, and it has none "
                "with a capacity."
            )
            raise RuleError(what, "Give the status quo as a score with a capacity.")
        now, capacity = status_quo.scorer, training.constraints.capacity
        score, model = self._blended(training, now)

        def honest() -> FloatArray:
            return score.of(
                [now.score(training.rows), self.rule.honest_scores(model, training)]
            )

        return Threshold(score, capacity, honest)

    def _blended(
        self, training: Training, now: Score
    ) -> tuple[BlendedScore, FittedModel]:
        model, parts = self.rule.fit(training), []
        for score, weight in ((now, 1 - self.weight), (model, self.weight)):
            values = score.score(training.rows)
            parts.append(
                (score, weight, float(values.mean()), float(values.std()) or 1.0)
            )
        return BlendedScore(tuple(parts)), model


def _blend(weight: str, rule: SelectionRule) -> Blend:
    share = float(weight)
    if not 0 < share < 1 or not isinstance(rule, PredictiveRule):
        how = "Write blend:0.5:linear, with a predictive rule and a share."
        raise OptionError(f"'blend:{weight}:{rule.name}' is not a blend.", how)
    return Blend(share, rule)


@dataclass(frozen=True)
class Tournament:
    """Several rules compete inside the training rows; the winner is refit on all of
    them and tested on the others.

    Every contender decides for each fold after learning from the others; the one whose
    worst component stands farthest from its null wins. Valid by construction: the
    contest sees training rows only, so it is one more selection rule.
    """

    rules: tuple[SelectionRule, ...]

    def __post_init__(self) -> None:
        names = {rule.name for rule in self.rules}
        if len(names) < max(2, len(self.rules)):
            raise OptionError(
                "a tournament needs at least two different rules.",
                "For example linear,lasso,boosting.",
            )

    @property
    def name(self) -> str:
        return f"tournament:{','.join(rule.name for rule in self.rules)}"

    @property
    def honors(self) -> frozenset[str]:
        return frozenset.intersection(*map(honors_of, self.rules))

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        before = decide(status_quo, training.rows, "status quo")
        margins = {
            rule.name: self._margin(rule, training, status_quo, before)
            for rule in self.rules
        }
        winner = max(self.rules, key=lambda rule: margins[rule.name])
        selection = base.run_rule(
            winner, replace(training, seed=child(training.seed, REFIT)), status_quo
        )
        plain = {
            name: round(margin, 6) if np.isfinite(margin) else None
            for name, margin in margins.items()
        }
        return replace(
            selection,
            notes={**selection.notes, "winner": winner.name, "margins": plain},
        )

    def _margin(
        self,
        rule: SelectionRule,
        training: Training,
        status_quo: Algorithm,
        before: FloatArray,
    ) -> float:
        """The smallest studentized margin of a contender's out-of-fold decisions."""
        after = np.empty(len(training.rows))
        for part, judge in base.folds_of(training):
            try:
                selection = base.run_rule(
                    rule, part, status_quo, cutoff_rows=training.sample.take(judge)
                )
            except RuleError as error:
                raise RuleError(
                    f"contender '{rule.name}': {error.message}", error.hint
                ) from error
            if selection.algorithm is None:
                return -np.inf
            rows = base.seen(training.rows.take(judge), training.sight)
            after[judge] = decide(selection.algorithm, rows, "candidate")
        design, sample = training.design, training.sample
        keys = None if sample.clusters is None else np.unique(sample.clusters)
        clusters = (
            None
            if keys is None
            else Clusters(keys, np.zeros(len(keys), dtype=np.int64))
        )
        counted = counted_of(
            design, tally_rows(design, sample, (before, after)), clusters
        )
        evidence = evidence_without_draws(design, sample.attributes, counted, None)
        drawable = drawable_of(evidence, counted, design.question.claim)
        evidence = with_draws(
            evidence,
            counted,
            drawable,
            DRAWS,
            child(training.seed, base.FIT),
            workers=1,
        )
        return min(studentized_margins(evidence, design.question.claim))


FAMILIES = (
    Family(
        "blend",
        "a predictive rule's score mixed with the status quo's",
        _blend,
        "0.5:linear",
        False,
        rule_after_colon,
    ),
    Family(
        "tournament",
        "several rules compete",
        lambda _, *rules: Tournament(rules),
        "linear,boosting",
        False,
        lambda setting: ("", (setting or CONTENDERS).split(",")),
    ),
)
