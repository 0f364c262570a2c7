"""The ledger: what it counts, and how a changed one is found, named and left as it is."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import improvable
from improvable.cli import run
from improvable.data.fingerprint import fingerprint
from improvable.data.frames import read_rows
from improvable.trust.ledger import ledger_path, read_ledger, record, runs_words
from protocol_room import OPTIONS, flip, said


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [lines[0], lines[1].replace("rejected", "REJECTED"), *lines[2:]], "line 2 of"),
        (lambda lines: [lines[0], *lines[2:]], "a line is missing before line 2"),
        (lambda lines: lines[1:], "a line is missing before line 1"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "a line is missing before line 1"),
        (lambda lines: [*lines, "{}"], "line 5 of 'people.csv.ledger' is not a ledger line"),
    ],
)
def test_a_changed_ledger_is_found_named_and_never_overwritten(
    change: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in ("1", "2"):
        assert run(["audit", "people.csv", *OPTIONS, "--seed", seed]) == 0
    ledger = ledger_path("people.csv")
    ledger.write_text("\n".join(change(ledger.read_text().splitlines())) + "\n")  # type: ignore[operator]
    broken = ledger.read_bytes()
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 2
    assert words in said(capsys)
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 2
    assert words in said(capsys)
    assert ledger.read_bytes() == broken
    assert run(["audit", "people.csv", *OPTIONS, "--ledger", "other.ledger"]) == 0


@pytest.mark.usefixtures("room")
def test_a_line_cut_off_at_the_end_is_found_by_its_hash_and_by_verify(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    found = re.search(r"\(hash ([0-9a-f]{16})", said(capsys))
    assert found is not None
    assert run(["ledger", "people.csv", "--entry", found[1]]) == 0
    ledger = ledger_path("people.csv")
    ledger.write_text(ledger.read_text().splitlines()[0] + "\n")
    assert run(["ledger", "people.csv"]) == 0, "the chain itself is whole"
    capsys.readouterr()
    assert run(["ledger", "people.csv", "--entry", found[1]]) == 2
    assert "one was removed" in said(capsys)
    assert run(["verify", "run", "--data", "people.csv"]) == 1
    assert "no line of people.csv.ledger records this result" in said(capsys)


@pytest.mark.usefixtures("room")
def test_the_ledger_counts_runs_that_were_begun(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    assert run(["audit", "people.csv", *OPTIONS, "--rule", "nonsense"]) == 2, "a typo is not a run"
    data = fingerprint(read_rows("people.csv"))
    record("people.csv.ledger", data, "begun", {"kind": "audit"})
    compare = "--outcome gagne_sum_t --group race --status-quo-score risk_score_t --candidate-score gagne_sum_tm1"
    assert run(["compare", "people.csv", *compare.split(), "--capacity", "0.1", "--draws", "300"]) == 0
    lines = read_ledger("people.csv.ledger")
    assert [line.event for line in lines] == ["begun", "finished", "begun", "begun", "finished"]
    assert runs_words(lines).startswith("3 runs begun on these data, 2 finished (")
    capsys.readouterr()
    assert run(["ledger", "people.csv", "--json", "-"]) == 0
    assert [line["line"] for line in json.loads(capsys.readouterr().out)] == [1, 2, 3, 4, 5]


@pytest.mark.usefixtures("room")
def test_a_ledger_of_other_data_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    flip("other.csv", "gagne_sum_t")
    ledger_path("people.csv").rename(ledger_path("other.csv"))
    before = ledger_path("other.csv").read_bytes()
    capsys.readouterr()
    for command in (["audit", "other.csv", *OPTIONS], ["ledger", "other.csv"]):
        assert run(command) == 2
        assert "belongs to other data" in said(capsys)
    assert ledger_path("other.csv").read_bytes() == before


@pytest.mark.usefixtures("room")
def test_a_ledger_without_its_last_newline_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    ledger = ledger_path("people.csv")
    ledger.write_bytes(ledger.read_bytes().rstrip(b"\n"))
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    assert len(read_ledger(ledger)) == 4


@pytest.mark.usefixtures("room")
def test_a_run_begun_elsewhere_is_recorded_as_resumed() -> None:
    improvable.audit(
        "people.csv", outcome="gagne_sum_t", group=["race"], rule="linear", features=["gagne_sum_tm1", "dem_female"],
        status_quo=improvable.threshold("risk_score_t", capacity=0.1), repetitions=3, draws=300, run_folder="run",
    )  # fmt: skip
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0, "shown again, and not recorded again"
    lines = read_ledger(ledger_path("people.csv"))
    assert [(line.event, line.facts.get("resumed")) for line in lines] == [("begun", True), ("finished", None)]
    assert runs_words(lines).startswith("1 run begun on these data, 1 finished")


def test_runs_that_write_at_once_take_turns_and_leave_no_lock_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("improvable.trust.ledger.check_belongs", lambda *_: time.sleep(0.002))  # read, pause, write
    ledger = tmp_path / "people.csv.ledger"
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda number: record(ledger, "data", "begun", {"run": number}), range(24)))
    lines = read_ledger(ledger)
    assert sorted(line.facts["run"] for line in lines) == list(range(24))
    assert {line.hash for line in lines} == {line.hash for line in written}
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv.ledger"]
