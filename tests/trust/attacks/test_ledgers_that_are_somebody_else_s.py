"""A file that is called a ledger is a link to another, ends in somebody's text, or has
a shape that none of ours has.

A ledger that is a link is refused, for reading and for writing. An end is repaired only
where it is the beginning of a line of ours, which is kept whole; every other file is
refused and stays as it is. Odd shapes, deep nesting and names that begin with a dash
are one line.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import improvable
from improvable.cli import run
from improvable.data.frame import read_rows
from improvable.data.keys import fingerprint
from improvable.trust.ledger import hash_of, read_ledger, record, torn_end
from protocol_room import OPTIONS

AUDIT = ["audit", "people.csv", *OPTIONS]


def one_line(
    capsys: pytest.CaptureFixture[str], status: int = 2, *, command: list[str]
) -> str:
    capsys.readouterr()
    assert run(command) == status
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_ledger_that_is_a_link_is_refused_and_what_it_points_to_stays(
    there: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    target = Path("diary.txt")
    if there:
        target.write_bytes(b"")
    Path("people.csv.ledger").symlink_to(target)
    for command in (
        ["ledger", "people.csv"],
        AUDIT,
        [*AUDIT, "--ledger", "people.csv.ledger"],
    ):
        assert "is a link" in one_line(capsys, command=command)
    with pytest.raises(improvable.StorageError, match="is a link"):
        record("people.csv.ledger", "data", "begun", {})
    assert target.exists() == there
    assert not there or target.read_bytes() == b""


def test_a_ledger_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.ledger")
    for work in (read_ledger, lambda path: record(path, "data", "begun", {})):
        with pytest.raises(improvable.StorageError, match="is not a regular file"):
            work(tmp_path / "x.ledger")


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "text",
    [
        b"\x00\x00",
        b"{" * 3_000,
        b"[" * 100_000,
        b"Dear diary, " * 4_000,
        b'{"a": 1',
        b"\xff\xfe",
        b"1" * 5_000,
        b'{"note":"a text of somebody else\'s",' * 9_000,
        b'{"a":' * 100_000,
    ],
    ids=[
        "zeros",
        "braces",
        "brackets",
        "50 kB of text",
        "JSON with spaces",
        "no UTF-8",
        "a number",
        "long",
        "nested",
    ],
)
@pytest.mark.parametrize("after", [False, True], ids=["alone", "after lines of ours"])
def test_what_does_not_look_like_ours_is_never_cut_off(
    text: bytes, after: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path("people.csv.ledger")
    if after:
        record(place, fingerprint(read_rows("people.csv")), "begun", {"kind": "audit"})
    before = (place.read_bytes() if after else b"") + text
    place.write_bytes(before)
    for command in (["ledger", "people.csv"], AUDIT):
        assert "is not a ledger line" in one_line(capsys, command=command)
    assert place.read_bytes() == before


def test_a_line_of_ours_that_is_cut_anywhere_is_repaired_and_kept_whole(
    tmp_path: Path,
) -> None:
    place = tmp_path / "x.ledger"
    facts = {
        "why": 'é "q" \\ {x} 日本',
        "p_value": 1e-7,
        "seal": None,
        "resumed": True,
        "reading": {"decimal": ","},
    }
    record(place, "data", "begun", {"kind": "audit", "run": -1, **facts})
    whole = place.read_bytes()
    line = whole.rstrip(b"\n")
    assert [
        end for end in range(1, len(line)) if torn_end(line[:end]) != line[:end]
    ] == []
    assert torn_end(line) == b""
    long = b'{"command":"' + b"x" * 50_000
    place.write_bytes(whole + long)
    record(place, "data", "begun", {})
    assert read_ledger(place)[1].facts["torn"] == long.decode()


def line(**facts: Any) -> bytes:
    """A line that is chained as ours are, and says anything."""
    plain = {
        "when": "2026-11-02T09:30:00+00:00",
        "event": "begun",
        "data": "d",
        "previous": "0" * 64,
        **facts,
    }
    return json.dumps(plain | {"hash": hash_of(plain)}).encode() + b"\n"


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


SHAPES = [
    line(when="2026-11-02T09:30:00"),
    line(when=5),
    line(event=["begun"]),
    line(run=["1"], event="resumed"),
    line(event="repaired", bytes="many"),
    line(event="finished", verdict="rejected", p_value="small"),
    line(event="finished", verdict="rejected", p_value=0.1, draws="many"),
    line(reading=["latin-1"]),
    line(reading={"rot": "13"}),
    line(seal={"a": 1}),
    line(challenge_source={"a": 1}),
    line(note=deep(300)),
    line().replace(b'"d"', b'"\\ud800"'),
    b"5\n",
    b"[]\n",
    b"null\n",
    b'{"hash": ' + b"9" * 5_000 + b"}\n",
    b"[" * 100_000 + b"\n",
    b'{"a":' * 100_000 + b"\n",
    b"\x00" * 100 + b"\n",
]


@pytest.mark.parametrize(
    "content", SHAPES, ids=[f"shape {i}" for i in range(len(SHAPES))]
)
def test_ledgers_of_odd_shapes_are_one_line(
    content: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.ledger").write_bytes(content)
    status = run(["ledger", "x.ledger"])
    captured = capsys.readouterr()
    if b'"note"' in content:
        assert status == 0, "an unknown fact is nobody's business"
        return
    assert status == 2
    assert captured.err.count("\n") == 1
    assert "is not a ledger line" in captured.err


@pytest.mark.usefixtures("room")
def test_names_that_begin_with_a_dash_are_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("-x.csv", "--help"):
        Path(name).write_bytes(Path("people.csv").read_bytes())
    error = one_line(capsys, command=["audit", "-x.csv", *OPTIONS])
    assert "To name the file '-x.csv', write './-x.csv'." in error
    few = [*OPTIONS, "--repetitions", "1"]
    assert run(["init", "./-p.toml", "--data", "./-x.csv", *few]) == 0
    assert "improvable check ./-p.toml --data ./-x.csv" in capsys.readouterr().out
    assert (
        run(
            ["seal", "./-p.toml", "--data", "-x.csv", "--challenge", "9f2c41d07be35a68"]
        )
        == 0
    )
    assert "improvable audit ./-p.toml --data ./-x.csv" in capsys.readouterr().out
    assert run(["audit", *few, "--out", "-run", "--", "-x.csv"]) == 0
    assert run(["verify", "./-run", "--data", "-x.csv", "--unsealed"]) == 0
    assert run(["verify", "--data", "-x.csv", "--unsealed", "--", "-run"]) == 0
    assert run(["ledger", "./--help"]) == 2
    assert run(["ledger", "./-x.csv"]) == 0
