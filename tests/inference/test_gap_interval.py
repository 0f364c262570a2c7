"""The interval of the gap between any number of groups, against loops over pairs and a
grid of differences.
"""

from itertools import combinations

import numpy as np
import pytest

from improvable._typing import FloatArray
from improvable.inference.intervals import gap_interval, interval
from improvable.inference.statistics import unfairness


def drawn_around(
    values: FloatArray, errors: FloatArray, seed: int = 0, draws: int = 800
) -> FloatArray:
    return values + errors * np.random.default_rng(seed).normal(
        size=(draws, len(values))
    )


def slow_interval(
    values: FloatArray, drawn: FloatArray, level: float
) -> tuple[float, float]:
    """Loops: how far the worst pair of each draw is off, in its own standard errors;
    then all differences allowed.
    """
    pairs = list(combinations(range(len(values)), 2))
    errors = {(g, h): np.std(drawn[:, g] - drawn[:, h]) for g, h in pairs}
    worst = sorted(
        max(
            abs((row[g] - row[h]) - (values[g] - values[h])) / errors[g, h]
            for g, h in pairs
        )
        for row in drawn
    )
    times = worst[int(np.ceil(level * (len(worst) - 1)))]
    least, most = 0.0, 0.0
    for g, h in pairs:
        allowed = np.linspace(
            values[g] - values[h] - times * errors[g, h],
            values[g] - values[h] + times * errors[g, h],
            20_001,
        )
        least, most = (
            max(least, np.abs(allowed).min()),
            max(most, np.abs(allowed).max()),
        )
    return least, most


@pytest.mark.parametrize("groups", [3, 4, 10])
@pytest.mark.parametrize("spread", [0.0, 0.02, 0.3])
def test_it_holds_every_gap_that_simultaneous_differences_allow(
    groups: int, spread: float
) -> None:
    rng = np.random.default_rng(groups)
    values = 0.5 + spread * rng.normal(size=groups)
    drawn = drawn_around(values, rng.uniform(0.01, 0.05, groups), groups)
    low, high = gap_interval(values, drawn, 0.95)
    assert (low, high) == pytest.approx(slow_interval(values, drawn, 0.95), abs=1e-4)
    assert low <= float(unfairness(values)) <= high


@pytest.mark.parametrize("difference", [0.2, 0.03, 0.0])
def test_of_two_groups_it_is_the_interval_of_their_difference_folded(
    difference: float,
) -> None:
    values = np.array([0.5, 0.5 + difference])
    drawn = drawn_around(values, np.array([0.02, 0.04]))
    low, high = interval(difference, drawn[:, 1] - drawn[:, 0], 0.95)
    folded = gap_interval(values, drawn, 0.95)
    turned = gap_interval(values[::-1].copy(), drawn[:, ::-1], 0.95)
    assert folded == pytest.approx((max(low, 0.0), max(high, -low)))
    if difference:
        assert turned == pytest.approx(folded), "whichever group comes first"


def test_a_protected_group_counts_from_one_side_only() -> None:
    values = np.array([0.5, 0.6, 0.9])
    drawn = drawn_around(values, np.full(3, 0.01))
    low, high = gap_interval(values, drawn, 0.95, protected=1)
    assert 0.2 < low < 0.3 < high < 0.4
    assert gap_interval(values, drawn, 0.95, protected=2) == (0.0, 0.0), (
        "it is the best off"
    )


@pytest.mark.parametrize("values", [[0.4, 0.8], [0.8, 0.4], [0.6, 0.61]])
def test_a_ratio_folds_as_ratios_do(values: list[float]) -> None:
    """Of two groups: every ratio that the interval of one minus it allows, turned
    upside down where it is above one.
    """
    given = np.array(values)
    drawn = drawn_around(given, np.array([0.02, 0.02]))
    first, second = (0, 1) if values[0] >= values[1] else (1, 0)
    low, high = interval(
        1 - values[second] / values[first], 1 - drawn[:, second] / drawn[:, first], 0.95
    )
    ratios = 1 - np.linspace(low, high, 50_001)
    gaps = 1 - np.minimum(ratios, 1 / ratios)
    assert gap_interval(given, drawn, 0.95, relative=1) == pytest.approx(
        (gaps.min(), gaps.max()), abs=1e-5
    )


def test_undefined_draws_only_widen_and_many_leave_no_end() -> None:
    values = np.array([0.5, 0.6, 0.9])
    drawn = drawn_around(values, np.full(3, 0.02))
    whole = gap_interval(values, drawn, 0.95)
    few, many = drawn.copy(), drawn.copy()
    few[:10, 0], many[:100, 0] = np.nan, np.nan
    wider = gap_interval(values, few, 0.95)
    assert wider[0] <= whole[0]
    assert wider[1] >= whole[1]
    assert gap_interval(values, many, 0.95) == (0.0, np.inf)
    assert gap_interval(values, np.full((50, 3), np.nan), 0.95) == (0.0, np.inf)
    still = gap_interval(values, np.tile(values, (50, 1)), 0.95)
    assert still == pytest.approx((0.4, 0.4)), "what no draw moves"
