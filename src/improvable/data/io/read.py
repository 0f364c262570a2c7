"""Files become frames: separated texts, Parquet, Excel, Stata, SPSS and SAS; packed or
not.

Notes tell what was found out about a file rather than said by the caller. A few
kilobytes can ask for hundreds of gigabytes: two cells at opposite corners of a sheet,
or one value that stands for a billion rows. How much a file would take in memory is
bounded by what it says of itself, before anything of it is inflated.
"""

import codecs
import gzip
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from improvable.data.io import csv
from improvable.data.io.csv import UNSAID, FileFormat
from improvable.data.io.safe import TIGHTEST, inflates, most_unpacked, nearest_file
from improvable.errors import DataError, OptionError, nearest, one_line, require_extra

MISSING_MARKS = ["", "NA", "NaN", "nan", "null", "NULL"]
SEPARATED = ("csv", "tsv", "txt")
PARQUET = ("parquet", "pq")
EXCEL = ("xlsx", "xls", "xlsm", "ods")
STATISTICS = {
    "dta": "read_dta",
    "sav": "read_sav",
    "zsav": "read_sav",
    "por": "read_por",
    "sas7bdat": "read_sas7bdat",
    "xpt": "read_xport",
}
KINDS = (
    "a file that ends in .csv, .tsv, .parquet, .xlsx, .dta, .sav or .sas7bdat; texts "
    "may be in .gz or .zip"
)
MAX_NAMED = 5
MAX_COLUMNS = 50_000
SHARE_OF_MEMORY = 0.8
# the reader of a sheet holds every cell of its rectangle, empty or not
BYTES_OF_A_CELL, BYTES_OF_A_TEXT = 32, 16
CELL = re.compile(
    rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{1,3})(\d{1,7})"|'
    rb'<(?:\w+:)?row\s[^>]*?\br="(\d{1,7})"'
)
ODS_PART = re.compile(
    rb"<table:(table-row|table-cell|covered-table-cell|table)\b([^>]*)>"
)
REPEATED = re.compile(rb'number-(?:rows|columns)-repeated="(\d+)"')


class Table(NamedTuple):
    frame: "pl.DataFrame"
    notes: tuple[str, ...] = ()  # what a reader should know of how the file was read


def read_file(path: Path, format_: FileFormat = UNSAID) -> Table:
    """Read a whole file, of any kind that we know."""
    said = format_.checked()
    if path.is_dir():
        raise DataError(f"'{path}' is a folder.", f"Give {KINDS}.")
    if not path.exists():
        raise DataError(f"there is no file '{path}'.", nearest_file(path))
    if not path.is_file():
        raise DataError(
            f"'{path}' is a pipe or a device.",
            "Write the rows to a file first, and name that.",
        )
    if path.stat().st_size == 0:
        raise _empty(path)
    kind = kind_of(path)
    means = {
        "separator": SEPARATED,
        "encoding": (*SEPARATED, *STATISTICS),
        "decimal": SEPARATED,
        "sheet": EXCEL,
    }
    if wrong := [name for name in said.given if kind not in means[name]]:
        raise OptionError(
            f"{wrong[0]} means nothing for a .{kind} file.", f"Leave out `{wrong[0]}`."
        )
    try:
        if kind in PARQUET:
            _refuse_large_parquet(path)
            return Table(pl.read_parquet(path))
        if kind in SEPARATED:
            return _read_separated(_unpack(path), path, said)
        if kind in EXCEL:
            return _read_excel(path, said.sheet)
        if kind in STATISTICS:
            return _read_statistics(path, kind, said.encoding)
    except pl.exceptions.PolarsError as error:
        raise cannot_be_read(path, error) from error
    raise DataError(f"'{path}' is of an unknown kind.", f"Give {KINDS}.")


def kind_of(path: Path) -> str:
    """What the name of a file ends with, packing aside; of a .zip, the name of what is
    in it.
    """
    name = path.name.lower()
    if name.endswith(".zip") and path.is_file():
        name = _member(path).lower()
    return name.removesuffix(".gz").rsplit(".", 1)[-1]


