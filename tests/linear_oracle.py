"""Linear problems by brute force: every linear classifier of points in the plane,
evaluated by loops.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from improvable._typing import BoolArray, FloatArray
from improvable.algorithms.rules.linear.problem import LinearProblem
from improvable.question.claim import Claim, make_claim
from improvable.question.utility import Measure

DELTAS = {
    "ratio": ((-0.2, 0.4), (-0.5, 0.6)),
    "difference": ((-0.1, 0.2), (-0.2, 0.15)),
}
KINDS = ("classification_rate", "calibration", "calibration_rejected")


def instance(
    m: int,
    seed: int,
    kinds: tuple[str, ...] = ("classification_rate",),
    groups: int = 2,
    d: int = 2,
) -> LinearProblem:
    """A problem whose status quo decides by noise, so that it can be improved on."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((m, d))
    group = np.arange(m) % groups
    y = (x.sum(axis=1) + 0.7 * group + rng.standard_normal(m) > 0).astype(np.float64)
    y_of = {
        "classification_rate": y,
        "calibration": y * rng.integers(1, 6, m),
        "calibration_rejected": y,
    }
    one, zero = np.ones(m), np.zeros(m)
    off = {
        "classification_rate": (1 - y, one),
        "calibration": (zero, zero),
        "calibration_rejected": (y, one),
    }
    on = {
        "classification_rate": (y, one),
        "calibration": (y_of["calibration"], one),
        "calibration_rejected": (zero,) * 2,
    }
    base = np.stack([np.stack(off[kind], axis=-1) for kind in kinds], axis=1)
    gain = np.stack([np.stack(on[kind], axis=-1) for kind in kinds], axis=1) - base
    before = np.arange(m) % (2 * groups) < groups
    rows = base + gain * before[:, None, None]
    both = tuple(range(len(kinds)))
    return LinearProblem(
        np.column_stack([one, x]),
        one,
        group,
        base,
        gain,
        rows,
        tuple(Measure(kind, kind, "y") for kind in kinds),
        both[:1],
        both,
        tuple(map(str, range(groups))),
    )


def turned(problem: LinearProblem) -> LinearProblem:
    """The same, where a group is worse off with a higher value of every utility."""
    return replace(
        problem,
        measures=tuple(replace(one, worse_off="higher") for one in problem.measures),
    )


def ratio(rows: FloatArray) -> float:
    u, w = rows.sum(axis=0)
    return float(u / w) if w > 0 else np.nan


def all_decisions(problem: LinearProblem) -> list[BoolArray]:
    """Every linear classifier's decisions on points in the plane (up to ties), by angle
    and then by cutoff.
    """
    x = problem.features[:, 1:]
    i, j = np.triu_indices(len(x), 1)
    across = np.arctan2(x[j, 0] - x[i, 0], x[i, 1] - x[j, 1])
    turns = np.sort(
        np.concatenate([across, across + np.pi, [0, np.pi / 2, np.pi, -np.pi / 2]])
        % (2 * np.pi)
    )
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
    """An objective's value, NaN where a constraint fails; written from the definitions,
    with loops.
    """
    groups = range(problem.groups)
    sums = np.zeros((problem.groups, problem.base.shape[1], 2))
    chosen = np.zeros(problem.groups)
    for g in groups:
        mine = problem.group == g
        chosen[g] = problem.count[mine & decisions].sum()
        for selected, added in ((False, 0.0), (True, problem.gain)):
            rows = mine & (decisions == selected)
            sums[g] += ((problem.base + added) * problem.count[:, None, None])[
                rows
            ].sum(axis=0)
    if (sums[..., 1] <= 0).any():
        return np.nan
    utility = sums[..., 0] / sums[..., 1]
    limit = (
        None
        if problem.capacity is None
        else np.floor(problem.capacity * problem.count.sum() + 1e-9)
    )
    if limit is not None and chosen.sum() != limit:
        return np.nan
    rates = [chosen[g] / problem.count[problem.group == g].sum() for g in groups]
    if (
        problem.selection_gap is not None
        and max(rates) - min(rates) > problem.selection_gap + 1e-12
    ):
        return np.nan
    kind, _, target = objective.partition(":")
    if min(exceeding(problem, sums, utility)) < problem.iota - 1e-12:
        return np.nan
    if kind == "most_accurate":
        return float(utility[int(target), problem.accuracy[0]])
    return max(gap_of(problem, utility[:, k], k) for k in problem.fairness)


