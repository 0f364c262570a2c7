"""Processes in which few effective rows, or a choice made on the tested rows, would
break the level; and their levels.

Samples go straight to the inference layer: contributions of the calibration utility,
cells, draws, p-values, cautions. In each process one component of the null holds with
equality and all others are far from theirs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.inference.bootstrap import Drawable
from improvable.inference.cells import Cells, RowsInClusters, count, pool_clusters
from improvable.inference.corrections import plain, prepare
from improvable.inference.critical import critical_deltas
from improvable.inference.diagnostics import differing_rows
from improvable.inference.evidence import Evidence
from improvable.inference.reliability import reliability_cautions
from improvable.inference.test import Assessment, assess
from improvable.question.claim import Claim
from improvable.question.utility import Measure
from improvable.results.frontier import Frontier
from validity.study import ALPHA, DRAWS

NEITHER, BOTH, ONLY_NOW, ONLY_NEW = range(4)
PLAIN = Claim()
Make = Callable[[np.random.Generator], "Drawn"]


@dataclass(frozen=True)
class Drawn:
    """A sample: what each row's group, kind (who selects it) and outcome are, and how
    it was drawn.

    Attributes
    ----------
    group, kind : array of int
    outcome : array of float
    weight : array, optional
    cluster : array of int, optional
    stratum : array of int, optional
        Of the design, by cluster.
    positives : bool
        Whether all rows should be selected, and what is measured is the rate at which
        they are; else calibration.
    """

    group: IntArray
    kind: IntArray
    outcome: FloatArray
    weight: FloatArray | None = None
    cluster: IntArray | None = None
    stratum: IntArray | None = None
    positives: bool = False

    def vectors(self) -> FloatArray:
        """What each row contributes."""
        chosen = np.stack(
            [(self.kind == BOTH) | (self.kind == one) for one in (ONLY_NOW, ONLY_NEW)],
            axis=1,
        )
        if self.positives:
            return np.stack([chosen, np.ones(chosen.shape)], axis=2).reshape(
                len(self.group), 4
            )
        load = chosen * (1.0 if self.weight is None else self.weight[:, None])
        return np.stack([load * self.outcome[:, None], load], axis=2).reshape(
            len(self.group), 4
        )

    def counted(self, groups: int) -> list[Cells]:
        """Cells by stratum of the design."""
        vectors = self.vectors()
        if self.cluster is None:
            return [count(vectors, self.group, groups)]
        pooled = pool_clusters(vectors, self.group, self.cluster, groups)
        return [
            count(part, np.zeros(len(part), dtype=np.int64), 1)
            for part in self._by_stratum(pooled)
        ]

    def rows(self, groups: int) -> tuple[Cells, IntArray, RowsInClusters | None]:
        """Cells of single rows, the cluster of each, and both as drawing wants them."""
        order = np.argsort(self.group, kind="stable")
        ones = np.ones(len(order), dtype=np.int64)
        cells = Cells(self.vectors()[order], self.group[order], ones, 0, groups)
        if self.cluster is None:
            return cells, order, None
        cluster = self.cluster[order]
        number = int(self.cluster.max()) + 1
        stratum = (
            np.zeros(number, dtype=np.int64)
            if self.stratum is None
            else np.unique(self.stratum, return_inverse=True)[1]
        )
        return cells, cluster, RowsInClusters(cells, cluster, stratum[cluster])

    def _by_stratum(self, clusters: FloatArray | IntArray) -> list[Any]:
        stratum = (
            np.zeros(len(clusters), dtype=np.int64)
            if self.stratum is None
            else self.stratum
        )
        return [clusters[stratum == one] for one in np.unique(stratum)]


@dataclass(frozen=True)
class Hard:
    """A process with what binds, and what is to be true of it.

    Attributes
    ----------
    name : str
    binds : str
        "gap", or the group whose accuracy binds.
    groups : int
    make : callable
        From a generator to a sample under the null.
    caution : str
        How the kind of the caution begins that names the reason; empty where the level
        is to be right without one.
    better : callable, optional
        From a generator to a sample in which the claim is true.
    claim : Claim
    """

    name: str
    binds: str
    groups: int
    make: Make
    caution: str = ""
    better: Make | None = None
    claim: Claim = PLAIN


def names(groups: int) -> tuple[str, ...]:
    return tuple("abcdefghij"[:groups])


def evidence_of(
    strata: Sequence[Cells], groups: int, *, given: bool = False
) -> Evidence:
    """What `compare` has of a sample before it is drawn from; `given`: the reference
    pair as if it were.
    """
    shape = (groups, 1, 2, 2)
    sums = np.sum([cells.sums() for cells in strata], axis=0).reshape(shape)
    return Evidence(
        attributes=(Attribute("group", names(groups), np.arange(groups)),),
        measures=(Measure("calibration", "", "outcome"),),
        accuracy=(0,),
        fairness=(0,),
        sums=sums,
        draws=np.empty((0, *shape)),
        training=sums[:, :, 0],
        units=sum(cells.rows for cells in strata),
        chosen_here=not given,
    )


def drawn_from(
    evidence: Evidence, drawable: Drawable, draws: int, seed: np.random.SeedSequence
) -> Evidence:
    return replace(
        evidence,
        draws=drawable.draw(evidence.sums, draws, seed),
        linear=drawable.linear,
    )


def find(
    process: Hard, seed: tuple[int, int], draws: int = DRAWS, *, better: bool = False
) -> dict[str, float]:
    """The binding component's p-value, plain and as the package has it ("mended"), and
    the cautions that fire.

    Under the null or, where `better`, where the claim is true.
    """
    claim = process.claim

    def p_of(assessment: Assessment) -> float:
        return (
            assessment.p_fairness
            if process.binds == "gap"
            else assessment.p_accuracy[process.binds]
        )

    make = process.better if better else process.make
    assert make is not None
    drawn, chance = make(np.random.default_rng(seed)), np.random.SeedSequence(seed)
    strata, clustered = drawn.counted(process.groups), drawn.cluster is not None
    cells, cluster, rows = drawn.rows(process.groups)
    before = evidence_of(strata, process.groups)
    drawable = prepare(before, claim, strata, clustered, rows)
    uncorrected = evidence_of(strata, process.groups, given=True)
    found = {
        "plain": p_of(
            assess(
                drawn_from(uncorrected, plain(strata, clustered), draws, chance), claim
            )
        ),
        "mended": p_of(assess(drawn_from(before, drawable, draws, chance), claim)),
    }
    differing = differing_rows(before, cells, cluster if clustered else None)
    cautions = reliability_cautions(before, drawable, differing)
    return {**found, **{f"caution: {one.kind.split()[0]}": 1.0 for one in cautions}}


def tied(
    before: list[float], after: list[float], rows: int, picky: float = 0.1
) -> Make:
    """Groups with the means given; the status quo selects few rows, the candidate many,
    whose outcomes hardly vary.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group = rng.integers(0, len(before), rows)
        kind = rng.choice(
            [NEITHER, BOTH, ONLY_NOW, ONLY_NEW],
            rows,
            p=[0.1 - picky / 2, 0.0, picky, 0.9 - picky / 2],
        )
        sure = np.array(after)[group] + rng.choice([-0.5, 0.5], rows)
        return Drawn(
            group,
            kind,
            np.where(kind == ONLY_NOW, rng.poisson(np.array(before)[group]), sure),
        )

    return make


