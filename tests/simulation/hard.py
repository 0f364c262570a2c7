"""Processes in which few effective rows, or a choice made on the tested rows, would break the level; and their levels.

Samples go straight to the inference layer: contributions of the calibration utility, cells, draws, p-values, cautions.
In each process one component of the null holds with equality and all others are far from theirs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.inference.assessment import Assessment, assess
from improvable.inference.cells import Cells, count, pool_clusters
from improvable.inference.critical import critical_deltas
from improvable.inference.drawing import draw_clusters, draw_rows
from improvable.inference.evidence import Evidence
from improvable.inference.reliability import reliability_cautions
from improvable.inference.resampling import resample
from improvable.question.claim import Claim
from improvable.question.utilities import Measure
from improvable.results.frontier import Frontier
from simulation.study import ALPHA, DRAWS

NEITHER, BOTH, ONLY_NOW, ONLY_NEW = range(4)
Make = Callable[[np.random.Generator], "Drawn"]


@dataclass(frozen=True)
class Drawn:
    """A sample: what each row's group, kind (who selects it) and outcome are, and how it was drawn.

    Attributes
    ----------
    group, kind : array of int
    outcome : array of float
    weight : array, optional
    cluster : array of int, optional
    stratum : array of int, optional
        Of the design, by cluster.
    """

    group: IntArray
    kind: IntArray
    outcome: FloatArray
    weight: FloatArray | None = None
    cluster: IntArray | None = None
    stratum: IntArray | None = None

    def counted(self, groups: int) -> list[Cells]:
        """Cells by stratum of the design."""
        chosen = np.stack([(self.kind == BOTH) | (self.kind == one) for one in (ONLY_NOW, ONLY_NEW)], axis=1)
        load = chosen * (1.0 if self.weight is None else self.weight[:, None])
        vectors = np.stack([load * self.outcome[:, None], load], axis=2).reshape(len(self.group), 4)
        if self.cluster is None:
            return [count(vectors, self.group, groups)]
        pooled = pool_clusters(vectors, self.group, self.cluster, groups)
        stratum = np.zeros(len(pooled), dtype=np.int64) if self.stratum is None else self.stratum
        parts = [pooled[stratum == one] for one in np.unique(stratum)]
        return [count(part, np.zeros(len(part), dtype=np.int64), 1) for part in parts]


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
        How the kind of the caution begins that names the reason; empty where the level is to be right without one.
    better : callable, optional
        From a generator to a sample in which the claim is true.
    """

    name: str
    binds: str
    groups: int
    make: Make
    caution: str = ""
    better: Make | None = None


def names(groups: int) -> tuple[str, ...]:
    return tuple("abcdefghij"[:groups])


def evidence_of(
    strata: Sequence[Cells], clustered: bool, groups: int, seed: np.random.SeedSequence, draws: int, *, plain: bool
) -> Evidence:
    """What `compare` has of a sample; `plain` without any correction: Appendix A's draws, the reference as if given."""
    shape = (groups, 1, 2, 2)
    sums = np.sum([cells.sums() for cells in strata], axis=0).reshape(shape)
    if plain:
        drawn_sums = np.sum([resample(cells, draws, seed) for cells in strata], axis=0)
    else:
        drawn_sums = (draw_clusters if clustered else draw_rows)(strata, draws, seed)
    return Evidence(
        attributes=(Attribute("group", names(groups), np.arange(groups)),),
        measures=(Measure("calibration", "", "outcome"),),
        accuracy=(0,),
        fairness=(0,),
        sums=sums,
        draws=drawn_sums.reshape(-1, *shape),
        training=sums[:, :, 0],
        units=sum(cells.rows for cells in strata),
        chosen_here=not plain,
    )


def find(process: Hard, seed: tuple[int, int], draws: int = DRAWS, *, better: bool = False) -> dict[str, float]:
    """The binding component's p-value, plain and as the package has it ("mended"), and the cautions that fire.

    Under the null or, where `better`, where the claim is true.
    """

    def p_of(assessment: Assessment) -> float:
        return assessment.p_fairness if process.binds == "gap" else assessment.p_accuracy[process.binds]

    make = process.better if better else process.make
    assert make is not None
    drawn, chance = make(np.random.default_rng(seed)), np.random.SeedSequence(seed)
    strata = drawn.counted(process.groups)
    clusters = None if drawn.cluster is None else int(drawn.cluster.max()) + 1
    plain, mended = (
        evidence_of(strata, clusters is not None, process.groups, chance, draws, plain=way) for way in (True, False)
    )
    cautions = reliability_cautions(mended, Claim(), strata, clusters)
    found = {"plain": p_of(assess(plain, Claim())), "mended": p_of(assess(mended, Claim()))}
    return {**found, **{f"caution: {one.kind.split()[0]}": 1.0 for one in cautions}}


