"""Where the blocks of a repetition end, and how much the first one must hold to teach.

A forward repetition is cut at 10, 20, 40 and 70% of the rows. Where data are small, the first block grows until what is
learned from can teach. Where no later cut is left, the scheme is the paper's split in halves. The cuts depend only on
how many rows, clusters, groups and outcomes of either kind there are in all.
"""

from collections import Counter
from dataclasses import dataclass
from math import ceil

from improvable.data.sample import Reading
from improvable.procedure.survey import FEWEST_CLUSTERS, Surveyed
from improvable.question.settings import Scheme

FORWARD = (0.1, 0.2, 0.4, 0.7)
HALF = 0.5
FARTHER = 1.5
"""A later cut must lie this much farther out than a first cut that grew: a block of a few rows is not worth a fit."""
FEWEST_ROWS, FEWEST_OF_GROUP, FEWEST_OF_KIND, FEWEST_AT_CUTOFF = 100, 30, 10, 10


@dataclass(frozen=True)
class Cuts:
    """Where blocks end.

    Attributes
    ----------
    ends : tuple of float
        Shares of the rows; what is before the first only teaches.
    reason : str or None
        What the first block grew for.
    """

    ends: tuple[float, ...]
    reason: str | None = None


def choose_cuts(scheme: Scheme, train_fraction: float, surveyed: Surveyed, capacity: float | None) -> Cuts:
    """The paper's one cut, or those of a forward repetition of these data.

    Parameters
    ----------
    scheme : {"forward", "split"}
    train_fraction : float
        Of the paper's split.
    surveyed : Surveyed
    capacity : float or None
        Share that a cutoff leaves above it, which must be seen among the rows that it is learned from.
    """
    if scheme == "split":
        return Cuts((train_fraction,))
    return forward_cuts(*first_block(surveyed, capacity))


def first_block(surveyed: Surveyed, capacity: float | None) -> tuple[float, str]:
    """The share of the rows that the first block must hold to teach, and what for."""
    return max(_needs(surveyed, capacity))


def forward_cuts(share: float, reason: str) -> Cuts:
    """The cuts of a forward repetition whose first block must hold a share of the rows.

    Examples
    --------
    >>> forward_cuts(0.25, "30 rows of group 'b'").ends
    (0.25, 0.4, 0.7)
    """
    if share <= FORWARD[0]:
        return Cuts(FORWARD)
    first = ceil(100 * share) / 100
    later = [cut for cut in FORWARD[1:] if cut >= FARTHER * first]
    return Cuts((first, *later) if later else (HALF,), reason)


def _needs(surveyed: Surveyed, capacity: float | None) -> list[tuple[float, str]]:
    """The share of the rows that each need takes, in expectation, with its name."""
    needs = [(FEWEST_ROWS / surveyed.rows, f"{FEWEST_ROWS} rows")]
    if surveyed.clusters is not None:
        needs.append((FEWEST_CLUSTERS / len(surveyed.clusters), f"{FEWEST_CLUSTERS} clusters"))
    if capacity is not None:
        rarer = min(capacity, 1 - capacity) * surveyed.rows
        needs.append((FEWEST_AT_CUTOFF / rarer, f"{FEWEST_AT_CUTOFF} rows on either side of the cutoff"))
    for group, rows in by_group(surveyed.reading, surveyed.combinations).items():
        needs.append((FEWEST_OF_GROUP / rows, f"{FEWEST_OF_GROUP} rows of group '{group}'"))
    for outcome, kinds in surveyed.kinds.items():
        both = [by_group(surveyed.reading, kind) for kind in kinds]
        for group in both[0]:
            # A group in which only one kind occurs has no rarer one to wait for.
            rows = min(kind[group] for kind in both)
            if rows:
                needs.append((FEWEST_OF_KIND / rows, f"{FEWEST_OF_KIND} of the rarer '{outcome}' in group '{group}'"))
    return needs


def by_group(reading: Reading, combinations: Counter[tuple[str, ...]]) -> dict[str, int]:
    """Counts of combinations of levels, added up for every group."""
    out: dict[str, int] = {}
    for attribute in reading.attributes:
        for g, level in enumerate(attribute.levels):
            strata = {one: stratum for one, stratum in reading.strata.items() if attribute.member[stratum] == g}
            out[level] = sum(combinations[one] for one in strata)
    return out
