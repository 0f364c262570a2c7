"""Regressions with given signs of coefficients: the linear rule and the LASSO under a monotonicity constraint."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from improvable.data.arrays import FloatArray, IntArray


class BoundedLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression whose coefficients have given signs.

    Parameters
    ----------
    signs : array of int
        +1: the coefficient is at least zero; -1: at most zero; 0: free.
    """

    def __init__(self, signs: IntArray) -> None:
        self.signs = signs

    def fit(self, matrix: FloatArray, target: FloatArray, sample_weight: FloatArray | None = None) -> Any:
        from scipy.optimize import lsq_linear

        root = np.ones(len(target)) if sample_weight is None else np.sqrt(sample_weight)
        center = np.average(matrix, axis=0, weights=root**2)
        scale = np.sqrt(np.average((matrix - center) ** 2, axis=0, weights=root**2))
        scale[scale == 0] = 1.0
        mean = np.average(target, weights=root**2)
        low = np.where(self.signs > 0, 0.0, -np.inf)
        high = np.where(self.signs < 0, 0.0, np.inf)
        found = lsq_linear(root[:, None] * (matrix - center) / scale, root * (target - mean), bounds=(low, high))
        self.coef_ = found.x / scale
        self.intercept_ = float(mean - center @ self.coef_)
        self.n_features_in_ = matrix.shape[1]
        return self

    def predict(self, matrix: FloatArray) -> FloatArray:
        return np.asarray(matrix @ self.coef_ + self.intercept_)


class MonotoneLasso(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A cross-validated LASSO whose coefficients have given signs.

    A coefficient that may not be negative is one of a LASSO of nonnegative coefficients; one that may not be positive,
    after its column is turned; a free one is the difference of two, of the column and of its negative, whose sizes add
    up to the penalty of one. So the nonnegative LASSO of these columns is exactly the LASSO with signs.

    Parameters
    ----------
    signs : array of int
        +1: the coefficient is at least zero; -1: at most zero; 0: free.
    """

    def __init__(self, signs: IntArray) -> None:
        self.signs = signs

    def fit(self, matrix: FloatArray, target: FloatArray, sample_weight: FloatArray | None = None) -> Any:
        from sklearn.linear_model import LassoCV

        signs = np.asarray(self.signs)
        free = np.flatnonzero(signs == 0)
        turned = np.where(signs < 0, -1.0, 1.0)
        columns = np.hstack([matrix * turned, -matrix[:, free]])
        model = LassoCV(cv=5, max_iter=5_000, positive=True).fit(columns, target, sample_weight=sample_weight)
        self.coef_ = turned * model.coef_[: len(signs)]
        self.coef_[free] -= model.coef_[len(signs) :]
        self.intercept_ = float(model.intercept_)
        self.alpha_ = float(model.alpha_)
        self.n_features_in_ = matrix.shape[1]
        return self

    def predict(self, matrix: FloatArray) -> FloatArray:
        return np.asarray(matrix @ self.coef_ + self.intercept_)
