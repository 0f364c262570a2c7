"""How the repetitions of one data set may depend on each other, for tests of the
game.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from improvable._typing import FloatArray
from improvable.studies.game import (
    INDEPENDENT,
    GaussianMixing,
    Mixing,
    rejection_probability,
)
from replication.mixing import BetaMixing


@dataclass(frozen=True)
class DiscreteMixing:
    """For each level, alpha and alpha / 2, values of q and their weights."""

    support: Mapping[float, tuple[Sequence[float], Sequence[float]]]
    name: str = "discrete"

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        (both,) = [
            both
            for known, both in self.support.items()
            if np.isclose(known, level, rtol=1e-9, atol=0)
        ]
        values, weights = (np.asarray(part, dtype=np.float64) for part in both)
        return values, weights


# For one data set in eighteen nearly half of all repetitions reject:
# the median needs many to see that they are a minority.
NEAR_HALF = DiscreteMixing(
    {0.05: ([0.0, 0.9], [17 / 18, 1 / 18]), 0.025: ([0.0, 0.45], [17 / 18, 1 / 18])}
)
MIXINGS: list[Mixing] = [
    INDEPENDENT,
    BetaMixing(0.05),
    BetaMixing(0.6),
    GaussianMixing(0.5),
    NEAR_HALF,
]
MIXED = pytest.mark.parametrize("mixing", MIXINGS, ids=lambda mixing: mixing.name)


def one(attempts: int, **options: Any) -> float:
    """The chance that one of so many attempts rejects."""
    return float(rejection_probability([attempts], **options)[0])
