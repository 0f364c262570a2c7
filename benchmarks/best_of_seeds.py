"""What an analyst gains who tries several seeds and reports the best: the share of true
nulls rejected.

Outcomes of group a are coin tosses, so that every candidate is exactly as accurate for
a as the status quo: the null holds with equality. For b a rule finds a real
improvement, so that the accuracy of a decides. One seed gives one repetition or seven,
by the paper's split or forward; 140 random orders of a data set serve all of them.
p-values are those of the bootstrap's normal limit, which `agrees` checks against
`improvable.audit`.

`--write` puts the table into docs/explanation/guarantees.md.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

import improvable
from improvable._typing import BoolArray, FloatArray
from improvable.inference.test import lower_median, threshold_for
from improvable.procedure.split import FORWARD, HALF
from improvable.question.settings import Scheme

PAGE = Path(__file__).parents[1] / "docs/explanation/guarantees.md"
ALPHA, REPETITIONS, SEEDS = 0.05, 7, (1, 5, 20)
SCHEMES: dict[Scheme, tuple[float, ...]] = {"split": (HALF,), "forward": FORWARD}
FEATURES, ROWS = 3, 1_000
SHARE_OF_A = 0.5
SEARCHED = 250
"""Nearest rows among which one that teaches is looked for; of a tenth of the rows it is
missing once in 10^11.
"""

Candidate = Callable[
    [FloatArray, BoolArray, BoolArray, FloatArray, FloatArray], BoolArray
]
"""From features, outcomes, who is judged, places and cuts to decisions for those who
are judged, in each order.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--data-sets",
        type=int,
        default=10_000,
        help="for OLS; a fifth of them for the neighbor",
    )
    parser.add_argument(
        "--write", action="store_true", help=f"write the table into {PAGE.name}"
    )
    options = parser.parse_args()
    agrees()
    lines = [
        "| rule | procedure | "
        + " | ".join(f"best of {m}" if m > 1 else "one seed" for m in SEEDS)
        + " |",
        "|---|---|" + "---|" * len(SEEDS),
    ]
    told: list[str] = []
    for name, candidate, sets in (
        ("OLS", least_squares, options.data_sets),
        ("1 nearest neighbor", nearest_neighbor, options.data_sets // 5),
    ):
        found = [tried(candidate, seed) for seed in range(sets)]
        rejected, scatter = (np.stack([one[i] for one in found]) for i in range(2))
        told += [
            f"{name}, {scheme} {1 - one.mean():.2f}"
            for scheme, one in zip(SCHEMES, scatter.T, strict=True)
        ]
        for procedure, shares in zip(procedures(), rejected.mean(axis=0), strict=True):
            cells = [
                f"{p:.3f} ± {np.sqrt(p * (1 - p) / sets):.3f}".replace("0.", ".")
                for p in shares
            ]
            lines.append(f"| {name} | {procedure} | {' | '.join(cells)} |")
    words = (
        "Correlation of normal scores across the repetitions of one data set: "
        f"{'; '.join(told)}."
    )
    table = "\n".join([*lines, "", words])
    print(table)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        marked = r"(<!-- best_of_seeds.py -->\n).*?(\n<!-- end -->)"
        PAGE.write_text(
            re.sub(marked, rf"\g<1>\n{table}\n\g<2>", page, flags=re.DOTALL),
            encoding="utf-8",
        )


def procedures() -> list[str]:
    """The rows of the table for one rule, in the order of `tried`."""
    return [
        f"{scheme}, {what}, {100 * threshold_for(ALPHA, count):g}%"
        for scheme in SCHEMES
        for what, count in (
            ("one repetition", 1),
            (f"median of {REPETITIONS}", REPETITIONS),
        )
    ]


def tried(candidate: Candidate, seed: int) -> tuple[FloatArray, FloatArray]:
    """Whether the best of so many seeds rejects in one data set, shape (procedures,
    SEEDS).

    And the variance of normal scores between repetitions, for each scheme.
    """
    rng = np.random.default_rng((16, seed))
    features, outcome, status_quo, is_a = draw(rng)
    places = rng.random((max(SEEDS) * REPETITIONS, ROWS))
    by_seed, scatter = [], []
    for cuts in SCHEMES.values():
        p = scheme_p_values(
            candidate, features, outcome, status_quo, is_a, places, np.array(cuts)
        )
        scatter.append(ndtri(np.clip(p, 1e-9, 1 - 1e-9)).var(ddof=1))
        p = p.reshape(max(SEEDS), REPETITIONS)
        by_seed += [
            p[:, 0] < threshold_for(ALPHA, 1),
            lower_median(p.T) < threshold_for(ALPHA, REPETITIONS),
        ]
    best = np.stack([np.stack(by_seed)[:, :m].any(axis=1) for m in SEEDS], axis=1)
    return best.astype(np.float64), np.array(scatter)


def scheme_p_values(
    candidate: Candidate,
    features: FloatArray,
    outcome: BoolArray,
    status_quo: BoolArray,
    is_a: BoolArray,
    places: FloatArray,
    cuts: FloatArray,
) -> FloatArray:
    """The p-value of each order of the rows: that the accuracy of a does not
    improve.
    """
    decided = candidate(features, outcome, is_a, places, cuts)
    gain = (decided == outcome[is_a]).astype(np.int8) - (status_quo == outcome)[
        is_a
    ].astype(np.int8)
    return p_values(gain, places[:, is_a] >= cuts[0])


def draw(
    rng: np.random.Generator,
) -> tuple[FloatArray, BoolArray, BoolArray, BoolArray]:
    """Features, outcomes, the status quo's decisions, and who is of group a."""
    features = rng.standard_normal((ROWS, FEATURES))
    is_a = rng.random(ROWS) < SHARE_OF_A
    told = features[:, 0] + 0.5 * features[:, 1] + 0.5 * rng.standard_normal(ROWS) > 0
    outcome = np.where(is_a, rng.random(ROWS) < 0.5, told)
    return features, outcome, rng.random(ROWS) < 0.5, is_a


def p_values(gain: FloatArray, tested: BoolArray) -> FloatArray:
    """Of each sample of tested rows: that the mean gain is not above zero, by the
    bootstrap's normal limit.
    """
    rows = tested.sum(axis=1)
    mean = (gain * tested).sum(axis=1) / rows
    variance = ((gain * gain) * tested).sum(axis=1) / rows - mean**2
    return np.where(
        variance > 0, ndtr(-mean / np.sqrt(np.maximum(variance, 1e-12) / rows)), 1.0
    )


def edges(places: FloatArray, cuts: FloatArray) -> FloatArray:
    """For each row, the cut before its block: rows with places below it teach the
    candidate that decides for it.
    """
    return np.asarray(
        np.concatenate([[0.0], cuts])[np.searchsorted(cuts, places, side="right")]
    )


def least_squares(
    features: FloatArray,
    outcome: BoolArray,
    judged: BoolArray,
    places: FloatArray,
    cuts: FloatArray,
) -> BoolArray:
    """Decisions above one half by least squares on the rows before each row's block."""
    design = np.column_stack([np.ones(len(features)), features])
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    products = design * outcome[:, None]
    before = edges(places[:, judged], cuts)
    out = np.zeros(before.shape, dtype=np.bool_)
    for cut in cuts:
        teaches = (places < cut).astype(np.float64)
        gram = (teaches @ squares).reshape(-1, design.shape[1], design.shape[1])
        fitted = np.linalg.solve(gram, (teaches @ products)[..., None])[..., 0]
        out = np.where(before == cut, fitted @ design[judged].T > 0.5, out)
    return out


def nearest_neighbor(
    features: FloatArray,
    outcome: BoolArray,
    judged: BoolArray,
    places: FloatArray,
    cuts: FloatArray,
) -> BoolArray:
    """The outcome of the nearest row before each row's block, which the row itself
    never is.
    """
    apart = ((features[judged, None] - features[None]) ** 2).sum(axis=2)
    near = np.argpartition(apart, SEARCHED, axis=1)[:, :SEARCHED]
    near = np.take_along_axis(
        near, np.argsort(np.take_along_axis(apart, near, axis=1), axis=1), axis=1
    )
    rows = np.arange(len(near))
    pairs = zip(places, edges(places[:, judged], cuts), strict=True)
    return np.stack(
        [
            outcome[near[rows, (place[near] < edge[:, None]).argmax(axis=1)]]
            for place, edge in pairs
        ]
    )


def agrees() -> None:
    """The formulas above are the package's: least squares, and the p-values of a in
    audits of either scheme.
    """
    features, outcome, status_quo, is_a = draw(np.random.default_rng(3))
    frame = pl.DataFrame(
        {
            "y": outcome * 1,
            "g": np.where(is_a, "a", "b"),
            "now": status_quo * 1,
            "id": np.arange(ROWS),
        }
    )
    frame = frame.with_columns(
        pl.Series(f"x{i}", column) for i, column in enumerate(features.T)
    )
    for scheme, cuts in SCHEMES.items():
        result = improvable.audit(
            frame,
            outcome="y",
            group="g",
            status_quo="now",
            rule="linear",
            features=["x0", "x1", "x2"],
            row_id="id",
            accuracy="classification_rate",
            claim=improvable.Claim(ask="accuracy"),
            test=improvable.Test(
                scheme=scheme, repetitions=7, method="delta", draws=100_000
            ),
        )
        blocks = (
            result.repetition_rows()
            .sort("repetition", "id")["block"]
            .to_numpy()
            .reshape(-1, ROWS)
        )
        places = np.array([0.0, *cuts])[blocks]
        ours = scheme_p_values(
            least_squares, features, outcome, status_quo, is_a, places, np.array(cuts)
        )
        theirs = [one.assessment.p_accuracy["a"] for one in result.repetitions]
        assert np.abs(ours - theirs).max() < 0.006, (ours, theirs)


if __name__ == "__main__":
    main()
