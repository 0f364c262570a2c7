"""Levels with three groups, clusters, weights, formulas and ratios.

Every bound is the nominal level plus 3.5 Monte Carlo errors.
"""

from typing import Any

import numpy as np
import polars as pl

from flat import flat_compare

REPETITIONS = 150
MARGIN = 3.5 * (0.05 * 0.95 / REPETITIONS) ** 0.5


def decisions(rng: np.random.Generator, rates: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Outcomes, and decisions that are correct at the rates given, (rows, 2) for status
    quo and candidate.
    """
    outcome = rng.integers(0, 2, len(rates))
    correct = rng.random(rates.shape) < rates
    return {
        "outcome": outcome,
        "now": np.where(correct[:, 0], outcome, 1 - outcome),
        "new": np.where(correct[:, 1], outcome, 1 - outcome),
    }


def rejects(frame: pl.DataFrame, seed: int, **options: Any) -> bool:
    return flat_compare(
        frame,
        outcome="outcome",
        group="group",
        status_quo="now",
        candidate="new",
        draws=300,
        seed=seed,
        **{"accuracy": "classification_rate", **options},
    ).reject


def test_three_groups() -> None:
    """The middle group's accuracy binds; or the widest gap stays as wide, between
    another pair of groups.
    """
    cases = {
        "accuracy": {"a": (0.85, 0.9), "b": (0.65, 0.65), "c": (0.4, 0.65)},
        "fairness": {"a": (0.7, 0.95), "b": (0.55, 0.7), "c": (0.45, 0.75)},
    }
    for name, rates in cases.items():
        hits = 0
        for i in range(REPETITIONS):
            rng = np.random.default_rng([1, i])
            group = rng.choice(list(rates), 1_200)
            frame = pl.DataFrame(
                {"group": group, **decisions(rng, np.array([rates[g] for g in group]))}
            )
            hits += rejects(frame, i)
        assert hits / REPETITIONS <= 0.05 + MARGIN, name


def test_clusters_keep_the_level_where_ignoring_them_does_not() -> None:
    """The rows of a clinic share a shock to how often the candidate is right: 60
    clinics are not 1,200 rows.
    """
    hits = {"clustered": 0, "ignored": 0}
    for i in range(REPETITIONS):
        rng = np.random.default_rng([2, i])
        clinic = np.repeat(np.arange(60), 20)
        group = rng.choice(["a", "b"], 1_200)
        shock = rng.choice([-0.24, 0.24], 60)[clinic]
        before = np.where(group == "a", 0.75, 0.45)
        after = np.where(group == "a", 0.75, 0.7) + shock
        frame = pl.DataFrame(
            {
                "group": group,
                "clinic": clinic,
                **decisions(rng, np.stack([before, after], axis=1)),
            }
        )
        hits["clustered"] += rejects(frame, i, cluster="clinic")
        hits["ignored"] += rejects(frame, i)
    assert hits["clustered"] / REPETITIONS <= 0.05 + MARGIN
    assert hits["ignored"] / REPETITIONS > 0.05 + 2 * MARGIN


def test_weights() -> None:
    """Weights that are high where the candidate is worse: it improves in the rows, but
    not in the population.
    """
    hits = {"weighted": 0, "ignored": 0}
    for i in range(REPETITIONS):
        rng = np.random.default_rng([3, i])
        group = rng.choice(["a", "b"], 1_200)
        rare = rng.random(1_200) < 0.5
        before = np.where(group == "a", 0.75, 0.45)
        after = np.where(group == "a", np.where(rare, 0.65, 0.95), 0.7)
        weight = np.where(rare, 2.0, 1.0)
        frame = pl.DataFrame(
            {
                "group": group,
                "weight": weight,
                **decisions(rng, np.stack([before, after], axis=1)),
            }
        )
        hits["weighted"] += rejects(frame, i, weight="weight")
        hits["ignored"] += rejects(frame, i)
    assert hits["weighted"] / REPETITIONS <= 0.05 + MARGIN
    assert hits["ignored"] / REPETITIONS > 0.05 + 2 * MARGIN


def test_formulas_of_means_keep_the_level() -> None:
    """Group a gains for sure; group b's decisions are as good as they were, in other
    rows.
    """
    for accuracy in ("f_score", "lift"):
        hits = 0
        for i in range(REPETITIONS):
            rng = np.random.default_rng([4, i])
            group = rng.choice(["a", "b"], 600)
            rates = np.where((group == "a")[:, None], [0.6, 0.9], [0.7, 0.7])
            frame = pl.DataFrame({"group": group, **decisions(rng, rates)})
            hits += rejects(frame, i, accuracy=accuracy, ask="accuracy")
        assert 0.05 - MARGIN <= hits / REPETITIONS <= 0.05 + MARGIN, accuracy


def test_the_adverse_impact_ratio_keeps_the_level() -> None:
    """The candidate selects a fifth more in both groups: the ratio is as it was, and
    the difference is wider.
    """
    hits = 0
    for i in range(REPETITIONS):
        rng = np.random.default_rng([5, i])
        group = rng.choice(["a", "b"], 600)
        rates = np.where((group == "a")[:, None], [0.5, 0.6], [0.3, 0.36])
        chosen = (rng.random(rates.shape) < rates).astype(int)
        frame = pl.DataFrame(
            {
                "group": group,
                "outcome": rng.integers(0, 2, 600),
                "now": chosen[:, 0],
                "new": chosen[:, 1],
            }
        )
        hits += rejects(
            frame,
            i,
            accuracy="selection_rate",
            fairness="adverse_impact_ratio",
            ask="fairness",
        )
    assert 0 < hits / REPETITIONS <= 0.05 + MARGIN
