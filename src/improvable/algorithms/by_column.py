"""Algorithms that decide alike for a row whatever batch it comes in, to the last bit.

A linear model's scores are sums of products, which BLAS may round differently with another number of rows. In workers
they are added column after column instead. Trees add up row by row already.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from improvable.algorithms.cutoffs import ThresholdedScore
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.models import FittedModel, final_step, linear_sum
from improvable.data.arrays import FloatArray


def steady(algorithm: Algorithm) -> Algorithm:
    """The same algorithm, with linear models that add up column after column."""
    if isinstance(algorithm, ThresholdedScore):
        return replace(algorithm, scorer=_steady_score(algorithm.scorer))
    return steady_model(algorithm) if isinstance(algorithm, FittedModel) else algorithm


def _steady_score(score: Any) -> Any:
    """The same score; one that is made from another one has a steady one inside."""
    if isinstance(score, FittedModel):
        return steady_model(score)
    return replace(score, scorer=_steady_score(score.scorer)) if hasattr(score, "scorer") else score


def steady_model(model: FittedModel) -> FittedModel:
    """The same model; a linear one adds up column after column."""
    return replace(model, estimator=ByColumns(model.estimator)) if _is_linear(model.estimator) else model


def _is_linear(estimator: Any) -> bool:
    from sklearn.base import RegressorMixin
    from sklearn.linear_model._base import LinearModel

    final = final_step(estimator)
    known = type(final).__module__.startswith(("sklearn.linear_model.", "improvable.algorithms."))
    return known and isinstance(final, LinearModel) and isinstance(final, RegressorMixin) and np.ndim(final.coef_) == 1


class ByColumns:
    """A fitted linear regression, alone or at the end of a pipeline, that predicts column after column."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_

    def predict(self, x: Any) -> FloatArray:
        final = final_step(self.estimator)
        if final is not self.estimator:
            x = self.estimator[:-1].transform(x)
        return linear_sum(np.asarray(x, dtype=np.float64), final.coef_) + float(final.intercept_)
