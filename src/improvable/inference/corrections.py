"""Counted units, rows or clusters, are made ready to be drawn from.

Rows that all weigh alike, from a sample that misses nothing known to matter, are drawn as Appendix A says. Elsewhere
draws are corrected, here and nowhere else, so that every p-value, interval and edge has the corrections and no estimate
changes. Each correction is a factor on a unit's deviation, or a unit more: for units of unequal size, clusters or
weighted rows (leverage, in `influence`); for values or tails that the sample may have missed, and for rates near 0 or 1
that may fall short by a margin (`unseen`). Corrected draws are linear: a unit moves a utility by its influence,
(u - U w) / W, so that a factor on the unit is a factor on its part of the statistic.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from improvable.inference.bootstrap import Drawable
from improvable.inference.cells import Cells, RowsInClusters, U, W, join, some_cells
from improvable.inference.evidence import Evidence
from improvable.inference.influence import effective_units, left_out, sum_loads
from improvable.inference.unseen import LONG_TAIL, Leaning, RowCorrections, long_tails, ordered_as_zero_one
from improvable.question.claim import Claim

UNEVEN = 1e-9  # units that are worth less than one minus this of their number are uneven
WEIGHTS, CLUSTERS = "weights", "clusters"


@dataclass
class Corrected(Drawable):
    """What draws are made from, and the corrections behind it.

    `acted` says which corrections act: the reason, the utility, and the stratum of groups, or None for all. `leaning`
    and `rare` are what `unseen` found, for cautions.
    """

    acted: list[tuple[str, int, int | None]] = field(default_factory=list)
    leaning: list[Leaning] = field(default_factory=list)
    rare: list[tuple[int, int, int, int]] = field(default_factory=list)

    def in_words(self, evidence: Evidence) -> tuple[dict[str, str], ...]:
        """Which corrections act, where: each reason, utility and group once."""
        out = []
        for why, m, block in dict.fromkeys(self.acted):
            group = "every group" if block is None else " and ".join(evidence.groups_of(block))
            out.append({"why": why, "utility": evidence.measures[m].label, "group": group})
        return tuple(out)


def plain(strata: Sequence[Cells], clustered: bool) -> Drawable:
    """Draws of Appendix A, or of a design with strata, without any correction."""
    return Drawable(strata if clustered else [ordered_as_zero_one(strata[0])], clustered)


def prepare(
    evidence: Evidence, claim: Claim, strata: Sequence[Cells], clustered: bool, rows: RowsInClusters | None = None
) -> Corrected:
    """Find which corrections are called for, and make them; those that look at rows need the `rows` of clusters.

    The absolute gap, of a sample that did not choose its own reference pair, is the paper's test to the letter: there
    only units of unequal size, which the paper does not consider, are corrected for.
    """
    letter = claim.gap == "absolute" and not evidence.chooses_here
    made, by_row, two_valued = Corrected(plain(strata, clustered).strata, clustered), None, []
    if rows is not None or not clustered:
        by_row = RowCorrections(made.strata[0] if rows is None else rows.cells, rows)
        two_valued = [] if clustered else [m for m, pair in enumerate(by_row.pairs) if pair is not None]
        if not letter:
            by_row.correct(evidence, claim)
            made.acted, made.rare = [*by_row.acted], by_row.rare
    leaning, far = long_tails(evidence, join(*made.strata), two_valued)
    made.leaning = [one for one in leaning if claim.asks(one[0].kind)]
    far = [] if letter else far
    made.acted += [(LONG_TAIL, m, None if clustered else int(unit.block[0])) for m, unit in far]
    by_row = by_row if by_row is not None and by_row.acted else None
    _weigh(made, evidence.sums.shape, by_row, [unit for _, unit in far])
    return made


def _weigh(made: Corrected, shape: Sequence[int], by_row: RowCorrections | None, far: Sequence[Cells]) -> None:
    """Draw units by what leaving each out would do, with the factors of their rows, and units more."""
    whole = np.sum([cells.sums() for cells in made.strata], axis=0).reshape(shape)[..., W]
    number, first, second = (sum(one).reshape(whole.shape) for one in zip(*map(sum_loads, made.strata), strict=True))
    effective = effective_units(whole if made.clustered else first, second)
    uneven = np.asarray(made.clustered | (effective < (1 - UNEVEN) * number).any(axis=(1, 2)))
    if by_row is None and not far and not uneven.any():
        return
    made.linear, strata, more = True, [], [] if by_row is None else by_row.more()
    for h, cells in enumerate(made.strata):
        true, drawn = (cells, cells.values) if by_row is None else by_row.units(h, cells)
        factor = np.where(uneven.reshape(cells.blocks, -1)[true.block][..., None, None], left_out(true, whole), 1.0)
        values = (drawn.reshape(len(drawn), -1, *shape[1:]) * factor[..., None]).reshape(drawn.shape)
        # Clusters stand by their w and then by their u, an order that how outcomes are written does not change.
        columns = [one.reshape(len(one), -1, 2)[..., part].T for one in (true.values, drawn) for part in (W, U)]
        order = np.lexsort(np.concatenate(columns)[::-1]) if made.clustered else np.arange(len(values))
        strata.append(some_cells(replace(true, values=values), order))
    units, least = sum(cells.rows for cells in strata), effective.min(axis=(1, 2))
    freedom = np.maximum((least - 1) * (units - len(strata)) / max(units - 1, 1), 1.0)
    made.freedom = np.where(uneven, freedom, np.inf)
    largest = int(np.argmax([cells.rows for cells in strata]))
    joined = join(strata[largest], *([*far, *more] if made.clustered else [*more, *far]))
    strata[largest] = some_cells(joined, np.argsort(joined.block, kind="stable"))
    made.strata, blocks = strata, [None] if made.clustered else np.flatnonzero(uneven).tolist()
    made.acted += [(CLUSTERS if made.clustered else WEIGHTS, m, b) for b in blocks for m in range(shape[1])]
