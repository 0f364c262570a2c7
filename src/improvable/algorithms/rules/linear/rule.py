"""Search for an improving linear classifier itself, rather than predict and threshold: Appendix F of the paper."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import CAPACITY, MONOTONE, SELECTION_GAP
from improvable.algorithms.decisions import Algorithm, decide
from improvable.algorithms.models import LinearClassifier
from improvable.algorithms.rules.base import Family, Selection, Training
from improvable.algorithms.rules.linear.milp import TIME_LIMIT, entries_of, solve
from improvable.algorithms.rules.linear.problem import LinearProblem, Scale, merge_rows, standard_errors
from improvable.algorithms.rules.linear.search import search
from improvable.errors import OptionError, RuleError, nearest
from improvable.inference.bootstrap import child
from improvable.inference.cells import U, contributions
from improvable.inference.statistics import utilities_of
from improvable.question.claim import Claim, turned
from improvable.question.design import Design

OBJECTIVES = ("balanced", "fairest", "most_accurate")
SEARCH, PROGRAM = "linear_search", "linear_program"
EXAMPLES = {SEARCH: "linear_search:fairest:iota=0.01", PROGRAM: "linear_program:fairest:iota=0.01:nodes=500"}
"""Every setting of a rule is in its example."""
RESTARTS = ((200_000, 5), (1_000_000, 1), (float("inf"), 0))
"""How often a search starts anew, by the number of entries in its features: each time costs about as much again."""
IOTA = "0.5se"
WORK = 50_000_000
"""Nodes times entries of a program to the power of 1.5, unless the number of nodes is given: about a minute."""


@dataclass(frozen=True)
class LinearRule:
    """A linear classifier that meets the claim on the training rows, as far as can be found.

    "linear_search" is exact line searches at full data size; "linear_program", which starts from these, is the
    mixed-integer program of Appendix F and can prove an optimum on small data.

    Objectives: "balanced", the largest smallest margin over the claim in standard errors; "fairest", the smallest gap
    (find_fair); "most_accurate:GROUP", the most accurate for a group (find_pareto). The last two among classifiers that
    meet every part of the claim on the training rows, with iota to spare: Appendix F's constant, in units of the
    utilities, or ``"1se"``, a multiple of each component's standard error.
    """

    method: str
    objective: str = "balanced"
    iota: float | str | None = None  # "balanced" has no use for it
    nodes: int | None = None  # of the program's tree that may be visited; by default about a minute's work
    time_limit: float = TIME_LIMIT  # seconds; then the program fails: the machine's speed must not choose the candidate

    honors = frozenset({CAPACITY, MONOTONE, SELECTION_GAP})

    def __post_init__(self) -> None:
        if self.iota is not None:
            if self.objective == "balanced":
                raise OptionError("'balanced' has no iota.", "It maximizes what iota only bounds; leave it out.")
            parse_iota(self.iota)
        if self.nodes is not None and (self.method != PROGRAM or self.nodes < 1):
            raise OptionError(f"{self.method} cannot have nodes={self.nodes}.", "linear_program has at least 1.")

    @property
    def name(self) -> str:
        settings = {"iota": self.iota, "nodes": self.nodes}
        given = [f"{key}={value}" for key, value in settings.items() if value is not None]
        return ":".join([self.method, self.objective, *given])

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        problem, start, classifier = _state(training, status_quo, self)
        problem = merge_rows(problem)
        restarts = next(times for size, times in RESTARTS if problem.features.size <= size)
        if self.objective != "balanced":
            amount, in_errors = parse_iota(IOTA if self.iota is None else self.iota)
            iota: float | Scale = amount
            if in_errors and amount > 0:  # standard errors are those of what is found without iota
                start = search(problem, start, child(training.seed, 1), 0).beta
                errors = standard_errors(problem, problem.decide(start))
                iota = Scale(amount * errors.accuracy, amount * errors.gap)
            problem = replace(problem, iota=iota)
        found = search(problem, start, child(training.seed, 0), restarts)
        if self.method == SEARCH:
            status = "feasible" if found.feasible else "nothing feasible found"
            notes: dict[str, Any] = {"status": status, "objective": _plain(found.value), "violation": found.violation}
            return Selection(classifier(found.beta) if found.feasible else None, notes)
        size = entries_of(problem)
        nodes = max(1, WORK // (size * isqrt(size))) if self.nodes is None else self.nodes

        def tell(node: int, value: float, bound: float) -> None:
            training.report(f"program, node {node:,} of {nodes:,}: value {value:.4g}, bound {bound:.4g}")

        solution = solve(problem, nodes, found.beta, tell, self.time_limit)
        reached = {"objective": solution.value, "bound": solution.bound, "gap": solution.gap}
        notes = {"status": solution.status, **{name: _plain(value) for name, value in reached.items()}, "nodes": nodes}
        return Selection(None if solution.beta is None else classifier(solution.beta), notes)


def _objective(objective: str, levels: Sequence[str]) -> str:
    """With the group's code instead of its name."""
    kind, _, group = objective.partition(":")
    if kind == "most_accurate" and group not in levels:
        raise OptionError(f"'{objective}' names no group.", nearest(group, levels))
    return f"{kind}:{levels.index(group)}" if kind == "most_accurate" else kind


