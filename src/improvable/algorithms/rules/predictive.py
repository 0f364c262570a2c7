"""Predict the target from the features and select the highest predictions: the rules of
Section 6.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.constraints import CAPACITY, MONOTONE
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.models import FittedModel, named_columns
from improvable.algorithms.rules import out_of_sample
from improvable.algorithms.rules.base import Family, Training
from improvable.algorithms.thresholds import Threshold, ThresholdedScore
from improvable.errors import RuleError

TREES = 300


@dataclass(frozen=True)
class PredictiveRule:
    """Fit an estimator on the training rows.

    With a capacity the candidate selects rows whose score is above the (1 - capacity)
    quantile of the scores that the training rows would have as new rows
    (`honest_scores`). Without one, a classifier's own decision stands, and a regression
    of a 0/1 target selects predictions above one half. Where decisions are numbers
    (prices), the prediction is the decision.

    `estimator` is called with whether the target is 0/1 and with the signs of monotone
    features (None without any), and gives an unfitted estimator.
    """

    name: str
    estimator: Callable[[bool, IntArray | None], Any]
    # the constraints that it respects
    honors: frozenset[str] = frozenset({CAPACITY})
    ours: bool = False  # whether the estimator is one of this module's
    # whether the estimator gets a data frame with the columns as they are, not a matrix
    # of numbers
    raw: bool = False

    def select(
        self, training: Training, status_quo: Algorithm
    ) -> Algorithm | Threshold:
        capacity = training.constraints.capacity
        fitted = self.fit(training)
        if training.numeric_decisions:
            return fitted
        if capacity is not None:
            return Threshold(
                fitted, capacity, lambda: self.honest_scores(fitted, training)
            )
        from sklearn.base import is_classifier

        return (
            fitted
            if is_classifier(fitted.estimator)
            else ThresholdedScore(fitted, self._cutoff(training))
        )

    def _cutoff(self, training: Training) -> float:
        """The score above which rows are selected without a capacity."""
        from sklearn.base import is_classifier

        estimator = self.estimator(training.binary_target, None)
        if is_classifier(estimator):
            return 0.5 if hasattr(estimator, "predict_proba") else 0.0
        if training.binary_target:
            return 0.5
        what = f"rule '{self.name}' predicts a number, and nothing says whom to select."
        raise RuleError(
            what,
            "Give a capacity, `capacity=0.03`: the highest predictions are selected.",
        )

    def honest_scores(self, fitted: FittedModel, training: Training) -> FloatArray:
        """The scores that the training rows would have as new rows."""
        scores = out_of_sample.honest_scores(fitted, training, self.fit)
        out_of_sample.forget_training(fitted.estimator)
        return scores

    def cross_fit(self, training: Training) -> tuple[FittedModel, FloatArray]:
        """The fitted estimator, and what it is expected to say of each training row as
        a new one.
        """
        fitted, scores = out_of_sample.cross_fit(training, self.fit)
        out_of_sample.forget_training(fitted.estimator)
        return fitted, scores

    def fit(self, training: Training) -> FittedModel:
        """The fitted estimator, before any threshold."""
        from sklearn.base import clone, is_classifier
        from sklearn.utils.validation import has_fit_parameter

        signs = training.constraints.monotone
        if self.raw:
            matrix, columns, encoder = (
                named_columns(training.rows, training.features),
                training.features,
                None,
            )
        else:
            matrix, columns, encoder = training.encoded()
        rising = (
            np.array([signs.get(name, 0) for name in columns], dtype=np.int64)
            if signs
            else None
        )
        model = clone(self.estimator(training.binary_target, rising))
        # Every part of an estimator that has randomness and no seed of its own gets one
        # from ours.
        parameters = model.get_params(deep=True)
        seeds = sorted(
            name
            for name in parameters
            if name == "random_state" or name.endswith("__random_state")
        )
        unseeded = [name for name in seeds if parameters[name] is None]
        states = training.seed.generate_state(max(1, len(unseeded)))
        model.set_params(
            **{name: int(state) for name, state in zip(unseeded, states, strict=False)}
        )
        cutoff_follows = training.constraints.capacity is not None
        if cutoff_follows and out_of_sample.may_keep_out_of_bag(model):
            model.set_params(oob_score=True)
        target: Any = training.target
        if is_classifier(model):
            if not training.binary_target:
                what = f"rule '{self.name}' is a classifier, and the target is not 0/1."
                raise RuleError(what, "Use a regression such as 'linear'.")
            target = target.astype(np.int64)
        # Of what is known about rows, the estimator or a pipeline's last step gets what
        # its fit takes.
        steps = getattr(model, "steps", None)
        last, before = (steps[-1][1], f"{steps[-1][0]}__") if steps else (model, "")
        folds = out_of_sample.cutoff_folds(training)
        about_rows = {
            "sample_weight": training.sample.relative_weights,
            "fold_of_row": folds,
        }
        taken = [
            name
            for name, values in about_rows.items()
            if values is not None and has_fit_parameter(last, name)
        ]
        model.fit(
            matrix, target, **{f"{before}{name}": about_rows[name] for name in taken}
        )
        if not cutoff_follows:
            out_of_sample.forget_training(model)
        if "n_jobs" in model.get_params():
            # threads that predict add up trees in any order, and the last bits differ
            model.set_params(n_jobs=None)
        return FittedModel(model, training.features, encoder)


def _estimator(kind: str, amount: float, binary: bool, signs: IntArray | None) -> Any:
    """An unfitted estimator, from whether the target is 0/1 and from the signs of
    monotone features.
    """
    if kind in ("forest", "boosting"):
        from sklearn import ensemble

        if kind == "boosting":
            boosting = (
                ensemble.HistGradientBoostingClassifier
                if binary
                else ensemble.HistGradientBoostingRegressor
            )
            return boosting(monotonic_cst=signs)
        if binary:
            return ensemble.RandomForestClassifier(
                int(amount), monotonic_cst=signs, n_jobs=-1
            )
        return ensemble.RandomForestRegressor(
            int(amount), max_features=1 / 3, monotonic_cst=signs, n_jobs=-1
        )
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from improvable.algorithms.rules.lasso import BoundedLinearRegression, FoldedLasso

    if kind == "linear":
        return LinearRegression() if signs is None else BoundedLinearRegression(signs)
    if kind == "lasso":
        return make_pipeline(StandardScaler(), FoldedLasso(signs))
    return make_pipeline(
        StandardScaler(),
        Ridge(amount) if kind == "ridge" else LogisticRegression(max_iter=1_000),
    )


def predictive_rule(kind: str, setting: str = "") -> PredictiveRule:
    amount = int(setting or TREES) if kind == "forest" else float(setting or 0)
    if kind == "forest" and amount < 1:
        raise ValueError("a forest has trees")
    honors = {CAPACITY} if kind in ("logistic", "ridge") else {CAPACITY, MONOTONE}
    name = f"{kind}:{setting}" if setting else kind
    return PredictiveRule(
        name, partial(_estimator, kind, amount), frozenset(honors), ours=True
    )


FAMILIES = (
    Family("linear", "linear regression", partial(predictive_rule, "linear")),
    Family("lasso", "LASSO", partial(predictive_rule, "lasso")),
    Family("forest", "random forest (slow)", partial(predictive_rule, "forest"), "100"),
    Family("boosting", "boosted trees", partial(predictive_rule, "boosting")),
    Family("logistic", "logistic regression", partial(predictive_rule, "logistic")),
    Family(
        "ridge",
        "ridge regression with a given penalty",
        partial(predictive_rule, "ridge"),
        "10",
        alone=False,
    ),
)
