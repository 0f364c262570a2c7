"""The simulated care program resembles the published one; the real survey is as it was
published.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.datasets import (
    CARE_MANAGEMENT_COVARIATES,
    DIABETES_SCREENING,
    care_management,
    diabetes_screening,
)
from improvable.datasets.screening import FILE
from make_diabetes_screening import make, read_extract

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


def test_the_published_averages_come_out_within_sampling_error(
    people: pl.DataFrame,
) -> None:
    """The standard error of a group's mean over seven repetitions is about 0.1 for
    white and 0.2 for black patients.
    """
    # as the published ones
    result = flat_audit(people, n_jobs=2, scheme="split", **OPTIONS)
    repetitions = result.to_dict()["repetitions"]

    def mean(group: str, name: str) -> float:
        return float(
            np.mean([repetition["accuracy"][group][name] for repetition in repetitions])
        )

    assert mean("white", "status_quo") == pytest.approx(5.13, abs=0.3)
    assert mean("black", "status_quo") == pytest.approx(6.54, abs=0.6)
    assert mean("white", "candidate") == pytest.approx(7.25, abs=0.3)
    assert mean("black", "candidate") == pytest.approx(7.53, abs=0.6)
    assert result.reject


def test_with_accuracy_measured_by_cost_it_is_not_rejected(
    people: pl.DataFrame,
) -> None:
    result = flat_audit(
        people,
        accuracy="calibration:cost_t",
        fairness="calibration",
        n_jobs=2,
        repetitions=3,
        scheme="split",
        **OPTIONS,
    )
    assert result.p_value > 0.5


def test_columns_are_those_of_the_published_file(
    shared_data: Path, people: pl.DataFrame
) -> None:
    published = json.loads((shared_data / "obermeyer_columns.json").read_text())
    assert people.columns == published["column_order"]
    families = ("demographic", "comorbidity", "cost", "medication", "biomarker_lab")
    assert set(CARE_MANAGEMENT_COVARIATES) == {
        name for family in families for name in published[family]
    }
    assert len(CARE_MANAGEMENT_COVARIATES) == 149
    assert people["race"].value_counts(sort=True)["count"].to_list()[1] / len(
        people
    ) == pytest.approx(0.114, abs=0.005)


def test_the_same_seed_gives_the_same_people() -> None:
    assert care_management(500, seed=3).equals(care_management(500, seed=3))
    assert not care_management(500, seed=3).equals(care_management(500, seed=4))


@pytest.mark.parametrize("n", [0, -5, 2.5])
def test_a_size_that_is_no_size_is_refused(n: float) -> None:
    with pytest.raises(ValueError, match="n is"):
        care_management(n)  # type: ignore[arg-type]


def test_the_survey_is_shipped_as_it_was_extracted(
    shared_data: Path, tmp_path: Path
) -> None:
    extract = read_extract(shared_data / "nhanes_diabetes.csv")
    assert pl.read_parquet(FILE).equals(extract)
    make(shared_data / "nhanes_diabetes.csv", tmp_path / "made.parquet")
    assert pl.read_parquet(tmp_path / "made.parquet").equals(extract)


def test_the_survey_is_small_and_whole() -> None:
    assert FILE.stat().st_size < 500_000
    everyone, people = diabetes_screening(complete=False), diabetes_screening()
    assert (everyone.shape, people.shape) == ((18_427, 22), (17_067, 22))
    assert people.select("stratum", "psu").n_unique() == 121
    assert people["race"].unique().sort().to_list() == [
        "Asian",
        "Black",
        "Hispanic",
        "White",
    ]
    assert people.filter(pl.col("diagnosed") == 0).shape[0] == 15_202


def test_the_guideline_screens_as_an_independent_calculation_says() -> None:
    """Sums by hand: the weighted share screened, and in each group that of people with
    diabetes.
    """
    screened, weight = 0.0, 0.0
    found = {group: [0.0, 0.0] for group in ("Asian", "Black", "Hispanic", "White")}
    for row in diabetes_screening().iter_rows(named=True):
        yes = 35 <= row["age"] <= 70 and row["bmi"] >= 25
        assert row["guideline"] == yes
        assert row["family_history"] == (row["relatives_had_diabetes"] == "Yes")
        assert row["woman"] == (row["sex"] == "Woman")
        screened, weight = screened + row["weight"] * yes, weight + row["weight"]
        if row["diabetes"]:
            found[row["race"]][0] += row["weight"] * yes
            found[row["race"]][1] += row["weight"]
    assert screened / weight == pytest.approx(0.511, abs=5e-4)
    expected = {"Asian": 0.577, "Black": 0.846, "Hispanic": 0.859, "White": 0.893}
    assert {
        group: round(some / every, 3) for group, (some, every) in found.items()
    } == expected


def test_detection_rises_in_all_groups_and_is_not_shown_for_the_undiagnosed() -> None:
    """An independent trial found .848, .905, .909 and .929, and .753, .873, .928 and
    .936 without the diagnosed.
    """
    everybody = diabetes_screening()
    expected = {
        "everybody": {
            "Asian": 0.848,
            "Black": 0.905,
            "Hispanic": 0.909,
            "White": 0.929,
        },
        "undiagnosed": {
            "Asian": 0.753,
            "Black": 0.873,
            "Hispanic": 0.928,
            "White": 0.936,
        },
    }
    frames = {
        "everybody": everybody,
        "undiagnosed": everybody.filter(pl.col("diagnosed") == 0),
    }
    for name, people in frames.items():
        result = flat_audit(people, **DIABETES_SCREENING, draws=2_000)
        repetitions = result.to_dict()["repetitions"]
        for group, share in expected[name].items():
            found = np.mean(
                [
                    repetition["accuracy"][group]["candidate"]
                    for repetition in repetitions
                ]
            )
            before = np.mean(
                [
                    repetition["accuracy"][group]["status_quo"]
                    for repetition in repetitions
                ]
            )
            assert found == pytest.approx(share, abs=0.03)
            assert (found > before) == ((name, group) != ("undiagnosed", "Black"))
        assert np.mean([s["gap"]["candidate"] for s in repetitions]) < np.mean(
            [s["gap"]["status_quo"] for s in repetitions]
        )
        assert result.reject == (name == "everybody")
        assert (result.p_value < 0.016) if result.reject else (result.p_value > 0.2)
