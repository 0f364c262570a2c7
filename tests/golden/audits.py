"""Golden audits: every rule by both schemes, and every way of reading and asking.

An entry is a name, rows, and the arguments of `improvable.audit` that differ from those
of the base, such as `LOANS`. A new one is a call of `add`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

import improvable
from golden.room import Room
from golden.samples import (
    MEASURES,
    coarse_loans,
    declined_loans,
    few_loans,
    loans,
    loans_with_twins,
    visits,
    worded_loans,
)
from golden.snapshots import Snapshot, snapshot_result
from improvable import About, Claim, Constraints, Groups, Read, Test
from improvable.datasets import DIABETES_SCREENING, diabetes_screening

MakeSnapshot = Callable[[Room], Snapshot]
ReadRows = Callable[[], pl.DataFrame]


def make_test(**changes: Any) -> Test:
    """Two repetitions of few draws, but for what is named."""
    return Test(**{"repetitions": 2, "draws": 300} | changes)


LOANS: dict[str, Any] = {
    "outcome": "repaid",
    "group": "sex",
    "status_quo": "approved",
    "accuracy": "classification_rate",
    "capacity": "same",
    "features": ["income", "debt", "years", "city"],
    "rule": "linear",
    "row_id": "loan",
    "test": make_test(),
}
VISITS: dict[str, Any] = {
    "outcome": "visits",
    "group": "group",
    "status_quo": improvable.threshold("score", capacity=0.3),
    "features": ["signal", "small", "insured", "reading", "region"],
    "rule": "linear",
    "row_id": "person",
    "test": make_test(),
}
PROBABLE = {"men": "p_men", "women": "p_women"}
DESIGN: dict[str, Any] = {
    "weight": "weight",
    "cluster": "household",
    "stratum": "stratum",
}
BY_SPLIT = make_test(scheme="split")
AUDITS: dict[str, MakeSnapshot] = {}


def run_audit(rows: ReadRows, settings: dict[str, Any], room: Room) -> Snapshot:
    frame = rows()
    result = improvable.audit(room.arrange(frame), n_jobs=room.workers, **settings)
    return snapshot_result(result, frame)


def add(name: str, rows: ReadRows, base: dict[str, Any], **changes: Any) -> None:
    AUDITS[name] = partial(run_audit, rows, base | changes)


def add_loans(name: str, **changes: Any) -> None:
    add(name, loans, LOANS, **changes)


def add_visits(name: str, **changes: Any) -> None:
    add(name, visits, VISITS, **changes)


# Every rule by both schemes ---------------------------------------------------------


@dataclass(frozen=True)
class LeastDebt:
    """A rule of somebody's own: it selects the half with the least debt."""

    name: str = "least_debt"

    def select(self, training: improvable.Training, status_quo: Any) -> Any:
        debts = training.sample.rows.numbers("debt")
        cutoff = float(np.median(debts))
        return lambda rows: rows["debt"] < cutoff


BANDS = ("income_band", "debt_band")
RULES: dict[str, dict[str, Any]] = {
    "linear": {"rule": "linear"},
    "lasso": {"rule": "lasso"},
    "ridge": {"rule": "ridge:10"},
    "logistic": {"rule": "logistic"},
    "forest": {"rule": "forest:12"},
    "boosting": {"rule": "boosting"},
    "aim": {"rule": "aim"},
    "aim of boosting": {"rule": "aim:boosting"},
    "blend": {
        "rule": "blend:0.5:linear",
        "status_quo": improvable.threshold("score", capacity=0.5),
        "capacity": None,
    },
    "tournament": {"rule": "tournament:linear,logistic"},
    "estimator": {"rule": LogisticRegression(C=0.5)},
    "trees": {"rule": ExtraTreesClassifier(12, max_depth=4, random_state=0)},
}
PROGRAMS: dict[str, dict[str, Any]] = {
    "linear program": {"rule": "linear_program", "features": BANDS},
    "most accurate linear program": {
        "rule": "linear_program:most_accurate:women",
        "features": BANDS,
    },
}
for scheme in ("forward", "split"):
    test = make_test(scheme=scheme)
    for rule_name, rule_settings in RULES.items():
        add_loans(f"loans, {rule_name}, {scheme}", test=test, **rule_settings)
    for rule_name, rule_settings in PROGRAMS.items():
        name = f"loans, {rule_name}, {scheme}"
        add(name, coarse_loans, LOANS, test=test, **rule_settings)
add_loans("loans, own rule, forward", rule=LeastDebt(), test=make_test(repetitions=7))
add_loans("loans, own rule, split", rule=LeastDebt(), test=BY_SPLIT)

