"""Appendix E: the fast simulation is the library's own test, and shows what the paper
and theory say.
"""

import numpy as np
import pytest

import improvable
from improvable.inference.test import lower_tail
from oracle import folded_statistic, signed_statistics
from replication.appendix_e import COVARIANCE, MEAN_GAP, appendix_e, rejections


@pytest.mark.paper("Appendix E")
@pytest.mark.parametrize("seed", range(5))
def test_one_repetition_is_what_the_library_computes(seed: int) -> None:
    """Groups r and b with F_r - F_b = Gamma and F_b = 0, statistic by statistic."""
    rng = np.random.default_rng(seed)
    size, draws = 80, 400
    noise = rng.multivariate_normal([0, 0], COVARIANCE, size=size)
    rows = rng.integers(0, size, size=(draws, size))
    resampled = noise[rows].mean(axis=1).T
    claims = np.array(
        [(eta, delta) for eta in (0.0, 0.4, 1.0, 1.6) for delta in (0.0, 0.5, -0.3)]
    )
    fast = rejections(noise.mean(axis=0), resampled, claims, 0.05)
    means = noise.mean(axis=0)
    for (eta, delta), (absolute, signed) in zip(claims, fast, strict=True):
        now, now_drawn = (
            np.stack([MEAN_GAP + x, 0 * x], axis=-1) for x in (means[0], resampled[0])
        )
        new, new_drawn = (
            np.stack([eta + x, 0 * x], axis=-1) for x in (means[1], resampled[1])
        )
        folded = (
            folded_statistic(now, new, delta, "ratio"),
            folded_statistic(now_drawn, new_drawn, delta, "ratio"),
        )
        assert absolute == (lower_tail(float(folded[0]), folded[1], 1.0).p_value < 0.05)
        sides = (
            signed_statistics(now, new, (0, 1), delta, "ratio"),
            signed_statistics(now_drawn, new_drawn, (0, 1), delta, "ratio"),
        )
        tails = [
            lower_tail(float(sides[0][j]), sides[1][:, j], 1.0).p_value
            for j in range(2)
        ]
        assert signed == (max(tails) < 0.05)


def test_curves_are_the_same_for_any_number_of_workers() -> None:
    options = {
        "etas": [0.5, 1.2],
        "sizes": [50],
        "simulations": 120,
        "draws": 100,
        "seed": 3,
    }
    assert appendix_e(**options, workers=1) == appendix_e(**options, workers=2)  # type: ignore[arg-type]


@pytest.mark.paper("Appendix E", "Figure 5")
def test_level_power_and_the_fold() -> None:
    """2,000 simulations of 500 draws: Monte Carlo error at most .011; margins are four
    of them.
    """
    results = appendix_e(
        [0.0, 0.5, MEAN_GAP],
        sizes=[100, 400],
        simulations=2_000,
        draws=500,
        seed=1,
        workers=2,
    )
    by = {(one.size, one.eta): one for one in results}
    for size in (100, 400):
        assert by[size, MEAN_GAP].absolute == pytest.approx(0.05, abs=0.02)
        assert by[size, MEAN_GAP].signed == pytest.approx(0.05, abs=0.02)
        assert by[size, MEAN_GAP].null
        assert not by[size, 0.0].null
    assert by[100, 0.0].absolute == pytest.approx(0.90, abs=0.03)
    assert by[100, 0.0].signed == pytest.approx(0.83, abs=0.035)
    # the dip at perfect fairness
    assert by[100, 0.5].absolute > by[100, 0.0].absolute + 0.04
    assert by[400, 0.0].absolute > 0.99
    near, far = appendix_e(
        [0.2 * MEAN_GAP],
        [0.8],
        [100, 400],
        simulations=2_000,
        draws=500,
        seed=2,
        workers=2,
    )
    for one, folded in ((near, 0.229), (far, 0.192)):
        assert one.null
        assert one.absolute == pytest.approx(folded, abs=0.04)
        assert one.signed < 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"simulations": 0}, "`simulations` is 0"),
        ({"sizes": [1]}, "a sample size is 1"),
        ({"alpha": 2}, "`alpha` is 2"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(improvable.OptionError, match=words):
        appendix_e(**options)  # type: ignore[arg-type]
