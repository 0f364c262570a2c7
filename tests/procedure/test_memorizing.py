"""Folds, a rule that memorizes, and near-duplicates: a caution where all three meet, and nowhere else."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.neighbors import KNeighborsClassifier

import improvable
from improvable.data.duplicates import near_twins
from improvable.data.frames import read_rows


def people(*, twins: bool) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 4))
    group = rng.choice(["a", "b"], 300)
    frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(4)}).with_columns(
        group=pl.Series(group),
        outcome=pl.Series((x[:, 0] + rng.normal(size=300) > 0) * 1),
        score=pl.Series(rng.normal(size=300) + (group == "a")),
    )
    other = frame if twins else people_like(frame)
    close = [(pl.col(f"x{j}") + (1e-9 if twins else 0.0)) for j in range(4)]
    return pl.concat([frame, other.with_columns(close)])


def people_like(frame: pl.DataFrame) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return frame.with_columns(pl.Series(f"x{j}", rng.normal(size=len(frame))) for j in range(4))


def warned(**options: Any) -> bool:
    twins = options.pop("twins", True)
    asked: dict[str, Any] = {"rule": KNeighborsClassifier(1), "folds": 2} | options
    result = improvable.audit(
        people(twins=twins).with_row_index("row"), outcome="outcome", group="group", row_id="row",
        status_quo=improvable.threshold("score", above=0.0), features=["x*"], accuracy="classification_rate",
        repetitions=2, draws=100, **asked,
    )  # fmt: skip
    return any("the rule memorizes" in text and "near-duplicate" in text for text in result.warnings)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, True), ({"twins": False}, False), ({"rule": "linear"}, False), ({"folds": None}, False)],
)
def test_the_caution_needs_folds_and_twins_and_a_rule_that_memorizes(options: dict[str, Any], expected: bool) -> None:
    assert warned(**options) == expected


@pytest.mark.parametrize("seed", range(5))
def test_twins_are_those_of_a_naive_twin(seed: int) -> None:
    rounded = np.random.default_rng(seed).integers(0, 3, (40, 3)).astype(float)
    slow = [any(i != j and (one == other).all() for j, other in enumerate(rounded)) for i, one in enumerate(rounded)]
    rows = read_rows(pl.DataFrame({f"x{j}": column for j, column in enumerate(rounded.T)}))
    assert near_twins(rows, rows.columns, 0.01) == np.mean(slow)
    assert near_twins(rows.take(slice(0, 1)), rows.columns, 0.01) == 0
