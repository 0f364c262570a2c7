"""Draws of rows, clusters and strata: their moments are those of slow, obvious estimators, and no estimate moves."""

import numpy as np
import pytest
from scipy.stats import kstest, t

from improvable.data.arrays import FloatArray, IntArray
from improvable.errors import DataError
from improvable.inference.cells import Cells, count
from improvable.inference.drawing import draw_clusters, draw_rows, loads_of, stretch
from improvable.inference.rare import FEWEST_SEEN, resample_rare
from improvable.inference.resampling import resample, resample_strata
from improvable.inference.statistics import utilities_of

SEED = np.random.SeedSequence(3)
DRAWS = 20_000


def one_block(values: FloatArray) -> Cells:
    return count(values, np.zeros(len(values), dtype=np.int64), 1)


def linearized_variance(clusters: FloatArray, stratum: IntArray) -> float:
    """Of sum u / sum w in a stratified design, the textbook's: by stratum, n / (n - 1) sum of squared deviations."""
    u, w = clusters.sum(axis=0)
    residual = (clusters[:, 0] - u / w * clusters[:, 1]) / w
    total = 0.0
    for one in np.unique(stratum):
        z = residual[stratum == one]
        total += len(z) / (len(z) - 1) * float(((z - z.mean()) ** 2).sum())
    return total


@pytest.mark.parametrize(("strata", "size"), [(40, 2), (25, 3), (1, 60), (4, 20)])
def test_the_variance_within_strata_is_the_linearized_one(strata: int, size: int) -> None:
    rng = np.random.default_rng(strata)
    stratum = np.repeat(np.arange(strata), size)
    w = rng.integers(20, 30, strata * size).astype(float)
    u = w * (1 + 0.5 * rng.random(strata)[stratum] + rng.normal(0, 0.1, len(w)))
    clusters = np.stack([u, w], axis=1)
    cells = [one_block(clusters[stratum == one]) for one in range(strata)]
    drawn = resample_strata(cells, DRAWS, SEED)[:, 0]
    expected = linearized_variance(clusters, stratum)
    assert np.var(drawn[:, 0] / drawn[:, 1]) == pytest.approx(expected, rel=0.05)
    np.testing.assert_allclose(drawn.mean(axis=0), clusters.sum(axis=0), rtol=5e-3)


def test_drawing_all_clusters_at_once_ignores_what_strata_explain() -> None:
    rng = np.random.default_rng(1)
    stratum = np.repeat(np.arange(20), 2)
    clusters = np.stack([10.0 * stratum + rng.normal(0, 1, 40), np.full(40, 10.0)], axis=1)
    together = resample_strata([one_block(clusters)], 4_000, SEED)[:, 0]
    within = resample_strata([one_block(clusters[stratum == one]) for one in range(20)], 4_000, SEED)[:, 0]
    assert np.std(together[:, 0]) > 10 * np.std(within[:, 0])


def test_a_stratum_of_one_cluster_is_refused() -> None:
    cells = [one_block(np.ones((n, 2))) for n in (3, 1, 1)]
    with pytest.raises(DataError, match="2 of 3 strata have only one cluster"):
        resample_strata(cells, 10, SEED)


