"""A received file is malformed, is a pipe or a link, inflates to gigabytes, or says a
type that passes for another.

Files are read as what they must be: regular, bounded, stored and not deflated, of
declared types. All else is one line and exit status 2.
"""

import gzip
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import improvable
from improvable.cli import run
from improvable.data.io.safe import write_whole

OPTIONS = [
    *(
        "--outcome",
        "gagne_sum_t",
        "--group",
        "race",
        "--score",
        "risk_score_t",
        "--capacity",
        "0.2",
    ),
    *(
        "--rule",
        "linear",
        "--features",
        "gagne_sum_tm1,dem_female",
        "--repetitions",
        "2",
        "--draws",
        "200",
    ),
]
VERIFY = ["verify", "run", "--data", "people.csv"]
RESUME = ["audit", "people.csv", *OPTIONS, "--out", "run"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    people = improvable.datasets.care_management(1_000, seed=4)
    people = people.select(
        "gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female"
    )
    people.write_csv(place / "people.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["init", "care.toml", "--data", "people.csv", *OPTIONS]) == 0
        assert (
            run(
                ["seal", "care.toml", "--data", "people.csv", "--challenge", "docket 1"]
            )
            == 0
        )
        assert run([*RESUME, "--json", "result.json", "--report", "report.html"]) == 0
    return place


@pytest.fixture
def room(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path / "room")
    monkeypatch.chdir(tmp_path / "room")
    return tmp_path / "room"


def said_in_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(arguments) == 2
    told = capsys.readouterr()
    lines = [line for line in told.err.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, told.err
    assert lines[0].startswith("improvable: ")
    return lines[0]


def edited(path: str, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change a JSON file: `change` edits it in place, or returns another."""
    plain = json.loads(Path(path).read_text())
    other = change(plain)
    Path(path).write_text(json.dumps(plain if other is None else other))


def put(*places: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    """An edit that puts a value where the places lead."""

    def change(plain: dict[str, Any]) -> None:
        inner: Any = plain
        for place in places[:-1]:
            inner = inner[place]
        inner[places[-1]] = value

    return change


def dropped(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda plain: plain.pop(name)


def rewritten(
    change: Callable[[dict[str, Any]], None], path: str = "run/repetition-001.npz"
) -> None:
    """Change the arrays of a repetition; `meta` is plain data while it is changed."""
    with np.load(path) as file:
        arrays: dict[str, Any] = {name: file[name] for name in file.files}
    arrays["meta"] = json.loads(arrays["meta"].tobytes())
    change(arrays)
    if isinstance(arrays.get("meta"), dict | list):
        arrays["meta"] = np.frombuffer(
            json.dumps(arrays["meta"]).encode(), dtype=np.uint8
        )
    np.savez(path, **arrays)


RESULT_FILES: dict[str, bytes] = {
    "empty": b"",
    "not JSON": b"{",
    "not UTF-8": b'{"a": "\xff"}',
    "another encoding": '{"a": 1}'.encode("utf-16"),
    "a number": b"1",
    "a list": b"[]",
    "nothing": b"null",
    "nested too deeply": b"[" * 200_000,
    "a number of many digits": b'{"repetitions": [], "p_value": ' + b"9" * 5_000 + b"}",
    "a key twice": b'{"repetitions": [], "repetitions": []}',
    "other JSON": b'{"name": "x"}',
}


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("kind", RESULT_FILES)
def test_a_file_that_is_no_result(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.json").write_bytes(RESULT_FILES[kind])
    assert "'bad.json'" in said_in_one_line(
        ["verify", "bad.json", "--data", "people.csv"], capsys
    )
    Path("run/run.json").write_bytes(RESULT_FILES[kind])
    assert "run.json'" in said_in_one_line(RESUME, capsys)
    Path("run/result.json").write_bytes(RESULT_FILES[kind])
    assert "result.json'" in said_in_one_line(VERIFY, capsys)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "change",
    [
        put("reject", value=0),
        put("reject", value="false"),
        put("repetitions", value={"1": {}, "2": {}}),
        put("repetitions", value=[1, 2]),
        put("protocol", value="care"),
        put("protocol", "declared", value=[]),
        put("protocol", "digest", value=None),
        put("challenge", value=5),
        put("challenge_source", value=5),
        put("seal", value=["0"]),
        put("seed", value="0"),
        put("p_value", value="0.01"),
        put("versions", value=[]),
        put("versions", "numpy", value=2),
        put("protocol", "declared", "test", "draws", value=10**30),
        put("protocol", "declared", "test", "repetitions", value=10**30),
        put("protocol", "declared", "test", "draws", value=True),
        put("protocol", "declared", "claim", value=[]),
        put("kind", value="comparison"),
    ],
)
def test_a_result_whose_values_have_other_types(
    change: Callable[[dict[str, Any]], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    edited("result.json", change)
    assert said_in_one_line(["verify", "result.json", "--data", "people.csv"], capsys)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "change",
    [
        dropped("question"),
        put("question", value=[]),
        put("question", "alpha", value="0.05"),
        put("question", "alpha", value=7),
        put("question", "draws", value=10**30),
        put("question", "combine", value="mean"),
        put("question", "claim", "delta_fairness", value=None),
        put("question", "accuracy", value=[{}]),
        put("repetitions", value={"1": 1}),
        put("repetitions", value=[]),
        put("repetitions", value=["1"]),
        put("repetitions", value=[10**30]),
        put("setting", value={}),
        put("census", value={"rows": [1], "weight": [1], "selected": [1]}),
        put("census", "rows", value="many"),
        put("disparities", value=[]),
        put("cautions", value=[{"kind": 1, "text": 2}]),
        put("kind", value="verdict"),
        put("format", value=True),
        put("format", value=10**30),
        put("data_fingerprint", value=1),
    ],
)
def test_a_run_folder_whose_head_is_not_as_written(
    change: Callable[[dict[str, Any]], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    edited("run/result.json", change)
    for command in (VERIFY, ["frontier", "run"]):
        assert said_in_one_line(command, capsys)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "change",
    [
        dropped("draws"),
        dropped("meta"),
        put("draws", value=np.zeros((3, 2))),
        put("draws", value=np.array(["a", "b"])),
        put("sums", value=np.full((2, 1, 2, 2), np.nan)),
        put("members", value=np.array([[7, 7]])),
        put("meta", value=[]),
        put("meta", "attributes", value=[]),
        put("meta", "attributes", 0, "levels", value=[1, 2]),
        put("meta", "attributes", 0, "levels", value=["a", "a"]),
        put("meta", "accuracy", value=[9]),
        put("meta", "counts", "rows", value="all"),
        put("meta", "repetition", value="1"),
        put("meta", "counts", "share_selected", value=[]),
        put(
            "meta",
            "cells",
            value={"strata": [{"blocks": 2, "silent": -1, "width": 4, "cells": []}]},
        ),
        put("meta", "cells", value=5),
    ],
)
def test_a_repetition_whose_arrays_are_not_as_written(
    change: Callable[[dict[str, Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    rewritten(change)
    assert "repetition-001.npz'" in said_in_one_line(VERIFY, capsys)


def stored(name: str, content: bytes, how: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def header(shape: str, dtype: str = "<f8") -> bytes:
    text = (
        f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117)
        + "\n"
    )
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            stored(
                "draws.npy",
                header("(200000000,)") + bytes(1_600_000_000 // 16),
                zipfile.ZIP_DEFLATED,
            ),
            "compressed",
        ),
        (stored("draws.npy", header("(1000000000000000,)")), "not as long as it says"),
        (stored("draws.npy", header("(-5,)")), "holds objects"),
        (stored("draws.npy", header("(1,)", "|O") + b"cos\nsystem\n"), "holds objects"),
        (stored("draws.npy", b"not an array"), "damaged"),
        (b"PK\x03\x04 and no more", "damaged"),
        (b"", "damaged"),
    ],
)
def test_arrays_that_inflate_lie_or_run_code(
    content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run/repetition-001.npz").write_bytes(content)
    assert words in said_in_one_line(VERIFY, capsys)
    Path("run/result.json").unlink()
    assert words in said_in_one_line(RESUME, capsys)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "name",
    [
        "run/result.json",
        "run/repetition-001.npz",
        "result.json",
        "care.toml",
        "people.csv",
    ],
)
def test_nobody_waits_for_a_pipe(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(name).unlink()
    os.mkfifo(name)
    commands = {
        "result.json": ["verify", "result.json", "--data", "people.csv"],
        "care.toml": ["audit", "care.toml"],
    }
    command = [
        *commands.get(name, VERIFY),
        *(["--data", "people.csv"] if name == "care.toml" else []),
    ]
    assert Path(name).name in said_in_one_line(command, capsys)


@pytest.mark.usefixtures("room")
def test_a_ledger_and_a_seal_that_are_pipes_or_malformed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("people.csv.ledger").unlink()
    os.mkfifo("people.csv.ledger")
    assert "not a regular file" in said_in_one_line(
        ["ledger", "people.csv.ledger"], capsys
    )
    Path("people.csv.ledger").unlink()
    for change in (
        put("columns", value="race"),
        put("rows", value="many"),
        put("challenge", value=None),
    ):
        shutil.copy("care.seal", "care.kept")
        edited("care.seal", change)
        assert "care.seal'" in said_in_one_line(
            ["audit", "care.toml", "--data", "people.csv"], capsys
        )
        shutil.move("care.kept", "care.seal")


@pytest.mark.usefixtures("room")
def test_a_packed_file_that_inflates_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = b"y,g,s\n" + b"1,a,1\n" * 15_000_000
    with gzip.open("rows.csv.gz", "wb") as file:
        file.write(rows)
    Path("rows.zip").write_bytes(stored("rows.csv", rows, zipfile.ZIP_DEFLATED))
    for name in ("rows.csv.gz", "rows.zip"):
        told = said_in_one_line(
            ["check", name, "--outcome", "y", "--group", "g", "--decision", "s"], capsys
        )
        assert "unpacks to more than 100 times its size" in told


@pytest.mark.usefixtures("room")
def test_an_algorithm_that_is_a_pipe_or_inflates_is_refused() -> None:
    os.mkfifo("choice.skops")
    with pytest.raises(improvable.StorageError, match="not a regular file"):
        improvable.import_algorithm("choice.skops")
    Path("other.skops").write_bytes(
        stored("schema.json", bytes(100 << 20), zipfile.ZIP_DEFLATED)
    )
    with pytest.raises(improvable.StorageError, match="damaged or not a skops file"):
        improvable.import_algorithm("other.skops")


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("option", ["--draws", "--repetitions", "--seed"])
def test_numbers_that_no_machine_could_serve(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said_in_one_line(
        ["audit", "people.csv", *OPTIONS, option, str(10**60)], capsys
    )
    assert "It must be a whole number" in told


@pytest.mark.usefixtures("room")
def test_a_link_at_a_partial_name_overwrites_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The old name was foreseeable: a link there, in a folder sent for resuming, chose
    what would be overwritten.
    """
    Path("thesis.txt").write_text("do not lose")
    Path("run/repetition-002.npz").unlink()
    Path("run/result.json").unlink()
    for name in (".repetition-002.npz.partial", ".result.json.partial"):
        Path("run", name).symlink_to(Path("thesis.txt").resolve())
    assert run(RESUME) == 0
    assert Path("thesis.txt").read_text() == "do not lose"
    assert not [
        path for path in Path("run").iterdir() if path.name.endswith(".partial")
    ], "and none is left"
    monkeypatch.setattr("secrets.token_hex", lambda _: "foreseen")
    Path(".out.json.foreseen.partial").symlink_to("thesis.txt")
    with pytest.raises(improvable.StorageError, match="cannot write"):
        write_whole(Path("out.json"), b"{}")
    assert Path("thesis.txt").read_text() == "do not lose"


@pytest.mark.usefixtures("room")
def test_links_in_a_received_folder_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("repetition-001.npz", "result.json", "run.json"):
        shutil.move(f"run/{name}", f"kept-{name}")
        Path("run", name).symlink_to(Path(f"kept-{name}").resolve())
        assert "is a link" in said_in_one_line(
            RESUME if name == "run.json" else VERIFY, capsys
        )
        Path("run", name).unlink()
        shutil.move(f"kept-{name}", f"run/{name}")
    Path("run/repetition-002.npz").unlink()
    Path("run/repetition-002.npz").symlink_to("nothing")
    Path("run/result.json").unlink()
    assert "is a link" in said_in_one_line(RESUME, capsys)
