"""Several rules compete inside the training rows; the winner is refit on all of them and tested on the others.

Valid by construction: the contest sees training rows only, so the winner is one more selection rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable.algorithms.deciding import Algorithm, decide
from improvable.algorithms.rules.base import Selection, SelectionRule, Training, run_rule
from improvable.data.arrays import FloatArray
from improvable.errors import DataError, OptionError, RuleError
from improvable.inference.margins import studentized_margins
from improvable.inference.resampling import child
from improvable.procedure.evaluating import evaluate

FOLDS = 5
DRAWS = 400
FOLDING, MEASURING, REFITTING = 0, 1, 2


@dataclass(frozen=True)
class Tournament:
    """Cross-fit every contender; the one whose worst component stands farthest from its null wins.

    Parameters
    ----------
    rules : tuple of SelectionRule
    folds : int
        Each contender decides for every fold after learning from the others.
    """

    rules: tuple[SelectionRule, ...]
    folds: int = FOLDS

    @property
    def name(self) -> str:
        return f"tournament:{','.join(rule.name for rule in self.rules)}"

    @property
    def honours(self) -> frozenset[str]:
        """What every contender honours."""
        sets = [getattr(rule, "honours", frozenset({"capacity"})) for rule in self.rules]
        return frozenset.intersection(*sets)

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        now = decide(status_quo, training.rows, "status quo")
        margins = {rule.name: self._margin(rule, training, status_quo, now) for rule in self.rules}
        winner = max(self.rules, key=lambda rule: margins[rule.name])
        if margins[winner.name] == -np.inf:
            winner = self.rules[0]
        selection = run_rule(winner, replace(training, seed=child(training.seed, REFITTING)), status_quo)
        plain = {name: round(margin, 6) if np.isfinite(margin) else None for name, margin in margins.items()}
        return replace(selection, notes={**selection.notes, "winner": winner.name, "margins": plain})

    def _margin(self, rule: SelectionRule, training: Training, status_quo: Algorithm, now: FloatArray) -> float:
        """The smallest studentized margin of a contender's out-of-fold decisions."""
        new = np.empty(len(training.rows))
        for fold, (learn, judge) in enumerate(self._folds(training)):
            part = replace(training.take(learn), seed=child(training.seed, MEASURING, fold))
            try:
                selection = run_rule(rule, part, status_quo)
            except RuleError as error:
                raise RuleError(f"contender '{rule.name}': {error.message}", error.hint) from error
            if selection.algorithm is None:
                return -np.inf
            new[judge] = decide(selection.algorithm, training.rows.take(judge), "candidate")
        design = replace(training.design, question=replace(training.design.question, draws=DRAWS))
        result = evaluate(design, training.sample, (now, new), None, child(training.seed, MEASURING), workers=1)
        return min(studentized_margins(result.evidence, design.question.claim))

    def _folds(self, training: Training) -> list[tuple[Any, Any]]:
        """Rows to learn from and rows to judge, for every fold; clusters stay whole."""
        sample = training.sample
        if sample.units < 2 * self.folds:
            raise DataError(f"{sample.units} training rows are too few for {self.folds} folds.", "Bring more rows.")
        order = np.random.default_rng(child(training.seed, FOLDING)).permutation(sample.units)
        fold_of_unit = np.empty(sample.units, dtype=np.int64)
        fold_of_unit[order] = np.arange(sample.units) % self.folds
        fold = fold_of_unit if sample.clusters is None else fold_of_unit[sample.clusters]
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(self.folds)]


def tournament(rules: Sequence[SelectionRule], folds: int = FOLDS) -> Tournament:
    """A contest of at least two rules with different names."""
    names = [rule.name for rule in rules]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise OptionError("a tournament needs at least two different rules.", "For example linear,lasso,boosting.")
    return Tournament(tuple(rules), folds)
