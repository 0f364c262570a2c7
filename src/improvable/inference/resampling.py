"""Cells become bootstrap draws (Appendix A), the same for any number of workers.

Two exact ways of drawing rows i.i.d. with replacement, chosen by their cost, which depends on the cells alone:
counting how often each cell is drawn (multinomial), cheap when there are few cells, and drawing rows one by one,
cheap when cells are almost as many as rows.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from improvable.arrays import FloatArray, IntArray
from improvable.inference.cells import Cells, weigh

DRAWS_PER_BLOCK = 500
NANOSECONDS_PER_CELL = 110.0  # measured by benchmarks/resampling.py
NANOSECONDS_PER_ROW = 6.0
ITEMS_PER_BATCH = 1 << 16  # rows drawn at a time, so that they stay in the cache


def child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """A named descendant of a seed; unlike `spawn`, asking twice gives the same one."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def resample(cells: Cells, draws: int, seed: np.random.SeedSequence, workers: int = 1) -> FloatArray:
    """Bootstrap sums.

    Parameters
    ----------
    cells : Cells
    draws : int
        Q, how many bootstrap samples.
    seed : SeedSequence
        Every block of `DRAWS_PER_BLOCK` draws has a child of it.
    workers : int
        Threads; the result does not depend on it.

    Returns
    -------
    array of shape (draws, blocks, width)
    """
    draw = _draw_cells if _prefers_cells(cells) else _draw_rows
    starts = range(0, draws, DRAWS_PER_BLOCK)

    def block(start: int) -> FloatArray:
        rng = np.random.default_rng(child(seed, start // DRAWS_PER_BLOCK))
        return draw(cells, min(DRAWS_PER_BLOCK, draws - start), rng)

    if workers == 1 or len(starts) == 1:
        return np.concatenate([block(start) for start in starts])
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(block, starts)))


def _prefers_cells(cells: Cells) -> bool:
    return len(cells.counts) * NANOSECONDS_PER_CELL <= int(cells.counts.sum()) * NANOSECONDS_PER_ROW


def _draw_cells(cells: Cells, draws: int, rng: np.random.Generator) -> FloatArray:
    """Count how often each cell is drawn: one multinomial per draw."""
    counts = cells.counts if cells.silent == 0 else np.append(cells.counts, cells.silent)
    drawn = rng.multinomial(cells.rows, counts / cells.rows, size=draws)
    return weigh(cells, drawn[:, : len(cells.counts)])


def _draw_rows(cells: Cells, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw rows one by one: first how many speak (are not silent), then which."""
    speaking = int(cells.counts.sum())
    width = len(cells.counts)
    if speaking == 0:
        return np.zeros((draws, cells.blocks, cells.values.shape[1]))
    cell_of_row = np.repeat(np.arange(width), cells.counts)
    sizes = rng.binomial(cells.rows, speaking / cells.rows, size=draws)
    step = max(1, ITEMS_PER_BATCH // speaking)
    return np.concatenate(
        [_draw_batch(cells, cell_of_row, sizes[start : start + step], rng) for start in range(0, draws, step)]
    )


def _draw_batch(cells: Cells, cell_of_row: IntArray, sizes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw `sizes[q]` rows for each draw q; the pair (draw, cell) is counted as one number."""
    width = len(cells.counts)
    drawn = cell_of_row[rng.integers(0, len(cell_of_row), size=int(sizes.sum()))]
    drawn += np.repeat(np.arange(len(sizes)) * width, sizes)
    return weigh(cells, np.bincount(drawn, minlength=len(sizes) * width).reshape(len(sizes), width))
