"""How far true memberships may depart from the probabilities of groups before a condition is no longer shown.

Suppose that the odds of being in a group, given all that is measured of a person, differ from those of the probability
by a factor between 1 / Gamma and Gamma, in any way at all (Rosenbaum, 2002). Of all such memberships the worst for a
condition raises the odds of everyone who speaks against it, and lowers those of everyone who speaks for it. Who does,
depends on the memberships through the group's own mean; starting from the probabilities, a few rounds settle it, as for
any ratio of two sums (Dinkelbach, 1967). That membership is one more set of factors on rows. Its p-value is that of the
weighted estimate with the statistic it has there, and with draws as wide as it makes them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from improvable._typing import FloatArray
from improvable.data.groups import Attribute
from improvable.inference.cells import STATUS_QUO, Cells
from improvable.inference.components import Condition, conditions
from improvable.inference.evidence import Evidence
from improvable.inference.influence import slopes_by_stratum
from improvable.question.claim import WEIGHTED, Claim, estimate_of

GAMMAS = (1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)
ROUNDS = 20


def weighted_attribute(attributes: Sequence[Attribute], assume: str | None) -> Attribute | None:
    """The groups as they are weighted by probability; None where they are not."""
    if assume == "probabilities only":
        return attributes[0]
    return next((one for one in attributes if one.name.endswith(estimate_of("", WEIGHTED))), None)


def tipping_curve(evidence: Evidence, claim: Claim, cells: Cells, attribute: Attribute) -> list[tuple[float, float]]:
    """The p-value at each of `GAMMAS`, for memberships that are the worst for each condition.

    `cells` have what rows add to all strata; the first stratum is everyone.
    """
    every = cells.values.reshape(len(cells.values), *evidence.sums.shape)
    whole, strata = every[:, 0], np.flatnonzero(attribute.member >= 0)
    size = np.einsum("nmtp,nmtp->n", whole, whole)
    shares = np.stack([np.einsum("nmtp,nmtp->n", every[:, s], whole) / size for s in strata], axis=1)
    alone = replace(
        evidence, attributes=(attribute,), draws=evidence.draws[:0], training=evidence.sums[:, :, STATUS_QUO],
        chosen_here=False,
    )  # fmt: skip
    found = list[tuple[float, float]]()
    apart, counts = evidence.draws - evidence.sums, cells.counts.astype(np.float64)
    starts = list(conditions(alone, claim))
    moves = [slopes_by_stratum(one, alone) for one in starts]
    drawn = [np.einsum("qsmtp,smtp->q", apart, one) for one in moves]

    def at(place: int, member: FloatArray) -> tuple[Condition, FloatArray]:
        """A condition under other memberships, and by how much each of these moves it, (rows, groups)."""
        sums = evidence.sums.copy()
        sums[strata] = np.einsum("n,ng,nmtp->gmtp", counts, member, whole)
        there = replace(alone, sums=sums)  # the reference pair of groups stays
        with np.errstate(invalid="ignore", divide="ignore"):
            condition = list(conditions(there, claim))[place]
        return condition, np.einsum("nmtp,gmtp->ng", whole, slopes_by_stratum(condition, there)[strata])

    def spread(member: FloatArray, moved: FloatArray) -> float:
        return float(np.sqrt((counts * np.einsum("ng,ng->n", member, moved) ** 2).sum()))

    for gamma in GAMMAS:
        low, high = (shares * odds / (1 + shares * (odds - 1)) for odds in (1 / gamma, gamma))
        worst = 0.0
        for place, draws in enumerate(drawn):
            member, (condition, moved) = shares, at(place, shares)
            before = spread(member, moved)
            for _ in range(ROUNDS if gamma > 1 else 0):
                last, member = member, np.where(moved > 0, low, high)
                condition, moved = at(place, member)
                if np.array_equal(last, member):
                    break
            wider = spread(member, moved) / before if before > 0 else 1.0
            against = np.mean(draws * wider >= condition.margin) if np.isfinite(condition.margin) else 1.0
            worst = max(worst, float(against) if draws.any() else 1.0)
        found.append((gamma, max(worst, found[-1][1] if found else 0.0)))
    return found
