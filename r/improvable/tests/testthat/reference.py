"""The same three audits and one comparison in Python alone, as the R tests ask them;
JSON into the folder named.
"""

import json
import sys
import warnings
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl

import improvable

ROWS = 1_500


def part(i: int, times: int, modulus: int) -> int:
    """A number that looks random, and is the same in every language."""
    return (i * times + 13) % modulus


def lending() -> pl.DataFrame:
    rows = []
    for i in range(ROWS):
        a, b, c = part(i, 7919, 1009), part(i, 104729, 997), part(i, 15485863, 991)
        income: float | None = 20 + a / 7 + b / 13
        score = (3 * a + c) / 1000
        rows.append(
            {
                "region": ["north", "south", "west"][part(i, 31, 101) % 3]
                if i % 97
                else None,
                "repaid": None if i % 61 == 60 else a + b / 2 + c / 3 > 700,
                "approved": score > 1.9,
                "income": None if i % 53 == 52 else income,
                "job": None
                if i % 41 == 40
                else ["clerk", "nurse", "none"][part(i, 57, 103) % 3],
                "years": None if i % 37 == 36 else b % 30,
                "applied": date(2024, 1, 1) + timedelta(days=c % 365),
                "debt": float(b % 400),
                "score": score,
            }
        )
    types = {"years": pl.Int64(), "income": pl.Float64(), "debt": pl.Float64()}
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def results() -> dict[str, Any]:
    few = improvable.Test(repetitions=2, draws=500)
    people = improvable.datasets.care_management(2_000, seed=1)
    return {
        "screening": improvable.audit(
            improvable.datasets.diabetes_screening(),
            **improvable.datasets.DIABETES_SCREENING,
            test=few,
        ),
        "care": improvable.audit(
            people,
            outcome="gagne_sum_t",
            group="race",
            rule="linear",
            exclude="*_t",
            test=few,
            seed=3,
            status_quo=improvable.threshold("risk_score_t", capacity=0.1),
            constraints=improvable.Constraints(monotone={"gagne_sum_tm1": "+"}),
        ),
        "lending": improvable.audit(
            lending(),
            outcome="repaid",
            group="region",
            status_quo="approved",
            rule="logistic",
            test=few,
            accuracy="classification_rate",
            capacity="status_quo",
            read=improvable.Read(drop_missing=True),
            claim=improvable.Claim(delta_accuracy=-0.02),
        ),
        "compared": improvable.compare(
            people,
            outcome="gagne_sum_t",
            group="race",
            test=improvable.Test(draws=500),
            status_quo=improvable.threshold("risk_score_t", capacity=0.1),
            candidate=improvable.threshold("gagne_sum_tm1", capacity=0.1),
        ),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, result in results().items():
        Path(sys.argv[1], f"{name}.json").write_text(
            json.dumps(result.to_dict()), encoding="utf-8"
        )
