"""How heavy the candidates of an audit through an engine are, which sends them all to
every worker.
"""

import pickle
from typing import Any

from improvable.errors import RuleError
from improvable.procedure.plan import MIN_TRAINING_ROWS, Plan
from improvable.procedure.select import Fitted

MAX_BYTES = 4 << 30


def refuse_heavy(plan: Plan, rows: int, parts: int, fitted: Fitted) -> None:
    """Refuse a rule whose first candidate is too heavy, and say from how many rows
    candidates would not be.
    """
    size = measure_bytes(getattr(fitted.candidate, "scorer", fitted.candidate))
    if size is None or size * parts <= MAX_BYTES:
        return
    enough = max(MIN_TRAINING_ROWS, int(0.9 * rows * MAX_BYTES / (size * parts)))
    raise RuleError(
        (
            f"rule '{plan.rule.name}' makes candidates of {size / 1e6:,.0f} MB from "
            f"{rows:,} rows, too heavy to send {parts} of them to every worker."
        ),
        (
            f"Let it learn from fewer, `train_rows={enough}`, or use another rule, "
            "such as boosting."
        ),
    )


def measure_bytes(candidate: Any) -> int | None:
    """How many bytes a candidate has when it is sent; None for a function of the
    caller's own, which only an engine can pickle.
    """
    scale = _Scale()
    try:
        pickle.Pickler(scale, protocol=5).dump(candidate)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return scale.bytes


class _Scale:
    """A file that only counts."""

    bytes = 0

    def write(self, content: Any) -> None:
        self.bytes += memoryview(content).nbytes
