"""Costs as the paper wants them, increasing and weakly convex: what one more attempt costs."""

from collections.abc import Callable

import numpy as np

from improvable.errors import OptionError

Cost = Callable[[int], float]
"""Of m attempts, m = 0, 1, ..., in units of what a rejection is worth to the analyst."""
CHECKED = 64


def check_cost(cost: Cost) -> None:
    """Refuse a cost that falls, stands still or is concave, at the first attempts or at some up to a million."""
    step = increments(cost)
    for m in (*range(CHECKED), *(2**power for power in range(6, 21))):
        step(m)


def increments(cost: Cost) -> Callable[[int], float]:
    """The cost of one more attempt after m; refuses a cost that falls, stays flat or is concave where visited."""
    seen: dict[int, tuple[float, float]] = {}

    def value(m: int) -> float:
        try:
            return float(cost(m))
        except OverflowError:
            return np.inf

    def step(m: int) -> float:
        if m in seen:
            return seen[m][0]
        before, after = value(m), value(m + 1)
        if np.isnan(before) or np.isnan(after) or before == -np.inf:
            raise OptionError(
                f"the cost of {m} or {m + 1} attempts is not a number.",
                "Give one for each.",
            )
        here = np.inf if np.isinf(after) else after - before
        if here <= 0:
            raise OptionError(
                f"the cost of {m + 1:,} attempts is not above that of {m:,}.", "A cost must increase: 0.01 * m does."
            )
        # A difference of large costs is known up to their rounding only.
        rounding = 8 * np.finfo(float).eps * max(abs(before), abs(after)) if np.isfinite(after) else 0.0
        seen[m] = here, rounding
        for other, (_, unsure) in seen.items():
            early, late = sorted((m, other))
            if seen[late][0] + rounding + unsure < seen[early][0]:
                raise OptionError(
                    f"the cost is concave: attempt {late + 1:,} costs less than attempt {early + 1:,}.",
                    "It must be weakly convex: 0.01 * m or 0.01 * m**2 is.",
                )
        return here

    return step
