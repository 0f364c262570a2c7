"""What a selection rule sees, and what it must do."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from improvable.algorithms import Algorithm
from improvable.arrays import FloatArray
from improvable.data import Rows


@dataclass(frozen=True)
class Training:
    """Everything a rule may look at: training rows only.

    Attributes
    ----------
    rows : Rows
        The training rows, with all columns.
    features : tuple of str
        The columns that the candidate may read.
    plain : bool
        Whether all features are complete numbers; otherwise they need encoding.
    target : array
        What to predict: the outcome, or the column named by ``target=``.
    weights : array or None
        Row weights.
    capacity : float or None
        Share of rows that the candidate may select; None where it is free.
    numeric_decisions : bool
        Whether a decision is a number (a price) rather than 0/1.
    seed : SeedSequence
        The only source of randomness.
    """

    rows: Rows
    features: tuple[str, ...]
    plain: bool
    target: FloatArray
    weights: FloatArray | None
    capacity: float | None
    numeric_decisions: bool
    seed: np.random.SeedSequence

    @property
    def binary_target(self) -> bool:
        return bool(((self.target == 0) | (self.target == 1)).all())


class SelectionRule(Protocol):
    """Turns training rows into a candidate."""

    @property
    def name(self) -> str: ...

    def select(self, training: Training, status_quo: Algorithm) -> Any:
        """The candidate: anything that `improvable.compare` takes as one."""
        ...
