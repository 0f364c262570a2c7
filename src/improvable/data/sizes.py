"""How much a file would take in memory, from what it says of itself, before anything of it is inflated.

A few kilobytes can ask for hundreds of gigabytes: two cells at opposite corners of a sheet, or one value that stands
for a billion rows. Such a file is refused in one line.
"""

import os
import re
import zipfile
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

from improvable.errors import DataError

MAX_COLUMNS = 50_000
SHARE_OF_MEMORY = 0.8
BYTES_OF_A_CELL, BYTES_OF_A_TEXT = 32, 16  # the reader of a sheet holds every cell of its rectangle, empty or not

CELL = re.compile(rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{1,3})(\d{1,7})"|<(?:\w+:)?row\s[^>]*?\br="(\d{1,7})"')
ODS_PART = re.compile(rb"<table:(table-row|table-cell|covered-table-cell|table)\b([^>]*)>")
REPEATED = re.compile(rb'number-(?:rows|columns)-repeated="(\d+)"')


def refuse_wide(text: bytes, separator: str, path: Path) -> None:
    """Refuse a text with more columns than any audit has, before its header is made into names."""
    _refuse_columns(text.partition(b"\n")[0].count(separator.encode()) + 1, path)


def _refuse_columns(columns: int, path: Path) -> None:
    if columns > MAX_COLUMNS:
        raise DataError(
            f"'{path}' has {columns:,} columns, and at most {MAX_COLUMNS:,} are read.",
            "Keep those that the audit needs.",
        )


def refuse_large_parquet(path: Path) -> None:
    """Refuse a Parquet file whose rows would not fit, by the number of rows and the types that its footer states."""
    import polars as pl

    lazy = pl.scan_parquet(path, glob=False)
    schema = lazy.collect_schema()
    _refuse_columns(len(schema), path)
    rows = int(lazy.select(pl.len()).collect().item())
    sizes: dict[object, int] = {
        **dict.fromkeys((pl.Boolean, pl.Int8, pl.UInt8), 1),
        **dict.fromkeys((pl.Int16, pl.UInt16), 2),
        **dict.fromkeys((pl.Int32, pl.UInt32, pl.Float32, pl.Date), 4),
        **dict.fromkeys((pl.Int64, pl.UInt64, pl.Float64), 8),
    }
    width = sum(sizes.get(dtype.base_type(), BYTES_OF_A_TEXT) for dtype in schema.values())
    _refuse_large(rows * width, f"'{path}' holds {rows:,} rows", path, "read it in pieces: `engine='arrow'`")


def refuse_large_sheet(path: Path) -> None:
    """Refuse a workbook with a sheet whose corners are so far apart that the cells between them would not fit."""
    if not zipfile.is_zipfile(path):
        return  # an .xls has at most 65,536 rows and 256 columns
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                sizes: Iterator[tuple[int, int]] = iter([_extent(archive.read(name))])
            elif name == "content.xml":
                sizes = _ods_extents(archive.read(name))
            else:
                continue
            for rows, columns in sizes:
                words = f"a sheet of '{path}' reaches to row {rows:,} and column {columns:,}"
                _refuse_large(rows * columns * BYTES_OF_A_CELL, words, path, "delete what is far from the table")


def free_memory() -> int:
    """How many bytes a process may still ask for."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        return 1024 * int(re.findall(r"MemAvailable:\s+(\d+) kB", told)[0])
    except (OSError, IndexError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 8 << 30


def _refuse_large(needed: int, words: str, path: Path, remedy: str) -> None:
    free = free_memory()
    if needed > SHARE_OF_MEMORY * free:
        raise DataError(
            f"{words}, about {needed / 2**30:,.0f} GB in memory, and {free / 2**30:,.0f} GB are free.",
            f"If '{path.name}' is what it should be, {remedy}.",
        )


def _extent(sheet: bytes) -> tuple[int, int]:
    """The last row and the last column that a sheet of an .xlsx names."""
    rows = columns = 0
    for found in CELL.finditer(sheet):
        rows = max(rows, int(found[2] or found[3]))
        # Columns are A, ..., Z, AA, ...
        columns = max(columns, reduce(lambda number, letter: 26 * number + letter - 64, found[1] or b"", 0))
    return rows, columns


def _ods_extents(content: bytes) -> Iterator[tuple[int, int]]:
    """The last row and column of each table of an .ods that hold something; most end in a million empty rows."""
    row = repeats = column = rows = columns = 0
    for found in ODS_PART.finditer(content):
        kind, attributes = found[1], found[2]
        times = int((REPEATED.search(attributes) or [b"", b"1"])[1])
        if kind == b"table":
            yield rows, columns
            row = repeats = column = rows = columns = 0
        elif kind == b"table-row":
            row, repeats, column = row + repeats, times, 0
        else:
            column += times
            if b"value-type=" in attributes:
                rows, columns = max(rows, row + repeats), max(columns, column)
    yield rows, columns