def plain_text(
    path: Path, format_: FileFormat = UNSAID
) -> "tuple[str, pl.Schema] | None":
    """The separator and types of a text that can be read in pieces as it stands; None
    where it must be read whole.

    That is a text in UTF-8, unpacked, whose numbers are written with points and without
    thousands.
    """
    said = format_.checked()
    if (
        kind_of(path) not in SEPARATED
        or path.suffix.lower() in (".gz", ".zip")
        or path.stat().st_size == 0
    ):
        return None
    with path.open("rb") as file:
        start = file.read(csv.LOOKED_AT + 1)
        file.seek(0)
        if (
            said.encoding is not None
            or start.startswith((codecs.BOM_UTF8, *csv.UTF16_MARKS))
            or not csv.is_utf8(file)
        ):
            return None
    separator = said.separator or csv.find_separator(start, path)
    _refuse_columns(_width(start, separator), path)
    lazy = pl.scan_csv(
        path, separator=separator, infer_schema_length=None, null_values=MISSING_MARKS
    )
    try:
        schema = lazy.collect_schema()
        numerals = [
            pl.col(name).drop_nulls().str.contains(pattern).all().alias(f"{mark}{name}")
            for name, dtype in schema.items()
            for mark, pattern in csv.NUMERALS.items()
            if dtype == pl.String
        ]
        numbers = bool(numerals) and any(
            lazy.select(numerals).collect(engine="streaming").row(0)
        )
    except pl.exceptions.PolarsError:
        return None
    return None if numbers or said.decimal == "," else (separator, schema)


def _unpack(path: Path) -> bytes:
    """The bytes of a file, unpacked, unless they are so many that only an attack packs
    so well.
    """
    most = most_unpacked(path.stat().st_size)
    try:
        if path.suffix.lower() == ".zip":
            with (
                zipfile.ZipFile(path) as archive,
                archive.open(_member(path)) as member,
            ):
                content = member.read(most + 1)
        elif path.suffix.lower() == ".gz":
            with gzip.open(path) as packed:
                content = packed.read(most + 1)
        else:
            return path.read_bytes()
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise cannot_be_read(path, error) from error
    if len(content) > most:
        raise _too_tight(path)
    return content


def _too_tight(path: Path) -> DataError:
    return DataError(
        f"'{path}' unpacks to more than {TIGHTEST} times its size.",
        "If you trust it, unpack it yourself and name the file that comes out.",
    )


