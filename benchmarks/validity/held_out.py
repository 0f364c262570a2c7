"""Processes that were written after the corrections (`inference.corrections`) were
frozen, and changed nothing in them.

Whatever they show is on the validity page. In each, accuracy of group b binds and its
null holds with equality.
"""

import numpy as np

from improvable.question.claim import Claim
from validity.hard import BOTH, NEITHER, ONLY_NEW, ONLY_NOW, Drawn, Hard, Make, near_one

KINDS = [NEITHER, BOTH, ONLY_NOW, ONLY_NEW]


def amounts(draw: str, picks: int, rows: int = 600) -> Make:
    """About so many own picks of either algorithm in group b; the status quo's have
    outcomes of such a distribution.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group, share = rng.integers(0, 2, rows), 2 * picks / rows
        kind = rng.choice(KINDS, rows, p=[0.4, 0.6 - 2 * share, share, share])
        tails = {
            "exponential": lambda: rng.exponential(1.0, rows),
            "many zeros": lambda: rng.gamma(2.0, 2.5, rows) * (rng.random(rows) < 0.2),
            "Student's t(3)": lambda: 1 + rng.standard_t(3, rows),
            "inverse gamma": lambda: 2 / rng.gamma(3.0, 1.0, rows),
        }[draw]()
        leans = (group == 1) & (kind == ONLY_NOW)
        return Drawn(group, kind, np.where(leans, tails, rng.normal(1.0, 0.5, rows)))

    return make


def three_values(more: int, now: int = 300) -> Make:
    """Repaid, late, lost: 1, .5 and 0. The candidate approves about so many more rows
    of group b, of the same risk.
    """

    def make(rng: np.random.Generator) -> Drawn:
        whole = 2 * now + more
        group = np.repeat([0, 1], [600, whole])
        kind = np.concatenate(
            [
                rng.choice(KINDS, 600, p=[0.2, 0.2, 0.3, 0.3]),
                rng.choice(
                    [NEITHER, BOTH, ONLY_NEW],
                    whole,
                    p=[now / whole, now / whole, more / whole],
                ),
            ]
        )
        risky = (group == 0) & (kind == ONLY_NOW)
        outcome = rng.choice([1.0, 0.5, 0.0], len(group), p=[0.93, 0.04, 0.03])
        return Drawn(group, kind, np.where(risky, 0.3, outcome))

    return make


def dropped(fewer: int, rate: float, now: int = 400) -> Make:
    """The candidate refuses about so many rows of group b that the status quo approves,
    of the same risk.
    """

    def make(rng: np.random.Generator) -> Drawn:
        whole = 2 * now
        group = np.repeat([0, 1], [600, whole])
        kind = np.concatenate(
            [
                rng.choice(KINDS, 600, p=[0.2, 0.2, 0.3, 0.3]),
                rng.choice(
                    [NEITHER, BOTH, ONLY_NOW],
                    whole,
                    p=[0.5, 0.5 - fewer / whole, fewer / whole],
                ),
            ]
        )
        chance = np.where(group == 1, rate, np.where(kind == ONLY_NEW, 0.9, 0.3))
        return Drawn(group, kind, (rng.random(len(group)) < chance).astype(np.float64))

    return make


def villages(clusters: int, zipf: float, rate: float, spread: float) -> Make:
    """Clusters of Zipf sizes; 0/1 outcomes whose log-odds the rows of a cluster share,
    own picks of either apart.
    """

    def make(rng: np.random.Generator) -> Drawn:
        size = np.minimum(3 * rng.zipf(zipf, clusters) + 2, 400)
        cluster = np.repeat(np.arange(clusters), size)
        rows = len(cluster)
        kind, group = (
            rng.choice(4, rows, p=[0.4, 0.2, 0.2, 0.2]),
            rng.integers(0, 2, rows),
        )
        effect = rng.normal(0, spread, (3, clusters))
        odds = np.log(rate / (1 - rate)) + np.select(
            [kind == ONLY_NOW, kind == ONLY_NEW],
            [effect[1][cluster], effect[2][cluster]],
            effect[0][cluster],
        )
        outcome = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.float64)
        return Drawn(group, kind, outcome, cluster=cluster)

    return make


def surveyed(rows: int, rate: float, spread: float) -> Make:
    """Lognormal weights, and 0/1 outcomes that have nothing to do with them."""

    def make(rng: np.random.Generator) -> Drawn:
        group, kind = (
            rng.integers(0, 2, rows),
            rng.choice(4, rows, p=[0.4, 0.2, 0.2, 0.2]),
        )
        outcome = (rng.random(rows) < rate).astype(np.float64)
        return Drawn(group, kind, outcome, weight=rng.lognormal(0, spread, rows))

    return make


def margin_of_selected(rows: int, rate: float, margin: float) -> Make:
    """Of those selected in group b the share that repays; the candidate's own picks
    repay less often, by the margin.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group = np.repeat([0, 1], [2_000, rows])
        kind = np.concatenate(
            [
                rng.choice(KINDS, 2_000, p=[0.1, 0.2, 0.3, 0.4]),
                rng.choice(KINDS, rows, p=[0.2, 0.0, 0.4, 0.4]),
            ]
        )
        chance = np.where(group == 0, np.where(kind == ONLY_NEW, 0.9, 0.5), rate)
        chance = np.where(
            (group == 1) & (kind == ONLY_NEW), rate * (1 - margin), chance
        )
        return Drawn(group, kind, (rng.random(len(group)) < chance).astype(np.float64))

    return make


def no_worse(margin: float, form: str = "ratio") -> Claim:
    return Claim(delta_accuracy=-margin, form=form)  # type: ignore[arg-type]


HELD_OUT = (
    Hard("exponential, 60 own picks", "b", 2, amounts("exponential", 60)),
    Hard("many zeros, 80 own picks", "b", 2, amounts("many zeros", 80)),
    Hard("Student's t(3), 60 own picks", "b", 2, amounts("Student's t(3)", 60)),
    Hard("inverse gamma, 70 own picks", "b", 2, amounts("inverse gamma", 70)),
    Hard("three values, 40 more rows", "b", 2, three_values(40)),
    Hard("three values, 120 more rows", "b", 2, three_values(120)),
    Hard("25 fewer rows, 95% repay", "b", 2, dropped(25, 0.95)),
    Hard("80 fewer rows, 99% repay", "b", 2, dropped(80, 0.99)),
    Hard("50 villages of Zipf sizes, rate .8", "b", 2, villages(50, 2.0, 0.8, 0.6)),
    Hard("25 villages of Zipf sizes, rate .95", "b", 2, villages(25, 2.2, 0.95, 0.8)),
    Hard("lognormal weights, rate .9", "b", 2, surveyed(500, 0.9, 1.0)),
    Hard("lognormal weights, rate .5", "b", 2, surveyed(300, 0.5, 1.4)),
    Hard(
        "no worse by 5% of the selected, 120 rows",
        "b",
        2,
        margin_of_selected(120, 0.97, 0.05),
        claim=no_worse(0.05),
    ),
    Hard(
        "no worse by 10%, rate .6, 80 rows",
        "b",
        2,
        near_one(80, 0.6, 0.1, 0.5),
        claim=no_worse(0.1),
    ),
)
