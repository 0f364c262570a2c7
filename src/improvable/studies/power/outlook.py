"""What planning takes for true: the moments of one row's contributions, and how they change with the training rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.data.groups import Attribute
from improvable.question.utilities import Measure


@dataclass(frozen=True)
class Outlook:
    """Moments of the contribution vectors of a population, from a pilot or from assumptions.

    A contribution vector has `width` = S * M * 2 * 2 entries, in the order of the sums of `Evidence`: stratum, pair
    (u, w), algorithm, part.

    Attributes
    ----------
    attributes, measures, accuracy, fairness
        As in `Evidence`.
    sizes : array of shape (J,)
        Numbers of training rows at which the candidate was studied; one for a candidate that does not learn.
    means : array of shape (J, width)
        The mean contribution of a row, for candidates that learned from so many rows.
    covariances : array of shape (J, width, width)
        The covariance of one row's contribution.
    fit : array of shape (width, width)
        Phi. Candidates found on different rows differ: with n training rows, their means have covariance Phi / n.
    shared : array of shape (width, width)
        Gamma + Gamma', where Gamma is the covariance of what a row does to the candidate's mean when it trains and what
        it contributes when it tests. A capacity makes it negative: a high score raises the cutoff, or is selected.
    uncertainty : array of shape (width, width)
        Covariance of the error with which the means are known.
    teaching : (float, str)
        How many rows the first block of a forward repetition must hold to teach, and what for.
    basis : tuple of str
        What all this rests on, one sentence each.
    learns : bool
        Whether the candidate depends on the training rows.
    """

    attributes: tuple[Attribute, ...]
    measures: tuple[Measure, ...]
    accuracy: tuple[int, ...]
    fairness: tuple[int, ...]
    sizes: FloatArray
    means: FloatArray
    covariances: FloatArray
    fit: FloatArray
    shared: FloatArray
    uncertainty: FloatArray
    teaching: tuple[float, str]
    basis: tuple[str, ...]
    learns: bool

    @property
    def width(self) -> int:
        return int(self.means.shape[1])

    def at(self, training: float) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance for a candidate that learned from `training` rows.

        Linear in one over the root of the rows, flat beyond the largest size studied; below the smallest, means go on
        as far as a quarter of it.
        """
        if len(self.sizes) == 1:
            return self.means[0], self.covariances[0]
        within = np.clip(training, self.sizes[0] / 4, self.sizes[-1])
        above = int(np.clip(np.searchsorted(self.sizes, within), 1, len(self.sizes) - 1))
        left, right, here = (1 / np.sqrt(rows) for rows in (*self.sizes[above - 1 : above + 1], within))
        share = (left - here) / (left - right)

        def between(values: FloatArray, share: float) -> FloatArray:
            return np.asarray((1 - share) * values[above - 1] + share * values[above])

        return between(self.means, share), between(self.covariances, max(share, 0.0))

    def reach(self, training: Sequence[float]) -> str:
        """Whether candidates were studied with so many training rows: "studied", "below" or "beyond"."""
        if self.learns and min(training) < 0.99 * self.sizes[0]:
            return "below"
        return "beyond" if self.learns and max(training) > 1.01 * self.sizes[-1] else "studied"

    def shifted(self, shift: FloatArray) -> "Outlook":
        """The same with another mean: what the pilot could as well have shown."""
        return replace(self, means=self.means + shift)


def root(covariance: FloatArray) -> FloatArray:
    """A matrix R with R R' = the covariance; what rounding or noise made negative counts as zero."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    scaled: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
    return scaled
