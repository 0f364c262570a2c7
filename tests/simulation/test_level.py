"""The level of the test, by simulation; every bound is the nominal level plus 3.5 Monte
Carlo errors.
"""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import improvable
from improvable._typing import FloatArray
from improvable.inference.bootstrap import resample
from improvable.inference.cells import count
from improvable.inference.test import lower_tail
from oracle import folded_statistic, signed_statistics

REPETITIONS = 200
MARGIN = 3.5 * (0.05 * 0.95 / REPETITIONS) ** 0.5


def rejections(test: Callable[[np.random.Generator, int], bool]) -> float:
    return float(
        np.mean([test(np.random.default_rng([11, i]), i) for i in range(REPETITIONS)])
    )


def people(
    rng: np.random.Generator, rates: dict[str, tuple[float, float]], rows: int = 700
) -> pl.DataFrame:
    """Decisions that are correct at a given rate for each group, under the status quo
    and under the candidate.
    """
    group = rng.choice(list(rates), rows)
    outcome = rng.integers(0, 2, rows)
    columns: dict[str, FloatArray] = {}
    for t, name in enumerate(("now", "new")):
        correct = rng.random(rows) < np.array([rates[g][t] for g in group])
        columns[name] = np.where(correct, outcome, 1 - outcome)
    return pl.DataFrame({"group": group, "outcome": outcome, **columns})


def compare_rejects(
    rates: dict[str, tuple[float, float]],
) -> Callable[[np.random.Generator, int], bool]:
    def once(rng: np.random.Generator, i: int) -> bool:
        frame = people(rng, rates)
        return improvable.compare(
            frame,
            outcome="outcome",
            group="group",
            status_quo="now",
            candidate="new",
            accuracy="classification_rate",
            test=improvable.Test(draws=300),
            seed=i,
        ).reject

    return once


@pytest.mark.paper("Theorem 1")
@pytest.mark.parametrize(
    ("binding", "rates"),
    [
        ("accuracy of a", {"a": (0.8, 0.8), "b": (0.4, 0.7)}),
        ("accuracy of b", {"a": (0.4, 0.7), "b": (0.8, 0.8)}),
        ("fairness", {"a": (0.7, 0.9), "b": (0.45, 0.65)}),
    ],
)
def test_each_component_of_the_null_binding_alone_is_rejected_at_its_level(
    binding: str, rates: dict[str, tuple[float, float]]
) -> None:
    rate = rejections(compare_rejects(rates))
    assert rate <= 0.05 + MARGIN, binding
    # At a level of 5%, fewer than 2 of 200 samples reject with probability .0004.
    assert rate >= 2 / REPETITIONS, f"{binding}: conservative where theory says exact"


@pytest.mark.paper("Appendix B", "Proposition B.1")
def test_all_components_binding_at_once_is_rejected_less_often() -> None:
    assert rejections(compare_rejects({"a": (0.8, 0.8), "b": (0.6, 0.6)})) <= 0.05


def test_an_identical_candidate_is_never_rejected() -> None:
    def once(rng: np.random.Generator, i: int) -> bool:
        frame = people(rng, {"a": (0.8, 0.8), "b": (0.5, 0.5)}, rows=200)
        return improvable.compare(
            frame,
            outcome="outcome",
            group="group",
            status_quo="now",
            candidate="now",
            accuracy="classification_rate",
            test=improvable.Test(draws=100),
            seed=i,
        ).reject

    assert rejections(once) == 0.0


def appendix_e(delta: float, rows: int) -> dict[str, float]:
    """Rejections at the boundary |E gamma_1| = (1 - delta) |E gamma_0| of Appendix E's
    process, by both statistics.
    """
    mean = np.array([1.52, (1 - delta) * 1.52])
    root = np.linalg.cholesky(np.array([[10, 6.85], [6.85, 10.83]]))
    hits = {"signed": 0, "absolute": 0}
    for i in range(REPETITIONS):
        rng = np.random.default_rng([12, i])
        gamma = mean + rng.normal(size=(rows, 2)) @ root.T
        cells = count(gamma, np.zeros(rows, dtype=np.int64), 1)
        draws = resample(cells, 400, np.random.SeedSequence([13, i]))[:, 0] / rows
        estimate = gamma.mean(axis=0)
        # the other group's utility is zero, so that the gap is the mean of gamma
        status_quo, candidate = (np.array([value, 0.0]) for value in estimate)
        drawn = [
            np.stack([draws[:, t], np.zeros(len(draws))], axis=1) for t in range(2)
        ]
        reference = (0, 1) if estimate[0] > 0 else (1, 0)
        p = lower_tail(
            float(folded_statistic(status_quo, candidate, delta, "ratio")),
            folded_statistic(drawn[0], drawn[1], delta, "ratio"),
            scale=1.0,
        ).p_value
        hits["absolute"] += p < 0.05
        statistics = signed_statistics(status_quo, candidate, reference, delta, "ratio")
        signed = signed_statistics(drawn[0], drawn[1], reference, delta, "ratio")
        p = max(
            lower_tail(float(statistics[j]), signed[:, j], 1.0).p_value
            for j in range(2)
        )
        hits["signed"] += p < 0.05
    return {name: n / REPETITIONS for name, n in hits.items()}


@pytest.mark.paper("Appendix C")
@pytest.mark.parametrize("rows", [100, 400])
def test_the_folded_statistic_exceeds_its_level_near_perfect_fairness_and_the_signed_one_never_does(  # noqa: E501
    rows: int,
) -> None:
    for delta in (0.0, 0.5, 0.8, 0.95):
        rate = appendix_e(delta, rows)
        assert rate["signed"] <= 0.05 + MARGIN, delta
        if delta == 0.8:
            assert rate["absolute"] > 0.05 + 2 * MARGIN