# Rows: weights, clusters, sizes -----------------------------------------------------

add_loans("loans, weights", weight="weight")
add_loans("loans, clusters", cluster="household")
add_loans("loans, survey", **DESIGN)
add_loans("loans, survey, split", **DESIGN, test=BY_SPLIT)
add_visits("visits, few clusters", cluster="clinic", weight="weight")
add_loans("loans, no row id", row_id=None)
add(
    "loans, twins kept together",
    rows=loans_with_twins,
    base=LOANS,
    row_id=None,
    read=Read(duplicates="cluster"),
)
add("loans, small", rows=few_loans, base=LOANS)
add_loans("loans, one repetition", test=make_test(repetitions=1))
add_loans("loans, seven repetitions", test=make_test(repetitions=7, draws=1_000))
add_loans("loans, another seed and level", seed=7, test=make_test(alpha=0.1))
add_loans("loans, few training rows", test=make_test(train_rows=150))
add_visits("visits, normal limit", test=make_test(method="delta"))

# Groups -----------------------------------------------------------------------------

NUMBERS = ["income", "debt", "years"]
SEX_AND_CITY = ["sex", "city"]
add_loans("loans, two group columns", group=SEX_AND_CITY, features=NUMBERS)
add_loans(
    "loans, crossed groups", group=Groups(SEX_AND_CITY, cross=True), features=NUMBERS
)
add_loans(
    "loans, some groups", group=Groups("city", only=["north", "west"]), features=NUMBERS
)
add_visits("visits, eight groups", group="district")
add_loans(
    "loans, a candidate that reads the group",
    features=["income", "debt", "sex"],
    constraints=Constraints(group_blind=False),
)
ASSUMPTIONS: dict[str, dict[str, Any]] = {
    "between": {},
    "group only": {"assume": "group only"},
    "probabilities only": {"assume": "probabilities only"},
    "some known": {"known": "known_sex"},
    "raked": {"rake": {"men": 0.58, "women": 0.42}},
}
for assumption, group_settings in ASSUMPTIONS.items():
    groups = Groups(probabilities=PROBABLE, **group_settings)
    add_loans(f"loans, probable groups, {assumption}", group=groups)
add_loans(
    "loans, probable groups, survey, split",
    group=Groups(probabilities=PROBABLE),
    test=BY_SPLIT,
    **DESIGN,
)

# Outcomes nobody has seen -----------------------------------------------------------

UNSEEN = LOANS | {"accuracy": "calibration", "features": NUMBERS}
SHIFTED = Read(unknown_outcomes=0.1)


def add_unseen(name: str, **changes: Any) -> None:
    add(name, declined_loans, UNSEEN, **changes)


add_unseen("declined loans, ignorable", read=Read(unknown_outcomes=0))
add_unseen("declined loans, shift", read=SHIFTED)
add_unseen("declined loans, shift, split", read=SHIFTED, test=BY_SPLIT)
add_unseen("declined loans, worst case", read=Read(unknown_outcomes=1))
for most_unknown in (0, 0.1):
    add_unseen(
        f"declined loans, at most {most_unknown} unknown",
        read=SHIFTED,
        constraints=Constraints(max_unknown=most_unknown),
    )
add_unseen(
    "declined loans, probable groups",
    read=SHIFTED,
    group=Groups(probabilities=PROBABLE),
)

# Shares, ties and what decides ------------------------------------------------------


def decide_by_income(rows: Any) -> Any:
    return rows["income"] > 0


def fit_status_quo() -> LogisticRegression:
    """A model that was fitted on other loans, and reads less than a candidate may."""
    others = loans(seed=12)
    model = LogisticRegression()
    return model.fit(others.select("income", "years").to_pandas(), others["repaid"])


RATED: dict[str, Any] = {
    "status_quo": improvable.threshold("rating", capacity=0.3),
    "capacity": None,
}
add_loans("loans, free share", capacity=None)
add_loans("loans, share given", capacity=0.3)
add_loans("loans, tied score", **RATED)
add_loans("loans, tied score, split", **RATED, test=BY_SPLIT)
add_loans("loans, tied score and tied candidate", **RATED, features=["income_band"])
add_loans("loans, ties are not selected", **RATED, test=make_test(ties="strict"))
add_loans(
    "loans, score above a line", status_quo=improvable.threshold("score", above=0.2)
)
add_loans("loans, a function decides", status_quo=decide_by_income)
add_loans("loans, a model decides", status_quo=fit_status_quo())
add_visits("visits, the score is a feature", features=["signal", "small", "score"])

# What is measured -------------------------------------------------------------------

