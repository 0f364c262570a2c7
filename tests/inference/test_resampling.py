"""Draws are those of Appendix A, whichever of the two ways made them, and never depend on workers."""

import numpy as np
import pytest

from improvable.inference import resampling
from improvable.inference.cells import Cells, count
from improvable.inference.resampling import child, resample


def some_cells(rows: int = 300, distinct: int = 5) -> Cells:
    rng = np.random.default_rng(1)
    values = rng.integers(0, distinct, size=(rows, 2)).astype(float)
    return count(values, rng.integers(0, 2, rows), 2)


def continuous_cells() -> Cells:
    rng = np.random.default_rng(2)
    return count(rng.normal(size=(300, 2)) * (rng.random((300, 1)) < 0.5), rng.integers(0, 2, 300), 2)


@pytest.mark.parametrize("make", [some_cells, continuous_cells])
def test_both_ways_have_the_mean_and_covariance_of_resampled_rows(make: object) -> None:
    """Exact moments of a multinomial; 20,000 draws put Monte Carlo error at 0.7% of a standard deviation."""
    cells = make()  # type: ignore[operator]
    flat = np.zeros((len(cells.counts), 4))
    for b, part in enumerate(cells.slices()):
        flat[part, 2 * b : 2 * b + 2] = cells.values[part]
    share = cells.counts / cells.rows
    mean = cells.counts @ flat
    second = (flat * cells.counts[:, None]).T @ flat
    covariance = second - np.outer(mean, mean) / cells.rows
    spread = np.sqrt(np.diag(covariance))
    assert share.sum() <= 1 + 1e-12
    for way in (resampling._draw_cells, resampling._draw_rows):
        draws = way(cells, 20_000, np.random.default_rng(5)).reshape(20_000, 4)
        np.testing.assert_allclose((draws.mean(axis=0) - mean) / spread, 0, atol=0.04)
        np.testing.assert_allclose(
            np.cov(draws.T) / np.outer(spread, spread), covariance / np.outer(spread, spread), atol=0.06
        )


@pytest.mark.parametrize("make", [some_cells, continuous_cells])
def test_workers_change_no_bit(make: object) -> None:
    cells = make()  # type: ignore[operator]
    seed = np.random.SeedSequence(3)
    np.testing.assert_array_equal(resample(cells, 1_700, seed, workers=1), resample(cells, 1_700, seed, workers=3))


def test_the_cheaper_way_is_chosen() -> None:
    assert resampling._prefers_cells(some_cells(rows=3_000))
    assert not resampling._prefers_cells(continuous_cells())


def test_every_block_of_draws_has_a_seed_of_its_own() -> None:
    """A bootstrap that cycles its seeds has fewer draws than it says."""
    draws = resample(continuous_cells(), 5_000, np.random.SeedSequence(0))
    assert len(np.unique(draws[:, 0, 0])) > 4_900


def test_asking_twice_for_a_child_gives_the_same_one() -> None:
    seed = np.random.SeedSequence(7)
    assert child(seed, 1, 2).generate_state(2).tolist() == child(child(seed, 1), 2).generate_state(2).tolist()


def test_a_sample_in_which_nobody_contributes_draws_zeros() -> None:
    cells = count(np.zeros((10, 2)), np.zeros(10, dtype=int), 1)
    assert not resample(cells, 100, np.random.SeedSequence(0)).any()
