"""A small file that asks for more memory than there is, or for minutes: sheets, Parquet
files, headers.

Sizes are read from what a file says of itself and bounded before anything is inflated.
"""

import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

import improvable
from improvable.data.io import read
from improvable.data.io.read import MAX_COLUMNS, read_file

MANIFEST = """<manifest:manifest
xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>
"""


def write_sheet(path: Path, *cells: tuple[int, int]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for row, column in cells:
            sheet.write(row, column, f"{row} {column}")
    return path


def test_a_sheet_with_two_cells_far_apart(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "far.xlsx", (0, 0), (1_048_575, 16_383))
    assert path.stat().st_size < 10_000
    with pytest.raises(
        improvable.DataError,
        match="reaches to row 1,048,576 and column 16,384, about 512 GB",
    ):
        read_file(path)
    assert (
        read_file(write_sheet(tmp_path / "near.xlsx", (0, 0), (1, 0))).frame.height == 1
    )


def write_open_document(path: Path, last_row: str) -> Path:
    """A name and a number, a million empty rows as programs write them, and a row."""
    number = '<table:table-cell office:value-type="float" office:value="1"/>'
    content = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:'
        'office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body>'
        '<office:spreadsheet><table:table table:name="Sheet1"><table:table-row>'
        '<table:table-cell office:value-type="string"><text:p>x</text:p>'
        f"</table:table-cell></table:table-row><table:table-row>{number}"
        '</table:table-row><table:table-row table:number-rows-repeated="1048574">'
        '<table:table-cell table:number-columns-repeated="1024"/></table:table-row>'
        f"{last_row}</table:table></office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", MANIFEST)
        archive.writestr("content.xml", content)
    return path


def test_an_open_document_with_a_value_behind_a_million_rows(tmp_path: Path) -> None:
    """Empty rows at the end cost nothing; one value behind them does."""
    usual = write_open_document(tmp_path / "usual.ods", "")
    assert read_file(usual).frame["x"].to_list() == [1.0]
    last = (
        '<table:table-row><table:table-cell table:number-columns-repeated="16383"/>'
        '<table:table-cell office:value-type="float" office:value="1"/>'
        "</table:table-row>"
    )
    with pytest.raises(
        improvable.DataError,
        match="reaches to row 1,048,577 and column 16,384, about 512 GB",
    ):
        read_file(write_open_document(tmp_path / "far.ods", last))


def test_a_parquet_file_of_one_value_in_a_billion_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here memory is made small rather than the file large; 200,000 rows of one value
    are a few hundred bytes.
    """
    path = tmp_path / "rows.parquet"
    pl.DataFrame(
        {
            "x": pl.repeat(1.0, 200_000, eager=True),
            "g": pl.repeat("a", 200_000, eager=True),
        }
    ).write_parquet(path)
    assert read_file(path).frame.height == 200_000
    monkeypatch.setattr(read, "free_memory", lambda: 4 << 20)
    with pytest.raises(
        improvable.DataError,
        match=r"holds 200,000 rows, about 0 GB in memory.*engine='arrow'",
    ):
        read_file(path)


@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_a_header_of_a_million_commas(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "commas.csv"
    path.write_bytes(b"," * 1_000_000 + b"\n" + b"," * 1_000_000 + b"\n")
    with pytest.raises(
        improvable.DataError, match=f"columns, and at most {MAX_COLUMNS:,} are read"
    ):
        improvable.audit(
            path,
            outcome="y",
            group="g",
            status_quo="d",
            read=improvable.Read(engine=engine),
        )
