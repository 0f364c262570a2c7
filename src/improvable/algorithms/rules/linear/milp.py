"""The mixed-integer programs of Appendix F: columns, rows and entries as a solver takes
them, and HiGHS to solve them.

A program holds one binary D for each distinct vector of features, the coefficients beta
in the box, and the utilities of every group. Where w does not depend on D, U is linear
in D (the set (e_hat)); where it does, U is made linear by t = 1 / sum of w and s = t D
(the program P').

What is found must not depend on the speed of the machine: the solver works in one
thread from a fixed seed and stops after a number of nodes. Running out of time is an
error, never a result.
"""

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.algorithms.rules.linear.problem import (
    LinearProblem,
    W,
    evaluate,
    power_of_two,
    sums_by,
)
from improvable.errors import OptionError, RuleError

EPSILON = 1e-5  # what stands for the strict inequality X'beta < 0
SOLVER_TOLERANCE = 1e-9
MAX_BINARIES = 5_000
MAX_ENTRIES = 1_000_000
AGREEMENT = 1e-6  # relative: within this, a bound and a value are the same
TIME_LIMIT = 1_800.0


def entries_of(problem: LinearProblem) -> int:
    """About how many numbers the program of a problem holds."""
    binaries, columns = np.unique(problem.features, axis=0).shape
    return int((2 * (columns + 1) + 10 * _varies(problem)) * binaries)


def _varies(problem: LinearProblem) -> bool:
    """Whether some w depends on decisions."""
    return bool((problem.gain[..., W] != 0).any())


@dataclass(frozen=True)
class Ratio:
    """A group's sum of w that depends on D: base + gain'D over the distinct rows
    `members`.
    """

    inverse: int  # the column of t
    products: IntArray  # the columns of s = t D, one for each member
    members: IntArray
    base: float
    gain: FloatArray


