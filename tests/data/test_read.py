"""Files as people have them: read, and what was found out about them is said; or
refused in one line.
"""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest
import xlsxwriter

import improvable
from improvable.data.engines import as_engine
from improvable.data.engines.arrow import open_arrow
from improvable.data.engines.base import run
from improvable.data.frame import Rows, read_rows
from improvable.data.io.csv import FileFormat
from improvable.data.io.read import read_file
from improvable.data.keys import fingerprint

PLAIN: dict[str, list[Any]] = {"größe": [1.5, 2.25, 1234.5], "g": ["a", "b", "b"]}
EUROPEAN = "größe;g\n1,5;a\n2,25;b\n1.234,5;b\n"

TEXTS: dict[str, tuple[str, bytes, dict[str, list[Any]], tuple[str, ...]]] = {
    "plain": ("a.csv", b"x,g\n1,a\n2,b\n", {"x": [1, 2], "g": ["a", "b"]}, ()),
    "byte order mark": (
        "a.csv",
        "\ufeffx,g\n1,a\n2,b\n".encode(),
        {"x": [1, 2], "g": ["a", "b"]},
        (),
    ),
    "Windows line ends": (
        "a.csv",
        b"x,g\r\n1,a\r\n2,b\r\n",
        {"x": [1, 2], "g": ["a", "b"]},
        (),
    ),
    "quoted": (
        "a.csv",
        b'x,g\n1,"a, b"\n2,"c ""d"""\n',
        {"x": [1, 2], "g": ["a, b", 'c "d"']},
        (),
    ),
    "tabs by name": ("a.tsv", b"x\tg\n1\ta\n", {"x": [1], "g": ["a"]}, ()),
    "tabs": ("a.csv", b"x\tg\n1\ta\n", {"x": [1], "g": ["a"]}, ("separated by tabs",)),
    "bars": ("a.txt", b"x|g\n1|a\n", {"x": [1], "g": ["a"]}, ("separated by bars",)),
    "semicolons": (
        "a.csv",
        b"x;g\n1;a\n",
        {"x": [1], "g": ["a"]},
        ("separated by semicolons",),
    ),
    "European": (
        "a.csv",
        EUROPEAN.encode(),
        PLAIN,
        ("separated by semicolons", "numbers with a decimal comma are read in 'größe'"),
    ),
    "UTF-16": (
        "a.csv",
        EUROPEAN.encode("utf-16"),
        PLAIN,
        ("separated by semicolons", "decimal comma"),
    ),
    "thousands": (
        "a.csv",
        b'x,g\n"230,000",a\n"1,000,000.5",b\n7,b\n',
        {"x": [230000.0, 1000000.5, 7.0], "g": ["a", "b", "b"]},
        ("thousands separated are read in 'x'",),
    ),
    "points as thousands": (
        "a.csv",
        b"x;y\n1.234;2,5\n3.000;4,5\n",
        {"x": [1234, 3000], "y": [2.5, 4.5]},
        ("separated by semicolons", "decimal comma are read in 'y', 'x'"),
    ),
    "spaces": ("a.csv", b"x, y\n1 ,2\n3, 4\n", {"x": [1, 3], " y": [2, 4]}, ()),
    "empty lines": ("a.csv", b"x,y\n1,2\n\n3,4\n\n", {"x": [1, 3], "y": [2, 4]}, ()),
    "gzip": (
        "a.csv.gz",
        gzip.compress(b"x;g\n1;a\n"),
        {"x": [1], "g": ["a"]},
        ("separated by semicolons",),
    ),
    "one stray text": (
        "a.csv",
        b"x,g\n" + b"".join(b"%d,a\n" % i for i in range(20)) + b"unknown,b\n",
        {"x": [*map(str, range(20)), "unknown"], "g": ["a"] * 20 + ["b"]},
        (),
    ),
}


@pytest.mark.parametrize(
    ("name", "content", "values", "said"), TEXTS.values(), ids=TEXTS.keys()
)
def test_texts_are_read_and_what_was_found_out_is_said(
    name: str,
    content: bytes,
    values: dict[str, list[Any]],
    said: tuple[str, ...],
    tmp_path: Path,
) -> None:
    (tmp_path / name).write_bytes(content)
    table = read_file(tmp_path / name)
    assert table.frame.to_dict(as_series=False) == values
    assert len(table.notes) == len(said), table.notes
    for note, words in zip(table.notes, said, strict=True):
        assert words in note


