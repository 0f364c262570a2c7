"""What an analyst gains who tries several seeds and reports the best: the share of true nulls rejected.

Outcomes of group a are coin tosses, so that every candidate is exactly as accurate for a as the status quo: the null
holds with equality. For b a rule finds a real improvement, so that the accuracy of a decides. One seed gives one repetition,
seven repetitions in half, or seven repetitions in two folds; p-values are those of the bootstrap's normal limit, which
`agrees` checks against `improvable.compare`. All seeds of a data set share one set of random halves, 140 of them: each
half trains, its complement is tested (repetitions), and the other way around, too (folds).

`--write` puts the table into docs/explanation/manipulation.md.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

import improvable
from improvable.data.arrays import BoolArray, FloatArray
from improvable.inference.combining import combined_threshold, lower_median

PAGE = Path(__file__).parents[1] / "docs/explanation/manipulation.md"
ALPHA, REPETITIONS, SEEDS = 0.05, 7, (1, 5, 20)
FEATURES, ROWS = 3, 600
SHARE_OF_A = 0.5
SEARCHED = 48
"""Nearest rows among which one of the training half is looked for; it is missing once in 2^48."""

Candidate = Callable[[FloatArray, BoolArray, BoolArray], tuple[BoolArray, BoolArray]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=20_000, help="data sets for OLS; a quarter for the neighbor")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args()
    agrees()
    lines = [
        "| rule | procedure | " + " | ".join(f"best of {m}" if m > 1 else "one seed" for m in SEEDS) + " |",
        "|---|---|" + "---|" * len(SEEDS),
    ]
    told: list[str] = []
    for name, candidate, repetitions in (
        ("OLS", least_squares, options.repetitions),
        ("1 nearest neighbor", nearest_neighbor, options.repetitions // 4),
    ):
        found = [tried(candidate, seed) for seed in range(repetitions)]
        rejected, scatter = (np.stack([one[i] for one in found]) for i in range(2))
        halves, folds = 1 - scatter.mean(axis=0)
        told.append(f"{name} {halves:.2f} between halves, {folds:.2f} between repetitions in two folds")
        for procedure, shares in zip(PROCEDURES, rejected.mean(axis=0), strict=True):
            cells = [f"{p:.3f} ± {np.sqrt(p * (1 - p) / repetitions):.3f}".replace("0.", ".") for p in shares]
            lines.append(f"| {name} | {procedure} | {' | '.join(cells)} |")
    words = f"Correlation of normal scores across the halves or repetitions of one data set: {'; '.join(told)}."
    table = "\n".join([*lines, "", words])
    print(table)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        marked = r"(<!-- best_of_seeds.py -->\n).*?(\n<!-- end -->)"
        PAGE.write_text(re.sub(marked, rf"\g<1>\n{table}\n\g<2>", page, flags=re.DOTALL), encoding="utf-8")


PROCEDURES = ("one repetition, 5%", "median of 7 halves, 2.5%", "two folds, median of 7, 5%")


def tried(candidate: Candidate, seed: int) -> tuple[FloatArray, FloatArray]:
    """Whether the best of so many seeds rejects in one data set, shape (procedures, SEEDS).

    And the variance of normal scores between halves, and between repetitions in folds.
    """
    rng = np.random.default_rng((16, seed))
    features, outcome, status_quo, is_a = draw(rng)
    halves = rng.random((max(SEEDS) * REPETITIONS, ROWS)) < 0.5
    # The candidate that learned from a half, and the one that learned from the other half.
    first, second = candidate(features, outcome, halves)
    gain = np.where(halves, second, first)[:, is_a].astype(np.int8)  # each row is judged by the one that did not see it
    gain = (gain == outcome[is_a]).astype(np.int8) - (status_quo == outcome)[is_a].astype(np.int8)
    in_halves = p_values(gain, ~halves[:, is_a]).reshape(max(SEEDS), REPETITIONS)
    in_folds = p_values(gain, np.ones_like(halves[:, is_a])).reshape(max(SEEDS), REPETITIONS)
    by_seed = np.stack([
        in_halves[:, 0] < combined_threshold(ALPHA, 1, "median"),
        lower_median(in_halves.T) < combined_threshold(ALPHA, REPETITIONS, "median"),
        lower_median(in_folds.T) < combined_threshold(ALPHA, REPETITIONS, "median", folds=2),
    ])  # fmt: skip
    scatter = [ndtri(np.clip(p, 1e-9, 1 - 1e-9)).var(ddof=1) for p in (in_halves, in_folds)]
    return np.stack([by_seed[:, :m].any(axis=1) for m in SEEDS], axis=1).astype(np.float64), np.array(scatter)


def draw(rng: np.random.Generator) -> tuple[FloatArray, BoolArray, BoolArray, BoolArray]:
    """Features, outcomes, the status quo's decisions, and who is of group a."""
    features = rng.standard_normal((ROWS, FEATURES))
    is_a = rng.random(ROWS) < SHARE_OF_A
    told = features[:, 0] + 0.5 * features[:, 1] + 0.5 * rng.standard_normal(ROWS) > 0
    outcome = np.where(is_a, rng.random(ROWS) < 0.5, told)
    return features, outcome, rng.random(ROWS) < 0.5, is_a


