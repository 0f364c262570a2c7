"""How heavy candidates are: those of all splits are held at once, and sent to every worker."""

import pickle
from typing import Any

from improvable.errors import RuleError
from improvable.procedure.sampling import Drawn
from improvable.procedure.steps import FEWEST_ROWS, Fitted, Plan

MOST_BYTES = 4 << 30


def refuse_heavy(plan: Plan, drawn: Drawn, fitted: Fitted) -> None:
    """Refuse a rule whose candidates are too heavy, at the first of them, and say from how many rows they are not."""
    weight = weight_of(getattr(fitted.candidate, "scorer", fitted.candidate))
    if weight is None or weight * plan.splits <= MOST_BYTES:
        return
    rows = len(drawn.chosen[fitted.split])
    enough = max(FEWEST_ROWS, int(0.9 * rows * MOST_BYTES / (weight * plan.splits)))
    raise RuleError(
        f"rule '{plan.rule.name}' makes candidates of {weight / 1e6:,.0f} MB from {rows:,} rows, "
        f"too heavy to send {plan.splits} of them to every worker.",
        f"Let it learn from fewer, train_rows={enough} (--train-rows {enough}), or use another rule, such as boosting.",
    )


def weight_of(thing: Any) -> int | None:
    """Bytes of a thing when pickled; None of a function of the caller's own, which only an engine can pickle."""
    scale = _Scale()
    try:
        pickle.Pickler(scale, protocol=5).dump(thing)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return scale.bytes


class _Scale:
    """A file that only counts."""

    bytes = 0

    def write(self, content: Any) -> int:
        size = memoryview(content).nbytes
        self.bytes += size
        return size
