"""Attack 3: a challenge that can be foreseen, such as a docket number, lets the analyst
try protocols until one suits.

A protocol names a public value that nobody knows yet; it is sealed before that, and
given the value when it runs.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from improvable.cli import run
from improvable.question.challenge import parse_source
from improvable.trust import ledger, seal
from improvable.trust.ledger import read_ledger
from protocol_room import OPTIONS, said

SOURCE = "drand:33200001"
DUE = parse_source(SOURCE).due
VALUE = "4be0bd4adb5ba14f6b13dc1ae5d58bf98f25b1fdf2a9d1e0ee3b02d7bdf8f4c1"


class Clock:
    """A clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = DUE - timedelta(days=3)
        monkeypatch.setattr(ledger, "now", lambda: self.time)
        monkeypatch.setattr(seal, "now", lambda: self.time)


@pytest.fixture
def clock(room: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    assert room.exists()
    Path("care.toml").unlink()
    assert (
        run(
            [
                "init",
                "care.toml",
                "--data",
                "people.csv",
                *OPTIONS,
                "--challenge-source",
                SOURCE,
            ]
        )
        == 0
    )
    return Clock(monkeypatch)


def test_the_time_of_a_round_is_the_chains() -> None:
    assert parse_source("drand:1").due == datetime(2023, 8, 23, 15, 9, 27, tzinfo=UTC)
    assert parse_source("drand:27946612").due == datetime(2026, 4, 20, tzinfo=UTC)


def test_protocol_seal_challenge_and_run_in_this_order(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 0
    assert "https://api.drand.sh/52db9ba7" in said(capsys)
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "run"]) == 2
    assert "which was not given" in said(capsys)
    clock.time = DUE + timedelta(hours=1)
    assert (
        run(
            [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--out",
                "run",
                "--challenge",
                "docket 24-1234",
            ]
        )
        == 2
    )
    assert "is not the randomness of a round of drand" in said(capsys)
    assert (
        run(
            [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--out",
                "run",
                "--challenge",
                VALUE,
            ]
        )
        == 0
    )
    assert [line.event for line in read_ledger("people.csv.ledger")] == [
        "sealed",
        "begun",
        "finished",
    ]
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 0
    assert "(line 1) -> challenge drand:33200001 due" in (shown := said(capsys))
    assert "-> run begun" in shown
    assert "in order." in shown
    assert run(["verify", "run", "--data", "people.csv", "--seal", "care.seal"]) == 1
    assert "nobody checked that it is the randomness of drand's round 33,200,001" in (
        shown := said(capsys)
    )
    assert "look it up at https://api.drand.sh/" in shown
    assert (
        run(
            [
                "verify",
                "run",
                "--data",
                "people.csv",
                "--seal",
                "care.seal",
                "--challenge",
                VALUE,
            ]
        )
        == 0
    )
    other = VALUE.replace("4b", "4c")
    assert (
        run(
            [
                "verify",
                "run",
                "--data",
                "people.csv",
                "--seal",
                "care.seal",
                "--challenge",
                other,
            ]
        )
        == 1
    )
    assert f"DIFFERENT challenge {other}; the result has {VALUE}" in said(capsys)


def test_a_value_that_may_be_known_cannot_be_sealed(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    clock.time = DUE
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 2
    assert "which may be known by now" in said(capsys)
    assert not Path("people.csv.ledger").exists()


def test_a_run_before_its_challenge_could_be_known_is_out_of_order(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 0
    clock.time += timedelta(hours=1)
    assert (
        run(
            [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--out",
                "run",
                "--challenge",
                VALUE,
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 1
    assert "NOT IN ORDER: line 2 is before the challenge could be known" in said(capsys)
    assert (
        run(
            [
                "verify",
                "run",
                "--data",
                "people.csv",
                "--seal",
                "care.seal",
                "--challenge",
                VALUE,
            ]
        )
        == 1
    )


def test_a_run_before_the_seal_is_out_of_order(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(
            ["seal", "care.toml", "--data", "people.csv", "--ledger", "practice.ledger"]
        )
        == 0
    )
    clock.time = DUE + timedelta(hours=1)
    assert (
        run(
            [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--out",
                "run",
                "--challenge",
                VALUE,
            ]
        )
        == 0
    )
    clock.time = DUE - timedelta(hours=1)
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 0
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 1
    shown = said(capsys)
    assert "NOT IN ORDER: line 1 is before the sealing" in shown
    assert "Time goes backward at line 3" in shown


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "source",
    ["docket 24-1234", "drand:0", "drand:-3", "close:2026-12-01", "close:S&P 500:soon"],
)
def test_a_source_that_is_none_is_refused(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert (
        run(
            [
                "init",
                "new.toml",
                "--data",
                "people.csv",
                *OPTIONS,
                "--challenge-source",
                source,
            ]
        )
        == 2
    )
    assert "the challenge's source" in said(capsys)


@pytest.mark.parametrize("figure", ["6,812.34", "6812.340", "06812.34", "about 6812"])
def test_a_closing_figure_is_written_in_one_way(figure: str) -> None:
    from improvable.errors import OptionError

    source = parse_source("close:S&P 500:2026-12-01")
    source.check("6812.34")
    with pytest.raises(OptionError, match="not a closing figure"):
        source.check(figure)
