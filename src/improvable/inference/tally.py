"""Decisions on rows become a tally: counts, cells and exact sums, which add up to the
same bits in any order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.data.keys import Keys
from improvable.data.sample import Sample
from improvable.errors import DataError
from improvable.inference.bootstrap import Drawable
from improvable.inference.cells import (
    STATUS_QUO,
    Cells,
    RowsInClusters,
    W,
    contributions,
    count,
    exact_sum,
    keys_in,
    to_float,
    unfold,
    without_keys,
)
from improvable.inference.corrections import Corrected, prepare
from improvable.inference.diagnostics import crossed_sums
from improvable.inference.evidence import Evidence, members
from improvable.inference.moments import (
    Moments,
    add,
    collapse,
    draw_normal,
    most_cells,
    settle,
)
from improvable.inference.unknown import Imputed, contribute
from improvable.question.claim import Claim
from improvable.question.design import Design
from improvable.question.utility import check_decisions

HALF = np.uint64(32)
# a person, where people are counted by probability: sums of whole parts do not depend
# on batches
PARTS = 1_000_000


@dataclass(frozen=True)
class Tally:
    """What counting leaves of some rows: all that a comparison needs of them."""

    # Of contributions, one block per stratum. With clusters, each cell has the two
    # halves of its cluster's key as two more columns.
    counted: Cells | Moments
    sizes: IntArray  # (strata,): rows
    selected: IntArray  # (strata, 2): rows with a decision other than 0, by algorithm
    occupied: IntArray  # (utilities, 2, strata): rows whose w is not zero, by algorithm
    # exact sums of weights: of all rows and of those that either algorithm selects, by
    # stratum
    weighed: tuple[int, ...]
    # whether every outcome and decision is 0 or 1
    binary: bool
    # rows whose decision falls when a monotone feature moves in its favor
    falls: int = 0
    # exact sums over whom both algorithms select, one of them, or neither; see
    # `diagnostics.crossed_sums`
    crossed: tuple[int, ...] = ()
    # Whether rows count for several groups, by probability: the first stratum is
    # everyone, counts are in `PARTS`, and a cell has what a row adds to all strata.
    spread: bool = False

    @property
    def rows(self) -> int:
        return int(self.sizes[0]) // PARTS if self.spread else int(self.sizes.sum())

    def people(self, counts: IntArray) -> IntArray:
        """Counts of people; expected ones, of which some are not none, where groups are
        known by probability.
        """
        return np.asarray(
            np.maximum((counts + PARTS // 2) // PARTS, counts > 0)
            if self.spread
            else counts
        )

    @cached_property
    def by_stratum(self) -> Cells | Moments:
        """`counted` with one block per stratum."""
        if isinstance(self.counted, Moments) or not self.spread:
            return self.counted
        return unfold(self.counted, len(self.sizes))

    def by_row(self) -> Cells | Moments:
        """The same without the two halves of clusters' keys."""
        return (
            self.by_stratum
            if isinstance(self.by_stratum, Moments)
            else without_keys(self.by_stratum)
        )

    def weights(self) -> FloatArray:
        """Rows, or their weight, shape (strata, 3): of all, and of those that either
        algorithm selects.
        """
        if not self.weighed:
            return np.column_stack([self.sizes, self.selected]).astype(np.float64)
        return np.array([to_float(total) for total in self.weighed]).reshape(-1, 3)

    def rates(self, attributes: Sequence[Attribute]) -> dict[str, tuple[float, float]]:
        """The share of every group that either algorithm selects, of rows or of their
        weight.
        """
        weights, out = self.weights(), {}
        for group, mine in members(attributes):
            everyone, before, after = weights[mine].sum(axis=0)
            out[group] = float(before / everyone), float(after / everyone)
        return out

    def shares(self) -> tuple[float, float]:
        """The share selected by either algorithm, of rows or of their weight."""
        if not self.weighed:
            both = self.selected.sum(axis=0)
            return float(both[0] / self.rows), float(both[1] / self.rows)
        totals = [
            self.weighed[j] if self.spread else sum(self.weighed[j::3])
            for j in range(3)
        ]
        return totals[1] / totals[0], totals[2] / totals[0]


