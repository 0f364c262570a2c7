"""Which rule should be the default? Power, level and time of fast rules on simulated and real data.

Each repetition is one audit with one split, on fresh simulated rows or on a random part of the real ones. Power is
measured by the mean of z = Phi^-1(1 - p), which says more than the share of rejections when repetitions are few; a z
above 1.64 rejects at 5%. "null" has the best prediction there is as status quo, so that nothing improves on it: there
the share of rejections must not exceed 5%. Time is the processor's, user and system, per audit.

Prints a table. Real data are read from the folder --data; those that are not there
are left out.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

import improvable
from improvable.datasets import CARE_MANAGEMENT_COVARIATES, care_management
from improvable.errors import ImprovableWarning

RULES = ("linear", "lasso", "boosting", "forest:100", "tournament:linear,boosting")
DRAWS = 1_000


@dataclass(frozen=True)
class Problem:
    """One data set and what is asked of it; `make` gives the rows of a repetition."""

    name: str
    make: Callable[[np.random.Generator], pl.DataFrame]
    asked: dict[str, Any] = field(default_factory=dict)


def care(rows: int) -> Callable[[np.random.Generator], pl.DataFrame]:
    def make(rng: np.random.Generator) -> pl.DataFrame:
        return pl.DataFrame(care_management(rows, seed=int(rng.integers(1 << 31))))

    return make


def credit(rng: np.random.Generator) -> pl.DataFrame:
    """Repayment falls with debt beyond what income carries; the score in use counts income, lower in one group."""
    n = 3_000
    group = rng.random(n) < 0.4
    income = np.exp(rng.normal(10.3 - 0.25 * group, 0.5, n))
    debt = np.exp(rng.normal(9.3, 0.8, n))
    years, late = rng.integers(0, 30, n), rng.poisson(0.8, n)
    burden = np.maximum(debt / income - 0.3, 0)
    chance = 1 / (1 + np.exp(-(1.6 - 1.5 * burden - 0.7 * late + 0.03 * years)))
    score = np.log(income) + rng.normal(0, 0.5, n)
    return pl.DataFrame(
        {"group": np.where(group, "b", "a"), "repaid": (rng.random(n) < chance).astype(int), "score": score,
         "income": income, "debt": debt, "years": years, "late": late}
    )  # fmt: skip


def hiring(rng: np.random.Generator) -> pl.DataFrame:
    """Few coarse answers of applicants; the interviewers' mark is noisy, and lower for one group."""
    n = 1_500
    group = rng.random(n) < 0.5
    skill = rng.normal(size=n)
    test = np.clip(np.round(5 + 2 * skill + rng.normal(0, 1.5, n)), 0, 10)
    jobs, degree = rng.poisson(2, n), (skill + rng.normal(0, 1.2, n) > 0.3).astype(int)
    mark = skill - 0.8 * group + rng.normal(0, 1.5, n)
    output = 50 + 10 * skill + 2 * (jobs < 4) + rng.normal(0, 8, n)
    return pl.DataFrame(
        {"group": np.where(group, "b", "a"), "output": output, "mark": mark, "test": test, "jobs": jobs,
         "degree": degree}
    )  # fmt: skip


def nonlinear(null: bool) -> Callable[[np.random.Generator], pl.DataFrame]:
    """Need depends on an interaction and a U; the score in use sees part of it, less well for one group."""

    def make(rng: np.random.Generator) -> pl.DataFrame:
        n = 3_000
        group = rng.random(n) < 0.5
        x = rng.normal(size=(n, 8))
        need = 1.2 * (x[:, 0] * x[:, 1] > 0.3) + 0.5 * x[:, 2] ** 2 + 0.4 * x[:, 3]
        score = need if null else need - 0.6 * group + rng.normal(0, 1.2, n)
        return pl.DataFrame({f"x{j}": x[:, j] for j in range(8)}).with_columns(
            group=pl.Series(np.where(group, "b", "a")), score=pl.Series(score),
            outcome=pl.Series(rng.poisson(np.exp(0.5 * need + 0.25 * group))),
        )  # fmt: skip

    return make


def part_of(path: Path, share: float, prepare: Callable[[pl.DataFrame], pl.DataFrame]) -> Any:
    whole = prepare(pl.read_csv(path, infer_schema_length=None))

    def make(rng: np.random.Generator) -> pl.DataFrame:
        return whole[np.sort(rng.permutation(len(whole))[: int(share * len(whole))])]

    return make