def rare(more: int, rate: float = 0.97, now: int = 400) -> Make:
    """The candidate approves about so many more rows of group b, which repay at the
    same rate.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group = np.concatenate([np.zeros(600), np.ones(2 * now + more)]).astype(
            np.int64
        )
        whole = 2 * now + more
        kind = np.where(
            group == 0,
            rng.choice(
                [NEITHER, BOTH, ONLY_NOW, ONLY_NEW], len(group), p=[0.2, 0.2, 0.3, 0.3]
            ),
            rng.choice(
                [NEITHER, BOTH, ONLY_NEW],
                len(group),
                p=[now / whole, now / whole, more / whole],
            ),
        )
        chance = np.where(group == 1, rate, np.where(kind == ONLY_NEW, 0.9, 0.3))
        return Drawn(group, kind, (rng.random(len(group)) < chance).astype(np.float64))

    return make


def skewed(tail: float, binds: str, rows: int = 300) -> Make:
    """The status quo's own picks in group b have lognormal outcomes, all others normal
    ones with the same mean.

    Where the gap binds, group a stands three such means higher under either algorithm,
    so that a status quo whose picks in b happen to miss the tail has a gap that looks
    too wide.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group = rng.integers(0, 2, rows)
        kind = rng.choice(4, rows, p=[0.4, 0.2, 0.2, 0.2])
        mean = float(np.exp(tail**2 / 2))
        leans = (group == 1) & (kind == ONLY_NOW)
        outcome = np.where(
            leans, rng.lognormal(0, tail, rows), rng.normal(mean, 0.5 * mean, rows)
        )
        if binds == "gap":
            outcome += 3 * mean * (group == 0)
        return Drawn(group, kind, outcome)

    return make