def _member(path: Path) -> str:
    """The one file in a .zip."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [
                name
                for name in archive.namelist()
                if not name.endswith("/") and not name.startswith("__MACOSX")
            ]
    except (OSError, zipfile.BadZipFile) as error:
        raise cannot_be_read(path, error) from error
    if len(names) != 1:
        raise DataError(
            f"'{path}' holds {len(names)} files.",
            "Pack one, or unpack it and name the file.",
        )
    if names[0].rsplit(".", 1)[-1].lower() not in SEPARATED:
        raise DataError(
            f"'{path}' holds '{names[0]}'.",
            "Only .csv, .tsv and .txt are read packed; unpack it.",
        )
    return names[0]


def _read_separated(content: bytes, path: Path, said: FileFormat) -> Table:
    text = csv.in_utf8(content, said.encoding, path)
    separator = said.separator or csv.find_separator(text, path)
    _refuse_columns(_width(text, separator), path)
    refuse_duplicates(csv.header_of(text, separator), f"'{path}'")
    table = held = _parsed(text, separator, path)
    decimal = said.decimal or csv.find_decimal(
        [csv.written_with(c) for c in table if c.dtype == pl.String], separator
    )
    doubtful = [c.name for c in table if c.dtype == pl.String]
    if decimal == "," and (reals := [c.name for c in table if c.dtype.is_float()]):
        # Its points separate thousands: 1.234 is not one and a bit.
        held, doubtful = (
            _parsed(text, separator, path, infer=False),
            [*doubtful, *reals],
        )
    numbers = [
        held[name] for name in doubtful if decimal in csv.written_with(held[name])
    ]
    marked = [
        column.name
        for column in numbers
        if column.drop_nulls().str.contains(csv.MARKS[decimal]).any()
    ]
    notes = separator_notes(path, separator, said)
    if marked and said.decimal is None:
        how = "a decimal comma" if decimal == "," else "thousands separated"
        notes += (
            f"numbers with {how} are read in {_listed(marked)} (`decimal` changes it).",
        )
    return Table(
        table.with_columns([csv.as_numbers(column, decimal) for column in numbers]),
        notes,
    )


def separator_notes(path: Path, separator: str, said: FileFormat) -> tuple[str, ...]:
    """Say which separator was found, where it is not the usual one."""
    if said.separator is not None or separator == (
        "\t" if kind_of(path) == "tsv" else ","
    ):
        return ()
    return (
        (
            f"values of '{path.name}' are separated by {csv.SEPARATORS[separator]} "
            "(`separator` changes it)."
        ),
    )


def _parsed(
    text: bytes, separator: str, path: Path, infer: bool = True
) -> "pl.DataFrame":
    """A text as a frame, perhaps of texts alone; a line with more or fewer values than
    the header is named.
    """
    options: dict[str, Any] = (
        {"infer_schema_length": None} if infer else {"infer_schema": False}
    )
    try:
        table = pl.read_csv(
            text, separator=separator, null_values=MISSING_MARKS, **options
        )
    except pl.exceptions.NoDataError:
        raise _empty(path) from None
    except pl.exceptions.PolarsError as error:
        _refuse_uneven(text, separator, path)
        raise cannot_be_read(path, error) from error
    # which is how short lines end
    if table.width > 1 and table.height and table[:, -1].null_count():
        _refuse_uneven(text, separator, path)
        # lines with nothing
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))
    return table


def _refuse_uneven(text: bytes, separator: str, path: Path) -> None:
    if (found := csv.uneven_line(text, separator)) is not None:
        line, values, wanted = found
        raise DataError(
            (
                f"'{path}' cannot be read: line {line:,} has {values} values and the "
                f"header {wanted}."
            ),
            (
                "Fix that line; values are separated by "
                f"{csv.SEPARATORS.get(separator, repr(separator))} (`separator`)."
            ),
        )


def _read_excel(path: Path, sheet: str | None) -> Table:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if inflates(archive, path.stat().st_size):
                raise _too_tight(path)
    _refuse_large_sheet(path)
    require_extra(f"'{path}'", "fastexcel", "excel")
    import fastexcel

    try:
        sheets = fastexcel.read_excel(path).sheet_names
        if sheet is not None and sheet not in sheets:
            raise OptionError(
                f"'{path}' has no sheet '{sheet}'.", nearest(sheet, sheets)
            )
        chosen = sheet or sheets[0]
        table = pl.read_excel(
            path, sheet_name=chosen, infer_schema_length=None, raise_if_empty=False
        )
    except fastexcel.FastExcelError as error:
        raise cannot_be_read(path, error) from error
    if not table.width:
        raise DataError(
            f"sheet '{chosen}' of '{path}' is empty.", "Name another: `sheet=...`."
        )
    many = len(sheets) > 1 and sheet is None
    marks = pl.col(pl.String).replace(dict.fromkeys(MISSING_MARKS))
    note = (
        f"'{path.name}' has {len(sheets)} sheets; '{chosen}' is read (`sheet` names "
        "another)."
    )
    return Table(table.with_columns(marks), (note,) if many else ())


def _read_statistics(path: Path, kind: str, encoding: str | None) -> Table:
    require_extra(f"'{path}'", "pyreadstat", "stats")
    import pyreadstat

    options: dict[str, Any] = {} if encoding is None else {"encoding": encoding}
    try:
        table, about = getattr(pyreadstat, STATISTICS[kind])(
            str(path), output_format="polars", **options
        )
    except (pyreadstat.ReadstatError, UnicodeDecodeError, LookupError) as error:
        raise cannot_be_read(path, error) from error
    labeled, partly = [], []
    for name, labels in about.variable_value_labels.items():
        given = table[name].drop_nulls().unique().to_list()
        if given and set(given).issubset(labels):
            texts = {value: str(labels[value]) for value in given}
            labeled.append(table[name].replace_strict(texts, return_dtype=pl.String))
        elif given:
            partly.append(name)
    # Statistical files hold every number as a real one; whole numbers are made so, for
    # ids and categories.
    whole = []
    for column in (column for column in table if column.dtype.is_float()):
        filled = column.drop_nulls()
        if (
            filled.is_finite().all()
            and (filled.abs() < 2**53).all()
            and (filled == filled.floor()).all()
        ):
            whole.append(column.cast(pl.Int64))
    table = (
        table.with_columns(whole)
        .with_columns(labeled)
        .with_columns(pl.col(pl.String).replace({"": None}))
    )
    notes = []
    if labeled:
        notes.append(
            f"values of {_listed([column.name for column in labeled])} are read by "
            "their labels."
        )
    if partly:
        notes.append(
            f"not every value of {_listed(partly)} has a label, so their numbers are "
            "read."
        )
    return Table(table, tuple(notes))


def refuse_duplicates(names: Sequence[str], named: str) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise DataError(
            f"{named} has duplicate column names: {', '.join(map(repr, twice))}.",
            "Rename them.",
        )


def _empty(path: Path) -> DataError:
    return DataError(f"'{path}' is empty.", "Give a file with a header and rows.")


def cannot_be_read(path: Path, error: BaseException) -> DataError:
    return DataError(
        f"'{path}' cannot be read: {one_line(error)}.",
        "Is it what its name says? It may be damaged.",
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:MAX_NAMED]) + more


def _width(text: bytes, separator: str) -> int:
    """The number of columns, before the header is made into names."""
    return text.partition(b"\n")[0].count(separator.encode()) + 1


def _refuse_columns(columns: int, path: Path) -> None:
    if columns > MAX_COLUMNS:
        raise DataError(
            f"'{path}' has {columns:,} columns, and at most {MAX_COLUMNS:,} are read.",
            "Keep those that the audit needs.",
        )


def _refuse_large(needed: float, words: str, path: Path, remedy: str) -> None:
    free = free_memory()
    if needed > SHARE_OF_MEMORY * free:
        raise DataError(
            (
                f"{words}, about {needed / 2**30:,.0f} GB in memory, and "
                f"{free / 2**30:,.0f} GB are free."
            ),
            f"If '{path.name}' is what it should be, {remedy}.",
        )


def free_memory() -> int:
    """How many bytes a process may still ask for."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        return 1024 * int(re.findall(r"MemAvailable:\s+(\d+) kB", told)[0])
    except (OSError, IndexError):
        return (
            os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
            if hasattr(os, "sysconf")
            else 8 << 30
        )


