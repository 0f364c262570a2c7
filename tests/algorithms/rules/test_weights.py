"""Rules that learn from weighted rows."""

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit


@pytest.mark.parametrize(
    "rule", ["linear", "ridge:100", "logistic", "lasso", "boosting", "aim"]
)
def test_the_unit_of_weights_does_not_matter(rule: str) -> None:
    """A penalty, and a capacity of one row, are beside the number of rows, not of
    people whom they stand for.
    """
    rng = np.random.default_rng(3)
    rows = 600
    x = rng.normal(size=(rows, 3))
    people = pl.DataFrame(x, schema=["x0", "x1", "x2"]).with_columns(
        group=pl.Series(rng.choice(["a", "b"], rows)),
        score=pl.Series(x[:, 0] + rng.normal(0, 2, rows)),
        outcome=pl.Series((x.sum(axis=1) + rng.normal(0, 1, rows) > 0).astype(int)),
        weight=pl.Series(rng.uniform(1, 3, rows)),
        id=pl.Series(range(rows)),
    )
    found = [
        flat_audit(
            people.with_columns(pl.col("weight") * unit),
            outcome="outcome",
            group="group",
            weight="weight",
            rule=rule,
            status_quo=improvable.threshold("score", capacity=0.4),
            features=["x0", "x1", "x2"],
            row_id="id",
            repetitions=1,
            draws=200,
            seed=1,
        )
        for unit in (1.0, 2.0**14, 2.0**-14)
    ]
    for other in found[1:]:
        assert found[0].p_value == other.p_value
        assert (
            found[0].facts["repetitions"][0]["components"]
            == other.facts["repetitions"][0]["components"]
        )
