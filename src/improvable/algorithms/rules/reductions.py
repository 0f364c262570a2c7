"""Fairlearn's algorithms as selection rules: logistic regression made to keep groups close (extra ``fairlearn``).

ExponentiatedGradient and GridSearch are the reductions of Agarwal, Beygelzimer, Dudik, Langford and Wallach (2018),
ThresholdOptimizer is the post-processing of Hardt, Price and Srebro (2016). Fairlearn is needed to select a candidate,
not to decide with it.

What is kept close between groups follows from what is asked:

================================================  =============================================
asked                                             kept close
================================================  =============================================
a bound ``selection_gap``                         selection rates, within the bound
fairness true_positive_rate, false_negative_rate  true positive rates
fairness false_positive_rate, true_negative_rate  false positive rates
fairness utilities of both these kinds            both rates (equalized odds)
fairness classification_rate                      error rates; selection rates under
                                                  ThresholdOptimizer, which cannot do error rates
any other fairness                                selection rates (demographic parity)
================================================  =============================================

Rates are those of the target on the training rows, between the groups, or between all their combinations where there
are several group columns.
"""

import importlib
import itertools
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from improvable.algorithms.constraints import SELECTION_GAP, selection_gap
from improvable.algorithms.cutoffs import ThresholdedScore
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.encoding import Encoder, fit_encoder
from improvable.algorithms.models import FittedModel
from improvable.algorithms.rules.base import Selection, SelectionRule, Training
from improvable.algorithms.rules.randomized import Classifier, GroupThresholds, Mixture, combinations_of, level_codes
from improvable.data.arrays import FloatArray, IntArray
from improvable.data.groups import Grouping
from improvable.errors import OptionError, RuleError, nearest

HALF = 0.5
GRID_SIZE = 30
MAJORITY = "randomised decisions are replaced by the more likely one: selected where its probability is above one half"
BROKEN_BOUND = "the more likely decisions break the bound on the training rows, so"
NONE_KEEPS_BOUND = "nothing found keeps the bound on the training rows"
MOST_CHOICES = 1 << 10

_HONOURS = frozenset({SELECTION_GAP})
_WEIGHT_NAME = "logisticregression__sample_weight"

_SELECTION, _TRUE_POSITIVE, _FALSE_POSITIVE = "selection rates", "true positive rates", "false positive rates"
_BOTH, _ERROR = "true and false positive rates", "error rates"
_KEPT_CLOSE = {
    "true_positive_rate": _TRUE_POSITIVE,
    "false_negative_rate": _TRUE_POSITIVE,
    "false_positive_rate": _FALSE_POSITIVE,
    "true_negative_rate": _FALSE_POSITIVE,
    "classification_rate": _ERROR,
}
_MOMENTS = {
    _SELECTION: "DemographicParity",
    _TRUE_POSITIVE: "TruePositiveRateParity",
    _FALSE_POSITIVE: "FalsePositiveRateParity",
    _BOTH: "EqualizedOdds",
    _ERROR: "ErrorRateParity",
}
_THRESHOLD_CONSTRAINTS = {
    _SELECTION: "demographic_parity",
    _TRUE_POSITIVE: "true_positive_rate_parity",
    _FALSE_POSITIVE: "false_positive_rate_parity",
    _BOTH: "equalized_odds",
}


