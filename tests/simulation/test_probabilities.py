"""Levels of groups known by probability, in short; the study is
benchmarks/validity/probabilities.py.
"""

import math
from dataclasses import replace
from functools import cache

import pytest

from validity.probabilities import (
    BOTH,
    GAMMA,
    KNOWN,
    LIKELIEST,
    POWERS,
    PROCESSES,
    SOME_KNOWN,
    WEIGHTED,
    WORST,
)
from validity.study import Found, repeat

ROWS, TIMES = 800, 40


def at_most(level: float) -> float:
    """Three Monte Carlo errors above a level."""
    return level + 3 * math.sqrt(level * (1 - level) / TIMES)


@cache
def found(name: str, rows: int = ROWS) -> Found:
    process = replace({**PROCESSES, **POWERS}[name], rows=rows)
    return repeat(lambda i: process.find((31, i)), TIMES)


VALID = [
    ("linear right", (BOTH, KNOWN)),
    ("weighted right", (BOTH,)),
    ("gap, linear right", (BOTH,)),
    ("gap, weighted right", (BOTH,)),
    ("households", (BOTH, WORST)),
    ("outside", (SOME_KNOWN, WORST)),
]


@pytest.mark.parametrize(("process", "ways"), VALID)
def test_what_is_valid_keeps_its_level(process: str, ways: tuple[str, ...]) -> None:
    samples = found(process)
    assert all(samples.below(way, 0.05).share <= at_most(0.05) for way in ways)


def test_weighting_alone_and_the_likeliest_group_do_not() -> None:
    samples = found("linear right")
    assert all(
        samples.below(way, 0.05).share > at_most(0.05) for way in (WEIGHTED, LIKELIEST)
    )


def test_power_is_less_than_with_known_groups_and_not_little() -> None:
    samples = found("gain", 2 * ROWS)
    assert 0.2 < samples.below(BOTH, 0.05).share <= samples.below(KNOWN, 0.05).share


def test_the_worst_case_answers_for_processes_within_its_bound() -> None:
    within = [name for name, one in PROCESSES.items() if one.departure() <= GAMMA]
    assert {"linear right", "outside", "households"} <= {*within}
    assert PROCESSES["weighted right"].departure() == 1
