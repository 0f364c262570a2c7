"""Counted units, rows or clusters, are made ready to be drawn from.

Rows that all weigh alike, from a sample that misses nothing known to matter, are drawn
as Appendix A says. Elsewhere draws are corrected, here and nowhere else, so that every
p-value, interval and edge has the corrections and no estimate changes. Each correction
is a factor on a unit's deviation, or a unit more: for units of unequal size, clusters
or weighted rows (leverage, in `influence`), and for rows that the sample may have
missed, since a resample cannot draw what the sample does not hold. Corrected draws are
linear: a unit moves a utility by its influence, (u - U w) / W, so that a factor on the
unit is a factor on its part of the statistic.

*Two values.* If 97% repay, twenty more approved people all repay with probability one
half. The bootstrap then finds no variance among them and rejects 53% of true nulls at a
level of 5%. So where a group's rows that count for one algorithm alone hold fewer than
`MIN_SEEN` of either value, they get one row more of each, for drawing only (Agresti and
Caffo, 2000), and their deviations change sign: the tail that matters is that of
outcomes not seen. What rows contribute decides, not how it is written: 0 and 1, or 8
for a loan repaid and -60 for one lost, or the ends of a declared range.

*Margins near the edge.* "No worse by more than 5%" at a rate of .98 with 60 rows is
decided by one or two failures, and a centered bootstrap rejects up to 15% of true
nulls. A score test has the variance of the statistic *if the null held* (Farrington and
Manning, 1990; for pairs, Tango, 1998), by empirical likelihood (Owen, 2001): with the
weights of rows nearest to equal ones under which the claim just fails. Deviations are
multiplied by the ratio of the two standard errors and change sign; rows on which the
algorithms differ get one more of each value. It takes two values per row.

*Long tails.* A mean of costs follows a few large ones, which a sample may miss (Hall,
1992; the index of `influence`). A kind of rows that leans against the claim gets one
row more, `FARTHER` times as far from its median row as the worst one seen. Nobody can
correct what a sample does not hint at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.inference.bootstrap import Drawable
from improvable.inference.cells import (
    CANDIDATE,
    Cells,
    RowsInClusters,
    U,
    W,
    by_utility,
    join,
    some_cells,
    vectors_of,
)
from improvable.inference.components import Condition, conditions
from improvable.inference.evidence import Evidence
from improvable.inference.influence import (
    MAX_LEAN,
    Influence,
    effective_units,
    influence_of,
    left_out,
    sum_loads,
)
from improvable.inference.statistics import utilities_of
from improvable.question.claim import Claim

# units that are worth less than one minus this of their number are uneven
UNEVEN = 1e-9
WEIGHTS, CLUSTERS = "weights", "clusters"
MIN_SEEN, FARTHER, HALVINGS = 10, 3.0, 60
SAME = 1e-9  # values closer than this share of the largest are one: weights round them
TWO_VALUES, LONG_TAIL, MARGIN = "two values", "long tail", "margin"
# A condition with a long tail against it, and the largest share that one unit has in a
# sum of its outcomes.
Leaning = tuple[Condition, Influence, float]


@dataclass
class Corrected(Drawable):
    """What draws are made from, and the corrections behind it."""

    # Which corrections act: the reason, the utility, and the stratum of groups, or None
    # for all.
    acted: list[tuple[str, int, int | None]] = field(default_factory=list)
    # this and the next are for cautions
    leaning: list[Leaning] = field(default_factory=list)
    # see `RowCorrections`
    rare: list[tuple[int, int, int, int]] = field(default_factory=list)

    def in_words(self, evidence: Evidence) -> tuple[dict[str, str], ...]:
        """Which corrections act, where: each reason, utility and group once."""
        out = []
        for why, m, block in dict.fromkeys(self.acted):
            group = (
                "every group"
                if block is None
                else " and ".join(evidence.groups_of(block))
            )
            out.append(
                {"why": why, "utility": evidence.measures[m].label, "group": group}
            )
        return tuple(out)


def plain(strata: Sequence[Cells], clustered: bool) -> Drawable:
    """Draws of Appendix A, or of a design with strata, without any correction."""
    return Drawable(
        strata if clustered else [ordered_as_zero_one(strata[0])], clustered
    )


def prepare(
    evidence: Evidence,
    claim: Claim,
    strata: Sequence[Cells],
    clustered: bool,
    rows: RowsInClusters | None = None,
) -> Corrected:
    """Find which corrections are called for, and make them; those that look at rows
    need the `rows` of clusters.

    The absolute gap, of a sample that did not choose its own reference pair, is the
    paper's test to the letter: there only units of unequal size, which the paper does
    not consider, are corrected for.
    """
    letter = claim.gap == "absolute" and not evidence.chooses_here
    made, by_row, two_valued = (
        Corrected(plain(strata, clustered).strata, clustered),
        None,
        [],
    )
    if rows is not None or not clustered:
        by_row = RowCorrections(made.strata[0] if rows is None else rows.cells, rows)
        two_valued = (
            []
            if clustered
            else [m for m, pair in enumerate(by_row.pairs) if pair is not None]
        )
        if not letter:
            by_row.correct(evidence, claim)
            made.acted, made.rare = [*by_row.acted], by_row.rare
    leaning, far = long_tails(evidence, join(*made.strata), two_valued)
    made.leaning = [one for one in leaning if claim.asks(one[0].kind)]
    far = [] if letter else far
    made.acted += [
        (LONG_TAIL, m, None if clustered else int(unit.block[0])) for m, unit in far
    ]
    by_row = by_row if by_row is not None and by_row.acted else None
    _weigh(made, evidence.sums.shape, by_row, [unit for _, unit in far])
    return made


def _weigh(
    made: Corrected,
    shape: Sequence[int],
    by_row: "RowCorrections | None",
    far: Sequence[Cells],
) -> None:
    """Draw units by what leaving each out would do, with the factors of their rows, and
    units more.
    """
    whole = np.sum([cells.sums() for cells in made.strata], axis=0).reshape(shape)[
        ..., W
    ]
    number, first, second = (
        sum(one).reshape(whole.shape)
        for one in zip(*map(sum_loads, made.strata), strict=True)
    )
    effective = effective_units(whole if made.clustered else first, second)
    uneven = np.asarray(
        made.clustered | (effective < (1 - UNEVEN) * number).any(axis=(1, 2))
    )
    if by_row is None and not far and not uneven.any():
        return
    made.linear, strata, more = True, [], [] if by_row is None else by_row.more()
    for h, cells in enumerate(made.strata):
        true, drawn = (
            (cells, cells.values) if by_row is None else by_row.units(h, cells)
        )
        factor = np.where(
            uneven.reshape(cells.blocks, -1)[true.block][..., None, None],
            left_out(true, whole),
            1.0,
        )
        values = (
            drawn.reshape(len(drawn), -1, *shape[1:]) * factor[..., None]
        ).reshape(drawn.shape)
        # Clusters stand by their w and then by their u, an order that how outcomes are
        # written does not change.
        columns = [
            one.reshape(len(one), -1, 2)[..., part].T
            for one in (true.values, drawn)
            for part in (W, U)
        ]
        order = (
            np.lexsort(np.concatenate(columns)[::-1])
            if made.clustered
            else np.arange(len(values))
        )
        strata.append(some_cells(replace(true, values=values), order))
    units, least = sum(cells.rows for cells in strata), effective.min(axis=(1, 2))
    freedom = np.maximum((least - 1) * (units - len(strata)) / max(units - 1, 1), 1.0)
    made.freedom = np.where(uneven, freedom, np.inf)
    largest = int(np.argmax([cells.rows for cells in strata]))
    joined = join(
        strata[largest], *([*far, *more] if made.clustered else [*more, *far])
    )
    strata[largest] = some_cells(joined, np.argsort(joined.block, kind="stable"))
    made.strata, blocks = (
        strata,
        [None] if made.clustered else np.flatnonzero(uneven).tolist(),
    )
    made.acted += [
        (CLUSTERS if made.clustered else WEIGHTS, m, b)
        for b in blocks
        for m in range(shape[1])
    ]


@dataclass(frozen=True)
class TwoValues:
    """A utility whose contributions, u / w of a row, have two values."""

    low: float
    high: float
    # (cells, 2): which rows have one of them under an algorithm; others have w, or else
    # u, zero
    selects: BoolArray
    rate: bool  # whether every row that counts has one of them

    def is_high(self, parts: FloatArray) -> BoolArray:
        """Which contributions, shape (..., 2), have the higher value."""
        return np.asarray(parts[..., U] > (self.low + self.high) / 2 * parts[..., W])


def two_values(vectors: FloatArray) -> list[TwoValues | None]:
    """Of each utility, (cells, M, 2, 2); None where contributions do not have two
    values.

    Where only 0, or only 1, was seen of rows that an algorithm selects, the other is
    taken to exist.
    """
    out: list[TwoValues | None] = []
    for u, w in np.moveaxis(vectors, (1, 3), (0, 1)):
        loads = w != 0
        values = np.unique(u[loads] / w[loads])
        if len(values) > 1:
            values = values[
                np.concatenate([[True], np.diff(values) > SAME * np.abs(values).max()])
            ]
        if len(values) == 1 and values[0] in (0.0, 1.0) and not loads.all():
            values = np.array([0.0, 1.0])
        pair = None
        if len(values) == 2:
            pair = TwoValues(float(values[0]), float(values[1]), loads, rate=True)
        # rows that are not selected contribute 0
        elif len(values) == 3 and 0.0 in values and loads.all():
            low, high = values[values != 0]
            pair = TwoValues(float(low), float(high), u != 0, rate=False)
        out.append(pair)
    return out


def ordered_as_zero_one(cells: Cells) -> Cells:
    """Cells in the order they would have if each pair of values were 0 and 1: draws
    follow the order of cells.
    """
    vectors = by_utility(cells)
    keys = vectors.copy()
    for m, pair in enumerate(two_values(vectors)):
        if pair is not None and pair.rate:
            keys[:, m, :, U] = np.where(
                pair.is_high(vectors[:, m]), vectors[:, m, :, W], 0.0
            )
    if not np.array_equal(keys, vectors):
        cells = some_cells(
            cells, np.lexsort((*keys.reshape(len(keys), -1).T[::-1], cells.block))
        )
    return cells


class RowCorrections:
    """What the deviations of rows are multiplied by, `sign` (cells, M) times `scale`
    (blocks, M), and rows more.

    `added` has the block, utility and vector of each row more, and the cells that it
    joins. `rare` has, for rows of one algorithm, their block, whose they are, how many
    have the rarer value, and how many there are.
    """

    def __init__(self, cells: Cells, clusters: RowsInClusters | None = None) -> None:
        self.cells, self.clusters, self.vectors = cells, clusters, by_utility(cells)
        self.pairs = two_values(self.vectors)
        self.sign = np.ones(self.vectors.shape[:2])
        self.scale = np.ones((cells.blocks, self.vectors.shape[1]))
        self.added: list[tuple[int, int, FloatArray, IntArray]] = []
        self.acted: list[tuple[str, int, int | None]] = []
        self.rare: list[tuple[int, int, int, int]] = []

    def correct(self, evidence: Evidence, claim: Claim) -> None:
        """Look for values not seen, and for margins."""
        number = evidence.bounded or len(self.pairs)
        for m, pair in enumerate(self.pairs[:number]):
            bounds = evidence.measures[m].bounds
            # nothing was to be seen of unknown outcomes
            if pair is not None and evidence.bounded:
                unknown = self.vectors[..., U][:, m - number, CANDIDATE] != 0
                pair = replace(pair, selects=pair.selects & ~unknown[:, None])
            if pair is not None:
                self._unseen(m, pair, m in evidence.asked)
            elif bounds is not None:
                self._unseen(
                    m,
                    TwoValues(*bounds, self.vectors[:, m, :, W] != 0, rate=False),
                    False,
                )
        for condition in conditions(evidence, claim):
            if (
                condition.allows_loss
                and not evidence.measures[condition.measure].formula
            ):
                self._at_the_edge(condition, evidence)
        # what stands beside a utility moves with it (`unknown`)
        for m in range(number, len(self.pairs)):
            self.sign[:, m], self.scale[:, m] = (
                self.sign[:, m % number],
                self.scale[:, m % number],
            )

    def _unseen(self, m: int, pair: TwoValues, asked: bool) -> None:
        for t, b in product((0, 1), range(self.cells.blocks)):
            place = np.flatnonzero(
                pair.selects[:, t] & ~pair.selects[:, 1 - t] & (self.cells.block == b)
            )
            counts = self.cells.counts[place]
            high = int(counts[pair.is_high(self.vectors[place, m, t])].sum())
            seen = min(high, int(counts.sum()) - high)
            if not len(place) or seen >= MIN_SEEN:
                continue
            self.sign[place, m] = -1.0
            self._add(
                place,
                b,
                m,
                *(
                    np.where(np.arange(2) == t, value, 0.0)
                    for value in (pair.low, pair.high)
                ),
            )
            self.acted.append((TWO_VALUES, m, b))
            self.rare += [(b, t, seen, int(counts.sum()))] if asked else []

    def _at_the_edge(self, condition: Condition, evidence: Evidence) -> None:
        m, pair, before = (
            condition.measure,
            self.pairs[condition.measure],
            len(self.added),
        )
        mine = condition.member == int(
            np.flatnonzero(condition.coefficients.any(axis=1))[0]
        )
        loads = self.vectors[:, m, :, W] != 0
        place = np.flatnonzero(mine[self.cells.block] & loads.any(axis=1))
        if pair is None or not pair.rate or not len(place):
            return
        both = place[loads[place].all(axis=1)]
        if len(both):
            block = int(
                np.argmax(
                    np.bincount(self.cells.block[both], weights=self.cells.counts[both])
                )
            )
            self._add(
                both,
                block,
                m,
                np.array([pair.low, pair.high]),
                np.array([pair.high, pair.low]),
            )
        self.sign[place, m] = -1.0
        more = [as_cell(block, vector) for block, _, vector, _ in self.added[before:]]
        moved = influence_of(
            condition,
            join(some_cells(self.cells, place), *more),
            evidence.sums,
            evidence.measures,
        )
        ratio = ratio_at_the_null(
            moved.counts.sum() * moved.values + condition.margin,
            moved.counts,
            condition.margin,
        )
        self.scale[mine, m] = np.maximum(self.scale[mine, m], ratio)
        self.acted += [(MARGIN, m, int(b)) for b in np.flatnonzero(mine)]

    def _add(self, place: IntArray, block: int, m: int, *sides: FloatArray) -> None:
        """Rows as heavy as those they join are on average, with the given values under
        either algorithm.
        """
        weight = np.average(
            self.vectors[place, m, :, W], axis=0, weights=self.cells.counts[place]
        )
        for values in sides:
            row = np.zeros(self.vectors.shape[1:])
            row[m, :, U], row[m, :, W] = values * weight, weight
            self.added.append((block, m, row, place))

    def units(self, stratum: int, cells: Cells) -> tuple[Cells, FloatArray]:
        """The rows, or the clusters of one stratum of the design: as they are, and the
        vectors to draw them with.
        """
        factor = (self.sign * self.scale[self.cells.block])[:, :, None, None]
        drawn = (self.vectors * factor).reshape(self.cells.values.shape)
        if self.clusters is None:
            return self.cells, drawn
        true, drawn = (
            self.clusters.pool(values, stratum) for values in (self.cells.values, drawn)
        )
        zeros, ones = (
            np.zeros(len(true), dtype=np.int64),
            np.ones(len(true), dtype=np.int64),
        )
        return Cells(true, zeros, ones, cells.rows - len(true), 1), drawn

    def more(self) -> list[Cells]:
        """The rows more; or clusters more, each of as many rows as those that it joins
        have in a cluster.
        """
        rows = [
            (b, -self.scale[b, m] * vector, place) for b, m, vector, place in self.added
        ]
        if self.clusters is None:
            return [as_cell(b, row) for b, row, _ in rows]
        out = np.zeros((len(rows), self.cells.blocks, *self.vectors.shape[1:]))
        for cluster, (b, row, place) in zip(out, rows, strict=True):
            known = np.unique(
                self.clusters.cluster[place][self.clusters.stratum[place] >= 0]
            )
            cluster[b] = row * (
                float(self.cells.counts[place].sum()) / max(1, len(known))
            )
        return [as_cell(0, cluster) for cluster in out]


def as_cell(block: int, vector: FloatArray) -> Cells:
    """One unit more."""
    return Cells(vector.reshape(1, -1), np.array([block]), np.array([1]), 0, block + 1)


def ratio_at_the_null(
    values: FloatArray, counts: FloatArray, statistic: float
) -> float:
    """The standard error that the mean of `values` would have if it were zero, over the
    one it has; at least 1.

    The mean is `statistic`. The weights at the null are 1 / (n + t v_i) with the t that
    makes their mean of v zero.
    """
    total, against = float(counts.sum()), values[values < 0]
    if statistic <= 0 or not len(against):
        return 1.0
    low, high = 0.0, total / -float(against.min())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = float((counts * values / (total + middle * values)).sum()) > 0
        low, high = (middle, high) if above else (low, middle)
    weights = counts / (total + low * values)
    weights /= weights.sum()
    there = float((weights * values**2).sum() - (weights * values).sum() ** 2)
    here = (
        float((counts * values**2).sum()) / total
        - (float((counts * values).sum()) / total) ** 2
    )
    return max(1.0, (there / here) ** 0.5) if here > 0 else 1.0


def long_tails(
    evidence: Evidence, units: Cells, two_valued: Sequence[int]
) -> tuple[list[Leaning], list[tuple[int, Cells]]]:
    """Conditions with a long tail against them, and the utility and vector of a unit
    more for each kind that leans.

    Whatever the claim asks for, all conditions count and none asks for more than no
    loss, so that other claims can be put to the same draws. Of two values, nothing is
    far away.
    """
    leaning: list[Leaning] = []
    # By utility, groups of an attribute and kind of rows: how far out the unit is, and
    # the unit.
    out: dict[tuple[int, bytes, int], tuple[float, Cells]] = {}
    every = vectors_of(units, evidence.sums.shape)
    for condition in (
        one for one in conditions(evidence, Claim()) if one.measure not in two_valued
    ):
        m, moved = (
            condition.measure,
            influence_of(condition, units, evidence.sums, evidence.measures),
        )
        if not moved.may_decide(condition.margin):
            continue
        columns = [at for _, at in evidence.measures[m].reads] or [m]
        size = np.abs(every[..., U][:, :, columns]).max(axis=2)
        level, whose = condition.levels(units), condition.coefficients != 0
        total = np.zeros(whose.shape)
        size = np.where((level >= 0)[..., None], size, 0.0)
        np.add.at(
            total,
            np.broadcast_to(level, size.shape[:2]),
            units.counts[:, None, None] * size,
        )
        share = np.divide(
            size,
            total[level],
            out=np.zeros(size.shape),
            where=(whose & (total > 0))[level],
        )
        leaning.append((condition, moved, float(share.max())))
        for kind in np.flatnonzero(
            moved.leans >= min(MAX_LEAN, float(moved.leans.max()))
        ):
            mine = np.flatnonzero(moved.kinds == kind)
            order = mine[np.argsort(moved.values[mine], kind="stable")]
            worst, number = order[0], moved.counts[order]
            median = order[np.searchsorted(np.cumsum(number), number.sum() / 2)]
            reach = float(moved.values[median] - moved.values[worst]) / moved.spread
            key = m, condition.member.tobytes(), int(kind)
            if reach > (out[key][0] if key in out else 0.0):
                unit, weight = np.zeros(every.shape[1:]), every[worst, ..., W]
                far, middle = (
                    np.nan_to_num(utilities_of(every[worst])),
                    utilities_of(every[median]),
                )
                middle = np.where(np.isnan(middle), far, middle)
                farther = np.stack(
                    [weight * (middle + FARTHER * (far - middle)), weight], axis=-1
                )
                unit[:, columns] = farther[:, columns]
                out[key] = reach, as_cell(int(units.block[worst]), unit)
    return leaning, [(m, unit) for (m, _, _), (_, unit) in out.items()]