def tied(before: list[float], after: list[float], rows: int, picky: float = 0.1) -> Make:
    """Groups with the means given; the status quo selects few rows, the candidate many, whose outcomes hardly vary."""

    def make(rng: np.random.Generator) -> Drawn:
        group = rng.integers(0, len(before), rows)
        kind = rng.choice([NEITHER, BOTH, ONLY_NOW, ONLY_NEW], rows, p=[0.1 - picky / 2, 0.0, picky, 0.9 - picky / 2])
        sure = np.array(after)[group] + rng.choice([-0.5, 0.5], rows)
        return Drawn(group, kind, np.where(kind == ONLY_NOW, rng.poisson(np.array(before)[group]), sure))

    return make


def rare(more: int, rate: float = 0.97, now: int = 400) -> Make:
    """The candidate approves about so many more rows of group b, which repay at the same rate."""

    def make(rng: np.random.Generator) -> Drawn:
        group = np.concatenate([np.zeros(600), np.ones(2 * now + more)]).astype(np.int64)
        whole = 2 * now + more
        kind = np.where(
            group == 0,
            rng.choice([NEITHER, BOTH, ONLY_NOW, ONLY_NEW], len(group), p=[0.2, 0.2, 0.3, 0.3]),
            rng.choice([NEITHER, BOTH, ONLY_NEW], len(group), p=[now / whole, now / whole, more / whole]),
        )
        chance = np.where(group == 1, rate, np.where(kind == ONLY_NEW, 0.9, 0.3))
        return Drawn(group, kind, (rng.random(len(group)) < chance).astype(np.float64))

    return make


def skewed(tail: float, binds: str, rows: int = 300) -> Make:
    """The status quo's own picks in group b have lognormal outcomes, all others normal ones with the same mean.

    Where the gap binds, group a stands three such means higher under either algorithm, so that a status quo whose picks
    in b happen to miss the tail has a gap that looks too wide.
    """

    def make(rng: np.random.Generator) -> Drawn:
        group = rng.integers(0, 2, rows)
        kind = rng.choice(4, rows, p=[0.4, 0.2, 0.2, 0.2])
        mean = float(np.exp(tail**2 / 2))
        leans = (group == 1) & (kind == ONLY_NOW)
        outcome = np.where(leans, rng.lognormal(0, tail, rows), rng.normal(mean, 0.5 * mean, rows))
        if binds == "gap":
            outcome += 3 * mean * (group == 0)
        return Drawn(group, kind, outcome)

    return make


def clustered(clusters: int, size: int = 20, lean: bool = False, strata: int = 0) -> Make:
    """The rows of a cluster share how high outcomes of either algorithm's own picks are; accuracy of b binds."""

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
        outcome += np.where(kind == ONLY_NOW, now[cluster], 0) + np.where(kind == ONLY_NEW, new[cluster], 0)
        if stratum is not None:
            outcome += (2.0 * stratum / strata)[cluster]
        return Drawn(group, kind, outcome, cluster=cluster, stratum=stratum)

    return make


def weighted(index: float, rows: int = 400) -> Make:
    """Pareto weights that have nothing to do with 0/1 outcomes; about 80 of group b are selected by either."""

    def make(rng: np.random.Generator) -> Drawn:
        group = rng.integers(0, 2, rows)
        kind = rng.choice(4, rows, p=[0.4, 0.2, 0.2, 0.2])
        outcome = (rng.random(rows) < 0.7).astype(np.float64)
        return Drawn(group, kind, outcome, weight=1 + rng.pareto(index, rows))

    return make


