"""How often the intervals of reports cover: utilities of every group and gaps, forward
and by the paper's split.

What an interval is to cover is the mean over the repetitions of the true value of what
each of them tested: every block has a candidate, and cutoffs, of its own, and a
repetition tests their mixture, whose true value is measured on a large population. Rows
are divided, counted and drawn as in `schemes`.

    PYTHONPATH=benchmarks python benchmarks/validity/intervals.py --samples 400
"""

import argparse
from functools import cache

import numpy as np

from improvable._typing import FloatArray
from improvable.inference.evidence import ALGORITHMS
from improvable.inference.intervals import Spread, utility, widest
from improvable.inference.statistics import unfairness, utilities_of
from improvable.question.settings import Scheme
from validity.learning import TOLD, Learning, Table, classes, counts, least_squares
from validity.schemes import SCHEMES, Round, contributed, rounds_of
from validity.study import ALPHA, Rate, rate_of

POPULATION = 100_000
DRAWS = 1_000
CASES = (
    Learning("two groups", "least squares", classes(*TOLD), least_squares, rows=600),
    Learning(
        "two groups, clear gap",
        "least squares",
        classes((0.8, 0.6), (0.75, 0.45)),
        least_squares,
        rows=1_200,
    ),
    Learning(
        "capacity 10%",
        "mean outcome of the selected",
        counts,
        least_squares,
        1_200,
        2,
        0.1,
        "calibration",
    ),
    Learning(
        "three groups that tie",
        "the candidate's gap is zero",
        classes((0.64,) * 3, (0.58, 0.42, 0.42)),
        least_squares,
        rows=900,
        groups=3,
    ),
    Learning(
        "ten groups that tie",
        "both gaps are zero",
        classes((0.64,) * 10, (0.55,) * 10),
        least_squares,
        rows=3_000,
        groups=10,
    ),
    Learning(
        "ten groups, one apart",
        "the gap is between one group and nine that tie",
        classes((0.8, *(0.64,) * 9), (0.42, *(0.58,) * 9)),
        least_squares,
        rows=3_000,
        groups=10,
    ),
)


@cache
def population(case: Learning) -> Table:
    return case.draw(np.random.default_rng(99), POPULATION)


def truth_of(case: Learning, table: Table, one: Round) -> FloatArray:
    """True utilities, (groups, 2), of what a repetition tested: the mixture of what its
    blocks' candidates decide.
    """
    everyone, sums = population(case), np.zeros((case.groups, 4))
    for train, weight in zip(one.trained, one.weights, strict=True):
        vectors, _ = contributed(case, table.take(train), everyone)
        for column in range(4):
            total = np.bincount(
                everyone.group, weights=vectors[:, column], minlength=case.groups
            )
            sums[:, column] += weight * total
    return utilities_of(sums.reshape(case.groups, 2, 2))


def holds(interval: Spread, truth: float) -> float:
    """1 where an interval covers; an end that is not bounded excludes nothing."""
    low = -np.inf if interval.low is None else interval.low
    high = np.inf if interval.high is None else interval.high
    return float(low <= truth <= high)


def covered_once(
    case: Learning, seed: tuple[int, int], scheme: Scheme, draws: int = DRAWS
) -> dict[str, float]:
    """Of one audit, the share of groups whose interval covers, and whether that of the
    gap does, by algorithm.
    """
    table = case.draw(np.random.default_rng(seed), case.rows)
    rounds = list(rounds_of(case, table, scheme, seed[1], draws))
    every, truths = (
        [one.evidence for one in rounds],
        [truth_of(case, table, one) for one in rounds],
    )
    level = 1 - ALPHA / 2
    out: dict[str, float] = {}
    for t, algorithm in enumerate(ALGORITHMS):
        inside = [
            holds(
                utility(every, 0, g, 0, t, level),
                float(np.mean([truth[g, t] for truth in truths])),
            )
            for g in range(case.groups)
        ]
        out[f"{algorithm}, groups"] = float(np.mean(inside))
        gap = float(np.mean([float(unfairness(truth[:, t])) for truth in truths]))
        out[f"{algorithm}, gap"] = holds(widest(every, 0, 0, t, None, level), gap)
    return out


def coverage(
    case: Learning, scheme: Scheme, samples: int, draws: int = DRAWS
) -> dict[str, Rate]:
    """How often intervals cover, with Monte Carlo errors; samples are independent,
    groups of one are not.
    """
    found = [covered_once(case, (1_000 + r, r), scheme, draws) for r in range(samples)]
    return {name: rate_of([one[name] for one in found]) for name in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--draws", type=int, default=DRAWS)
    asked = parser.parse_args()
    for case in CASES:
        for scheme in SCHEMES:
            found = coverage(case, scheme, asked.samples, asked.draws)
            cells = " | ".join(
                f"{one.share:.3f} ± {one.error:.3f}" for one in found.values()
            )
            print(
                f"| {case.name}, {case.rows:,} rows | {scheme} | {cells} |", flush=True
            )


if __name__ == "__main__":
    main()
