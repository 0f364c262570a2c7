"""Results that the tests of reports share: an audit, comparisons of every shape, and
names that try to be code.
"""

from functools import cache
from typing import Any

import numpy as np
import polars as pl

import improvable
from conftest import Case
from flat import flat_audit, flat_compare

EVIL = r"<script>alert(1)</script> 50%_of {A&B} \input{x} #1 ~^ |*x* #let $y$ ]"
ABOUT: dict[str, Any] = {
    "organization": "General Hospital",
    "system": "the care score",
    "author": "A. Analyst",
    "date": "Nov 15, 2026",
    "labels": {
        "gagne_sum_t": "number of active conditions",
        "race": "Race",
        "dem_female": "Woman",
    },
    "simulated": True,
}
SHAPES: list[dict[str, Any]] = [
    {
        "group": ["group", "region"],
        "accuracy": ["calibration", "selection_rate"],
        "gap": "absolute",
    },
    {"group": "region", "fairness": "selection_rate"},
    {"form": "difference", "delta_accuracy": {"a": 0.01, "b": 0.0}},
    {"overall": "population", "protected": "b", "selection": "burden"},
    {"ask": "accuracy", "lower_is_better": True, "direction": "as stated"},
    {"ask": "fairness", "selection": "burden"},
    {"delta_accuracy": -0.02},
    {"candidate": "nobody", "form": "difference"},
    {"candidate": "now"},
]


@cache
def make_audit(**options: Any) -> improvable.Audit:
    people = improvable.datasets.care_management(4_000, seed=1)
    return flat_audit(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear",
        features=["gagne_sum_tm1", "dem_female"],
        draws=500,
        seed=1,
        **{"repetitions": 3} | options,
    )


@cache
def make_labeled() -> improvable.Audit:
    people = improvable.datasets.care_management(4_000, seed=1)
    return flat_audit(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear",
        features=["gagne_sum_tm1", "dem_female"],
        repetitions=3,
        draws=500,
        seed=1,
        **ABOUT,
    )


def compare_case(**options: Any) -> improvable.Comparison:
    frame = (
        Case(seed=3, rows=900)
        .frame()
        .with_columns(
            region=pl.Series(
                np.random.default_rng(0).choice(["north", "south", "west"], 900)
            ),
            nobody=pl.Series(np.zeros(900)),
        )
    )
    asked: dict[str, Any] = {
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
    } | options
    return flat_compare(frame, outcome="count", draws=200, **asked)


@cache
def many_groups(count: int) -> improvable.Comparison:
    """A candidate that is better for every group, and more even, in data with so many
    groups.
    """
    rng = np.random.default_rng(count)
    rows = 900 * count
    group = rng.integers(0, count, rows)
    need = rng.gamma(2.0, 1.0, rows)
    before = need + rng.normal(0, 2.0, rows) + np.linspace(0, 1.5, count)[group]
    frame = pl.DataFrame(
        {
            "need": np.round(need * 2),
            "group": [f"group {chr(65 + g)}" for g in group],
            "now": (before > 3).astype(float),
            "new": (need + rng.normal(0, 0.3, rows) > 3.5).astype(float),
        }
    )
    return improvable.compare(
        frame,
        outcome="need",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=300),
    )


@cache
def make_evil() -> improvable.Comparison:
    frame = Case(seed=3, rows=900).frame().rename({"group": EVIL})
    frame = frame.with_columns(frame[EVIL].replace({"a": EVIL}))
    return flat_compare(
        frame,
        outcome="count",
        group=EVIL,
        status_quo="now",
        candidate="new",
        draws=200,
        organization=EVIL,
        labels={"count": EVIL},
    )


def estimated(
    result: improvable.Audit | improvable.Comparison,
    group: str,
    algorithm: str,
    kind: str = "utility",
) -> Any:
    """What reports print of the first utility that has it: the estimate and its
    interval.
    """
    found: Any = next(
        one
        for one in result.facts["estimates"]
        if (one["kind"], one["group"]) == (kind, group)
    )
    return found[algorithm]


def values_of(chart: Any) -> list[dict[str, Any]]:
    """Every row of data in a chart."""
    found: list[dict[str, Any]] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            found.extend(node["values"] if isinstance(node.get("values"), list) else [])
            for key in node:
                walk(node[key])
        elif isinstance(node, list):
            for one in node:
                walk(one)

    walk(chart.spec)
    return [row for row in found if isinstance(row, dict)]
