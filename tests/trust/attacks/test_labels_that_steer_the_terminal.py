"""A label, a column or a key of a JSON file holds an escape sequence that clears the
screen and prints a false verdict.

One function shows control, bidi and format characters by their number, wherever a text
is printed, drawn or reported; a test holds every command to it. Text from right to left
stands in `<bdi>` in HTML.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_compare
from improvable._text import hides, json_text, shown, shown_all
from improvable.cli import run
from improvable.data.groups import Attribute
from improvable.errors import Caution
from improvable.procedure.cautions import emit
from improvable.report.html import isolated

BOTH = np.array([0, 1])
CLEAR = "\x1b[2J\x1b[H"
HOSTILE = {
    "escape": f"white{CLEAR}VERIFIED",
    "nothing": "white\x00",
    "line": "white\nVERIFIED: 1,138 numbers and texts are the same.",
    "line separator": "white\u2028VERIFIED",
    "one-byte escape": "white\x9b2JVERIFIED",
    "turned around": "white\u202edeifirev\u202c",
    "cut emoji": "white\ud83d",
    "no character": "white\uffff",
    "tag": "white\U000e0041",
}


IN_FILES = [kind for kind in HOSTILE if kind != "cut emoji"]
COMPARE = (
    "compare people.parquet --outcome need --group group --status-quo-score score "
    "--candidate-score better --capacity 0.3 --draws 200"
)


def people(*labels: str, rows: int = 600) -> pl.DataFrame:
    """Rows of a group without an odd label and of one for each of these."""
    rng = np.random.default_rng(1)
    group, need = rng.integers(0, 1 + len(labels), rows), rng.poisson(2, rows)
    return pl.DataFrame(
        {
            "need": need,
            "group": pl.Series([("black", *labels)[code] for code in group]),
            "score": need + rng.normal(0, 2, rows) + 0.5 * (group > 0),
            "better": need + rng.normal(0, 1, rows),
        }
    )


def raw(text: str) -> list[str]:
    return [character for character in text if hides(character) and character != "\n"]


@pytest.mark.parametrize("kind", IN_FILES)
def test_no_output_has_the_raw_character_and_none_crashes(
    kind: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    people(HOSTILE[kind]).write_parquet("people.parquet")
    assert (
        run(
            [
                *COMPARE.split(),
                "--table",
                "table.csv",
                "--json",
                "result.json",
                "--report",
                "report.md",
            ]
        )
        == 0
    )
    told = capsys.readouterr()
    assert not raw(told.out + told.err)
    assert not any(
        line.startswith("VERIFIED") for line in (told.out + told.err).splitlines()
    )
    for name in ("report.md", "table.csv", "result.json"):
        text = Path(name).read_text(encoding="utf-8")
        assert not raw(text), name
        assert "white" in text
    assert HOSTILE[kind] in json.loads(Path("result.json").read_text())["groups"], (
        "the JSON keeps the label as it is"
    )


def test_no_page_has_a_raw_character(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people(*(HOSTILE[kind] for kind in IN_FILES), rows=1_800).write_parquet(
        "people.parquet"
    )
    assert run([*COMPARE.split(), "--report", "report.html"]) == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert not raw(page)
    for kind in IN_FILES:
        assert isolated(HOSTILE[kind]) in page, kind


def test_half_a_character_is_refused_or_shown_and_never_crashes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file can hold it, but a data frame in Python can, and so can a shell's
    argument and a JSON file.
    """
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    cut = HOSTILE["cut emoji"]
    frame = people("white").to_pandas().astype({"group": object})
    frame["group"] = pd.Series(
        [cut if group == "white" else group for group in frame["group"]], dtype=object
    )
    options: Any = {
        "outcome": "need",
        "group": "group",
        "draws": 200,
        "candidate": improvable.threshold("better", capacity=0.3),
        "status_quo": improvable.threshold("score", capacity=0.3),
    }
    with pytest.raises(
        improvable.DataError, match=r"'white\\ud83d' holds half of a character"
    ):
        flat_compare(frame, **options)
    result = flat_compare(people("white"), **options)
    evidence = replace(
        result.evidence, attributes=(Attribute("group", ("black", cut), BOTH),)
    )
    counts: Any = {
        name: {cut if key == "white" else key: one for key, one in found.items()}
        if isinstance(found, dict)
        else found
        for name, found in result.counts.items()
    }
    received = replace(result, evidence=evidence, counts=counts)
    assert "white<U+D83D>" in received.summary()
    for name in ("report.html", "report.md"):
        received.report(name)
        assert "U+D83D" in Path(name).read_text(encoding="utf-8")
    received.save("kept")
    assert improvable.load("kept").groups == received.groups
    assert (
        run(
            [
                "check",
                "people\udcff.csv",
                "--outcome",
                "y",
                "--group",
                "g",
                "--score",
                "s",
            ]
        )
        == 2
    )
    assert "is not UTF-8 text" in capsys.readouterr().err


