"""Linear regression with given signs of coefficients: the linear rule under a monotonicity constraint."""

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