@dataclass(frozen=True)
class ExponentiatedGradient:
    """Logistic regression under a bound on the differences between groups, by exponentiated gradient.

    Fairlearn's answer is a random choice between classifiers for every row. A candidate must decide the same way each
    time, so this one takes the majority: a row is selected where its probability of selection is above one half. The
    majority need not be as even between groups as the random choice is on average. Where a bound `selection_gap` is
    given and the majority breaks it on the training rows, the most accurate of the classifiers that keep it is the
    candidate; where none does, there is no candidate.

    Fairlearn takes no row weights here; they are not used.
    """

    name: str = "reductions:exponentiated_gradient"
    honors: frozenset[str] = field(default=_HONOURS, repr=False)

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        reductions = _fairlearn("reductions", self.name)
        problem = _problem(self.name, training)
        kept_close, moment, bound = _moment(problem)
        fitted = reductions.ExponentiatedGradient(problem.estimator, moment, sample_weight_name=_WEIGHT_NAME)
        _fit(fitted, problem)
        weights = fitted.weights_.sort_index().to_numpy(dtype=np.float64)
        used = np.flatnonzero(weights > 0)
        members = tuple(fitted.predictors_.iloc[i] for i in used)
        mixture = Mixture(members, weights[used] / weights[used].sum())
        probability = mixture.predict_proba(problem.matrix)[:, 1]
        notes = {
            **_notes(problem, kept_close, bound),
            "classifiers": len(used),
            "rows_with_a_random_decision": _randomised(probability),
            "decision": MAJORITY,
        }
        if problem.keeps_bound(probability > HALF):
            return Selection(ThresholdedScore(problem.fitted(mixture), HALF), notes)
        best = _most_accurate(problem, list(fitted.predictors_))
        if best is None:
            return Selection(None, {**notes, "decision": NONE_KEEPS_BOUND})
        return Selection(problem.fitted(best), {**notes, "decision": f"{BROKEN_BOUND} one classifier decides"})


@dataclass(frozen=True)
class GridSearch:
    """Logistic regression under several penalties on the differences between groups, the best of which is kept.

    The candidate has the smallest sum of its error rate and its largest difference to the mean of all rows; under a
    bound `selection_gap`, the smallest error rate of those that keep the bound on the training rows. Where none does,
    there is no candidate. Nothing is random.

    Fairlearn takes no row weights here; they are not used.
    """

    name: str = "reductions:grid_search"
    honors: frozenset[str] = field(default=_HONOURS, repr=False)
    grid_size: int = GRID_SIZE

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        reductions = _fairlearn("reductions", self.name)
        problem = _problem(self.name, training)
        kept_close, moment, bound = _moment(problem)
        fitted = reductions.GridSearch(
            problem.estimator, moment, grid_size=self.grid_size, sample_weight_name=_WEIGHT_NAME
        )
        _fit(fitted, problem)
        best = fitted.predictors_[fitted.best_idx_]
        if training.constraints.selection_gap is not None:
            best = _most_accurate(problem, fitted.predictors_)
        notes = {**_notes(problem, kept_close, bound), "classifiers": len(fitted.predictors_)}
        if best is None:
            return Selection(None, {**notes, "decision": NONE_KEEPS_BOUND})
        return Selection(problem.fitted(best), notes)


@dataclass(frozen=True)
class ThresholdOptimizer:
    """Logistic regression with its own cutoffs for every group.

    It needs the group when it decides and treats equal people of different groups differently, which may be disparate
    treatment: it is refused unless ``group_blind=False``.

    Fairlearn's answer draws one of two cutoffs at random for every row. A candidate must decide the same way each time,
    so this one takes the majority: a row is selected where its probability of selection is above one half. Where a
    bound `selection_gap` is given and the majority breaks it on the training rows, the candidate has the most accurate
    choice of one cutoff for each group that keeps it; where none does, there is no candidate.

    Row weights count in the regression; Fairlearn does not take them for the cutoffs.
    """

    name: str = "reductions:threshold_optimizer"
    honors: frozenset[str] = field(default=_HONOURS, repr=False)

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        if training.constraints.group_blind:
            raise RuleError(
                f"rule '{self.name}' needs the group at decision time, which may be disparate treatment.",
                "Allow it with `group_blind=False`, or use 'reductions:exponentiated_gradient'.",
            )
        postprocessing = _fairlearn("postprocessing", self.name)
        problem = _problem(self.name, training)
        kept_close, bound = _kept_close(training), training.constraints.selection_gap
        kept_close = kept_close if kept_close in _THRESHOLD_CONSTRAINTS else _SELECTION
        relative = training.sample.relative_weights
        weights = {} if relative is None else {_WEIGHT_NAME: relative}
        fitted = postprocessing.ThresholdOptimizer(
            estimator=problem.estimator.fit(problem.matrix, problem.target, **weights),
            constraints=_THRESHOLD_CONSTRAINTS[kept_close],
            prefit=True,
            predict_method="predict_proba",
            tol=bound,
        )
        _fit(fitted, problem)
        scorer = _group_thresholds(problem, fitted)
        probability = scorer.score(training.rows)
        notes = {
            **_notes(problem, kept_close, bound),
            "decision": MAJORITY,
            "rows_with_a_random_decision": _randomised(probability),
            "group_at_decision_time": "it reads the group of every row, which may be disparate treatment",
        }
        if problem.keeps_bound(probability > HALF):
            return Selection(ThresholdedScore(scorer, HALF), notes)
        fixed = _fixed_cutoffs(problem, scorer)
        if fixed is None:
            return Selection(None, {**notes, "decision": NONE_KEEPS_BOUND})
        return Selection(ThresholdedScore(fixed, HALF), {**notes, "decision": f"{BROKEN_BOUND} other cutoffs decide"})


