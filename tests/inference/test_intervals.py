"""Intervals of ratios agree with those of differences and with the test, and say where
they are not bounded.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from improvable.inference.intervals import interval, ratio_interval


def pair(seed: int, before: float, spread: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = np.array([before, before + rng.normal(0, 0.5)])
    root = np.array([[1.0, 0.0], [0.6, 0.8]])
    return values, values + rng.normal(size=(401, 2)) @ root.T * spread


@given(
    st.integers(0, 100_000),
    st.floats(-2, 2).filter(lambda x: abs(x) > 0.01),
    st.floats(0.05, 1),
)
@settings(max_examples=200, deadline=None)
def test_it_excludes_one_where_the_difference_excludes_zero(
    seed: int, before: float, spread: float
) -> None:
    values, draws = pair(seed, before, spread)
    low, high = ratio_interval(values, draws, 0.95)
    d_low, d_high = interval(
        float(values[1] - values[0]), draws[:, 1] - draws[:, 0], 0.95
    )
    if before < 0:
        d_low, d_high = -d_high, -d_low
    assert d_low > 0 or not low > 1
    assert d_high < 0 or not high < 1
    if ((2 * values[0] - draws[:, 0]) * np.sign(before) > 0).all():
        assert (low > 1) == (d_low > 0)
        assert (high < 1) == (d_high < 0)


@pytest.mark.parametrize("seed", range(20))
def test_it_holds_the_ratios_that_are_not_rejected(seed: int) -> None:
    """Slowly: at every ratio, the share of centered draws that are as far on either
    side.
    """
    values, draws = pair(seed, 1.0, 0.2)
    low, high = ratio_interval(values, draws, 0.9)
    for ratio in np.linspace(-1, 4, 101):
        statistic = values[1] - ratio * values[0]
        moved = draws[:, 1] - ratio * draws[:, 0] - statistic
        kept = min((moved >= statistic).sum(), (moved <= statistic).sum()) > 0.05 * 400
        assert kept == (low <= ratio <= high), ratio


def test_it_is_not_bounded_where_the_status_quo_may_be_zero() -> None:
    values, draws = pair(3, 0.1, 0.5)
    assert ratio_interval(values, draws, 0.95) == (-np.inf, np.inf)


def test_it_has_fiellers_bounds_in_the_normal_limit() -> None:
    rng = np.random.default_rng(1)
    values = np.array([2.0, 3.0])
    draws = values + rng.normal(0, [0.3, 0.4], (200_000, 2))
    a, b, c = 4 - 1.96**2 * 0.09, -2 * 6.0, 9 - 1.96**2 * 0.16
    roots = (-b + np.array([-1, 1]) * np.sqrt(b * b - 4 * a * c)) / (2 * a)
    assert ratio_interval(values, draws, 0.95) == pytest.approx(tuple(roots), rel=0.01)
