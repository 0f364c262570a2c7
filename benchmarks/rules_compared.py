"""Every rule on the same data: median p-value, constraints reached, time. Prints tables
for docs/reference/rules.md.

Data: the simulated care programme (capacity 3%, calibration) and, where a file is named
with --compas, the COMPAS file (classification rate against the false positive rate, no
capacity).
"""

import argparse
import time
import warnings
from typing import Any

import polars as pl

import improvable
from improvable.errors import ImprovableError, ImprovableWarning

CARE = (
    "linear",
    "lasso",
    "boosting",
    "forest",
    "ridge:100",
    "blend:0.5:linear",
    "aim",
    "tournament:linear,lasso,boosting",
)
COMPAS = (
    "linear",
    "logistic",
    "boosting",
    "forest",
    "aim",
    "linear_program:fairest",
    "tournament:linear,logistic,boosting",
)


def run(data: Any, rule: str, **options: Any) -> str:
    start = time.perf_counter()
    try:
        result = improvable.audit(data, rule=rule, **options)
    except ImprovableError as error:
        return f"| `{rule}` | refused: {error.message} | | | | |"
    seconds = time.perf_counter() - start
    repetitions = result.to_dict()["repetitions"]
    shares = [repetition["share_selected"]["candidate"] for repetition in repetitions]
    found = [repetition["rule_notes"] for repetition in repetitions]
    gaps = [
        [block["reached"]["selection_gap"] for one in found for block in one["blocks"]],
        [one["reached"]["selection_gap"] for one in found],
    ]
    apart = " / ".join(f"{sum(gap) / len(gap):.3f}" for gap in gaps)
    share = " / ".join(
        f"{100 * sum(s[k] for s in shares) / len(shares):.1f}%"
        for k in ("train", "test")
    )
    unfair = sum(repetition["gap"]["candidate"] for repetition in repetitions) / len(
        repetitions
    )
    return (
        f"| `{rule}` | {result.to_dict()['p_value_text']} | {unfair:.3f} | {share} | "
        f"{apart} | {seconds:.0f} s |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--compas", help="the COMPAS file")
    parser.add_argument("--only", help="rules between semicolons")
    parser.add_argument(
        "--selection-gap", type=float, help="bound on the difference of selection rates"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ImprovableWarning)
    columns = (
        "rule",
        "median p",
        "gap of candidates",
        "selected, train / test",
        "selection gap, train / test",
        "time",
    )
    head = f"| {' | '.join(columns)} |\n" + "|---" * len(columns) + "|"
    common = {
        "test": improvable.Test(repetitions=arguments.repetitions, draws=4_000),
        "constraints": improvable.Constraints(selection_gap=arguments.selection_gap),
        "n_jobs": -1,
    }
    print(
        f"Care programme, {arguments.rows:,} simulated rows, {arguments.repetitions} "
        f"repetitions\n\n{head}"
    )
    people = improvable.datasets.care_management(arguments.rows, seed=1)
    for rule in arguments.only.split(";") if arguments.only else CARE:
        print(
            run(
                people,
                rule,
                outcome="gagne_sum_t",
                group="race",
                features=improvable.datasets.CARE_MANAGEMENT_COVARIATES,
                status_quo=improvable.threshold("risk_score_t", capacity=0.03),
                **common,
            ),
            flush=True,
        )
    if arguments.compas:
        frame = pl.read_csv(arguments.compas).filter(
            pl.col("race").is_in(["African-American", "Caucasian"])
        )
        print(
            f"\nCOMPAS, {len(frame):,} rows, {arguments.repetitions} "
            f"repetitions\n\n{head}"
        )
        for rule in arguments.only.split(";") if arguments.only else COMPAS:
            print(
                run(
                    frame,
                    rule,
                    outcome="two_year_recid",
                    group="race",
                    accuracy="classification_rate",
                    fairness="false_positive_rate",
                    status_quo=improvable.threshold("decile_score", above=4),
                    **common,
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
