"""What an audit's own repetitions say about running it again, each number against its
definition or a simulation.
"""

import math
from typing import Final

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import betabinom, binom, nct, t

import improvable
from improvable._typing import FloatArray
from improvable.inference.reruns import RerunRisk, rerun_risk
from improvable.inference.test import lower_median

FAIRLY: Final = [0.001, 0.004, 0.0, 0.01, 0.002, 0.03, 0.008]


def wrong(share: float, repetitions: int, reject: bool) -> float:
    """The chance that fresh repetitions do not decide to reject, or not to: at least
    half of them must be below.
    """
    needed = math.ceil(repetitions / 2)
    return float(
        binom.cdf(needed - 1, repetitions, share)
        if reject
        else binom.sf(needed - 1, repetitions, share)
    )


@pytest.mark.parametrize("repetitions", [2, 3, 4, 7, 20, 51])
@pytest.mark.parametrize("mean", [1.3, 1.9, 2.6])
def test_the_share_is_the_predictive_t_and_its_range_that_of_the_noncentral_t(
    mean: float, repetitions: int
) -> None:
    scores = np.random.default_rng(repetitions).normal(mean, 0.5, repetitions)
    p = ndtr(-scores)
    risk = rerun_risk(p.tolist(), draws=10**6)
    assert (risk.rejecting, risk.reject) == (
        (p < 0.025).sum(),
        bool(lower_median(p) < 0.025),
    )
    beyond = scores - ndtri(0.975)
    farthest = np.abs(beyond[beyond > 0] if risk.reject else beyond[beyond < 0]).max()
    beyond = beyond.clip(
        -farthest if risk.reject else None, None if risk.reject else farthest
    )
    distance = beyond.mean() / beyond.std(ddof=1)
    assert risk.share == pytest.approx(
        t.cdf(distance / math.sqrt(1 + 1 / repetitions), repetitions - 1), abs=1e-5
    )
    for end, chance in zip(risk.share_range, (0.95, 0.05), strict=True):
        center = math.sqrt(repetitions) * ndtri(end)
        assert nct.cdf(
            math.sqrt(repetitions) * distance, repetitions - 1, center
        ) == pytest.approx(chance, abs=1e-3)


@pytest.mark.parametrize(
    "p_values", [FAIRLY, [0.3, 0.01, 0.2], [0.02, 0.03], [0.5, 0.1, 0.03, 0.04]]
)
def test_the_risk_of_a_rerun_equals_a_simulation_of_its_definition(
    p_values: list[float],
) -> None:
    """Draw the variance, the mean and a fresh run of normal scores, again and again."""
    risk, count, rng, sets = (
        rerun_risk(p_values),
        len(p_values),
        np.random.default_rng(3),
        200_000,
    )
    scores = ndtri(1 - np.clip(p_values, 0.5e-4, 1 - 0.5e-4))
    deviation = scores.std(ddof=1) * np.sqrt(
        (count - 1) / rng.chisquare(count - 1, (sets, 1))
    )
    mean = scores.mean() + deviation / math.sqrt(count) * rng.normal(size=(sets, 1))
    fresh = (
        lower_median(ndtr(-(mean + deviation * rng.normal(size=(sets, count)))).T)
        < 0.025
    )
    assert risk.otherwise == pytest.approx(
        (fresh != risk.reject).mean(), abs=4 * math.sqrt(0.25 / sets)
    )
    ends = sorted(wrong(share, count, risk.reject) for share in risk.share_range)
    assert risk.otherwise_range == pytest.approx(ends)


def sizes(p_values: list[float], draws: int = 10_000) -> RerunRisk:
    return rerun_risk(p_values, draws=draws)


def test_sizes_count_and_not_only_sides() -> None:
    """By their number alone, three that agree leave 8% and a range up to 60%, seven 1%
    and a range up to 20%.
    """
    assert sizes([0.97, 0.99, 0.93]).otherwise_range[1] < 0.01
    assert sizes([1.0, 1.0, 1.0]).otherwise_range[1] < 0.01
    assert sizes([0.0] * 7).otherwise_range[1] < 0.001
    near, far = (
        [0.012, 0.021, 0.024, 0.009, 0.018, 0.006, 0.02],
        [0.0002, 0.001, 0.0, 0.0003, 0.0001, 0.0007, 0.002],
    )
    assert sizes(near).otherwise > 10 * sizes(far).otherwise


def test_equal_p_values_vary_as_their_draws_do() -> None:
    few, many = (sizes([0.02] * 7, draws).otherwise for draws in (500, 50_000))
    assert many < 1e-4 < 0.01 < few
    bound = math.sqrt(0.02 * 0.98 / 500)
    simulated = ndtri(
        1 - np.random.default_rng(1).binomial(500, 0.02, 20_000).clip(0.5) / 500
    ).std()
    assert bound * math.sqrt(2 * math.pi) * math.exp(
        ndtri(0.02) ** 2 / 2
    ) == pytest.approx(simulated, rel=0.15)