class Program:
    """The program's columns and rows, gathered as arrays."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.distinct, place = np.unique(problem.features, axis=0, return_inverse=True)
        binaries, entries = len(self.distinct), entries_of(problem)
        if binaries > MAX_BINARIES or entries > MAX_ENTRIES:
            size = (
                f"{(6 if _varies(problem) else 2) * binaries:,} rows x {binaries:,} "
                f"binaries, {entries:,} entries"
            )
            most = f"at most {MAX_BINARIES:,} binaries and {MAX_ENTRIES:,} entries."
            how = "Use the rule 'aim', which takes data of any size."
            raise OptionError(
                f"the mixed-integer program is too large: {size}; {most}", how
            )
        cell = problem.group * binaries + place.ravel()

        def by_distinct(values: FloatArray) -> FloatArray:
            """Add up rows by group and vector of features: (m, ...) -> (G, ...,
            distinct).
            """
            sums = sums_by(
                cell, problem.groups * binaries, (values.T * problem.count).T
            )
            return np.ascontiguousarray(
                np.moveaxis(
                    sums.reshape(problem.groups, binaries, *values.shape[1:]), 1, -1
                )
            )

        self.gains, self.bases = (
            problem.blocks(by_distinct(part)) for part in (problem.gain, problem.base)
        )
        self.counts = by_distinct(np.ones(len(problem.count)))
        used = sorted({*problem.accuracy, *problem.fairness})
        # utilities are divided by this, so that they are about 1
        self.size = float(problem.units[used].max())
        self.columns, self.lower, self.upper = 0, list[FloatArray](), list[FloatArray]()
        self.rows, self.row_lower, self.row_upper = (
            0,
            list[FloatArray](),
            list[FloatArray](),
        )
        self.entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.ratios: dict[tuple[int, bytes], Ratio] = {}
        inf, shape = np.inf, problem.least_weight.shape
        self.beta = self._add_columns(*problem.bounds)
        self.decision = self._add_columns(
            np.zeros(len(self.distinct)), np.ones(len(self.distinct))
        )
        self.utility = self._add_columns(
            *np.full((2, problem.least_weight.size), [[-inf], [inf]])
        ).reshape(shape)
        self.goal = int(self._add_columns(np.array([-inf]), np.array([inf]))[0])
        self._classify()
        for b, k in np.argwhere(problem.needed):
            self._define(int(b), int(k))
        self._limit()
        self._aim()

    def _add_columns(self, lower: FloatArray, upper: FloatArray) -> IntArray:
        self.lower.append(np.asarray(lower, dtype=np.float64))
        self.upper.append(np.asarray(upper, dtype=np.float64))
        added = np.arange(self.columns, self.columns + len(lower))
        self.columns += len(lower)
        return added

    def _add_rows(
        self, parts: list[tuple[Any, Any, Any]], lower: Any, upper: Any
    ) -> None:
        """Rows from triples (row, column, value), each broadcast against the others; as
        many as the first has.
        """
        added = int(np.max(parts[0][0])) + 1
        for part in parts:
            row, column, value = np.broadcast_arrays(*part)
            self.entries.append(
                (
                    row.ravel() + self.rows,
                    column.ravel(),
                    value.ravel().astype(np.float64),
                )
            )
        self.row_lower.append(
            np.broadcast_to(np.asarray(lower, dtype=np.float64), (added,))
        )
        self.row_upper.append(
            np.broadcast_to(np.asarray(upper, dtype=np.float64), (added,))
        )
        self.rows += added

    def _classify(self) -> None:
        """X'beta >= -C (1 - D) and X'beta <= -EPSILON + (C' + EPSILON) D, with the
        least C and C' for each row.
        """
        low, high = self.problem.bounds
        x, row = self.distinct, np.arange(len(self.distinct))
        reach_down = np.maximum(-np.minimum(x * low, x * high).sum(axis=1), 0.0)
        reach_up = np.maximum(np.maximum(x * low, x * high).sum(axis=1), 0.0)
        slopes = (row[:, None], self.beta[None, :], x)
        self._add_rows([slopes, (row, self.decision, -reach_down)], -reach_down, np.inf)
        self._add_rows(
            [slopes, (row, self.decision, -reach_up - EPSILON)], -np.inf, -EPSILON
        )

    def _define(self, g: int, k: int) -> None:
        """U = sum of u / sum of w of a block, in units of `size`."""
        (base_u, base_w), (gain_u, gain_w) = (
            self.problem.base_sums[g, k],
            self.gains[g, k],
        )
        itself = (0, self.utility[g, k], 1.0)
        if not gain_w.any():
            unit = base_w * self.size
            self._add_rows(
                [itself, (0, self.decision, -(gain_u / unit))],
                base_u / unit,
                base_u / unit,
            )
            return
        ratio = self._ratio(g, k)
        share = gain_u[ratio.members] / self.size
        self._add_rows(
            [
                itself,
                (0, ratio.inverse, -base_u / self.size),
                (0, ratio.products, -share),
            ],
            0.0,
            0.0,
        )

    def _ratio(self, g: int, k: int) -> Ratio:
        """Columns t and s of program P', shared by utilities of the same w."""
        gain_w, base_w = self.gains[g, k, W], self.bases[g, k, W]
        key = (g, gain_w.tobytes() + base_w.tobytes())
        if key in self.ratios:
            return self.ratios[key]
        least, most = self._range_of_weight(g, k)
        members = np.flatnonzero((self.gains[g] != 0).any(axis=(0, 1)))
        low, high = 1 / most, 1 / least
        inverse = int(self._add_columns(np.array([low]), np.array([high]))[0])
        products = self._add_columns(
            np.zeros(len(members)), np.full(len(members), high)
        )
        s, d, row = products, self.decision[members], np.arange(len(members))
        self._add_rows([(0, inverse, base_w.sum()), (0, s, gain_w[members])], 1.0, 1.0)
        self._add_rows([(row, s, 1.0), (row, d, -high)], -np.inf, 0.0)
        self._add_rows([(row, s, 1.0), (row, d, -low)], 0.0, np.inf)
        self._add_rows(
            [(row, s, 1.0), (row, inverse, -1.0), (row, d, -low)], -np.inf, -low
        )
        self._add_rows(
            [(row, s, 1.0), (row, inverse, -1.0), (row, d, -high)], -high, np.inf
        )
        self.ratios[key] = Ratio(
            inverse, products, members, float(base_w.sum()), gain_w[members]
        )
        return self.ratios[key]

    def _range_of_weight(self, g: int, k: int) -> tuple[float, float]:
        """The least and the greatest that a group's sum of w can be where it is above
        zero.
        """
        off, on = self.bases[g, k, W], self.bases[g, k, W] + self.gains[g, k, W]
        both = np.concatenate([off, on])
        least = max(float(np.minimum(off, on).sum()), float(both[both > 0].min()))
        most = float(np.maximum(off, on).sum())
        limits = self.problem.capacity_range
        if limits is not None:
            per_count = np.max((on - off) / self.counts.sum(axis=0))
            most = min(most, float(off.sum()) + max(0.0, float(per_count)) * limits[1])
        return least * (1 - SOLVER_TOLERANCE), max(most, least) * (1 + SOLVER_TOLERANCE)

    def _limit(self) -> None:
        """The capacity and the bound on the difference of selection rates."""
        problem = self.problem
        if problem.capacity_range is not None:
            self._add_rows(
                [(0, self.decision, self.counts.sum(axis=0))], *problem.capacity_range
            )
        if problem.selection_gap is not None:
            rates = self.counts / problem.group_totals[:, None]
            for g, h in permutations(range(problem.groups), 2):
                self._add_rows(
                    [(0, self.decision, rates[g] - rates[h])],
                    -np.inf,
                    problem.selection_gap,
                )

    def _aim(self) -> None:
        """The claim, with iota to spare, and what the goal's column stands for: a gap
        or an accuracy.
        """
        problem = self.problem
        for demand in problem.demands:
            summed = (0, self.utility[:, demand.measure], demand.weights)
            self._add_rows([summed], (demand.least + problem.iota) / self.size, np.inf)
            if problem.favored is None and demand.kind == "fairness":
                self._add_rows([summed, (0, self.goal, 1.0)], 0.0, np.inf)
        if problem.favored is not None:
            own = self.utility[problem.favored, problem.accuracy[0]]
            self._add_rows([(0, self.goal, 1.0), (0, own, -1.0)], 0.0, 0.0)

    def load(self, solver: Any, highs: Any) -> None:
        """Give the model to the solver; always a minimization."""
        from scipy import sparse

        row, column, value = (
            np.concatenate(part) for part in zip(*self.entries, strict=True)
        )
        matrix = sparse.csr_array(
            (value, (row, column)), shape=(self.rows, self.columns)
        )
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        cost, kind = np.zeros(self.columns), np.zeros(self.columns, dtype=np.int32)
        cost[self.goal], kind[self.decision] = (
            self.problem.sign,
            int(highs.HighsVarType.kInteger),
        )
        bounds = [
            np.concatenate(part)
            for part in (self.lower, self.upper, self.row_lower, self.row_upper)
        ]
        form = int(highs.MatrixFormat.kRowwise), int(highs.ObjSense.kMinimize), 0.0
        entries = (
            matrix.indptr.astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data,
        )
        solver.passModel(
            self.columns, self.rows, matrix.nnz, *form, cost, *bounds, *entries, kind
        )

    def vector_of(self, beta: FloatArray) -> FloatArray:
        """Every column's value for a classifier, its margin as wide as the box and the
        constant allow.
        """
        out = np.zeros(self.columns)
        inside = beta / max(float(np.abs(beta).max()), 1e-300) * (1 - 2 * EPSILON)
        score = self.distinct @ inside
        decisions = self.distinct @ beta >= 0
        inside[0] = np.clip(
            inside[0] - middle_of(score, decisions) - EPSILON / 2, -1.0, 1.0
        )
        out[self.beta], out[self.decision] = inside, decisions
        sums = self.bases.sum(axis=-1) + self.gains @ decisions
        out[self.utility] = np.nan_to_num(self.problem.utilities(sums)) / self.size
        for ratio in self.ratios.values():
            weight = ratio.base + ratio.gain @ decisions[ratio.members]
            out[ratio.inverse] = 1 / weight if weight > 0 else 0.0
            out[ratio.products] = out[ratio.inverse] * decisions[ratio.members]
        out[self.goal] = np.nan_to_num(evaluate(self.problem, beta).value) / self.size
        return out

    def beta_of(self, solution: FloatArray) -> FloatArray:
        """The solution's classifier, moved to the middle of its margin so that rounding
        cannot flip a row.
        """
        beta = solution[self.beta].copy()
        decisions = solution[self.decision] > 0.5
        beta[0] -= middle_of(self.distinct @ beta, decisions)
        return beta * power_of_two(beta)


def middle_of(score: FloatArray, decisions: BoolArray) -> float:
    """Halfway between the selected and the others; half of EPSILON to the safe side
    where there is only one kind.
    """
    if decisions.all() or not decisions.any():
        return -EPSILON / 2 if decisions.all() else 0.0
    return float((score[decisions].min() + score[~decisions].max()) / 2)


@dataclass(frozen=True)
class Solution:
    """What the solver reached: "optimal" only where it proved that and the rows
    reproduce it.
    """

    status: Literal["optimal", "node_limit", "infeasible"]
    beta: FloatArray | None  # None where no feasible classifier was found
    value: float | None  # of the objective, re-evaluated from the rows
    # no classifier with a margin of EPSILON can do better than this
    bound: float | None
    gap: float | None  # |value - bound|


def solve(
    problem: LinearProblem,
    nodes: int,
    start: FloatArray | None = None,
    progress: Callable[[int, float, float], None] | None = None,
    time_limit: float = TIME_LIMIT,
) -> Solution:
    """Solve (find_fair) or (find_pareto) over linear classifiers with beta in the box.

    The strict inequality X'beta < 0 of rows not selected is X'beta <= -EPSILON, so that
    classifiers whose margin in the box is narrower are out of the program's reach
    (though `start` may be one, and is returned where it is better).

    At most `nodes` nodes of the solver's tree are visited; 0 means the root alone.
    Reaching the time limit, in seconds, is an error, because the machine's speed must
    not choose a candidate. `progress` is called now and then with the nodes visited,
    the best value and the bound.
    """
    highs: Any = importlib.import_module("highspy")  # slow to load, and without types
    begun = time.perf_counter()
    program = Program(problem)
    solver = highs.Highs()
    options = {
        "output_flag": False,
        "parallel": "off",
        "threads": 1,
        "random_seed": 0,
        "mip_max_nodes": nodes,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": AGREEMENT / 10,
        "mip_feasibility_tolerance": SOLVER_TOLERANCE,
        "primal_feasibility_tolerance": SOLVER_TOLERANCE,
        "time_limit": max(0.0, time_limit - (time.perf_counter() - begun)),
    }
    for name, option in options.items():
        solver.setOptionValue(name, option)
    program.load(solver, highs)
    if start is not None:
        given = highs.HighsSolution()
        given.col_value = program.vector_of(start).tolist()
        solver.setSolution(given)
    if progress is not None:
        scale = problem.sign * program.size

        def tell(event: Any) -> None:
            out = event.data_out
            progress(
                int(out.mip_node_count),
                scale * out.mip_primal_bound,
                scale * out.mip_dual_bound,
            )

        solver.cbMipImprovingSolution.subscribe(tell)
        solver.cbMipLogging.subscribe(tell)
    solver.run()
    if solver.getModelStatus() == highs.HighsModelStatus.kTimeLimit:
        what = (
            f"the mixed-integer program of {len(program.distinct):,} binaries did not "
            f"end within {time_limit:g} s."
        )
        raise RuleError(
            what,
            f"Lower the nodes (nodes={nodes // 2}) or the rows, or use the rule 'aim'.",
        )
    return _read(solver, highs, program, start)


def _read(
    solver: Any, highs: Any, program: Program, start: FloatArray | None
) -> Solution:
    """What the solver says, believed only as far as the rows reproduce it."""
    status, info, problem = solver.getModelStatus(), solver.getInfo(), program.problem
    impossible = status in (
        highs.HighsModelStatus.kInfeasible,
        highs.HighsModelStatus.kUnboundedOrInfeasible,
    )
    candidates = [] if start is None else [start * power_of_two(start)]
    if info.primal_solution_status == highs.SolutionStatus.kSolutionStatusFeasible:
        candidates.append(program.beta_of(np.asarray(solver.getSolution().col_value)))
    feasible = [
        found for beta in candidates if (found := evaluate(problem, beta)).feasible
    ]
    dual = problem.sign * program.size * float(info.mip_dual_bound)
    bound = None if impossible or not np.isfinite(dual) else dual
    if not feasible:
        return Solution(
            "infeasible" if impossible else "node_limit", None, None, bound, None
        )
    best = min(feasible, key=lambda found: problem.sign * found.value)
    gap = None if bound is None else abs(best.value - bound)
    proven = (
        status == highs.HighsModelStatus.kOptimal
        and gap is not None
        and gap <= AGREEMENT * program.size
    )
    return Solution(
        "optimal" if proven else "node_limit", best.beta, best.value, bound, gap
    )
