"""Attack 10: a slow machine stops `linear_program` early, so that its speed picks the
candidate.

Searches stop after a number of nodes, the same on every machine. The clock can only end
a run with an error.
"""

import inspect
import time

import numpy as np
import pytest

from improvable.algorithms.rules.linear import milp as program
from improvable.algorithms.rules.linear import problem
from improvable.algorithms.rules.linear import rule as linear_classifiers
from improvable.algorithms.rules.linear.milp import solve
from improvable.errors import RuleError
from linear_oracle import instance

START = np.ones(5)


def test_the_clock_is_an_error_and_never_a_result() -> None:
    with pytest.raises(RuleError, match="did not end within 0 s"):
        solve(instance(400, 1, d=4), 100, START, time_limit=0.0)


def test_nodes_decide_and_a_slow_clock_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same nodes with a clock that runs a hundred times faster, as on a machine
    that is slower.
    """
    hard = instance(60, 1, d=4)
    usual = solve(hard, 3, START)
    real = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 100 * real())
    again = solve(hard, 3, START, time_limit=program.TIME_LIMIT * 10)
    assert again.status == usual.status
    assert (again.value, again.bound, again.gap) == (
        usual.value,
        usual.bound,
        usual.gap,
    )
    assert again.beta is not None
    assert usual.beta is not None
    assert (again.beta == usual.beta).all()


def test_no_other_part_of_the_rules_looks_at_the_clock() -> None:
    for module in (problem, program.Program, linear_classifiers):
        source = inspect.getsource(module)
        assert "perf_counter" not in source
        assert "time()" not in source
        assert "monotonic" not in source
