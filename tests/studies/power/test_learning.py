"""What a pilot teaches: what the rule reaches with few training rows, and with more."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from improvable._typing import FloatArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO, U, W
from improvable.studies.power.learning import learn


def draw_people(rows: int, noise: int) -> pl.DataFrame:
    """One useful feature, and some that a rule must learn to ignore."""
    rng = np.random.default_rng(0)
    low = rng.random(rows) < 0.4
    need = rng.normal(0.2 * low, 1, rows)
    useless = {f"noise_{j}": rng.normal(size=rows) for j in range(noise)}
    return pl.DataFrame(
        {
            "group": np.where(low, "b", "w"),
            "need": need + rng.normal(0, 0.3, rows),
            "score": need - low + rng.normal(0, 1.6, rows),
            "outcome": rng.poisson(np.exp(0.5 * need + 0.2)),
            **useless,
        }
    )


def measure_gains(rows: int, noise: int) -> FloatArray:
    """What the candidate gains in each group with the fewest rows studied, and with the
    most.
    """
    question: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.2),
        "rule": "linear",
        "features": ["need", *(f"noise_{j}" for j in range(noise))],
    }
    outlook, _ = learn(draw_people(rows, noise), rows, 3, 20, question, 0)
    sums = outlook.means.reshape(3, 2, 2, 2)  # size, group, algorithm, part
    utilities = sums[..., U] / sums[..., W]
    gains: FloatArray = utilities[..., CANDIDATE] - utilities[..., STATUS_QUO]
    return gains[[0, -1]]


@pytest.mark.paper("Definition 4")
def test_a_rule_that_still_learns_is_told_from_one_that_has_learned() -> None:
    """With 40 useless features a fifth of 800 rows teaches little and most of them
    teach more; with none, the cutoff is all that moves.
    """
    few, many = measure_gains(800, 40)
    assert (many > few + 0.2).all()
    few, many = measure_gains(3_000, 0)
    assert many == pytest.approx(few, abs=0.1)
