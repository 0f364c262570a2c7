"""Solve the mixed-integer programs of Appendix F with HiGHS.

What is found must not depend on the speed of the machine: the solver works in one thread from a fixed seed and stops
after a number of nodes. Running out of time is an error, never a result.
"""

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from improvable.algorithms.rules.linear.judging import evaluate, scaled_at
from improvable.algorithms.rules.linear.model import SOLVER_TOLERANCE, Program, into_box
from improvable.algorithms.rules.linear.problem import LinearProblem, parse_objective
from improvable.data.arrays import FloatArray
from improvable.errors import OptionError, RuleError

AGREEMENT = 1e-6  # relative: within this, a bound and a value are the same
TIME_LIMIT = 1_800.0

Progress = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Solution:
    """What the solver reached.

    Attributes
    ----------
    status : {"optimal", "node_limit", "infeasible"}
        "optimal" only where the solver proved it and the rows reproduce it. "node_limit" for everything unproven.
    beta : array of shape (d,) or None
        None where no feasible classifier was found.
    value : float or None
        Of the objective, re-evaluated from the rows.
    bound : float or None
        No classifier with a margin of `EPSILON` can do better than this.
    gap : float or None
        |value - bound|.
    """

    status: Literal["optimal", "node_limit", "infeasible"]
    beta: FloatArray | None
    value: float | None
    bound: float | None
    gap: float | None


def solve(
    problem: LinearProblem,
    objective: str,
    nodes: int,
    start: FloatArray | None = None,
    progress: Progress | None = None,
    time_limit: float = TIME_LIMIT,
) -> Solution:
    """Solve (find_fair), (find_pareto) or the balanced program over linear classifiers with beta in the box.

    The strict inequality X'beta < 0 of rows not selected is X'beta <= -EPSILON, so that classifiers whose margin in
    the box is narrower are out of the program's reach (though `start` may be one, and is returned where it is better).

    Parameters
    ----------
    problem : LinearProblem
    objective : str
        "fairest", "most_accurate:K" or "balanced". The last is linear only with its standard errors fixed: at those
        of `start`, unless the problem fixes them.
    nodes : int
        How many nodes of the solver's tree may be looked at; 0 means the root alone.
    start : array of shape (d,), optional
        A classifier to begin with, for example from `search`.
    progress : callable, optional
        Called with the nodes looked at, the best value and the bound, now and then.
    time_limit : float
        In seconds; reaching it is an error, because the machine's speed must not choose a candidate.
    """
    begun = time.perf_counter()
    parsed = parse_objective(objective, problem.groups)
    if parsed.kind == "balanced" and problem.scale is None:
        if start is None:
            raise OptionError("'balanced' needs a start to take standard errors from.", "Give start=.")
        problem = scaled_at(problem, start)
    program = Program(problem, parsed)
    highs = _solver()
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
    solver.passModel(program.lp(highs))
    if start is not None:
        given = highs.HighsSolution()
        given.col_value = program.vector_of(start).tolist()
        solver.setSolution(given)
    if progress is not None:
        _report(solver, progress, program)
    solver.run()
    if solver.getModelStatus() == highs.HighsModelStatus.kTimeLimit:
        raise RuleError(
            f"the mixed-integer program of {len(program.distinct):,} binaries did not end within {time_limit:,.0f} s.",
            f"Lower the nodes (nodes={nodes // 2}) or the rows, or use the rule 'linear_search'.",
        )
    return _read(solver, highs, program, objective, start)


def _solver() -> Any:
    try:
        return importlib.import_module("highspy")
    except ImportError as error:
        raise OptionError(
            "the rule 'linear_program' needs the solver HiGHS, which is not installed.",
            "Install highspy, or use the rule 'linear_search'.",
        ) from error


def _report(solver: Any, progress: Progress, program: Program) -> None:
    def tell(event: Any) -> None:
        out = event.data_out
        scale = program.sign * program.unit
        progress(int(out.mip_node_count), scale * out.mip_primal_bound, scale * out.mip_dual_bound)

    solver.cbMipImprovingSolution.subscribe(tell)
    solver.cbMipLogging.subscribe(tell)


def _read(solver: Any, highs: Any, program: Program, objective: str, start: FloatArray | None) -> Solution:
    """What the solver says, believed only as far as the rows reproduce it."""
    status, info = solver.getModelStatus(), solver.getInfo()
    problem, sign = program.problem, program.sign
    impossible = status in (highs.HighsModelStatus.kInfeasible, highs.HighsModelStatus.kUnboundedOrInfeasible)
    candidates = [] if start is None else [into_box(start)]
    if info.primal_solution_status == highs.SolutionStatus.kSolutionStatusFeasible:
        candidates.append(program.beta_of(np.asarray(solver.getSolution().col_value)))
    evaluated = [(beta, evaluate(problem, beta)) for beta in candidates]
    feasible = [(each.values[objective], beta) for beta, each in evaluated if each.feasible(objective)]
    bound = None if impossible else sign * program.unit * float(info.mip_dual_bound)
    bound = bound if bound is not None and np.isfinite(bound) else None
    if not feasible:
        return Solution("infeasible" if impossible else "node_limit", None, None, bound, None)
    value, beta = min(feasible, key=lambda pair: sign * pair[0])
    gap = None if bound is None else abs(value - bound)
    proven = status == highs.HighsModelStatus.kOptimal and gap is not None and gap <= AGREEMENT * program.unit
    return Solution("optimal" if proven else "node_limit", beta, value, bound, gap)
