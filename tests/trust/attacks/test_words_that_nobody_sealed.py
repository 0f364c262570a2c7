"""What stands on a report beside its numbers is changed: whose system it is, who ran
it, that the data are simulated.

Organization, system, author, date, labels and the mark SIMULATED DATA are part of the
protocol, its digest and its seal. The number of runs, the command and the name of the
data are compared with the ledger. Package versions are sealed: a run with others is
refused, since boosting, for one, finds other candidates with them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from improvable.cli import run
from improvable.question.protocol import digest_of
from improvable.report.html import html_page
from improvable.results import storage
from improvable.results.audit import load
from improvable.results.storage import Provenance, read_provenance, write_provenance
from improvable.trust.seal import read_protocol, read_seal
from protocol_room import OPTIONS, said

VERIFY = ["--data", "people.csv", "--seal", "care.seal"]


@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize(
    "words",
    [
        {"organization": "A"},
        {"system": "B"},
        {"author": "C"},
        {"date": "May 1"},
        {"simulated": True},
    ],
    ids=lambda words: next(iter(words)),
)
def test_the_words_of_a_report_are_sealed(
    words: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    protocol = read_protocol("care.toml")
    assert digest_of(protocol) != digest_of(protocol | {"report": words})
    line = f"{next(iter(words))} = {json.dumps(next(iter(words.values())))}"
    text = Path("care.toml").read_text()
    Path("care.toml").write_text(text.replace("[report]\n", f"[report]\n{line}\n"))
    capsys.readouterr()
    assert run(["audit", "care.toml", "--data", "people.csv"]) == 2
    assert "the protocol is not the one that was sealed" in said(capsys)


@pytest.mark.usefixtures("room")
def test_a_mark_that_is_taken_off_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    Path("care.toml").unlink()
    assert (
        run(["init", "care.toml", "--data", "people.csv", *OPTIONS, "--simulated"]) == 0
    )
    assert (
        run(
            [
                "seal",
                "care.toml",
                "--data",
                "people.csv",
                "--challenge",
                "9f2c41d07be35a68",
            ]
        )
        == 0
    )
    assert (
        run(
            [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--out",
                "run",
                "--json",
                "result.json",
            ]
        )
        == 0
    )
    facts = json.loads(Path("result.json").read_text())
    del facts["about"]["simulated"]
    del facts["protocol"]["declared"]["report"]
    facts["protocol"]["digest"] = digest_of(facts["protocol"]["declared"])
    Path("result.json").write_text(json.dumps(facts))
    capsys.readouterr()
    assert run(["verify", "result.json", *VERIFY]) == 1
    assert "it does not have the result's protocol" in said(capsys)


@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize(
    "change",
    [
        lambda made: Provenance(
            made.command, made.runs.replace("1 run begun", "0 runs begun"), made.data
        ),
        lambda made: Provenance(
            made.command, made.runs.replace("(hash ", "(hash 0"), made.data
        ),
        lambda made: Provenance(
            made.command, made.runs.replace(" (hash", ", after none (hash"), made.data
        ),
        lambda made: Provenance(made.command, "The only run.", made.data),
        lambda made: Provenance("improvable audit everyone.csv", made.runs, made.data),
        lambda made: Provenance(made.command, made.runs, "everyone.csv"),
    ],
    ids=["runs", "another line", "words in front", "other words", "command", "data"],
)
def test_runs_command_and_data_are_compared_with_the_ledger(
    change: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made = read_provenance(Path("run"))
    assert made is not None
    forged = change(made)
    Path("report.html").write_text(
        html_page(load("run"), **vars(forged)), encoding="utf-8"
    )
    write_provenance(Path("run"), forged)
    for result in ("report.html", "run"):
        capsys.readouterr()
        assert run(["verify", result, *VERIFY]) == 1
        assert "and the ledger says '" in said(capsys)


@pytest.mark.usefixtures("sealed")
def test_a_page_without_its_ledger_is_not_verified(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = read_provenance(Path("run"))
    assert made is not None
    Path("report.html").write_text(
        html_page(load("run"), **vars(made)), encoding="utf-8"
    )
    Path("people.csv.ledger").rename("elsewhere.gone")
    capsys.readouterr()
    assert run(["verify", "report.html", *VERIFY]) == 1
    assert "names a line of a ledger that is not here" in said(capsys)


@pytest.mark.usefixtures("sealed")
def test_the_package_versions_are_sealed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = storage.versions()
    assert read_seal("care.seal").versions == {
        name: here[name] for name in storage.PACKAGES
    }
    with monkeypatch.context() as other:
        other.setattr(storage, "_installed", lambda: here | {"scikit-learn": "0.1"})
        capsys.readouterr()
        assert (
            run(["audit", "care.toml", "--data", "people.csv", "--out", "again"]) == 2
        )
        assert (
            f"not those that were sealed: scikit-learn {here['scikit-learn']}, here 0.1"
            in said(capsys)
        )
    facts = json.loads(Path("result.json").read_text())
    facts["versions"]["scikit-learn"] = "0.1"
    Path("result.json").write_text(json.dumps(facts))
    assert run(["verify", "result.json", *VERIFY]) == 1
    assert "it does not have the result's versions" in (shown := said(capsys))
    assert "version scikit-learn 0.1 made the result" in shown
