"""Slow, obvious twins of the fast paths: every number computed from scratch, row by row of the paper."""

from collections.abc import Callable

import numpy as np

from improvable.data.arrays import FloatArray, IntArray

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


def naive_values(name: str, y: FloatArray, decisions: list[FloatArray], group: IntArray) -> FloatArray:
    """U of every group under every algorithm, shape (groups, algorithms)."""
    utility = NAIVE_UTILITIES[name]
    return np.array([[utility(y[group == g], d[group == g]) for d in decisions] for g in range(group.max() + 1)])


def naive_draws(
    name: str, y: FloatArray, decisions: list[FloatArray], group: IntArray, draws: int, seed: int
) -> FloatArray:
    """Resample rows in a loop, recompute every utility, shape (draws, groups, algorithms)."""
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
    """T_r, T_b, T_f and the two signed statistics for two groups; arrays (..., groups, algorithms).

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


def naive_p_values(statistic: dict[str, FloatArray], draws: dict[str, FloatArray]) -> dict[str, float]:
    """Centred: the share of draws whose deviation from the statistic is as large as the statistic."""
    out = {}
    for name, t in statistic.items():
        deviation = draws[name] - t
        out[name] = float(np.mean(deviation >= t if name in "rb" else deviation <= t))
    return out
