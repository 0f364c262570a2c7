"""Levels of groups known by probability, in short; the study is benchmarks/validity/probabilities.py."""

import math

import pytest

from validity.probabilities import WORST, rate

ROWS, TIMES = 800, 40


def at_most(level: float) -> float:
    """Three Monte Carlo errors above a level."""
    return level + 3 * math.sqrt(level * (1 - level) / TIMES)


VALID = [
    ("linear right", "between"), ("weighted right", "between"), ("gap, linear right", "between"),
    ("gap, weighted right", "between"), ("outside", "10% known"), ("outside", WORST),
]  # fmt: skip


@pytest.mark.parametrize(("process", "how"), VALID)
def test_what_is_valid_keeps_its_level(process: str, how: str) -> None:
    assert rate(process, how, ROWS, TIMES)[0] <= at_most(0.05)


def test_weighting_alone_and_the_likeliest_group_do_not() -> None:
    for how in ("weighted only", "likeliest group"):
        assert rate("linear right", how, ROWS, TIMES)[0] > at_most(0.05)


def test_power_is_less_than_with_known_groups_and_not_little() -> None:
    known, between = (rate("power", how, 2 * ROWS, TIMES)[0] for how in ("known groups", "between"))
    assert 0.2 < between <= known