def clustered(
    clusters: int, size: int = 20, lean: bool = False, strata: int = 0
) -> Make:
    """The rows of a cluster share how high outcomes of either algorithm's own picks
    are; accuracy of b binds.
    """

    def make(rng: np.random.Generator) -> Drawn:
        cluster = np.repeat(np.arange(clusters), size)
        rows = clusters * size
        kind = rng.choice(4, rows, p=[0.4, 0.2, 0.2, 0.2])
        group = rng.integers(0, 2, rows)
        stratum = np.arange(clusters) % strata if strata else None
        if lean:
            now = 2 * (rng.lognormal(0, 1, clusters) - np.exp(0.5))
            new = np.zeros(clusters)
        else:
            now, new = rng.normal(0, 1.2, (2, clusters))
        outcome = 6 + rng.normal(0, 2, rows)
        outcome += np.where(kind == ONLY_NOW, now[cluster], 0) + np.where(
            kind == ONLY_NEW, new[cluster], 0
        )
        if stratum is not None:
            outcome += (2.0 * stratum / strata)[cluster]
        return Drawn(group, kind, outcome, cluster=cluster, stratum=stratum)

    return make


def weighted(index: float, rows: int = 400) -> Make:
    """Pareto weights that have nothing to do with 0/1 outcomes; about 80 of group b are
    selected by either.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group = rng.integers(0, 2, rows)
        kind = rng.choice(4, rows, p=[0.4, 0.2, 0.2, 0.2])
        outcome = (rng.random(rows) < 0.7).astype(np.float64)
        return Drawn(group, kind, outcome, weight=1 + rng.pareto(index, rows))

    return make


def recoded(make: Make, low: float, high: float) -> Make:
    """The same rows with their outcomes 0 and 1 written as two other values."""

    def again(rng: np.random.Generator) -> Drawn:
        drawn = make(rng)
        return replace(drawn, outcome=np.where(drawn.outcome > 0, high, low))

    return again


def in_households(make: Make) -> Make:
    """Rows in clusters of two that have the group and the decisions in common."""

    def again(rng: np.random.Generator) -> Drawn:
        drawn = make(rng)
        pairs = len(drawn.group) // 2
        group, kind = (
            np.repeat(one[: 2 * pairs : 2], 2) for one in (drawn.group, drawn.kind)
        )
        return Drawn(
            group,
            kind,
            drawn.outcome[: 2 * pairs],
            cluster=np.repeat(np.arange(pairs), 2),
        )

    return again


def unequal(
    sizes: Callable[[np.random.Generator], IntArray], gain: float = 0.0
) -> Make:
    """Clusters of such sizes, whose rows share how high outcomes of either algorithm's
    own picks are.
    """

    def make(rng: np.random.Generator) -> Drawn:
        size = sizes(rng)
        cluster = np.repeat(np.arange(len(size)), size)
        rows = len(cluster)
        kind, group = (
            rng.choice(4, rows, p=[0.4, 0.2, 0.2, 0.2]),
            rng.integers(0, 2, rows),
        )
        now, new = rng.normal(0, 1.2, (2, len(size)))
        outcome = 6 + rng.normal(0, 2, rows)
        outcome += np.where(kind == ONLY_NOW, now[cluster], 0)
        outcome += np.where(kind == ONLY_NEW, new[cluster] + gain, 0)
        return Drawn(group, kind, outcome, cluster=cluster)

    return make


def one_large(
    clusters: int, share: float, size: int = 12
) -> Callable[[np.random.Generator], IntArray]:
    """Clusters of one size, but for one that has a share of all rows."""
    large = round(share / (1 - share) * size * (clusters - 1))
    return lambda _: np.array([large] + [size] * (clusters - 1))


def lognormal_sizes(clusters: int) -> Callable[[np.random.Generator], IntArray]:
    return lambda rng: np.maximum(2, rng.lognormal(3, 1, clusters)).astype(np.int64)


def dear(chance: float, more: float, picks: int = 30, rows: int = 300) -> Make:
    """About so many own picks of the candidate in group b, of which few cost much more;
    lower outcomes are better.

    Outcomes are turned, so that higher is better. All means are the same.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group = rng.integers(0, 2, rows)
        share = 2 * picks / rows
        kind = rng.choice(
            [NEITHER, BOTH, ONLY_NOW, ONLY_NEW],
            rows,
            p=[0.4, 0.6 - 2 * share, share, share],
        )
        outcome = rng.normal(10, 1, rows)
        mine = (group == 1) & (kind == ONLY_NEW)
        outcome -= np.where(
            mine, more * (rng.random(rows) < chance) - more * chance, 0.0
        )
        return Drawn(group, kind, outcome)

    return make