def p_values(gain: FloatArray, tested: BoolArray) -> FloatArray:
    """Of each sample of tested rows: that the mean gain is not above zero, by the bootstrap's normal limit."""
    rows = tested.sum(axis=1)
    mean = (gain * tested).sum(axis=1) / rows
    variance = ((gain * gain) * tested).sum(axis=1) / rows - mean**2
    return np.where(variance > 0, ndtr(-mean / np.sqrt(np.maximum(variance, 1e-12) / rows)), 1.0)


def least_squares(features: FloatArray, outcome: BoolArray, halves: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Decisions above one half by least squares on each half and on its complement, shape (halves, rows) each."""
    design = np.column_stack([np.ones(len(features)), features])
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    products = design * outcome[:, None]
    out = []
    for learn in (halves.astype(np.float64), (~halves).astype(np.float64)):
        gram = (learn @ squares).reshape(-1, design.shape[1], design.shape[1])
        fitted = np.linalg.solve(gram, (learn @ products)[..., None])[..., 0]
        out.append(fitted @ design.T > 0.5)
    return out[0], out[1]


def nearest_neighbor(features: FloatArray, outcome: BoolArray, halves: BoolArray) -> tuple[BoolArray, BoolArray]:
    """The outcome of the nearest row of each half and of its complement, other than oneself."""
    apart = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    near = np.argpartition(apart, SEARCHED, axis=1)[:, :SEARCHED]
    near = np.take_along_axis(near, np.argsort(np.take_along_axis(apart, near, axis=1), axis=1), axis=1)
    rows = np.arange(len(features))
    found = halves[:, near]
    first, second = (outcome[near[rows, one.argmax(axis=2)]] for one in (found, ~found))
    return first, second


def agrees() -> None:
    """The formula above is the test of the package: its accuracy component on the rows of one repetition and of all rows."""
    rng = np.random.default_rng(3)
    features, outcome, status_quo, is_a = draw(rng)
    halves = rng.random((1, ROWS)) < 0.5
    first, second = least_squares(features, outcome, halves)
    decision = np.where(halves, second, first)[0]
    frame = pl.DataFrame({"y": outcome * 1, "g": np.where(is_a, "a", "b"), "d0": status_quo * 1, "d1": decision * 1})
    gain = ((decision == outcome) * 1.0 - (status_quo == outcome))[None, is_a]
    for tested in (~halves[0], np.ones(ROWS, dtype=bool)):
        result = improvable.compare(
            frame.filter(tested), outcome="y", group="g", status_quo="d0", candidate="d1", method="delta",
            accuracy="classification_rate", ask="accuracy", draws=100_000,
        )  # fmt: skip
        ours = float(p_values(gain, tested[None, is_a])[0])
        theirs = result.repetitions[0].assessment.p_accuracy["a"]
        assert abs(ours - theirs) < 0.006, (ours, theirs)


if __name__ == "__main__":
    main()
