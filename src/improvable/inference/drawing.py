"""What was counted becomes draws: of rows, of clusters, within strata of a design.

Rows that all count alike, of which the sample misses nothing that is known to matter, are drawn as Appendix A says.
Elsewhere draws are corrected, here and nowhere else, so that every p-value, interval and edge that is computed from
them has the corrections, and no estimate changes:

- units of unequal size, clusters or weighted rows (`leverage`);
- values that the sample may have missed, and tails that it may have missed part of (`unseen`);
- rates near 0 or 1 that may fall short by a margin (`edges`).

Each is a change of what a unit's deviation is multiplied by, or a unit more. Corrected draws are linear: a unit moves a
utility by (u - U w) / W, its influence, so that changing its sign or size changes its part of the statistic by just
that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.inference.cells import Cells, U, W, by_utility, pool_clusters
from improvable.inference.edges import discordant_rows, ratio_at_the_null
from improvable.inference.evidence import Evidence
from improvable.inference.influence import MOST_LEAN, Condition, Influence, conditions, influence_of, largest_share
from improvable.inference.leverage import effective_units, freedom_of, left_out, loads_of, stretch
from improvable.inference.resampling import resample, resample_strata
from improvable.inference.unseen import Unseen, farther, ordered_as_zero_one, two_values, unseen_of_two, within
from improvable.question.claim import Claim

ANY = Claim()
UNEVEN = 1e-9
"""Units that are worth less than one minus this of their number are uneven."""
_Kind = tuple[int, bytes, int]
"""A utility, the groups of an attribute, and a kind of rows within these."""
TWO_VALUES, LONG_TAIL, MARGIN, WEIGHTS, CLUSTERS = "two values", "long tail", "margin", "weights", "clusters"


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
    far : bool
        Whether long tails are corrected.
    """

    strata: Sequence[Cells]
    clustered: bool
    freedom: FloatArray | None = None
    linear: bool = False
    acted: list[tuple[str, int, int | None]] = field(default_factory=list)
    leaning: list[tuple[Condition, Influence, float]] = field(default_factory=list)
    far: bool = False

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
    cells = made.strata[0] if not clustered else None if rows is None else rows.cells
    work = None if cells is None else _ByRow(cells)
    if work is not None and not letter:
        work.correct(evidence, claim, made)
    far = _long_tails(evidence, claim, made, work)
    if letter:
        far, made.acted = {}, []
    made.far = bool(far)
    if not clustered:
        assert work is not None
        _weigh_rows(made, work, far)
    else:
        _weigh_clusters(made, evidence, work, rows, far)
    return made


class _ByRow:
    """Corrections that look at rows: by what their deviations are multiplied, and rows more.

    Attributes
    ----------
    sign : array of shape (cells, M)
    scale : array of shape (S, M)
    added : list of (Unseen, array of int)
        Rows more, and the cells that they join.
    """

    def __init__(self, cells: Cells) -> None:
        vectors = by_utility(cells)
        self.cells, self.vectors = cells, vectors
        self.values = two_values(vectors)
        self.sign = np.ones(vectors.shape[:2])
        self.scale = np.ones((cells.blocks, vectors.shape[1]))
        self.added: list[tuple[Unseen, IntArray]] = []

    def correct(self, evidence: Evidence, claim: Claim, made: Drawable) -> None:
        """Look for values not seen, and for margins."""
        bounded = [
            pair or within(self.vectors[:, m], evidence.measures[m].bounds) for m, pair in enumerate(self.values)
        ]
        for place, more in unseen_of_two(self.cells, bounded):
            self.sign[place, more[0].measure] = -1.0
            self.added += [(one, place) for one in more]
            made.acted.append((TWO_VALUES, more[0].measure, more[0].block))
        for condition in conditions(evidence, claim):
            if condition.delta < 0 and condition.group is not None and not evidence.measures[condition.measure].formula:
                self._at_the_edge(condition, evidence, made)

    def _at_the_edge(self, condition: Condition, evidence: Evidence, made: Drawable) -> None:
        m, pair = condition.measure, self.values[condition.measure]
        level = int(np.flatnonzero(condition.coefficients.any(axis=1))[0])
        counts = (self.vectors[:, m, :, W] != 0).any(axis=1)
        place = np.flatnonzero((condition.member[self.cells.block] == level) & counts)
        if pair is None or not pair.rate or not len(place):
            return
        both = place[(self.vectors[place, m, :, W] != 0).all(axis=1)]
        more = discordant_rows(self.cells, both, m, pair) if len(both) else []
        self.sign[place, m] = -1.0
        self.added += [(one, both) for one in more]
        joined = [one.vector.ravel() for one in more]
        values = np.concatenate([self.cells.values[place], *([np.array(joined)] if joined else [])])
        block = np.concatenate([self.cells.block[place], [one.block for one in more]]).astype(np.int64)
        number = np.concatenate([self.cells.counts[place], np.ones(len(more), dtype=np.int64)])
        extended = Cells(values, block, number, 0, self.cells.blocks)
        moved = influence_of(condition, [extended], evidence.sums, evidence.measures)
        adds = moved.counts.sum() * moved.values + condition.margin
        ratio = ratio_at_the_null(adds, moved.counts, condition.margin)
        mine = np.flatnonzero(condition.member == level)
        self.scale[mine, m] = np.maximum(self.scale[mine, m], ratio)
        made.acted += [(MARGIN, m, int(b)) for b in mine]

    @property
    def changes(self) -> bool:
        return bool(self.added) or bool((self.sign < 0).any()) or bool((self.scale > 1).any())

    @property
    def factor(self) -> FloatArray:
        """By cell and utility."""
        return np.asarray(self.sign * self.scale[self.cells.block])

    def vector(self, one: Unseen) -> FloatArray:
        """What a row more is drawn with."""
        return np.asarray(one.vector * self.scale[one.block, one.measure] * (-1.0 if one.mirrored else 1.0))