_RULES: dict[str, Callable[[], SelectionRule]] = {
    "exponentiated_gradient": ExponentiatedGradient,
    "grid_search": GridSearch,
    "threshold_optimizer": ThresholdOptimizer,
}


def reduction(setting: str) -> SelectionRule:
    """A rule from what follows ``reductions:`` in its name.

    Parameters
    ----------
    setting : {"exponentiated_gradient", "grid_search", "threshold_optimizer"}

    Returns
    -------
    SelectionRule
    """
    if setting not in _RULES:
        raise OptionError(f"there is no rule 'reductions:{setting}'.", nearest(setting, _RULES))
    _fairlearn("reductions", f"reductions:{setting}")
    return _RULES[setting]()


def _fairlearn(part: str, rule: str) -> Any:
    """A module of Fairlearn, which is an extra."""
    try:
        return importlib.import_module(f"fairlearn.{part}")
    except ImportError as error:
        raise OptionError(
            f"rule '{rule}' needs Fairlearn.", "Install it with: pip install 'improvable[fairlearn]'."
        ) from error


@dataclass(frozen=True)
class _Problem:
    """Training rows as Fairlearn takes them."""

    rule: str
    training: Training
    estimator: Any
    matrix: FloatArray
    target: IntArray
    groups: FloatArray
    encoder: Encoder | None

    def fitted(self, estimator: Any) -> FittedModel:
        return FittedModel(estimator, self.training.features, self.encoder)

    def keeps_bound(self, selected: Any) -> bool:
        """Whether decisions on the training rows keep the bound on selection rates, if there is one."""
        bound = self.training.constraints.selection_gap
        decision: FloatArray = np.asarray(selected, dtype=np.float64)
        return bound is None or selection_gap(decision, self.training.sample) <= bound


def _problem(name: str, training: Training) -> _Problem:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not training.binary_target:
        raise RuleError(
            f"rule '{name}' needs a target of 0 and 1, and '{training.target_column}' is not.",
            "Name a 0/1 target, `target=...`, or use a rule such as 'linear'.",
        )
    target = training.target.astype(np.int64)
    if target.min() == target.max():
        raise RuleError(
            f"rule '{name}': the target is {target[0]} in every training row.", "There is nothing to learn."
        )
    seed = int(training.seed.generate_state(1)[0])
    encoder = None if training.plain else fit_encoder(training.rows, training.features, seed)
    matrix = training.rows.matrix(training.features) if encoder is None else encoder.encode(training.rows)
    estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000, random_state=seed))
    names = np.array(_stratum_names(training.sample.grouping))
    return _Problem(name, training, estimator, matrix, target, names[training.sample.grouping.codes], encoder)


def _stratum_names(grouping: Grouping) -> list[str]:
    return [", ".join(a.levels[a.member[stratum]] for a in grouping.attributes) for stratum in range(grouping.strata)]


def _kept_close(training: Training) -> str:
    """What is kept close between groups."""
    if training.constraints.selection_gap is not None:
        return _SELECTION
    design = training.design
    wanted = {_KEPT_CLOSE.get(design.measured[i].name, _SELECTION) for i in design.fairness}
    if wanted == {_TRUE_POSITIVE, _FALSE_POSITIVE}:
        return _BOTH
    return wanted.pop() if len(wanted) == 1 else _SELECTION


