"""The coverage of reports' intervals in short; `intervals.py` is the long study."""

import numpy as np
import pytest

from improvable.question.settings import Scheme
from validity import intervals
from validity.intervals import CASES, coverage, population, truth_of
from validity.learning import Learning
from validity.schemes import SCHEMES, rounds_of
from validity.study import ALPHA

SAMPLES = 30
ERRORS = 3.5
SHORT = [case for case in CASES if case.name in ("two groups", "three groups that tie")]


@pytest.fixture(autouse=True)
def small_population(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its truth errs by less than half a point, and the intervals are ten points
    wide.
    """
    intervals.population.cache_clear()
    monkeypatch.setattr(intervals, "POPULATION", 30_000)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
def test_intervals_cover_as_often_as_they_say(case: Learning, scheme: Scheme) -> None:
    found = coverage(case, scheme, SAMPLES, draws=400)
    least = 1 - ALPHA - ERRORS * (ALPHA * (1 - ALPHA) / SAMPLES) ** 0.5
    assert {name: one.share for name, one in found.items() if one.share < least} == {}


def test_the_truth_of_a_candidate_is_what_the_process_says() -> None:
    case = next(one for one in CASES if one.name == "two groups, clear gap")
    table = case.draw(np.random.default_rng(4), 20_000)
    for scheme in SCHEMES:
        one = next(rounds_of(case, table, scheme, 5, 10))
        truth = truth_of(case, table, one)
        assert truth == pytest.approx(np.array([[0.75, 0.8], [0.45, 0.6]]), abs=0.02)
        assert one.evidence.values[0][:, 0] == pytest.approx(truth, abs=0.03)
    assert len(population(case)) == intervals.POPULATION
