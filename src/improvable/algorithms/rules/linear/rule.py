"""Find an improving linear classifier itself, rather than predict and threshold:
Appendix F of the paper.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import CAPACITY, MONOTONE, SELECTION_GAP
from improvable.algorithms.decisions import Algorithm, decide
from improvable.algorithms.models import LinearClassifier
from improvable.algorithms.rules.base import Family, Selection, Training
from improvable.algorithms.rules.linear.milp import entries_of, solve
from improvable.algorithms.rules.linear.problem import (
    Evaluation,
    LinearProblem,
    W,
    evaluate,
    merge_rows,
    power_of_two,
)
from improvable.errors import OptionError, RuleError, nearest
from improvable.inference.cells import U, contributions

NAME = "linear_program"
EXAMPLE = f"{NAME}:fairest:iota=0.01:nodes=500"
# regressions, and cutoffs of each, among which a program's start is looked for
STARTS, CUTOFFS = 100, 20
WORK = 50_000_000
"""Nodes times entries of a program to the power of 1.5, unless the number of nodes is
given: about a minute.
"""


@dataclass(frozen=True)
class LinearRule:
    """The best linear classifier among those that meet the claim on the training rows:
    Appendix F's program.

    Objectives: "fairest", the smallest gap (find_fair); "most_accurate:GROUP", the most
    accurate for a group (find_pareto). Either among classifiers that meet every part of
    the claim on the training rows, with iota to spare: Appendix F's constant, in units
    of the utilities; 0 where it is not given.
    """

    objective: str = "fairest"
    iota: float | None = None
    # of the program's tree that may be visited; by default about a minute's work
    nodes: int | None = None

    honors = frozenset({CAPACITY, MONOTONE, SELECTION_GAP})

    @property
    def name(self) -> str:
        settings = {"iota": self.iota, "nodes": self.nodes}
        given = [
            f"{key}={value:.12g}"
            for key, value in settings.items()
            if value is not None
        ]
        return ":".join([NAME, self.objective, *given])

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        problem, classifier = _state(training, status_quo, self)
        problem = merge_rows(problem)
        size = entries_of(problem)
        nodes = (
            max(1, WORK // (size * isqrt(size))) if self.nodes is None else self.nodes
        )

        def tell(node: int, value: float, bound: float) -> None:
            training.report(
                f"program, node {node:,} of {nodes:,}: value {value:.4g}, bound "
                f"{bound:.4g}"
            )

        solution = solve(problem, nodes, find_start(problem, training.seed), tell)
        reached = {
            "objective": solution.value,
            "bound": solution.bound,
            "gap": solution.gap,
        }
        plain = {
            name: None if value is None else float(value)
            for name, value in reached.items()
        }
        notes = {"status": solution.status, **plain, "nodes": nodes}
        return Selection(
            None if solution.beta is None else classifier(solution.beta), notes
        )


def find_start(
    problem: LinearProblem, seed: np.random.SeedSequence
) -> FloatArray | None:
    """A feasible classifier for the program to start from, the best of a few; None
    where none is feasible.

    They are linear regressions of what selecting a row adds to its group's utilities,
    seen from those of the status quo and mixed at random, each with several cutoffs:
    those that fill the capacity where there is one.
    """
    mixtures = np.random.default_rng(seed).standard_normal(
        (STARTS, *problem.status_quo.shape)
    )
    added = (
        problem.gain[..., U] - problem.status_quo[problem.group] * problem.gain[..., W]
    ) / problem.units
    root = np.sqrt(problem.count)[:, None]
    targets = np.einsum("mk,smk->ms", added, mixtures[:, problem.group])
    low, high = problem.bounds
    best: Evaluation | None = None
    for slopes in np.linalg.lstsq(root * problem.features, root * targets, rcond=None)[
        0
    ].T:
        slopes = np.where(
            ((slopes < 0) & (low == 0)) | ((slopes > 0) & (high == 0)), 0.0, slopes
        )
        scores = np.einsum("md,d->m", problem.features[:, 1:], slopes[1:])
        order = np.argsort(-scores, kind="stable")
        ordered, reached = scores[order], np.cumsum(problem.count[order])
        least, most = problem.capacity_range or (0.0, reached[-1])
        fits = np.flatnonzero(
            (ordered[:-1] > ordered[1:])
            & (least <= reached[:-1])
            & (reached[:-1] <= most)
        )
        for last in fits[:: 1 + len(fits) // CUTOFFS]:
            beta = np.append(-(ordered[last] + ordered[last + 1]) / 2, slopes[1:])
            found = evaluate(problem, beta * power_of_two(beta))
            if found.feasible and (
                best is None or problem.sign * (found.value - best.value) < 0
            ):
                best = found
    return None if best is None else best.beta


def _objective(objective: str, levels: Sequence[str]) -> str:
    """With the group's code instead of its name."""
    kind, _, group = objective.partition(":")
    if kind == "most_accurate" and group not in levels:
        raise OptionError(f"'{objective}' names no group.", nearest(group, levels))
    return f"{kind}:{levels.index(group)}" if kind == "most_accurate" else kind