def lognormal_picks(picks: int, tail: float, rows: int = 300) -> Make:
    """About so many own picks of the status quo in group b have lognormal outcomes; all
    means are the same.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group, share = rng.integers(0, 2, rows), 2 * picks / rows
        kind = rng.choice(
            [NEITHER, BOTH, ONLY_NOW, ONLY_NEW],
            rows,
            p=[0.4, 0.6 - 2 * share, share, share],
        )
        mean = float(np.exp(tail**2 / 2))
        leans = (group == 1) & (kind == ONLY_NOW)
        return Drawn(
            group,
            kind,
            np.where(leans, rng.lognormal(0, tail, rows), rng.normal(mean, 0.5, rows)),
        )

    return make


def near_one(
    rows: int,
    rate: float,
    margin: float,
    correlation: float = 0.0,
    better: bool = False,
) -> Make:
    """Group b has so many positives; the candidate's rate is short of the status quo's
    by all of the margin, or equal.

    Group a is large, and the candidate is far better there.
    """

    def make(rng: np.random.Generator) -> Drawn:
        new = rate if better else rate * (1 - margin)
        together = rate * new + correlation * float(
            np.sqrt(rate * (1 - rate) * new * (1 - new))
        )
        shares = np.maximum(
            [1 - rate - new + together, together, rate - together, new - together], 0
        )
        few = rng.choice(
            [NEITHER, BOTH, ONLY_NOW, ONLY_NEW], rows, p=shares / shares.sum()
        )
        many = rng.choice(
            [NEITHER, BOTH, ONLY_NOW, ONLY_NEW], 2_000, p=[0.1, 0.5, 0.1, 0.3]
        )
        group = np.repeat([0, 1], [len(many), rows])
        return Drawn(
            group, np.concatenate([many, few]), np.ones(len(group)), positives=True
        )

    return make


def spread(groups: int, top: float, low: float) -> list[float]:
    """Half of the groups at the top, half at the bottom."""
    return [top] * (groups // 2) + [low] * (groups - groups // 2)


def one_wide(groups: int, width: float) -> list[float]:
    """A candidate whose gap is between the first group and the second, all others
    halfway.
    """
    return [12 + width / 2, 12 - width / 2] + [12.0] * (groups - 2)


def ties(
    name: str, before: list[float], width: float = 2.0, smaller: float = 1.2
) -> Hard:
    """Ties for the widest gap: about 100 of each group are selected by the status quo,
    1,750 by the candidate.
    """
    groups = len(before)
    rows = 2_000 * groups
    return Hard(
        name,
        "gap",
        groups,
        tied(before, one_wide(groups, width), rows, 0.05),
        better=tied(before, one_wide(groups, smaller), rows, 0.05),
    )


MARGINS = (
    (60, 0.98, 0.05, 0.0),
    (100, 0.98, 0.05, 0.0),
    (400, 0.98, 0.05, 0.0),
    (60, 0.95, 0.1, 0.0),
    (60, 0.98, 0.05, 0.4),
    (60, 0.95, 0.1, 0.4),
    (200, 0.95, 0.1, 0.0),
    (60, 0.8, 0.1, 0.0),
    (100, 0.95, 0.05, 0.6),
    (100, 0.9, 0.1, 0.7),
    (200, 0.98, 0.02, 0.5),
    (400, 0.99, 0.02, 0.3),
)
HARD = (
    replace(
        ties("two groups, no gap", [6, 6], 0.0),
        better=tied([6.4, 5.5], [12, 12], 4_000, 0.05),
    ),
    ties("three groups, two tied", [6, 6, 4]),
    ties("three groups, 1 se apart", [6, 5.65, 4]),
    ties("four groups tied", spread(4, 6, 4)),
    ties("six groups nearly tied", [6, 6, 5.9, 4.1, 4, 4]),
    ties("eight groups tied", spread(8, 6, 4)),
    *(
        Hard(
            f"rare outcome, {m} more rows",
            "b",
            2,
            rare(m),
            "differing" if m == 20 else "",
        )
        for m in (20, 50, 100, 200)
    ),
    *(
        Hard(f"the same, {m} rows, written 1/2", "b", 2, recoded(rare(m), 1, 2))
        for m in (20, 50)
    ),
    *(
        Hard(
            f"the same, {m} rows, a net return of 8 or -60",
            "b",
            2,
            recoded(rare(m), -60, 8),
        )
        for m in (20, 50)
    ),
    *(
        Hard(f"the same, {m} rows, households of two", "b", 2, in_households(rare(m)))
        for m in (20, 50)
    ),
    Hard("2% of 30 own picks cost 50 more", "b", 2, dear(0.02, 50), "differing"),
    Hard("1% of 30 own picks cost 100 more", "b", 2, dear(0.01, 100), "differing"),
    Hard("30 lognormal own picks", "b", 2, lognormal_picks(30, 1.0), "differing"),
    Hard("skewed outcome, accuracy", "b", 2, skewed(1.3, "accuracy"), "differing"),
    Hard("skewed outcome, gap", "gap", 2, skewed(1.3, "gap"), "differing"),
    *(
        Hard(name, "b", 2, unequal(sizes), "few", unequal(sizes, 1.5))
        for name, sizes in (
            ("60 clusters, one with 30% of the rows", one_large(60, 0.3)),
            ("100 clusters, one with 20% of the rows", one_large(100, 0.2)),
            ("35 clusters of lognormal sizes", lognormal_sizes(35)),
        )
    ),
    *(
        Hard(
            (
                f"no worse by {margin:.0%}, rate {rate}, {n} "
                f"rows{f', correlation {rho}' if rho else ''}"
            ),
            "b",
            2,
            near_one(n, rate, margin, rho),
            better=near_one(n, rate, margin, rho, better=True),
            claim=Claim(delta_accuracy=-margin),
        )
        for n, rate, margin, rho in MARGINS
    ),
    *(
        Hard(f"{n} clusters", "b", 2, clustered(n), "few" if n < 30 else "")
        for n in (10, 12, 15, 20, 30, 60)
    ),
    Hard("12 clusters, skewed", "b", 2, clustered(12, lean=True), "few"),
    Hard("20 strata of 2 clusters", "b", 2, clustered(40, strata=20), "few"),
    Hard("12 strata of 3 clusters", "b", 2, clustered(36, strata=12), "few"),
    *(
        Hard(
            f"Pareto weights, index {a:g}",
            "b",
            2,
            weighted(a),
            "weights" if a == 1.2 else "",
        )
        for a in (3, 2, 1.5, 1.2)
    ),
)


def absolute_at_zero(
    errors: float, correlation: float, seed: tuple[int, int], draws: int = 1_000
) -> dict[str, float]:
    """The absolute statistic's p-value of "the gap is smaller" where it is as wide, the
    other group being ahead.

    In the normal limit, both gaps having a standard error of one: the status quo's is
    `errors`, the candidate's minus that.
    """
    rng = np.random.default_rng([*seed, int(10 * errors), int(10 * correlation)])
    root = np.linalg.cholesky(np.array([[1.0, correlation], [correlation, 1.0]]))
    gap = np.array([errors, -errors]) + root @ rng.standard_normal(2)
    drawn = np.abs(gap + rng.standard_normal((draws, 2)) @ root.T)
    statistic = abs(gap[1]) - abs(gap[0])
    return {
        "absolute": float(np.mean(drawn[:, 1] - drawn[:, 0] - statistic <= statistic))
    }


GAINS = {"a": (6.0, 6.8), "b": (4.5, 6.0)}
"""Utilities of two groups, of which every bound of the frontier is known."""


def wrong_bounds(seed: tuple[int, int], draws: int = DRAWS) -> dict[str, float]:
    """1 where some bound that is printed of one comparison is above the truth: separate
    bounds, and simultaneous.
    """
    truth = {
        f"accuracy of {g}": after / before - 1 for g, (before, after) in GAINS.items()
    }
    before, after = (GAINS["a"][t] - GAINS["b"][t] for t in (0, 1))
    truth |= {"accuracy": min(truth.values()), "fairness": 1 - after / before}
    rng = np.random.default_rng(seed)
    group, kind = (
        rng.integers(0, 2, 2_000),
        rng.choice([NEITHER, BOTH, ONLY_NOW, ONLY_NEW], 2_000),
    )
    now, new = np.array([GAINS["a"], GAINS["b"]])[group].T
    shared = (now + new) / 2  # half of either algorithm's picks are both's
    mean = np.select(
        [kind == ONLY_NOW, kind == ONLY_NEW],
        [2 * now - shared, 2 * new - shared],
        shared,
    )
    drawn = Drawn(group, kind, rng.poisson(mean).astype(np.float64))
    strata = drawn.counted(2)
    without = evidence_of(strata, 2)
    evidence = drawn_from(
        without,
        prepare(without, Claim(), strata, False),
        draws,
        np.random.SeedSequence(seed),
    )
    front = Frontier(
        (critical_deltas(evidence, Claim()),), ALPHA, "ratio", "signed", names(2)
    )
    return {
        name: float(
            any(
                bound.value > max(0.0, truth[bound.what])
                for bound in front.bounds(simultaneous=together)
            )
        )
        for name, together in (("each", False), ("all", True))
    }
