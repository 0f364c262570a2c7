"""Several rules compete inside the training rows; the winner is refit on all of them and tested on the others.

Valid by construction: the contest sees training rows only, so the winner is one more selection rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import honors_of
from improvable.algorithms.decisions import Algorithm, decide
from improvable.algorithms.rules.base import (
    FIT,
    FOLDS,
    Family,
    Selection,
    SelectionRule,
    Training,
    folds_of,
    run_rule,
    seen,
)
from improvable.errors import OptionError, RuleError
from improvable.inference.bootstrap import child
from improvable.inference.tally import Clusters, counted_of, drawable_of, evidence_without_draws, tally_rows, with_draws
from improvable.inference.test import studentized_margins

DRAWS = 400
REFIT = 2
"""The child of a rule's seed after those of `folds_of`."""
CONTENDERS = "linear,lasso,boosting"
"""Who competes unless rules are named: a plain line, a line of few features, and trees that bend and interact. All
three are fast, take a target of 0/1 or any number, and err differently; a forest takes minutes, and logistic only
0/1."""


@dataclass(frozen=True)
class Tournament:
    """Cross-fit every contender; the one whose worst component stands farthest from its null wins."""

    rules: tuple[SelectionRule, ...]
    folds: int = FOLDS  # each contender decides for every fold after learning from the others

    @property
    def name(self) -> str:
        return f"tournament:{','.join(rule.name for rule in self.rules)}"

    @property
    def honors(self) -> frozenset[str]:
        """What every contender honors."""
        return frozenset.intersection(*map(honors_of, self.rules))

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        before = decide(status_quo, training.rows, "status quo")
        margins = {rule.name: self._margin(rule, training, status_quo, before) for rule in self.rules}
        winner = max(self.rules, key=lambda rule: margins[rule.name])
        if margins[winner.name] == -np.inf:
            winner = self.rules[0]
        selection = run_rule(winner, replace(training, seed=child(training.seed, REFIT)), status_quo)
        plain = {name: round(margin, 6) if np.isfinite(margin) else None for name, margin in margins.items()}
        return replace(selection, notes={**selection.notes, "winner": winner.name, "margins": plain})

    def _margin(self, rule: SelectionRule, training: Training, status_quo: Algorithm, before: FloatArray) -> float:
        """The smallest studentized margin of a contender's out-of-fold decisions."""
        after = np.empty(len(training.rows))
        for part, judge in folds_of(training, self.folds):
            try:
                selection = run_rule(rule, part, status_quo, cutoff_rows=training.sample.take(judge))
            except RuleError as error:
                raise RuleError(f"contender '{rule.name}': {error.message}", error.hint) from error
            if selection.algorithm is None:
                return -np.inf
            after[judge] = decide(selection.algorithm, seen(training.rows.take(judge), training.sight), "candidate")
        design, sample = training.design, training.sample
        clusters = None
        if sample.clusters is not None:
            keys = np.unique(sample.clusters)
            clusters = Clusters(keys, np.zeros(len(keys), dtype=np.int64))
        counted = counted_of(design, tally_rows(design, sample, (before, after)), clusters)
        evidence = evidence_without_draws(design, sample.grouping.attributes, counted, None)
        drawable = drawable_of(evidence, counted, design.question.claim)
        evidence = with_draws(evidence, counted, drawable, DRAWS, child(training.seed, FIT), workers=1)
        return min(studentized_margins(evidence, design.question.claim))


def tournament(rules: Sequence[SelectionRule], folds: int = FOLDS) -> Tournament:
    """A contest of at least two rules with different names."""
    names = [rule.name for rule in rules]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise OptionError("a tournament needs at least two different rules.", "For example linear,lasso,boosting.")
    return Tournament(tuple(rules), folds)


FAMILIES = (
    Family(
        "tournament",
        "several rules compete",
        lambda _, *rules: tournament(rules),
        "linear,boosting",
        alone=False,
        split=lambda setting: ("", (setting or CONTENDERS).split(",")),
    ),
)  # fmt: skip
