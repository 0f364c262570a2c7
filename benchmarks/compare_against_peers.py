"""The whole of `improvable.compare` against bootstraps of the same statistic by arch,
SciPy and NumPy.

What is measured
----------------
Wall-clock time of one held-out comparison with 10,000 bootstrap draws of 24,392 rows
(the size of a test sample in the paper's Section 6) in two groups, the smaller with
11.4% of the rows. The statistic is the same everywhere: each group's gain in the mean
outcome among the selected (U1 - U0), and the change of the absolute gap between the
groups.

- *count*: outcomes 0, 1, ..., 15, skewed; each of two correlated scores selects 3% of
  the rows.
- *dense*: a continuous outcome; each score selects half of the rows. No two rows that
  speak are alike, which is the worst case for us.

How
---
Ours is everything from the caller's data frame (pandas and Polars) to p-values:
reading, validation, thresholds, groups, cells, draws, both fairness statistics,
warnings. The peers start with decisions already made and columns already extracted as
NumPy arrays, and stop at the draws. Each peer is given the faster of two ways to write
the statistic (`by_masks`, `by_strata`), found by timing both at the start; where the
faster is not `by_masks`, the way most people would write it, a loop with `by_masks` is
shown as well. SciPy's is vectorized in small batches, the fastest of its forms and
bounded in memory. "NumPy, counted" is the best loop we know for this statistic: it
counts how often each row is drawn and multiplies with per-row contributions, which is
the idea of `improvable` without cells; nobody writes it by accident, and it has no
target.

All run in one process, interleaved (a peer, ours, the next peer, ours, ...), after one
warm-up each; times are medians over rounds. Every contender's point estimates must
agree, and its draws' standard errors must be within 10% of ours; otherwise the script
raises. Times are printed and never asserted.

Run ``python benchmarks/compare_against_peers.py [--rounds 3] [--draws 10000] [--case
count]``.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from arch.bootstrap import IIDBootstrap
from numpy.typing import NDArray
from scipy import stats

import improvable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SEEDS = {"count": 0, "dense": 1}
ROWS = 24_392
SMALLER = 0.114
SCIPY_BATCH = 4
LARGEST_DIFFERENCE_OF_STANDARD_ERRORS = 0.10
NAMES = ("gain of a", "gain of b", "change of gap")


@dataclass(frozen=True)
class Case:
    """One made-up sample: columns for the peers, frames for us."""

    name: str
    capacity: float
    outcome: Floats
    in_b: Bools
    decisions: tuple[Bools, Bools]
    columns: dict[str, Any]
    targets: dict[str, float]

    @property
    def arrays(self) -> tuple[Floats, Bools, Bools, Bools]:
        return self.outcome, self.in_b, *self.decisions

    @property
    def strata(self) -> tuple[NDArray[Any], ...]:
        """The outcome, and group and decisions as one number from 0 to 7."""
        return self.outcome, self.in_b + 2 * self.decisions[0] + 4 * self.decisions[
            1
        ].astype(np.int64)


def make_case(name: str) -> Case:
    rng = np.random.default_rng(SEEDS[name])
    in_b = rng.random(ROWS) < SMALLER
    need = rng.gamma(1.3, 1.0, ROWS) * np.where(in_b, 1.3, 1.0)
    if name == "count":
        capacity, outcome = 0.03, np.minimum(rng.poisson(need), 15).astype(np.float64)
        targets = {"arch": 60.0, "SciPy": 50.0}
    else:
        capacity, outcome = 0.5, need + rng.exponential(1.0, ROWS)
        targets = {"NumPy loop": 3.0, "NumPy, masks": 3.0}
    noise = rng.normal(0.0, 1.0, (3, ROWS))
    scores = (
        need + noise[0] + 0.5 * noise[1] - 0.3 * in_b,
        need + 0.6 * noise[0] + 0.5 * noise[2],
    )
    cuts = [np.quantile(score, 1 - capacity) for score in scores]
    columns = {
        "y": outcome,
        "g": np.where(in_b, "b", "a"),
        "old": scores[0],
        "new": scores[1],
    }
    return Case(
        name,
        capacity,
        outcome,
        in_b,
        (scores[0] > cuts[0], scores[1] > cuts[1]),
        columns,
        targets,
    )


def gains(before: Floats, after: Floats) -> Floats:
    """(gain of a, gain of b, change of the absolute gap) from utilities of groups a and
    b, along the first axis.
    """
    gap = np.abs(after[0] - after[1]) - np.abs(before[0] - before[1])
    return np.stack([after[0] - before[0], after[1] - before[1], gap])


def by_masks(outcome: Floats, in_b: Bools, old: Bools, new: Bools) -> Floats:
    in_a = ~in_b
    u = np.array(
        [
            [outcome[members & decided].mean() for members in (in_a, in_b)]
            for decided in (old, new)
        ]
    )
    return gains(u[0], u[1])


def by_strata(outcome: Floats, stratum: Ints) -> Floats:
    rows = np.bincount(stratum, minlength=8)
    total = np.bincount(stratum, weights=outcome, minlength=8)
    before = np.array(
        [(total[2 + g] + total[6 + g]) / (rows[2 + g] + rows[6 + g]) for g in (0, 1)]
    )
    after = np.array(
        [(total[4 + g] + total[6 + g]) / (rows[4 + g] + rows[6 + g]) for g in (0, 1)]
    )
    return gains(before, after)


def batched(
    outcome: Floats, in_b: Bools, old: Bools, new: Bools, axis: int = -1
) -> Floats:
    """`by_masks` for a whole batch of samples, as scipy.stats.bootstrap wants it."""
    in_b, old, new = in_b.astype(np.bool_), old.astype(np.bool_), new.astype(np.bool_)
    u = [
        np.stack(
            [
                (outcome * k).sum(axis=axis) / np.count_nonzero(k, axis=axis)
                for k in (~in_b & d, in_b & d)
            ]
        )
        for d in (old, new)
    ]
    return gains(u[0], u[1])


Statistic = Callable[..., Floats]
Result = tuple[Floats, Floats]
"""A contender's point estimates, and its draws of shape (draws, 3)."""


