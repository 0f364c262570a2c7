"""The time and the memory of an audit of a million rows, against the fits it cannot do
without.

What is measured
----------------
`improvable.audit` of 1,000,000 rows with 10 numeric features, a counted outcome and two
groups, on a Polars frame. The status quo is a score thresholded at a capacity of 3%,
the rule is 'linear', with 7 repetitions and 10,000 draws. The measure of time is the
least that any program must do for it: in each repetition a fit of LinearRegression for
every block, on the 10 to 70% of rows before it, from matrices that are already NumPy
arrays (BLAS with one thread, as in the audit, so that results do not depend on the
number of cores).

How
---
Every audit runs in a fresh process (``spawn``), so that one run's memory is not
another's. The child makes the data, notes its memory, does the fits, audits, does the
fits again, and reports; the fits' time is the mean of before and after. Memory is the
resident set: at its highest (``ru_maxrss``) before and after the audit, and as it
stands before it. The highest before the audit includes making the data, so the audit's
own share is at least the difference. Fits before the audit would hide in its peak, so
their matrices are made anew for each fit and freed. Audits with one and with two
workers alternate; tables show medians over rounds. Nothing is asserted about time.

Run ``python benchmarks/audit_a_million_rows.py [--rounds 3] [--rows 1000000]``.
"""

import argparse
import multiprocessing
import os
import resource
import statistics
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FEATURES = 10
REPETITIONS = 7
DRAWS = 10_000
CAPACITY = 0.03
TARGET_MEMORY = 1.5
TARGET_RATIO = 6.0
GIB = 2.0**30


@dataclass(frozen=True)
class Run:
    """What one child saw: memory in GiB, times in seconds."""

    before: float
    highest_before: float
    peak: float
    fits_before: float
    fits_after: float
    audit: float
    p_value: float

    @property
    def fits(self) -> float:
        return (self.fits_before + self.fits_after) / 2


def resident() -> float:
    """The resident set as it stands."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / GIB


def highest_resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB


def run_once(rows: int, n_jobs: int) -> Run:
    """One child: make the data, fit, audit, fit."""
    import numpy as np
    import polars as pl
    from sklearn.linear_model import LinearRegression
    from threadpoolctl import threadpool_limits

    import improvable
    from improvable.procedure.split import FORWARD

    def make() -> pl.DataFrame:
        rng = np.random.default_rng(0)
        in_b = rng.random(rows) < 0.114
        need = rng.gamma(1.3, 1.0, rows)
        columns = {
            "y": np.minimum(rng.poisson(need), 15),
            "g": np.where(in_b, "b", "a"),
        }
        columns["score"] = need + rng.normal(0.0, 1.5, rows) - 0.3 * in_b
        for j in range(FEATURES):
            columns[f"x{j}"] = 0.5 * need + rng.normal(0.0, 1.0, rows)
        return pl.DataFrame(columns)

    def fit_alone() -> float:
        total = 0.0
        rng = np.random.default_rng(1)
        names = [f"x{j}" for j in range(FEATURES)]
        for cut in REPETITIONS * FORWARD:
            train = np.sort(rng.permutation(rows)[: round(cut * rows)])
            target = frame["y"].to_numpy()[train].astype(np.float64)
            matrix = np.stack([frame[name].to_numpy()[train] for name in names], axis=1)
            matrix = np.ascontiguousarray(matrix)
            with threadpool_limits(limits=1, user_api="blas"):
                start = time.perf_counter()
                LinearRegression().fit(matrix, target)
                total += time.perf_counter() - start
            del matrix, target
        return total

    warnings.simplefilter("ignore", improvable.errors.ImprovableWarning)
    frame = make()
    fits_before = fit_alone()
    before, highest_before = resident(), highest_resident()
    start = time.perf_counter()
    result = improvable.audit(
        frame,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("score", capacity=CAPACITY),
        rule="linear",
        test=improvable.Test(repetitions=REPETITIONS, draws=DRAWS),
        n_jobs=n_jobs,
    )
    p_value = result.p_value
    audit = time.perf_counter() - start
    peak = highest_resident()
    return Run(before, highest_before, peak, fits_before, fit_alone(), audit, p_value)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    runs: dict[int, list[Run]] = {1: [], 2: []}
    for _ in range(options.rounds):
        for n_jobs, done in runs.items():
            with ProcessPoolExecutor(
                1, mp_context=multiprocessing.get_context("spawn")
            ) as pool:
                done.append(pool.submit(run_once, options.rows, n_jobs).result())
    print(
        f"{options.rows:,} rows x {FEATURES} features, {REPETITIONS} repetitions, "
        f"{DRAWS:,} draws, {os.cpu_count()} cores; medians of {options.rounds} rounds\n"
    )
    print(
        f"{'':44}"
        + "".join(f"{f'n_jobs={n_jobs}':>12}" for n_jobs in runs)
        + f"{'target':>12}"
    )
    lines = {
        "memory as the audit starts, GiB": (
            [[run.before for run in done] for done in runs.values()],
            "",
        ),
        "highest memory until then, GiB": (
            [[run.highest_before for run in done] for done in runs.values()],
            "",
        ),
        "highest memory with the audit, GiB": (
            [[run.peak for run in done] for done in runs.values()],
            f"< {TARGET_MEMORY:g}",
        ),
        "the fits alone, seconds": (
            [[run.fits for run in done] for done in runs.values()],
            "",
        ),
        "audit, seconds": ([[run.audit for run in done] for done in runs.values()], ""),
        "audit / fits": (
            [[run.audit / run.fits for run in done] for done in runs.values()],
            f"<= {TARGET_RATIO:g}",
        ),
        "p-value (must not depend on n_jobs)": (
            [[run.p_value for run in done] for done in runs.values()],
            "",
        ),
    }
    for name, (columns, target) in lines.items():
        print(
            f"{name:44}"
            + "".join(f"{statistics.median(values):>12.3f}" for values in columns)
            + f"{target:>12}"
        )
    if len({run.p_value for done in runs.values() for run in done}) != 1:
        raise RuntimeError("the p-value depends on the number of workers.")


if __name__ == "__main__":
    main()
