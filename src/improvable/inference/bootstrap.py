"""Cells become bootstrap draws (Appendix A), the same for any number of workers.

Drawing rows i.i.d. with replacement is drawing how many rows fall to each lot, and then
which rows of the lot. A cell with many rows is a lot of its own, and so are all silent
rows: how many is all there is to know. The rows of all other cells are put together,
`ROWS_PER_LOT` to a lot, and drawn one by one. Both are exact; which is used depends on
the cells alone.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.errors import DataError
from improvable.inference.cells import Cells, some_cells, weigh

DRAWS_PER_BLOCK = 500
# from here on NumPy's binomial costs less than its rows: benchmarks/resampling_costs.py
MIN_IN_LARGE_CELL = 30
# child of the seed that the factors of `stretch` come from; blocks of draws have
# shorter keys
STRETCHING = 1
ROWS_PER_LOT = 512  # a power of two, so that random bits are row numbers
# below this, handing work to threads costs more than it saves
ROWS_WORTH_THREADS = 50_000_000
# Rows drawn at a time stay in the cache; with many rows, larger batches let threads
# take turns less often.
FEW_ROWS, FEW_ITEMS, MANY_ITEMS = 4_096, 1 << 15, 1 << 16


@dataclass
class Drawable:
    """What draws are made from."""

    # of rows, one; or the clusters of each stratum of the design
    strata: Sequence[Cells]
    clustered: bool
    # (S,): degrees of freedom by stratum of groups; infinite, or None for all, where
    # nothing is stretched
    freedom: FloatArray | None = None
    # whether draws are corrected (`corrections`), so that only their deviations from
    # the center count
    linear: bool = False

    def draw(
        self,
        sums: FloatArray,
        draws: int,
        seed: np.random.SeedSequence,
        workers: int = 1,
    ) -> FloatArray:
        """Draws of the sample's sums, shape (draws, *sums.shape)."""
        if self.clustered:
            drawn = resample_strata(self.strata, draws, seed, workers)
        else:
            drawn = resample(self.strata[0], draws, seed, workers)
        if not self.linear:
            return drawn.reshape(draws, *sums.shape)
        center = np.sum([cells.sums() for cells in self.strata], axis=0)
        apart = (drawn - center).reshape(draws, len(sums), -1)
        if self.freedom is not None:
            apart = stretch(apart, self.freedom, seed)
        return np.asarray(sums + apart.reshape(draws, *sums.shape))


@dataclass(frozen=True)
class _Lot:
    """Some rows of small cells, drawn one by one; `cell_of_row` is None where every row
    is its own cell.
    """

    cells: Cells
    cell_of_row: IntArray | None
    rows: int


