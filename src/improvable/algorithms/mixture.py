"""The even mixture of several algorithms: what a cross-fitted audit tests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from improvable.algorithms.decisions import Algorithm, decide
from improvable.data.arrays import FloatArray
from improvable.data.frames import FrameLike, read_rows
from improvable.data.keys import Keying


@dataclass(frozen=True)
class EvenMixture:
    """One of several algorithms decides for each row, drawn by a hash of what they read: the same row, the same one.

    Attributes
    ----------
    algorithms : tuple of Algorithm
    features : tuple of str
        What tells rows apart.
    seed : int
    """

    algorithms: tuple[Algorithm, ...]
    features: tuple[str, ...]
    seed: int

    def decide(self, frame: FrameLike) -> FloatArray:
        rows = read_rows(frame)
        rows.require(self.features)
        which = Keying(self.seed).of(rows, self.features) % np.uint64(len(self.algorithms))
        decisions = np.stack([decide(one, rows, "candidate") for one in self.algorithms])
        return np.asarray(decisions[which.astype(np.int64), np.arange(len(rows))])


def even_mixture(algorithms: Sequence[Algorithm], features: Sequence[str], seed: int) -> Algorithm:
    """The mixture; of one algorithm, itself."""
    return algorithms[0] if len(algorithms) == 1 else EvenMixture(tuple(algorithms), tuple(features), seed)