def with_arch(
    arrays: tuple[NDArray[Any], ...], statistic: Statistic, draws: int
) -> Result:
    bootstrap = IIDBootstrap(*arrays, seed=np.random.default_rng(1))
    return statistic(*arrays), np.asarray(bootstrap.apply(statistic, draws))


def with_scipy(case: Case, draws: int) -> Result:
    found = stats.bootstrap(
        case.arrays,
        batched,
        paired=True,
        vectorized=True,
        n_resamples=draws,
        batch=SCIPY_BATCH,
        method="percentile",
        rng=np.random.default_rng(2),
    )
    return batched(*case.arrays), np.asarray(found.bootstrap_distribution).T


def with_numpy(
    arrays: tuple[NDArray[Any], ...], statistic: Statistic, draws: int
) -> Result:
    rng = np.random.default_rng(3)
    out = np.empty((draws, 3))
    for q in range(draws):
        index = rng.integers(0, ROWS, ROWS)
        out[q] = statistic(*(column[index] for column in arrays))
    return statistic(*arrays), out


def with_counted_numpy(case: Case, draws: int) -> Result:
    """How often each row is drawn, times what it contributes."""
    rng = np.random.default_rng(4)
    groups = ~case.in_b, case.in_b
    parts = [
        [case.outcome * (g & d), (g & d).astype(np.float64)]
        for d in case.decisions
        for g in groups
    ]
    contributions = np.array(parts).reshape(8, ROWS)
    sums = np.empty((draws + 1, 8))
    sums[draws] = contributions.sum(axis=1)
    for q in range(draws):
        sums[q] = contributions @ np.bincount(
            rng.integers(0, ROWS, ROWS), minlength=ROWS
        )
    u = (sums[:, 0::2] / sums[:, 1::2]).T
    statistic = gains(u[:2], u[2:]).T
    return statistic[draws], statistic[:draws]


def with_improvable(case: Case, frame: Any, draws: int, n_jobs: int | None) -> Result:
    result = improvable.compare(
        frame,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("old", capacity=case.capacity),
        candidate=improvable.threshold("new", capacity=case.capacity),
        claim=improvable.Claim(gap="absolute"),
        test=improvable.Test(draws=draws),
        n_jobs=n_jobs,
    )
    assert 0 <= result.p_value <= 1
    values, drawn = result.evidence.values[0][:, 0], result.evidence.drawn[0][:, :, 0]
    return gains(values[:, 0], values[:, 1]), gains(
        drawn[:, :, 0].T, drawn[:, :, 1].T
    ).T


