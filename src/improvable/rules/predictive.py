"""Predict the target from the features and select the highest predictions: the rules of Section 6."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from improvable.algorithms import Algorithm, FittedModel, Threshold, ThresholdedScore, named_columns
from improvable.arrays import IntArray
from improvable.errors import RuleError
from improvable.rules.protocol import Training

TREES = 300


@dataclass(frozen=True)
class PredictiveRule:
    """Fit an estimator on the training rows.

    With a capacity the candidate selects rows whose score is strictly above the (1 - capacity) quantile of the
    training scores. Without one, a classifier's own decision stands, and a regression of a 0/1 target selects
    predictions above one half. Where decisions are numbers (prices), the prediction is the decision.

    Parameters
    ----------
    name : str
    estimator : callable
        Called with whether the target is 0/1; gives an unfitted estimator.
    named : bool
        Whether the estimator gets a data frame with column names rather than a matrix.
    """

    name: str
    estimator: Callable[[bool], Any]
    named: bool = False

    def select(self, training: Training, status_quo: Algorithm) -> Algorithm | Threshold:
        from sklearn.base import clone, is_classifier

        model = clone(self.estimator(training.binary_target))
        _seed(model, training.seed)
        target: Any = training.target
        if is_classifier(model):
            if not training.binary_target:
                raise RuleError(
                    f"rule '{self.name}' is a classifier, and the target is not 0/1.",
                    "Use a regression such as 'linear'.",
                )
            target = target.astype(np.int64)
        features = training.features
        matrix = named_columns(training.rows, features) if self.named else training.rows.matrix(features)
        model.fit(matrix, target)
        fitted = FittedModel(model, features)
        if training.numeric_decisions:
            return fitted
        if training.capacity is not None:
            return Threshold(fitted, training.capacity)
        if is_classifier(model):
            return fitted
        if training.binary_target:
            return ThresholdedScore(fitted, 0.5)
        raise RuleError(
            f"rule '{self.name}' predicts a number, and nothing says whom to select.",
            "Give a capacity (--capacity 0.03): the highest predictions are selected.",
        )


def _seed(model: Any, seed: np.random.SeedSequence) -> None:
    """Give every part of an estimator that has randomness and no seed of its own a seed from ours."""
    unseeded = sorted(
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    states: IntArray = seed.generate_state(max(1, len(unseeded))).astype(np.int64)
    model.set_params(**{name: int(state) for name, state in zip(unseeded, states, strict=False)})


def _linear(_: bool) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _lasso(_: bool) -> Any:
    from sklearn.linear_model import LassoCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LassoCV(cv=5, max_iter=5_000))


def _forest(binary: bool) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    return RandomForestClassifier(TREES) if binary else RandomForestRegressor(TREES)


def _boosting(binary: bool) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    return HistGradientBoostingClassifier() if binary else HistGradientBoostingRegressor()


def _logistic(_: bool) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))


PREDICTIVE = {
    "linear": PredictiveRule("linear", _linear),
    "lasso": PredictiveRule("lasso", _lasso),
    "forest": PredictiveRule("forest", _forest),
    "boosting": PredictiveRule("boosting", _boosting),
    "logistic": PredictiveRule("logistic", _logistic),
}
