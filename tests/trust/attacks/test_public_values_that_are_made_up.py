"""The public value is one that somebody made up, the best of 25; or the figure of a day
that has none.

Where a protocol names a public value, `verify` exits with 1 unless the verifier gives
the value that they looked up, and says that nobody checked it. A closing figure of a
Saturday or a Sunday is refused: with none of its own, whoever runs the audit would pick
Friday's or Monday's.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from improvable.cli import run
from improvable.errors import OptionError
from improvable.question.challenge import parse_source
from improvable.trust import ledger, seal
from improvable.trust.bundle import write_bundle
from protocol_room import OPTIONS, said

SOURCE = "drand:33200001"
DUE = parse_source(SOURCE).due
MADE_UP = "00" * 31 + "19"


@pytest.mark.usefixtures("room")
def test_a_value_that_nobody_looked_up_is_not_verified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
    time = DUE - timedelta(days=1)
    for module in (ledger, seal):
        monkeypatch.setattr(module, "now", lambda: time)
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 0
    time = DUE + timedelta(days=1)
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
                MADE_UP,
            ]
        )
        == 0
    )
    write_bundle("run", smallest=1)
    capsys.readouterr()
    for command in (
        [
            "verify",
            "run",
            "--data",
            "people.csv",
            "--seal",
            "care.seal",
            "--protocol",
            "care.toml",
        ],
        ["verify", "run.bundle.json", "--protocol", "care.toml"],
    ):
        assert run(command) == 1
        assert (
            f"challenge {MADE_UP}: nobody checked that it is the randomness of drand's "
            "round"
        ) in said(capsys)
        assert run([*command, "--challenge", MADE_UP]) == 0
        assert run([*command, "--challenge", MADE_UP[::-1]]) == 1
        assert f"the result has {MADE_UP}" in said(capsys)


@pytest.mark.parametrize("day", ["2026-12-05", "2026-12-06"])
def test_a_closing_figure_of_a_weekend_is_refused(day: str) -> None:
    with pytest.raises(OptionError, match=r"is a S\w+day: exchanges are closed"):
        parse_source(f"close:S&P 500:{day}")
    assert parse_source("close:S&P 500:2026-12-04").name == "S&P 500"
