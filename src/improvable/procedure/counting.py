"""The third pass: both algorithms decide for the test rows of every split, and what they contribute is counted.

A batch's tally is counts, cells and exact sums, so tallies add up to the same bits in any order.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from improvable.algorithms.constraints import monotone_falls
from improvable.algorithms.deciding import Algorithm, decide
from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.data.frames import Rows
from improvable.data.reading import Reading
from improvable.data.sample import Sample
from improvable.inference.cells import Cells, W, count, pool_clusters
from improvable.inference.exact import exact_sum, to_float
from improvable.inference.normal_limit import Moments, add, most_cells, settle
from improvable.procedure.evaluating import Tally, contribute, occupied_rows, selected_rows
from improvable.procedure.splitting import Keys, Splitting, id_keys

HALF = np.uint64(32)


@dataclass(frozen=True)
class Contest:
    """The two algorithms of one split, complete.

    Attributes
    ----------
    split : int
    status_quo : Algorithm
    candidate : Algorithm or None
        None where the status quo is compared with itself.
    name : str
        How messages call the candidate.
    steps : tuple of (str, float)
        Monotone features, and how far each is moved to see whether a decision falls.
    """

    split: int
    status_quo: Algorithm
    candidate: Algorithm | None
    name: str = "candidate"
    steps: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Part:
    """What was counted of some test rows of one split.

    Attributes
    ----------
    counted : Cells or Moments
        With clusters, each cell has the two halves of its cluster's key as two more columns.
    sizes : array of shape (strata,)
    selected : array of shape (strata, 2)
    occupied : array of shape (utilities, 2, strata)
    weighed : tuple of int, length 3 * strata, or empty without weights
        Exact sums of weights: of all rows and of those that either algorithm selects, by stratum.
    falls : int
        Rows whose decision falls when a monotone feature moves in its favour.
    """

    counted: Cells | Moments
    sizes: IntArray
    selected: IntArray
    occupied: IntArray
    weighed: tuple[int, ...]
    falls: int

    @property
    def rows(self) -> int:
        return int(self.sizes.sum())

    def weights(self) -> FloatArray:
        """Rows, or their weight, shape (strata, 3): of all, and of those that either algorithm selects."""
        if not self.weighed:
            return np.column_stack([self.sizes, self.selected]).astype(np.float64)
        return np.array([to_float(total) for total in self.weighed]).reshape(-1, 3)

    def shares(self) -> tuple[float, ...]:
        """The share selected by either algorithm."""
        if not self.weighed:
            return tuple(float(chosen / self.rows) for chosen in self.selected.sum(axis=0))
        totals = [sum(self.weighed[j::3]) for j in range(3)]
        return totals[1] / totals[0], totals[2] / totals[0]


Parts: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True)
class Counting:
    """The work of the third pass: one part per contest. Without a splitting, every row is a test row."""

    reading: Reading
    splitting: Splitting | None
    contests: tuple[Contest, ...]

    def __call__(self, rows: Rows) -> Parts:
        sample = self.reading.sample(rows)
        if self.splitting is None:
            return tuple(self._part(sample, contest) for contest in self.contests)
        keys = self.splitting.keys(sample.rows)
        parts = []
        for contest in self.contests:
            tests = self.splitting.tests(self.splitting.places(keys, contest.split), contest.split)
            parts.append(self._part(sample if tests.all() else sample.take(np.flatnonzero(tests)), contest))
        return tuple(parts)

    def _part(self, sample: Sample, contest: Contest) -> Part:
        design, grouping = self.reading.design, sample.grouping
        now = new = np.empty(0)
        vectors = np.empty((0, len(design.utilities), 2, 2))
        if len(sample):
            now = decide(contest.status_quo, sample.rows, "status quo")
            new = now if contest.candidate is None else decide(contest.candidate, sample.rows, contest.name)
            vectors = contribute(design, sample, (now, new))
        flat = vectors.reshape(len(sample), 4 * len(design.utilities))
        counted: Cells | Moments
        if design.question.cluster is None:
            counted = settle(count(flat, grouping.codes, grouping.strata), most_cells(design.question.method))
        else:
            clusters = id_keys(sample.rows, design.question.cluster)
            counted = _count_in_clusters(flat, grouping.codes, clusters, grouping.strata)
        falls = np.zeros(len(sample), dtype=np.bool_)
        if contest.steps and contest.candidate is not None and len(sample):
            falls = monotone_falls(contest.candidate, sample.rows, dict(contest.steps))
        return Part(
            counted=counted,
            sizes=np.bincount(grouping.codes, minlength=grouping.strata).astype(np.int64),
            selected=selected_rows(grouping, (now, new)),
            occupied=occupied_rows(vectors[..., W], grouping),
            weighed=_weighed(sample, (now != 0, new != 0)),
            falls=int(falls.sum()),
        )


@dataclass(frozen=True)
class MergeParts:
    """Put the parts of two batches together, contest by contest."""

    most: float

    def __call__(self, one: Parts, other: Parts) -> Parts:
        return tuple(self._merge(a, b) for a, b in zip(one, other, strict=True))

    def _merge(self, a: Part, b: Part) -> Part:
        return Part(
            counted=add(a.counted, b.counted, self.most),
            sizes=a.sizes + b.sizes,
            selected=a.selected + b.selected,
            occupied=a.occupied + b.occupied,
            weighed=tuple(x + y for x, y in zip(a.weighed, b.weighed, strict=True)),
            falls=a.falls + b.falls,
        )


def tally_of(part: Part, clusters: int | None) -> Tally:
    """What a comparison needs; with clusters, cells of rows become cells of clusters."""
    counted = part.counted
    if clusters is not None:
        assert isinstance(counted, Cells)
        counted = _cells_of_clusters(counted, clusters)
    return Tally(counted, part.rows, clusters, part.selected, part.sizes, part.occupied, part.shares())


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
    return Cells(cells.values, cells.block, cells.counts, cells.silent + len(vectors) - len(speaks), blocks)


def _cells_of_clusters(cells: Cells, clusters: int) -> Cells:
    """Add up the cells of each cluster; clusters that no cell speaks for are silent."""
    keys = (cells.values[:, 0].astype(np.uint64) << HALF) | cells.values[:, 1].astype(np.uint64)
    distinct, codes = np.unique(keys, return_inverse=True)
    vectors = cells.values[:, 2:] * cells.counts[:, None]
    if not len(distinct):
        return Cells(np.empty((0, cells.blocks * vectors.shape[1])), np.empty(0, np.int64), np.empty(0, np.int64),
                     clusters, 1)  # fmt: skip
    pooled = pool_clusters(vectors, cells.block, codes.astype(np.int64), cells.blocks)
    found = count(pooled, np.zeros(len(pooled), dtype=np.int64), 1)
    return Cells(found.values, found.block, found.counts, found.silent + clusters - len(distinct), 1)
