"""Plans: sample sizes that suffice, both procedures side by side, and what cannot be planned for."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from assumed import GROUPS, LEARNED, needs
from improvable.errors import DataError, ImprovableError, OptionError
from improvable.question.claim import Claim
from improvable.studies.power import PowerPlan, Tried, power_from_assumptions, power_from_pilot
from improvable.studies.power.assumptions import assume
from improvable.studies.power.pilot import learn
from improvable.studies.power.simulation import Setting, simulate


@pytest.fixture(scope="module")
def plan() -> PowerPlan:
    return power_from_assumptions(GROUPS, rows=1_500, simulations=1_000, tried=Tried(train_fractions=(0.2, 0.5)))


def test_a_sample_size_reaches_the_wanted_power_and_less_does_not(plan: PowerPlan) -> None:
    size = plan.sample_sizes[0]
    assert size.rows is not None
    powers = {
        share: simulate(assume(GROUPS), Setting(round(share * size.rows), 0.5, 7, Claim(), 0.05), 4_000, 1)
        for share in (0.8, 1.0)
    }
    assert powers[1.0].power == pytest.approx(0.8, abs=0.05)
    assert powers[0.8].power < 0.76
    assert any(point.rows == size.rows and point.power >= 0.8 for point in plan.points if point.varied == "rows")


def test_every_number_of_a_plan_has_an_error_and_the_plan_says_what_it_rests_on(plan: PowerPlan) -> None:
    facts = json.loads(json.dumps(plan.to_dict()))
    assert all(point["error"] > 0 and point["low"] is None for point in facts["points"])
    assert {point["varied"] for point in facts["points"]} == {
        "rows",
        "train_fraction",
        "repetitions",
        "delta_accuracy",
        "delta_fairness",
    }
    text = " ".join(plan.summary().split())
    assert "is not evidence" in text
    assert "does not learn" in text
    assert "Assumed for a: 40% of rows" in text
    assert len(plan.table()) == len(plan.points)
    assert plan.plot().to_dict()["title"]["text"].startswith("Probability")


def test_both_procedures_are_planned_side_by_side(plan: PowerPlan) -> None:
    repetition, folds = plan.sample_sizes[0], plan.sample_sizes[-1]
    assert (repetition.folds, folds.folds, folds.train_fraction) == (None, 2, 0.5)
    assert repetition.rows is not None
    assert folds.rows is not None
    assert folds.rows < repetition.rows
    reached = simulate(assume(GROUPS), Setting(folds.rows, 0.5, 7, Claim(), 0.05, 2), 4_000, 1)
    assert reached.power == pytest.approx(0.8, abs=0.04)
    text = " ".join(plan.summary().split())
    assert f"To reach .80 in 2 folds: {folds.rows:,} rows" in text
    assert f"needs {folds.rows / repetition.rows:.0%} of the rows of the paper's split with 50% for training" in text
    assert "Declare the procedure before the audit." in text
    assert plan.asked.folds is None
    drawn = str(plan.plot().to_dict())
    assert "'repetitions, 50% train'" in drawn
    assert "'2 folds'" in drawn


def test_a_plan_for_folds_is_asked_for_like_any_other() -> None:
    plan = power_from_assumptions(GROUPS, rows=700, simulations=500, folds=3, tried=Tried(train_fractions=(0.5,)))
    assert (plan.asked.folds, plan.asked.training_rows, plan.asked.rows) == (3, 466, 700)
    assert [size.folds for size in plan.sample_sizes] == [None, 3]
    assert plan.asked.power == simulate(assume(GROUPS), Setting(700, 0.5, 7, Claim(), 0.05, 3), 500, 0).power
    assert "700 rows, all tested in 3 folds, and the median of 7, the test rejects" in " ".join(plan.summary().split())
    assert plan.to_dict()["folds"] == 3


def test_the_same_seed_gives_the_same_plan() -> None:
    first, second = (
        power_from_pilot(needs(3_000, 1), **LEARNED, rows=6_000, simulations=200, fits=5, sizes=3).to_dict()
        for _ in range(2)
    )
    assert first == second
    assert first["range"][0] <= first["power"] <= first["range"][1]
    assert any("rows other than those to be audited" in text for text in first["warnings"])


def test_clusters_and_several_group_columns_can_be_planned_for() -> None:
    frame = needs(4_000, 2)
    frame = frame.with_columns(
        sex=pl.Series(np.arange(4_000) % 2).cast(pl.String), clinic=pl.Series(np.arange(4_000) // 4)
    )
    options = LEARNED | {"group": ["group", "sex"], "cluster": "clinic"}
    plan = power_from_pilot(frame, **options, simulations=100, fits=4, sizes=2)
    assert plan.groups == ("group=b", "group=w", "sex=0", "sex=1")
    assert 0 <= plan.asked.power <= 1


def test_beyond_the_pilot_the_candidate_stays_as_it_is() -> None:
    outlook, *_ = learn(needs(3_000, 1), 3, 4, LEARNED, 0)
    assert (outlook.at(1e6)[0] == outlook.means[-1]).all()
    assert (outlook.at(1.0)[0] == outlook.means[0]).all()
    assert [outlook.reach(rows) for rows in (1, outlook.sizes[1], 1e6)] == ["below", "studied", "beyond"]


def test_a_pilot_that_is_too_small_is_refused() -> None:
    with pytest.raises(DataError, match=r"too small to plan from: the status quo selects .* rows of group 'b'"):
        power_from_pilot(needs(200, 1), **LEARNED)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"overlap": 1.5}, "overlap of group 'b' is 1.5"),
        ({"overlap": 1.0, "rates": (0.3, 0.2)}, "selects too few"),
        ({"overlap": 1.0, "rates": (0.3, 0.3)}, "the two means differ"),
        ({"rates": (0.0, 0.2)}, "selection rate of group 'b' is 0"),
        ({"rates": (0.9, 0.9), "overlap": 0.1}, "add up to more than everyone"),
        ({"spread": None}, "a mean of"),
        ({"name": "a"}, "at least two groups"),
        ({"share": -1.0}, "share of group 'b' is -1"),
    ],
)
def test_assumptions_that_cannot_be_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        power_from_assumptions([GROUPS[0], replace(GROUPS[1], **change)], rows=1_000)


@pytest.mark.parametrize(
    "options",
    [
        {"rows": 10},
        {"folds": 1},
        {"wanted": 1.0},
        {"repetitions": 0},
        {"train_fraction": 1.0},
        {"delta_accuracy": {"c": 0.1}},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ImprovableError):
        power_from_assumptions(GROUPS, **({"rows": 1_000} | options))


def test_on_the_held_out_third_less_training_is_better(shared_data: Path) -> None:
    """There `linear` on the scores has a median p of about .05 with half of the rows for training, .01 with a fifth."""
    plan = power_from_pilot(
        shared_data / "obermeyer_holdout.csv",
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.03),
        rule="linear",
        features=["*_hat", "*_nocost", "weighted_*"],
        simulations=500,
        fits=15,
        tried=Tried(
            rows=(16_099,), train_fractions=(0.2, 0.5), repetitions=(7,), deltas_accuracy=(0.0,), deltas_fairness=(0.0,)
        ),
    )
    power = {point.train_fraction: point.power for point in plan.points if point.varied == "train_fraction"}
    assert plan.best.train_fraction == 0.2
    assert power[0.2] > power[0.5] + 0.1
    few, half = (size.rows for size in reversed(plan.sample_sizes) if size.folds is None)
    assert few is not None
    assert half is not None
    assert few < half
