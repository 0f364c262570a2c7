"""Cautions where few effective rows make a p-value doubtful: they look at what was
counted, not at the verdict.
"""

from collections.abc import Mapping

import numpy as np

from improvable.errors import Caution
from improvable.inference.cells import Cells
from improvable.inference.corrections import LONG_TAIL, UNEVEN, Corrected, Leaning
from improvable.inference.diagnostics import Differing, kish_by_group
from improvable.inference.evidence import Evidence
from improvable.inference.influence import MAX_LEAN, sum_loads

MIN_CLUSTERS, MIN_EFFECTIVE, MIN_DIFFERING, MIN_RARE = 30, 30, 50, 5
WHOSE = ("status quo", "candidate")


def reliability_cautions(
    evidence: Evidence, drawable: Corrected, differing: Mapping[str, Differing]
) -> list[Caution]:
    """All that is to be said of few effective rows; `drawable` is what draws were made
    from.
    """
    first = few_differing(differing, drawable.clustered) or rare_values(
        evidence, drawable
    )
    return (
        first + few_clusters(evidence, drawable) + skewed_statistics(evidence, drawable)
    )


def few_differing(
    differing: Mapping[str, Differing], clustered: bool = False
) -> list[Caution]:
    """Groups in which the whole comparison rests on few rows, in one caution."""
    few, unit = [], "clusters of equal size" if clustered else "rows of equal weight"
    for group, one in differing.items():
        if one.fewest < MIN_DIFFERING:
            less = (
                f", worth {one.effective:.0f} {unit}"
                if one.effective < (1 - UNEVEN) * one.rows
                else ""
            )
            few.append(
                f"{one.rows:,} of '{group}' ({one.sides[0]:,} and "
                f"{one.sides[1]:,}{less})"
            )
    text = (
        f"the two algorithms differ in few rows: {', '.join(few)}; in parentheses the "
        "status quo's own and the candidate's own. Where one of these is worth fewer "
        f"than {MIN_DIFFERING} rows, an outcome that none of them shows may decide, "
        "and no test can see it. Add rows in which the algorithms differ."
    )
    return [Caution("differing", text)] if few else []


def rare_values(evidence: Evidence, drawable: Corrected) -> list[Caution]:
    """Groups in which many rows differ, of which hardly any has one of the outcome's
    two values.
    """
    block, whose, seen, rows = min(
        drawable.rare, key=lambda one: one[2], default=(0, 0, MIN_RARE, 0)
    )
    text = (
        f"of the {rows:,} rows of group {_quoted(evidence, block)} that only the "
        f"{WHOSE[whose]} selects, {seen} {'has' if seen == 1 else 'have'} the rarer of "
        f"the outcome's two values (fewer than {MIN_RARE}). Draws assume one row of "
        "each value more; p-values may still be a little too small. Add rows in which "
        "the algorithms differ."
    )
    return [Caution("rare", text)] if seen < MIN_RARE else []


def few_clusters(evidence: Evidence, drawable: Corrected) -> list[Caution]:
    """Groups whose clusters are few, or worth few because one or two are large."""
    if (
        not drawable.clustered
        or drawable.freedom is None
        or drawable.freedom.min() + 1 >= MIN_CLUSTERS
    ):
        return []
    least = int(np.argmin(drawable.freedom))
    freedom = float(drawable.freedom[least])
    within = f" in {len(drawable.strata)} strata" if len(drawable.strata) > 1 else ""
    text = (
        f"the {evidence.units:,} clusters{within} leave {freedom:.1f} degrees of "
        f"freedom for group {_quoted(evidence, least)}, as {freedom + 1:.0f} clusters "
        f"of equal size do (fewer than {MIN_CLUSTERS}). p-values leave out each "
        "cluster in turn and use Student's t; where one or two clusters differ from "
        "all others, they may still be too small. Look at the results without each of "
        "them."
    )
    return [Caution("few clusters", text)]


def skewed_statistics(evidence: Evidence, drawable: Corrected) -> list[Caution]:
    """Statistics with a long tail against the claim, of which the sample may hold a
    part only.
    """
    worst: dict[tuple[str, str], Leaning] = {}
    unit = "cluster" if drawable.clustered else "row"
    far = any(why == LONG_TAIL for why, _, _ in drawable.acted)
    assumed = (
        f" Draws assume one {unit} more, three times as far out as the worst one seen."
        if far
        else ""
    )
    for one in drawable.leaning:
        key = evidence.measures[one[0].measure].label, one[0].name
        worst[key] = max(worst.get(key, one), one, key=lambda leaning: leaning[1].lean)
    return [
        Caution(
            f"skewed {label} {name}",
            (
                f"'{label}' is skewed: the statistic of {name} has a long tail against "
                f"the claim (index {moved.lean:.2f}, above {MAX_LEAN}). One {unit} has "
                f"{moved.largest:.0%} of its variance; the largest has {share:.0%} of "
                f"a group's sum.{assumed} An outlier that no {unit} hints at cannot be "
                f"corrected for. Add {unit}s, or ask about a capped or logged outcome."
            ),
        )
        for (label, name), (_, moved, share) in worst.items()
    ]


def heavy_weights(evidence: Evidence, rows: Cells) -> list[Caution]:
    """Groups in which uneven weights leave few effective rows."""
    number, out = sum_loads(rows)[0], []
    for group, strata, worth in kish_by_group(evidence.attributes, rows):
        for t, whose in enumerate(WHOSE):
            m = int(np.argmin(worth[:, t]))
            effective, counted = worth[m, t], number[strata].sum(axis=0)[m, t]
            if 0 < effective < min(MIN_EFFECTIVE, (1 - UNEVEN) * counted):
                text = (
                    f"the {counted:,.0f} weighted rows of group '{group}' that count "
                    f"for the {whose} are worth {effective:.1f} rows of equal weight "
                    f"(Kish's effective number; fewer than {MIN_EFFECTIVE}), so "
                    "p-values are unreliable. Trim the largest weights, or add rows."
                )
                out.append(Caution(f"weights {group} {whose}", text))
    return out


def _quoted(evidence: Evidence, stratum: int) -> str:
    return " and ".join(f"'{group}'" for group in evidence.groups_of(stratum))
