"""Processes that break a plain bootstrap, in short: the level holds, or a caution says why it may not."""

import numpy as np
import pytest

from simulation.hard import HARD, absolute_at_zero, levels_of, wrong_bounds
from simulation.levels import ALPHA

ERRORS = 3.5
QUICK = {
    "three groups, two tied": 300,
    "six groups nearly tied": 60,
    "rare outcome, 20 more rows": 150,
    "rare outcome, 200 more rows": 300,
    "12 clusters": 300,
    "12 strata of 3 clusters": 60,
    "Pareto weights, index 1.5": 200,
    "skewed outcome, accuracy": 150,
    "skewed outcome, gap": 150,
    "12 clusters, skewed": 150,
}


@pytest.mark.parametrize("name", QUICK)
def test_the_level_holds_or_a_caution_fires(name: str) -> None:
    process = next(one for one in HARD if one.name == name)
    found = levels_of(process, QUICK[name], 31, draws=300)
    fires = max(found.cautions.values(), default=0.0)
    assert not found.mended.exceeds(ALPHA, ERRORS) or fires >= 0.93
    if process.caution:
        assert found.fires(process.caution) >= 0.93


def test_without_accounting_for_the_choice_ties_are_rejected_too_often() -> None:
    process = next(one for one in HARD if one.name == "eight groups tied")
    found = levels_of(process, 40, 32, draws=200)
    assert found.plain.share > 0.15
    assert not found.mended.exceeds(ALPHA, ERRORS)


def test_the_absolute_statistic_is_wrong_at_zero_where_gaps_are_about_one_standard_error() -> None:
    assert absolute_at_zero(1.0, 0.9, 400, 33).share > 0.15
    assert not absolute_at_zero(6.0, 0.5, 400, 33).exceeds(ALPHA, ERRORS)


def test_simultaneous_bounds_are_rarely_wrong() -> None:
    found = wrong_bounds(150, 34, draws=300)
    assert not found["all"].exceeds(ALPHA, ERRORS)
    assert found["each"].share >= found["all"].share


def test_every_hard_process_can_be_drawn_and_is_named_once() -> None:
    assert len({process.name for process in HARD}) == len(HARD)
    for process in HARD:
        drawn = process.make(np.random.default_rng(0))
        assert set(np.unique(drawn.group)) == set(range(process.groups))