def _moment(problem: _Problem) -> tuple[str, Any, float | None]:
    """Fairlearn's constraint, in words and as an object, and its bound."""
    kept_close, bound = _kept_close(problem.training), problem.training.constraints.selection_gap
    if bound is not None:
        # Fairlearn bounds the distance to the mean of all rows. For two groups the distance of the smaller one is its
        # difference to the other times the share of the other; for more, half the bound on each side suffices.
        shares = np.unique(problem.groups, return_counts=True)[1] / len(problem.groups)
        bound = float(bound * (shares.max() if len(shares) == 2 else 0.5))
    moment = getattr(_fairlearn("reductions", problem.rule), _MOMENTS[kept_close])
    return kept_close, moment(difference_bound=bound), bound


_FILTERS = threading.Lock()
"""Filters of warnings belong to the process, and repetitions may run in threads: one fit at a time changes them."""


def _fit(fairlearn_estimator: Any, problem: _Problem) -> None:
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"fairlearn\.")  # its use of pandas
        fairlearn_estimator.fit(problem.matrix, problem.target, sensitive_features=problem.groups)


def _most_accurate(problem: _Problem, classifiers: Sequence[Classifier]) -> Classifier | None:
    """The classifier with the fewest errors on the training rows of those that keep the bound there."""
    errors = {}
    for i, classifier in enumerate(classifiers):
        decision = np.asarray(classifier.predict(problem.matrix))
        if problem.keeps_bound(decision):
            errors[i] = int((decision != problem.target).sum())
    return classifiers[min(errors, key=lambda i: errors[i])] if errors else None


def _group_thresholds(problem: _Problem, fitted: Any) -> GroupThresholds:
    """The cutoffs that Fairlearn found, by the levels of the group columns as they stand in the data."""
    training = problem.training
    columns = training.design.question.group
    combinations, codes = combinations_of(training.rows, columns)
    first = np.unique(codes, return_index=True)[1]
    found = [fitted.interpolated_thresholder_.interpolation_dict[str(problem.groups[row])] for row in first]
    ignored = np.array([rule.get("p_ignore", 0.0) for rule in found])
    return GroupThresholds(
        problem.fitted(fitted.estimator_),
        columns,
        tuple(combinations),
        np.array([[rule.operation0.threshold, rule.operation1.threshold] for rule in found], dtype=np.float64),
        np.array([[rule.p0, rule.p1] for rule in found], dtype=np.float64) * (1 - ignored)[:, None],
        ignored * np.array([rule.get("prediction_constant", 0.0) for rule in found], dtype=np.float64),
    )


def _fixed_cutoffs(problem: _Problem, scorer: GroupThresholds) -> GroupThresholds | None:
    """One of the two cutoffs for each group: of the choices that keep the bound, the one with the fewest errors."""
    groups = len(scorer.levels)
    if 1 << groups > MOST_CHOICES:
        return None
    rows = problem.training.rows
    seen = level_codes(rows, scorer.columns, scorer.levels)
    above = scorer.model.score(rows)[:, None] > scorer.cutoffs[seen]
    best, fewest = None, len(rows) + 1
    for choice in itertools.product((0, 1), repeat=groups):
        chosen = np.array(choice, dtype=np.int64)
        decision = above[np.arange(len(rows)), chosen[seen]]
        errors = int((decision != problem.target).sum())
        if errors < fewest and problem.keeps_bound(decision):
            best, fewest = chosen, errors
    if best is None:
        return None
    return replace(scorer, shares=np.eye(2)[best], always=np.zeros(groups))


def _randomised(probability: FloatArray) -> float:
    """The share of rows whose decision was random before the majority."""
    return float(((probability > 1e-9) & (probability < 1 - 1e-9)).mean())


def _notes(problem: _Problem, kept_close: str, bound: float | None) -> dict[str, Any]:
    notes: dict[str, Any] = {"kept_close": kept_close}
    if bound is not None:
        notes["difference_bound"] = bound
    if problem.training.sample.weights is not None:
        notes["row_weights"] = "Fairlearn does not take them"
    return notes