def linear_rule(setting: str) -> LinearRule:
    """Parse ``OBJECTIVE:iota=0.01:nodes=500``; the objective may be left out, and so
    may the others.
    """
    parts, settings = setting.split(":") if setting else [], dict[str, str]()
    while (
        parts
        and (found := re.fullmatch(r"([a-z_]+)=(.*)", parts[-1]))
        and parts[-2:-1] != ["most_accurate"]
    ):
        key, value = found.groups()
        if key not in ("iota", "nodes") or key in settings:
            raise OptionError(
                f"'{parts[-1]}' is not a setting of {NAME}.", f"Write {EXAMPLE}."
            )
        settings[key] = value
        parts.pop()
    objective = ":".join(parts) or "fairest"
    kind, _, group = objective.partition(":")
    if kind not in ("fairest", "most_accurate") or (kind == "most_accurate") != bool(
        group
    ):
        raise OptionError(
            f"'{objective}' is not an objective of {NAME}.",
            "Write fairest or most_accurate:GROUP.",
        )
    iota, nodes = settings.get("iota"), settings.get("nodes")
    if iota is not None and not re.fullmatch(r"\d*\.?\d+(e-?\d+)?", iota):
        raise OptionError(
            f"iota is '{iota}'.",
            "Write a number that is not negative, such as iota=0.01.",
        )
    if nodes is not None and (not nodes.isdecimal() or int(nodes) < 1):
        raise OptionError(
            f"nodes is '{nodes}'.",
            "It is a whole number, at least 1, such as nodes=500.",
        )
    return LinearRule(
        objective,
        None if iota is None else float(iota),
        None if nodes is None else int(nodes),
    )


def _state(
    training: Training, status_quo: Algorithm, rule: LinearRule
) -> tuple[LinearProblem, Callable[[FloatArray], LinearClassifier]]:
    """The problem on standardized features, and the way back to the features as they
    are.

    Sums must be linear in decisions of 0 and 1, as Appendix F needs; other questions
    are refused.
    """
    sample, design = training.sample, training.design
    if training.numeric_decisions:
        raise RuleError(
            f"rule '{rule.name}' decides 0 or 1.", "Use a predictive rule for prices."
        )
    for utility in design.measured:
        if utility.formula or utility.between != "difference":
            kind = "which is not a ratio of two sums compared by its difference."
            how = "Use a predictive rule, such as forest, or another utility."
            raise RuleError(
                f"rule '{rule.name}' cannot aim at '{utility.label}', {kind}", how
            )
    if sample.spread is not None:
        hint = "Use a rule that predicts: lasso, linear, logistic, boosting."
        raise RuleError(
            (
                f"rule '{rule.name}' reads each person's group, and groups are "
                "probabilities."
            ),
            hint,
        )
    if len(sample.grouping.attributes) != 1:
        raise RuleError(
            f"rule '{rule.name}' takes one group column.",
            "Cross several into one with `cross=True`.",
        )
    now = decide(status_quo, training.rows, "status quo")
    every = [np.zeros(len(now)), np.ones(len(now)), now]
    rows = contributions(design.utilities, training.rows, sample.outcomes, every)
    matrix, columns, encoder = training.encoded()
    mean, spread = matrix.mean(axis=0), matrix.std(axis=0)
    spread[spread == 0] = 1.0
    features = np.column_stack([np.ones(len(matrix)), (matrix - mean) / spread])
    count = (
        np.ones(len(rows))
        if sample.relative_weights is None
        else sample.relative_weights
    )
    levels = sample.grouping.attributes[0].levels
    problem = LinearProblem(
        features=features,
        count=count,
        group=sample.grouping.codes,
        base=rows[:, :, 0],
        gain=rows[:, :, 1] - rows[:, :, 0],
        status_quo_rows=rows[:, :, 2],
        measures=design.measures,
        accuracy=design.accuracy,
        fairness=design.fairness,
        levels=tuple(levels),
        capacity=training.constraints.capacity,
        selection_gap=training.constraints.selection_gap,
        signs=np.array(
            [0, *(training.constraints.monotone.get(name, 0) for name in columns)],
            dtype=np.int64,
        ),
        objective=_objective(rule.objective, levels),
        claim=design.question.claim,
        iota=rule.iota or 0.0,
    )

    def classifier(beta: FloatArray) -> LinearClassifier:
        slopes = beta[1:] / spread
        return LinearClassifier(
            training.features, slopes, float(beta[0] - mean @ slopes), encoder
        )

    return problem, classifier


FAMILIES = (
    Family(
        NAME, "mixed-integer program of Appendix F", linear_rule, "most_accurate:GROUP"
    ),
)
