"""The simulated care program resembles the published one."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import improvable
from improvable.datasets import CARE_MANAGEMENT_COVARIATES, COVARIATE_FAMILIES, care_management

OPTIONS = {
    "outcome": "gagne_sum_t",
    "group": "race",
    "status_quo": improvable.threshold("risk_score_t", capacity=0.03),
    "rule": "linear",
    "features": CARE_MANAGEMENT_COVARIATES,
    "draws": 2_000,
}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return care_management(48_784, seed=1)


def test_the_published_averages_come_out_within_sampling_error(people: pl.DataFrame) -> None:
    """The standard error of a group's mean over seven splits is about 0.1 for white and 0.2 for black patients."""
    result = improvable.audit(people, n_jobs=2, **OPTIONS)  # type: ignore[arg-type]
    splits = result.to_dict()["splits"]

    def mean(group: str, name: str) -> float:
        return float(np.mean([split["accuracy"][group][name] for split in splits]))

    assert mean("white", "status_quo") == pytest.approx(5.13, abs=0.3)
    assert mean("black", "status_quo") == pytest.approx(6.54, abs=0.6)
    assert mean("white", "candidate") == pytest.approx(7.25, abs=0.3)
    assert mean("black", "candidate") == pytest.approx(7.53, abs=0.6)
    assert result.reject


def test_with_accuracy_measured_by_cost_it_is_not_rejected(people: pl.DataFrame) -> None:
    result = improvable.audit(
        people,
        accuracy="calibration:cost_t",
        fairness="calibration",
        n_jobs=2,
        splits=3,
        **OPTIONS,  # type: ignore[arg-type]
    )
    assert result.p_value > 0.5


def test_columns_are_those_of_the_published_file(shared_data: Path, people: pl.DataFrame) -> None:
    published = json.loads((shared_data / "obermeyer_columns.json").read_text())
    assert people.columns == published["column_order"]
    families = ("demographic", "comorbidity", "cost", "medication", "biomarker_lab")
    assert set(CARE_MANAGEMENT_COVARIATES) == {name for family in families for name in published[family]}
    assert sum(map(len, COVARIATE_FAMILIES.values())) == len(CARE_MANAGEMENT_COVARIATES) == 149
    assert people["race"].value_counts(sort=True)["count"].to_list()[1] / len(people) == pytest.approx(0.114, abs=0.005)


def test_the_same_seed_gives_the_same_people() -> None:
    assert care_management(500, seed=3).equals(care_management(500, seed=3))
    assert not care_management(500, seed=3).equals(care_management(500, seed=4))


@pytest.mark.parametrize("n", [0, -5, 2.5])
def test_a_size_that_is_no_size_is_refused(n: float) -> None:
    with pytest.raises(ValueError, match="n is"):
        care_management(n)  # type: ignore[arg-type]
