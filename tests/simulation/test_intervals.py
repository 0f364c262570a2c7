"""The coverage of reports' intervals in short; `intervals.py` is the long study."""

import numpy as np
import pytest

from simulation import intervals
from simulation.intervals import CASES, WAYS, coverage, population, truth_of
from simulation.learning import Learning
from simulation.study import ALPHA

REPETITIONS = 30
ERRORS = 3.5
SHORT = [case for case in CASES if case.name in ("two groups", "three groups that tie")]


@pytest.mark.parametrize("folds", WAYS, ids=["halves", "two folds"])
@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
def test_intervals_cover_as_often_as_they_say(case: Learning, folds: int | None) -> None:
    found = coverage(case, folds, REPETITIONS, draws=400)
    least = 1 - ALPHA - ERRORS * (ALPHA * (1 - ALPHA) / REPETITIONS) ** 0.5
    assert {name: one.share for name, one in found.items() if one.share < least} == {}


def test_the_truth_of_a_candidate_is_what_the_process_says() -> None:
    case = next(one for one in CASES if one.name == "two groups, clear gap")
    table = case.draw(np.random.default_rng(4), 20_000)
    truth = truth_of(case, table, [np.ones(len(table), dtype=np.bool_)])
    assert truth == pytest.approx(np.array([[0.75, 0.8], [0.45, 0.6]]), abs=0.02)
    mixed = truth_of(case, table, [np.arange(20_000) < 10_000, np.arange(20_000) >= 10_000])
    assert mixed == pytest.approx(truth, abs=0.02)
    assert len(population(case)) == intervals.POPULATION
