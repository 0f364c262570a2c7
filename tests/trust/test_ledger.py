"""The ledger: what it counts, and how a changed one is found, named and left as it
is.
"""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import improvable
from improvable.cli import run
from improvable.data.frame import read_rows
from improvable.data.keys import fingerprint
from improvable.errors import StorageError
from improvable.results import storage
from improvable.trust.ledger import ledger_path, read_ledger, record, runs_words
from protocol_room import OPTIONS, flip, said


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda lines: [
                lines[0],
                lines[1].replace("rejected", "REJECTED"),
                *lines[2:],
            ],
            "line 2 of",
        ),
        (lambda lines: [lines[0], *lines[2:]], "a line is missing before line 2"),
        (lambda lines: lines[1:], "a line is missing before line 1"),
        (
            lambda lines: [lines[1], lines[0], *lines[2:]],
            "a line is missing before line 1",
        ),
        (
            lambda lines: [*lines, "{}"],
            "line 5 of 'people.csv.ledger' is not a ledger line",
        ),
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
def test_a_line_cut_off_at_the_end_is_found_by_its_hash_and_by_verify(
    capsys: pytest.CaptureFixture[str],
) -> None:
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
def test_the_ledger_counts_runs_that_were_begun(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    assert run(["audit", "people.csv", *OPTIONS, "--rule", "nonsense"]) == 2, (
        "a typo is not a run"
    )
    data = fingerprint(read_rows("people.csv"))
    record("people.csv.ledger", data, "begun", {"kind": "audit"})
    compare = (
        "--outcome gagne_sum_t --group race --status-quo-score risk_score_t "
        "--candidate-score gagne_sum_tm1"
    )
    assert (
        run(
            [
                "compare",
                "people.csv",
                *compare.split(),
                "--capacity",
                "0.1",
                "--draws",
                "300",
            ]
        )
        == 0
    )
    lines = read_ledger("people.csv.ledger")
    assert [line.event for line in lines] == [
        "begun",
        "finished",
        "begun",
        "begun",
        "finished",
    ]
    assert runs_words(lines).startswith("3 runs begun on these data, 2 finished (")
    capsys.readouterr()
    assert run(["ledger", "people.csv", "--json", "-"]) == 0
    assert [line["line"] for line in json.loads(capsys.readouterr().out)] == [
        1,
        2,
        3,
        4,
        5,
    ]


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
def test_a_ledger_without_its_last_newline_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    ledger = ledger_path("people.csv")
    ledger.write_bytes(ledger.read_bytes().rstrip(b"\n"))
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    assert len(read_ledger(ledger)) == 4


@pytest.mark.usefixtures("room")
def test_a_run_begun_elsewhere_is_recorded_as_resumed() -> None:
    improvable.audit(
        "people.csv",
        outcome="gagne_sum_t",
        group=["race"],
        rule="linear",
        features=["gagne_sum_tm1", "dem_female"],
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        test=improvable.Test(repetitions=3, draws=300),
        run_folder="run",
    )
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0, (
        "shown again, and not recorded again"
    )
    lines = read_ledger(ledger_path("people.csv"))
    assert [(line.event, line.facts.get("resumed")) for line in lines] == [
        ("begun", True),
        ("finished", None),
    ]
    assert runs_words(lines).startswith("1 run begun on these data, 1 finished")


COMPARE = [
    *(
        "compare",
        "people.csv",
        "--outcome",
        "gagne_sum_t",
        "--group",
        "race",
        "--draws",
        "300",
    ),
    *(
        "--status-quo-score",
        "risk_score_t",
        "--candidate-score",
        "gagne_sum_tm1",
        "--capacity",
        "0.1",
    ),
]


def events() -> list[str]:
    return [line.event for line in read_ledger(ledger_path("people.csv"))]


@pytest.mark.usefixtures("room")
def test_a_run_that_is_refused_leaves_no_line_or_one_that_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The outcome is the wrong way round: an audit finds that before it begins, a
    comparison while it counts.
    """
    assert (
        run(["audit", "people.csv", *OPTIONS, "--lower-is-better", "--out", "run"]) == 2
    )
    assert not ledger_path("people.csv").exists()
    assert not Path("run").exists()
    capsys.readouterr()
    assert run([*COMPARE, "--lower-is-better"]) == 2
    why = "those whom the status quo selects have a higher mean 'gagne_sum_t'"
    assert why in said(capsys)
    assert events() == ["begun", "refused"]
    assert run(["ledger", "people.csv"]) == 0
    shown = said(capsys)
    assert f"compare refused: {why}" in shown
    assert "1 run begun on these data, 0 finished, 1 refused." in shown
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv", "--unsealed"]) == 0
    assert "of 1 finished run on these data (1 more refused), 1 did not reject" in said(
        capsys
    )


@pytest.mark.usefixtures("room")
def test_an_audit_that_is_refused_after_it_began_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    people = pl.read_csv("people.csv").with_columns(
        chosen=1 - pl.int_range(pl.len()).over("race") % 2
    )
    size = min(people["race"].value_counts()["count"].to_list()) // 2 * 2
    people.group_by("race", maintain_order=True).head(size).write_csv("people.csv")
    asked = (
        "--outcome gagne_sum_t --group race --decision chosen --rule linear --features "
        "gagne_sum_tm1"
    )
    asked += " --capacity 0.5 --fairness selection_rate --repetitions 1 --draws 200"
    assert run(["audit", "people.csv", *asked.split()]) == 2
    assert "has no gap at all" in said(capsys)
    begun, refused = read_ledger(ledger_path("people.csv"))
    assert (begun.event, refused.event, refused.facts["run"]) == (
        "begun",
        "refused",
        begun.number,
    )
    assert refused.facts["why"].startswith(
        "the status quo has no gap at all in 'selection_rate'"
    )


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("done", [0, 1])
def test_stop_and_resume_is_one_run(
    done: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether or not a repetition was finished when it was stopped."""
    command = ["audit", "people.csv", *OPTIONS, "--out", "run", "--jobs", "1"]
    write = storage.write_repetition

    def stop(*given: Any) -> None:
        if len(list(Path("run").glob("*.npz"))) == done:
            raise KeyboardInterrupt
        write(*given)

    with monkeypatch.context() as here:
        here.setattr(storage, "write_repetition", stop)
        assert run(command) == 130
    assert len(list(Path("run").glob("*.npz"))) == done
    capsys.readouterr()
    assert run(command) == 0
    assert (
        "1 run begun on these data, 1 finished (1 not rejected); 1 of them was resumed."
        in said(capsys)
    )
    assert events() == ["begun", "resumed", "finished"]
    assert run(["ledger", "people.csv"]) == 0
    assert "audit resumed run of line 1 not sealed, seed 0" in said(capsys)
    assert run([*command[:-4], "--seed", "1"]) == 0
    assert "2 runs begun on these data, 2 finished" in said(capsys), (
        "another run is another run"
    )


@pytest.mark.usefixtures("room")
def test_a_full_disk_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: Any) -> None:
        raise StorageError(
            "cannot write 'run/repetition-001.npz': No space left on device."
        ) from OSError(28, "full")

    with monkeypatch.context() as here:
        here.setattr(storage, "write_repetition", fill)
        assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 2
    assert events() == ["begun"]
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    assert events() == ["begun", "resumed", "finished"]


def test_runs_that_write_at_once_take_turns_and_leave_no_lock_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # read, pause, write
    monkeypatch.setattr(
        "improvable.trust.ledger.check_belongs", lambda *_: time.sleep(0.002)
    )
    ledger = tmp_path / "people.csv.ledger"
    with ThreadPoolExecutor(8) as pool:
        written = list(
            pool.map(
                lambda number: record(ledger, "data", "begun", {"run": number})[-1],
                range(24),
            )
        )
    lines = read_ledger(ledger)
    assert sorted(line.facts["run"] for line in lines) == list(range(24))
    assert {line.hash for line in lines} == {line.hash for line in written}
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv.ledger"]