add_visits("visits, counts", test=make_test(repetitions=3))
add_visits("visits, counts, aim", rule="aim")
add_visits("visits, amounts", accuracy="calibration:cost")
add_visits("visits, amounts, split", accuracy="calibration:cost", test=BY_SPLIT)
add_visits(
    "visits, amounts in a range",
    outcome="cost",
    read=Read(outcome_range=(0, 2_000)),
)
add_visits(
    "visits, fewer days are better",
    outcome="days",
    claim=Claim(lower_is_better=True, selection="burden"),
    read=Read(direction="as stated"),
)
add_visits("visits, another target", target="cost", fairness="selection_rate")
add_visits("visits, two utilities", accuracy=["calibration", "calibration:cost"])
add_visits(
    "visits, prices",
    outcome="cost",
    status_quo="price_now",
    accuracy="profit",
    capacity=None,
)
add_loans("loans, lift", fairness="lift")
add_loans("loans, formula", fairness=MEASURES["odds of being selected"])
add_loans(
    "loans, own utility", accuracy=MEASURES["net gain"], fairness="selection_rate"
)
add_loans("loans, ratio of selection rates", fairness="adverse_impact_ratio")
add_loans("loans, errors of the repaid", fairness="false_negative_rate")

# What is claimed --------------------------------------------------------------------

add_loans("loans, larger gain", claim=Claim(delta_accuracy=0.05, delta_fairness=0.2))
add_loans("loans, no worse", claim=Claim(delta_accuracy=-0.05), rule="aim")
add_loans("loans, differences", claim=Claim(form="difference", delta_accuracy=0.02))
add_loans("loans, absolute gap, split", claim=Claim(gap="absolute"), test=BY_SPLIT)
add_loans("loans, accuracy alone", claim=Claim(ask="accuracy"))
add_loans("loans, fairness alone", claim=Claim(ask="fairness"))
add_loans("loans, women protected", claim=Claim(protected="women"))
add_loans("loans, everyone's accuracy", claim=Claim(overall="population"))

# What candidates must respect -------------------------------------------------------

add_loans(
    "loans, monotone",
    features=NUMBERS,
    constraints=Constraints(monotone={"debt": "-", "income": "+"}),
)
add_loans(
    "loans, monotone, lasso",
    rule="lasso",
    constraints=Constraints(monotone={"debt": "-", "income": "+"}),
)
add_loans(
    "loans, close selection rates, aim",
    rule="aim",
    constraints=Constraints(selection_gap=0.05),
)
add(
    "loans, close selection rates, linear program",
    rows=coarse_loans,
    base=LOANS,
    constraints=Constraints(selection_gap=0.05),
    **PROGRAMS["linear program"],
)

# How files are written, and whose audit it is ---------------------------------------

WORDS = Read(
    positive={"repaid": "paid", "approved": "approved"},
    na="n/a",
    strip=True,
    drop_missing=True,
)
add("loans in words", rows=worded_loans, base=LOANS, read=WORDS)
add("loans in words, aim", rows=worded_loans, base=LOANS, read=WORDS, rule="aim")


def run_labeled(room: Room) -> Snapshot:
    """A report in the words of its readers."""
    result = improvable.audit(room.arrange(loans()), n_jobs=room.workers, **LOANS)
    about = About(
        organization="General Savings",
        system="the loan score",
        author="An Analyst",
        date="November 2, 2026",
        labels={"sex": "Sex", "repaid": "loan repaid", "debt": "debts"},
        simulated=True,
    )
    return snapshot_result(result, about=about)


AUDITS["loans, a report in readers' words"] = run_labeled


def run_asked_again(room: Room) -> Snapshot:
    """Another question to a finished result, after it was stored and loaded."""
    result = improvable.audit(room.arrange(loans()), n_jobs=room.workers, **LOANS)
    result.save("run")
    return snapshot_result(
        improvable.load("run").with_claim(delta_fairness=0.3, alpha=0.1)
    )


AUDITS["loans, asked again"] = run_asked_again


def run_screening(test: Test, room: Room) -> Snapshot:
    """The real case that ships with the package, as the demo asks it."""
    rows = diabetes_screening()
    settings = DIABETES_SCREENING | {"test": test}
    result = improvable.audit(room.arrange(rows), n_jobs=room.workers, **settings)
    return snapshot_result(result, rows)


AUDITS["screening, forward"] = partial(run_screening, Test())
AUDITS["screening, split"] = partial(run_screening, make_test(scheme="split"))
AUDITS["screening, aim"] = partial(
    run_audit,
    diabetes_screening,
    DIABETES_SCREENING | {"rule": "aim", "test": make_test(draws=1_000)},
)