def parse_iota(iota: float | str) -> tuple[float, bool]:
    """An amount, and whether it is a multiple of standard errors, as 1.5 is in 1.5se."""
    text = str(iota)
    try:
        amount = float(text.removesuffix("se"))
    except ValueError:
        amount = np.nan
    if not 0 <= amount < np.inf:
        raise OptionError(f"iota is '{iota}'.", "Write a number that is not negative (0.01), or standard errors (1se).")
    return amount, text.endswith("se")


def linear_rule(method: str, setting: str) -> LinearRule:
    """Parse ``OBJECTIVE:iota=0.01:nodes=500``; the objective may be left out, and so may the others."""
    parts, settings = setting.split(":") if setting else [], dict[str, str]()
    while parts and (found := re.fullmatch(r"([a-z_]+)=(.*)", parts[-1])) and parts[-2:-1] != ["most_accurate"]:
        key, value = found.groups()
        if f":{key}=" not in EXAMPLES[method] or key in settings:
            raise OptionError(f"'{parts[-1]}' is not a setting of {method}.", f"Write {EXAMPLES[method]}.")
        settings[key] = value
        parts.pop()
    objective = ":".join(parts) or "balanced"
    kind, _, group = objective.partition(":")
    if kind not in OBJECTIVES or (kind == "most_accurate") != bool(group):
        how = "Write balanced, fairest or most_accurate:GROUP."
        raise OptionError(f"'{objective}' is not an objective of {method}.", how)
    nodes = settings.get("nodes")
    if nodes is not None and not nodes.isdecimal():
        raise OptionError(f"nodes is '{nodes}'.", "It is a whole number, such as nodes=500.")
    return LinearRule(method, objective, settings.get("iota"), None if nodes is None else int(nodes))


