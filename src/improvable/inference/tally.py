"""Decisions on rows become a tally: counts, cells and exact sums, which add up to the same bits in any order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.data.groups import Attribute, Grouping
from improvable.data.keys import Keys
from improvable.data.sample import Sample
from improvable.inference.cells import STATUS_QUO, Cells, W, contributions, count, pool_clusters
from improvable.inference.evidence import Evidence
from improvable.inference.exact import exact_sum, to_float
from improvable.inference.normal_limit import Moments, add, draw_normal, most_cells, settle
from improvable.inference.resampling import resample
from improvable.question.design import Design
from improvable.question.utilities import check_decisions

HALF = np.uint64(32)


@dataclass(frozen=True)
class Tally:
    """What counting leaves of some rows: all that a comparison needs of them.

    Attributes
    ----------
    counted : Cells or Moments
        Of contributions, one block per stratum. With clusters, each cell has the two halves of its cluster's key as two
        more columns.
    sizes : array of shape (strata,)
        Rows.
    selected : array of shape (strata, 2)
        Rows with a decision other than 0, by algorithm.
    occupied : array of shape (utilities, 2, strata)
        Rows whose w is not zero, by algorithm.
    weighed : tuple of int, length 3 * strata, or empty without weights
        Exact sums of weights: of all rows and of those that either algorithm selects, by stratum.
    falls : int
        Rows whose decision falls when a monotone feature moves in its favor.
    """

    counted: Cells | Moments
    sizes: IntArray
    selected: IntArray
    occupied: IntArray
    weighed: tuple[int, ...]
    falls: int = 0

    @property
    def rows(self) -> int:
        return int(self.sizes.sum())

    def weights(self) -> FloatArray:
        """Rows, or their weight, shape (strata, 3): of all, and of those that either algorithm selects."""
        if not self.weighed:
            return np.column_stack([self.sizes, self.selected]).astype(np.float64)
        return np.array([to_float(total) for total in self.weighed]).reshape(-1, 3)

    def rates(self, attributes: Sequence[Attribute]) -> dict[str, tuple[float, float]]:
        """The share of every group that either algorithm selects, of rows or of their weight."""
        weights, out = self.weights(), {}
        for attribute in attributes:
            for g, group in enumerate(attribute.levels):
                everyone, before, after = weights[attribute.member == g].sum(axis=0)
                out[group] = float(before / everyone), float(after / everyone)
        return out

    def shares(self) -> tuple[float, float]:
        """The share selected by either algorithm, of rows or of their weight."""
        if not self.weighed:
            both = self.selected.sum(axis=0)
            return float(both[0] / self.rows), float(both[1] / self.rows)
        totals = [sum(self.weighed[j::3]) for j in range(3)]
        return totals[1] / totals[0], totals[2] / totals[0]


def tally_rows(design: Design, sample: Sample, decisions: tuple[FloatArray, FloatArray]) -> Tally:
    """Count what the rows of a batch contribute under two algorithms."""
    grouping = sample.grouping
    vectors = np.empty((0, len(design.utilities), 2, 2))
    if len(sample):
        for decision, whose in zip(decisions, ("status quo", "candidate"), strict=True):
            check_decisions(decision, design.utilities, whose)
        vectors = contributions(design.utilities, sample.rows, sample.outcomes, decisions, sample.weights)
    flat = vectors.reshape(len(sample), 4 * len(design.utilities))
    counted: Cells | Moments
    if sample.clusters is None:
        counted = settle(count(flat, grouping.codes, grouping.strata), most_cells(design.question.method))
    else:
        counted = _count_in_clusters(flat, grouping.codes, sample.clusters, grouping.strata)
    return Tally(
        counted=counted,
        sizes=np.bincount(grouping.codes, minlength=grouping.strata).astype(np.int64),
        selected=_selected_rows(grouping, decisions),
        occupied=_occupied_rows(vectors[..., W], grouping),
        weighed=_weighed(sample, (decisions[0] != 0, decisions[1] != 0)),
    )


def merge_tallies(one: Tally, other: Tally, most: float) -> Tally:
    """What two batches are together: cells while there are at most `most`, moments from there on."""
    return Tally(
        counted=add(one.counted, other.counted, most),
        sizes=one.sizes + other.sizes,
        selected=one.selected + other.selected,
        occupied=one.occupied + other.occupied,
        weighed=tuple(x + y for x, y in zip(one.weighed, other.weighed, strict=True)),
        falls=one.falls + other.falls,
    )


def status_quo_sums(design: Design, sample: Sample, decision: FloatArray) -> FloatArray:
    """The status quo's sums, shape (strata, utilities, 2)."""
    vectors = contributions(design.utilities, sample.rows, sample.outcomes, [decision], sample.weights)
    cells = count(vectors.reshape(len(sample), -1), sample.grouping.codes, sample.grouping.strata)
    return cells.sums().reshape(sample.grouping.strata, len(design.utilities), 2)