def _refuse_large_parquet(path: Path) -> None:
    """Refuse a Parquet file whose rows would not fit, by the number of rows and the
    types that its footer states.
    """
    lazy = pl.scan_parquet(path, glob=False)
    schema = lazy.collect_schema()
    _refuse_columns(len(schema), path)
    rows = int(lazy.select(pl.len()).collect().item())
    # which counts no bytes for strings
    width = schema.to_frame().clear(64).estimated_size() / 64
    width += BYTES_OF_A_TEXT * sum(
        dtype in (pl.String, pl.Binary) for dtype in schema.values()
    )
    _refuse_large(
        rows * width,
        f"'{path}' holds {rows:,} rows",
        path,
        "read it in pieces: `engine='arrow'`",
    )


def _refuse_large_sheet(path: Path) -> None:
    """Refuse a workbook with a sheet whose corners are so far apart that the cells
    between them would not fit.
    """
    if not zipfile.is_zipfile(path):
        return  # an .xls has at most 65,536 rows and 256 columns
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        sheets = [
            name
            for name in names
            if name.startswith("xl/worksheets/") and name.endswith(".xml")
        ]
        extents = [_extent(archive.read(name)) for name in sheets]
        if "content.xml" in names:
            extents += _ods_extents(archive.read("content.xml"))
    for rows, columns in extents:
        words = f"a sheet of '{path}' reaches to row {rows:,} and column {columns:,}"
        _refuse_large(
            rows * columns * BYTES_OF_A_CELL,
            words,
            path,
            "delete what is far from the table",
        )


def _extent(sheet: bytes) -> tuple[int, int]:
    """The last row and the last column that a sheet of an .xlsx names."""
    rows = columns = 0
    for found in CELL.finditer(sheet):
        rows = max(rows, int(found[2] or found[3]))
        # Columns are A, ..., Z, AA, ...
        columns = max(
            columns,
            reduce(
                lambda number, letter: 26 * number + letter - 64, found[1] or b"", 0
            ),
        )
    return rows, columns


def _ods_extents(content: bytes) -> Iterator[tuple[int, int]]:
    """The last row and column of each table of an .ods that hold something; most end in
    a million empty rows.
    """
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
