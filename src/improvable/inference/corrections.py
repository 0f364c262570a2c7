"""What was counted becomes draws: of rows, of clusters, within strata of a design.

Rows that all count alike, of which the sample misses nothing that is known to matter, are drawn as Appendix A says.
Elsewhere draws are corrected, here and nowhere else, so that every p-value, interval and edge that is computed from
them has the corrections, and no estimate changes:

- units of unequal size, clusters or weighted rows (leverage, in `influence`);
- values that the sample may have missed, tails that it may have missed part of, and rates near 0 or 1 that may fall
  short by a margin (`unseen`).

Each is a change of what a unit's deviation is multiplied by, or a unit more. Corrected draws are linear: a unit moves a
utility by (u - U w) / W, its influence, so that changing its sign or size changes its part of the statistic by just
that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.inference.bootstrap import child, resample, resample_strata
from improvable.inference.cells import Cells, U, W, by_utility, pool_clusters, some_cells
from improvable.inference.evidence import Evidence
from improvable.inference.influence import (
    MOST_LEAN,
    Condition,
    Influence,
    conditions,
    effective_units,
    freedom_of,
    influence_of,
    largest_share,
    left_out,
    loads_of,
)
from improvable.inference.unseen import (
    Unseen,
    discordant_rows,
    farther,
    ordered_as_zero_one,
    ratio_at_the_null,
    two_values,
    unseen_of_two,
    within,
)
from improvable.question.claim import Claim

STRETCHING = 1
"""Which child of the seed the factors of `stretch` come from; blocks of draws have children with shorter keys."""
UNEVEN = 1e-9
"""Units that are worth less than one minus this of their number are uneven."""
TWO_VALUES, LONG_TAIL, MARGIN, WEIGHTS, CLUSTERS = "two values", "long tail", "margin", "weights", "clusters"
_Row = tuple[int, FloatArray]
"""A unit more: the stratum of groups that it is in, and what it contributes."""


@dataclass(frozen=True)
class RowsInClusters:
    """Rows before they are added up by cluster.

    Attributes
    ----------
    cells : Cells
        Of rows, one block per stratum of groups.
    codes : sequence of array of shape (cells,)
        For each stratum of the design: which of its clusters a cell belongs to; -1 for none.
    """

    cells: Cells
    codes: tuple[IntArray, ...]


@dataclass
class Drawable:
    """What draws are made from.

    Attributes
    ----------
    strata : sequence of Cells
    clustered : bool
    freedom : array of shape (S,) or None
        Degrees of freedom by stratum of groups; None where nothing is stretched.
    linear : bool
        Whether draws are corrected.
    acted : list of (str, int, int or None)
        Which corrections act: the reason, the utility, the stratum of groups; None for all.
    leaning : list of (Condition, Influence, float)
        Conditions with a long tail against them, and the largest share that one unit has in a sum of theirs.
    rare : list of (int, int, int, int)
        Where one of two values may have been missed: the stratum of groups, whose own rows these are, how many have the
        rarer value, and how many there are.
    """

    strata: Sequence[Cells]
    clustered: bool
    freedom: FloatArray | None = None
    linear: bool = False
    acted: list[tuple[str, int, int | None]] = field(default_factory=list)
    leaning: list[tuple[Condition, Influence, float]] = field(default_factory=list)
    rare: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def far(self) -> bool:
        """Whether long tails are corrected."""
        return any(why == LONG_TAIL for why, _, _ in self.acted)

    def draw(self, sums: FloatArray, draws: int, seed: np.random.SeedSequence, workers: int = 1) -> FloatArray:
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


def stretch(deviations: FloatArray, freedom: FloatArray, seed: np.random.SeedSequence) -> FloatArray:
    """Multiply deviations, (draws, blocks, width), by sqrt(f / chi-squared with f degrees of freedom).

    A draw has one quantile of it for all blocks, whose f, shape (blocks,), may differ: infinite for no change.
    """
    from scipy.special import gammaincinv

    rng = np.random.default_rng(child(seed, STRETCHING, 0))
    place = (rng.permutation(len(deviations)) + 0.5) / len(deviations)
    factors = np.ones((len(deviations), len(freedom)))
    for b in np.flatnonzero(np.isfinite(freedom)):
        half = freedom[b] / 2
        factors[:, b] = np.sqrt(half / gammaincinv(half, place))
    return np.asarray(factors[:, :, None] * deviations)


def plain(strata: Sequence[Cells], clustered: bool) -> Drawable:
    """Draws of Appendix A, or of a design with strata, without any correction."""
    return Drawable(strata if clustered else [ordered_as_zero_one(strata[0])], clustered)


def prepare(
    evidence: Evidence, claim: Claim, strata: Sequence[Cells], clustered: bool, rows: RowsInClusters | None = None
) -> Drawable:
    """Find which corrections are called for, and make them.

    Parameters
    ----------
    evidence : Evidence
        Sums; its draws do not matter.
    claim : Claim
    strata : sequence of Cells
        Of rows, one; or the clusters of each stratum of the design.
    clustered : bool
    rows : RowsInClusters, optional
        Of clusters. Without them outcomes that were not seen cannot be told.

    Notes
    -----
    The absolute gap, of a sample that did not choose its own reference pair, is the paper's test to the letter: there
    only units of unequal size, of which the paper does not speak, are corrected for.
    """
    made, letter = plain(strata, clustered), claim.gap == "absolute" and not evidence.chooses_here
    work = None
    if not clustered:
        work = _ByRow(made.strata[0])
    elif rows is not None:
        work = _ByRow(rows.cells, rows.codes)
    if work is not None and not letter:
        work.correct(evidence, claim, made)
    far = _long_tails(evidence, claim, made, work)
    if letter:
        far, made.acted = [], []
    if clustered:
        _weigh_clusters(made, evidence, work, far)
    elif work is not None:
        _weigh_rows(made, work, far)
    return made


def corrections_of(drawable: Drawable, evidence: Evidence) -> tuple[dict[str, str], ...]:
    """Which corrections act, where, in words: each reason, utility and group once."""
    out = []
    for why, m, block in dict.fromkeys(drawable.acted):
        groups = "" if block is None else " and ".join(one.levels[one.member[block]] for one in evidence.attributes)
        out.append({"why": why, "utility": evidence.measures[m].label, "group": groups or "every group"})
    return tuple(out)


class _ByRow:
    """Corrections that look at rows: by what their deviations are multiplied, and rows more.

    `sign` is by cell and utility, `scale` by stratum of groups and utility; `added` has rows more, and the cells that
    each joins. `codes` are those of `RowsInClusters`.
    """

    def __init__(self, cells: Cells, codes: tuple[IntArray, ...] = ()) -> None:
        self.cells, self.codes, self.vectors = cells, codes, by_utility(cells)
        self.values = two_values(self.vectors)
        self.sign = np.ones(self.vectors.shape[:2])
        self.scale = np.ones((cells.blocks, self.vectors.shape[1]))
        self.added: list[tuple[Unseen, IntArray]] = []

    def correct(self, evidence: Evidence, claim: Claim, made: Drawable) -> None:
        """Look for values not seen, and for margins."""
        bounded = [
            pair or within(self.vectors[:, m], evidence.measures[m].bounds) for m, pair in enumerate(self.values)
        ]
        for place, whose, seen, more in unseen_of_two(self.cells, bounded):
            if more[0].measure in evidence.asked and self.values[more[0].measure] is not None:
                made.rare.append((more[0].block, whose, seen, int(self.cells.counts[place].sum())))
            self.sign[place, more[0].measure] = -1.0
            self.added += [(one, place) for one in more]
            made.acted.append((TWO_VALUES, more[0].measure, more[0].block))
        for condition in conditions(evidence, claim):
            if condition.delta < 0 and condition.group is not None and not evidence.measures[condition.measure].formula:
                self._at_the_edge(condition, evidence, made)

    def _at_the_edge(self, condition: Condition, evidence: Evidence, made: Drawable) -> None:
        m, pair = condition.measure, self.values[condition.measure]
        mine = condition.member == int(np.flatnonzero(condition.coefficients.any(axis=1))[0])
        counts = self.vectors[:, m, :, W] != 0
        place = np.flatnonzero(mine[self.cells.block] & counts.any(axis=1))
        if pair is None or not pair.rate or not len(place):
            return
        both = place[counts[place].all(axis=1)]
        more = discordant_rows(self.cells, both, m, pair) if len(both) else []
        self.sign[place, m] = -1.0
        self.added += [(one, both) for one in more]
        extended = _joined(some_cells(self.cells, place), [(one.block, one.vector) for one in more])
        moved = influence_of(condition, [extended], evidence.sums, evidence.measures)
        adds = moved.counts.sum() * moved.values + condition.margin
        ratio = ratio_at_the_null(adds, moved.counts, condition.margin)
        self.scale[mine, m] = np.maximum(self.scale[mine, m], ratio)
        made.acted += [(MARGIN, m, int(b)) for b in np.flatnonzero(mine)]

    @property
    def changes(self) -> bool:
        return bool(self.added) or bool((self.sign < 0).any()) or bool((self.scale > 1).any())

    @property
    def corrected(self) -> FloatArray:
        """What rows are drawn with, shape (cells, M, 2, 2)."""
        return np.asarray(self.vectors * (self.sign * self.scale[self.cells.block])[:, :, None, None])

    def rows_more(self) -> list[_Row]:
        return [(one.block, -self.scale[one.block, one.measure] * one.vector) for one, _ in self.added]

    def pooled(self, stratum: int, shape: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """The clusters of one stratum of the design, with the corrections of their rows; and without."""
        mine = self.codes[stratum] >= 0
        _, code = np.unique(self.codes[stratum][mine], return_inverse=True)
        times = self.cells.counts[mine, None].astype(np.float64)
        block, blocks = self.cells.block[mine], self.cells.blocks
        values, true = (
            pool_clusters(one[mine] * times, block, code.astype(np.int64), blocks).reshape(-1, *shape)
            for one in (self.corrected.reshape(len(self.vectors), -1), self.cells.values)
        )
        return values, true

    def clusters_more(self, shape: Sequence[int]) -> list[FloatArray]:
        """A row more is a cluster more, of as many rows as the rows it joins have in a cluster."""
        out = []
        for (block, row), (_, place) in zip(self.rows_more(), self.added, strict=True):
            clusters = sum(len(np.unique(codes[place][codes[place] >= 0])) for codes in self.codes)
            cluster = np.zeros(shape)
            cluster[block] = row * (float(self.cells.counts[place].sum()) / max(1, clusters))
            out.append(cluster)
        return out


def _long_tails(evidence: Evidence, claim: Claim, made: Drawable, work: _ByRow | None) -> list[_Row]:
    """One unit more for each kind of rows that leans against a condition: its block and vector.

    Whatever the claim asks for, all conditions count and none asks for more than no loss: so that other claims can be
    put to the same draws.
    """
    # By utility, groups of an attribute and kind of rows: how far out the unit is, its block and its vector.
    out: dict[tuple[int, bytes, int], tuple[float, int, FloatArray]] = {}
    shape = evidence.sums.shape if made.clustered else evidence.sums.shape[1:]
    every = np.concatenate([cells.values for cells in made.strata]).reshape(-1, *shape)
    block = np.concatenate([cells.block for cells in made.strata])
    for condition in conditions(evidence, Claim()):
        m = condition.measure
        formula = bool(evidence.measures[m].formula)
        if not made.clustered and not formula and work is not None and work.values[m] is not None:
            continue  # of two values nothing is far away
        moved = influence_of(condition, made.strata, evidence.sums, evidence.measures)
        if not moved.leans(condition.margin):
            continue
        if claim.asks(condition.kind):
            made.leaning.append((condition, moved, largest_share(condition, made.strata, evidence.sums.shape)))
        columns = [at for _, at in evidence.measures[m].reads] if formula else [m]
        lean = -moved.cubes / moved.spread**3
        for kind in np.flatnonzero(lean >= min(MOST_LEAN, float(lean.max()))) if lean.max() > 0 else ():
            mine = np.flatnonzero(moved.kinds == kind)
            order = mine[np.argsort(moved.values[mine], kind="stable")]
            worst, number = order[0], moved.counts[order]
            middle = order[np.searchsorted(np.cumsum(number), number.sum() / 2)]
            reach = float(moved.values[middle] - moved.values[worst]) / moved.spread
            key = m, condition.member.tobytes(), int(kind)
            if reach <= (out[key][0] if key in out else 0.0):
                continue
            row = np.zeros(shape)
            row[..., columns, :, :] = farther(every[middle], every[worst])[..., columns, :, :]
            out[key] = reach, int(block[worst]), row
            made.acted.append((LONG_TAIL, m, None if made.clustered else int(block[worst])))
    return [(where, row) for _, where, row in out.values()]


def _weigh_rows(made: Drawable, work: _ByRow, far: Sequence[_Row]) -> None:
    """Rows with their factors, those of unequal weight by what leaving them out would do, and rows more."""
    cells, vectors = work.cells, work.vectors
    number, effective = loads_of(cells)
    uneven = np.asarray(((number > 0) & (effective < (1 - UNEVEN) * number)).any(axis=(1, 2)))
    if not (work.changes or far or uneven.any()):
        return
    values = work.corrected
    if uneven.any():
        whole = cells.sums().reshape(cells.blocks, -1, 2, 2)[..., W]
        for b, part in enumerate(cells.slices()):
            if uneven[b]:
                times = cells.counts[part].astype(np.float64)
                values[part] *= left_out(vectors[part, ..., W], times, cells.rows, whole[b])[..., None]
                made.acted += [(WEIGHTS, m, b) for m in range(vectors.shape[1])]
        least = freedom_of(np.where(number > 0, effective, np.inf), cells.rows, 1)
        made.freedom = np.where(uneven, least, np.inf)
    more = _joined(replace(cells, values=values.reshape(len(values), -1)), [*work.rows_more(), *far])
    order = np.argsort(more.block, kind="stable")
    made.strata, made.linear = [replace(some_cells(more, order), silent=cells.silent)], True


def _weigh_clusters(made: Drawable, evidence: Evidence, work: _ByRow | None, far: Sequence[_Row]) -> None:
    """Clusters by what leaving each out would do; with the factors of their rows, and clusters more."""
    shape, whole = evidence.sums.shape, evidence.sums[..., W]
    squares, strata = np.zeros(whole.shape), []
    more = [vector for _, vector in far]
    for h, cells in enumerate(made.strata):
        true = values = cells.values.reshape(-1, *shape)
        number = cells.counts
        squares += np.einsum("c,c...->...", number.astype(np.float64), true[..., W] ** 2)
        if work is not None and work.changes:
            values, true = work.pooled(h, shape)
            number = np.ones(len(values), dtype=np.int64)
        factor = left_out(true[..., W], number.astype(np.float64), cells.rows, whole)
        order = _in_order(true, values)
        flat = (values * factor[..., None]).reshape(len(values), -1)[order]
        silent = cells.rows - int(number.sum())
        strata.append(Cells(np.asfortranarray(flat), np.zeros(len(flat), dtype=np.int64), number[order], silent, 1))
    if work is not None and work.changes:
        more += work.clusters_more(shape)
    made.freedom = freedom_of(effective_units(whole, squares), sum(cells.rows for cells in strata), len(strata))
    largest = int(np.argmax([cells.rows for cells in strata]))
    strata[largest] = _joined(strata[largest], [(0, one) for one in more])
    made.strata, made.linear = strata, True
    made.acted += [(CLUSTERS, m, None) for m in range(shape[1])]


def _joined(cells: Cells, more: Sequence[_Row]) -> Cells:
    """Cells with units more, which stand last."""
    return replace(
        cells,
        values=np.concatenate([cells.values, *(vector.reshape(1, -1) for _, vector in more)]),
        block=np.concatenate([cells.block, np.array([block for block, _ in more], dtype=np.int64)]),
        counts=np.concatenate([cells.counts, np.ones(len(more), dtype=np.int64)]),
    )


def _in_order(*parts: FloatArray) -> IntArray:
    """Units by their w and then by their u, an order that how outcomes are written does not change."""
    columns = [one[..., part].reshape(len(one), -1).T for one in parts for part in (W, U)]
    return np.lexsort(np.concatenate(columns)[::-1])
