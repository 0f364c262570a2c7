"""The whole procedure simulated by its sums: K splits of the same rows, their p-values, and the verdict.

Write n for the rows, b and t for the shares that train and test. For a fixed candidate the mean contribution over the
test rows of split k has covariance Sigma / (n t); two splits divide the same rows independently, so their means have
covariance Sigma / n. A candidate that learns moves with the training rows: to first order its mean is a mean over them
of some phi, with covariance Phi, and Gamma with the contributions. Then

    test mean of split k = mean + N(0, Sigma + Phi + Gamma + Gamma') / sqrt(n), the same for all splits
                                + N(0, Sigma (1/t - 1) + Phi (1/b - 1) - Gamma - Gamma') / sqrt(n), each split's own.

With folds every row is tested once in a repetition, by a candidate that learned from others, and every row trains
equally often. So all of Sigma, Phi and Gamma is common to the repetitions,

    pooled mean of a repetition = mean + N(0, Sigma + Phi + Gamma + Gamma') / sqrt(n),

and to first order nothing is left of a repetition's own. The reference pair of groups is chosen on the rows tested.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from improvable.data.arrays import FloatArray
from improvable.inference.combining import combined_threshold
from improvable.question.claim import Claim
from improvable.studies.power.claim_margins import margins
from improvable.studies.power.outlook import Outlook, root


@dataclass(frozen=True)
class Setting:
    """How the procedure is to be run.

    Attributes
    ----------
    rows : int
        n, training and test rows together.
    train_fraction : float
        Of the paper's split; folds have their own.
    splits : int
        Of the rows, or repetitions in folds.
    claim : Claim
    alpha : float
    folds : int or None
        None for the paper's split.
    """

    rows: int
    train_fraction: float
    splits: int
    claim: Claim
    alpha: float
    folds: int | None = None

    @property
    def training_rows(self) -> int:
        """That one candidate learns from."""
        return int((self.train_fraction if self.folds is None else 1 - 1 / self.folds) * self.rows)

    @property
    def test_rows(self) -> int:
        """Of one comparison: all of them, in folds."""
        return self.rows - self.training_rows if self.folds is None else self.rows


@dataclass(frozen=True)
class Rejections:
    """What the simulated repetitions gave.

    Attributes
    ----------
    power : float
        The share of repetitions in which the procedure rejects.
    error : float
        Its Monte Carlo standard error.
    margin : float
        The mean over repetitions of the deciding split's weakest component, in standard errors.
    """

    power: float
    error: float
    margin: float


def simulate(outlook: Outlook, setting: Setting, repetitions: int, seed: int) -> Rejections:
    """How often the procedure rejects.

    The same seed gives the same random numbers for every setting, so that curves are smooth.

    Parameters
    ----------
    outlook : Outlook
    setting : Setting
    repetitions : int
    seed : int

    Returns
    -------
    Rejections
    """
    z = weakest_margins(outlook, setting, repetitions, seed)
    # The lower median p-value is that of the split with the ((K + 1) // 2)-th largest margin.
    deciding = -np.sort(-z, axis=1)[:, (z.shape[1] - 1) // 2]
    level = combined_threshold(setting.alpha, setting.splits, "median", setting.folds)
    rejected = int((deciding > ndtri(1 - level)).sum())
    near = (rejected + 1) / (repetitions + 2)
    error = float(np.sqrt(near * (1 - near) / repetitions))
    return Rejections(rejected / repetitions, error, float(np.clip(deciding, -50, 50).mean()))


def weakest_margins(outlook: Outlook, setting: Setting, repetitions: int, seed: int) -> FloatArray:
    """The normal quantile of one minus each split's p-value, shape (repetitions, splits); with folds, one for all."""
    mean, covariance = outlook.at(max(setting.training_rows, 1))
    test, train = split_means(outlook, setting, mean, covariance, repetitions, seed)
    z = margins(outlook, setting.claim, mean, covariance / setting.test_rows, setting.test_rows, test, train, seed)
    return z.reshape(repetitions, -1)


def split_means(
    outlook: Outlook, setting: Setting, mean: FloatArray, covariance: FloatArray, repetitions: int, seed: int
) -> tuple[FloatArray, FloatArray | None]:
    """Mean contributions over each split's test rows and over its training rows, (repetitions * splits, width) each.

    With folds, over all rows, (repetitions, width), and None.
    """
    n, training = setting.rows, max(setting.training_rows, 1)
    common, own = _noise(repetitions, setting.splits, outlook.width, seed)
    fit, shared = outlook.fit, outlook.shared
    everyone = common @ root(covariance + fit + shared).T
    if setting.folds is not None:
        return mean + everyone / np.sqrt(n), None
    to_train, to_test = n / training - 1, n / setting.test_rows - 1
    test = own @ root(to_test * covariance + to_train * fit - shared).T
    sampling = root(covariance).T
    train = (common @ sampling)[:, None] - np.sqrt(to_train) * (own @ sampling)
    shape, size = (-1, outlook.width), np.sqrt(n)
    return (mean + (everyone[:, None] + test) / size).reshape(shape), (mean + train / size).reshape(shape)


@lru_cache(maxsize=4)
def _noise(repetitions: int, splits: int, width: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Standard normal numbers, common to all splits and of each split's own."""
    first, second = (np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(part,))) for part in range(2))
    return first.standard_normal((repetitions, width)), second.standard_normal((repetitions, splits, width))
