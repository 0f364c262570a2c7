"""Search for an improving linear classifier itself, rather than predict and threshold: Appendix F of the paper."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from improvable.algorithms.constraints import CAPACITY, MONOTONE, SELECTION_GAP
from improvable.algorithms.decisions import Algorithm, decide
from improvable.algorithms.encoding import fit_encoder
from improvable.algorithms.models import LinearClassifier
from improvable.algorithms.rules.base import Selection, Training
from improvable.algorithms.rules.linear.problem import LinearProblem, merge_rows
from improvable.algorithms.rules.linear.program import solve
from improvable.algorithms.rules.linear.search import Found, search
from improvable.data.arrays import FloatArray
from improvable.errors import OptionError, RuleError, nearest
from improvable.inference.cells import contributions
from improvable.inference.resampling import child
from improvable.inference.statistics import utilities_of

OBJECTIVES = ("balanced", "fairest", "most_accurate")
RESTARTS = ((200_000, 5), (1_000_000, 1), (float("inf"), 0))
"""How often a search starts anew, by the number of entries in its features: each time costs about as much again."""
TIME_LIMIT = 60.0


@dataclass(frozen=True)
class LinearRule:
    """A linear classifier of the training rows that improves on the status quo as far as can be found.

    Parameters
    ----------
    method : {"linear_search", "linear_program"}
        Exact line searches at full data size; or the mixed-integer program of Appendix F, which can prove an optimum on
        small data and starts from the search.
    objective : str
        "balanced": the largest smallest improvement in standard errors; "fairest": the smallest gap with no group less
        accurate (find_fair); "most_accurate:GROUP": the most accurate for a group with no other less accurate and no
        wider gap (find_pareto).
    iota : float
        By how much accuracy must exceed the status quo's on the training rows.
    time_limit : float
        Seconds for the program.
    """

    method: str
    objective: str = "balanced"
    iota: float = 0.0
    time_limit: float = TIME_LIMIT

    honours = frozenset({CAPACITY, MONOTONE, SELECTION_GAP})

    @property
    def name(self) -> str:
        return f"{self.method}:{self.objective}"

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        stated = _state(training, status_quo, self)
        problem, objective = merge_rows(stated.problem), self._objective(training)
        restarts = next(times for size, times in RESTARTS if problem.features.size <= size)
        found = search(problem, objective, stated.start, child(training.seed, 0), restarts)
        if self.method == "linear_search":
            notes = {"objective": _plain(found.value), "violation": found.violation}
            return Selection(stated.classifier(found.beta), notes)
        return self._solve(stated, problem, objective, found, training)

    def _solve(
        self, stated: "_Stated", problem: LinearProblem, objective: str, found: Found, training: Training
    ) -> Selection:
        def tell(seconds: float, value: float, bound: float) -> None:
            limit = f"{seconds:.0f} of {self.time_limit:.0f} s"
            training.report(f"program, {limit}: value {value:.4g}, bound {bound:.4g}")

        solution = solve(problem, objective, self.time_limit, start=found.beta, progress=tell)
        notes: dict[str, Any] = {
            "status": solution.status,
            "objective": _plain(solution.value),
            "bound": _plain(solution.bound),
            "gap": _plain(solution.gap),
        }
        if solution.beta is None:
            return Selection(None, notes)
        return Selection(stated.classifier(solution.beta), notes)

    def _objective(self, training: Training) -> str:
        kind, _, group = self.objective.partition(":")
        if kind != "most_accurate":
            return kind
        levels = training.sample.grouping.attributes[0].levels
        if group not in levels:
            raise OptionError(f"'{self.objective}' names no group.", nearest(group, levels))
        return f"most_accurate:{levels.index(group)}"


def linear_rule(method: str, objective: str) -> LinearRule:
    """Parse the objective of ``linear_search:OBJECTIVE`` or ``linear_program:OBJECTIVE``."""
    objective = objective or "balanced"
    kind, _, group = objective.partition(":")
    if kind not in OBJECTIVES or (kind == "most_accurate") != bool(group):
        raise OptionError(
            f"'{objective}' is not an objective of {method}.", "Write balanced, fairest or most_accurate:GROUP."
        )
    return LinearRule(method, objective)


def _plain(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


@dataclass(frozen=True)
class _Stated:
    """A linear problem on standardised features, and the way back to the features as they are."""

    problem: LinearProblem
    start: FloatArray
    mean: FloatArray
    spread: FloatArray
    features: tuple[str, ...]
    encoder: Any

    def classifier(self, beta: FloatArray) -> LinearClassifier:
        coefficients = beta[1:] / self.spread
        return LinearClassifier(self.features, coefficients, float(beta[0] - self.mean @ coefficients), self.encoder)


def _state(training: Training, status_quo: Algorithm, rule: LinearRule) -> _Stated:
    sample, design = training.sample, training.design
    if len(sample.grouping.attributes) != 1:
        raise RuleError(
            f"rule '{rule.name}' takes one group column.", "Cross several into one with cross=True (--cross)."
        )
    if training.numeric_decisions:
        raise RuleError(f"rule '{rule.name}' decides 0 or 1.", "Use a predictive rule for prices.")
    encoder = None
    if training.plain:
        matrix, columns = training.rows.matrix(training.features), training.features
    else:
        encoder = fit_encoder(training.rows, training.features, int(training.seed.generate_state(1)[0]))
        matrix, columns = encoder.encode(training.rows), encoder.outputs
    mean, spread = matrix.mean(axis=0), matrix.std(axis=0)
    spread[spread == 0] = 1.0
    features = np.column_stack([np.ones(len(matrix)), (matrix - mean) / spread])
    now = decide(status_quo, training.rows, "status quo")
    nobody, everybody = np.zeros(len(now)), np.ones(len(now))
    rows = contributions(design.utilities, training.rows, sample.outcomes, [nobody, everybody, now])
    count = np.ones(len(now)) if sample.weights is None else sample.weights
    groups = len(sample.grouping.attributes[0].levels)
    weighted = rows[:, :, 2] * count[:, None, None]
    sums = np.stack([weighted[sample.grouping.codes == g].sum(axis=0) for g in range(groups)])
    signs = np.array([0, *(training.constraints.monotone.get(name, 0) for name in columns)], dtype=np.int64)
    problem = LinearProblem(
        features=features,
        count=count,
        group=sample.grouping.codes,
        base=rows[:, :, 0],
        gain=rows[:, :, 1] - rows[:, :, 0],
        accuracy=design.accuracy,
        fairness=design.fairness,
        status_quo=utilities_of(sums),
        capacity=training.constraints.capacity,
        signs=signs,
        selection_gap=training.constraints.selection_gap,
        iota=rule.iota,
        status_quo_rows=rows[:, :, 2],
    )
    root = np.sqrt(count)
    coefficients = np.linalg.lstsq(root[:, None] * features, root * training.target, rcond=None)[0]
    cutoff = 0.5 if training.binary_target else float(np.average(training.target, weights=count))
    start = coefficients - cutoff * np.eye(1, len(coefficients))[0]
    return _Stated(problem, start, mean, spread, training.features, encoder)