def _long_tails(
    evidence: Evidence, claim: Claim, made: Drawable, work: _ByRow | None
) -> dict[_Kind, tuple[int, FloatArray]]:
    """One unit more for each kind of rows that leans against a condition: its block and vector.

    Whatever the claim asks for, all conditions count and none asks for more than no loss: so that other claims can be
    put to the same draws.
    """
    out: dict[_Kind, tuple[int, FloatArray]] = {}
    farthest: dict[_Kind, float] = {}
    shape = evidence.sums.shape if made.clustered else evidence.sums.shape[1:]
    every = np.concatenate([cells.values for cells in made.strata]).reshape(-1, *shape)
    block = np.concatenate([cells.block for cells in made.strata])
    for condition in conditions(evidence, ANY):
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
            middle = order[np.searchsorted(np.cumsum(moved.counts[order]), moved.counts[order].sum() / 2)]
            reach = float(moved.values[middle] - moved.values[order[0]]) / moved.spread
            key = m, condition.member.tobytes(), int(kind)
            if reach <= farthest.get(key, 0.0):
                continue
            farthest[key] = reach
            row = np.zeros(shape)
            row[..., columns, :, :] = farther(every[middle], every[order[0]])[..., columns, :, :]
            out[key] = int(block[order[0]]), row
            made.acted.append((LONG_TAIL, m, None if made.clustered else int(block[order[0]])))
    return out


def _weigh_rows(made: Drawable, work: _ByRow, far: dict[_Kind, tuple[int, FloatArray]]) -> None:
    """Rows with their factors, those of unequal weight by what leaving them out would do, and rows more."""
    cells, vectors = work.cells, work.vectors
    number, effective = loads_of(cells)
    uneven = np.asarray(((number > 0) & (effective < (1 - UNEVEN) * number)).any(axis=(1, 2)))
    if not (work.changes or far or uneven.any()):
        return
    values = vectors * work.factor[:, :, None, None]
    if uneven.any():
        whole = cells.sums().reshape(cells.blocks, -1, 2, 2)[..., W]
        for b, part in enumerate(cells.slices()):
            if uneven[b]:
                times = cells.counts[part].astype(np.float64)
                values[part] *= left_out(vectors[part, ..., W], times, cells.rows, whole[b])[..., None]
                made.acted += [(WEIGHTS, m, b) for m in range(vectors.shape[1])]
        least = freedom_of(np.where(number > 0, effective, np.inf), cells.rows, 1)
        made.freedom = np.where(uneven, least, np.inf)
    more = [(one.block, work.vector(one)) for one, _ in work.added] + list(far.values())
    flat = np.concatenate([values.reshape(len(values), -1), *(row.reshape(1, -1) for _, row in more)])
    block = np.concatenate([cells.block, [b for b, _ in more]]).astype(np.int64)
    order = np.argsort(block, kind="stable")
    counts = np.concatenate([cells.counts, np.ones(len(more), dtype=np.int64)])
    made.strata = [Cells(np.asfortranarray(flat[order]), block[order], counts[order], cells.silent, cells.blocks)]
    made.linear = True


