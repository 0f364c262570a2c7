"""Draws are those of Appendix A, however rows are put together to make them, and never
depend on workers.
"""

import numpy as np
import pytest
from scipy.stats import chisquare

from improvable.inference.bootstrap import (
    MIN_IN_LARGE_CELL,
    ROWS_PER_LOT,
    child,
    resample,
)
from improvable.inference.cells import Cells, count


def cells_of(
    rows: int, distinct: int | None, silent: float = 0.0, seed: int = 1
) -> Cells:
    """Cells of `rows` rows with few or (None) only distinct values, a share of them
    silent.
    """
    rng = np.random.default_rng(seed)
    values = (
        rng.normal(size=(rows, 2))
        if distinct is None
        else rng.integers(1, distinct + 1, (rows, 2)).astype(float)
    )
    return count(
        values * (rng.random((rows, 1)) >= silent), rng.integers(0, 2, rows), 2
    )


CASES = {
    "large cells only": cells_of(3_000, 2),
    "large and small cells": cells_of(2_100, 6),
    "small cells and silent rows": cells_of(900, 12, silent=0.5),
    "distinct rows, less than a lot": cells_of(300, None, silent=0.3),
    "distinct rows, one full lot": cells_of(ROWS_PER_LOT, None),
    "distinct rows, several lots": cells_of(2 * ROWS_PER_LOT + 100, None, silent=0.1),
}


@pytest.mark.paper("Appendix A", "Proposition B.4")
@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_mean_and_covariance_of_resampled_rows(name: str) -> None:
    """Exact moments of a multinomial; 20,000 draws put Monte Carlo error at 0.7% of a
    standard deviation.
    """
    cells = CASES[name]
    flat = np.zeros((len(cells.counts), 4))
    for b, part in enumerate(cells.slices()):
        flat[part, 2 * b : 2 * b + 2] = cells.values[part]
    mean = cells.counts @ flat
    covariance = (flat * cells.counts[:, None]).T @ flat - np.outer(
        mean, mean
    ) / cells.rows
    spread = np.sqrt(np.diag(covariance))
    draws = resample(cells, 20_000, np.random.SeedSequence(5)).reshape(20_000, 4)
    np.testing.assert_allclose((draws.mean(axis=0) - mean) / spread, 0, atol=0.04)
    scale = np.outer(spread, spread)
    np.testing.assert_allclose(np.cov(draws.T) / scale, covariance / scale, atol=0.06)


@pytest.mark.parametrize("name", CASES)
def test_every_draw_is_as_large_as_the_sample(name: str) -> None:
    """A column of ones counts the rows drawn: always all of them where nobody is
    silent.
    """
    cells = CASES[name]
    ones = Cells(
        np.ones((len(cells.counts), 1)),
        cells.block,
        cells.counts,
        cells.silent,
        cells.blocks,
    )
    drawn = resample(ones, 500, np.random.SeedSequence(1)).sum(axis=(1, 2))
    assert (
        (drawn == cells.rows).all() if cells.silent == 0 else (drawn < cells.rows).any()
    )


def test_every_row_is_drawn_as_often_as_any_other() -> None:
    """Each row's own column counts how often it is drawn, in two full lots and a part
    of one.
    """
    rows = 2 * ROWS_PER_LOT + 76
    cells = Cells(
        np.eye(rows),
        np.zeros(rows, dtype=np.int64),
        np.ones(rows, dtype=np.int64),
        0,
        1,
    )
    counts = resample(cells, 500, np.random.SeedSequence(2))[:, 0].sum(axis=0)
    assert counts.sum() == 500 * rows
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("name", CASES)
def test_workers_change_no_bit(name: str) -> None:
    seed = np.random.SeedSequence(3)
    one, three = (
        resample(CASES[name], 1_700, seed, workers=workers) for workers in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


def test_the_cases_cover_both_kinds_of_cell() -> None:
    large = {name: cells.counts >= MIN_IN_LARGE_CELL for name, cells in CASES.items()}
    assert large["large cells only"].all()
    assert 0 < large["large and small cells"].mean() < 1
    assert not large["distinct rows, several lots"].any()


def test_every_block_of_draws_has_a_seed_of_its_own() -> None:
    """A bootstrap that cycles its seeds has fewer draws than it says."""
    draws = resample(
        CASES["distinct rows, less than a lot"], 5_000, np.random.SeedSequence(0)
    )
    assert len(np.unique(draws[:, 0, 0])) > 4_900


def test_asking_twice_for_a_child_gives_the_same_one() -> None:
    seed = np.random.SeedSequence(7)
    assert (
        child(seed, 1, 2).generate_state(2).tolist()
        == child(child(seed, 1), 2).generate_state(2).tolist()
    )


def test_a_sample_in_which_nobody_contributes_draws_zeros() -> None:
    cells = count(np.zeros((10, 2)), np.zeros(10, dtype=int), 1)
    assert not resample(cells, 100, np.random.SeedSequence(0)).any()
