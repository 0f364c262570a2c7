"""What rules are tried on: simulated and real data, each with a question; for the board
and the choice of the default.

Real data are read from a folder; those that are not there are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable.datasets import (
    CARE_MANAGEMENT_COVARIATES,
    care_management,
    diabetes_screening,
)

Draw = Callable[[np.random.Generator], pl.DataFrame]
BODY = ["age", "bmi", "waist", "height", "weight_kg", "arm", "woman", "family_history"]
# supervision risk scores from which on a person of the Georgia data is called high risk
HIGH_RISK = (6, 7, 8)
AFTER_RELEASE = (
    "DrugTest",
    "Jobs",
    "Violations",
    "Program",
    "Delinquency",
    "Residence_Changes",
    "Percent_Days",
    "Recidivism",
    "Supervision",
    "Race",
    "ID",
    "Employment_Exempt",
)
"""In the names of columns that are no features: measured after release, the score in
use, the group, and names.
"""


@dataclass(frozen=True)
class Problem:
    """One data set and what is asked of it.

    Attributes
    ----------
    name, about : str
        In a few words, and in a sentence.
    draw : callable
        The rows of one sample: fresh ones of a simulation, a random part of real ones.
    asked : dict
        Arguments of `improvable.audit`.
    whole : data frame or None
        All rows of real data.
    design : dict
        Further arguments where all rows are used: a survey's weights, clusters and
        strata do not survive a random part.
    null : bool
        Whether no rule can find an improvement, because there is none.
    """

    name: str
    about: str
    draw: Draw
    asked: dict[str, Any]
    whole: pl.DataFrame | None = None
    design: dict[str, Any] = field(default_factory=dict)
    null: bool = False

    @property
    def rows(self) -> pl.DataFrame:
        """One data set for all rules: all real rows, or one simulated sample."""
        return self.draw(np.random.default_rng(1)) if self.whole is None else self.whole


def score(column: str, capacity: float) -> Any:
    return improvable.threshold(column, capacity=capacity)


def care(rows: int) -> Problem:
    def draw(rng: np.random.Generator) -> pl.DataFrame:
        return pl.DataFrame(care_management(rows, seed=int(rng.integers(1 << 31))))

    return Problem(
        f"care program, {rows:,} rows",
        (
            f"The simulated care program, {rows:,} patients and 149 columns: a score "
            "that tracks cost selects 10%; accuracy and the gap are of the conditions "
            "of the selected in the next year."
        ),
        draw,
        {
            "outcome": "gagne_sum_t",
            "group": "race",
            "status_quo": score("risk_score_t", 0.1),
            "features": CARE_MANAGEMENT_COVARIATES,
        },
    )


def credit(rows: int) -> Problem:
    def draw(rng: np.random.Generator) -> pl.DataFrame:
        group = rng.random(rows) < 0.4
        income = np.exp(rng.normal(10.3 - 0.25 * group, 0.5, rows))
        debt = np.exp(rng.normal(9.3, 0.8, rows))
        years, late = rng.integers(0, 30, rows), rng.poisson(0.8, rows)
        burden = np.maximum(debt / income - 0.3, 0)
        chance = 1 / (1 + np.exp(-(1.6 - 1.5 * burden - 0.7 * late + 0.03 * years)))
        return pl.DataFrame(
            {
                "group": np.where(group, "b", "a"),
                "repaid": (rng.random(rows) < chance).astype(int),
                "score": np.log(income) + rng.normal(0, 0.5, rows),
                "income": income,
                "debt": debt,
                "years": years,
                "late": late,
            }
        )

    return Problem(
        "credit",
        (
            f"A simulated lender, {rows:,} applicants: repayment falls with debt "
            "beyond what income carries, the score in use counts income, which is "
            "lower in one group, and 40% are approved. Accuracy is repayment, the gap "
            "is of approval rates."
        ),
        draw,
        {
            "outcome": "repaid",
            "group": "group",
            "status_quo": score("score", 0.4),
            "fairness": "selection_rate",
        },
    )


def hiring(rows: int) -> Problem:
    def draw(rng: np.random.Generator) -> pl.DataFrame:
        group = rng.random(rows) < 0.5
        skill = rng.normal(size=rows)
        test = np.clip(np.round(5 + 2 * skill + rng.normal(0, 1.5, rows)), 0, 10)
        jobs, degree = (
            rng.poisson(2, rows),
            (skill + rng.normal(0, 1.2, rows) > 0.3).astype(int),
        )
        mark = skill - 0.8 * group + rng.normal(0, 1.5, rows)
        output = 50 + 10 * skill + 2 * (jobs < 4) + rng.normal(0, 8, rows)
        return pl.DataFrame(
            {
                "group": np.where(group, "b", "a"),
                "output": output,
                "mark": mark,
                "test": test,
                "jobs": jobs,
                "degree": degree,
            }
        )

    return Problem(
        "hiring",
        (
            f"A simulated employer, {rows:,} applicants with a few coarse answers: "
            "interviewers' marks are noisy, lower for one group, and 20% are hired. "
            "Accuracy is the output of the hired, the gap is of hiring rates."
        ),
        draw,
        {
            "outcome": "output",
            "group": "group",
            "status_quo": score("mark", 0.2),
            "fairness": "selection_rate",
        },
    )


def bends(rows: int, null: bool = False) -> Problem:
    def draw(rng: np.random.Generator) -> pl.DataFrame:
        group = rng.random(rows) < 0.5
        x = rng.normal(size=(rows, 8))
        need = 1.2 * (x[:, 0] * x[:, 1] > 0.3) + 0.5 * x[:, 2] ** 2 + 0.4 * x[:, 3]
        used = need if null else need - 1.5 * group + rng.normal(0, 3, rows)
        return pl.DataFrame({f"x{j}": x[:, j] for j in range(8)}).with_columns(
            group=pl.Series(np.where(group, "b", "a")),
            score=pl.Series(used),
            outcome=pl.Series(need + rng.normal(0, 1, rows)),
        )

    asked: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": score("score", 0.2),
    }
    told = (
        (
            "the score in use is the best prediction there is, so that nothing "
            "improves on it"
        )
        if null
        else "the score in use is noisy, and lower for one group"
    )
    return Problem(
        "nothing to find" if null else "bends",
        (
            f"Simulated, {rows:,} rows: need is an interaction, a U and a line; "
            f"{told}, and 20% are selected. Accuracy is the need of the selected, and "
            f"the gap is of {'the same' if null else 'selection rates'}."
        ),
        draw,
        asked if null else {**asked, "fairness": "selection_rate"},
        null=null,
    )


def edge(rows: int) -> Problem:
    """At the edge of the null: the first condition holds with equality for every
    candidate, the others by far.
    """

    def draw(rng: np.random.Generator) -> pl.DataFrame:
        group = rng.random(rows) < 0.5
        x = rng.normal(size=(rows, 6))
        mean = np.where(group, np.exp(0.2 + 0.5 * x[:, 0]), 2.0)
        return pl.DataFrame({f"x{j}": x[:, j] for j in range(6)}).with_columns(
            group=pl.Series(np.where(group, "b", "a")),
            outcome=pl.Series(rng.poisson(mean)),
            score=pl.Series(rng.normal(size=rows) - 0.7 * x[:, 0]),
        )

    return Problem(
        "edge of the null",
        (
            f"Simulated, {rows:,} rows: one group and the gap improve by far, and "
            "nothing predicts the outcome in the other group, so that every candidate "
            "is exactly as accurate there as the status quo. A test of 5% rejects 5% "
            "of the time."
        ),
        draw,
        {
            "outcome": "outcome",
            "group": "group",
            "status_quo": score("score", 0.2),
            "features": [f"x{j}" for j in range(6)],
        },
        null=True,
    )


def real(
    name: str,
    about: str,
    frame: pl.DataFrame,
    share: float,
    asked: dict[str, Any],
    design: dict[str, Any] | None = None,
) -> Problem:
    def draw(rng: np.random.Generator) -> pl.DataFrame:
        return frame[np.sort(rng.permutation(len(frame))[: int(share * len(frame))])]

    return Problem(name, about, draw, asked, frame, design or {})


def held_out_third(path: Path) -> Problem:
    return real(
        "held-out third",
        (
            "The held-out third of the data of Obermeyer et al. (2019), 16,099 "
            "patients: the hospital's score selects 3%; the features are six scores "
            "that learned from the other two thirds, and two of the year before."
        ),
        _read(path),
        0.7,
        {
            "outcome": "gagne_sum_t",
            "group": "race",
            "status_quo": score("risk_score_t", 0.03),
            "features": ["*_hat", "*_hat_nocost", "*_tm1"],
        },
    )


def compas(path: Path) -> list[Problem]:
    both = _read(path).filter(pl.col("race").is_in(["African-American", "Caucasian"]))
    both = both.with_columns(
        safe=1 - pl.col("two_year_recid"), lenience=-pl.col("decile_score")
    )
    features = ["sex", "age", "juv_*", "priors_count", "c_charge_degree"]
    release = {
        "outcome": "safe",
        "group": "race",
        "status_quo": score("lenience", 0.5),
        "features": features,
    }
    detain = {
        "outcome": "two_year_recid",
        "group": "race",
        "status_quo": improvable.threshold("decile_score", above=4),
        "features": features,
        "accuracy": "classification_rate",
        "fairness": "false_positive_rate",
        "claim": improvable.Claim(selection="burden"),
    }
    return [
        real(
            "COMPAS, release",
            (
                f"COMPAS, {len(both):,} people of two groups: the half with the lowest "
                "deciles is released. Accuracy and the gap are of those released who "
                "were not arrested again."
            ),
            both,
            0.9,
            release,
        ),
        real(
            "COMPAS, detain",
            (
                f"COMPAS, {len(both):,} people of two groups: deciles of 5 and more "
                "are called high risk. Accuracy is the rate of correct decisions, the "
                "gap is of false positives, and no capacity is set."
            ),
            both,
            0.9,
            detain,
        ),
    ]


def screening() -> Problem:
    """The guideline reads age and body mass; candidates read a few things more, and
    screen the same share.
    """
    people = diabetes_screening()
    return real(
        "diabetes screening",
        (
            f"NHANES 2011-2018, {len(people):,} adults of four groups: the guideline "
            "screens at age 35 to 70 with a BMI of 25 or more; candidates read age, "
            "body measures, sex and family history, and screen the same share. "
            "Accuracy and the gap are of the share of diabetes that is screened."
        ),
        people,
        0.7,
        {
            "outcome": "diabetes",
            "group": "race",
            "status_quo": "guideline",
            "features": BODY,
            "accuracy": "true_positive_rate",
            "capacity": "status_quo",
        },
        {"weight": "weight", "cluster": "psu", "stratum": "stratum"},
    )


def georgia(path: Path) -> list[Problem]:
    """People on parole in Georgia, and the state's own risk score: one problem for each
    cutoff of it.
    """
    score_in_use = "Supervision_Risk_Score_First"
    people = (
        _read(path)
        .filter(pl.col(score_in_use) > 0)
        .with_columns(
            pl.col("Recidivism_Within_3years")
            .cast(pl.String)
            .str.to_lowercase()
            .is_in(["true", "1"])
            .cast(pl.Int64),
            *(
                (pl.col(score_in_use) >= cut).cast(pl.Int64).alias(f"high_risk_{cut}")
                for cut in HIGH_RISK
            ),
        )
    )
    known = [
        name
        for name in people.columns
        if not any(part in name for part in (*AFTER_RELEASE, "high_risk"))
    ]
    return [
        real(
            f"Georgia, {cut} or more",
            (
                "The National Institute of Justice's Recidivism Forecasting Challenge, "
                f"{len(people):,} people paroled in Georgia from 2013 to 2015, of two "
                f"groups: a supervision risk score of {cut} or more of 10 is called "
                "high risk; candidates read what was known at release, and call the "
                "same share high risk. The outcome is a new arrest within three years. "
                "Accuracy is the rate of correct decisions, and the gap is of false "
                "positives."
            ),
            people,
            0.7,
            {
                "outcome": "Recidivism_Within_3years",
                "group": "Race",
                "status_quo": f"high_risk_{cut}",
                "features": known,
                "accuracy": "classification_rate",
                "fairness": "false_positive_rate",
                "capacity": "same",
                "claim": improvable.Claim(selection="burden"),
            },
        )
        for cut in HIGH_RISK
    ]


def _read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema_length=None, null_values="")


def problems(data: Path, care_rows: int = 8_000) -> list[Problem]:
    """All of them; real data are those in the folder."""
    found = [care(care_rows), credit(3_000), hiring(1_500), bends(1_500), screening()]
    if (data / "obermeyer_holdout.csv").exists():
        found.append(held_out_third(data / "obermeyer_holdout.csv"))
    if (data / "compas.csv").exists():
        found += compas(data / "compas.csv")
    if (data / "georgia_parole.csv.gz").exists():
        found += georgia(data / "georgia_parole.csv.gz")
    return [*found, bends(4_000, null=True), edge(2_000)]
