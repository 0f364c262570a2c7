"""Whole audits simulated by their sums: K repetitions of the same rows, their p-values,
and the verdict.

A repetition gives each of the n rows a place s in a random order, uniform on (0, 1).
Cuts c_1 < ... < c_m divide the places: block b lies between c_b and the next cut, and
w_b is its share of the tested rows, which are those beyond c_1. Its candidate learns
from the rows before c_b; to first order this moves the candidate's mean contribution by
the mean of some phi over these rows. Where a row is tested, it contributes its own
deviation epsilon. So the mean contribution over all tested rows of a repetition is

    the mean of the mixture of candidates + sum over rows of (g(s) epsilon + h(s) phi) /
    n,

    g(s) = 1{s > c_1} / (1 - c_1),    h(s) = sum over b of w_b 1{s < c_b} / c_b,

and over places E g = E h = 1. Let Sigma and Phi be the covariances of epsilon and phi,
and Gamma that of phi and epsilon of one row. Another repetition gives the same rows
independent places, so that two have the covariance

    (Sigma + Phi + Gamma + Gamma') / n,

whatever the cuts, and the variance of one is

    (Sigma E g^2 + Phi E h^2 + (Gamma + Gamma') E gh) / n,

    E g^2 = 1 / (1 - c_1),    E h^2 = sum over b and d of w_b w_d / max(c_b, c_d),
    E gh = sum over b of w_b (c_b - c_1) / (c_b (1 - c_1)).

The difference is each repetition's own. The paper's split has one cut, c: E g^2 = 1 /
(1 - c), E h^2 = 1 / c and E gh = 0. Its reference pair of groups comes from the
training rows; a forward repetition chooses it on the rows tested.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import get_args

import numpy as np
from scipy.special import ndtri

from improvable._typing import FloatArray
from improvable.errors import OptionError
from improvable.inference.test import threshold_for
from improvable.procedure.split import MIN_ROWS, Cuts, forward_cuts
from improvable.question.claim import Claim
from improvable.question.options import check_choice, check_integer, check_number
from improvable.question.settings import Scheme
from improvable.studies.power.assumptions import Outlook, root
from improvable.studies.power.margins import margins

PLAN_ROWS = 40  # the fewest that a plan is made for
MAX_MULTIPLE = 100  # of the rows asked for: how far a sample size is looked for
STEP = 1.02  # between the sample sizes tried
RANGE = 0.8  # the confidence of a range of power
SHIFTS, SHIFT_SIMULATIONS = 200, 200


@dataclass(frozen=True)
class Setting:
    """How an audit is to be run, and how often it is simulated."""

    rows: int  # n, training and test rows together
    repetitions: int
    claim: Claim
    alpha: float
    scheme: Scheme = "forward"
    train_fraction: float = 0.5  # of the paper's split
    teaching: tuple[float, str] = (MIN_ROWS, f"{MIN_ROWS} rows")  # that of `Outlook`
    simulations: int = 2_000
    # one seed gives the same random numbers in every setting, so curves are smooth
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("rows", self.rows, PLAN_ROWS)
        check_integer("repetitions", self.repetitions, 1)
        check_number("alpha", self.alpha, 0, 0.5)
        check_choice("scheme", self.scheme, get_args(Scheme))
        check_number("train_fraction", self.train_fraction, 0, 1)
        check_integer("simulations", self.simulations, 100)
        check_integer("seed", self.seed, 0)

    @property
    def fraction(self) -> float | None:
        return self.train_fraction if self.scheme == "split" else None

    @property
    def cuts(self) -> Cuts:
        rows, reason = self.teaching
        return (
            Cuts((self.train_fraction,))
            if self.scheme == "split"
            else forward_cuts(rows / self.rows, reason)
        )

    @property
    def training_rows(self) -> tuple[int, ...]:
        """The rows that the candidate of each block learns from."""
        return tuple(int(cut * self.rows) for cut in self.cuts.ends)

    @property
    def test_rows(self) -> int:
        return self.rows - self.training_rows[0]

    @property
    def feasible(self) -> bool:
        return min(self.training_rows[0], self.test_rows) > 0


@dataclass(frozen=True)
class Rejections:
    power: float  # the share of audits that reject
    error: float  # its Monte Carlo standard error
    # the mean over audits of the deciding repetition's weakest component, in standard
    # errors
    margin: float


def simulate(outlook: Outlook, setting: Setting) -> Rejections:
    """How often an audit rejects."""
    simulations, rows = setting.simulations, setting.test_rows
    mean, covariance = mixture_moments(outlook, setting)
    test, train = repetition_means(outlook, setting, mean, covariance)
    z = margins(
        outlook, setting.claim, mean, covariance / rows, rows, test, train, setting.seed
    )
    # The lower median p-value is that of the repetition with the ((K + 1) // 2)-th
    # largest margin.
    deciding = -np.sort(-z.reshape(simulations, -1), axis=1)[
        :, (setting.repetitions - 1) // 2
    ]
    rejected = int(
        (deciding > ndtri(1 - threshold_for(setting.alpha, setting.repetitions))).sum()
    )
    near = (rejected + 1) / (simulations + 2)
    error = float(np.sqrt(near * (1 - near) / simulations))
    return Rejections(
        rejected / simulations, error, float(np.clip(deciding, -50, 50).mean())
    )


def mixture_moments(
    outlook: Outlook, setting: Setting
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of a tested row's contribution, each block having its
    candidate.
    """
    each = [outlook.at(max(training, 1)) for training in setting.training_rows]
    means, covariances = (np.stack(parts) for parts in zip(*each, strict=True))
    weights, _ = block_moments(setting.cuts.ends)
    return weights @ means, np.tensordot(weights, covariances, axes=1)


