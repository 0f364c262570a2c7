"""Power and level of selection rules, by simulation. Prints the second table of
docs/reference/rules.md.

Under the alternative, one feature (`record`) predicts the outcome well and is lower for
one group at equal need: selecting the highest predictions is accurate for both groups
and leaves the gap wide, while a rule that weighs the gap as well can improve both.
Under the null, the status quo is the best prediction there is. One repetition, 5%
level.
"""

import argparse
import warnings
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable.errors import ImprovableWarning

RULES = ("linear", "aim")


def people(rng: np.random.Generator, rows: int, null: bool) -> pl.DataFrame:
    group = rng.random(rows) < 0.5
    need, other = rng.normal(size=rows), rng.normal(size=rows)
    visits = need + 0.7 * rng.normal(size=rows)
    record = need + 0.8 * rng.normal(size=rows) - 2.0 * group
    outcome = rng.poisson(np.exp(0.7 * need + 0.4))
    best = visits / 0.7**2 + (record + 2.0 * group) / 0.8**2
    score = best if null else record + 2.0 * rng.normal(size=rows)
    columns: dict[str, Any] = {
        "group": np.where(group, "b", "a"),
        "outcome": outcome,
        "score": score,
        "visits": visits,
        "record": record,
        "other": other,
    }
    return pl.DataFrame(columns)


def rejections(rule: str, samples: int, rows: int, null: bool) -> float:
    hits = 0
    for i in range(samples):
        frame = people(np.random.default_rng([7, int(null), i]), rows, null)
        result = improvable.audit(
            frame,
            outcome="outcome",
            group="group",
            rule=rule,
            features=["visits", "record", "other"],
            test=improvable.Test(repetitions=1, draws=500),
            status_quo=improvable.threshold("score", capacity=0.25),
            seed=i,
        )
        hits += result.reject
    return hits / samples


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--rows", type=int, default=16_000)
    parser.add_argument("--rules", help="between semicolons")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ImprovableWarning)
    n = arguments.samples
    error, at_level = 0.5 / n**0.5, (0.05 * 0.95 / n) ** 0.5
    print(
        f"{n} samples of {arguments.rows:,} rows; Monte Carlo error at most "
        f"{error:.3f}, {at_level:.3f} at 5%\n"
    )
    print("| rule | rejections under the alternative | under the null |\n|---|---|---|")
    for rule in arguments.rules.split(";") if arguments.rules else RULES:
        power, level = (
            rejections(rule, n, arguments.rows, null) for null in (False, True)
        )
        print(f"| `{rule}` | {power:.3f} | {level:.3f} |", flush=True)


if __name__ == "__main__":
    main()
