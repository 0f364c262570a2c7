"""Correlation of p-values across repetitions of one data set, before the data are seen.

They are exchangeable: given a q that is drawn once for the data set, each is below a level independently with
probability q. A new distribution of q is a class with `name` and `points`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.errors import OptionError

FORWARD_CORRELATION = 0.8
"""Of normal scores across forward repetitions: 0.82 for least squares in `benchmarks/best_of_seeds.py`."""
NODES = 4_001
NEGLIGIBLE = 45.0
"""Densities that many powers of e below their peak are left out of an integral."""


class Mixing(Protocol):
    """Correlation of p-values across repetitions: given q, each is below a level independently with probability q.

    By de Finetti's theorem every exchangeable sequence is of this kind. q is drawn once for the data set.
    """

    @property
    def name(self) -> str: ...

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Values of q and their weights, or the nodes of an integral over q; the mean of q is `level`."""
        ...


@dataclass(frozen=True)
class Independent:
    """Independent p-values: q is the level itself, the analyst's best case for one repetition."""

    name: str = "independent"

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        return np.array([level]), np.ones(1)


@dataclass(frozen=True)
class BetaMixing:
    """q has a Beta distribution; two rejections of one data set have the given correlation at every level.

    Attributes
    ----------
    correlation : float
        At least 0 and below 1; 0 is independence.
    """

    correlation: float

    def __post_init__(self) -> None:
        _check_correlation(self.correlation)

    @property
    def name(self) -> str:
        return f"rejections have correlation {self.correlation:.3g} (beta)"

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        if self.correlation == 0:
            return Independent().points(level)
        # In the log odds t of q the density falls off exponentially on both sides, and t = center + scale sinh(s)
        # makes that doubly so: the trapezoid rule is then exact to rounding.
        size = (1 - self.correlation) / self.correlation
        first, second = level * size, (1 - level) * size
        center, scale = np.log(level / (1 - level)), min(1.0, 1 / np.sqrt(size * level * (1 - level)))

        def log_density(s: FloatArray) -> FloatArray:
            t = center + scale * np.sinh(s)
            return np.asarray(-first * np.logaddexp(0, -t) - second * np.logaddexp(0, t))

        peak = log_density(np.zeros(1))[0]
        ends = []
        for side in (-1.0, 1.0):
            end = side
            while peak - log_density(np.array([end]))[0] < NEGLIGIBLE:
                end *= 1.1
            ends.append(end)
        s = np.linspace(ends[0], ends[1], NODES)
        weights = np.exp(log_density(s) - peak) * np.cosh(s)
        return np.asarray(np.exp(-np.logaddexp(0, -(center + scale * np.sinh(s))))), weights / weights.sum()


@dataclass(frozen=True)
class GaussianMixing:
    """Normal scores of the p-values of one data set share a factor; one factor serves every level.

    Attributes
    ----------
    correlation : float
        Correlation of two normal scores, at least 0 and below 1; 0 is independence. Two rejections are less
        correlated than that, and the less so the smaller the level.
    """

    correlation: float

    def __post_init__(self) -> None:
        _check_correlation(self.correlation)

    @property
    def name(self) -> str:
        return f"normal scores have correlation {self.correlation:.3g}"

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        from scipy.special import ndtr, ndtri

        if self.correlation == 0:
            return Independent().points(level)
        # Given the factor z, q is a step at `step` of width `width`: the nodes crowd there.
        step, width = ndtri(level) / np.sqrt(self.correlation), np.sqrt(1 / self.correlation - 1)
        reach = np.sqrt(2 * NEGLIGIBLE)
        s = np.linspace(np.arcsinh((-reach - step) / width), np.arcsinh((reach - step) / width), NODES)
        z = step + width * np.sinh(s)
        weights = np.exp(-(z**2) / 2) * np.cosh(s)
        return np.asarray(ndtr((step - z) / width)), weights / weights.sum()


@dataclass(frozen=True)
class DiscreteMixing:
    """A custom mixing distribution: for each level, values of q and their weights.

    Attributes
    ----------
    support : mapping from level to (values, weights)
        For alpha and for alpha / 2; the weighted mean of the values is the level.

    Examples
    --------
    >>> mixing = DiscreteMixing({0.05: ([0.0, 0.2], [0.75, 0.25]), 0.025: ([0.0, 0.1], [0.75, 0.25])})
    >>> values, weights = mixing.points(0.05)
    >>> float(values @ weights)
    0.05
    """

    support: Mapping[float, tuple[Sequence[float], Sequence[float]]]
    name: str = "discrete"

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        for known, (values, weights) in self.support.items():
            if np.isclose(known, level, rtol=1e-9, atol=0):
                return np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        raise OptionError(f"the mixing distribution has nothing for level {level:g}.", "Give alpha and alpha / 2.")


INDEPENDENT = Independent()


def _check_correlation(correlation: float) -> None:
    number = isinstance(correlation, float | int | np.floating | np.integer) and not isinstance(correlation, bool)
    if not number or not 0 <= correlation < 1:
        raise OptionError(f"the correlation is {correlation}.", "Give a number from 0 to below 1.")
