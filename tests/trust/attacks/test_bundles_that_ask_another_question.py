"""A bundle's verdict is flipped with the same cells: one draw, a level of .49, accuracy
alone, the best repetitions.

A bundle carries its protocol, and the question is derived from it: level, draws,
deltas, how many repetitions. Its digest is checked, printed, and compared with
`--protocol` and `--seal`. Repetitions are complete and in order, draws at least 100,
and not more than a reader's machine can make.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from improvable.cli import run
from improvable.question.protocol import digest_of
from improvable.trust.bundle import _recomputed, write_bundle
from protocol_room import said


def forged(change: Callable[[dict[str, Any]], None], digest: bool = False) -> list[str]:
    """The command that verifies a changed bundle, whose numbers are recomputed as far
    as they can be.
    """
    plain = json.loads(Path("run.bundle.json").read_text())
    change(plain)
    if digest:
        plain["protocol"]["digest"] = digest_of(plain["protocol"]["declared"])
        plain["of_the_run"] = _recomputed(plain)
    Path("forged.json").write_text(json.dumps(plain))
    return ["verify", "forged.json"]


@pytest.fixture
def bundle(sealed: Path) -> Path:
    write_bundle("run", smallest=1)
    return sealed


def declared(section: str, **keys: Any) -> Callable[[dict[str, Any]], None]:
    return lambda plain: plain["protocol"]["declared"][section].update(keys)


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize(
    "change",
    [
        declared("test", alpha=0.49),
        declared("claim", ask="accuracy"),
        declared("claim", delta_accuracy=-0.5),
    ],
)
def test_another_question_has_another_digest(
    change: Callable[[dict[str, Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(forged(change)) == 2
    assert "does not have the protocol whose digest it states" in said(capsys)
    command = forged(change, digest=True)
    assert run(command) == 0, (
        "it follows from its cells; who compares no digest does not see that it is "
        "another question"
    )
    shown = said(capsys)
    assert "Is this the protocol that you agreed to?" in shown
    assert "it asks:" in shown
    for mine in (["--protocol", "care.toml"], ["--seal", "care.seal"]):
        assert run([*command, *mine]) == 1
        assert "NOT VERIFIED" in said(capsys)


def refused(
    change: Callable[[dict[str, Any]], None], capsys: pytest.CaptureFixture[str]
) -> str:
    """The one line that refuses a changed bundle."""
    capsys.readouterr()
    assert run(forged(change)) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda plain: plain["repetitions"].pop(),
            "does not have the repetitions 1 to 3",
        ),
        (
            lambda plain: plain["repetitions"].reverse(),
            "does not have the repetitions 1 to 3",
        ),
        (
            lambda plain: plain["repetitions"].append(plain["repetitions"][0]),
            "does not have the repetitions 1 to 3",
        ),
        (
            lambda plain: plain["repetitions"][0].update(repetition=9),
            "does not have the repetitions 1 to 3",
        ),
        (
            lambda plain: plain.update(format="improvable bundle 1"),
            "has format 'improvable bundle 1'",
        ),
        (
            lambda plain: plain["protocol"].update(digest="0" * 64),
            "does not have the protocol whose digest it states",
        ),
    ],
)
def test_repetitions_are_complete_and_in_order_and_old_bundles_are_refused(
    change: Callable[[dict[str, Any]], None],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert words in refused(change, capsys)


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize(
    ("draws", "words"),
    [(1, "draws"), (99, "draws"), (10_000_000, "too many to draw again")],
)
def test_draws_are_enough_and_not_too_many(
    draws: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(plain: dict[str, Any]) -> None:
        plain["protocol"]["declared"]["test"]["draws"] = draws
        plain["protocol"]["digest"] = digest_of(plain["protocol"]["declared"])

    assert words in refused(change, capsys)


@pytest.mark.usefixtures("bundle")
def test_groups_are_not_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    def change(plain: dict[str, Any]) -> None:
        plain["repetitions"][0]["attributes"][0] |= {
            "levels": [f"g{i}" for i in range(2_000)]
        }

    assert "2,000 groups, too many to draw again" in refused(change, capsys)