def repetition_means(
    outlook: Outlook, setting: Setting, mean: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray | None]:
    """Mean contributions over the rows that each repetition tests and, in the paper's
    split, over those that train.

    Their shape is (simulations * repetitions, width). The training rows of a split
    choose the reference pair of groups.
    """
    fit, shared, shape, size = (
        outlook.fit,
        outlook.shared,
        (-1, outlook.width),
        np.sqrt(setting.rows),
    )
    common, own = _noise(
        setting.simulations, setting.repetitions, outlook.width, setting.seed
    )
    _, (tested, taught, both) = block_moments(setting.cuts.ends)
    everyone = common @ root(covariance + fit + shared).T
    alone = (
        own
        @ root((tested - 1) * covariance + (taught - 1) * fit + (both - 1) * shared).T
    )
    test = (mean + (everyone[:, None] + alone) / size).reshape(shape)
    if setting.scheme == "forward":
        return test, None
    sampling = root(covariance).T
    train = (common @ sampling)[:, None] - np.sqrt(taught - 1) * (own @ sampling)
    return test, (mean + train / size).reshape(shape)


def block_moments(
    cuts: tuple[float, ...],
) -> tuple[FloatArray, tuple[float, float, float]]:
    """The blocks' shares of the tested rows, w, and (E g^2, E h^2, E gh)."""
    ends, tested = np.array(cuts), 1 / (1 - cuts[0])
    weights = tested * np.diff([*cuts, 1.0])
    taught = float(weights @ (1 / np.maximum.outer(ends, ends)) @ weights)
    both = tested * float(weights @ (1 - cuts[0] / ends))
    return weights, (tested, taught, both)