def spread(groups: int, top: float, low: float) -> list[float]:
    """Half of the groups at the top, half at the bottom."""
    return [top] * (groups // 2) + [low] * (groups - groups // 2)


def one_wide(groups: int, width: float) -> list[float]:
    """A candidate whose gap is between the first group and the second, all others halfway."""
    return [12 + width / 2, 12 - width / 2] + [12.0] * (groups - 2)


def ties(name: str, before: list[float], width: float = 2.0, smaller: float = 1.2) -> Hard:
    """Ties for the widest gap: about 100 of each group are selected by the status quo, 1,750 by the candidate."""
    groups = len(before)
    rows = 2_000 * groups
    return Hard(
        name,
        "gap",
        groups,
        tied(before, one_wide(groups, width), rows, 0.05),
        better=tied(before, one_wide(groups, smaller), rows, 0.05),
    )


HARD = (
    replace(ties("two groups, no gap", [6, 6], 0.0), better=tied([6.4, 5.5], [12, 12], 4_000, 0.05)),
    ties("three groups, two tied", [6, 6, 4]),
    ties("three groups, 1 se apart", [6, 5.65, 4]),
    ties("four groups tied", spread(4, 6, 4)),
    ties("six groups nearly tied", [6, 6, 5.9, 4.1, 4, 4]),
    ties("eight groups tied", spread(8, 6, 4)),
    *(Hard(f"rare outcome, {m} more rows", "b", 2, rare(m), "rare" if m <= 100 else "") for m in (20, 50, 100, 200)),
    Hard("skewed outcome, accuracy", "b", 2, skewed(1.3, "accuracy"), "skewed"),
    Hard("skewed outcome, gap", "gap", 2, skewed(1.3, "gap"), "skewed"),
    *(Hard(f"{n} clusters", "b", 2, clustered(n), "few" if n < 30 else "") for n in (10, 12, 15, 20, 30, 60)),
    Hard("12 clusters, skewed", "b", 2, clustered(12, lean=True), "few"),
    Hard("20 strata of 2 clusters", "b", 2, clustered(40, strata=20), "few"),
    Hard("12 strata of 3 clusters", "b", 2, clustered(36, strata=12), "few"),
    *(
        Hard(f"Pareto weights, index {a:g}", "b", 2, weighted(a), "weights" if a == 1.2 else "")
        for a in (3, 2, 1.5, 1.2)
    ),
)


def absolute_at_zero(errors: float, correlation: float, seed: tuple[int, int], draws: int = 1_000) -> dict[str, float]:
    """The absolute statistic's p-value of "the gap is smaller" where it is as wide, the other group being ahead.

    In the normal limit, both gaps having a standard error of one: the status quo's is `errors`, the candidate's minus
    that.
    """
    rng = np.random.default_rng([*seed, int(10 * errors), int(10 * correlation)])
    root = np.linalg.cholesky(np.array([[1.0, correlation], [correlation, 1.0]]))
    gap = np.array([errors, -errors]) + root @ rng.standard_normal(2)
    drawn = np.abs(gap + rng.standard_normal((draws, 2)) @ root.T)
    statistic = abs(gap[1]) - abs(gap[0])
    return {"absolute": float(np.mean(drawn[:, 1] - drawn[:, 0] - statistic <= statistic))}


GAINS = {"a": (6.0, 6.8), "b": (4.5, 6.0)}
"""Utilities of two groups, of which every bound of the frontier is known."""


def wrong_bounds(seed: tuple[int, int], draws: int = DRAWS) -> dict[str, float]:
    """1 where some bound that is printed of one comparison is above the truth: separate bounds, and simultaneous."""
    truth = {f"accuracy of {g}": after / before - 1 for g, (before, after) in GAINS.items()}
    before, after = (GAINS["a"][t] - GAINS["b"][t] for t in (0, 1))
    truth |= {"accuracy": min(truth.values()), "fairness": 1 - after / before}
    rng = np.random.default_rng(seed)
    group, kind = rng.integers(0, 2, 2_000), rng.choice([NEITHER, BOTH, ONLY_NOW, ONLY_NEW], 2_000)
    now, new = np.array([GAINS["a"], GAINS["b"]])[group].T
    shared = (now + new) / 2  # half of either algorithm's picks are both's
    mean = np.select([kind == ONLY_NOW, kind == ONLY_NEW], [2 * now - shared, 2 * new - shared], shared)
    drawn = Drawn(group, kind, rng.poisson(mean).astype(np.float64))
    evidence = evidence_of(drawn.counted(2), False, 2, np.random.SeedSequence(seed), draws, plain=False)
    front = Frontier((critical_deltas(evidence, Claim()),), ALPHA, "ratio", "signed", names(2))
    return {
        name: float(any(bound.value > max(0.0, truth[bound.what]) for bound in front.bounds(simultaneous=together)))
        for name, together in (("each", False), ("all", True))
    }
