"""The cutoff of a capacity comes from all scores, counted batch by batch."""

import numpy as np
import polars as pl
import pytest

import improvable
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Scores that tie within batches and across them, with weights of 0, .5 and 1."""
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "old": rng.integers(0, 40, 500) / 8,
            "new": rng.integers(0, 40, 500) / 8,
            "weight": rng.integers(0, 3, 500) / 2,
            "group": rng.choice(["a", "b"], 500),
            "outcome": rng.integers(0, 2, 500),
        }
    )


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("size", [71, 250])
def test_batches_have_the_cutoff_of_the_whole(
    people: pl.DataFrame, weight: str | None, size: int
) -> None:
    whole, batches = (
        improvable.compare(
            Memory(read_rows(people), 1, rows),
            outcome="outcome",
            group="group",
            status_quo=improvable.threshold("old", capacity=0.3),
            candidate=improvable.threshold("new", capacity=0.3),
            weight=weight,
            test=improvable.Test(draws=200, ties="strict"),
        ).to_dict()
        for rows in (len(people), size)
    )
    assert batches == whole