def released(people: pl.DataFrame) -> pl.DataFrame:
    """COMPAS the other way round: whom to release, and who was not arrested again."""
    both = people.filter(pl.col("race").is_in(["African-American", "Caucasian"]))
    return both.with_columns(safe=1 - pl.col("two_year_recid"), lenience=-pl.col("decile_score"))


def problems(data: Path) -> list[Problem]:
    def score(column: str, capacity: float) -> Any:
        return improvable.threshold(column, capacity=capacity)

    care_asked = {"outcome": "gagne_sum_t", "group": "race", "status_quo": score("risk_score_t", 0.1),
                  "features": CARE_MANAGEMENT_COVARIATES}  # fmt: skip
    nonlinear_asked = {"outcome": "outcome", "group": "group", "status_quo": score("score", 0.2),
                       "features": [f"x{j}" for j in range(8)]}  # fmt: skip
    found = [
        Problem("care, 3,000 rows", care(3_000), care_asked),
        Problem("care, 12,000 rows", care(12_000), care_asked),
        Problem(
            "credit",
            credit,
            {"outcome": "repaid", "group": "group", "status_quo": score("score", 0.4), "fairness": "selection_rate"},
        ),
        Problem("hiring", hiring, {"outcome": "output", "group": "group", "status_quo": score("mark", 0.2)}),
        Problem("nonlinear", nonlinear(False), nonlinear_asked),
        Problem("nonlinear, null", nonlinear(True), nonlinear_asked),
    ]
    if (data / "obermeyer_holdout.csv").exists():
        asked = {"outcome": "gagne_sum_t", "group": "race", "status_quo": score("risk_score_t", 0.05),
                 "features": ["*_hat", "*_hat_nocost", "*_tm1"]}  # fmt: skip
        found.append(Problem("Obermeyer", part_of(data / "obermeyer_holdout.csv", 0.7, lambda f: f), asked))
    if (data / "compas.csv").exists():
        asked = {"outcome": "safe", "group": "race", "status_quo": score("lenience", 0.5),
                 "features": ["sex", "age", "juv_*", "priors_count", "c_charge_degree"]}  # fmt: skip
        found.append(Problem("COMPAS", part_of(data / "compas.csv", 0.9, released), asked))
    if (data / "nhanes_diabetes.csv").exists():
        asked = {"outcome": "diabetes", "group": "race", "status_quo": score("age", 0.3),
                 "features": ["bmi", "waist", "height", "weight_kg", "arm", "relatives_had_diabetes", "income",
                              "education", "insured", "sex"]}  # fmt: skip
        asked |= {"groups": ["Black", "White"]}
        found.append(Problem("NHANES", part_of(data / "nhanes_diabetes.csv", 0.5, lambda f: f), asked))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument("--rules", default=";".join(RULES), help="between semicolons")
    parser.add_argument("--problems", default="", help="only those whose name has this in it")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of real data")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ImprovableWarning)
    print(f"{arguments.repetitions} repetitions; mean z (standard error), rejections at 5%, seconds per audit\n")
    rules = arguments.rules.split(";")
    print("| data | " + " | ".join(f"`{rule}`" for rule in rules) + " |\n|---|" + "---|" * len(rules))
    for problem in problems(arguments.data):
        if arguments.problems in problem.name:
            cells = [judge(problem, rule, arguments.repetitions) for rule in rules]
            print(f"| {problem.name} | " + " | ".join(cells) + " |", flush=True)


def judge(problem: Problem, rule: str, repetitions: int) -> str:
    z, rejected, begun = [], 0, time.process_time()
    for i in range(repetitions):
        frame = problem.make(np.random.default_rng([11, i]))
        result = improvable.audit(
            frame, **problem.asked, rule=rule, splits=1, draws=DRAWS, seed=i, progress=False, drop_missing=True
        )
        z.append(float(ndtri(1 - np.clip(result.p_value, 1 / DRAWS, 1 - 1 / DRAWS))))
        rejected += result.reject
    seconds = (time.process_time() - begun) / repetitions
    return f"{np.mean(z):.2f} ({np.std(z) / repetitions**0.5:.2f}), {rejected}, {seconds:.1f} s"


if __name__ == "__main__":
    main()
