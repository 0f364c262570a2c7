"""How often groups that are known by probability reject a true null at 5%, and how
often a false one.

Each process is at the boundary of the null: group b gains nothing, and group a clearly
does; or two equal gaps are compared. A person's gain has the mean `by_group` for not
being in b, plus `by_p` times the probability's distance from its mean in b. So with
`by_p` = 0 the linear estimate is right, and with `by_group` = 0 the weighted one. Where
b gains less for both reasons, `by_group` above and `by_p` below zero, the truth lies
between them; where the reasons oppose each other it does not.
"""

import os
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable import Claim, Groups, Test
from improvable._typing import FloatArray
from validity.study import DRAWS

DATA = (
    Path(os.environ.get("IMPROVABLE_DATA", "../shared/data"))
    / "compas_name_probabilities.csv.gz"
)
BY_PROBABILITY: dict[str, Any] = {"probabilities": {"a": "p_a", "b": "p_b"}}
KNOWN, LIKELIEST, SOME_KNOWN = "known groups", "likeliest group", "10% known"
BOTH, WEIGHTED, LINEAR = "both", "weighted only", "linear only"
GAMMA, WORST = 1.75, "worst case at 1.75"
ROWS = 2_000


@dataclass(frozen=True)
class Process:
    words: str
    by_group: float = 0.0
    by_p: float = 0.0
    gain: float = 0.0  # of group b
    ask: str = "accuracy"
    changed: float = 0.4  # of decisions
    rows: int = ROWS
    households: bool = (
        # of two, who are in one group, have the same probability, and change together
        # half the time
        False
    )
    # whether the ways that need more than the probabilities are looked at, too
    every: bool = False

    def draw(self, seed: Any) -> pl.DataFrame:
        rng, rows = np.random.default_rng(seed), self.rows
        p, member, change = rng.beta(0.7, 0.7, rows), rng.random(rows), rng.random(rows)
        if self.households:
            p, member = np.repeat(p[::2], 2), np.repeat(member[::2], 2)
            change[1::2] = np.where(
                rng.random(rows // 2) < 0.5, change[::2], change[1::2]
            )
        group = member < p
        mean_in_b = 1.7 / 2.4  # of a size-biased beta: the mean of p among those in b
        effect = self.gain + self.by_group * ~group + self.by_p * (p - mean_in_b)
        better, worse = (
            change < (self.changed + effect) / 2,
            change > 1 - (self.changed - effect) / 2,
        )
        outcome = rng.random(rows) < 0.5
        # both algorithms err alike, more for b; in other people
        if self.ask == "fairness":
            outcome = np.zeros(rows, dtype=np.bool_)
            wrong = 0.2 + self.by_group * group + self.by_p * p
            old, new = rng.random(rows) < wrong, rng.random(rows) < wrong
        else:
            old, new = outcome ^ better, outcome ^ worse
        truth, known = (
            np.where(group, "b", "a").tolist(),
            (rng.random(rows) < 0.1).tolist(),
        )
        return pl.DataFrame(
            {
                "y": outcome.astype(int),
                "old": old.astype(int),
                "new": new.astype(int),
                "p_a": 1 - p,
                "p_b": p,
                "group": np.where(group, "b", "a"),
                "likeliest": np.where(p > 0.5, "b", "a"),
                "seen": [
                    one if told else None
                    for one, told in zip(truth, known, strict=True)
                ],
                "household": np.arange(rows) // 2,
            }
        )

    def departure(self) -> float:
        """By how much, at most, what is measured changes the odds of being in b beyond
        the probabilities.
        """
        p = np.linspace(0, 1, 101)
        if self.ask == "fairness":
            in_b, in_a = (
                0.2 + self.by_group * group + self.by_p * p for group in (1, 0)
            )
            # of two algorithms
            return float(max((in_b / in_a).max(), ((1 - in_a) / (1 - in_b)).max()) ** 2)
        in_b = self.gain + self.by_p * (p - 1.7 / 2.4)
        in_a = in_b + self.by_group
        ratios = [
            (self.changed + sign * in_a) / (self.changed + sign * in_b)
            for sign in (1, -1)
        ]
        return float(max(np.maximum(one, 1 / one).max() for one in ratios))

    def compare(
        self, data: pl.DataFrame, group: Any, seed: int
    ) -> improvable.Comparison:
        utility = "classification_rate" if self.ask == "accuracy" else "selection_rate"
        return improvable.compare(
            data,
            outcome="y",
            group=group,
            status_quo="old",
            candidate="new",
            accuracy="classification_rate",
            fairness=utility,
            claim=Claim(ask=self.ask),  # type: ignore[arg-type]
            test=Test(draws=DRAWS),
            cluster="household" if self.households else None,
            read=improvable.Read(direction="as stated"),
            seed=seed,
            n_jobs=1,
        )

    def find(self, seed: tuple[int, int]) -> dict[str, float]:
        """The p-value of every way to count groups, and the cautions about few
        effective rows beside the default.
        """
        data, number = self.draw(seed), seed[-1]
        out = by_estimate(self.compare(data, Groups(**BY_PROBABILITY), number))
        if self.every:
            others = {
                KNOWN: "group",
                LIKELIEST: "likeliest",
                SOME_KNOWN: Groups(**BY_PROBABILITY, known="seen"),
            }
            out |= {
                way: self.compare(data, group, number).p_value
                for way, group in others.items()
            }
        return out


def find_linear(process: Process, seed: tuple[int, int]) -> dict[str, float]:
    """The p-value of the linear estimate alone, which is the larger one where it is
    right and the other is not.
    """
    alone = Groups(**BY_PROBABILITY, assume="group only")
    return {LINEAR: process.compare(process.draw(seed), alone, seed[-1]).p_value}


def by_estimate(found: improvable.Comparison) -> dict[str, float]:
    """The p-values of both estimates together, of either alone, and of the weighted
    one's worst case.
    """
    out = {BOTH: found.p_value}
    for way in (WEIGHTED, LINEAR):
        mine = [
            one
            for one in found.assessment.components
            if one.group.endswith(f"({way.split()[0]})")
        ]
        out[way] = max(one.tail.p_value for one in mine)
    curve = {one["gamma"]: one["p_value"] for one in found.to_dict()["tipping_curve"]}
    doubts = {one.kind.split()[0] for one in found.cautions} & {
        "differing",
        "skewed",
        "few",
        "rare",
    }
    return {**out, WORST: curve[GAMMA], **{f"caution: {kind}": 1.0 for kind in doubts}}


PROCESSES = {
    "weighted right": Process("given p, the group does not matter", by_p=-0.3),
    "linear right": Process(
        "given the group, p does not matter", by_group=0.15, every=True
    ),
    "between": Process("both matter, in the same direction", by_group=0.1, by_p=-0.1),
    "far inside": Process("both matter, p more", by_group=0.05, by_p=-0.3),
    "gap, weighted right": Process(
        "equal gaps; given p, the group does not matter", by_p=0.3, ask="fairness"
    ),
    "gap, linear right": Process(
        "equal gaps; given the group, p does not matter", by_group=0.2, ask="fairness"
    ),
    "gap, between": Process(
        "equal gaps; both matter", by_group=0.1, by_p=0.15, ask="fairness"
    ),
    "households": Process(
        "given the group, p does not matter; households of two",
        by_group=0.15,
        households=True,
    ),
    "few changes": Process(
        "the same; 5% of decisions change", by_group=0.04, changed=0.05
    ),
    "outside": Process(
        "both matter, in opposite directions", by_group=0.15, by_p=0.1, every=True
    ),
    "outside, households": Process(
        "the same, households of two", by_group=0.15, by_p=0.1, households=True
    ),
}
LARGE = replace(PROCESSES["linear right"], rows=8_000)
POWERS = {
    "gain": Process("b gains .06, a .16", by_group=0.1, gain=0.06, every=True),
    "large gain": Process("b gains .1, a .2", by_group=0.1, gain=0.1, every=True),
}


# People whose race is known. ----


@cache
def compas() -> pl.DataFrame:
    return pl.read_csv(DATA).with_columns(
        old=(pl.col("decile_score") >= 5).cast(pl.Int64),
        black=pl.col("race") == "African-American",
        felony=pl.col("c_charge_degree") == "F",
        male=pl.col("sex") == "Male",
    )


FEATURES = (
    "age",
    "priors_count",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "felony",
    "male",
)


def compas_found(seed: tuple[int, int]) -> dict[str, float]:
    """One half of the rows teaches a logistic regression, and the other half compares
    it with the score of COMPAS.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    people, rng = compas(), np.random.default_rng(seed)
    train = rng.random(len(people)) < 0.5
    features: FloatArray = people.select(FEATURES).to_numpy().astype(float)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        features[train], people["two_year_recid"].to_numpy()[train]
    )
    scores = model.predict_proba(features)[:, 1]
    cutoff = np.quantile(scores[train], 1 - people["old"].to_numpy()[train].mean())
    race, known = (
        np.where(people["black"], "b", "a").tolist(),
        (rng.random(len(people)) < 0.1).tolist(),
    )
    rows = people.with_columns(
        new=pl.Series((scores > cutoff).astype(int)),
        group=pl.Series(race),
        seen=pl.Series(
            [one if told else None for one, told in zip(race, known, strict=True)]
        ),
        likeliest=pl.when(pl.col("p_black_census2020") > 0.5)
        .then(pl.lit("b"))
        .otherwise(pl.lit("a")),
    ).filter(~train)
    out = {}
    for column in ("p_black_census2020", "p_black_raked"):
        data = rows.with_columns(p_b=pl.col(column), p_a=1 - pl.col(column))
        ways: dict[str, Any] = {
            BOTH: Groups(**BY_PROBABILITY),
            SOME_KNOWN: Groups(**BY_PROBABILITY, known="seen"),
        }
        if column == "p_black_raked":
            ways |= {KNOWN: "group", LIKELIEST: "likeliest"}
        for way, group in ways.items():
            found = improvable.compare(
                data,
                outcome="two_year_recid",
                group=group,
                status_quo="old",
                candidate="new",
                accuracy="classification_rate",
                fairness="false_positive_rate",
                claim=Claim(selection="burden"),
                test=Test(draws=DRAWS),
                seed=seed[-1],
                n_jobs=1,
            )
            name = (
                f"{way}, raked"
                if way in (BOTH, SOME_KNOWN) and column == "p_black_raked"
                else way
            )
            out[name] = found.p_value
            for attribute, values in zip(
                found.evidence.attributes, found.evidence.values, strict=True
            ):
                estimate = attribute.name.partition("(")[2].rstrip(")")
                for t, whose in enumerate(("before", "after")):
                    end = f" {whose} {estimate}".rstrip()
                    out |= {
                        f"{name}: {g}{end}": float(values[i, 0, t])
                        for i, g in enumerate(attribute.levels)
                    }
                    out[f"{name}: gap{end}"] = float(np.ptp(values[:, 1, t]))
    return out
