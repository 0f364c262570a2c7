"""The LASSO from sums against scikit-learn's from rows, and with given signs against
the conditions of its optimum.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import PredefinedSplit

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.rules.lasso import FoldedLasso

Rows = tuple[FloatArray, FloatArray]
COLUMNS = 8


def simulated(rows: int, columns: int = COLUMNS, noise: float = 1.0) -> Rows:
    rng = np.random.default_rng([rows, columns])
    x = rng.normal(size=(rows, columns))
    return x, x[:, :3] @ [1.0, -0.5, 0.2] + noise * rng.normal(size=rows)


def degenerate(kind: str) -> Rows:
    """Columns or targets that make a solver stumble."""
    x, y = simulated(300)
    if kind == "constant column":
        x[:, 3] = 7.0
    elif kind == "only constant columns":
        x[:] = 1.0
    elif kind == "equal columns":
        x[:, 4] = x[:, 0]
    elif kind == "opposite columns":
        x[:, 4] = -x[:, 1]
    elif kind == "a column that varies in one row":
        x[:, 5] = 0.0
        x[17, 5] = 20.0
    elif kind == "far from zero":
        x, y = x + 1e6, y + 1e4
    elif kind == "of different sizes":
        x, y = x * np.logspace(-3, 3, COLUMNS), 1e5 * y
    elif kind == "constant target":
        y[:] = 3.7
    elif kind == "a target that varies in one row":
        y[:] = 0.0
        y[3] = 1.0
    elif kind == "0/1 target":
        y = (y > 1.0).astype(np.float64)
    elif kind == "exact":
        y = x @ np.arange(float(COLUMNS))
    elif kind == "one column":
        x = x[:, :1]
    return x, y


KINDS = [
    "constant column",
    "only constant columns",
    "equal columns",
    "opposite columns",
    "a column that varies in one row",
    "far from zero",
    "of different sizes",
    "constant target",
    "a target that varies in one row",
    "0/1 target",
    "exact",
    "one column",
]


def random_folds(rows: int) -> IntArray:
    return np.random.default_rng(rows).permutation(rows) % 5


def assert_as_scikit_learn(
    x: FloatArray, y: FloatArray, weights: FloatArray | None = None
) -> None:
    """The same penalty and predictions as scikit-learn, for all rows and for all but
    those of each fold.
    """
    fold = random_folds(len(y))
    theirs = LassoCV(cv=PredefinedSplit(fold), max_iter=50_000).fit(
        x, y, sample_weight=weights
    )
    ours = FoldedLasso().fit(x, y, weights, fold)
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-9)
    spread = max(float(y.std()), 1e-12)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), atol=1e-8 * spread)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8 * spread)
    for k in range(5):
        others = fold != k
        again = Lasso(theirs.alpha_, max_iter=50_000, tol=1e-8)
        again.fit(
            x[others],
            y[others],
            sample_weight=None if weights is None else weights[others],
        )
        found = x @ ours.coef_by_fold_[k] + ours.intercept_by_fold_[k]
        # a gap of 1e-4 of the variance
        np.testing.assert_allclose(found, again.predict(x), atol=0.03 * spread)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("rows", "columns"),
    [(2_000, 30), (300, 8), (12, 3), (100, 90), (120, 100), (60, 200)],
)
def test_it_is_scikit_learns(rows: int, columns: int, weighted: bool) -> None:
    weights = np.random.default_rng(1).exponential(size=rows) if weighted else None
    assert_as_scikit_learn(*simulated(rows, columns), weights)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_scikit_learns_where_columns_are_degenerate(kind: str) -> None:
    assert_as_scikit_learn(*degenerate(kind))


def test_rows_may_weigh_nothing() -> None:
    x, y = simulated(400)
    weights = np.where(np.arange(400) % 2 == 0, 3.0, 0.0)
    assert_as_scikit_learn(x, y, weights)
    # two of four folds weigh nothing
    one = FoldedLasso().fit(x, y, weights, np.arange(400) % 4)
    two = FoldedLasso().fit(x[::2], y[::2], None, np.arange(400)[::2] % 4 // 2)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-9)


def test_folds_are_runs_of_rows_unless_told() -> None:
    x, y = simulated(303)
    assert FoldedLasso().fit(x, y).alpha_ == pytest.approx(
        LassoCV(cv=5).fit(x, y).alpha_, rel=1e-9
    )


def test_the_unit_of_weights_does_not_matter() -> None:
    x, y = simulated(300)
    weights = np.random.default_rng(2).exponential(size=300)
    one, other = (FoldedLasso().fit(x, y, unit * weights) for unit in (1.0, 1e6))
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


@pytest.fixture(scope="module")
def rows() -> Rows:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 5))
    return x, x @ [1.0, -0.8, 0.5, 0.0, -0.3] + 2 + rng.normal(0, 0.5, 300)


def test_signs_that_do_not_bind_leave_the_lasso(rows: Rows) -> None:
    free, fitted = (
        FoldedLasso().fit(*rows),
        FoldedLasso(np.array([1, -1, 0, 0, 0])).fit(*rows),
    )
    np.testing.assert_allclose(fitted.alpha_, free.alpha_, rtol=1e-6)
    np.testing.assert_allclose(fitted.coef_, free.coef_, atol=1e-3)
    np.testing.assert_allclose(fitted.coef_by_fold_, free.coef_by_fold_, atol=1e-3)


def test_signs_that_bind_meet_the_conditions_of_the_optimum(rows: Rows) -> None:
    """The gradient of the fit is alpha where a coefficient is free to move, and pushes
    outwards where it is not.
    """
    x, y = rows
    signs = np.array([-1, 0, 1, 1, 0])
    fitted = FoldedLasso(signs).fit(x, y)
    assert fitted.coef_[0] == 0
    assert (fitted.coef_ * signs >= 0).all()
    assert (fitted.coef_by_fold_ * signs >= 0).all()
    centered = x - x.mean(axis=0)
    gradient = centered.T @ (y - y.mean() - centered @ fitted.coef_) / len(y)
    for j, (coefficient, sign) in enumerate(zip(fitted.coef_, signs, strict=True)):
        if coefficient != 0:
            assert gradient[j] == pytest.approx(
                np.sign(coefficient) * fitted.alpha_, abs=1e-3
            )
        else:
            least, most = (
                (-np.inf if sign > 0 else -fitted.alpha_),
                (np.inf if sign < 0 else fitted.alpha_),
            )
            assert least - 1e-3 <= gradient[j] <= most + 1e-3
    np.testing.assert_allclose(fitted.predict(x), x @ fitted.coef_ + fitted.intercept_)


@pytest.mark.parametrize("signs", [None, np.array([1, 0, 0, 0, 0])])
def test_weights_repeat_rows(rows: Rows, signs: Any) -> None:
    x, y = rows
    times = np.random.default_rng(3).integers(1, 4, 300)
    fold = random_folds(300)
    heavy = FoldedLasso(signs).fit(x, y, times.astype(np.float64), fold)
    each = np.repeat(np.arange(300), times)
    plain = FoldedLasso(signs).fit(x[each], y[each], None, fold[each])
    assert heavy.alpha_ == pytest.approx(plain.alpha_, rel=1e-6)
    np.testing.assert_allclose(heavy.coef_, plain.coef_, atol=1e-6)
