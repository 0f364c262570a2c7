"""Evidence that may be looked at after every row: what a bet against each condition has
made of a wealth of 1.

A condition is shown by variables X_1, X_2, ... none of which is below -loss, and whose
mean, given all that came before, is at most zero where the condition fails. Whoever
stakes lambda < 1 / loss on each has (1 + lambda X_1) (1 + lambda X_2) ..., which is
never negative and, where the condition fails, not expected to rise; nor is the mean of
several such wealths. By Ville's inequality the probability that it *ever* reaches 1 /
alpha is then at most alpha, whenever and however often anybody looks (Waudby-Smith and
Ramdas, 2024; Chugg et al., 2023).
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.inference.cells import U, W
from improvable.inference.components import Condition

STAKES = np.array([0.9, 0.5, 0.25, 0.125, 0.0625, 0.03125])
"""Shares of the wealth that the largest loss would take: bets on strong and on weak
evidence, in equal parts.
"""


@dataclass(frozen=True)
class Wealth:
    """What a bet against one condition has come to."""

    rows: IntArray  # how many rows had arrived when each variable was complete
    logs: FloatArray  # the logarithm of the wealth after each variable

    @property
    def now(self) -> float:
        """The logarithm of the wealth after the last row."""
        return float(self.logs[-1]) if len(self.logs) else 0.0

    @property
    def p_value(self) -> float:
        """Valid at any time: one over the largest wealth so far."""
        return float(np.exp(-self.logs.max(initial=0.0)))

    def shown_since(self, alpha: float) -> int | None:
        """The number of rows after which the p-value was first below a level; None if
        it never was.
        """
        below = np.flatnonzero(np.exp(-self.logs) < alpha)
        return int(self.rows[below[0]]) if len(below) else None


def wealth_of(condition: Condition, strata: IntArray, vectors: FloatArray) -> Wealth:
    """Bet against a condition on rows in the order of their arrival.

    `strata` has the stratum of each row, -1 where none, and `vectors` what rows
    contribute, (rows, M, 2, 2). Every u and w must be 0 or 1, and w the same for both
    algorithms: a utility is then a mean of u over rows whose w is 1.
    """
    m, coefficients = condition.measure, condition.coefficients
    level = np.where(
        (strata >= 0) & (vectors[:, m, 0, W] != 0), condition.member[strata], -1
    )
    involved = np.flatnonzero(coefficients.any(axis=1))
    classes = np.where(np.isin(level, involved), np.searchsorted(involved, level), -1)
    values = (coefficients[level] * vectors[:, m, :, U]).sum(axis=1)
    variable, complete = pair_up(classes, len(involved))
    gains = np.full(len(complete), -condition.amount)
    for k in range(len(involved)):
        mine = (classes == k) & (variable >= 0)
        sums, sizes = (
            np.bincount(variable[mine], weights, len(gains))
            for weights in (values[mine], None)
        )
        gains += sums / sizes
    loss = condition.amount + float(np.maximum(-coefficients, 0.0).sum())
    # with a margin so wide that nothing can be lost, any bet will do
    bets = STAKES / (loss if loss > 0 else 1.0)
    logs = np.cumsum(np.log1p(np.multiply.outer(bets, gains)), axis=1)
    return Wealth(complete, np.logaddexp.reduce(logs, axis=0) - np.log(len(bets)))


def pair_up(classes: IntArray, number: int) -> tuple[IntArray, IntArray]:
    """Which variable each row is part of, -1 while it waits; and how many rows had come
    when each was complete.

    A variable adds up one mean over some rows of each class. It takes them in the order
    in which they came: at least one of every class and, of a larger class, as many as
    have come for each row of the smallest, so that few rows wait. Which rows it takes
    follows from classes alone, never from values: given the classes, its mean is the
    condition's.
    """
    variable, complete = np.full(len(classes), -1), []
    waiting: list[deque[int]] = [deque() for _ in range(number)]
    arrived, taken = [0] * number, [0] * number
    for row, one in enumerate(classes.tolist()):
        if one < 0:
            continue
        waiting[one].append(row)
        arrived[one] += 1
        if all(waiting):
            complete.append(row + 1)
            for k, queue in enumerate(waiting):
                due = len(complete) * arrived[k] // min(arrived) - taken[k]
                for _ in range(min(max(due, 1), len(queue))):
                    variable[queue.popleft()] = len(complete) - 1
                    taken[k] += 1
    return variable, np.array(complete, dtype=np.int64)