def _weigh_clusters(
    made: Drawable,
    evidence: Evidence,
    work: _ByRow | None,
    rows: RowsInClusters | None,
    far: dict[_Kind, tuple[int, FloatArray]],
) -> None:
    """Clusters by what leaving each out would do; with the factors of their rows, and clusters more."""
    shape = evidence.sums.shape
    whole, units = evidence.sums[..., W], sum(cells.rows for cells in made.strata)
    squares, strata = np.zeros(whole.shape), []
    flips = work is not None and rows is not None and work.changes
    for h, cells in enumerate(made.strata):
        true = values = cells.values.reshape(-1, *shape)
        number = cells.counts
        squares += np.einsum("c,c...->...", number.astype(np.float64), true[..., W] ** 2)
        if flips:
            assert work is not None
            assert rows is not None
            values, true = _pooled(work, rows.codes[h], shape)
            number = np.ones(len(values), dtype=np.int64)
        factor = left_out(true[..., W], number.astype(np.float64), cells.rows, whole)
        order = _in_order(true, values)
        flat = (values * factor[..., None]).reshape(len(values), -1)[order]
        silent = cells.rows - int(number.sum())
        strata.append(Cells(np.asfortranarray(flat), np.zeros(len(flat), dtype=np.int64), number[order], silent, 1))
    more = [vector for _, vector in far.values()]
    if flips:
        assert work is not None
        assert rows is not None
        more += [_as_cluster(work, rows, one, place, shape) for one, place in work.added]
    if more:
        largest = int(np.argmax([cells.rows for cells in strata]))
        extra = np.array([one.ravel() for one in more])
        one = strata[largest]
        counts = np.concatenate([one.counts, np.ones(len(extra), dtype=np.int64)])
        strata[largest] = Cells(np.concatenate([one.values, extra]), np.zeros(len(counts), dtype=np.int64), counts,
                                one.silent, 1)  # fmt: skip
    made.strata, made.linear = strata, True
    made.freedom = freedom_of(effective_units(whole, squares), units, len(strata))
    made.acted += [(CLUSTERS, m, None) for m in range(shape[1])]


def _in_order(*parts: FloatArray) -> IntArray:
    """Units by their w and then by their u, an order that how outcomes are written does not change."""
    columns = [one[..., part].reshape(len(one), -1).T for one in parts for part in (W, U)]
    return np.lexsort(np.concatenate(columns)[::-1])


def _pooled(work: _ByRow, codes: IntArray, shape: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """The clusters of one stratum of the design, with the factors of their rows; and without."""
    mine = codes >= 0
    _, code = np.unique(codes[mine], return_inverse=True)
    times = work.cells.counts[mine, None].astype(np.float64)
    with_factor = (work.vectors * work.factor[:, :, None, None]).reshape(len(work.vectors), -1)[mine] * times
    block, blocks = work.cells.block[mine], work.cells.blocks
    values, true = (
        pool_clusters(one, block, code.astype(np.int64), blocks).reshape(-1, *shape)
        for one in (with_factor, work.cells.values[mine] * times)
    )
    return values, true


def _as_cluster(work: _ByRow, rows: RowsInClusters, one: Unseen, place: IntArray, shape: Sequence[int]) -> FloatArray:
    """A row more as a cluster more: of as many rows as the rows it joins have in a cluster."""
    clusters = sum(len(np.unique(codes[place][codes[place] >= 0])) for codes in rows.codes)
    out = np.zeros(shape)
    out[one.block] = work.vector(one) * (float(work.cells.counts[place].sum()) / max(1, clusters))
    return out


def corrections_of(drawable: Drawable, evidence: Evidence) -> tuple[dict[str, str], ...]:
    """Which corrections act, where, in words: each reason, utility and group once."""
    out = []
    for why, m, block in dict.fromkeys(drawable.acted):
        groups = "" if block is None else " and ".join(one.levels[one.member[block]] for one in evidence.attributes)
        out.append({"why": why, "utility": evidence.measures[m].label, "group": groups or "every group"})
    return tuple(out)
