"""Every rule runs through the command line, on simulated data and on a real file."""

import json
from pathlib import Path

import polars as pl
import pytest

import improvable
from improvable.algorithms.rules import FAMILIES, as_rule
from improvable.cli import run

# one needs outcomes of 0 and 1, the other fewer rows
NOT_ON_COUNTS = ("logistic", "linear_program")
ON_COUNTS = [
    family.usage for name, family in FAMILIES.items() if name not in NOT_ON_COUNTS
]
ON_RATES = [
    "linear",
    "logistic",
    "boosting",
    "linear_program:fairest",
    "linear_program:most_accurate:Caucasian",
    "tournament:linear,logistic",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data of a simulated care program."""
    place = tmp_path_factory.mktemp("patients")
    improvable.datasets.care_management(1_500, seed=1).with_columns(
        high_cost=(pl.col("cost_t") > pl.col("cost_t").median()).cast(int)
    ).write_csv(place / "patients.csv")
    return place


@pytest.mark.parametrize("rule", ON_COUNTS)
def test_on_the_simulated_program(
    rule: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    command = (
        "audit patients.csv --outcome gagne_sum_t --group race --score risk_score_t "
        "--capacity 0.1 --repetitions 1"
    )
    options = [
        "--features",
        "gagne_sum_tm1,cost_*,dem_*",
        "--draws",
        "200",
        "--json",
        "-",
        "--rule",
        rule,
    ]
    assert run([*command.split(), *options]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rule"] == as_rule(rule).name
    assert facts["repetitions"][0]["share_selected"]["candidate"][
        "train"
    ] == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("rule", ON_RATES)
def test_on_compas(
    rule: str,
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.read_csv(shared_data / "compas.csv")
    (frame.head(240) if "program" in rule else frame).write_csv("compas.csv")
    command = (
        "audit compas.csv --outcome two_year_recid --group race --groups "
        "African-American,Caucasian --repetitions 1"
    )
    options = (
        "--score decile_score --above 4 --accuracy classification_rate --features "
        "age,priors_count --draws 200 --json -"
    )
    assert run([*command.split(), *options.split(), "--rule", rule]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rule"] == rule
    assert facts["groups"] == ["African-American", "Caucasian"]


def test_a_rule_that_needs_the_group_runs_only_when_allowed(
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.read_csv(shared_data / "compas.csv").write_csv("compas.csv")
    command = (
        "audit compas.csv --outcome two_year_recid --group race --groups "
        "African-American,Caucasian --repetitions 1"
    )
    options = (
        "--score decile_score --above 4 --accuracy classification_rate --features "
        "age,priors_count --draws 200 --scheme split"
    )
    words = [
        *command.split(),
        *options.split(),
        "--rule",
        "fairlearn_rules:threshold_optimizer",
    ]
    assert run(words) == 2
    assert "may be disparate treatment" in capsys.readouterr().err
    assert run([*words, "--allow-group", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["group_blind"] is False


@pytest.mark.parametrize("target", ["gagne_sum_t", "high_cost"])
def test_a_tournament_needs_no_names(
    target: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its own contenders take counts and 0/1."""
    monkeypatch.chdir(folder)
    command = (
        "audit patients.csv --outcome gagne_sum_t --group race --score risk_score_t "
        "--capacity 0.1 --repetitions 1"
    )
    options = [
        "--features",
        "gagne_sum_tm1,dem_*",
        "--draws",
        "200",
        "--json",
        "-",
        "--rule",
        "tournament",
    ]
    assert run([*command.split(), *options, "--target", target]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rule"] == "tournament:linear,lasso,boosting,aim"
    assert facts["protocol"]["declared"]["rule"]["name"] == "tournament"
    blocks = facts["repetitions"][0]["rule_notes"]["blocks"]
    assert len(blocks) == len(facts["blocks"]["cuts"]) > 1
    assert all(
        set(block["margins"]) == {"linear", "lasso", "boosting", "aim"}
        for block in blocks
    )