def test_one_that_changed_nothing_does_not_outweigh_those_that_decided() -> None:
    """A p-value of 1 is on the other side, however far: five against two reject more
    often than not.
    """
    risk = sizes([0.0] * 5 + [1.0] * 2)
    assert risk.reject
    assert 0.1 < risk.otherwise < 0.35
    assert risk.share_range[0] < 5 / 7 < risk.share_range[1]


def test_p_values_of_zero_are_below_any_threshold() -> None:
    risk = rerun_risk([0.0, 0.0, 0.0], draws=200, alpha=0.001)
    assert risk.reject
    assert risk.share > 0.5


def forward(rng: np.random.Generator, repetitions: int) -> FloatArray:
    """Scores of forward repetitions of one data set of 500 rows, one for each.

    The candidate of a block is what least squares on the rows before it would select;
    the status quo is right about as often.
    """
    rows, cuts = 500, np.array([0.1, 0.2, 0.4, 0.7])
    design = np.column_stack([np.ones(rows), rng.standard_normal((rows, 2))])
    outcome = rng.random(rows) < 0.5 + 0.12 * np.sign(design[:, 1])
    status_quo = rng.random(rows) < 0.5
    place = rng.random((repetitions, rows))
    block = np.searchsorted(cuts, place, side="right")
    decided = np.zeros((repetitions, rows), dtype=bool)
    for number, cut in enumerate(cuts, start=1):
        learns = (place < cut).astype(float)
        gram = np.einsum("kr,ri,rj->kij", learns, design, design, optimize=True)
        fitted = np.linalg.solve(
            gram, (learns @ (design * outcome[:, None]))[..., None]
        )[..., 0]
        decided = np.where(block == number, fitted @ design.T > 0.5, decided)
    gain = np.where(
        block > 0, (decided == outcome) * 1.0 - (status_quo == outcome), np.nan
    )
    tested = (block > 0).sum(axis=1)
    return np.asarray(
        np.nanmean(gain, axis=1) / (np.nanstd(gain, axis=1) / np.sqrt(tested))
    )


def test_the_interval_covers_the_truth_as_often_as_it_says_and_sizes_beat_counts() -> (
    None
):
    """Forward repetitions of 40 data sets: 210 of each tell the truth, and 15 audits of
    seven are made of them.
    """
    rng = np.random.default_rng(5)
    covered, by_size, by_count = [], [], []
    for _ in range(40):
        p = ndtr(-forward(rng, 210))
        share = (p < 0.025).mean()
        for run in p.reshape(30, 7)[::2]:
            risk = sizes(run.tolist())
            truth = wrong(share, 7, risk.reject)
            if 0.1 < share < 0.9:
                covered.append(
                    risk.otherwise_range[0] <= truth <= risk.otherwise_range[1]
                )
            # with Jeffreys' prior
            counted = betabinom(7, risk.rejecting + 0.5, 7.5 - risk.rejecting)
            by_size.append(risk.otherwise - truth)
            by_count.append((counted.cdf(3) if risk.reject else counted.sf(3)) - truth)
    assert len(covered) > 150
    assert 0.86 < np.mean(covered) < 0.96
    assert abs(np.mean(by_size)) < 0.02
    assert np.square(by_size).mean() < np.square(by_count).mean()


@pytest.mark.parametrize(
    ("mean", "spread"),
    [(2.2, 0.5), (2.5, 0.8), (3.0, 1.0), (3.5, 0.7), (0.5, 1.0), (-1.0, 0.5)],
)
@pytest.mark.parametrize("draws", [500, 10_000])
def test_the_range_covers_where_draws_see_no_p_value(
    mean: float, spread: float, draws: int
) -> None:
    """Normal scores; of 500 draws up to two thirds of the p-values are 0. 100 audits: a
    Monte Carlo error of 3 points.

    Repetitions of one data set have normal scores with a spread of at most one, that of
    all data sets under the null.
    """
    rng, covered = np.random.default_rng(8), []
    share = float(ndtr((mean - ndtri(0.975)) / spread))
    for _ in range(100):
        p = rng.binomial(draws, ndtr(-(mean + spread * rng.normal(size=7)))) / draws
        risk = rerun_risk(p.tolist(), draws=draws)
        low, high = risk.otherwise_range
        truth = wrong(share, 7, risk.reject)
        covered.append(
            math.floor(100 * low) / 100 <= truth <= math.ceil(100 * high) / 100
        )
    assert np.mean(covered) > 0.9 - 3 * math.sqrt(0.09 / 100)


def test_one_repetition_says_nothing_about_others() -> None:
    with pytest.raises(
        improvable.OptionError, match="one repetition says nothing about others"
    ):
        rerun_risk([0.04])
