"""Where a p-value is not to be trusted although nothing is wrong with the data: few effective rows, and why.

Each function looks at what was counted, not at the verdict, and returns cautions that name the reason and what to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import IntArray
from improvable.data.groups import Attribute
from improvable.errors import Caution
from improvable.inference.cells import Cells, U, W, by_utility, some_cells
from improvable.inference.corrections import UNEVEN, Drawable
from improvable.inference.evidence import Evidence, members
from improvable.inference.influence import MOST_LEAN, effective_units, loads_of, sums_of_loads
from improvable.inference.moments import Moments, loads_of_moments

FEWEST_CLUSTERS = 30
FEWEST_EFFECTIVE = 30
FEWEST_DIFFERING = 50
FEWEST_RARE = 5
WHOSE = ("status quo", "candidate")


@dataclass(frozen=True)
class Differing:
    """The rows of a group that the two algorithms treat differently, in the utility in which they are fewest.

    Attributes
    ----------
    rows : int
    sides : (int, int)
        Of these, the status quo's own and the candidate's own: those that count for one algorithm alone or, where rows
        count for both, contribute more under one.
    effective : float
        What they are worth in rows of equal weight, or in clusters of equal size where rows are clustered (Kish).
    """

    rows: int
    sides: tuple[int, int]
    effective: float

    @property
    def fewest(self) -> float:
        """What the smaller side that has any rows is worth."""
        own = min((side for side in self.sides if side), default=0)
        return own * self.effective / self.rows if self.rows else 0.0


def differing_rows(evidence: Evidence, rows: Cells, clusters: IntArray | None = None) -> dict[str, Differing]:
    """Of every group, how many rows the two algorithms treat differently.

    A row counts where it contributes other than the same under both: a decision that changes nothing that is measured
    does not. It needs no outcome to be seen, and so it tells of samples that look certain because they are small.
    `clusters` has the cluster of each cell.
    """
    vectors, out = by_utility(rows), {}
    for group, strata in members(evidence.attributes):
        mine, found = strata[rows.block], []
        for m in evidence.asked:
            parts = vectors[:, [at for _, at in evidence.measures[m].reads] or [m]]
            differs = mine & (parts[:, :, 0] != parts[:, :, 1]).any(axis=(1, 2))
            load, counts = parts[differs][..., W].max(axis=(1, 2), initial=0.0), rows.counts[differs]
            total, squares = float((counts * load).sum()), float((counts * load**2).sum())
            if clusters is not None:
                squares = float((np.bincount(clusters[differs], weights=counts * load) ** 2).sum())
            before, after = np.moveaxis(parts[differs].sum(axis=1), 1, 0)
            new = np.where(before[:, W] != after[:, W], after[:, W] > before[:, W], after[:, U] > before[:, U])
            sides = int(counts[~new].sum()), int(counts[new].sum())
            found.append(Differing(int(counts.sum()), sides, total**2 / squares if squares else 0.0))
        out[group] = min(found, key=lambda one: (one.fewest, one.rows))
    return out


def reliability_cautions(evidence: Evidence, drawable: Drawable, differing: Mapping[str, Differing]) -> list[Caution]:
    """All that is to be said of few effective rows; `drawable` is what draws were made from."""
    out = few_differing(differing, drawable.clustered) or rare_values(evidence, drawable)
    if drawable.clustered:
        out += few_clusters(evidence, drawable)
    return out + skewed_statistics(evidence, drawable)


def few_differing(differing: Mapping[str, Differing], clustered: bool = False) -> list[Caution]:
    """Groups in which the whole comparison rests on few rows, in one caution."""
    few = []
    for group, one in differing.items():
        if one.fewest < FEWEST_DIFFERING:
            worth = f", worth {one.effective:.0f} {'clusters of equal size' if clustered else 'rows of equal weight'}"
            less = worth if one.effective < (1 - UNEVEN) * one.rows else ""
            few.append(f"{one.rows:,} of '{group}' ({one.sides[0]:,} and {one.sides[1]:,}{less})")
    if not few:
        return []
    text = (
        f"the two algorithms differ in few rows: {', '.join(few)}; in parentheses the status quo's own and the "
        f"candidate's own. Where one of these is worth fewer than {FEWEST_DIFFERING} rows, an outcome that none of "
        "them shows may decide, and no test can see it. Bring more rows in which the algorithms differ."
    )
    return [Caution("differing", text)]


def rare_values(evidence: Evidence, drawable: Drawable) -> list[Caution]:
    """Groups in which many rows differ, of which hardly any has one of the outcome's two values."""
    few = [one for one in drawable.rare if one[2] < FEWEST_RARE]
    if not few:
        return []
    block, whose, seen, rows = min(few, key=lambda one: one[2])
    group = " and ".join(f"'{one.levels[one.member[block]]}'" for one in evidence.attributes)
    text = (
        f"of the {rows:,} rows of group {group} that only the {WHOSE[whose]} selects, {seen} "
        f"{'has' if seen == 1 else 'have'} the rarer of the outcome's two values (fewer than {FEWEST_RARE}). Draws "
        "assume one row of each value more; p-values may still be a little too small. Add rows in which the "
        "algorithms differ."
    )
    return [Caution("rare", text)]


