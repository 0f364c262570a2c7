"""A p-value of none of the draws never prints as zero, and every look at the data
leaves a line.
"""

import csv
import json
from pathlib import Path

import pytest

import improvable
from improvable.cli import run

QUESTION = ["--outcome", "gagne_sum_t", "--group", "race"]
SCORES = [
    "--status-quo-score",
    "risk_score_t",
    "--candidate-score",
    "gagne_sum_tm1",
    "--capacity",
    "0.1",
    "--ties",
    "strict",
]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    improvable.datasets.care_management(12_000, seed=1).write_csv(
        tmp_path / "people.csv"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_ledger_and_the_table_print_no_zero(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(
            [
                "compare",
                "people.csv",
                *QUESTION,
                *SCORES,
                "--draws",
                "500",
                "--table",
                "table.csv",
            ]
        )
        == 0
    )
    assert run(["ledger", "people.csv"]) == 0
    listed = capsys.readouterr().out
    assert "p < 0.002, rejected" in listed
    assert "p = 0.0000" not in listed
    (line,) = [
        fact
        for fact in map(
            json.loads, (people / "people.csv.ledger").read_text().splitlines()
        )
        if "verdict" in fact
    ]
    assert (line["p_value"], line["draws"]) == (0.0, 500), (
        "the line keeps the number itself"
    )
    with (people / "table.csv").open(newline="") as file:
        printed = [
            row[name]
            for row in csv.DictReader(file)
            for name in ("p_value", "p_other", "p_repetition")
        ]
    assert "< 0.002" in printed
    assert "0.0" not in printed


def test_a_plan_leaves_a_line(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pilot = [
        "power",
        "people.csv",
        *QUESTION,
        "--score",
        "risk_score_t",
        "--capacity",
        "0.1",
        "--rule",
        "linear",
    ]
    assert (
        run(
            [
                *pilot,
                "--features",
                "gagne_sum_tm1",
                "--fits",
                "4",
                "--simulations",
                "100",
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 0
    listed = capsys.readouterr().out
    assert "power  planned" in listed
    assert "1 plan made on them" in " ".join(listed.split())


def test_a_ledger_is_read_as_its_first_run_read_the_data(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (people / "odd.csv").write_text(
        (people / "people.csv").read_text().replace(",", "^")
    )
    assert (
        run(
            [
                "compare",
                "odd.csv",
                *QUESTION,
                *SCORES,
                "--draws",
                "200",
                "--separator",
                "^",
            ]
        )
        == 0
    )
    assert run(["ledger", "odd.csv"]) == 0
    assert "is intact" in capsys.readouterr().out


def test_profit_is_explained_where_it_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in ("audit", "compare"):
        run([command, "--help"])
        assert "the most that a person would pay" in " ".join(
            capsys.readouterr().out.split()
        )
