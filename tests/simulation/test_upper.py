"""The coverage of upper bounds in short; `upper.py` is the long study."""

import numpy as np
import pytest

from improvable.inference.upper import parts_of, upper_p_value
from improvable.question.claim import Claim
from validity.study import ALPHA, quiet
from validity.upper import CASES, Case, coverage, true_delta

SAMPLES = 120
ERRORS = 3.5
SHORT = [case for case in CASES if case.rows <= 2_000]


@pytest.mark.parametrize(
    "case", SHORT, ids=lambda case: f"{case.name}, {case.rows} rows, {case.what}"
)
def test_bounds_cover_as_often_as_they_say(case: Case) -> None:
    """A bound covers where the true value is not ruled out, by one p-value: no bound is
    looked for.
    """
    with quiet():
        evidence = (case.evidence(seed, 200) for seed in range(SAMPLES))
        parts = (
            parts_of(one, case.claim, case.what, case.claim.form) for one in evidence
        )
        covered = [upper_p_value(one, case.truth) >= ALPHA for one in parts]
    assert (
        np.mean(covered) >= 1 - ALPHA - ERRORS * (ALPHA * (1 - ALPHA) / SAMPLES) ** 0.5
    )


def test_bounds_come_near_the_truth_as_rows_grow() -> None:
    few, many = (
        coverage(case, 40, draws=200)
        for case in CASES
        if case.name == "two groups" and case.rows != 1_000
    )
    assert few[2] < 0.6
    assert (many[2], many[1] < 0.2) == (1, True)


def test_the_true_value_is_the_largest_cut_that_keeps_every_condition() -> None:
    two = np.array([[0.7, 0.75], [0.5, 0.6]])
    assert true_delta(two, Claim(), "fairness") == pytest.approx(0.25)
    assert true_delta(two, Claim(), "accuracy") == pytest.approx(0.05 / 0.7)
    assert true_delta(two[:, ::-1], Claim(), "fairness") == -np.inf
    assert true_delta(two[:, ::-1], Claim(ask="fairness"), "fairness") == pytest.approx(
        -1 / 3
    )
