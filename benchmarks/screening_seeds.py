"""Diabetes screening over seeds: how the verdict of the demo depends on a number that
the analyst chooses.

Runs the audit of `improvable demo` with each of the seeds 0 to 19, on everybody and
without those already diagnosed, forward and in the paper's splits. Printed: the lower
median p-value, whether the null is rejected, and the smallest and largest p-value of
single repetitions. A few minutes.
"""

import warnings

import polars as pl

import improvable
from improvable.datasets import DIABETES_SCREENING, diabetes_screening
from improvable.question.settings import Scheme

SEEDS = range(20)
SCHEMES: tuple[Scheme, ...] = ("forward", "split")


def main() -> None:
    everybody = diabetes_screening()
    people = {
        "everybody": everybody,
        "not yet diagnosed": everybody.filter(pl.col("diagnosed") == 0),
    }
    for who, frame in people.items():
        for scheme in SCHEMES:
            medians, singles, rejected = [], [], 0
            for seed in SEEDS:
                result = improvable.audit(
                    frame,
                    **DIABETES_SCREENING,
                    test=improvable.Test(scheme=scheme),
                    seed=seed,
                    n_jobs=-1,
                )
                medians.append(result.p_value)
                singles += [repetition.p_value for repetition in result.repetitions]
                rejected += result.reject
                print(
                    f"  {who}, {scheme}, seed {seed}: p = {result.p_value:.4f}, "
                    f"{result.bounds()[0].words}",
                    flush=True,
                )
            print(
                f"{who}, {scheme}: lower median p {min(medians):.4f} to "
                f"{max(medians):.4f}, single p {min(singles):.4f} to "
                f"{max(singles):.4f}, rejected {rejected} of {len(SEEDS)}",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
