"""How the repetitions of one data set may depend on each other, for tests of the game."""

from typing import Any

import pytest

from improvable.studies.game.game import rejection_probability
from improvable.studies.game.mixing import INDEPENDENT, BetaMixing, DiscreteMixing, GaussianMixing, Mixing

# For one data set in eighteen nearly half of all repetitions reject:
# the median needs many to see that they are a minority.
NEAR_HALF = DiscreteMixing({0.05: ([0.0, 0.9], [17 / 18, 1 / 18]), 0.025: ([0.0, 0.45], [17 / 18, 1 / 18])})
MIXINGS: list[Mixing] = [INDEPENDENT, BetaMixing(0.05), BetaMixing(0.6), GaussianMixing(0.5), NEAR_HALF]
MIXED = pytest.mark.parametrize("mixing", MIXINGS, ids=lambda mixing: mixing.name)


def one(attempts: int, **options: Any) -> float:
    """The chance that one of so many attempts rejects."""
    return float(rejection_probability([attempts], **options)[0])
