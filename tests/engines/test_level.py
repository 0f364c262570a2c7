"""The level of an audit whose repetitions come from hashes, by simulation."""

import numpy as np
import polars as pl
import pytest

import improvable

REPETITIONS = 100


@pytest.mark.parametrize("row_id", ["id", None])
def test_level(row_id: str | None) -> None:
    """In group a nothing tells the outcome, so no candidate is more accurate there;
    group b gains, and the gap shrinks.

    The bound is the nominal 5% and 3.5 Monte Carlo errors. This null is binding, so
    that some are rejected: at 5%, none of 100 has probability .006.
    """
    rejected = 0
    for i in range(REPETITIONS):
        rng = np.random.default_rng([7, i])
        in_a = rng.random(800) < 0.5
        signal = rng.normal(size=800)
        outcome = np.where(in_a, 4.0, 1.0 + 1.5 * signal) + rng.normal(0, 1, 800)
        frame = pl.DataFrame(
            {
                "id": np.arange(800),
                "y": np.round(outcome, 1),
                "g": np.where(in_a, "a", "b"),
                "score": rng.normal(size=800),
                "x": signal,
            }
        )
        result = improvable.audit(
            frame,
            outcome="y",
            group="g",
            status_quo=improvable.threshold("score", capacity=0.4),
            rule="linear",
            features=["x"],
            test=improvable.Test(repetitions=1, draws=200, train_rows=200),
            seed=i,
            row_id=row_id,
            read=improvable.Read(engine="memory"),
            n_jobs=1,
        )
        rejected += result.reject
    assert (
        1 / REPETITIONS
        <= rejected / REPETITIONS
        <= 0.05 + 3.5 * (0.05 * 0.95 / REPETITIONS) ** 0.5
    )