def stopwatch(run: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def fastest_form(
    case: Case, run: Callable[..., Result]
) -> tuple[str, Callable[[int], Result]]:
    """The faster of the two ways to write the statistic, for one peer."""
    forms: dict[str, Callable[[int], Result]] = {
        "by_masks": partial(run, case.arrays, by_masks),
        "by_strata": partial(run, case.strata, by_strata),
    }
    cost = {
        name: min(stopwatch(partial(form, 100))[0] for _ in range(3))
        for name, form in forms.items()
    }
    best = min(cost, key=lambda name: cost[name])
    return best, forms[best]


def check(name: str, found: Result, ours: Result) -> None:
    """Raise unless a contender computes what we compute."""
    if not np.allclose(found[0], ours[0], rtol=1e-9):
        raise RuntimeError(
            f"{name}: point estimates {found[0]} are not ours, {ours[0]}."
        )
    difference = np.abs(found[1].std(axis=0) / ours[1].std(axis=0) - 1)
    if (difference > LARGEST_DIFFERENCE_OF_STANDARD_ERRORS).any():
        raise RuntimeError(
            f"{name}: standard errors {found[1].std(axis=0)} are not ours, "
            f"{ours[1].std(axis=0)}."
        )


def run_case(case: Case, draws: int, rounds: int) -> None:
    pandas, polars = pd.DataFrame(case.columns), pl.DataFrame(case.columns)
    arch_form, arch = fastest_form(case, with_arch)
    loop_form, loop = fastest_form(case, with_numpy)
    peers: dict[str, Callable[[int], Result]] = {
        "arch": arch,
        "SciPy": partial(with_scipy, case),
        "NumPy loop": loop,
        "NumPy, counted": partial(with_counted_numpy, case),
    }
    forms = {
        "arch": arch_form,
        "SciPy": "batched",
        "NumPy loop": loop_form,
        "NumPy, counted": "contributions",
    }
    if loop_form != "by_masks":
        peers["NumPy, masks"] = partial(with_numpy, case.arrays, by_masks)
        forms["NumPy, masks"] = "by_masks"
    ours: dict[str, Callable[[int], Result]] = {
        "ours, pandas": lambda q: with_improvable(case, pandas, q, None),
        "ours, pandas, n_jobs=1": lambda q: with_improvable(case, pandas, q, 1),
        "ours, polars": lambda q: with_improvable(case, polars, q, None),
        "ours, polars, n_jobs=1": lambda q: with_improvable(case, polars, q, 1),
    }
    results: dict[str, Result] = {}
    times: dict[str, list[float]] = {name: [] for name in (*peers, *ours)}
    for run in (*peers.values(), *ours.values()):
        run(100)  # warm up: imports, caches
    for _ in range(rounds):
        for peer, run in peers.items():
            for name, contender in ((peer, run), *ours.items()):
                seconds, results[name] = stopwatch(partial(contender, draws))
                times[name].append(seconds)
    reference = results["ours, pandas"]
    for name, found in results.items():
        check(name, found, reference)

    print(
        f"\n{case.name}: {ROWS:,} rows, {draws:,} draws, {case.capacity:.0%} selected; "
        f"medians of {rounds} rounds\n"
    )
    print(f"  {'statistic':24}" + "".join(f"{name:>26}" for name in NAMES))
    print(
        f"  {'estimate (all agree)':24}"
        + "".join(f"{value:>26.6f}" for value in reference[0])
    )
    for name in ("ours, pandas", *peers):
        errors = results[name][1].std(axis=0)
        print(
            f"  {f's.e., {name}':24}" + "".join(f"{value:>26.6f}" for value in errors)
        )
    middle = {name: statistics.median(values) for name, values in times.items()}
    print(f"\n  {'contender':26}{'seconds':>10}{'fastest':>10}   {'form':14}")
    for name, seconds in middle.items():
        print(
            f"  {name:26}{seconds:>10.4f}{min(times[name]):>10.4f}   "
            f"{forms.get(name, 'whole of compare'):14}"
        )
    print(f"\n  {'times as fast as':26}" + "".join(f"{peer:>16}" for peer in peers))
    for name in ours:
        print(
            f"  {name:26}"
            + "".join(f"{middle[peer] / middle[name]:>15.1f}x" for peer in peers)
        )
    targets = (
        f"{f'>= {case.targets[peer]:g}x' if peer in case.targets else '-':>16}"
        for peer in peers
    )
    print(f"  {'target':26}" + "".join(targets))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--case", choices=list(SEEDS), action="append")
    options = parser.parse_args()
    warnings.simplefilter("ignore", improvable.errors.ImprovableWarning)
    print(
        f"{os.cpu_count()} cores; NumPy {np.__version__}, Polars {pl.__version__}, "
        f"pandas {pd.__version__}"
    )
    for name in options.case or SEEDS:
        run_case(make_case(name), options.draws, options.rounds)


if __name__ == "__main__":
    main()
