"""How much Appendix F's iota changes power. Prints the table of iota in docs/reference/rules.md.

The rules `linear_search:fairest` and `linear_search:most_accurate:GROUP` look for a classifier that exceeds the claim
on the training rows by iota: a constant, or a multiple of each component's standard error there. Three processes:

care
    `improvable.datasets.care_management`, the top 10% by the vendor's score, calibration with the number of illnesses.
records
    Counts; one feature predicts well and is lower for one group at equal need. Calibration, the top 25%.
screening
    0/1 outcomes without a capacity: the rate of correct decisions as accuracy, the false positive rate as fairness.

With `--null` nothing can be improved (care: features are noise; the others: the status quo is the best prediction there
is). One repetition, the 5% level, the same data for every iota.
"""

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable.errors import ImprovableWarning

IOTAS = ("0", "0.5se", "1se", "1.5se", "2se")
Case = tuple[pl.DataFrame, dict[str, Any]]


def care(rng: np.random.Generator, null: bool) -> Case:
    people = improvable.datasets.care_management(8_000, seed=int(rng.integers(2**31)))
    features = ["gagne_sum_tm1", "cost_emergency_tm1", "cost_pharmacy_tm1", "cost_laboratory_tm1"]
    if null:
        people = people.with_columns(pl.Series(name, rng.normal(size=len(people))) for name in features)
    status_quo = improvable.threshold("risk_score_t", capacity=0.1)
    return people, {
        "outcome": "gagne_sum_t", "group": "race", "features": features, "status_quo": status_quo,
    }  # fmt: skip


def records(rng: np.random.Generator, null: bool) -> Case:
    n = 8_000
    group, need = rng.random(n) < 0.5, rng.normal(size=n)
    visits, record = need + 0.7 * rng.normal(size=n), need + 0.8 * rng.normal(size=n) - 2.0 * group
    best = visits / 0.7**2 + (record + 2.0 * group) / 0.8**2
    columns: dict[str, Any] = {
        "group": np.where(group, "b", "a"), "outcome": rng.poisson(np.exp(0.7 * need + 0.4)), "visits": visits,
        "record": record, "other": rng.normal(size=n), "score": best if null else record + 2.0 * rng.normal(size=n),
    }  # fmt: skip
    status_quo = improvable.threshold("score", capacity=0.25)
    return pl.DataFrame(columns), {
        "outcome": "outcome", "group": "group", "features": ["visits", "record", "other"], "status_quo": status_quo,
    }  # fmt: skip


def screening(rng: np.random.Generator, null: bool) -> Case:
    n = 4_000
    group, need = rng.random(n) < 0.4, rng.normal(size=n)
    test, history = need + 0.7 * rng.normal(size=n), need + 0.7 * rng.normal(size=n) + 0.9 * group
    best = (test + history - 0.9 * group) / 0.7**2
    columns: dict[str, Any] = {
        "group": np.where(group, "b", "a"), "outcome": (need + 0.5 * rng.normal(size=n) > 0).astype(int), "test": test,
        "history": history, "other": rng.normal(size=n), "score": best if null else history + 0.7 * rng.normal(size=n),
    }  # fmt: skip
    return pl.DataFrame(columns), {
        "outcome": "outcome", "group": "group", "features": ["test", "history", "other"],
        "status_quo": improvable.threshold("score", above=0.0), "accuracy": "classification_rate",
        "fairness": "false_positive_rate",
    }  # fmt: skip


PROCESSES: dict[str, tuple[Callable[[np.random.Generator, bool], Case], str, tuple[str, ...]]] = {
    "care": (care, "black", ("0.1", "0.3")),
    "records": (records, "b", ("0.1", "0.3")),
    "screening": (screening, "b", ("0.01", "0.03")),
}


def outcomes(process: str, rules: list[str], null: bool, sample: int) -> list[tuple[float, float]]:
    """For each rule, whether it rejected, and for which share of the blocks it had no candidate."""
    warnings.simplefilter("ignore", ImprovableWarning)
    frame, options = PROCESSES[process][0](np.random.default_rng([11, int(null), sample]), null)
    out = []
    for rule in rules:
        result = improvable.audit(
            frame, **options, rule=rule, test=improvable.Test(repetitions=1, draws=500), seed=sample
        )
        blocks = result.to_dict()["repetitions"][0]["rule_notes"]["blocks"]
        without = [block.get("status") == "nothing feasible found" for block in blocks]
        out.append((float(result.reject), sum(without) / len(without)))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--processes", default=",".join(PROCESSES))
    parser.add_argument("--objectives", default="fairest,most_accurate,balanced")
    parser.add_argument("--iotas", default=",".join(IOTAS), help="besides the constants of each process")
    parser.add_argument("--null", action="store_true", help="the level instead of the power")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    n = arguments.samples
    print(f"{n} samples; Monte Carlo error at most {0.5 / n**0.5:.3f}, {(0.05 * 0.95 / n) ** 0.5:.3f} at 5%\n")
    print("| process | objective | iota | rejections | no candidate |\n|---|---|---|---|---|")
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for process in arguments.processes.split(","):
            settings = _settings(process, arguments.objectives.split(","), arguments.iotas.split(","))
            rules = [f"linear_search:{objective}{iota and ':iota=' + iota}" for objective, iota in settings]
            repeated = ([value] * n for value in (process, rules, arguments.null))
            found = np.mean(list(pool.map(outcomes, *repeated, range(n))), axis=0)
            for (objective, iota), (rejections, none) in zip(settings, found, strict=True):
                print(f"| {process} | `{objective}` | {iota} | {rejections:.3f} | {none:.3f} |", flush=True)


def _settings(process: str, objectives: list[str], iotas: list[str]) -> list[tuple[str, str]]:
    _, group, constants = PROCESSES[process]
    out = []
    for objective in objectives:
        named = f"most_accurate:{group}" if objective == "most_accurate" else objective
        out += [(named, iota) for iota in ([""] if objective == "balanced" else [*iotas, *constants])]
    return out


if __name__ == "__main__":
    main()