def test_keys_of_a_received_file_are_shown_by_their_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people("white").write_csv("people.csv")
    options = (
        "--outcome need --group group --score score --capacity 0.3 --rule linear "
        "--features better --repetitions 1"
    )
    assert (
        run(
            [
                "audit",
                "people.csv",
                *options.split(),
                "--draws",
                "200",
                "--json",
                "result.json",
            ]
        )
        == 0
    )
    forged = json.loads(Path("result.json").read_text())
    forged[f"note{CLEAR}\nVERIFIED: all numbers and texts are the same."] = 1
    forged["versions"][f"numpy{CLEAR}"] = "\u202e1"
    Path("forged.json").write_text(json.dumps(forged))
    capsys.readouterr()
    assert run(["verify", "forged.json", "--data", "people.csv", "--unsealed"]) == 1
    told = capsys.readouterr()
    assert not raw(told.out + told.err)
    assert not any(line.startswith("VERIFIED") for line in told.out.splitlines())
    assert "note<U+001B>[2J" in told.out


def test_a_name_in_an_error_stays_on_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run(
            [
                "check",
                f"no{CLEAR}\nimproved.csv",
                "--outcome",
                "y",
                "--group",
                "g",
                "--score",
                "s",
            ]
        )
        == 2
    )
    told = capsys.readouterr().err
    assert not raw(told)
    assert len(told.splitlines()) == 1


def test_an_error_or_a_warning_in_python_cannot_steer_either() -> None:
    error = improvable.DataError(f"there is no column '{CLEAR}'.", "Check\nit.")
    assert str(error) == "there is no column '<U+001B>[2J<U+001B>[H'. Check<U+000A>it."
    with pytest.warns(improvable.ImprovableWarning, match="a<U\\+001B>"):
        emit([Caution("note", "a\x1b")])


def test_what_is_shown_tells_texts_apart_and_json_keeps_them() -> None:
    texts = [
        *HOSTILE.values(),
        "<U+001B>",
        "<U+003C>U+001B>",
        "\\u001b",
        "white",
        "blanc",
        "\u05d0",
        "a\u00a0b",
    ]
    assert len({shown(text) for text in texts}) == len(texts)
    assert not any(raw(shown(text)) for text in texts)
    assert json.loads(json_text(texts)) == texts
    json_text(texts).encode()
    assert shown_all({"a\x1b": ("b", ["c\n"], 1)}) == {
        "a<U+001B>": ("b", ["c<U+000A>"], 1)
    }


def test_text_from_right_to_left_moves_nothing_beside_it() -> None:
    assert isolated("p of \u05d0\u05d1: 0.01") == "p of <bdi>\u05d0\u05d1</bdi>: 0.01"
    assert isolated("<script>") == "&lt;script&gt;"


def test_every_command_prints_through_the_one_function() -> None:
    import improvable.cli

    files = sorted(Path(str(improvable.cli.__file__)).parent.glob("*.py"))
    raw_prints = {
        path.name
        for path in files
        if re.search(r"\btyper\.echo\(|\bprint\(", path.read_text())
    }
    assert raw_prints == {"output.py"}


@pytest.mark.parametrize("suffix", [".docx", ".pdf", ".html", ".md"])
def test_a_control_character_in_a_name_breaks_no_report(
    suffix: str, tmp_path: Path
) -> None:
    """A raw one ends the process inside a library that draws pictures for Word: nothing
    can catch that.
    """
    people = improvable.datasets.care_management(1_000, seed=4)
    people = people.with_columns(
        race=pl.col("race").cast(pl.String).replace({"black": "bl\x00ack\x0b"})
    )
    result = improvable.compare(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.2),
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.2),
        test=improvable.Test(draws=200),
    )
    result.report(tmp_path / f"report{suffix}")
    assert (tmp_path / f"report{suffix}").stat().st_size > 1_000