def tally_rows(
    design: Design,
    sample: Sample,
    decisions: tuple[FloatArray, FloatArray],
    imputed: Imputed | None = None,
) -> Tally:
    """Count what the rows of a batch contribute under two algorithms, with what missing
    outcomes are counted as.
    """
    grouping, question = sample.grouping, design.question
    vectors = np.empty((0, len(design.utilities), 2, 2))
    if len(sample):
        for decision, whose in zip(decisions, ("status quo", "candidate"), strict=True):
            check_decisions(decision, design.utilities, whose)
        _check_range(design, sample)
        outcomes = sample.outcomes if imputed is None else sample.filled().outcomes
        vectors = contributions(
            design.utilities, sample.rows, outcomes, decisions, sample.weights
        )
        sample = (
            sample
            if imputed is None
            else imputed.sample(sample, question.lower_is_better)
        )
    if question.unknown_outcomes is not None:
        vectors = contribute(design, sample, vectors, decisions[1], imputed)
    width, parts, spread = 4 * design.pairs, None, sample.spread
    flat, codes, blocks = (
        vectors.reshape(len(sample), width),
        grouping.codes,
        grouping.strata,
    )
    if spread is not None:
        wide = flat[:, None] * spread.factors[:, :, None] + 0.0
        flat, codes, blocks = (
            wide.reshape(len(wide), wide.shape[1] * width),
            np.zeros(len(wide), dtype=np.int64),
            1,
        )
    counted: Cells | Moments
    if sample.clusters is not None:
        counted = _count_in_clusters(flat, codes, sample.clusters, blocks)
    else:
        counted = settle(count(flat, codes, blocks), most_cells(question.method))
    if spread is not None:
        row, sample = sample.by_stratum()
        grouping, decisions = sample.grouping, (decisions[0][row], decisions[1][row])
        parts, vectors = (
            np.rint(PARTS * spread.shares[row, grouping.codes]),
            vectors[row],
        )
    chosen, loads = (decisions[0] != 0, decisions[1] != 0), vectors[..., W] != 0

    weighed: list[int] = []
    if sample.weights is not None:
        for mine in (grouping.codes == stratum for stratum in range(grouping.strata)):
            weighed += [
                exact_sum(sample.weights[rows])
                for rows in (mine, mine & chosen[0], mine & chosen[1])
            ]

    def rows_by_stratum(which: BoolArray) -> IntArray:
        whole = None if parts is None else parts[which]
        return np.bincount(
            grouping.codes[which], weights=whole, minlength=grouping.strata
        ).astype(np.int64)

    return Tally(
        counted=counted,
        sizes=rows_by_stratum(np.ones(len(grouping.codes), dtype=np.bool_)),
        selected=np.stack([rows_by_stratum(one) for one in chosen], axis=1).astype(
            np.int64
        ),
        occupied=np.array(
            [
                [rows_by_stratum(loads[:, m, t]) for t in range(2)]
                for m in range(loads.shape[1])
            ]
        ),
        weighed=tuple(weighed),
        binary=all(map(is_binary, (sample.outcomes[None], *decisions))),
        crossed=crossed_sums(sample, chosen),
        spread=spread is not None,
    )


def is_binary(values: FloatArray) -> bool:
    """Whether all are 0 or 1."""
    return bool(((values == 0) | (values == 1)).all())


def merge_tallies(one: Tally, other: Tally, most: float) -> Tally:
    """What two batches are together: cells while there are at most `most`, moments from
    there on.
    """
    both: dict[str, Any] = {
        name: getattr(one, name) + getattr(other, name)
        for name in ("sizes", "selected", "occupied", "falls")
    }
    both["binary"] = one.binary and other.binary
    for name in ("weighed", "crossed"):
        both[name] = tuple(
            x + y for x, y in zip(getattr(one, name), getattr(other, name), strict=True)
        )
    return Tally(
        counted=add(one.counted, other.counted, most), spread=one.spread, **both
    )


