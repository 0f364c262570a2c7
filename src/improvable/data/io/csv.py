"""How a separated text is written: its encoding, separator and decimal mark, said by
the caller or found out.
"""

import codecs
import csv
import io
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import polars as pl

from improvable.errors import DataError, OptionError, one_line, one_of
from improvable.question.settings import Settings

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SPELLED = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "bar": "|",
    "pipe": "|",
}
# bytes and records of a file whose separator is guessed
LOOKED_AT, RECORDS_LOOKED_AT = 1 << 18, 200
PIECE = 1 << 22
UTF8 = "utf-8"
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SPACE = "[ '\u00a0\u2009\u202f\u2019]"


def _numeral(decimal: str, thousands: str) -> str:
    whole = rf"\d+|\d{{1,3}}({thousands}\d{{3}})+|\d{{1,3}}({_SPACE}\d{{3}})+"
    return rf"^\s*[+-]?(({whole})({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?\s*$"


# by decimal mark; thousands may be separated
NUMERALS = {".": _numeral(r"\.", ","), ",": _numeral(",", r"\.")}
# what gives away separated thousands, or a decimal comma
MARKS = {".": r"\d[,'\u2019\s]\d", ",": r"[,.]|\d\s\d"}


@dataclass(frozen=True)
class FileFormat:
    """What a caller says of a file; None where it is to be found out."""

    separator: str | None = None  # one character, or its name ("tab")
    encoding: str | None = None  # any that Python knows
    decimal: str | None = None  # "." or ","; the other one then separates thousands
    sheet: str | None = None  # of an Excel file

    def checked(self) -> "FileFormat":
        """The same with names of characters as characters; what cannot be is
        refused.
        """
        separator = (
            None
            if self.separator is None
            else SPELLED.get(self.separator.lower(), self.separator)
        )
        if separator is not None and (
            len(separator.encode()) != 1 or separator in '"\n\r.' or separator.isalnum()
        ):
            raise OptionError(
                f"`separator` is '{self.separator}'.",
                "It is one character, such as ';', or 'tab'.",
            )
        if self.decimal not in (None, ".", ","):
            raise OptionError(f"`decimal` is '{self.decimal}'.", "It is '.' or ','.")
        if self.encoding is not None:
            try:
                # a codec that is no encoding of texts, such as rot13, is refused too
                "".encode(self.encoding)
            except (LookupError, ValueError):
                known = one_of(["utf-8", "utf-16", "windows-1252", "latin-1"])
                raise OptionError(
                    f"`encoding` is '{self.encoding}'.",
                    f"It is a name such as {known}.",
                ) from None
        return FileFormat(separator, self.encoding, self.decimal, self.sheet)

    @property
    def given(self) -> dict[str, str]:
        return {name: value for name, value in vars(self).items() if value is not None}


UNSAID = FileFormat()


def format_of(settings: Settings) -> FileFormat:
    return FileFormat(
        settings.separator, settings.encoding, settings.decimal, settings.sheet
    )


def is_utf8(file: BinaryIO) -> bool:
    """Whether a file, which may be larger than memory, is UTF-8."""
    decoder = codecs.getincrementaldecoder(UTF8)()
    try:
        for piece in iter(lambda: file.read(PIECE), b""):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def in_utf8(content: bytes, encoding: str | None, path: Path) -> bytes:
    """A text in UTF-8, without a byte order mark; refused where its encoding is another
    than was said or marked.
    """
    said = encoding or ("utf-16" if content.startswith(UTF16_MARKS) else UTF8)
    if encoding is None and said == UTF8 and b"\0" in content[:100]:
        raise DataError(
            f"'{path}' looks like UTF-16 without its mark.",
            "Name its encoding: `encoding='utf-16-le'`.",
        )
    try:
        if codecs.lookup(said).name in (UTF8, "utf-8-sig") and is_utf8(
            io.BytesIO(content)
        ):
            return content.removeprefix(codecs.BOM_UTF8)
        return content.decode(said).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        reason = one_line(error)
        if isinstance(error, UnicodeDecodeError):
            reason = f"byte {error.start + 1:,} has no meaning in it"
        hint = "Name its encoding: `encoding='windows-1252'`."
        raise DataError(f"'{path}' is not {said}: {reason}.", hint) from error


def find_separator(content: bytes, path: Path) -> str:
    """The separator with which most of the first lines have as many values as the
    header.
    """
    usual = "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    best, found = (0.0, 0), usual
    for separator in dict.fromkeys([usual, *SEPARATORS]):
        records = _first_records(content, separator)
        width = len(records[0]) if records else 1
        alike = sum(len(record) == width for record in records) / max(1, len(records))
        if width > 1 and (alike, width) > best:
            best, found = (alike, width), separator
    return found


def _first_records(content: bytes, separator: str) -> list[list[str]]:
    """The records of the first lines, as far as they are whole."""
    start = content[:LOOKED_AT]
    whole = start[: start.rfind(b"\n") + 1] if len(content) > LOOKED_AT else start
    reader = csv.reader(
        io.StringIO(whole.decode(errors="replace"), newline=""), delimiter=separator
    )
    records: list[list[str]] = []
    with suppress(csv.Error):
        records.extend(islice(filter(None, reader), RECORDS_LOOKED_AT))
    return records


def header_of(content: bytes, separator: str) -> list[str]:
    return next(iter(_first_records(content, separator)), [])


def uneven_line(content: bytes, separator: str) -> tuple[int, int, int] | None:
    """The first line with more or fewer values than the header: its number, its values
    and the header's.
    """
    text = io.TextIOWrapper(
        io.BytesIO(content), encoding=UTF8, errors="replace", newline=""
    )
    reader = csv.reader(text, delimiter=separator)
    wanted = len(next(reader, []))
    return next(
        (
            (reader.line_num, len(one), wanted)
            for one in reader
            if one and len(one) != wanted
        ),
        None,
    )


def written_with(texts: "pl.Series") -> set[str]:
    """The decimal marks with which every text of a column is a number; empty where
    there are none.
    """
    filled = texts.drop_nulls()
    return {
        mark
        for mark, pattern in NUMERALS.items()
        if len(filled) and filled.str.contains(pattern).all()
    }


def find_decimal(marks: Iterable[set[str]], separator: str) -> str:
    """The decimal mark of a file, from those that are possible in each column.

    A column that leaves no doubt decides. Where all numbers could be read either way
    ("1,234"), a file with semicolons has decimal commas, because that is why it has
    semicolons.
    """
    sure = {next(iter(one)) for one in marks if len(one) == 1}
    if len(sure) == 1:
        return sure.pop()
    return "," if separator == ";" and not sure else "."


def as_numbers(texts: "pl.Series", decimal: str) -> "pl.Series":
    """Texts that are numbers as numbers: whole ones where all are."""
    bare = texts.str.replace_all(rf"[\s'\u2019{',' if decimal == '.' else '.'}]", "")
    if decimal == ",":
        bare = bare.str.replace(",", ".", literal=True)
    if not bare.str.contains(r"[.eE]").any():
        whole = bare.str.strip_prefix("+").cast(pl.Int64, strict=False)
        if whole.null_count() == bare.null_count():
            return whole
    return bare.cast(pl.Float64)
