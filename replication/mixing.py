"""p-values whose rejections, rather than normal scores, have a given correlation: the
paper's games.
"""

import numpy as np

from improvable._typing import FloatArray
from improvable.studies.game import INDEPENDENT, NEGLIGIBLE, NODES, GaussianMixing


class BetaMixing(GaussianMixing):
    """q has a Beta distribution; two rejections of one data set have this correlation
    (0 to below 1) at every level.
    """

    @property
    def name(self) -> str:
        return f"rejections have correlation {self.correlation:.3g} (beta)"

    def points(self, level: float) -> tuple[FloatArray, FloatArray]:
        if self.correlation == 0:
            return INDEPENDENT.points(level)
        # In the log odds t of q the density falls off exponentially on both sides, and
        # t = center + scale sinh(s) makes that doubly so: the trapezoid rule is then
        # exact to rounding.
        size = (1 - self.correlation) / self.correlation
        first, second = level * size, (1 - level) * size
        center, scale = (
            np.log(level / (1 - level)),
            min(1.0, 1 / np.sqrt(size * level * (1 - level))),
        )

        def log_density(s: FloatArray) -> FloatArray:
            t = center + scale * np.sinh(s)
            return np.asarray(
                -first * np.logaddexp(0, -t) - second * np.logaddexp(0, t)
            )

        peak, ends = log_density(np.zeros(1)), np.array([-1.0, 1.0])
        while (near := peak - log_density(ends) < NEGLIGIBLE).any():
            ends[near] *= 1.1
        s = np.linspace(ends[0], ends[1], NODES)
        weights = np.exp(log_density(s) - peak) * np.cosh(s)
        return np.asarray(
            np.exp(-np.logaddexp(0, -(center + scale * np.sinh(s))))
        ), weights / weights.sum()
