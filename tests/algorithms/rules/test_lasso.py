"""The LASSO with given signs, against the LASSO and against the conditions that define its optimum."""

import numpy as np
import pytest
from sklearn.linear_model import LassoCV

from improvable.algorithms.rules.monotone import MonotoneLasso
from improvable.data.arrays import FloatArray


@pytest.fixture(scope="module")
def rows() -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 5))
    return x, x @ [1.0, -0.8, 0.5, 0.0, -0.3] + 2 + rng.normal(0, 0.5, 300)


def test_signs_that_do_not_bind_leave_the_lasso(rows: tuple[FloatArray, FloatArray]) -> None:
    free = LassoCV(cv=5, max_iter=5_000).fit(*rows)
    fitted = MonotoneLasso(np.array([1, -1, 0, 0, 0])).fit(*rows)
    np.testing.assert_allclose(fitted.alpha_, free.alpha_, rtol=1e-6)
    np.testing.assert_allclose(fitted.coef_, free.coef_, atol=1e-3)


def test_signs_that_bind_meet_the_conditions_of_the_optimum(rows: tuple[FloatArray, FloatArray]) -> None:
    """The gradient of the fit is alpha where a coefficient is free to move, and pushes outwards where it is not."""
    x, y = rows
    signs = np.array([-1, 0, 1, 1, 0])
    fitted = MonotoneLasso(signs).fit(x, y)
    assert fitted.coef_[0] == 0
    assert (fitted.coef_ * signs >= 0).all()
    centered = x - x.mean(axis=0)
    gradient = centered.T @ (y - y.mean() - centered @ fitted.coef_) / len(y)
    for j, (coefficient, sign) in enumerate(zip(fitted.coef_, signs, strict=True)):
        if coefficient != 0:
            assert gradient[j] == pytest.approx(np.sign(coefficient) * fitted.alpha_, abs=1e-3)
        else:
            least, most = (-np.inf if sign > 0 else -fitted.alpha_), (np.inf if sign < 0 else fitted.alpha_)
            assert least - 1e-3 <= gradient[j] <= most + 1e-3
    np.testing.assert_allclose(fitted.predict(x), x @ fitted.coef_ + fitted.intercept_)


def test_weights_repeat_rows(rows: tuple[FloatArray, FloatArray]) -> None:
    x, y = rows
    weights = np.where(np.arange(300) % 2 == 0, 3.0, 1e-9)
    heavy = MonotoneLasso(np.array([1, 0, 0, 0, 0])).fit(x, y, sample_weight=weights)
    plain = MonotoneLasso(np.array([1, 0, 0, 0, 0])).fit(x[::2], y[::2])
    np.testing.assert_allclose(heavy.coef_, plain.coef_, atol=0.1)