def status_quo_sums(design: Design, sample: Sample, decision: FloatArray) -> FloatArray:
    """The status quo's sums, shape (strata, utilities, 2)."""
    outcomes = sample.filled().outcomes
    vectors = contributions(
        design.utilities, sample.rows, outcomes, [decision], sample.weights
    )
    if sample.spread is not None:
        return np.asarray(
            np.einsum("nmp,ns->smp", vectors[:, :, 0], sample.spread.factors)
        )
    cells = count(
        vectors.reshape(len(sample), -1), sample.grouping.codes, sample.grouping.strata
    )
    return cells.sums().reshape(sample.grouping.strata, len(design.utilities), 2)


@dataclass(frozen=True)
class Clusters:
    """The clusters that rows were counted in; those that contribute nothing count."""

    keys: Keys  # (clusters,): distinct
    # (clusters,): the stratum of the design that each is in; all zero where there are
    # none
    strata: IntArray

    def __len__(self) -> int:
        return len(self.keys)

    def only(self, chosen: BoolArray) -> "Clusters":
        """Some of them. Strata left with one cluster, which has no variance, become
        one; a single one joins another.
        """
        _, codes, counts = np.unique(
            self.strata[chosen], return_inverse=True, return_counts=True
        )
        lonely = counts[codes] == 1
        joined = np.where(lonely, len(counts) if lonely.sum() > 1 else 0, codes)
        return Clusters(self.keys[chosen], joined.astype(np.int64))


@dataclass(frozen=True)
class Counted:
    """What draws are made from: cells of rows or clusters, by stratum of the design; or
    moments.
    """

    strata: tuple[Cells, ...] | Moments
    clusters: int | None  # how many there are
    # those of clusters, as far as they are at hand; where groups are known by
    # probability, with all strata in a cell
    rows: RowsInClusters | None = None

    @property
    def units(self) -> int:
        return (
            self.strata.rows
            if isinstance(self.strata, Moments)
            else sum(cells.rows for cells in self.strata)
        )

    def sums(self) -> FloatArray:
        if isinstance(self.strata, Moments):
            return self.strata.sums()
        return np.asarray(np.sum([cells.sums() for cells in self.strata], axis=0))


def counted_of(design: Design, tally: Tally, clusters: Clusters | None) -> Counted:
    """What was counted, as it is drawn: clusters in their strata, or rows; moments
    where there are too many cells.
    """
    if clusters is None:
        counted = settle(tally.counted, most_cells(design.question.method))
        if isinstance(counted, Moments):
            return Counted(counted, None)
        return Counted((counted,), tally.rows if tally.spread else None)
    delta, order = design.question.method == "delta", np.argsort(clusters.keys)
    stratum = (
        np.zeros(len(clusters), np.int64)
        if delta
        else np.unique(clusters.strata, return_inverse=True)[1]
    )

    def in_clusters(cells: Cells | Moments) -> RowsInClusters:
        assert isinstance(cells, Cells)
        keys = _keys_of(cells)
        place = order[
            np.minimum(
                np.searchsorted(clusters.keys, keys, sorter=order), len(clusters) - 1
            )
        ]
        known = np.where(clusters.keys[place] == keys, stratum[place], -1)
        return RowsInClusters(
            without_keys(cells),
            np.unique(keys, return_inverse=True)[1].astype(np.int64),
            known,
        )

    rows, strata = in_clusters(tally.by_stratum), []
    for h, size in enumerate(np.bincount(stratum).tolist()):
        pooled = rows.pool(rows.cells.values, h)
        cells = count(pooled, np.zeros(len(pooled), dtype=np.int64), 1)
        # some that no cell speaks for
        strata.append(replace(cells, silent=cells.silent + size - len(pooled)))
    if delta:
        return Counted(collapse(strata[0]), len(clusters))
    return Counted(
        tuple(strata),
        len(clusters),
        in_clusters(tally.counted) if tally.spread else rows,
    )


