"""Numbers on real data, beside those of the paper and of an independent calculation."""

import json
from pathlib import Path

import polars as pl
import pytest

import improvable
from flat import flat_compare


@pytest.fixture(scope="module")
def options() -> dict[str, object]:
    return {
        "outcome": "gagne_sum_t",
        "group": "race",
        "status_quo": improvable.threshold("risk_score_t", capacity=0.03),
        "candidate": improvable.threshold("gagne_sum_t_hat", capacity=0.03),
    }


@pytest.mark.paper("Section 6")
@pytest.mark.parametrize("gap", ["absolute", "signed"])
def test_lasso_candidate_on_the_held_out_third(
    shared_data: Path, options: dict[str, object], gap: str
) -> None:
    result = flat_compare(shared_data / "obermeyer_holdout.csv", gap=gap, **options)
    repetition = result.to_dict()["repetitions"][0]
    expected = {"white": (5.194, 7.458), "black": (6.563, 7.493)}
    for group, (now, new) in expected.items():
        assert repetition["accuracy"][group]["status_quo"] == pytest.approx(
            now, abs=6e-4
        )
        assert repetition["accuracy"][group]["candidate"] == pytest.approx(
            new, abs=6e-4
        )
    assert repetition["gap"]["status_quo"] == pytest.approx(1.369, abs=6e-4)
    assert repetition["gap"]["candidate"] == pytest.approx(0.035, abs=6e-4)
    assert repetition["p_accuracy"]["white"] < 0.0001
    assert repetition["p_accuracy"]["black"] == pytest.approx(0.0009, abs=0.0012)
    assert min(result.assessment.p_fairness, result.assessment.p_fairness_other) < 0.001
    assert result.reject


def test_the_report_of_the_held_out_third_states_these_numbers(
    shared_data: Path, options: dict[str, object], tmp_path: Path
) -> None:
    result = flat_compare(
        shared_data / "obermeyer_holdout.csv", gap="absolute", **options
    )
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    for number in ("5.194", "6.563", "1.369", "7.458", "7.493", "0.035", "&lt; 0.0001"):
        assert number in page
    p_black = result.to_dict()["repetitions"][0]["p_accuracy"]["black"]
    assert f"{p_black:.4f}" in page
    assert p_black == pytest.approx(0.0009, abs=0.0012)


@pytest.mark.paper("Figure 7")
def test_accuracy_measured_by_cost_is_not_rejected(
    shared_data: Path, options: dict[str, object]
) -> None:
    result = flat_compare(
        shared_data / "obermeyer_holdout.csv",
        accuracy="calibration:cost_t",
        fairness="calibration",
        **options,
    )
    assert result.counts["p_plain"] == pytest.approx(0.999, abs=0.002)
    assert result.p_value > 0.9  # costs are skewed, and draws assume one more
    assert not result.reject


def test_an_audit_of_the_held_out_third_on_its_scores(shared_data: Path) -> None:
    result = improvable.audit(
        shared_data / "obermeyer_holdout.csv",
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.03),
        rule="linear",
        features=["*_hat", "*_nocost", "weighted_*"],
        test=improvable.Test(draws=2_000),
    )
    means = {
        g: sum(s["accuracy"][g]["candidate"] for s in result.to_dict()["repetitions"])
        / 7
        for g in result.groups
    }
    assert means["white"] == pytest.approx(7.3, abs=0.4)
    assert means["black"] == pytest.approx(7.5, abs=0.6)


@pytest.mark.parametrize(
    "accuracy",
    ["classification_rate", "true_positive_rate", "positive_predictive_value"],
)
def test_compas_runs_with_three_utilities(shared_data: Path, accuracy: str) -> None:
    frame = pl.read_csv(shared_data / "compas.csv").filter(
        pl.col("race").is_in(["African-American", "Caucasian"])
    )
    result = improvable.audit(
        frame,
        outcome="two_year_recid",
        group="race",
        status_quo=improvable.threshold("decile_score", above=4),
        rule="logistic",
        accuracy=accuracy,
        fairness="false_positive_rate",
        test=improvable.Test(repetitions=3, draws=1_000),
    )
    assert result.groups == ("African-American", "Caucasian")
    facts = json.loads(json.dumps(result.to_dict()))
    assert 0 <= facts["p_value"] <= 1
    assert facts["disparity"]["gap"] > 0.15
