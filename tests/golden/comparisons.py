"""Golden comparisons: every utility, every claim, and the odd candidates.

An entry is a name, rows, and the arguments of `improvable.compare` that differ from
those of the base, such as `LOANS`. A new one is a call of `add`.
"""

from functools import partial
from typing import Any

import polars as pl

import improvable
from golden.audits import DESIGN, PROBABLE, MakeSnapshot, ReadRows
from golden.room import Room
from golden.samples import MEASURES, declined_loans, loans, visits, worded_loans
from golden.snapshots import Snapshot, snapshot_result
from improvable import Claim, Groups, Read, Test

FEW = Test(draws=500)
LOANS: dict[str, Any] = {
    "outcome": "repaid",
    "group": "sex",
    "status_quo": "approved",
    "candidate": "instead",
    "test": FEW,
}
VISITS: dict[str, Any] = {
    "outcome": "visits",
    "group": "group",
    "status_quo": improvable.threshold("score", capacity=0.3),
    "candidate": improvable.threshold("signal", capacity=0.3),
    "test": FEW,
}
COMPARISONS: dict[str, MakeSnapshot] = {}


def run_comparison(rows: ReadRows, settings: dict[str, Any], room: Room) -> Snapshot:
    frame = room.arrange(rows())
    result = improvable.compare(frame, n_jobs=room.workers, **settings)
    return snapshot_result(result)


def add(name: str, rows: ReadRows, base: dict[str, Any], **changes: Any) -> None:
    COMPARISONS[name] = partial(run_comparison, rows, base | changes)


def add_loans(name: str, **changes: Any) -> None:
    add(name, loans, LOANS, **changes)


def add_visits(name: str, **changes: Any) -> None:
    add(name, visits, VISITS, **changes)


# Every utility, for accuracy where higher is better ---------------------------------

for utility in (
    *("classification_rate", "calibration", "true_positive_rate"),
    *("true_negative_rate", "positive_predictive_value", "selection_rate", "lift"),
):
    add_loans(f"fixed candidate, {utility}", accuracy=utility)
for utility in (
    *("false_positive_rate", "false_negative_rate", "calibration_rejected"),
    "adverse_impact_ratio",
):
    add_loans(
        f"fixed candidate, gap in {utility}",
        accuracy="classification_rate",
        fairness=utility,
    )
add_visits("fixed candidate, counts")
add_visits("fixed candidate, amounts", accuracy="calibration:cost")
add_visits(
    "fixed candidate, amounts in a range",
    outcome="cost",
    read=Read(outcome_range=(0, 2_000)),
)
add_visits(
    "fixed candidate, prices",
    outcome="cost",
    status_quo="price_now",
    candidate="price_instead",
    accuracy="profit",
)
add_loans(
    "fixed candidate, formula",
    accuracy="classification_rate",
    fairness=MEASURES["odds of being selected"],
)

# Every claim ------------------------------------------------------------------------

CLAIMS = {
    "larger gain": Claim(delta_accuracy=0.1, delta_fairness=0.5),
    "gain by group": Claim(delta_accuracy={"men": 0.0, "women": 0.1}),
    "no worse": Claim(delta_accuracy=-0.1),
    "differences": Claim(form="difference", delta_accuracy=0.05, delta_fairness=0.01),
    "absolute gap": Claim(gap="absolute", delta_fairness=0.3),
    "women protected": Claim(protected="women"),
    "everyone's accuracy": Claim(overall="population"),
    "weighed accuracy": Claim(overall={"men": 0.5, "women": 0.5}),
    "accuracy alone": Claim(ask="accuracy"),
    "fairness alone, a burden": Claim(ask="fairness", selection="burden"),
}
for claim_name, claim in CLAIMS.items():
    add_loans(
        f"fixed candidate, {claim_name}", accuracy="classification_rate", claim=claim
    )

# Rows and groups --------------------------------------------------------------------

RATE: dict[str, Any] = {"accuracy": "classification_rate"}
add_loans("fixed candidate, survey", **RATE, **DESIGN)
add_loans("fixed candidate, normal limit", **RATE, test=Test(draws=500, method="delta"))
add_loans("fixed candidate, two group columns", **RATE, group=["sex", "city"])
add_visits("fixed candidate, eight groups", group="district", accuracy="selection_rate")
add_visits("fixed candidate, few clusters", cluster="clinic", weight="weight")
add_loans(
    "fixed candidate, probable groups", **RATE, group=Groups(probabilities=PROBABLE)
)
add(
    "fixed candidate, unknown outcomes",
    rows=declined_loans,
    base=LOANS,
    read=Read(unknown_outcomes=1),
)
add(
    "fixed candidate, words",
    rows=worded_loans,
    base=LOANS,
    **RATE,
    read=Read(
        positive={"repaid": "paid", "approved": "approved"},
        na="n/a",
        strip=True,
        drop_missing=True,
    ),
)

# Rows that outweigh others ----------------------------------------------------------


def loans_with_extremes() -> pl.DataFrame:
    """A loan with nearly all the weight of women, a large cluster, rare defaults."""
    number = pl.int_range(pl.len())
    heaviest = number == loans()["sex"].to_list().index("women")
    return loans().with_columns(
        heavy=pl.when(heaviest).then(8_000).otherwise("weight"),
        branch=pl.when(number < 200).then(0).otherwise(number // 3),
        default=((pl.col("repaid") == 0) & (number % 20 == 0)).cast(pl.Int64),
        stake=(pl.col("debt").abs() * 10).exp().clip(upper_bound=1e8).round(0),
    )


def add_extreme(name: str, **changes: Any) -> None:
    add(name, loans_with_extremes, LOANS, **changes)


add_extreme("fixed candidate, one heavy row", **RATE, weight="heavy")
add_extreme("fixed candidate, one large cluster", **RATE, cluster="branch")
add_extreme(
    "fixed candidate, rare events",
    outcome="default",
    claim=Claim(selection="burden"),
    read=Read(direction="as stated"),
)
add_extreme("fixed candidate, long tails", outcome="stake")

# Ties and odd candidates ------------------------------------------------------------


def loans_with_odd_candidates() -> pl.DataFrame:
    rows = pl.int_range(pl.len())
    return loans().with_columns(
        nobody=pl.lit(0),
        everybody=pl.lit(1),
        nearly=pl.when(rows % 60 == 0)
        .then(1 - pl.col("approved"))
        .otherwise("approved"),
    )


add_loans(
    "tied score beside tied score",
    **RATE,
    status_quo=improvable.threshold("rating", capacity=0.3),
    candidate=improvable.threshold("income_band", capacity=0.3),
)


add_loans("the status quo beside itself", **RATE, candidate="approved")


def add_odd(name: str, **changes: Any) -> None:
    add(name, loans_with_odd_candidates, LOANS, **changes)


add_odd("a candidate that selects nobody", candidate="nobody")
add_odd("a candidate that selects everybody", candidate="everybody", **RATE)
add_odd("a candidate that changes few decisions", candidate="nearly", **RATE)