def _plain(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _negated(design: Design) -> Claim:
    """The claim about the negative of every accuracy utility that is better when lower."""
    # U1 < (1 - delta) U0 is -U1 > (1 - delta) (-U0), so that a share changes its sign; amounts stay as they are.
    claim, asked = design.question.claim, [design.utilities[k] for k in design.accuracy]
    lower = {utility.label for utility in asked if not utility.higher_is_better}
    if claim.form == "difference" or not lower:
        return claim
    labels = [utility.label for utility in asked]
    negated = turned(claim.delta_accuracy, lambda utility, delta: -delta if utility in lower else delta, labels)
    return replace(claim, delta_accuracy=negated)


def contributions_of(training: Training, status_quo: Algorithm, name: str) -> FloatArray:
    """What each training row contributes if not selected, if selected, and as the status quo decides: (n, M, 3, 2).

    Sums of these are linear in decisions of 0 and 1, as Appendix F needs; other questions are refused in the name of
    the rule. Accuracy is to rise: where lower is better, u is its negative. A gap does not change with the sign.
    """
    design = training.design
    if training.numeric_decisions:
        raise RuleError(f"rule '{name}' decides 0 or 1.", "Use a predictive rule for prices.")
    for utility in design.measured:
        if utility.formula or utility.between != "difference":
            kind = "which is not a ratio of two sums compared by its difference."
            how = "Use a predictive rule, such as forest, or another utility."
            raise RuleError(f"rule '{name}' cannot aim at '{utility.label}', {kind}", how)
    now = decide(status_quo, training.rows, "status quo")
    decisions = [np.zeros(len(now)), np.ones(len(now)), now]
    rows = contributions(design.utilities, training.rows, training.sample.outcomes, decisions)
    lower = [m for m in design.accuracy if not design.utilities[m].higher_is_better]
    rows[:, lower, :, U] *= -1
    return rows


def _state(
    training: Training, status_quo: Algorithm, rule: LinearRule
) -> tuple[LinearProblem, FloatArray, Callable[[FloatArray], LinearClassifier]]:
    """The problem on standardized features, where to start, and the way back to the features as they are."""
    sample, design = training.sample, training.design
    if sample.spread is not None:
        hint = "Use a rule that predicts: lasso, linear, logistic, boosting."
        raise RuleError(f"rule '{rule.name}' reads each person's group, and groups are probabilities.", hint)
    if len(sample.grouping.attributes) != 1:
        raise RuleError(f"rule '{rule.name}' takes one group column.", "Cross several into one with `cross=True`.")
    rows = contributions_of(training, status_quo, rule.name)
    matrix, columns, encoder = training.encoded()
    mean, spread = matrix.mean(axis=0), matrix.std(axis=0)
    spread[spread == 0] = 1.0
    features = np.column_stack([np.ones(len(matrix)), (matrix - mean) / spread])
    count = np.ones(len(rows)) if sample.relative_weights is None else sample.relative_weights
    levels = sample.grouping.attributes[0].levels
    weighted = rows[:, :, 2] * count[:, None, None]
    sums = np.stack([weighted[sample.grouping.codes == g].sum(axis=0) for g in range(len(levels))])
    problem = LinearProblem(
        features=features, count=count, group=sample.grouping.codes, base=rows[:, :, 0],
        gain=rows[:, :, 1] - rows[:, :, 0], accuracy=design.accuracy, fairness=design.fairness,
        status_quo=utilities_of(sums), status_quo_rows=rows[:, :, 2], capacity=training.constraints.capacity,
        signs=np.array([0, *(training.constraints.monotone.get(name, 0) for name in columns)], dtype=np.int64),
        selection_gap=training.constraints.selection_gap, objective=_objective(rule.objective, levels),
        claim=_negated(design), levels=tuple(levels), labels=tuple(utility.label for utility in design.utilities),
        lower_is_better=tuple(k for k, utility in enumerate(design.utilities) if not utility.higher_is_better),
    )  # fmt: skip
    root = np.sqrt(count)
    start = np.linalg.lstsq(root[:, None] * features, root * training.target, rcond=None)[0]
    start[0] -= 0.5 if training.binary_target else float(np.average(training.target, weights=count))

    def classifier(beta: FloatArray) -> LinearClassifier:
        slopes = beta[1:] / spread
        return LinearClassifier(training.features, slopes, float(beta[0] - mean @ slopes), encoder)

    return problem, start, classifier


FAMILIES = (
    Family(SEARCH, "search for a linear rule", partial(linear_rule, SEARCH), "fairest"),
    Family(PROGRAM, "mixed-integer program of Appendix F", partial(linear_rule, PROGRAM), "most_accurate:GROUP"),
)
