"""What an analyst gains who tries several seeds and reports the best: the share of true nulls rejected.

Outcomes of group a are coin tosses, so that every candidate is exactly as accurate for a as the status quo: the null
holds with equality. For b a rule finds a real improvement, so that the accuracy of a decides. One seed gives one split,
the median of seven splits, one forward repetition, or the median of seven; p-values are those of the bootstrap's normal
limit, which `agrees` checks against `improvable.compare`. All schemes of a data set share one set of random orders, 140
of them.

`--write` puts the table into docs/explanation/manipulation.md.
"""

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

import improvable
from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.inference.combining import lower_median, threshold_for
from improvable.procedure.blocks import FORWARD, HALF

PAGE = Path(__file__).parents[1] / "docs/explanation/manipulation.md"
ALPHA, REPETITIONS, SEEDS = 0.05, 7, (1, 5, 20)
FEATURES, ROWS = 3, 600
SHARE_OF_A = 0.5
MISSED = 2.0**-48
"""How seldom no row that taught is among the nearest rows that are looked through."""
SCHEMES = {"split": (HALF,), "forward": FORWARD}
"""Where the blocks of each scheme end."""

Candidate = Callable[[FloatArray, BoolArray, BoolArray], BoolArray]
"""Features, outcomes and which rows teach, shape (orders, rows); decisions of the same shape."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=20_000, help="data sets for OLS; a tenth for the neighbor")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args()
    agrees()
    lines = [
        "| rule | procedure | " + " | ".join(f"best of {m}" if m > 1 else "one seed" for m in SEEDS) + " |",
        "|---|---|" + "---|" * len(SEEDS),
    ]
    told: list[str] = []
    for name, candidate, samples in (
        ("OLS", least_squares, options.samples),
        ("1 nearest neighbor", nearest_neighbor, options.samples // 10),
    ):
        found = [tried(candidate, seed) for seed in range(samples)]
        rejected, scatter = (np.stack([one[i] for one in found]) for i in range(2))
        split, forward = 1 - scatter.mean(axis=0)
        told.append(f"{name} {split:.2f} between splits, {forward:.2f} between forward repetitions")
        for procedure, shares in zip(PROCEDURES, rejected.mean(axis=0), strict=True):
            cells = [f"{p:.3f} ± {np.sqrt(p * (1 - p) / samples):.3f}".replace("0.", ".") for p in shares]
            lines.append(f"| {name} | {procedure} | {' | '.join(cells)} |")
    words = f"Correlation of normal scores across the repetitions of one data set: {'; '.join(told)}."
    table = "\n".join([*lines, "", words])
    print(table)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        marked = r"(<!-- best_of_seeds.py -->\n).*?(\n<!-- end -->)"
        PAGE.write_text(re.sub(marked, rf"\g<1>\n{table}\n\g<2>", page, flags=re.DOTALL), encoding="utf-8")


PROCEDURES = (
    "one split, 5%", "median of 7 splits, 2.5%", "one forward repetition, 5%", "median of 7 forward, 2.5%",
)  # fmt: skip


def tried(candidate: Candidate, seed: int) -> tuple[FloatArray, FloatArray]:
    """Whether the best of so many seeds rejects in one data set, shape (procedures, SEEDS).

    And the variance of normal scores between the repetitions of each scheme.
    """
    rng = np.random.default_rng((16, seed))
    features, outcome, status_quo, is_a = draw(rng)
    places = rng.random((max(SEEDS) * REPETITIONS, ROWS))
    right_before = (status_quo == outcome)[is_a].astype(np.int8)
    by_seed, scatter = [], []
    for cuts in SCHEMES.values():
        block = blocks_of(places, cuts)
        decided = decisions(candidate, features, outcome, block)
        gain = (decided == outcome)[:, is_a].astype(np.int8) - right_before
        p = p_values(gain, block[:, is_a] > 0).reshape(max(SEEDS), REPETITIONS)
        by_seed += [p[:, 0] < threshold_for(ALPHA, 1), lower_median(p.T) < threshold_for(ALPHA, REPETITIONS)]
        scatter.append(ndtri(np.clip(p, 1e-9, 1 - 1e-9)).var(ddof=1))
    every = np.stack(by_seed)
    return np.stack([every[:, :m].any(axis=1) for m in SEEDS], axis=1).astype(np.float64), np.array(scatter)


def blocks_of(places: FloatArray, cuts: tuple[float, ...]) -> IntArray:
    """The block of each row in each order; 0 for the one that only teaches."""
    return np.searchsorted(np.array(cuts), places, side="right")


def decisions(candidate: Candidate, features: FloatArray, outcome: BoolArray, block: IntArray) -> BoolArray:
    """What is decided for each row by the candidate that learned from the blocks before the row's own."""
    out = np.zeros(block.shape, dtype=np.bool_)
    for tested in range(1, int(block.max()) + 1):
        out = np.where(block == tested, candidate(features, outcome, block < tested), out)
    return out


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


def least_squares(features: FloatArray, outcome: BoolArray, learn: BoolArray) -> BoolArray:
    """Decisions above one half by least squares."""
    design = np.column_stack([np.ones(len(features)), features])
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    weights = learn.astype(np.float64)
    gram = (weights @ squares).reshape(-1, design.shape[1], design.shape[1])
    fitted = np.linalg.solve(gram, (weights @ (design * outcome[:, None]))[..., None])[..., 0]
    return np.asarray(fitted @ design.T > 0.5)


def nearest_neighbor(features: FloatArray, outcome: BoolArray, learn: BoolArray) -> BoolArray:
    """The outcome of the nearest row that taught, other than oneself."""
    apart = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    searched = min(math.ceil(math.log(MISSED) / math.log(1 - learn.mean())), ROWS - 1)
    near = np.argsort(apart, axis=1)[:, :searched]
    return np.asarray(outcome[near[np.arange(ROWS), learn[:, near].argmax(axis=2)]])


def agrees() -> None:
    """The formula above is the test of the package: its accuracy component on the tested rows of either scheme."""
    rng = np.random.default_rng(3)
    features, outcome, status_quo, is_a = draw(rng)
    places = rng.random((1, ROWS))
    for cuts in SCHEMES.values():
        block = blocks_of(places, cuts)
        decided, tested = decisions(least_squares, features, outcome, block)[0], block[0] > 0
        frame = pl.DataFrame({"y": outcome * 1, "g": np.where(is_a, "a", "b"), "d0": status_quo * 1, "d1": decided * 1})
        result = improvable.compare(
            frame.filter(tested), outcome="y", group="g", status_quo="d0", candidate="d1", method="delta",
            accuracy="classification_rate", ask="accuracy", draws=100_000,
        )  # fmt: skip
        gain = ((decided == outcome) * 1.0 - (status_quo == outcome))[None, is_a]
        ours, theirs = float(p_values(gain, tested[None, is_a])[0]), result.assessment.p_accuracy["a"]
        assert abs(ours - theirs) < 0.006, (ours, theirs)


if __name__ == "__main__":
    main()