def test_silent_clusters_count_as_clusters() -> None:
    """With 4 clusters of which 2 contribute nothing, a sum's variance is 4 / 3 times the sum of squared deviations."""
    values = np.array([[3.0, 1.0], [5.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    drawn = resample_strata([one_block(values)], DRAWS, SEED)[:, 0, 0]
    assert np.var(drawn) == pytest.approx(4 / 3 * ((values[:, 0] - 2) ** 2).sum(), rel=0.05)


def test_workers_do_not_change_draws_within_strata() -> None:
    cells = [one_block(np.random.default_rng(s).normal(size=(6, 2))) for s in range(5)]
    np.testing.assert_array_equal(resample_strata(cells, 1_200, SEED), resample_strata(cells, 1_200, SEED, workers=3))


def test_stretched_normal_draws_are_students_t() -> None:
    normal = np.random.default_rng(5).normal(size=(DRAWS, 2, 1))
    out = stretch(normal, np.zeros((2, 1)), np.array([9.0, np.inf]), SEED)
    assert kstest(out[:, 0, 0], t(9).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(out[:, 1], normal[:, 1])


def test_draws_of_clusters_have_the_spread_of_students_t() -> None:
    clusters = np.stack([np.random.default_rng(2).normal(size=12), np.ones(12)], axis=1)
    drawn = draw_clusters([one_block(clusters)], DRAWS, SEED)[:, 0, 0]
    plain = resample_strata([one_block(clusters)], DRAWS, SEED)[:, 0, 0]
    assert np.var(drawn) == pytest.approx(np.var(plain) * 11 / 9, rel=0.06)


def rows_of(now: int, new: int, ones: int, rng: np.random.Generator, weights: bool = False) -> Cells:
    """One group: `now` rows of both algorithms, `new` of the candidate alone of which `ones` are successes."""
    outcome = np.concatenate([rng.random(now) < 0.6, np.arange(new) < ones]).astype(float)
    load = 1 + rng.pareto(1.5, now + new) if weights else np.ones(now + new)
    first = load * (np.arange(now + new) < now)
    return count(
        np.stack([first * outcome, first, load * outcome, load], axis=1), np.zeros(now + new, dtype=np.int64), 1
    )


def test_outcomes_not_seen_are_drawn_around_the_same_sums() -> None:
    cells = rows_of(200, 30, 30, np.random.default_rng(1))
    plain, drawn = resample(cells, DRAWS, SEED)[:, 0], resample_rare(cells, DRAWS, SEED)[:, 0]
    np.testing.assert_allclose(drawn.mean(axis=0), cells.sums()[0], rtol=5e-3)
    alone = [one[:, 2] - one[:, 0] - (one[:, 3] - one[:, 1]) for one in (plain, drawn)]  # minus the failures
    assert np.var(alone[0]) == 0.0
    assert np.var(alone[1]) == pytest.approx(1.0, rel=0.1)  # one failure added
    assert ((alone[1] - alone[1].mean()) ** 3).mean() > 0.5  # and turned: failures not seen would make it lean left


def test_draws_are_appendix_a_where_both_outcomes_are_seen_often_or_are_not_zero_one() -> None:
    rng = np.random.default_rng(2)
    often = rows_of(200, 60, FEWEST_SEEN, rng)
    np.testing.assert_array_equal(resample_rare(often, 500, SEED), resample(often, 500, SEED))
    np.testing.assert_array_equal(draw_rows([often], 500, SEED), resample(often, 500, SEED))
    counts = rng.poisson(3, 80).astype(float)
    chosen = rng.integers(0, 2, (80, 2)).astype(float)
    others = count(np.stack([chosen * counts[:, None], chosen], axis=2).reshape(80, 4), np.zeros(80, dtype=np.int64), 1)
    np.testing.assert_array_equal(resample_rare(others, 500, SEED), resample(others, 500, SEED))


def test_a_second_utility_is_drawn_as_before() -> None:
    """The correction of one utility leaves those of another, in which every row counts, as they were."""
    rng = np.random.default_rng(4)
    outcome, chosen = (rng.random(300) < 0.97).astype(float), np.stack([rng.random(300) < 0.5, np.ones(300)], axis=1)
    calibration = np.stack([chosen * outcome[:, None], chosen], axis=2).reshape(300, 4)
    selection = np.stack([chosen, np.ones((300, 2))], axis=2).reshape(300, 4)
    both = count(np.hstack([calibration, selection]), np.zeros(300, dtype=np.int64), 1)
    plain, drawn = (utilities_of(f(both, DRAWS, SEED)[:, 0, 4:].reshape(-1, 2, 2)) for f in (resample, resample_rare))
    np.testing.assert_allclose(drawn.mean(axis=0), utilities_of(both.sums()[0, 4:].reshape(2, 2)), rtol=5e-3)
    assert np.var(drawn[:, 0]) == pytest.approx(np.var(plain[:, 0]), rel=0.06)
    np.testing.assert_allclose(drawn[:, 1], 1.0, rtol=1e-12)


def test_kishs_effective_number() -> None:
    cells = rows_of(50, 20, 15, np.random.default_rng(6), weights=True)
    rows, effective = loads_of([cells])
    load = cells.values[:, [1, 3]]
    assert rows[0, 0].tolist() == [50, 70]
    np.testing.assert_allclose(effective[0, 0], load.sum(axis=0) ** 2 / (load**2).sum(axis=0))
    even = rows_of(50, 20, 15, np.random.default_rng(6))
    np.testing.assert_allclose(*loads_of([even]))


def test_uneven_weights_widen_draws_and_equal_ones_do_not() -> None:
    rng = np.random.default_rng(7)
    uneven, even = rows_of(60, 60, 30, rng, weights=True), rows_of(60, 60, 30, rng)
    assert np.std(draw_rows([uneven], 4_000, SEED)[:, 0, 2]) > 1.02 * np.std(resample(uneven, 4_000, SEED)[:, 0, 2])
    doubled = Cells(2 * even.values, even.block, even.counts, even.silent, even.blocks)
    np.testing.assert_array_equal(draw_rows([doubled], 500, SEED), 2 * draw_rows([even], 500, SEED))
