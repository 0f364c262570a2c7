"""Linear regressions of our own: the cross-validated LASSO, fitted from sums, and least
squares with given signs.

Least squares needs of its rows only their sums of squares and products. So every fold
is condensed to no more rows than there are columns, with the same sums. The paths of
cross-validation, their errors on the fold that was left out, and the final fit come
from the few rows, as scikit-learn's `LassoCV` would find them from all.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import RegressorMixin
from sklearn.linear_model import enet_path
from sklearn.linear_model._base import LinearModel

from improvable._typing import FloatArray, IntArray

FOLDS = 5
STEPS = 50_000
PENALTIES, SMALLEST = 100, 1e-3
"""As in scikit-learn: how many penalties, from the smallest that selects nothing down
to which share of it.
"""


class FoldedLasso(RegressorMixin, LinearModel):  # type: ignore[misc]
    """A LASSO whose penalty has the least squared error on folds left out, perhaps with
    given signs of coefficients.

    A coefficient that may not be negative is one of a LASSO of nonnegative
    coefficients; one that may not be positive, after its column is turned; a free one
    is the difference of two, of the column and of its negative, whose sizes add up to
    the penalty of one. So the nonnegative LASSO of these columns is exactly the LASSO
    with signs (+1: at least zero; -1: at most zero; 0: free).

    Beside `alpha_`, `coef_` and `intercept_`, a fit has `coef_by_fold_`, shape (folds,
    columns), and `intercept_by_fold_`: the LASSO of this penalty on all rows but those
    of a fold.
    """

    def __init__(self, signs: IntArray | None = None) -> None:
        self.signs = signs

    def fit(
        self,
        matrix: FloatArray,
        target: FloatArray,
        sample_weight: FloatArray | None = None,
        fold_of_row: IntArray | None = None,
    ) -> "FoldedLasso":
        """Fit; without `fold_of_row`, the folds are five runs of rows."""
        if fold_of_row is None:
            fold_of_row = np.sort(np.arange(len(target)) % FOLDS)
        center, middle = matrix.mean(axis=0), float(target.mean())
        folds = []
        for k in range(int(fold_of_row.max()) + 1):
            mine = fold_of_row == k
            values = np.column_stack(
                [np.ones(int(mine.sum())), matrix[mine] - center, target[mine] - middle]
            )
            if sample_weight is not None:
                values *= np.sqrt(sample_weight[mine])[:, None]
            folds.append(self._signed(_condensed(values)))
        positive = self.signs is not None
        penalties = _penalties(np.vstack(folds), positive)
        paths = [
            _path(np.vstack([*folds[:k], *folds[k + 1 :]]), penalties, positive)
            for k in range(len(folds))
        ]
        errors = [
            ((fold[:, -1:] - fold[:, :-1] @ path.T) ** 2).sum(axis=0)
            / (fold[:, 0] ** 2).sum()
            for fold, path in zip(folds, paths, strict=True)
            if fold[:, 0].any()
        ]
        best = int(np.argmin(np.mean(errors, axis=0)))
        self.alpha_ = float(penalties[best])
        lines = np.vstack(
            [
                _path(np.vstack(folds), [self.alpha_], positive),
                *(path[best] for path in paths),
            ]
        )
        slopes = self._unsigned(lines[:, 1:])
        constants = middle + lines[:, 0] - slopes @ center
        self.coef_, self.coef_by_fold_ = slopes[0], slopes[1:]
        self.intercept_, self.intercept_by_fold_ = float(constants[0]), constants[1:]
        self.n_features_in_ = matrix.shape[1]
        return self

    def _signed(self, rows: FloatArray) -> FloatArray:
        """Columns whose coefficients are at least zero, between the constant and the
        target.
        """
        if self.signs is None:
            return rows
        columns = rows[:, 1:-1]
        turned = columns * np.where(self.signs < 0, -1.0, 1.0)
        return np.hstack(
            [rows[:, :1], turned, -columns[:, self.signs == 0], rows[:, -1:]]
        )

    def _unsigned(self, slopes: FloatArray) -> FloatArray:
        """The coefficients of the columns as they were."""
        if self.signs is None:
            return slopes
        out = slopes[:, : len(self.signs)] * np.where(self.signs < 0, -1.0, 1.0)
        out[:, self.signs == 0] -= slopes[:, len(self.signs) :]
        return out


def _condensed(rows: FloatArray) -> FloatArray:
    """At most as many rows as columns, with the same sums of squares and products."""
    if len(rows) <= rows.shape[1]:
        return rows
    sums = rows.T @ rows
    size = np.sqrt(np.diag(sums))
    # a large column must not cost a small one its digits
    unit = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(sums / np.outer(unit, unit))
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * unit)


def _centered(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The means of columns and target, and the rows around them, as if each weighed
    one.
    """
    root = rows[:, 0]  # the constant: the root of each row's weight
    weight = float(root @ root)
    means = root @ rows[:, 1:] / weight
    return means, (rows[:, 1:] - np.outer(root, means)) * np.sqrt(len(rows) / weight)


def _penalties(rows: FloatArray, positive: bool) -> FloatArray:
    """From the least at which all coefficients are zero, downwards."""
    _, centered = _centered(rows)
    slopes = centered[:, :-1].T @ centered[:, -1] / len(rows)
    largest, least = (
        float((slopes if positive else np.abs(slopes)).max()),
        float(np.finfo(np.float64).resolution),
    )
    return (
        np.geomspace(largest, largest * SMALLEST, PENALTIES)
        if largest > least
        else np.full(PENALTIES, least)
    )


def _path(
    rows: FloatArray, penalties: FloatArray | Sequence[float], positive: bool
) -> FloatArray:
    """Constant and coefficients for each penalty, shape (penalties, 1 + columns)."""
    means, centered = _centered(rows)
    columns, target = np.asfortranarray(centered[:, :-1]), centered[:, -1].copy()
    options = {
        "alphas": penalties,
        "positive": positive,
        "max_iter": STEPS,
        "check_input": False,
    }
    with config_context(skip_parameter_validation=True):
        _, slopes, _ = enet_path(columns, target, l1_ratio=1.0, **options)
    return np.column_stack([means[-1] - means[:-1] @ slopes, slopes.T])


class BoundedLinearRegression(RegressorMixin, LinearModel):  # type: ignore[misc]
    """Least squares with coefficients of given signs: the linear rule under a
    monotonicity constraint.
    """

    def __init__(self, signs: IntArray) -> None:
        self.signs = signs

    def fit(
        self,
        matrix: FloatArray,
        target: FloatArray,
        sample_weight: FloatArray | None = None,
    ) -> Any:
        from scipy.optimize import lsq_linear

        root = np.ones(len(target)) if sample_weight is None else np.sqrt(sample_weight)
        center = np.average(matrix, axis=0, weights=root**2)
        scale = np.sqrt(np.average((matrix - center) ** 2, axis=0, weights=root**2))
        scale[scale == 0] = 1.0
        mean = np.average(target, weights=root**2)
        bounds = (
            np.where(self.signs > 0, 0.0, -np.inf),
            np.where(self.signs < 0, 0.0, np.inf),
        )
        found = lsq_linear(
            root[:, None] * (matrix - center) / scale,
            root * (target - mean),
            bounds=bounds,
        )
        self.coef_ = found.x / scale
        self.intercept_ = float(mean - center @ self.coef_)
        self.n_features_in_ = matrix.shape[1]
        return self
