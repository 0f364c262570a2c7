"""A protocol, a seal or a ledger is written after the result, with the clock turned back.

Tokens of a time stamp authority (RFC 3161) say when protocol, seal and ledger lines existed. `verify --root` checks
them offline, and their order.
"""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import improvable
from improvable.cli import run
from improvable.trust.ledger import read_ledger
from improvable.trust.timestamps import Stamped, check_stamps, stamp
from protocol_room import said
from time_authority import Authority, make_authority

VERIFY = ["verify", "run", "--data", "people.csv", "--protocol", "care.toml"]


@pytest.mark.usefixtures("sealed")
def test_the_order_of_events_is_shown_offline(authority: Authority, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("care.toml", "care.seal", "people.csv.ledger"):
        assert run(["timestamp", name, "--authority", authority.url, "--root", str(authority.root)]) == 0
    last = len(read_ledger("people.csv.ledger"))
    assert Path(f"people.csv.ledger.{last}.tsr").exists(), "a ledger's token names its line"
    assert run(["timestamp", "care.toml", "--authority", authority.url]) == 2, "the earliest token is kept"
    assert "already exists" in said(capsys)
    assert run([*VERIFY, "--root", str(authority.root)]) == 0
    shown = said(capsys)
    for name in ("care.toml", "care.seal", f"line {last} of people.csv.ledger"):
        assert f"same time stamp: {name} existed at {datetime.now(UTC):%Y-}" in shown
    assert run(VERIFY) == 0
    assert f"unchecked time stamps: care.toml.tsr, care.seal.tsr, people.csv.ledger.{last}.tsr" in said(capsys)


@pytest.mark.usefixtures("sealed")
def test_tokens_of_something_else_do_not_hold(authority: Authority, tmp_path: Path) -> None:
    stamp("care.toml", authority.url)
    stamp("people.csv.ledger", authority.url)
    files = [Path("care.toml"), Path("people.csv.ledger")]

    def problems() -> list[str]:
        return [one.problem for one in check_stamps(files, authority.root) if one.problem]

    assert not problems()
    last = len(read_ledger("people.csv.ledger"))
    text = Path("care.toml").read_text()
    Path("care.toml").write_text(text.replace("alpha = 0.05", "alpha = 0.10"))
    assert "Mismatch between messages" in problems()[0]
    Path("care.toml").write_text(text)
    ledger = Path("people.csv.ledger").read_text()
    Path("people.csv.ledger").write_text(ledger.splitlines()[0] + "\n")
    assert f"has no line {last}" in problems()[0], "a line was cut off after it was stamped"
    Path("people.csv.ledger").write_text(ledger)
    shutil.copy("care.toml.tsr", f"people.csv.ledger.{last}.tsr")
    assert "Mismatch between messages" in problems()[0]
    Path(f"people.csv.ledger.{last}.tsr").write_bytes(b"\x30\x03\x02\x01\x00")
    assert "gives no time stamp" in problems()[0]
    (tmp_path / "other").mkdir()
    make_authority(tmp_path / "other")
    assert all(one.problem for one in check_stamps(files, tmp_path / "other" / "root.pem")), "another authority's root"


def test_a_stamp_that_is_too_early_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seal's token is older than the protocol's: the seal was not made of this protocol."""
    times = {"care.toml": datetime(2026, 3, 2, tzinfo=UTC), "care.seal": datetime(2026, 3, 1, tzinfo=UTC)}
    for name in times:
        (tmp_path / name).write_text(name)
        (tmp_path / f"{name}.tsr").write_bytes(b"token")

    def checked(path: Path, line: int | None, token: Path, roots: object) -> Stamped:
        return Stamped(path.name, token.name, times[path.name])

    monkeypatch.setattr("improvable.trust.timestamps._checked", checked)
    monkeypatch.setattr("improvable.trust.timestamps.read_roots", lambda _: [])
    found = check_stamps([tmp_path / name for name in times], "root.pem")
    assert [one.problem for one in found] == ["", "is earlier than the stamp of care.toml"]
    times["care.seal"] += timedelta(days=2)
    assert not any(one.problem for one in check_stamps([tmp_path / name for name in times], "root.pem"))


def test_a_seal_that_is_stamped_when_the_challenge_is_known_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever seals after the public value is known can have tried protocols until one suited."""
    first = datetime(2026, 3, 1, tzinfo=UTC)
    times = {name: first + timedelta(days=day) for day, name in enumerate(("care.toml", "care.seal", "people.ledger"))}
    for name in times:
        (tmp_path / name).write_text(name)
    monkeypatch.setattr("improvable.trust.timestamps.tokens_of", lambda path: [(None, Path(f"{path}.tsr"))])
    monkeypatch.setattr(
        "improvable.trust.timestamps._checked",
        lambda path, line, token, roots: Stamped(path.name, token.name, times[path.name]),
    )
    monkeypatch.setattr("improvable.trust.timestamps.read_roots", lambda _: [])
    files = [tmp_path / name for name in times]
    for hours, problems in ((36, ["", "", ""]), (12, ["", "is not earlier than the challenge could be known", ""])):
        found = check_stamps(files, "root.pem", first + timedelta(hours=hours), agreed=2)
        assert [one.problem for one in found] == problems


@pytest.mark.usefixtures("sealed")
def test_an_authority_that_is_none_is_one_line(authority: Authority) -> None:
    for url, words in (
        ("file:///etc/passwd", "is no authority's address"),
        ("http://127.0.0.1:9", "does not answer"),
    ):
        with pytest.raises(improvable.ImprovableError, match=words):
            stamp("care.toml", url)
    with pytest.raises(improvable.OptionError, match="holds no certificate"):
        check_stamps([Path("care.toml")], "care.toml")
    assert not Path("care.toml.tsr").exists()
