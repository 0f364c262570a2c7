"""What a linear classifier is worth: its utilities, how far it is from the claim, and its objective."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import BoolArray, FloatArray
from improvable.algorithms.rules.linear.problem import (
    TOLERANCE,
    LinearProblem,
    Objective,
    Scale,
    U,
    W,
    group_sums,
    parse_objective,
)

UNDEFINED = 1_000.0  # a utility without a value is worse than any shortfall


@dataclass(frozen=True)
class Evaluation:
    """What a linear classifier does on the training rows."""

    decisions: BoolArray
    utilities: FloatArray  # (G, M), NaN where undefined
    selection_rates: FloatArray  # (G,)
    selected: float  # total count of the selected rows
    values: Mapping[str, float]  # by objective
    violations: Mapping[str, Mapping[str, float]]  # by objective and constraint, relative to the utility's size

    def feasible(self, objective: str) -> bool:
        """Whether every constraint of this objective holds."""
        return all(amount == 0 for amount in self.violations[objective].values())


def evaluate(problem: LinearProblem, beta: FloatArray) -> Evaluation:
    """Decisions, utilities, constraints and objectives of a linear classifier, from the rows."""
    decisions = problem.decide(beta)
    gained = group_sums(problem, problem.gain * (problem.count * decisions)[:, None, None])
    selected = group_sums(problem, problem.count * decisions)
    sums = (problem.base_sums + problem.blocks(gained))[..., None]
    scale = problem.scale or standard_errors(problem, decisions)
    low, high = problem.bounds
    outside = np.maximum(low - beta, beta - high).clip(0).max(keepdims=True)
    values, violations = {}, {}
    for name in problem.objectives:
        missed, value = judge(problem, parse_objective(name, problem.groups), sums, selected[:, None], scale)
        violations[name] = {key: float(amount[0]) for key, amount in (missed | {"box": outside}).items()}
        values[name] = np.nan if violations[name]["undefined"] else float(value[0])
    return Evaluation(
        decisions=decisions,
        utilities=utilities_of(problem, sums)[: problem.groups, :, 0],
        selection_rates=selected / problem.group_totals,
        selected=float(selected.sum()),
        values=values,
        violations=violations,
    )


def scaled_at(problem: LinearProblem, beta: FloatArray) -> LinearProblem:
    """The same problem with its standard errors fixed at those of this classifier."""
    return replace(problem, scale=standard_errors(problem, problem.decide(beta)))


def utilities_of(problem: LinearProblem, sums: FloatArray) -> FloatArray:
    """U = sum of u / sum of w, equation (1): (blocks, M, 2, B) -> (blocks, M, B), NaN where w sums to zero."""
    u, w = sums[:, :, U], sums[:, :, W]
    defined = w > problem.least_weight[..., None]
    return np.asarray(np.divide(u, w, out=np.full(u.shape, np.nan), where=defined))


def judge(
    problem: LinearProblem, objective: Objective, sums: FloatArray, selected: FloatArray, scale: Scale | None
) -> tuple[dict[str, FloatArray], FloatArray]:
    """How far each of B classifiers is from feasible, by constraint, and its objective; arrays of shape (B,).

    From sums of shape (blocks, M, 2, B) and the count of the selected in each group, shape (G, B). The objective is
    meaningless where "undefined" is violated.
    """
    aim, slack = problem.aim, problem.slack
    utilities = utilities_of(problem, sums)
    undefined = np.isnan(utilities)
    missed = {"undefined": UNDEFINED * (undefined & needed(problem, objective)[..., None]).sum(axis=(0, 1))}
    if undefined.any():
        poor = problem.status_quo.min(axis=0) - problem.units
        utilities = np.where(undefined, poor[:, None], utilities)
    accuracy, fairness = list(problem.accuracy), list(problem.fairness)
    spare = aim.accuracies(utilities[:, accuracy]) - aim.least.T[..., None]
    differences = aim.differences(utilities[: problem.groups, fairness])
    if objective.kind == "balanced":
        assert scale is not None
        smallest = (spare / scale.accuracy.T[..., None]).min(axis=(0, 1))
        reduced = aim.most[:, None] - differences
        value = np.minimum(smallest, (reduced / scale.gap.T[..., None]).min(axis=(0, 1)))
    else:
        units = problem.units[:, None]
        short = _positive((slack.accuracy.T[..., None] - spare) / units[accuracy])
        missed["accuracy"] = short.sum(axis=(0, 1))
        excess = (differences - aim.most[:, None] + slack.gap.T[..., None]).max(axis=0)
        missed["fairness"] = _positive(excess / units[fairness]).sum(axis=0)
        fairest = objective.kind == "fairest"
        value = differences.max(axis=(0, 1)) if fairest else utilities[objective.group, accuracy[0]]
    if problem.selection_gap is not None:
        rates = selected / problem.group_totals[:, None]
        missed["selection_gap"] = _positive(np.ptp(rates, axis=0) - problem.selection_gap)
    if problem.capacity_range is not None:
        least, most = problem.capacity_range
        total, chosen = problem.group_totals.sum(), selected.sum(axis=0)
        missed["capacity"] = _positive((chosen - most) / total) + _positive((least - chosen) / total)
    return missed, value


def needed(problem: LinearProblem, objective: Objective) -> BoolArray:
    """Which utilities the claim or the objective is about, shape (blocks, M)."""
    out = np.zeros(problem.least_weight.shape, dtype=np.bool_)
    out[: problem.groups, list(problem.fairness)] = True
    for k in problem.accuracy:
        out[:, k] |= problem.aim.weights.any(axis=0)
    if objective.kind == "most_accurate":
        out[objective.group, problem.accuracy[0]] = True
    return out


def _positive(amount: FloatArray) -> FloatArray:
    return np.where(amount > TOLERANCE, amount, 0.0)


def standard_errors(problem: LinearProblem, decisions: BoolArray) -> Scale:
    """Delta-method standard errors of what exceeds the claim, from the rows' influence on U1 and U0.

    A candidate that decides as the status quo has differences without variance. So that nothing is divided by zero, a
    standard error is at least a tenth of what it would be if both algorithms saw different rows, and at least the size
    of the utility divided by the rows of the (smallest) group.
    """
    aim, accuracy = problem.aim, list(problem.accuracy)
    new, old = problem.base + problem.gain * decisions[:, None, None], problem.status_quo_rows
    after, before = (_influence(problem, rows, pooled=False) for rows in (new, old))
    whole = [_influence(problem, rows, pooled=True) for rows in (new, old)] if aim.pooled else [after, before]

    def total(squares: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("m...,m->...", squares, problem.count))  # BLAS may round by the number of threads

    totals = np.append(problem.group_totals, problem.group_totals.sum())[: aim.weights.shape[1]]
    errors = np.empty((len(accuracy), len(aim.weights)))
    for c, (weights, slope) in enumerate(zip(aim.weights, aim.slope.T, strict=True)):
        share = np.ones(len(new)) if aim.pooled else weights[problem.group]
        mine, theirs = (share[:, None] * part[:, accuracy] for part in whole)
        one_row = problem.units[accuracy] ** 2 * ((weights / totals) ** 2).sum()
        least = np.maximum(0.01 * total(mine**2 + (slope * theirs) ** 2), one_row)
        errors[:, c] = np.sqrt(np.maximum(total((mine - slope * theirs) ** 2), least))
    sides = np.eye(problem.groups)
    gap = np.empty((len(problem.fairness), len(aim.upper)))
    for row, k in enumerate(problem.fairness):
        high, low = aim.reference[row]
        then = aim.gap_slope[row] * (sides[high] - sides[low])[problem.group] * before[:, k]
        one_row = float((problem.units[k] / problem.group_totals.min()) ** 2)
        for column, (g, h) in enumerate(zip(aim.upper, aim.lower, strict=True)):
            now = (sides[g] - sides[h])[problem.group] * after[:, k]
            least = max(0.01 * float(total(then**2 + now**2)), one_row)
            gap[row, column] = np.sqrt(max(float(total((then - now) ** 2)), least))
    return Scale(errors, gap)


def _influence(problem: LinearProblem, rows: FloatArray, pooled: bool) -> FloatArray:
    """(u - U w) / sum of w for each row and utility, shape (m, M, 2) -> (m, M); 0 where U is undefined.

    U is that of the row's group; where `pooled`, of everyone.
    """
    sums = group_sums(problem, rows * problem.count[:, None, None])
    sums = np.broadcast_to(sums.sum(axis=0), sums.shape) if pooled else sums
    defined = sums[..., W] > problem.least_weight[: problem.groups]
    weight = np.where(defined, sums[..., W], np.inf)[problem.group]
    utilities = np.divide(sums[..., U], sums[..., W], out=np.zeros(defined.shape), where=defined)[problem.group]
    return np.asarray((rows[..., U] - utilities * rows[..., W]) / weight)