def evidence_without_draws(
    design: Design,
    attributes: Sequence[Attribute],
    counted: Counted,
    training: FloatArray | None,
) -> Evidence:
    """Sums as evidence.

    `training` are the status quo's sums on the training rows, (strata, utilities, 2).
    None takes them from these rows, and the test accounts for it that the reference
    pair of groups was chosen on them.
    """
    shape = (attributes[0].member.size, design.pairs, 2, 2)
    sums = counted.sums().reshape(shape)
    if training is not None:
        training = np.pad(
            training, ((0, 0), (0, design.pairs - training.shape[1]), (0, 0))
        )
    return Evidence(
        attributes=tuple(attributes),
        measures=design.measures,
        accuracy=design.accuracy,
        fairness=design.fairness,
        sums=sums,
        draws=np.empty((0, *shape)),
        training=sums[:, :, STATUS_QUO] if training is None else training,
        units=counted.units,
        method="delta" if isinstance(counted.strata, Moments) else "bootstrap",
        chosen_here=training is None,
    )


def drawable_of(evidence: Evidence, counted: Counted, claim: Claim) -> Corrected | None:
    """What was counted with the corrections that it calls for; None for moments, which
    have none.
    """
    if isinstance(counted.strata, Moments):
        return None
    # Corrections that look at rows know nothing of rows that are in several groups.
    rows = (
        counted.rows
        if counted.rows is not None and counted.rows.cells.blocks == len(evidence.sums)
        else None
    )
    return prepare(evidence, claim, counted.strata, counted.clusters is not None, rows)


def with_draws(
    evidence: Evidence,
    counted: Counted,
    drawable: Drawable | None,
    draws: int,
    seed: SeedSequence,
    workers: int,
) -> Evidence:
    """The same evidence with its draws, from cells or from the normal limit."""
    if drawable is None:
        assert isinstance(counted.strata, Moments)
        return replace(
            evidence,
            draws=draw_normal(counted.strata, draws, seed).reshape(
                -1, *evidence.sums.shape
            ),
        )
    return replace(
        evidence,
        draws=drawable.draw(evidence.sums, draws, seed, workers),
        linear=drawable.linear,
    )


def _check_range(design: Design, sample: Sample) -> None:
    """Refuse an outcome beyond the range that was declared."""
    ends, outcome = design.question.outcome_range, sample.outcomes[None]
    beyond = (
        np.zeros(0)
        if ends is None
        else outcome[(outcome < ends[0]) | (outcome > ends[1])]
    )
    if ends is not None and len(beyond):
        raise DataError(
            (
                f"outcome '{design.question.outcome}' has {beyond[0]:g}, and its range "
                f"is {ends[0]:g} to {ends[1]:g}."
            ),
            (
                "Declare a range that holds every outcome: `outcome_range=(lowest, "
                "highest)`."
            ),
        )


def _count_in_clusters(
    vectors: FloatArray, block: IntArray, clusters: Keys, blocks: int
) -> Cells:
    """Cells that know their cluster, by the halves of its key, which are exact as
    float64.
    """
    speaks = np.flatnonzero((vectors != 0).any(axis=1))
    halves = np.column_stack(
        [clusters >> HALF, clusters & np.uint64(0xFFFFFFFF)]
    ).astype(np.float64)
    cells = count(np.column_stack([halves, vectors])[speaks], block[speaks], blocks)
    return replace(cells, silent=cells.silent + len(vectors) - len(speaks))


def clusters_of(tally: Tally) -> IntArray | None:
    """The cluster of each cell, numbered; None without clusters."""
    cells = tally.by_stratum
    if isinstance(cells, Moments) or not keys_in(cells):
        return None
    return np.unique(_keys_of(cells), return_inverse=True)[1].astype(np.int64)


def _keys_of(cells: Cells) -> Keys:
    """The key of each cell's cluster, from its halves."""
    return (cells.values[:, 0].astype(np.uint64) << HALF) | cells.values[:, 1].astype(
        np.uint64
    )
