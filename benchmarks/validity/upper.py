"""How often upper bounds ("at most") cover, how far above the truth they lie, and how
often they rule nothing out.

Samples of a fixed candidate, whose utilities are known, go straight to the inference
layer, corrections of draws included; whole audits are divided, counted and drawn as in
`schemes`, and their truth is measured as in `intervals`. A bound covers where the true
value itself is not ruled out: each is one p-value, strictly below the level or not.

    PYTHONPATH=benchmarks python benchmarks/validity/upper.py --samples 2000
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import FloatArray
from improvable.inference.corrections import prepare
from improvable.inference.evidence import Evidence
from improvable.inference.statistics import unfairness
from improvable.inference.upper import ALL, parts_of, upper_bound, upper_p_value
from improvable.question.claim import Claim
from improvable.question.settings import Scheme
from validity import intervals
from validity.hard import PLAIN, Drawn, drawn_from, evidence_of
from validity.learning import Learning
from validity.processes import GroupTruth
from validity.schemes import SCHEMES, rounds_of
from validity.study import ALPHA, DRAWS, Rate, quiet, rate_of

# of each group, under the status quo and the candidate
Utilities = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Case:
    """A population with known utilities.

    Attributes
    ----------
    name : str
    binds : str
        Which conditions hold just so at the true value.
    utilities : tuple
    rows : int
    outcome : str
        "rate", 0 or 1; "skewed", lognormal amounts.
    few : float
        Share of a group's rows that the candidate selects and the status quo does not,
        and the other way round.
    clusters : int
        Of rows that share a shock; 0 for independent rows.
    claim : Claim
    what : str
        Whose bound it is.
    lower : bool
        Whether a lower value is more accurate.
    """

    name: str
    binds: str
    utilities: Utilities
    rows: int = 1_000
    outcome: str = "rate"
    few: float = 0.2
    clusters: int = 0
    claim: Claim = PLAIN
    what: str = "fairness"
    lower: bool = False

    @property
    def truth(self) -> float:
        return true_delta(
            np.array(self.utilities), self.claim, self.what, -1 if self.lower else 1
        )

    def draw(self, rng: np.random.Generator) -> Drawn:
        groups = len(self.utilities)
        truths = [
            GroupTruth(1 / groups, one, (0.2 + self.few,) * 2, 0.2)
            for one in self.utilities
        ]
        cluster = np.arange(self.rows) % self.clusters if self.clusters else None
        group = rng.integers(0, groups, self.rows)
        cumulated = np.cumsum([one.chances() for one in truths], axis=1)[group]
        kind = np.minimum((rng.random(self.rows)[:, None] > cumulated).sum(axis=1), 3)
        means = np.array([one.means() for one in truths])
        assert self.outcome == "skewed" or (np.abs(means[:, 1:] - 0.5) <= 0.5).all(), (
            self.name
        )
        mean = means[group, kind]
        # a shock that its rows share, of rows that the candidate alone selects most
        if cluster is not None:
            mean = np.clip(
                mean
                + rng.choice([-0.15, 0.15], self.clusters)[cluster]
                * np.where(kind == 3, 1, 0.3),
                0,
                1,
            )
        if self.outcome == "skewed":
            return Drawn(
                group,
                kind,
                mean * rng.lognormal(-0.72, 1.2, self.rows),
                cluster=cluster,
            )
        return Drawn(
            group,
            kind,
            (rng.random(self.rows) < mean).astype(np.float64),
            cluster=cluster,
        )

    def evidence(self, seed: int, draws: int) -> Evidence:
        """What `compare` would have of one sample."""
        drawn, groups = self.draw(np.random.default_rng([7, seed])), len(self.utilities)
        strata, clustered = drawn.counted(groups), drawn.cluster is not None
        before = evidence_of(strata, groups)
        before = replace(
            before,
            measures=(replace(before.measures[0], higher_is_better=not self.lower),),
        )
        drawable = prepare(before, self.claim, strata, clustered, drawn.rows(groups)[2])
        return drawn_from(before, drawable, draws, np.random.SeedSequence([8, seed]))


TWO = ((0.70, 0.75), (0.50, 0.60))
CASES = (
    Case("two groups", "gap", TWO),
    Case("two groups", "gap", TWO, rows=300),
    Case("two groups", "gap", TWO, rows=10_000),
    Case(
        "two groups, margin zero", "gap and accuracy of a", ((0.70, 0.70), (0.50, 0.60))
    ),
    Case(
        "two groups, no change", "gap and both accuracies", ((0.70, 0.70), (0.50, 0.50))
    ),
    Case(
        "two groups, no gap left",
        "accuracy of a, gap at zero",
        ((0.60, 0.60), (0.40, 0.60)),
    ),
    Case(
        "two groups, gap near zero",
        "gap, either sign",
        ((0.56, 0.68), (0.50, 0.64)),
        rows=600,
    ),
    Case(
        "four groups that tie",
        "gap",
        ((0.7, 0.75), (0.7, 0.75), (0.5, 0.6), (0.5, 0.6)),
        rows=2_000,
    ),
    Case(
        "four groups, margins zero",
        "gap, two accuracies",
        ((0.7, 0.7), (0.66, 0.7), (0.5, 0.55), (0.55, 0.55)),
        rows=2_000,
    ),
    Case(
        "60 clusters",
        "gap and accuracy of a",
        ((0.70, 0.70), (0.50, 0.60)),
        rows=1_200,
        clusters=60,
    ),
    Case(
        "20 clusters",
        "gap and accuracy of a",
        ((0.70, 0.70), (0.50, 0.60)),
        rows=1_200,
        clusters=20,
    ),
    Case(
        "rare failures, few differ",
        "gap and accuracy of a",
        ((0.97, 0.97), (0.60, 0.64)),
        1_500,
        few=0.03,
    ),
    Case(
        "rare successes, few differ",
        "both accuracies",
        ((0.03, 0.03), (0.05, 0.05)),
        1_500,
        few=0.03,
        claim=Claim(ask="accuracy"),
        what="accuracy",
    ),
    Case(
        "rare, margin of 5%",
        "gap and margin of a",
        ((0.95, 0.9025), (0.70, 0.75)),
        600,
        few=0.1,
        claim=Claim(delta_accuracy=-0.05),
    ),
    Case("skewed amounts", "gap", ((12.0, 12.5), (3.0, 5.0)), 2_000, "skewed"),
    Case(
        "skewed amounts, margin zero",
        "gap and accuracy of a",
        ((12.0, 12.0), (3.0, 5.0)),
        2_000,
        "skewed",
    ),
    Case(
        "skewed costs, margin zero",
        "gap and accuracy of b",
        ((12.0, 10.5), (3.0, 3.0)),
        2_000,
        "skewed",
        lower=True,
    ),
    Case(
        "skewed amounts, accuracy",
        "both accuracies",
        ((6.0, 6.6), (5.0, 5.5)),
        400,
        "skewed",
        claim=Claim(ask="accuracy"),
        what="accuracy",
    ),
    Case("accuracy", "accuracy of a", TWO, what="accuracy"),
    Case(
        "accuracy, gap as wide",
        "accuracies and gap",
        ((0.70, 0.75), (0.50, 0.55)),
        what="accuracy",
    ),
    Case("amounts of the gap", "gap", TWO, claim=Claim(form="difference")),
    Case(
        "protected group",
        "gap and accuracy of a",
        ((0.70, 0.70), (0.50, 0.60)),
        claim=Claim(protected="b"),
    ),
)
AUDITS = tuple(
    case
    for case in intervals.CASES
    if case.name in ("two groups, clear gap", "three groups that tie")
)


def true_delta(
    utilities: FloatArray, claim: Claim, what: str, better: int = 1
) -> float:
    """The largest delta for which every condition holds; minus infinity where one of
    the others fails.
    """
    before, after = utilities.T
    gap_before, gap_after = unfairness(before), unfairness(after)
    rises = better * (after - before) / (before if claim.form == "ratio" else 1.0)
    cut = (gap_before - gap_after) / (gap_before if claim.form == "ratio" else 1.0)
    own, others = (cut, rises) if what == "fairness" else (rises, cut)
    least = claim.delta_accuracy if what == "fairness" else claim.delta_fairness
    assert not isinstance(least, Mapping)
    holds = claim.ask != "both" or bool(np.all(others >= least - 1e-9))
    return float(np.min(own)) if holds else -np.inf


def once(case: Case, seed: int, draws: int = DRAWS) -> tuple[float, float]:
    """Whether one sample covers, and its bound less the true value; infinite where
    nothing is ruled out.
    """
    parts = parts_of(case.evidence(seed, draws), case.claim, case.what, case.claim.form)
    covers = upper_p_value(parts, case.truth) >= ALPHA
    return float(covers), upper_bound(parts, ALPHA) - case.truth


def audited_once(
    case: Learning, seed: tuple[int, int], scheme: Scheme, draws: int
) -> tuple[float, float]:
    """The same of a whole audit; the true value is the median one of its
    repetitions.
    """
    table = case.draw(np.random.default_rng(seed), case.rows)
    rounds = list(rounds_of(case, table, scheme, seed[1], draws))
    truths = [
        true_delta(intervals.truth_of(case, table, one), PLAIN, "fairness")
        for one in rounds
    ]
    bounds = [
        upper_bound(parts_of(one.evidence, PLAIN, "fairness", "ratio"), ALPHA / 2)
        for one in rounds
    ]
    middle = (len(rounds) - 1) // 2
    truth, bound = sorted(truths)[middle], sorted(bounds)[middle]
    return float(bound >= truth), bound - truth


def summarized(found: list[tuple[float, float]]) -> tuple[Rate, float, float]:
    """Coverage, the median distance of bounds above the truth, and the share of samples
    that rule something out.
    """
    covers, above = np.array(found).T
    known = above[np.isfinite(above)]
    return (
        rate_of(covers),
        float(np.median(known)) if len(known) else np.nan,
        len(known) / len(above),
    )


def coverage(case: Case, samples: int, draws: int = DRAWS) -> tuple[Rate, float, float]:
    with quiet():
        return summarized([once(case, seed, draws) for seed in range(samples)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2_000)
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--draws", type=int, default=DRAWS)
    asked = parser.parse_args()
    for case in CASES:
        rate, above, bounded = coverage(case, asked.samples, asked.draws)
        head = f"| {case.name}, {case.rows:,} rows | {case.binds} | {case.truth:.2f}"
        near = f"{above:.2f}" if case.truth < ALL else "none"
        print(
            f"{head} | {rate.share:.3f} ± {rate.error:.3f} | {near} | {bounded:.0%} |",
            flush=True,
        )
    for audit in AUDITS if asked.audits else ():
        for scheme in SCHEMES:
            found = [
                audited_once(audit, (2_000 + r, r), scheme, asked.draws)
                for r in range(asked.audits)
            ]
            rate, above, bounded = summarized(found)
            head = f"| audit ({scheme}): {audit.name}, {audit.rows:,} rows | | |"
            print(
                f"{head} {rate.share:.3f} ± {rate.error:.3f} | {above:.2f} | "
                f"{bounded:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