@lru_cache(maxsize=4)
def _noise(
    simulations: int, repetitions: int, width: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Standard normal numbers, common to all repetitions and of each repetition's
    own.
    """
    first, second = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(part,)))
        for part in range(2)
    )
    return first.standard_normal((simulations, width)), second.standard_normal(
        (simulations, repetitions, width)
    )


@dataclass(frozen=True, kw_only=True)
class PowerPoint:
    """The power with some number of rows, by one scheme."""

    rows: int
    scheme: str
    train_fraction: float | None  # None where the scheme is forward
    power: float  # the share of simulated audits that reject
    error: float  # its Monte Carlo standard error
    # the 80% range of the power: what another pilot of this size could have said; None
    # without one
    low: float | None
    high: float | None
    # of one repetition; of a forward one, what the last candidate learns from
    training_rows: int
    test_rows: int
    # whether the pilot covers these numbers of training rows: "studied", "below" or
    # "beyond"
    reach: str


@dataclass(frozen=True)
class SampleSize:
    """The rows that reach the wanted power; None where even `most_tried` do not."""

    scheme: str
    train_fraction: float | None
    rows: int | None
    rows_low: int | None  # one Monte Carlo error below the wanted power
    rows_high: int | None  # and above
    rows_at_low_end: int | None  # needed at the lower end of the range of power
    most_tried: int


def power_point(setting: Setting, outlooks: Sequence[Outlook]) -> PowerPoint:
    """The power under the first outlook and, for a range, under the others."""
    if not setting.feasible:
        what = (
            f"a train fraction of {setting.train_fraction:g} of {setting.rows:,} rows "
            "leaves a part empty."
        )
        raise OptionError(what, "Give another fraction, or more rows.")
    results = [simulate(outlook, setting) for outlook in outlooks]
    powers = [result.power for result in results]
    has_range = len(powers) > 1
    training = setting.training_rows
    return PowerPoint(
        rows=setting.rows,
        scheme=setting.scheme,
        train_fraction=setting.fraction,
        power=powers[0],
        error=results[0].error,
        low=min(powers) if has_range else None,
        high=max(powers) if has_range else None,
        training_rows=training[-1],
        test_rows=setting.test_rows,
        reach=outlooks[0].reach(training),
    )


def range_of_outlooks(outlook: Outlook, setting: Setting) -> list[Outlook]:
    """The pilot might have shown another mean: the two that bound `RANGE` of what the
    power may be.

    What counts is how far the weakest component of the deciding repetition stands from
    its null, on average. Where components tie, the weakest looks weaker than it is:
    once in the pilot, and once more around it. So the middle `RANGE` of what could be
    shown lies too low, and reflected in what the pilot showed, as centered intervals
    are, it lies too high where the pilot was lucky. The outer ends of both are taken.
    """
    if not outlook.uncertainty.any():
        return []
    few = replace(setting, simulations=SHIFT_SIMULATIONS)
    rng = np.random.default_rng(np.random.SeedSequence(setting.seed, spawn_key=(3,)))
    shifts = rng.standard_normal((SHIFTS, outlook.width)) @ root(outlook.uncertainty).T
    views = [replace(outlook, means=outlook.means + shift) for shift in shifts]
    margins, own = (
        np.array([simulate(view, few).margin for view in views]),
        simulate(outlook, few).margin,
    )
    low, high = np.quantile(margins, [(1 - RANGE) / 2, (1 + RANGE) / 2])
    ends = min(low, 2 * own - high), max(high, 2 * own - low)
    return [views[int(np.abs(margins - end).argmin())] for end in ends]


def sample_size(
    setting: Setting, wanted: float, outlooks: Sequence[Outlook]
) -> SampleSize:
    """The fewest rows that reach the wanted power, by bisection on a fixed ladder of
    sizes.
    """
    steps = round(float(np.log(MAX_MULTIPLE * setting.rows / PLAN_ROWS) / np.log(STEP)))
    ladder = [rounded(PLAN_ROWS * STEP**i) for i in range(steps + 1)]

    @cache
    def found(view: int, rows: int) -> Rejections:
        return simulate(outlooks[view], replace(setting, rows=rows))

    def fewest(view: int, goal: float) -> int | None:
        def reaches(rows: int) -> bool:
            return (
                replace(setting, rows=rows).feasible and found(view, rows).power >= goal
            )

        if not reaches(ladder[steps]):
            return None
        low, high = -1, steps
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reaches(ladder[middle]) else (middle, high)
        return ladder[high]

    rows = fewest(0, wanted)
    error = found(0, setting.rows if rows is None else rows).error
    low, high = (
        fewest(0, wanted - error),
        fewest(0, wanted + error) if wanted + error < 1 else None,
    )
    at_low_end = fewest(1, wanted) if len(outlooks) > 1 else None
    return SampleSize(
        setting.scheme, setting.fraction, rows, low, high, at_low_end, ladder[-1]
    )


def rounded(rows: float) -> int:
    """Three significant digits: a plan is not more precise than that."""
    return int(float(f"{rows:.3g}"))
