"""Fairlearn's algorithms as selection rules: logistic regression made to keep groups
close.

An example of rules of your own. Put this file beside your data, install Fairlearn, and
name a rule as module:object:

    improvable audit people.csv ... --rule fairlearn_rules:exponentiated_gradient

``exponentiated_gradient`` and ``grid_search`` are the reductions of Agarwal,
Beygelzimer, Dudik, Langford and Wallach (2018), ``threshold_optimizer`` is the
post-processing of Hardt, Price and Srebro (2016). What they keep close between groups
follows from what is asked: with a bound ``selection_gap`` selection rates, within the
bound; otherwise the rate that measures fairness, where Fairlearn knows it
(`CONSTRAINTS`), and selection rates where it does not.

Fairlearn's answers are random: one of several classifiers, or of two cutoffs, is drawn
for every row. A candidate must decide the same way each time, so these take the
majority: a row is selected where its probability of selection is above one half. The
majority need not be as even between groups as the random choice is on average. Where it
breaks a bound on the training rows, the most accurate of a reduction's classifiers that
keep it is the candidate; if none does, and for cutoffs by group, there is none.

Fairlearn takes no row weights; they are not used.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import fairlearn.postprocessing
import fairlearn.reductions
import numpy as np
import polars as pl
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from improvable import Algorithm, AlgorithmError, RuleError, Selection, Training
from improvable._typing import FloatArray
from improvable.algorithms.constraints import SELECTION_GAP, selection_gap
from improvable.algorithms.models import FittedModel
from improvable.algorithms.thresholds import ThresholdedScore
from improvable.data.frame import Rows

HALF = 0.5
GRID_SIZE = 30
WEIGHT_NAME = "logisticregression__sample_weight"
NO_CANDIDATE = "nothing found keeps the bound on the training rows"
PARITY, ODDS = (
    ("DemographicParity", "demographic_parity"),
    ("EqualizedOdds", "equalized_odds"),
)
TRUE_POSITIVE = ("TruePositiveRateParity", "true_positive_rate_parity")
FALSE_POSITIVE = ("FalsePositiveRateParity", "false_positive_rate_parity")
CONSTRAINTS = {
    "true_positive_rate": TRUE_POSITIVE,
    "false_negative_rate": TRUE_POSITIVE,
    "false_positive_rate": FALSE_POSITIVE,
    "true_negative_rate": FALSE_POSITIVE,
    # cutoffs cannot keep error rates close
    "classification_rate": ("ErrorRateParity", PARITY[1]),
}
"""What Fairlearn calls each rate, in its reductions and in its postprocessing."""


class Task:
    """Training rows as Fairlearn takes them."""

    def __init__(self, training: Training, name: str) -> None:
        if not training.binary_target or np.ptp(training.target) == 0:
            raise RuleError(
                (
                    f"rule '{name}' needs a target of 0 and 1, and "
                    f"'{training.target_column}' is not."
                ),
                "Name a 0/1 target, `target=...`, or use a rule such as 'linear'.",
            )
        self.training, self.bound = training, training.constraints.selection_gap
        self.matrix, _, self.encoder = training.encoded()
        self.target = training.target.astype(np.int64)
        self.groups = group_names(training.rows, training.design.question.group)
        seed = int(training.seed.generate_state(1)[0])
        self.estimator = make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1_000, random_state=seed)
        )

    @property
    def constraint(self) -> tuple[str, str]:
        """What is kept close, as Fairlearn calls it."""
        design = self.training.design
        asked = {
            CONSTRAINTS.get(design.measured[i].name, PARITY) for i in design.fairness
        }
        if self.bound is not None:
            return PARITY
        if asked == {TRUE_POSITIVE, FALSE_POSITIVE}:
            return ODDS
        return asked.pop() if len(asked) == 1 else PARITY

    @property
    def moment(self) -> Any:
        """The constraint as an object, with its bound.

        Fairlearn bounds the distance to the mean of all rows. For two groups the
        distance of the smaller one is its difference to the other times the share of
        the other; for more, half the bound on each side suffices.
        """
        bound = self.bound
        if bound is not None:
            shares = np.unique(self.groups, return_counts=True)[1] / len(self.groups)
            bound = float(bound * (shares.max() if len(shares) == 2 else 0.5))
        return getattr(fairlearn.reductions, self.constraint[0])(difference_bound=bound)

    def fit(self, estimator: Any) -> Any:
        with warnings.catch_warnings():
            # Fairlearn's use of pandas
            warnings.simplefilter("ignore", DeprecationWarning)
            return estimator.fit(
                self.matrix, self.target, sensitive_features=self.groups
            )

    def model(self, estimator: Any) -> FittedModel:
        return FittedModel(estimator, self.training.features, self.encoder)

    def keeps_bound(self, decisions: Any) -> bool:
        """Whether decisions on the training rows keep the bound on selection rates, if
        there is one.
        """
        values: FloatArray = np.asarray(decisions, dtype=np.float64)
        return (
            self.bound is None
            or selection_gap(values, self.training.sample) <= self.bound
        )

    def most_accurate(self, classifiers: list[Any]) -> Selection:
        """The classifier with the fewest errors on the training rows of those that keep
        the bound there.
        """
        errors = {}
        for i, classifier in enumerate(classifiers):
            decisions = np.asarray(classifier.predict(self.matrix))
            if self.keeps_bound(decisions):
                errors[i] = int((decisions != self.target).sum())
        if not errors:
            return Selection(
                None, {"decision": NO_CANDIDATE, "kept_close": self.constraint[0]}
            )
        best = classifiers[min(errors, key=errors.__getitem__)]
        return Selection(
            self.model(best),
            {"decision": "one classifier", "kept_close": self.constraint[0]},
        )


@dataclass(frozen=True)
class Mixture:
    """Fitted classifiers, one of which is drawn at random for every row, with the
    probability of each.
    """

    classifiers: tuple[Any, ...]
    weights: FloatArray

    def predict_proba(self, matrix: FloatArray) -> FloatArray:
        selected: FloatArray = np.zeros(len(matrix))
        for classifier, weight in zip(self.classifiers, self.weights, strict=True):
            selected += weight * np.asarray(
                classifier.predict(matrix), dtype=np.float64
            )
        return np.column_stack([1 - selected, selected])


@dataclass(frozen=True)
class ExponentiatedGradient:
    """Logistic regression under a bound on the differences between groups, by
    exponentiated gradient.
    """

    name = "fairlearn_rules:exponentiated_gradient"
    honors = frozenset({SELECTION_GAP})

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        task = Task(training, self.name)
        fitted = task.fit(
            fairlearn.reductions.ExponentiatedGradient(
                task.estimator, task.moment, sample_weight_name=WEIGHT_NAME
            )
        )
        weights = fitted.weights_.sort_index().to_numpy(dtype=np.float64)
        used = np.flatnonzero(weights > 0)
        mixture = Mixture(
            tuple(fitted.predictors_.iloc[i] for i in used),
            weights[used] / weights[used].sum(),
        )
        if not task.keeps_bound(mixture.predict_proba(task.matrix)[:, 1] > HALF):
            return task.most_accurate(list(fitted.predictors_))
        notes = {
            "decision": "majority",
            "kept_close": task.constraint[0],
            "classifiers": len(used),
        }
        return Selection(ThresholdedScore(task.model(mixture), HALF), notes)


@dataclass(frozen=True)
class GridSearch:
    """Logistic regression under several penalties on the differences between groups,
    the best of which is kept.
    """

    name = "fairlearn_rules:grid_search"
    honors = frozenset({SELECTION_GAP})

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        task = Task(training, self.name)
        fitted = task.fit(
            fairlearn.reductions.GridSearch(
                task.estimator,
                task.moment,
                grid_size=GRID_SIZE,
                sample_weight_name=WEIGHT_NAME,
            )
        )
        if task.bound is not None:
            return task.most_accurate(fitted.predictors_)
        notes = {
            "kept_close": task.constraint[0],
            "classifiers": len(fitted.predictors_),
        }
        return Selection(task.model(fitted.predictors_[fitted.best_idx_]), notes)


@dataclass(frozen=True)
class ThresholdOptimizer:
    """Logistic regression with its own cutoffs for every group, which it reads when it
    decides.
    """

    name = "fairlearn_rules:threshold_optimizer"
    honors = frozenset({SELECTION_GAP})

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        if training.constraints.group_blind:
            raise RuleError(
                (
                    f"rule '{self.name}' needs the group at decision time, which may "
                    "be disparate treatment."
                ),
                (
                    "Allow it with `group_blind=False`, or use "
                    "'fairlearn_rules:exponentiated_gradient'."
                ),
            )
        task = Task(training, self.name)
        fitted = task.fit(
            fairlearn.postprocessing.ThresholdOptimizer(
                estimator=task.estimator,
                constraints=task.constraint[1],
                predict_method="predict_proba",
                tol=task.bound,
            )
        )
        scorer = CutoffsByGroup(
            task.model(fitted),
            training.design.question.group,
            frozenset(task.groups.tolist()),
        )
        notes = {
            "decision": "majority",
            "kept_close": task.constraint[1],
            "group": "read when it decides",
        }
        if not task.keeps_bound(scorer.score(training.rows) > HALF):
            return Selection(None, {**notes, "decision": NO_CANDIDATE})
        return Selection(ThresholdedScore(scorer, HALF), notes)


@dataclass(frozen=True)
class CutoffsByGroup:
    """The probability of selection under cutoffs for every group."""

    model: FittedModel
    columns: tuple[str, ...]
    known: frozenset[str]

    def score(self, rows: Rows) -> FloatArray:
        rows.require(self.columns)
        groups = group_names(rows, self.columns)
        unknown = {*groups.tolist()} - self.known
        if unknown:
            raise AlgorithmError(
                f"the cutoffs know no group {min(unknown)!r}.",
                "They know groups of training rows.",
            )
        thresholder = self.model.estimator.interpolated_thresholder_
        chances = thresholder._pmf_predict(
            self.model.input(rows), sensitive_features=groups
        )
        return np.asarray(chances[:, 1], dtype=np.float64)


def group_names(rows: Rows, columns: tuple[str, ...]) -> Any:
    """The group of every row, or its combination of groups."""
    labels = (
        rows.polars(columns)
        .select(pl.concat_str(pl.all().cast(pl.String), separator=", "))
        .to_series()
    )
    if labels.null_count():
        raise AlgorithmError(
            f"{labels.null_count():,} rows have no group.",
            "Cutoffs by group need it in every row.",
        )
    return labels.to_numpy().astype(str)


exponentiated_gradient = ExponentiatedGradient()
grid_search = GridSearch()
threshold_optimizer = ThresholdOptimizer()