def child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """A named descendant of a seed; unlike `spawn`, asking twice gives the same one."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def resample(
    cells: Cells, draws: int, seed: np.random.SeedSequence, workers: int = 1
) -> FloatArray:
    """Bootstrap sums of Q draws, shape (draws, blocks, width); how many threads make
    them does not matter.
    """
    large, lots = _divide(cells)

    def block(size: int, rng: np.random.Generator) -> FloatArray:
        return _draw(cells, large, lots, size, cells.rows, rng)

    return _in_blocks(block, draws, seed, workers, lots)


def resample_strata(
    strata: Sequence[Cells], draws: int, seed: np.random.SeedSequence, workers: int = 1
) -> FloatArray:
    """Bootstrap sums of a design with strata (Rao and Wu, 1988), summed over strata.

    From the n units of a stratum n - 1 are drawn with replacement, each counted n /
    (n - 1) times. So a stratum's sum has the variance that its units estimate without
    bias, n / (n - 1) times the sum of squared deviations, for any n from two up;
    drawing n of n would be too small by (n - 1) / n, which with two clusters a stratum
    is one half.
    """
    lonely = sum(cells.rows < 2 for cells in strata)
    if lonely:
        raise DataError(
            (
                f"{lonely:,} of {len(strata):,} strata have only one cluster, so its "
                "variance cannot be estimated."
            ),
            "Merge each with a similar stratum.",
        )
    divided = [(cells, *_divide(cells)) for cells in strata]

    def block(size: int, rng: np.random.Generator) -> FloatArray:
        out = np.zeros((size, strata[0].blocks, strata[0].values.shape[1]))
        for cells, large, lots in divided:
            units = cells.rows
            out += _draw(cells, large, lots, size, units - 1, rng) * (
                units / (units - 1)
            )
        return out

    return _in_blocks(
        block, draws, seed, workers, [lot for _, _, lots in divided for lot in lots]
    )


def stretch(
    deviations: FloatArray, freedom: FloatArray, seed: np.random.SeedSequence
) -> FloatArray:
    """Multiply deviations, (draws, blocks, width), by sqrt(f / chi-squared with f
    degrees of freedom).

    A draw has one quantile of it for all blocks, whose f, shape (blocks,), may differ:
    infinite for no change.
    """
    from scipy.special import gammaincinv

    rng = np.random.default_rng(child(seed, STRETCHING, 0))
    place = (rng.permutation(len(deviations)) + 0.5) / len(deviations)
    factors = np.ones((len(deviations), len(freedom)))
    for b in np.flatnonzero(np.isfinite(freedom)):
        half = freedom[b] / 2
        factors[:, b] = np.sqrt(half / gammaincinv(half, place))
    return np.asarray(factors[:, :, None] * deviations)


def _in_blocks(
    block: Callable[[int, np.random.Generator], FloatArray],
    draws: int,
    seed: np.random.SeedSequence,
    workers: int,
    lots: Sequence[_Lot],
) -> FloatArray:
    """Draws in blocks of `DRAWS_PER_BLOCK`, each with a generator of its own."""

    def one(start: int) -> FloatArray:
        rng = np.random.default_rng(child(seed, start // DRAWS_PER_BLOCK))
        return block(min(DRAWS_PER_BLOCK, draws - start), rng)

    starts = range(0, draws, DRAWS_PER_BLOCK)
    if workers == 1 or draws * sum(lot.rows for lot in lots) < ROWS_WORTH_THREADS:
        return np.concatenate([one(start) for start in starts])
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(one, starts)))


def _divide(cells: Cells) -> tuple[Cells, list[_Lot]]:
    """Large cells, and the rows of all others in lots."""
    is_large = cells.counts >= MIN_IN_LARGE_CELL
    small = np.flatnonzero(~is_large)
    cell_of_row = np.repeat(small, cells.counts[small])
    lots = []
    for start in range(0, len(cell_of_row), ROWS_PER_LOT):
        which, place = np.unique(
            cell_of_row[start : start + ROWS_PER_LOT], return_inverse=True
        )
        lots.append(
            _Lot(
                some_cells(cells, which),
                None if len(which) == len(place) else place,
                len(place),
            )
        )
    return some_cells(cells, np.flatnonzero(is_large)), lots


def _draw(
    cells: Cells,
    large: Cells,
    lots: list[_Lot],
    draws: int,
    rows: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Sums of `rows` rows drawn from the cells, `draws` times."""
    sizes = np.array(
        [*large.counts, *(lot.rows for lot in lots)]
        + [cells.silent] * (cells.silent > 0)
    )
    edge = len(large.counts)
    out = np.zeros((draws, cells.blocks, cells.values.shape[1]))
    items = FEW_ITEMS if sum(lot.rows for lot in lots) < FEW_ROWS else MANY_ITEMS
    step = max(1, items // len(sizes))
    for start in range(0, draws, step):
        part = slice(start, min(start + step, draws))
        drawn = rng.multinomial(rows, sizes / cells.rows, size=part.stop - part.start)
        if edge:
            out[part] = weigh(large, drawn[:, :edge])
        for j, lot in enumerate(lots, start=edge):
            _draw_lot(lot, drawn[:, j], out[part], items, rng)
    return out


def _draw_lot(
    lot: _Lot, sizes: IntArray, out: FloatArray, items: int, rng: np.random.Generator
) -> None:
    """Add the sums of `sizes[q]` rows of a lot to `out[q]`; the pair (draw, cell) is
    counted as one number.
    """
    width = len(lot.cells.counts)
    step = max(1, items // lot.rows)
    for start in range(0, len(sizes), step):
        size = sizes[start : start + step]
        pairs = np.repeat(np.arange(len(size)) * width, size)
        rows = _pick(lot.rows, len(pairs), rng)
        pairs += rows if lot.cell_of_row is None else lot.cell_of_row.take(rows)
        counts = np.bincount(pairs, minlength=len(size) * width).reshape(
            len(size), width
        )
        out[start : start + step] += weigh(lot.cells, counts)


def _pick(rows: int, size: int, rng: np.random.Generator) -> IntArray:
    """Row numbers below `rows`, i.i.d. and uniform; for a full lot, four of them from
    each 64 random bits.
    """
    if rows != ROWS_PER_LOT:
        return rng.integers(0, rows, size=size)
    words = rng.integers(0, 1 << 64, size=-(-size // 4), dtype=np.uint64).astype(
        "<u8", copy=False
    )
    return (words.view("<u2")[:size] & np.uint16(ROWS_PER_LOT - 1)).astype(np.int64)
