"""Linear problems by brute force: every linear classifier of points in the plane, evaluated by loops."""

from itertools import pairwise

import numpy as np

from improvable.algorithms.rules.linear.problem import LinearProblem
from improvable.data.arrays import BoolArray, FloatArray

KINDS = ("classification_rate", "calibration", "calibration_rejected")


def instance(
    m: int, seed: int, kinds: tuple[str, ...] = ("classification_rate",), groups: int = 2, d: int = 2
) -> LinearProblem:
    """A problem whose status quo decides by noise, so that it can be improved on."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((m, d))
    group = np.arange(m) % groups
    y = (x.sum(axis=1) + 0.7 * group + rng.standard_normal(m) > 0).astype(np.float64)
    y_of = {"classification_rate": y, "calibration": y * rng.integers(1, 6, m), "calibration_rejected": y}
    one, zero = np.ones(m), np.zeros(m)
    off = {"classification_rate": (1 - y, one), "calibration": (zero, zero), "calibration_rejected": (y, one)}
    on = {
        "classification_rate": (y, one),
        "calibration": (y_of["calibration"], one),
        "calibration_rejected": (zero,) * 2,
    }
    base = np.stack([np.stack(off[kind], axis=-1) for kind in kinds], axis=1)
    gain = np.stack([np.stack(on[kind], axis=-1) for kind in kinds], axis=1) - base
    before = np.arange(m) % (2 * groups) < groups
    rows = base + gain * before[:, None, None]
    status_quo = np.array([[ratio(rows[group == g, k]) for k in range(len(kinds))] for g in range(groups)])
    features = np.column_stack([one, x])
    both = tuple(range(len(kinds)))
    return LinearProblem(features, one, group, base, gain, both[:1], both, status_quo, status_quo_rows=rows)


def ratio(rows: FloatArray) -> float:
    u, w = rows.sum(axis=0)
    return float(u / w) if w > 0 else np.nan


def all_decisions(problem: LinearProblem) -> list[BoolArray]:
    """Every linear classifier's decisions on points in the plane (up to ties), by angle and then by cutoff."""
    x = problem.features[:, 1:]
    i, j = np.triu_indices(len(x), 1)
    across = np.arctan2(x[j, 0] - x[i, 0], x[i, 1] - x[j, 1])
    turns = np.sort(np.concatenate([across, across + np.pi, [0, np.pi / 2, np.pi, -np.pi / 2]]) % (2 * np.pi))
    found: dict[bytes, BoolArray] = {}
    for left, right in pairwise([*turns, turns[0] + 2 * np.pi]):
        direction = np.array([np.cos((left + right) / 2), np.sin((left + right) / 2)])
        if problem.signs is not None and (direction * problem.signs[1:] < 0).any():
            continue
        score = x @ direction
        for cutoff in [*np.sort(score), np.inf]:
            found.setdefault((score >= cutoff).tobytes(), score >= cutoff)
    return list(found.values())


def naive(problem: LinearProblem, decisions: BoolArray, objective: str) -> float:
    """An objective's value, NaN where a constraint fails; written from the definitions, with loops."""
    groups = range(problem.groups)
    sums = np.zeros((problem.groups, problem.base.shape[1], 2))
    chosen = np.zeros(problem.groups)
    for g in groups:
        mine = problem.group == g
        chosen[g] = problem.count[mine & decisions].sum()
        for selected, added in ((False, 0.0), (True, problem.gain)):
            rows = mine & (decisions == selected)
            sums[g] += ((problem.base + added) * problem.count[:, None, None])[rows].sum(axis=0)
    if (sums[..., 1] <= 0).any():
        return np.nan
    utility = sums[..., 0] / sums[..., 1]
    limit = None if problem.capacity is None else np.floor(problem.capacity * problem.count.sum() + 1e-9)
    if limit is not None and chosen.sum() != limit:
        return np.nan
    rates = [chosen[g] / problem.count[problem.group == g].sum() for g in groups]
    if problem.selection_gap is not None and max(rates) - min(rates) > problem.selection_gap + 1e-12:
        return np.nan
    kind, _, target = objective.partition(":")
    gaps = {k: np.ptp(utility[:, k]) for k in problem.fairness}
    before = {k: np.ptp(problem.status_quo[:, k]) for k in problem.fairness}
    short = [
        (g, k)
        for g in groups
        for k in problem.accuracy
        if utility[g, k] < problem.status_quo[g, k] + problem.iota - 1e-12
        and not (kind == "most_accurate" and g == int(target) and k == problem.accuracy[0])
    ]
    if kind != "balanced" and short:
        return np.nan
    if kind == "fairest":
        return float(max(gaps.values()))
    if kind == "most_accurate":
        unfair = any(gaps[k] > before[k] - problem.iota + 1e-12 for k in gaps)
        return np.nan if unfair else float(utility[int(target), problem.accuracy[0]])
    assert problem.scale is not None
    margins = [
        (utility[g, k] - problem.status_quo[g, k]) / problem.scale.accuracy[a, g]
        for a, k in enumerate(problem.accuracy)
        for g in groups
    ]
    pairs = [(g, h) for g in groups for h in groups if g != h]
    margins += [
        (before[k] - utility[g, k] + utility[h, k]) / problem.scale.gap[f, p]
        for f, k in enumerate(problem.fairness)
        for p, (g, h) in enumerate(pairs)
    ]
    return float(min(margins))


def brute_force(problem: LinearProblem, objective: str) -> float:
    """The best value over every linear classifier in the plane; NaN where none is feasible."""
    values = np.array([naive(problem, decisions, objective) for decisions in all_decisions(problem)])
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return np.nan
    return float(values.min() if objective == "fairest" else values.max())