def few_clusters(evidence: Evidence, drawable: Drawable) -> list[Caution]:
    """Groups whose clusters are few, or worth few because one or two are large."""
    assert drawable.freedom is not None
    least = int(np.argmin(drawable.freedom))
    freedom, clusters = float(drawable.freedom[least]), sum(cells.rows for cells in drawable.strata)
    if freedom + 1 >= FEWEST_CLUSTERS:
        return []
    levels = " and ".join(f"'{one.levels[one.member[least]]}'" for one in evidence.attributes)
    within = f" in {len(drawable.strata)} strata" if len(drawable.strata) > 1 else ""
    text = (
        f"the {clusters:,} clusters{within} leave {freedom:.1f} degrees of freedom for group {levels}, as "
        f"{freedom + 1:.0f} clusters of equal size do (fewer than {FEWEST_CLUSTERS}). p-values leave out each cluster "
        "in turn and use Student's t; where one or two clusters differ from all others, they may still be too small. "
        "Look at the results without each of them."
    )
    return [Caution("few clusters", text)]


def effective_rows(attributes: Sequence[Attribute], counted: Cells | Moments) -> dict[str, tuple[float, float]]:
    """What the rows of each group that count are worth in rows of equal weight (Kish), for either algorithm.

    Of several utilities in the one in which it is least. Without weights it is how many rows count. Clusters are not
    considered.
    """
    first, second = loads_of_moments(counted) if isinstance(counted, Moments) else sums_of_loads(counted)
    out = {}
    for group, mine in members(attributes):
        one, two = (x[mine].sum(axis=0) for x in (first, second))
        least = np.where(two > 0, effective_units(one, two), 0.0).min(axis=0)
        out[group] = float(least[0]), float(least[1])
    return out


def heavy_weights(evidence: Evidence, rows: Cells) -> list[Caution]:
    """Groups in which uneven weights leave few effective rows."""
    out = []
    for group, strata in members(evidence.attributes):
        mine = some_cells(rows, np.flatnonzero(strata[rows.block]))
        as_one = replace(mine, block=np.zeros(len(mine.block), dtype=np.int64), blocks=1)
        number, effective = (one[0] for one in loads_of(as_one))
        for t, whose in enumerate(WHOSE):
            m = int(np.argmin(effective[:, t]))
            if 0 < effective[m, t] < min(FEWEST_EFFECTIVE, (1 - UNEVEN) * number[m, t]):
                text = (
                    f"the {number[m, t]:,.0f} weighted rows of group '{group}' that count for the {whose} are "
                    f"worth {effective[m, t]:.1f} rows of equal weight (Kish's effective number; fewer than "
                    f"{FEWEST_EFFECTIVE}), so p-values are unreliable. Trim the largest weights, or bring more "
                    "rows."
                )
                out.append(Caution(f"weights {group} {whose}", text))
    return out


def skewed_statistics(evidence: Evidence, drawable: Drawable) -> list[Caution]:
    """Statistics with a long tail against the claim, of which the sample may hold a part only."""
    out: dict[str, tuple[float, Caution]] = {}
    for condition, moved, share in drawable.leaning:
        label = evidence.measures[condition.measure].label
        kind = f"skewed {label} {condition.name}"
        unit = moved.unit
        assumed = ""
        if drawable.far:
            assumed = f" Draws assume one {unit} more, three times as far out as the worst one seen."
        text = (
            f"'{label}' is skewed: the statistic of {condition.name} has a long tail against the claim (index "
            f"{moved.lean:.2f}, above {MOST_LEAN}). One {unit} has {moved.largest:.0%} of its variance; the largest "
            f"has {share:.0%} of a group's sum.{assumed} An outlier that no {unit} hints at cannot be corrected for. "
            f"Add {unit}s, or ask about a capped or logged outcome."
        )
        if kind not in out or out[kind][0] < moved.lean:
            out[kind] = moved.lean, Caution(kind, text)
    return [caution for _, caution in out.values()]
