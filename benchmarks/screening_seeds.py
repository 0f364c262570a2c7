"""Diabetes screening over seeds: how the verdict of the demo depends on a number that the analyst chooses.

Runs the audit of `improvable demo` with each of the seeds 0 to 9, on everybody and without those already diagnosed, in
folds and in the paper's halves. Printed: the lower median p-value, whether the null is rejected, and the smallest and
largest p-value of single repetitions or repetitions. A few minutes.
"""

import warnings
from typing import Any

import polars as pl

import improvable
from improvable.datasets import DIABETES_SCREENING, diabetes_screening

SEEDS = range(10)


def main() -> None:
    everybody = diabetes_screening()
    people = {"everybody": everybody, "not yet diagnosed": everybody.filter(pl.col("diagnosed") == 0)}
    divisions: dict[str, dict[str, Any]] = {"two folds": {"folds": 2}, "halves": {"folds": None}}
    for who, frame in people.items():
        for how, options in divisions.items():
            medians, singles, rejected, bounds = [], [], 0, []
            for seed in SEEDS:
                result = improvable.audit(frame, **{**DIABETES_SCREENING, **options}, seed=seed)
                medians.append(result.p_value)
                singles += [repetition.p_value for repetition in result.repetitions]
                rejected += result.reject
                bounds.append(result.bounds()[0].words)
                print(f"  {who}, {how}, seed {seed}: p = {result.p_value:.4f}, {bounds[-1]}", flush=True)
            print(
                f"{who}, {how}: lower median p {min(medians):.4f} to {max(medians):.4f}, "
                f"single p {min(singles):.4f} to {max(singles):.4f}, rejected {rejected} of {len(SEEDS)}",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