@pytest.mark.parametrize(
    ("format_", "values"),
    [
        (FileFormat(decimal="."), {"x": [1234.0], "y": ["2,5"]}),
        (FileFormat(decimal=","), {"x": [1234], "y": [2.5]}),
        (
            FileFormat(separator="semicolon", encoding="utf-8"),
            {"x": [1234], "y": [2.5]},
        ),
        (FileFormat(separator="|"), {"x;y": ["1.234;2,5"]}),
    ],
)
def test_what_the_caller_says_holds(
    format_: FileFormat, values: dict[str, list[Any]], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(
        "x;y\n1.234;2,5\n" if format_.decimal != "." else "x;y\n1234.0;2,5\n"
    )
    assert (
        read_file(tmp_path / "a.csv", format_).frame.to_dict(as_series=False) == values
    )


@pytest.mark.parametrize("engine", ["memory", "arrow"])
@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16-le"])
def test_another_encoding_than_utf_8_is_named_by_the_caller(
    encoding: str, engine: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_bytes(EUROPEAN.encode(encoding))
    with pytest.raises(
        improvable.ImprovableError,
        match=(
            r"is not utf-8: byte \d+ has "
            r"no.*encoding='windows-1252'|UTF-16.*encoding='utf-16-le'"
        ),
    ):
        as_engine(tmp_path / "a.csv", engine, 1)
    opened = as_engine(tmp_path / "a.csv", engine, 1, FileFormat(encoding=encoding))
    assert fingerprint(opened) == fingerprint(pl.DataFrame(PLAIN))


def test_zip_excel_and_statistical_files_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("inside.csv", "x;g\n1;a\n")
    assert read_file(tmp_path / "a.zip").frame.to_dict(as_series=False) == {
        "x": [1],
        "g": ["a"],
    }
    frame = pl.DataFrame({"x": [1, 2], "g": ["a", None]})
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        frame.write_excel(book, "first")
        frame.reverse().write_excel(book, "second")
    table = read_file(tmp_path / "a.xlsx")
    assert table.frame.equals(frame)
    assert table.notes == (
        "'a.xlsx' has 2 sheets; 'first' is read (`sheet` names another).",
    )
    assert read_file(tmp_path / "a.xlsx", FileFormat(sheet="second")).frame.equals(
        frame.reverse()
    )
    coded = pd.DataFrame(
        {"y": [0.0, 1.0, None], "g": [1.0, 2.0, 2.0], "age": [50.0, 99.0, 51.5]}
    )
    labels: dict[str, dict[int | float, str]] = {
        "g": {1: "men", 2: "women"},
        "age": {99: "refused"},
    }
    pyreadstat.write_dta(coded, str(tmp_path / "a.dta"), variable_value_labels=labels)
    pyreadstat.write_sav(coded, str(tmp_path / "a.sav"), variable_value_labels=labels)
    pyreadstat.write_xport(coded, str(tmp_path / "a.xpt"))
    for kind in ("dta", "sav"):
        table = read_file(tmp_path / f"a.{kind}")
        found = table.frame.to_dict(as_series=False)
        assert found == {
            "y": [0, 1, None],
            "g": ["men", "women", "women"],
            "age": [50.0, 99.0, 51.5],
        }
        assert table.notes[0] == "values of 'g' are read by their labels."
        assert "not every value of 'age' has a label" in table.notes[1]
    assert read_file(tmp_path / "a.xpt").frame["g"].to_list() == [1, 2, 2]


def _count(rows: Rows) -> int:
    return len(rows)


@pytest.mark.parametrize("engine", ["memory", "arrow"])
@pytest.mark.parametrize(
    "case", ["plain", "semicolons", "UTF-16", "European", "thousands", "gzip", "quoted"]
)
def test_engines_read_the_same_rows(engine: str, case: str, tmp_path: Path) -> None:
    name, content, values, said = TEXTS[case]
    (tmp_path / name).write_bytes(content)
    opened = as_engine(tmp_path / name, engine, 1)
    assert len(opened.notes) == len(said)
    assert run(opened, _count, list(values), int.__add__) == len(
        next(iter(values.values()))
    )
    assert fingerprint(opened) == fingerprint(pl.DataFrame(values))


def test_an_audit_of_a_european_file_is_that_of_a_plain_one(tmp_path: Path) -> None:
    people = improvable.datasets.care_management(1_500, seed=3)
    people.write_csv(tmp_path / "plain.csv")
    people.write_csv(tmp_path / "european.csv", separator=";", decimal_comma=True)
    content = (tmp_path / "european.csv").read_text().encode("utf-16")
    (tmp_path / "european.csv").write_bytes(content)
    ways: list[tuple[str, Any]] = [
        ("plain.csv", None),
        ("european.csv", None),
        ("european.csv", "arrow"),
    ]
    results = [
        improvable.audit(
            tmp_path / name,
            outcome="gagne_sum_t",
            group="race",
            status_quo=improvable.threshold("risk_score_t", capacity=0.1),
            rule="linear",
            exclude="*_t",
            test=improvable.Test(repetitions=1, draws=200),
            read=improvable.Read(engine=engine),
        )
        for name, engine in ways
    ]
    assert len({(result.p_value, result.data_fingerprint) for result in results}) == 1
    assert any("decimal comma" in text for text in results[1].warnings)


def test_a_frame_is_not_told_how_it_is_written() -> None:
    with pytest.raises(
        improvable.ImprovableError,
        match="separator is given, and the data are not a file",
    ):
        read_rows(pl.DataFrame({"x": [1]}), FileFormat(separator=";"))


def test_a_parquet_file_is_read_one_row_group_at_a_time(tmp_path: Path) -> None:
    pl.DataFrame({"x": range(1_000)}).write_parquet(
        tmp_path / "a.parquet", row_group_size=250
    )
    tables = open_arrow(tmp_path / "a.parquet", 1)._tables(["x"])
    # a scanner of the whole file would read ahead of its reader
    assert [len(table) for table in tables] == [250] * 4
