"""The mixture of several algorithms, each with its share: what a forward repetition tests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from improvable.algorithms.decisions import Algorithm, decide
from improvable.data.arrays import FloatArray
from improvable.data.frames import FrameLike, read_rows
from improvable.data.keys import Keying


@dataclass(frozen=True)
class Mixture:
    """One of several algorithms decides for each row, drawn by a hash of what they read: the same row, the same one.

    Attributes
    ----------
    algorithms : tuple of Algorithm
    weights : tuple of float
        The share of rows that each decides for; they add up to one.
    features : tuple of str
        What tells rows apart.
    seed : int
    """

    algorithms: tuple[Algorithm, ...]
    weights: tuple[float, ...]
    features: tuple[str, ...]
    seed: int

    def decide(self, frame: FrameLike) -> FloatArray:
        rows = read_rows(frame)
        rows.require(self.features)
        place = Keying(self.seed).of(rows, self.features) / 2.0**64
        which = np.searchsorted(np.cumsum(self.weights)[:-1], place, side="right")
        decisions = np.stack([decide(one, rows, "candidate") for one in self.algorithms])
        return np.asarray(decisions[which, np.arange(len(rows))])


def mix(algorithms: Sequence[Algorithm], weights: Sequence[float], features: Sequence[str], seed: int) -> Algorithm:
    """The mixture; of one algorithm, itself."""
    if len(algorithms) == 1:
        return algorithms[0]
    return Mixture(tuple(algorithms), tuple(weights), tuple(features), seed)
