"""A small file that asks for more memory than there is, or for minutes: sheets, Parquet
files, headers.

Sizes are read from what a file says of itself and bounded before anything is inflated.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

import improvable
from improvable.data.io import read
from improvable.data.io.read import MAX_COLUMNS, _ods_extents, read_file


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


def test_an_open_document_with_a_value_behind_a_million_rows() -> None:
    usual = (
        b"<table:table><table:table-row><table:table-cell "
        b'office:value-type="float"/></table:table-row><table:table-row '
        b'table:number-rows-repeated="1048575"><table:table-cell '
        b'table:number-columns-repeated="1024"/>'
        b"</table:table-row>%s</table:table>"
    )
    last = (
        b'<table:table-row><table:table-cell table:number-columns-repeated="16383"/>'
        b'<table:table-cell office:value-type="float"/></table:table-row>'
    )
    assert [*_ods_extents(usual % b"")][-1] == (1, 1), (
        "empty rows at the end cost nothing"
    )
    assert [*_ods_extents(usual % last)][-1] == (1_048_577, 16_384)


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