def evidence_without_draws(
    design: Design, attributes: Sequence[Attribute], tally: Tally, clusters: int | None, training: FloatArray | None
) -> tuple[Evidence, Cells | Moments]:
    """Sums as evidence, and what draws are to be made from.

    Parameters
    ----------
    clusters : int or None
        How many clusters there are, where rows are clustered; those that contribute nothing count.
    training : array of shape (strata, utilities, 2), optional
        The status quo's sums on the training rows; None takes them from these rows.
    """
    counted = tally.counted
    if clusters is not None:
        assert isinstance(counted, Cells)
        counted = _cells_of_clusters(counted, clusters)
    counted = settle(counted, most_cells(design.question.method))
    shape = (len(tally.sizes), len(design.utilities), 2, 2)
    sums = counted.sums().reshape(shape)
    evidence = Evidence(
        attributes=tuple(attributes),
        measures=tuple(utility.measure(design.question.outcome) for utility in design.utilities),
        accuracy=design.accuracy,
        fairness=design.fairness,
        sums=sums,
        draws=np.empty((0, *shape)),
        training=sums[:, :, STATUS_QUO] if training is None else training,
        method="bootstrap" if isinstance(counted, Cells) else "delta",
    )
    return evidence, counted


def with_draws(
    evidence: Evidence, counted: Cells | Moments, draws: int, seed: np.random.SeedSequence, workers: int
) -> Evidence:
    """The same evidence with its draws, from cells or from the normal limit."""
    if isinstance(counted, Moments):
        return replace(evidence, draws=draw_normal(counted, draws, seed).reshape(-1, *evidence.sums.shape))
    drawn = resample(counted, draws, seed, workers)
    return replace(evidence, draws=drawn.reshape(-1, *evidence.sums.shape))


def _selected_rows(grouping: Grouping, decisions: Sequence[FloatArray]) -> IntArray:
    counts = [np.bincount(grouping.codes[d != 0], minlength=grouping.strata) for d in decisions]
    return np.stack(counts, axis=1).astype(np.int64)


def _occupied_rows(normalizers: FloatArray, grouping: Grouping) -> IntArray:
    """How many rows count, (rows, utilities, 2) -> (utilities, 2, strata): a row counts where its w is not zero."""
    shape = normalizers.shape[1:]
    counts = [
        np.bincount(grouping.codes[normalizers[:, m, t] != 0], minlength=grouping.strata)
        for m in range(shape[0])
        for t in range(shape[1])
    ]
    return np.array(counts, dtype=np.int64).reshape(*shape, grouping.strata)


def _weighed(sample: Sample, chosen: tuple[BoolArray, BoolArray]) -> tuple[int, ...]:
    if sample.weights is None:
        return ()
    out = []
    for stratum in range(sample.grouping.strata):
        mine = sample.grouping.codes == stratum
        out += [exact_sum(sample.weights[rows]) for rows in (mine, mine & chosen[0], mine & chosen[1])]
    return tuple(out)


def _count_in_clusters(vectors: FloatArray, block: IntArray, clusters: Keys, blocks: int) -> Cells:
    """Cells that know their cluster, by the halves of its key, which are exact as float64."""
    speaks = np.flatnonzero((vectors != 0).any(axis=1))
    halves = np.column_stack([clusters >> HALF, clusters & np.uint64(0xFFFFFFFF)]).astype(np.float64)
    cells = count(np.column_stack([halves, vectors])[speaks], block[speaks], blocks)
    return replace(cells, silent=cells.silent + len(vectors) - len(speaks))


def _cells_of_clusters(cells: Cells, clusters: int) -> Cells:
    """Add up the cells of each cluster; clusters that no cell speaks for are silent."""
    keys = (cells.values[:, 0].astype(np.uint64) << HALF) | cells.values[:, 1].astype(np.uint64)
    distinct, codes = np.unique(keys, return_inverse=True)
    vectors = cells.values[:, 2:] * cells.counts[:, None]
    if not len(distinct):
        nothing = np.empty((0, cells.blocks * vectors.shape[1]))
        return Cells(nothing, np.empty(0, np.int64), np.empty(0, np.int64), clusters, 1)
    pooled = pool_clusters(vectors, cells.block, codes.astype(np.int64), cells.blocks)
    found = count(pooled, np.zeros(len(pooled), dtype=np.int64), 1)
    return replace(found, silent=found.silent + clusters - len(distinct))
