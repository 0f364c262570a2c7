"""Draws of rows, clusters and strata: their moments are those of slow, obvious
estimators, and no estimate moves.
"""

import numpy as np
import pytest

from improvable._typing import FloatArray, IntArray
from improvable.errors import DataError
from improvable.inference.bootstrap import resample_strata
from improvable.inference.cells import Cells, count

SEED = np.random.SeedSequence(3)
DRAWS = 20_000


def one_block(values: FloatArray) -> Cells:
    return count(values, np.zeros(len(values), dtype=np.int64), 1)


def linearized_variance(clusters: FloatArray, stratum: IntArray) -> float:
    """Of sum u / sum w in a stratified design, the textbook's: by stratum, n / (n - 1)
    sum of squared deviations.
    """
    u, w = clusters.sum(axis=0)
    residual = (clusters[:, 0] - u / w * clusters[:, 1]) / w
    total = 0.0
    for one in np.unique(stratum):
        z = residual[stratum == one]
        total += len(z) / (len(z) - 1) * float(((z - z.mean()) ** 2).sum())
    return total


@pytest.mark.parametrize(("strata", "size"), [(40, 2), (25, 3), (1, 60), (4, 20)])
def test_the_variance_within_strata_is_the_linearized_one(
    strata: int, size: int
) -> None:
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
    clusters = np.stack(
        [10.0 * stratum + rng.normal(0, 1, 40), np.full(40, 10.0)], axis=1
    )
    together = resample_strata([one_block(clusters)], 4_000, SEED)[:, 0]
    within = resample_strata(
        [one_block(clusters[stratum == one]) for one in range(20)], 4_000, SEED
    )[:, 0]
    assert np.std(together[:, 0]) > 10 * np.std(within[:, 0])


def test_a_stratum_of_one_cluster_is_refused() -> None:
    cells = [one_block(np.ones((n, 2))) for n in (3, 1, 1)]
    with pytest.raises(DataError, match="2 of 3 strata have only one cluster"):
        resample_strata(cells, 10, SEED)


def test_silent_clusters_count_as_clusters() -> None:
    """With 4 clusters of which 2 contribute nothing, a sum's variance is 4 / 3 times
    the sum of squared deviations.
    """
    values = np.array([[3.0, 1.0], [5.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    drawn = resample_strata([one_block(values)], DRAWS, SEED)[:, 0, 0]
    assert np.var(drawn) == pytest.approx(
        4 / 3 * ((values[:, 0] - 2) ** 2).sum(), rel=0.05
    )


def test_workers_do_not_change_draws_within_strata() -> None:
    cells = [one_block(np.random.default_rng(s).normal(size=(6, 2))) for s in range(5)]
    np.testing.assert_array_equal(
        resample_strata(cells, 1_200, SEED),
        resample_strata(cells, 1_200, SEED, workers=3),
    )
