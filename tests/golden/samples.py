"""Rows that golden results are made from: simulated loans, simulated visits.

Values are rounded where they are drawn, so that every processor has the same rows.
"""

from functools import cache

import numpy as np
import polars as pl

from improvable import Utility
from improvable._typing import FloatArray

LOANS = 900
VISITS = 900
MEASURES = {
    "odds of being selected": Utility(
        formula="selected / (1 - selected)",
        means={"selected": lambda outcome, decision: decision},
        name="odds",
        words="the odds of being selected",
        worse_off=("lower", "higher"),
    ),
    "net gain": Utility(
        lambda outcome, decision: decision * (3 * outcome - 1),
        name="net_gain",
        words="the mean gain of a loan, less its costs",
        worse_off="lower",
    ),
}
"""Utilities of somebody's own: a formula of means, and a pair."""


def _chances(score: FloatArray) -> FloatArray:
    """Logistic probabilities with four digits."""
    return np.round(1 / (1 + np.exp(-score)), 4)


@cache
def loans(rows: int = LOANS, seed: int = 11) -> pl.DataFrame:
    """Loan applications: the status quo reads incomes of women with more noise.

    `repaid` is the outcome, `approved` the decision in use, `instead` a fixed candidate
    without that noise, and `rating` a coarse score with many ties.
    """
    rng = np.random.default_rng(seed)
    women = rng.random(rows) < 0.4
    income = np.round(rng.normal(size=rows), 3)
    debt = np.round(rng.normal(size=rows), 3)
    years = rng.integers(0, 12, rows)
    surplus = income - debt
    repaid = surplus + np.round(rng.normal(size=rows), 3) > 0
    noise = np.round(rng.normal(size=rows) * (0.3 + 2.0 * women), 3)
    chance_of_a_woman = _chances(np.round(4.0 * women - 2.0 + rng.normal(size=rows), 3))
    return pl.DataFrame(
        {
            "loan": np.arange(rows) + 1_000,
            "sex": np.where(women, "women", "men"),
            "city": rng.choice(["north", "south", "west"], rows),
            "income": income,
            "debt": debt,
            "income_band": np.clip(np.round(2 * income), -3, 3).astype(np.int64),
            "debt_band": np.clip(np.round(2 * debt), -3, 3).astype(np.int64),
            "years": years,
            "repaid": repaid.astype(np.int64),
            "approved": (income + noise > 0).astype(np.int64),
            "instead": (surplus > 0.1).astype(np.int64),
            "score": np.round(income + noise, 3),
            "rating": np.clip(np.round(2 * (income + noise)), -3, 3).astype(np.int64),
            "weight": rng.integers(1, 4, rows),
            "household": np.arange(rows) // 2,
            "stratum": np.arange(rows) // 2 % 5,
            "p_men": np.round(1 - chance_of_a_woman, 4),
            "p_women": chance_of_a_woman,
            "known_sex": [
                name if number % 4 == 0 else None
                for number, name in enumerate(np.where(women, "women", "men").tolist())
            ],
        }
    )


@cache
def visits(rows: int = VISITS, seed: int = 23) -> pl.DataFrame:
    """Patients: `score`, the status quo's, ranks group b too low.

    `visits` is a count and `cost` an amount of next year; features are of several types
    and some are missing.
    """
    rng = np.random.default_rng(seed)
    in_b = rng.random(rows) < 0.4
    need = np.round(rng.gamma(1.5, 1.0, rows), 3)
    signal = np.round(need + 0.6 * rng.normal(size=rows), 3)
    noise = np.round(rng.normal(size=rows) * (1.0 + in_b), 3)
    region = rng.integers(0, 6, rows)
    has_reading = rng.random(rows) >= 0.1
    reading = np.round(signal + rng.normal(size=rows), 1)
    clinic = rng.integers(0, 90, rows)
    price = np.round(1.0 + 0.5 * need + 0.4 * in_b + 0.3 * rng.random(rows), 2)
    return pl.DataFrame(
        {
            "person": 2**60 + np.arange(rows),
            "group": np.where(in_b, "b", "a"),
            "district": [f"district {number}" for number in rng.integers(1, 9, rows)],
            "visits": np.minimum(rng.poisson(need), 9).astype(np.int32),
            "cost": np.round(need * 100 + rng.exponential(30, rows), 2),
            "days": np.round(8 - need + rng.exponential(1.0, rows), 1),
            "score": np.round(need + noise - 0.6 * in_b, 3),
            "signal": signal,
            "small": rng.integers(0, 9, rows).astype(np.int16),
            "insured": rng.random(rows) < 0.7,
            "reading": [
                value if has else None
                for value, has in zip(reading.tolist(), has_reading, strict=True)
            ],
            "region": [f"region {number}" if number else None for number in region],
            "weight": rng.integers(1, 5, rows) / 7,
            "clinic": clinic,
            "stratum": clinic % 6,
            "price_now": price,
            "price_instead": np.round(price - 0.4 * in_b, 2),
        }
    )


def declined_loans() -> pl.DataFrame:
    """The loans of a lender, who learns the outcome of approved applications alone."""
    repaid_if_approved = pl.when(pl.col("approved") == 1).then("repaid")
    return loans().with_columns(repaid=repaid_if_approved)


def worded_loans() -> pl.DataFrame:
    """The same loans with words, spaces, codes and holes, as files have them."""
    decision = pl.when(pl.col("approved") == 1).then(pl.lit("approved"))
    outcome = pl.when(pl.col("repaid") == 1).then(pl.lit("paid"))
    spaced = pl.when(pl.col("loan") % 7 == 0).then(pl.lit(" ")).otherwise(pl.lit(""))
    unknown = pl.when(pl.col("loan") % 50 == 0).then(pl.lit("n/a"))
    return loans().with_columns(
        approved=decision.otherwise(pl.lit("declined")),
        repaid=unknown.otherwise(outcome.otherwise(pl.lit("in default"))),
        sex=pl.col("sex") + spaced,
    )


def coarse_loans() -> pl.DataFrame:
    """Loans of which few differ, so that integer programs end before any limit."""
    bands = pl.col("income_band", "debt_band").clip(-1, 1)
    return loans().with_columns(bands)


def few_loans() -> pl.DataFrame:
    """So few that the first block of a repetition must grow."""
    return loans().head(260)


def loans_with_twins() -> pl.DataFrame:
    """The loans with some of them twice, under another number."""
    twins = loans().head(60).with_columns(loan=pl.col("loan") + 5_000)
    return pl.concat([loans(), twins])
