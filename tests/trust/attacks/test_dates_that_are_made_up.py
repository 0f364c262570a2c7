"""A protocol, a seal or a ledger is written after the result, with the clock turned
back.

Tokens of a time stamp authority (RFC 3161) say when protocol, seal and ledger lines
existed. `openssl ts` makes and checks them, as the page on sealing shows; a line that
was stamped and is gone from the ledger is missed.
"""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from improvable.cli import run
from protocol_room import page_commands, shell
from time_authority import answer, make_authority

STAMP, CHECK = page_commands("### When: a time stamp")
IN_LEDGER = "grep -Fx -f line.json people.csv.ledger"
FILES = ("care.toml", "care.seal", "line.json")


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = [tmp_path_factory.mktemp("authority") for _ in range(2)]
    for folder in folders:
        make_authority(folder)
    return folders


@pytest.fixture
def stamped(sealed: Path, authorities: list[Path]) -> Path:
    """A sealed run whose protocol, seal and ledger are stamped with the page's
    commands.
    """
    shutil.copy(authorities[0] / "root.pem", "root.pem")
    assert shell("tail -n 1 people.csv.ledger > line.json")[0] == 0
    for name in FILES:
        query, ask = (command.replace("care.seal", name) for command in STAMP)
        assert shell(query)[0] == 0
        assert f"--data-binary @{name}.tsq -o {name}.tsr https://" in ask
        # instead of asking over a network
        answer(authorities[0], Path(f"{name}.tsq"), Path(f"{name}.tsr"))
    return sealed


def holds(name: str) -> bool:
    return shell(CHECK[0].replace("care.seal", name))[0] == 0


@pytest.mark.usefixtures("stamped")
def test_tokens_hold_and_say_when() -> None:
    for name in FILES:
        assert holds(name)
        status, shown = shell(CHECK[1].replace("care.seal", name))
        assert status == 0
        assert (
            f"{datetime.now(UTC):%Y} GMT"
            in shown.partition("Time stamp:")[2].splitlines()[0]
        )
    assert shell(IN_LEDGER)[0] == 0
    assert run(["ledger", "people.csv"]) == 0


@pytest.mark.usefixtures("stamped")
def test_tokens_of_something_else_do_not_hold(authorities: list[Path]) -> None:
    text = Path("care.toml").read_text()
    Path("care.toml").write_text(text.replace("alpha = 0.05", "alpha = 0.10"))
    assert not holds("care.toml")
    Path("care.toml").write_text(text)
    assert holds("care.toml")
    shutil.copy("care.toml.tsr", "care.seal.tsr")
    assert not holds("care.seal"), "the token of another file"
    shutil.copy(authorities[1] / "root.pem", "root.pem")
    assert not any(map(holds, FILES)), "another authority's root"


@pytest.mark.usefixtures("stamped")
def test_a_stamped_line_that_is_gone_is_missed() -> None:
    ledger = Path("people.csv.ledger")
    ledger.write_text(ledger.read_text().splitlines()[0] + "\n")
    assert run(["ledger", "people.csv"]) == 0, "the chain that is left is intact"
    assert shell(IN_LEDGER)[0] == 1
