"""How far true memberships may depart from the probabilities of groups before a
condition is no longer shown.

Suppose that the odds of being in a group, given all that is measured of a person,
differ from those of the probability by a factor between 1 / Gamma and Gamma, in any way
at all (Rosenbaum, 2002). Of all such memberships the worst for a condition raises the
odds of everyone who speaks against it, and lowers those of everyone who speaks for it.
Who does, depends on the memberships through the group's own mean; starting from the
probabilities, a few rounds settle it, as for any ratio of two sums (Dinkelbach, 1967).
Of several ratios, as in calibration, it is the worst that the rounds meet: with a dozen
rows there may be a worse one. That membership is one more set of factors on rows. Its
p-value is that of the weighted estimate with the statistic it has there, and with draws
as wide as it makes them.
"""

from dataclasses import replace

import numpy as np

from improvable._typing import FloatArray
from improvable.inference.cells import STATUS_QUO
from improvable.inference.components import Condition, conditions
from improvable.inference.evidence import Evidence
from improvable.inference.influence import slopes_by_stratum
from improvable.inference.moments import Moments
from improvable.inference.tally import Counted
from improvable.question.claim import Claim

GAMMAS = (1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)
ROUNDS = 20


def tipping_curve(
    evidence: Evidence, claim: Claim, counted: Counted, assume: str | None
) -> list[tuple[float, float]]:
    """The p-value at each of `GAMMAS`, for memberships that are the worst for each
    condition.

    Nothing where groups are not weighted by probability, and of moments, which do not
    know of rows. A cell has what a row adds to all strata; the first stratum is
    everyone. Memberships may depart row by row; by how much a condition then varies is
    a matter of clusters.
    """
    attribute, rows = evidence.attributes[0], counted.rows
    if assume not in ("between", "probabilities only") or isinstance(
        counted.strata, Moments
    ):
        return []
    cells = counted.strata[0] if rows is None else rows.cells
    every = cells.values.reshape(len(cells.values), *evidence.sums.shape)
    whole, strata = every[:, 0], np.flatnonzero(attribute.member >= 0)
    size = np.einsum("nmtp,nmtp->n", whole, whole)
    shares = np.stack(
        [np.einsum("nmtp,nmtp->n", every[:, s], whole) / size for s in strata], axis=1
    )
    alone = replace(
        evidence,
        attributes=(attribute,),
        draws=evidence.draws[:0],
        training=evidence.sums[:, :, STATUS_QUO],
        chosen_here=False,
    )
    found, sizes = (
        list[tuple[float, float]](),
        [stratum.rows for stratum in counted.strata],
    )
    apart, counts = evidence.draws - evidence.sums, cells.counts.astype(np.float64)
    moves = [slopes_by_stratum(one, alone) for one in conditions(alone, claim)]
    drawn = [np.einsum("qsmtp,smtp->q", apart, one) for one in moves]

    def at(place: int, member: FloatArray) -> tuple[Condition, FloatArray]:
        """A condition under other memberships, and by how much each of these moves it,
        (rows, groups).
        """
        sums = evidence.sums.copy()
        sums[strata] = np.einsum("n,ng,nmtp->gmtp", counts, member, whole)
        there = replace(alone, sums=sums)  # the reference pair of groups stays
        with np.errstate(invalid="ignore", divide="ignore"):
            condition = list(conditions(there, claim))[place]
        return condition, np.einsum(
            "nmtp,gmtp->ng", whole, slopes_by_stratum(condition, there)[strata]
        )

    def spread(member: FloatArray, moved: FloatArray) -> float:
        """The standard error of a condition, but for a factor that memberships do not
        change.
        """
        each = np.einsum("ng,ng->n", member, moved)
        if rows is None:
            return float(np.sqrt((counts * each**2).sum()))
        by_cluster, home = (
            np.bincount(rows.cluster, weights=counts * each),
            np.zeros(rows.cluster.max() + 1, np.int64),
        )
        home[rows.cluster] = rows.stratum
        sums = np.bincount(home, weights=by_cluster, minlength=len(sizes))
        return float(np.sqrt((by_cluster**2).sum() - (sums**2 / sizes).sum()))

    for gamma in GAMMAS:
        low, high = (
            shares * odds / (1 + shares * (odds - 1)) for odds in (1 / gamma, gamma)
        )
        worst = 0.0
        for place, draws in enumerate(drawn):
            member, (condition, moved) = shares, at(place, shares)
            margin = condition.margin
            before = after = spread(member, moved)
            for _ in range(ROUNDS if gamma > 1 else 0):
                last, member = member, np.where(moved > 0, low, high)
                condition, moved = at(place, member)
                # Rounds may go back and forth where a condition is several ratios: the
                # worst seen counts.
                if not condition.margin >= margin:
                    margin, after = condition.margin, spread(member, moved)
                if np.array_equal(last, member):
                    break
            wider = after / before if before > 0 else 1.0
            against = np.mean(draws * wider >= margin) if np.isfinite(margin) else 1.0
            worst = max(worst, float(against) if draws.any() else 1.0)
        found.append((gamma, max(worst, found[-1][1] if found else 0.0)))
    return found
