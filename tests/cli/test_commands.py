"""The commands as a user runs them: what goes to which stream, JSON, exit status,
help.
"""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main

import improvable
from flat import flat_audit
from improvable.cli import app, run
from improvable.data.frame import read_rows

AUDIT = (
    "audit patients.csv --outcome gagne_sum_t --group race --score risk_score_t "
    "--capacity 0.1 --rule linear"
)
QUICK = "--features gagne_sum_tm1,cost_*_tm1 --repetitions 3 --draws 300"
COMPARE = (
    "compare patients.csv --outcome gagne_sum_t --group race --status-quo-score "
    "risk_score_t --candidate-score gagne_sum_tm1 --capacity 0.1 --draws 300"
)


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    improvable.datasets.care_management(3_000, seed=2).write_csv(
        tmp_path / "patients.csv"
    )
    return tmp_path


@pytest.mark.parametrize("command", [f"{AUDIT} {QUICK}", COMPARE])
def test_json_to_standard_output_is_only_json(
    command: str, patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.split(), "--json", "-"]) == 0
    facts = json.loads(capsys.readouterr().out)
    top = {"p_value", "reject", "alpha", "groups", "repetitions", "warnings", "version"}
    assert top <= facts.keys()
    repetition = {
        "p_value",
        "p_accuracy",
        "p_fairness",
        "p_fairness_other",
        "accuracy",
        "gap",
        "selected",
        "rows",
    }
    for one in facts["repetitions"]:
        assert repetition <= one.keys()
        assert one["p_accuracy"].keys() == set(facts["groups"]) == {"black", "white"}
        assert (
            one["accuracy"]["black"].keys()
            == one["gap"].keys()
            == {"status_quo", "candidate"}
        )
        assert one["p_value"] == max(*one["p_accuracy"].values(), one["p_fairness"])


def test_json_to_a_file_leaves_the_summary_on_standard_output(
    patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*COMPARE.split(), "--json", "out.json"]) == 0
    out = capsys.readouterr().out
    facts = json.loads((patients / "out.json").read_text())
    assert "REJECTED at level 0.05" in out
    assert facts["p_value_text"] in out
    assert sorted(p.name for p in patients.iterdir()) == [
        "out.json",
        "patients.csv",
        "patients.csv.ledger",
    ]


@pytest.mark.parametrize("options", [{}, {"scheme": "split", "train_fraction": 0.4}])
def test_the_command_line_and_the_library_agree(
    options: dict[str, Any], patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        word
        for name, value in options.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    words += [
        "--delta-accuracy",
        "black:0.01,white:0",
        "--gap",
        "absolute",
        "--json",
        "-",
    ]
    assert run([*AUDIT.split(), *QUICK.split(), *words]) == 0
    result = flat_audit(
        "patients.csv",
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear",
        features=["gagne_sum_tm1", "cost_*_tm1"],
        repetitions=3,
        draws=300,
        delta_accuracy={"black": 0.01, "white": 0.0},
        gap="absolute",
        **options,
    )
    assert json.loads(capsys.readouterr().out) == json.loads(
        json.dumps(result.to_dict())
    )


@pytest.mark.parametrize("rule", ["lasso", "aim", "tournament:linear,ridge:1"])
def test_the_rules_choice_on_all_rows_can_be_exported(
    patients: Path, capsys: pytest.CaptureFixture[str], rule: str
) -> None:
    command = [
        *AUDIT.split(),
        *QUICK.split(),
        "--rule",
        rule,
        "--repetitions",
        "1",
        "--export",
        "choice.skops",
    ]
    assert run(command) == 0
    capsys.readouterr()
    algorithm = improvable.import_algorithm("choice.skops")
    people = read_rows("patients.csv")
    assert algorithm.decide(people).mean() == pytest.approx(0.1, abs=0.01)


def test_exit_code_tells_the_verdict_only_when_asked(
    patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--form", "difference", "--delta-fairness", "-3", "--delta-accuracy"]
    assert run([*COMPARE.split(), *sizes, "-3", "--exit-code"]) == 1
    assert run([*COMPARE.split(), *sizes, "-3"]) == 0
    assert run([*COMPARE.split(), *sizes, "3", "--exit-code"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    "command", list(getattr(typer.main.get_command(app), "commands", {}))
)
def test_help_has_a_worked_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example" in out
    assert f"improvable {command} " in out


def test_the_example_in_the_help_of_audit_runs_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run(["audit", "--help"])
    lines = capsys.readouterr().out.replace("\\\n", " ").splitlines()
    commands = [
        shlex.split(line)[1:]
        for line in lines
        if line.strip().startswith("improvable ")
    ]
    assert len(commands) == 8
    for command in commands:
        assert run([word.strip("'") for word in command]) == 0
        if "--write" in command:  # fewer rows, so that the rest takes less time
            pl.read_csv("patients.csv").head(2_000).write_csv("patients.csv")
            shutil.copy("patients.csv", "rescored.csv")
    assert "REJECTED" in capsys.readouterr().out


def in_a_process(command: str) -> str:
    """What a command prints in a process of its own, where it prints nothing to
    standard error.
    """
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from improvable.cli import main; main(sys.argv[1:])",
            *command.split(),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_simulated_demo_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--quick", "--simulated"]) == 0
    told, errors = capsys.readouterr()
    assert errors == ""
    assert told.startswith("SIMULATED")
    assert "status quo" in told
    assert "improvable audit patients.csv" in told


def test_the_demo_tells_both_audits_and_its_next_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    told, _, following = in_a_process("demo --quick").partition("\nNext, ")
    assert told.startswith("REAL")
    assert "status quo" in told
    assert "improvable audit screening.csv" in following
    assert "REJECTED at level 0.05" in told
    breath = " ".join(told.partition("In short: ")[2].split())
    assert "p = 0.00" in breath
    assert "an improvement is shown (p = 0.00" in breath
    assert "Without the diagnosed (15,202 people, 465 cases)" in breath
    assert "it is not shown (p = " in breath
    commands = [
        shlex.split(line)
        for line in following.replace("\\\n", " ").splitlines()
        if "  improvable " in line
    ]
    assert len(commands) == 3
    for words in commands:
        assert (
            run([*words[1:], *(["--draws", "2000"] if words[1] == "audit" else [])])
            == 0
        )
    printed = " ".join(capsys.readouterr().out.split())
    verdict = " ".join(told.partition("Shown: ")[2].partition("\n\n")[0].split())
    assert verdict in printed, "the command on the file is the audit of the demo"
    assert (tmp_path / "screening.html").exists()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"improvable {improvable.__version__}\n"
