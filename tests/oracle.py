"""Slow, obvious twins of the fast paths: every number computed from scratch, row by row
of the paper.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise, permutations

import numpy as np
import pandas as pd

from improvable._typing import FloatArray, IntArray
from improvable.inference.corrections import plain
from improvable.inference.evidence import Evidence
from improvable.inference.moments import Moments
from improvable.inference.statistics import (
    gap_between,
    gap_statistic,
    ordered_pairs,
    unfairness,
)
from improvable.inference.tally import with_draws
from improvable.question.claim import Form
from improvable.results.comparison import Comparison

NAIVE_UTILITIES: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "classification_rate": lambda y, d: float(np.mean(y == d)),
    "calibration": lambda y, d: float(np.mean(y[d == 1])),
    "calibration_rejected": lambda y, d: float(np.mean(y[d == 0])),
    "false_positive_rate": lambda y, d: float(np.mean(d[y == 0] == 1)),
    "false_negative_rate": lambda y, d: float(np.mean(d[y == 1] == 0)),
    "true_positive_rate": lambda y, d: float(np.mean(d[y == 1] == 1)),
    "true_negative_rate": lambda y, d: float(np.mean(d[y == 0] == 0)),
    "positive_predictive_value": lambda y, d: float(np.mean(y[d == 1] == 1)),
    "selection_rate": lambda y, d: float(np.mean(d == 1)),
    "profit": lambda y, d: float(np.mean(np.where(y >= d, d, 0.0))),
    "f_score": lambda y, d: naive_f_score(y, d, 1.0),
    "lift": lambda y, d: float(np.mean(y[d == 1]) / np.mean(y)),
    "adverse_impact_ratio": lambda y, d: float(np.mean(d == 1)),
}


def naive_f_score(y: FloatArray, d: FloatArray, beta: float) -> float:
    """The weighted harmonic mean of precision and recall, as textbooks define it."""
    precision, recall = float(np.mean(y[d == 1])), float(np.mean(d[y == 1]))
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def naive_values(
    name: str, y: FloatArray, decisions: list[FloatArray], group: IntArray
) -> FloatArray:
    """U of every group under every algorithm, shape (groups, algorithms)."""
    utility = NAIVE_UTILITIES[name]
    return np.array(
        [
            [utility(y[group == g], d[group == g]) for d in decisions]
            for g in range(group.max() + 1)
        ]
    )


def naive_draws(
    name: str,
    y: FloatArray,
    decisions: list[FloatArray],
    group: IntArray,
    draws: int,
    seed: int,
) -> FloatArray:
    """Resample rows in a loop, recompute every utility, shape (draws, groups,
    algorithms).
    """
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(draws):
        i = rng.integers(0, len(y), len(y))
        out.append(naive_values(name, y[i], [d[i] for d in decisions], group[i]))
    return np.array(out)


def naive_statistics(
    accuracy: FloatArray,
    fairness: FloatArray,
    deltas: tuple[float, float, float],
    form: str,
    between: str = "difference",
) -> dict[str, FloatArray]:
    """T_r, T_b, T_f and the two signed statistics for two groups; arrays (..., groups,
    algorithms).

    With `between` = "ratio", a gap from g to h is 1 - F_h / F_g instead of F_g - F_h.
    """
    delta_r, delta_b, delta_f = deltas

    def gap(g: int, h: int, t: int) -> FloatArray:
        above, below = fairness[..., g, t], fairness[..., h, t]
        return np.asarray(1 - below / above if between == "ratio" else above - below)

    f0, f1_up, f1_down = gap(0, 1, 0), gap(0, 1, 1), gap(1, 0, 1)
    widest0, widest1 = np.maximum(f0, gap(1, 0, 0)), np.maximum(f1_up, f1_down)
    if form == "ratio":
        return {
            "r": accuracy[..., 0, 1] - (1 + delta_r) * accuracy[..., 0, 0],
            "b": accuracy[..., 1, 1] - (1 + delta_b) * accuracy[..., 1, 0],
            "f": widest1 - (1 - delta_f) * widest0,
            "f_up": f1_up - (1 - delta_f) * f0,
            "f_down": f1_down - (1 - delta_f) * f0,
        }
    return {
        "r": accuracy[..., 0, 1] - accuracy[..., 0, 0] - delta_r,
        "b": accuracy[..., 1, 1] - accuracy[..., 1, 0] - delta_b,
        "f": widest1 - widest0 + delta_f,
        "f_up": f1_up - f0 + delta_f,
        "f_down": f1_down - f0 + delta_f,
    }


def naive_p_values(
    statistic: dict[str, FloatArray], draws: dict[str, FloatArray]
) -> dict[str, float]:
    """Centred: the share of draws whose deviation from the statistic is as large as the
    statistic.
    """
    out = {}
    for name, t in statistic.items():
        deviation = draws[name] - t
        out[name] = float(np.mean(deviation >= t if name in "rb" else deviation <= t))
    return out


def naive_repetition(
    rows: pd.DataFrame,
    cuts: Sequence[float],
    judge: Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame],
) -> pd.DataFrame:
    """The tested rows of one repetition with both decisions: block after block, each by
    what all rows before it taught.

    `rows` has the place of every row in the random order, as a share; `judge` adds
    decisions to a block, knowing the rows before it.
    """
    blocks = []
    for begin, end in pairwise([*cuts, 1.0]):
        before = rows[rows["place"] < begin]
        blocks.append(
            judge(before, rows[(rows["place"] >= begin) & (rows["place"] < end)])
        )
    return pd.concat(blocks)


def naive_linear_rule(
    before: pd.DataFrame,
    block: pd.DataFrame,
    outcome: str,
    score: str,
    features: list[str],
    capacity: float,
) -> pd.DataFrame:
    """The status quo selects by a score and the candidate by least squares, both the
    share `capacity`.

    Each row counts as many `times` as it says.
    """
    x, y, times = (
        before[features].to_numpy(),
        before[outcome].to_numpy(),
        before["times"].to_numpy(),
    )
    # The score that each row would have as a new one: of a line that was fitted without
    # it.
    left_out = [
        naive_line(
            np.delete(x, i, axis=0), np.delete(y, i), np.delete(times, i), x[i : i + 1]
        )[0]
        for i in range(len(x))
    ]
    predicted = naive_line(x, y, times, block[features].to_numpy())
    return block.assign(
        status_quo=block[score]
        > naive_cutoff(before[score].to_numpy(), times, capacity),
        candidate=predicted > naive_cutoff(np.array(left_out), times, capacity),
    )


def naive_line(
    x: FloatArray, y: FloatArray, times: IntArray, new: FloatArray
) -> FloatArray:
    """Least squares on rows that are repeated so many times, and what it predicts for
    new ones.
    """
    matrix = np.repeat(np.column_stack([np.ones(len(x)), x]), times, axis=0)
    slopes = np.linalg.lstsq(matrix, np.repeat(y, times), rcond=None)[0]
    return np.asarray(np.column_stack([np.ones(len(new)), new]) @ slopes)


def naive_cutoff(scores: FloatArray, times: IntArray, capacity: float) -> float:
    return float(np.quantile(np.repeat(scores, times), 1 - capacity))


def plain_evidence(result: Comparison) -> Evidence:
    """A result's evidence with draws that nothing was corrected in; corrections have
    twins of their own.
    """
    counted = result.counted
    assert counted is not None
    assert not isinstance(counted.strata, Moments)
    drawable, seed = (
        plain(counted.strata, counted.clusters is not None),
        np.random.SeedSequence(4),
    )
    return with_draws(
        result.evidence, counted, drawable, result.question.draws, seed, 1
    )


def naive_upper_p(
    values: FloatArray,
    draws: FloatArray,
    units: int,
    delta: float,
    what: str = "fairness",
    form: str = "ratio",
) -> float:
    """The p-value of "the improvement is at least delta", condition by condition and
    draw by draw.

    `values` are utilities, (groups, algorithms), of accuracy and of fairness alike;
    `draws` have one more axis. The delta is of the gap, or of accuracy; the other is
    zero.
    """
    pairs = list(permutations(range(len(values)), 2))
    delta_a, delta_f = (0.0, delta) if what == "fairness" else (delta, 0.0)

    def conditions(u: FloatArray, reference: tuple[int, int]) -> list[float]:
        r, s = reference
        if form == "ratio":
            gains = [u[g, 1] - (1 + delta_a) * u[g, 0] for g in range(len(u))]
            return gains + [
                (1 - delta_f) * (u[r, 0] - u[s, 0]) - (u[g, 1] - u[h, 1])
                for g, h in pairs
            ]
        gains = [u[g, 1] - u[g, 0] - delta_a for g in range(len(u))]
        return gains + [
            (u[r, 0] - u[s, 0]) - delta_f - (u[g, 1] - u[h, 1]) for g, h in pairs
        ]

    widest = max(pairs, key=lambda pair: values[pair[0], 0] - values[pair[1], 0])
    p_values = []
    for r, s in pairs:
        apart = [
            u[widest[0], 0] - u[widest[1], 0] - u[r, 0] + u[s, 0]
            for u in (values, *draws)
        ]
        reach = np.sqrt(2 * max(1.0, np.log((len(values) - 1) * np.log(units))))
        if (
            apart[0]
            > reach * np.std([one for one in apart[1:] if np.isfinite(one)]) + 1e-9
        ):
            continue  # not the widest gap of the status quo
        here, drawn = conditions(values, (r, s)), [conditions(u, (r, s)) for u in draws]
        defined = [one for one in drawn if np.isfinite(one).all()]
        errors = np.std(defined, axis=0)
        far = np.sqrt(2 * np.log(len(here) * np.log(units)))
        counted = [
            c
            for c in range(len(here))
            if errors[c] > 1e-9 and here[c] <= far * errors[c]
        ]
        statistic = max((-here[c] / errors[c] for c in counted), default=-np.inf) - 1e-9
        for mirror in (1, -1):
            against = len(drawn) - len(defined)
            for one in defined:
                largest = max(
                    (mirror * (here[c] - one[c]) / errors[c] for c in counted),
                    default=-np.inf,
                )
                against += largest >= statistic
            p_values.append(against / len(drawn))
    return max(p_values)


def folded_statistic(
    status_quo: FloatArray,
    candidate: FloatArray,
    delta: float,
    form: Form,
    protected: int | None = None,
    relative: int = 0,
) -> FloatArray:
    """The paper's T_f = |F_1r - F_1b| - (1 - Delta_f) |F_0r - F_0b|, (..., groups) ->
    (...); small for improvement.
    """
    before, after = (
        unfairness(values, protected, relative) for values in (status_quo, candidate)
    )
    return gap_statistic(before, after, delta, form)


def signed_statistics(
    status_quo: FloatArray,
    candidate: FloatArray,
    reference: tuple[int, int],
    delta: float,
    form: Form,
    protected: int | None = None,
    relative: int = 0,
) -> FloatArray:
    """T_gh = (F_1g - F_1h) - (1 - Delta_f) (F_0r - F_0s) for every pair of
    `ordered_pairs`.

    (r, s) is the reference pair, fixed before the test rows are seen. If every T_gh is
    below zero then the candidate's largest gap is below (1 - Delta_f) times a gap of
    the status quo, and so below (1 - Delta_f) times its largest: the paper's
    alternative, with nothing folded and no kink. Small values speak for improvement.

    Shapes (..., groups) -> (..., pairs).
    """
    before = gap_between(
        status_quo[..., reference[0]], status_quo[..., reference[1]], relative
    )
    pairs = ordered_pairs(status_quo.shape[-1], protected)
    after = [
        gap_between(candidate[..., g], candidate[..., h], relative) for g, h in pairs
    ]
    return np.stack([gap_statistic(before, one, delta, form) for one in after], -1)
