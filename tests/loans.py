"""Loans whose status quo errs more for women, and a candidate, `instead`, that errs for
nobody more than for others.
"""

import numpy as np
import polars as pl


def make_loans(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sex, city = (
        rng.choice(["men", "women"], rows, p=[0.6, 0.4]),
        rng.choice(["north", "south"], rows),
    )
    income, debt = rng.normal(size=(2, rows))
    repaid = income - debt + 0.5 * rng.normal(size=rows) > 0
    approved = income + rng.normal(size=rows) * (0.3 + 2.0 * (sex == "women")) > 0
    instead = income - debt > 0.1
    table = {
        "sex": sex,
        "city": city,
        "income": income,
        "debt": debt,
        "repaid": repaid,
        "approved": approved,
    }
    frame = pl.DataFrame(
        {"loan": np.arange(rows) + 100_000 * seed, **table, "instead": instead}
    )
    return frame.with_columns(pl.col("repaid", "approved", "instead").cast(pl.Int64))
