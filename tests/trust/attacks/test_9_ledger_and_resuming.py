"""Attack 9: runs that leave no line, lines that say two things, clocks turned back,
repetitions forged before a resume.

A line is written before anything is tested, by verifications, plans and every engine
too. A torn last line is repaired, and said; a key said twice is refused; where time
goes backward, nothing is verified. Each repetition carries a digest chained to its run,
so that forged repetitions, and those of another run, are found at the resume.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from improvable.cli import run
from improvable.data.io import safe
from improvable.procedure import compare as comparing
from improvable.procedure import run as running
from improvable.trust import ledger
from improvable.trust.ledger import ledger_path, read_ledger
from protocol_room import OPTIONS, said

AUDIT = ["audit", "people.csv", *OPTIONS]
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
def test_a_run_that_is_stopped_at_once_has_left_its_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is computed and nothing is written before the ledger has its line."""

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    for place, name in ((safe, "make_folder"), (running, "_against_itself")):
        with monkeypatch.context() as here:
            here.setattr(place, name, stop)
            assert run([*AUDIT, "--out", f"run-{name}"]) == 130
    assert events() == ["begun", "begun"]
    assert not Path("run-make_folder").exists()
    with monkeypatch.context() as here:
        here.setattr(comparing, "survey", stop)
        assert run(COMPARE) == 130
    assert events() == ["begun"] * 3


@pytest.mark.usefixtures("room")
def test_verifications_plans_and_runs_through_engines_are_recorded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*AUDIT, "--out", "run"]) == 0
    assert run(["verify", "run", "--data", "people.csv", "--unsealed"]) == 0
    people = pl.read_csv("people.csv")
    Path("pieces").mkdir()
    people.with_row_index("person").write_parquet("pieces/1.parquet")
    assert (
        run(["audit", "pieces", *OPTIONS, "--engine", "arrow", "--row-id", "person"])
        == 0
    )
    assert [line.event for line in read_ledger("pieces.ledger")] == [
        "begun",
        "finished",
    ]
    assert events() == ["begun", "finished", "verified"]
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 0
    assert "verify verified same numbers, no seal" in said(capsys)


@pytest.mark.usefixtures("room")
def test_a_torn_last_line_is_repaired_and_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*AUDIT, "--out", "run"]) == 0
    place = ledger_path("people.csv")
    whole = place.read_bytes()
    place.write_bytes(whole + whole.splitlines()[0][:57])
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 0
    assert "The last line is torn after 57 bytes" in said(capsys)
    assert run([*AUDIT, "--seed", "1"]) == 0
    assert "Line 3 repairs a line that was torn after 57 bytes" in said(capsys)
    assert events() == ["begun", "finished", "repaired", "begun", "finished"]
    assert place.read_bytes().startswith(whole)
    assert read_ledger(place)[2].facts["torn"] == whole.splitlines()[0][:57].decode()


@pytest.mark.usefixtures("room")
def test_a_key_said_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(AUDIT) == 0
    place = ledger_path("people.csv")
    first, second = place.read_text().splitlines()
    place.write_text(f'{first}\n{{"verdict":"rejected",{second[1:]}\n')
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 2
    assert "line 2 of 'people.csv.ledger' is not a ledger line" in said(capsys)


@pytest.mark.usefixtures("room")
def test_where_time_goes_backward_nothing_is_verified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*AUDIT, "--out", "run"]) == 0
    monkeypatch.setattr(ledger, "now", lambda: datetime.now(UTC) - timedelta(days=40))
    assert run([*AUDIT, "--seed", "1"]) == 0
    for command in (
        ["ledger", "people.csv"],
        ["verify", "run", "--data", "people.csv", "--unsealed"],
    ):
        capsys.readouterr()
        assert run(command) == 1
        assert "Time goes backward at line 3" in said(capsys)


def _more_draws(arrays: dict[str, Any]) -> None:
    arrays["draws"] = arrays["draws"] * 1.5


def _more_rows(arrays: dict[str, Any]) -> None:
    meta = json.loads(arrays["meta"].tobytes())
    meta["counts"]["rows"] += 1
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)


def _without_chain(arrays: dict[str, Any]) -> None:
    del arrays["chain"]


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("forge", [_more_draws, _more_rows, _without_chain])
def test_forged_repetitions_are_found_when_the_run_is_resumed(
    forge: Callable[[dict[str, Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*AUDIT, "--out", "run"]) == 0
    Path("run/result.json").unlink()
    Path("run/repetition-003.npz").unlink()
    with np.load("run/repetition-001.npz") as file:
        arrays = {name: file[name] for name in file.files}
    forge(arrays)
    np.savez("run/repetition-001.npz", **arrays)
    capsys.readouterr()
    assert run([*AUDIT, "--out", "run"]) == 2
    assert "repetition-001.npz' was changed, or is a repetition of another run" in said(
        capsys
    )


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("other", [("--rule", "ridge:10"), ("--scheme", "split")])
def test_repetitions_of_another_run_are_found_when_the_run_is_resumed(
    other: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The other run has the same question and seed, and a rule, or a scheme, that suits
    better.
    """
    assert run([*AUDIT, "--out", "run"]) == 0
    assert run([*AUDIT, *other, "--out", "other"]) == 0
    Path("run/result.json").unlink()
    Path("run/repetition-002.npz").write_bytes(
        Path("other/repetition-002.npz").read_bytes()
    )
    capsys.readouterr()
    assert run([*AUDIT, "--out", "run"]) == 2
    assert "repetition-002.npz' was changed, or is a repetition of another run" in said(
        capsys
    )
    Path("run/repetition-002.npz").unlink()
    assert run([*AUDIT, "--out", "run"]) == 0
    assert run(["ledger", "people.csv"]) == 0
    assert "audit begun resumed not sealed, seed 0" in (shown := said(capsys))
    assert "of them were resumed" in shown
