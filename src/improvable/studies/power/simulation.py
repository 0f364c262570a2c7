"""Whole audits simulated by their sums: K repetitions of the same rows, their p-values, and the verdict.

A repetition gives each of the n rows a place s in a random order, uniform on (0, 1). Cuts c_1 < ... < c_m divide the
places: block b lies between c_b and the next cut, and w_b is its share of the tested rows, which are those beyond c_1.
Its candidate learns from the rows before c_b; to first order this moves the candidate's mean contribution by the mean
of some phi over these rows. Where a row is tested, it contributes its own deviation epsilon. So the mean contribution
over all tested rows of a repetition is

    the mean of the mixture of candidates + sum over rows of (g(s) epsilon + h(s) phi) / n,

    g(s) = 1{s > c_1} / (1 - c_1),    h(s) = sum over b of w_b 1{s < c_b} / c_b,

and over places E g = E h = 1. Let Sigma and Phi be the covariances of epsilon and phi, and Gamma that of phi and
epsilon of one row. Another repetition gives the same rows independent places, so that two have the covariance

    (Sigma + Phi + Gamma + Gamma') / n,

whatever the cuts, and the variance of one is

    (Sigma E g^2 + Phi E h^2 + (Gamma + Gamma') E gh) / n,

    E g^2 = 1 / (1 - c_1),    E h^2 = sum over b and d of w_b w_d / max(c_b, c_d),
    E gh = sum over b of w_b (c_b - c_1) / (c_b (1 - c_1)).

The difference is each repetition's own. The paper's split has one cut, c: E g^2 = 1 / (1 - c), E h^2 = 1 / c and
E gh = 0. Its reference pair of groups comes from the training rows; a forward repetition chooses it on the rows tested.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from improvable.data.arrays import FloatArray
from improvable.inference.assessment import threshold_for
from improvable.procedure.splitting import FEWEST_ROWS, Cuts, forward_cuts
from improvable.question.claim import Claim
from improvable.question.settings import Scheme
from improvable.studies.power.claim_margins import margins
from improvable.studies.power.outlook import Outlook, root


@dataclass(frozen=True)
class Setting:
    """How an audit is to be run.

    Attributes
    ----------
    rows : int
        n, training and test rows together.
    repetitions : int
    claim : Claim
    alpha : float
    scheme : {"forward", "split"}
    train_fraction : float
        Of the paper's split.
    teaching : (float, str)
        How many rows the first block of a forward repetition must hold to teach, and what for.
    """

    rows: int
    repetitions: int
    claim: Claim
    alpha: float
    scheme: Scheme = "forward"
    train_fraction: float = 0.5
    teaching: tuple[float, str] = (FEWEST_ROWS, f"{FEWEST_ROWS} rows")

    @property
    def cuts(self) -> Cuts:
        if self.scheme == "split":
            return Cuts((self.train_fraction,))
        rows, reason = self.teaching
        return forward_cuts(rows / self.rows, reason)

    @property
    def training_rows(self) -> tuple[int, ...]:
        """That the candidate of each block learns from."""
        return tuple(int(cut * self.rows) for cut in self.cuts.ends)

    @property
    def test_rows(self) -> int:
        return self.rows - self.training_rows[0]


@dataclass(frozen=True)
class Rejections:
    """What the simulated audits gave.

    Attributes
    ----------
    power : float
        The share of audits that reject.
    error : float
        Its Monte Carlo standard error.
    margin : float
        The mean over audits of the deciding repetition's weakest component, in standard errors.
    """

    power: float
    error: float
    margin: float


def simulate(outlook: Outlook, setting: Setting, simulations: int, seed: int) -> Rejections:
    """How often an audit rejects.

    The same seed gives the same random numbers for every setting, so that curves are smooth.
    """
    z = weakest_margins(outlook, setting, simulations, seed)
    # The lower median p-value is that of the repetition with the ((K + 1) // 2)-th largest margin.
    deciding = -np.sort(-z, axis=1)[:, (z.shape[1] - 1) // 2]
    level = threshold_for(setting.alpha, setting.repetitions)
    rejected = int((deciding > ndtri(1 - level)).sum())
    near = (rejected + 1) / (simulations + 2)
    error = float(np.sqrt(near * (1 - near) / simulations))
    return Rejections(rejected / simulations, error, float(np.clip(deciding, -50, 50).mean()))


def weakest_margins(outlook: Outlook, setting: Setting, simulations: int, seed: int) -> FloatArray:
    """The normal quantile of one minus each repetition's p-value, shape (simulations, repetitions)."""
    mean, covariance = mixture_moments(outlook, setting)
    test, train = repetition_means(outlook, setting, mean, covariance, simulations, seed)
    z = margins(outlook, setting.claim, mean, covariance / setting.test_rows, setting.test_rows, test, train, seed)
    return z.reshape(simulations, -1)


def mixture_moments(outlook: Outlook, setting: Setting) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of a tested row's contribution, each block having its candidate."""
    each = [outlook.at(max(training, 1)) for training in setting.training_rows]
    means, covariances = (np.stack(parts) for parts in zip(*each, strict=True))
    weights, _ = block_moments(setting.cuts.ends)
    return weights @ means, np.tensordot(weights, covariances, axes=1)


def repetition_means(
    outlook: Outlook, setting: Setting, mean: FloatArray, covariance: FloatArray, simulations: int, seed: int
) -> tuple[FloatArray, FloatArray | None]:
    """Mean contributions over the rows that each repetition tests, shape (simulations * repetitions, width).

    With the paper's split also those over its training rows, which choose the reference pair of groups.
    """
    fit, shared, shape, size = outlook.fit, outlook.shared, (-1, outlook.width), np.sqrt(setting.rows)
    common, own = _noise(simulations, setting.repetitions, outlook.width, seed)
    _, (tested, taught, both) = block_moments(setting.cuts.ends)
    everyone = common @ root(covariance + fit + shared).T
    alone = own @ root((tested - 1) * covariance + (taught - 1) * fit + (both - 1) * shared).T
    test = (mean + (everyone[:, None] + alone) / size).reshape(shape)
    if setting.scheme == "forward":
        return test, None
    sampling = root(covariance).T
    train = (common @ sampling)[:, None] - np.sqrt(taught - 1) * (own @ sampling)
    return test, (mean + train / size).reshape(shape)


def block_moments(cuts: tuple[float, ...]) -> tuple[FloatArray, tuple[float, float, float]]:
    """The blocks' shares of the tested rows, w, and (E g^2, E h^2, E gh).

    Examples
    --------
    >>> weights, moments = block_moments((0.1, 0.2, 0.4, 0.7))
    >>> weights.round(2).tolist(), [round(one, 2) for one in moments]
    ([0.11, 0.22, 0.33, 0.33], [1.11, 2.24, 0.72])
    """
    ends, tested = np.array(cuts), 1 / (1 - cuts[0])
    weights = tested * np.diff([*cuts, 1.0])
    taught = float(weights @ (1 / np.maximum.outer(ends, ends)) @ weights)
    both = tested * float(weights @ (1 - cuts[0] / ends))
    return weights, (tested, taught, both)


@lru_cache(maxsize=4)
def _noise(simulations: int, repetitions: int, width: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Standard normal numbers, common to all repetitions and of each repetition's own."""
    first, second = (np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(part,))) for part in range(2))
    return first.standard_normal((simulations, width)), second.standard_normal((simulations, repetitions, width))