def exceeding(
    problem: LinearProblem, sums: FloatArray, utility: FloatArray
) -> list[float]:
    """By how much each component exceeds its claim."""
    claim, names = problem.claim, problem.levels
    out = []
    for k in problem.accuracy:
        if claim.overall is None:
            compared = [
                (
                    problem.status_quo[g, k],
                    utility[g, k],
                    claim.delta_of(names[g]),
                )
                for g in range(len(names))
            ]
        elif claim.overall == "population":
            before = ratio(problem.status_quo_rows[:, k] * problem.count[:, None])
            u, w = sums[:, k].sum(axis=0)
            compared = [(before, u / w, claim.delta_of("everyone"))]
        else:
            share = [claim.overall[name] for name in names]
            before, after = (
                np.average(part[:, k], weights=share)
                for part in (problem.status_quo, utility)
            )
            compared = [(before, after, claim.delta_of("everyone"))]
        for before, after, delta in compared:
            asked = (1 + delta) * before if claim.form == "ratio" else before + delta
            out.append(float(after - asked))
    for k in problem.fairness:
        gap = gap_of(problem, problem.status_quo[:, k], k, signed=True)
        delta = claim.delta_fairness
        asked = (1 - delta) * gap if claim.form == "ratio" else gap - delta
        out += [
            float(asked - difference)
            for difference in differences(problem, utility[:, k], k)
        ]
    return out


def differences(problem: LinearProblem, values: FloatArray, k: int) -> list[float]:
    """What must be small: between any two groups, or by how much each is better off
    than the protected group.
    """
    names = problem.levels
    protected = [g for g, name in enumerate(names) if name in problem.claim.protected]
    if not protected:
        return [
            float(values[g] - values[h])
            for g in range(len(names))
            for h in range(len(names))
            if g != h
        ]
    sign = -1 if problem.measures[k].worse_off == "higher" else 1
    return [float(sign * (values[g] - values[protected[0]])) for g in range(len(names))]


def gap_of(
    problem: LinearProblem, values: FloatArray, k: int, signed: bool = False
) -> float:
    """The largest difference; of a status quo, that of the protected group to others
    even where it is below zero.
    """
    found = differences(problem, values, k)
    names = problem.levels
    others = [
        d
        for d, name in zip(found, names, strict=False)
        if name not in problem.claim.protected
    ]
    return max(others if signed and problem.claim.protected else found)


def brute_force(problem: LinearProblem, objective: str) -> float:
    """The best value over every linear classifier in the plane; NaN where none is
    feasible.
    """
    values = np.array(
        [naive(problem, decisions, objective) for decisions in all_decisions(problem)]
    )
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return np.nan
    return float(values.min() if objective == "fairest" else values.max())


def random_claim(rng: np.random.Generator, form: str, kind: str) -> Claim:
    """Deltas of both signs: improvements to be shown, and margins of
    non-inferiority.
    """
    accuracy, fairness = DELTAS[form]
    each: float | dict[str, float] = {
        group: float(rng.uniform(*accuracy)) for group in "01"
    }
    overall: str | dict[str, float] | None = None
    if kind in ("population", "weighted"):
        each = float(rng.uniform(*accuracy))
        overall = (
            "population"
            if kind == "population"
            else {group: float(rng.uniform(0.2, 2)) for group in "01"}
        )
    return make_claim(
        delta_accuracy=each,
        delta_fairness=float(rng.uniform(*fairness)),
        form=form,
        gap="signed",
        protected=str(rng.integers(2)) if kind == "protected" else None,
        overall=overall,
    )
