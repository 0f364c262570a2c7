"""How often the intervals of reports cover: utilities of every group and gaps, in halves and in two folds.

What an interval is to cover is the mean over the repetitions of the true value of what each of them tested: every repetition has
a candidate, and a cutoff, of its own, whose true value is measured on a large population. Rows are divided, counted and
drawn by the package's own functions, as in `learning`.

    PYTHONPATH=tests python tests/simulation/intervals.py --repetitions 400
"""

import argparse
from collections.abc import Sequence
from functools import cache

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray
from improvable.inference.evidence import ALGORITHMS
from improvable.inference.statistics import unfairness, utilities_of
from improvable.report.spread import Spread, combined, widest
from simulation.learning import (
    TOLD,
    Learning,
    Table,
    classes,
    contributed,
    counts,
    least_squares,
    rounds_of,
)
from simulation.study import ALPHA, Rate, rate_of

POPULATION = 100_000
DRAWS = 1_000
CASES = (
    Learning("two groups", "least squares", classes(*TOLD), least_squares),
    Learning(
        "two groups, clear gap", "least squares", classes((0.8, 0.6), (0.75, 0.45)), least_squares, rows=1_200
    ),
    Learning("capacity 10%", "mean outcome of the selected", counts, least_squares, 1_200, 2, 0.1),
    Learning(
        "three groups that tie", "the candidate's gap is zero", classes((0.64,) * 3, (0.58, 0.42, 0.42)),
        least_squares, rows=900, groups=3,
    ),
    Learning(
        "ten groups that tie", "both gaps are zero", classes((0.64,) * 10, (0.55,) * 10), least_squares, rows=3_000,
        groups=10,
    ),
    Learning(
        "ten groups, one apart", "the gap is between one group and nine that tie",
        classes((0.8, *(0.64,) * 9), (0.42, *(0.58,) * 9)), least_squares, rows=3_000, groups=10,
    ),
)  # fmt: skip
WAYS: tuple[int | None, ...] = (None, 2)


@cache
def population(case: Learning) -> Table:
    return case.draw(np.random.default_rng(99), POPULATION)


def below(one: Table, other: Table) -> Table:
    """Rows, and others below them."""
    return Table(
        np.concatenate([one.group, other.group]), np.concatenate([one.outcome, other.outcome]),
        np.concatenate([one.features, other.features]), np.concatenate([one.score, other.score]),
    )  # fmt: skip


def truth_of(case: Learning, table: Table, trains: Sequence[BoolArray]) -> FloatArray:
    """True utilities, (groups, 2), of what was learned from these rows; of several folds, of their even mixture."""
    whole = below(table, population(case))
    inside = np.arange(len(whole)) >= len(table)
    sums = np.zeros((case.groups, 4))
    for train in trains:
        learned = np.concatenate([train, np.zeros(POPULATION, dtype=np.bool_)])
        vectors, _ = contributed(case, whole, learned, inside)
        for column in range(4):
            sums[:, column] += np.bincount(whole.group[inside], weights=vectors[:, column], minlength=case.groups)
    return utilities_of(sums.reshape(case.groups, 2, 2))


def holds(interval: Spread, truth: float) -> float:
    """1 where an interval covers; an end that is not bounded excludes nothing."""
    low = -np.inf if interval.low is None else interval.low
    high = np.inf if interval.high is None else interval.high
    return float(low <= truth <= high)


def covered_once(case: Learning, seed: tuple[int, int], folds: int | None, draws: int = DRAWS) -> dict[str, float]:
    """Of one audit, the share of groups whose interval covers, and whether that of the gap does, by algorithm."""
    table = case.draw(np.random.default_rng(seed), case.rows)
    rounds = list(rounds_of(case, table, seed[1], folds, draws))
    every, truths = [one.evidence for one in rounds], [truth_of(case, table, one.trained) for one in rounds]
    level = 1 - (ALPHA / 2 if folds is None else ALPHA)
    out: dict[str, float] = {}
    for t, algorithm in enumerate(ALGORITHMS):
        inside = []
        for g in range(case.groups):
            values, drawn = [one.values[0][g, 0, t] for one in every], [one.drawn[0][:, g, 0, t] for one in every]
            inside.append(holds(combined(values, drawn, level), float(np.mean([truth[g, t] for truth in truths]))))
        out[f"{algorithm}, groups"] = float(np.mean(inside))
        gap = float(np.mean([float(unfairness(truth[:, t])) for truth in truths]))
        out[f"{algorithm}, gap"] = holds(widest(every, 0, 0, t, None, level), gap)
    return out


def coverage(case: Learning, folds: int | None, repetitions: int, draws: int = DRAWS) -> dict[str, Rate]:
    """How often intervals cover, with Monte Carlo errors; repetitions are independent, groups of one are not."""
    found = [covered_once(case, (1_000 + r, r), folds, draws) for r in range(repetitions)]
    return {name: rate_of([one[name] for one in found]) for name in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--draws", type=int, default=DRAWS)
    asked = parser.parse_args()
    for case in CASES:
        for folds in WAYS:
            found = coverage(case, folds, asked.repetitions, asked.draws)
            cells = " | ".join(f"{one.share:.3f} ± {one.error:.3f}" for one in found.values())
            way = "halves" if folds is None else "two folds"
            print(f"| {case.name}, {case.rows:,} rows | {way} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
