"""A rare 0/1 outcome among the few rows on which two algorithms differ: draws that know of outcomes not seen.

Say 97% repay, and a candidate approves twenty more people. With probability one half all twenty repay, the bootstrap
finds no variance among them, and a gain that is luck looks certain: it rejects 56% of true nulls at a level of 5%.
A resample cannot draw what the sample does not hold. So where a cell *group x (only the status quo counts | only the
candidate counts)* holds fewer than `FEWEST_SEEN` successes or failures, then for drawing, and for nothing else,

- it gets one success and one failure more, as in the intervals of Agresti and Caffo, and
- the deviations of its draws change sign. The tail that matters is that of outcomes not seen, and a draw around a
  sample without them leans the other way.

Draws vary around the sample's own sums: no estimate changes. Elsewhere draws are those of Appendix A.

It applies to utilities whose numerator is 0/1 (u is 0 or w in every row) and whose normalizer depends on the decision:
calibration of a 0/1 outcome, the positive predictive value, and the like. With other utilities the two algorithms'
rows are the same, or the numerator has no second value that could have been missed.
"""

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO, Cells, U, W
from improvable.inference.resampling import resample

FEWEST_SEEN = 10


def by_utility(cells: Cells) -> FloatArray:
    """The contribution vectors of rows as an array of shape (cells, utilities, 2, 2)."""
    return cells.values.reshape(len(cells.values), -1, 2, 2)


def zero_one(vectors: FloatArray) -> BoolArray:
    """Which utilities have 0/1 numerators: u is 0 or w in every cell; (cells, M, 2, 2) -> (M,)."""
    u, w = vectors[..., U], vectors[..., W]
    return np.asarray(((u == 0) | (u == w)).all(axis=(0, 2)))


def only(vectors: FloatArray, algorithm: int) -> BoolArray:
    """Which cells count for one algorithm and not for the other, by utility; (cells, M, 2, 2) -> (cells, M)."""
    counts = vectors[..., W] != 0
    return np.asarray(counts[..., algorithm] & ~counts[..., 1 - algorithm])


def resample_rare(cells: Cells, draws: int, seed: np.random.SeedSequence, workers: int = 1) -> FloatArray:
    """Bootstrap sums of rows, `resample` with the correction for outcomes not seen; shape (draws, blocks, width)."""
    vectors = by_utility(cells)
    mirrored = np.zeros(vectors.shape[:2], dtype=np.bool_)
    added: list[FloatArray] = []
    block: list[int] = []
    for m in np.flatnonzero(zero_one(vectors)):
        for algorithm in (STATUS_QUO, CANDIDATE):
            differs = only(vectors, algorithm)[:, m]
            for b, part in enumerate(cells.slices()):
                place = part.start + np.flatnonzero(differs[part])
                if not _is_rare(vectors[place, m, algorithm], cells.counts[place]):
                    continue
                mirrored[place, m] = True
                weight = float(np.average(vectors[place, m, algorithm, W], weights=cells.counts[place]))
                for success in (0.0, weight):
                    row = np.zeros(vectors.shape[1:])
                    row[m, algorithm] = success, weight
                    added.append(row.ravel())
                    block.append(b)
    if not added:
        return resample(cells, draws, seed, workers)
    return _mirrored(cells, mirrored, np.array(added), np.array(block), draws, seed, workers)


def _is_rare(vectors: FloatArray, counts: IntArray) -> bool:
    """Whether some rows of an algorithm alone hold few successes or few failures; (cells, 2)."""
    successes = int(counts[vectors[:, U] != 0].sum())
    return bool(len(counts)) and min(successes, int(counts.sum()) - successes) < FEWEST_SEEN


def _mirrored(
    cells: Cells,
    mirrored: BoolArray,
    added: FloatArray,
    block: IntArray,
    draws: int,
    seed: np.random.SeedSequence,
    workers: int,
) -> FloatArray:
    """Draws from the cells and single rows more, in which the parts of the sums that are `mirrored` change sign.

    Both parts of a row's contribution are drawn side by side, as one vector of twice the width.
    """
    width = cells.values.shape[1]
    part = np.repeat(mirrored, width // mirrored.shape[1], axis=1)
    values = np.concatenate(
        [
            np.hstack([np.where(part, 0.0, cells.values), np.where(part, cells.values, 0.0)]),
            np.hstack([0 * added, added]),
        ]
    )
    blocks = np.concatenate([cells.block, block])
    order = np.argsort(blocks, kind="stable")
    doubled = Cells(
        values=np.asfortranarray(values[order]),
        block=blocks[order],
        counts=np.concatenate([cells.counts, np.ones(len(block), dtype=np.int64)])[order],
        silent=cells.silent,
        blocks=cells.blocks,
    )
    drawn = resample(doubled, draws, seed, workers)
    center = doubled.sums()[:, width:]
    return np.asarray(drawn[..., :width] + (center - drawn[..., width:]) + _sums_of(cells, part))


def _sums_of(cells: Cells, part: BoolArray) -> FloatArray:
    """The sample's own sums of what is mirrored."""
    return Cells(np.where(part, cells.values, 0.0), cells.block, cells.counts, 0, cells.blocks).sums()
