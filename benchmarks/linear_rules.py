"""How soon a searched start reaches what plain HiGHS has after many nodes, and how long a search of full size takes.

What is measured
----------------
1. On seeded instances of 400 rows x 3 features and 800 x 4 (classification rate, objective "fairest"): the value that
   `solve` has after `--nodes` without a start, and the time that `search` and then `solve` from what it found take
   until the solver holds a value at least as good. Two ratios to that time: of the seconds that plain HiGHS took (less
   where it proved its value optimal), and of those after which it first held its value. Target: the first is at least
   50 in the median.
2. `search` on 24,392 rows x 149 features, calibration with a capacity of 3%, half of the features 0/1. Target: under a
   minute for each objective.

How
---
One process, one thread for the solver. A value is reached when the solver reports it through `progress`, so that
building the program, presolving and checking the start are counted.

Run ``python benchmarks/linear_rules.py [--instances 20] [--nodes 1500] [--restarts 5]``. Nothing is asserted.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.rules.linear.milp import Solution, solve
from improvable.algorithms.rules.linear.problem import LinearProblem
from improvable.algorithms.rules.linear.search import search

SIZES = ((400, 3), (800, 4))
TARGET_RATIO = 50
TARGET_SECONDS = 60
FULL_SIZE = (24_392, 149, 0.03)


def standardised(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def classification(m: int, d: int, seed: int) -> tuple[LinearProblem, FloatArray]:
    """Outcomes depend on features differently by group; the status quo reads one feature and noise."""
    rng = np.random.default_rng(seed)
    group = (rng.random(m) < 0.4).astype(np.int64)
    x = rng.standard_normal((m, d))
    x[:, 0] += 0.5 * group
    features = np.column_stack([np.ones(m), standardised(x)])
    beta = rng.standard_normal(d + 1)
    chance = 1 / (1 + np.exp(-(features @ beta + 0.8 * group * features[:, 2])))
    y = (rng.random(m) < chance).astype(np.float64)
    base = np.stack([1 - y, np.ones(m)], axis=-1)[:, None]
    gain = np.stack([2 * y - 1, np.zeros(m)], axis=-1)[:, None]
    before = features[:, 1] * beta[1] + beta[0] + 0.5 * rng.standard_normal(m) >= 0
    rows = base + gain * before[:, None, None]
    status_quo = np.array([[rows[group == g, 0, 0].mean()] for g in (0, 1)])
    start = np.linalg.lstsq(features, y - 0.5, rcond=None)[0].astype(np.float64)
    problem = LinearProblem(features, np.ones(m), group, base, gain, (0,), (0,), status_quo, status_quo_rows=rows)
    return problem, start


def calibration(m: int, d: int, capacity: float, seed: int) -> tuple[LinearProblem, FloatArray]:
    """Count outcomes; the status quo's score is a noisy index."""
    rng = np.random.default_rng(seed)
    group = (rng.random(m) < 0.2).astype(np.int64)
    x = rng.standard_normal((m, d))
    x[:, 0] += 0.3 * group
    x[:, d // 2 :] = x[:, d // 2 :] > 1
    features = np.column_stack([np.ones(m), standardised(x)])
    beta = rng.standard_normal(d + 1) / np.sqrt(d)
    y = np.floor(1.5 * np.exp(0.5 * features @ beta + 0.4 * group + 0.7 * rng.standard_normal(m)))
    base = np.zeros((m, 1, 2))
    gain = np.stack([y, np.ones(m)], axis=-1)[:, None]
    score = features @ beta + 0.5 * features[:, 1] + rng.standard_normal(m)
    before = score > np.quantile(score, 1 - capacity)
    rows = gain * before[:, None, None]
    status_quo = np.array([[y[before & (group == g)].mean()] for g in (0, 1)])
    start = np.linalg.lstsq(features, y, rcond=None)[0].astype(np.float64)
    return (
        LinearProblem(
            features, np.ones(m), group, base, gain, (0,), (0,), status_quo, capacity=capacity, status_quo_rows=rows
        ),
        start,
    )


def timed(
    problem: LinearProblem, nodes: int, start: FloatArray | None = None
) -> tuple[Solution, float, list[tuple[float, float]]]:
    """The solution, the seconds it took, and the values held on the way with the seconds until then."""
    begun, held = time.perf_counter(), list[tuple[float, float]]()
    solution = solve(problem, nodes, start, lambda _, value, __: held.append((time.perf_counter() - begun, value)))
    taken = time.perf_counter() - begun
    if solution.value is not None:
        held.append((taken, solution.value))
    return solution, taken, held


def compare(m: int, d: int, seed: int, nodes: int, restarts: int) -> tuple[float, float]:
    """How many times longer plain HiGHS took: in all, and until it first held its last value."""
    problem, start = classification(m, d, seed)
    plain, seconds, log = timed(problem, nodes)
    target = np.inf if plain.value is None else plain.value
    first = min((at for at, value in log if value <= target + 1e-9), default=seconds)
    begun = time.perf_counter()
    found = search(problem, start, np.random.SeedSequence(1), restarts)
    searched = time.perf_counter() - begun
    warm, _, held = timed(problem, max(1, nodes // 12), found.beta)
    reached = searched + min((at for at, value in held if value <= target + 1e-9), default=np.inf)
    ratios = seconds / reached, first / reached
    cells = [f"{m} x {d}", f"{seed}", plain.status, f"{target:.6f}", f"{seconds:.1f}", f"{first:.1f}"]
    cells += [f"{np.nan if warm.value is None else warm.value:.6f}", f"{reached:.3f}"]
    print("".join(f"{cell:>12}" for cell in [*cells, *(f"{ratio:.0f}" for ratio in ratios)]), flush=True)
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--instances", type=int, default=3, help="of each size")
    parser.add_argument("--nodes", type=int, default=1_500)
    parser.add_argument("--restarts", type=int, default=5)
    options = parser.parse_args()
    heads = ("size", "seed", "plain", "its gap", "seconds", "first held", "gap, warm", "seconds", "ratio", "to first")
    print("".join(f"{head:>12}" for head in heads))
    for m, d in SIZES:
        ratios = [compare(m, d, seed, options.nodes, options.restarts) for seed in range(options.instances)]
        whole, first = np.median(ratios, axis=0)
        print(f"{m} x {d}: median ratio {whole:.0f} (to first held {first:.0f}); target: at least {TARGET_RATIO}\n")
    m, d, capacity = FULL_SIZE
    problem, start = calibration(m, d, capacity, 0)
    for objective in problem.objectives:
        begun = time.perf_counter()
        found = search(replace(problem, objective=objective), start, np.random.SeedSequence(1), 0)
        taken = time.perf_counter() - begun
        outcome = f"value {found.value:.6f}, {'feasible' if found.feasible else 'infeasible'}"
        print(
            f"search {m:,} x {d}, {objective}: {taken:.1f} s, {outcome}; target: under {TARGET_SECONDS} s", flush=True
        )


if __name__ == "__main__":
    main()
