"""How a file is written, as far as the caller says so, and how a separated text is written where nobody says it."""

import codecs
import csv
import io
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from improvable.errors import Caution, DataError, OptionError, one_of
from improvable.question.settings import Settings

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}
LOOKED_AT = 1 << 18
"""Bytes of a file whose separator is guessed."""
RECORDS_LOOKED_AT = 200
PIECE = 1 << 22
UTF8, UTF8_MARKED, WINDOWS, LATIN = "utf-8", "utf-8-sig", "windows-1252", "latin-1"


@dataclass(frozen=True)
class Note:
    """What a reader should know of how data were read; of one column, only where that is used."""

    text: str
    column: str = ""


def note_cautions(notes: Iterable[Note], columns: Collection[str]) -> list[Caution]:
    """Notes that matter where these columns are read."""
    kept = [note for note in notes if not note.column or note.column in columns]
    return [Caution(f"reading {place}", note.text) for place, note in enumerate(kept)]


@dataclass(frozen=True)
class FileFormat:
    """What a caller says of a file; None where it is to be found out.

    Attributes
    ----------
    separator : str, optional
        Between values: one character, or its name ("tab").
    encoding : str, optional
        Any that Python knows.
    decimal : {".", ","}, optional
        The decimal mark; the other one then separates thousands.
    sheet : str, optional
        Sheet of an Excel file.
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None

    def checked(self) -> "FileFormat":
        """The same with names of characters as characters; what cannot be is refused."""
        separator = None if self.separator is None else SPELLED.get(self.separator.lower(), self.separator)
        if separator is not None and (len(separator.encode()) != 1 or separator in '"\n\r.' or separator.isalnum()):
            raise OptionError(f"`separator` is '{self.separator}'.", "It is one character, such as ';', or 'tab'.")
        if self.decimal not in (None, ".", ","):
            raise OptionError(f"`decimal` is '{self.decimal}'.", "It is '.' or ','.")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)  # a codec that is no encoding of texts, such as rot13, is refused too
            except (LookupError, ValueError):
                known = one_of(["utf-8", "utf-16", "windows-1252", "latin-1"])
                raise OptionError(f"`encoding` is '{self.encoding}'.", f"It is a name such as {known}.") from None
        return FileFormat(separator, self.encoding, self.decimal, self.sheet)

    @property
    def given(self) -> dict[str, str]:
        """What was said, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


UNSAID = FileFormat()


def format_of(settings: Settings) -> FileFormat:
    """What the settings say of the file."""
    return FileFormat(settings.separator, settings.encoding, settings.decimal, settings.sheet)


def find_encoding(content: bytes) -> str:
    """The encoding of a text: that of its byte order mark; UTF-8 where it is that; UTF-16; else Windows-1252.

    Examples
    --------
    >>> find_encoding("größe".encode("utf-16")), find_encoding("größe".encode("latin-1")), find_encoding(b"size")
    ('utf-16', 'windows-1252', 'utf-8')
    """
    if content.startswith(codecs.BOM_UTF8):
        return UTF8_MARKED
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = content[:4096]
    if start.count(0) > len(start) // 4:  # every other byte of a Latin text in UTF-16 is zero
        return "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
    if is_utf8([content]):
        return UTF8
    return _western(content)


def _western(content: bytes) -> str:
    unassigned = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])
    return LATIN if any(byte in content for byte in unassigned) else WINDOWS


def is_utf8(pieces: Iterable[bytes]) -> bool:
    """Whether a text, in pieces, is UTF-8."""
    decoder = codecs.getincrementaldecoder(UTF8)()
    try:
        for piece in pieces:
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def pieces_of(path: Path) -> Iterator[bytes]:
    """A file that may be larger than memory, piece after piece."""
    with path.open("rb") as file:
        yield from iter(lambda: file.read(PIECE), b"")


def in_utf8(content: bytes, encoding: str, path: Path) -> bytes:
    """A text in UTF-8, without a byte order mark; one that is not in the encoding named is refused."""
    try:
        if codecs.lookup(encoding).name in (UTF8, UTF8_MARKED) and is_utf8([content]):
            return content.removeprefix(codecs.BOM_UTF8)
        return content.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        raise DataError(
            f"'{path}' is not {encoding}: {_reason(error)}.", "Name its encoding: `encoding='windows-1252'`."
        ) from error


def _reason(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1:,} has no meaning in it"
    return " ".join(str(error).split()).rstrip(".")


def find_separator(content: bytes, path: Path) -> str:
    r"""The separator with which most of the first lines have as many values as the header.

    Examples
    --------
    >>> find_separator(b"a;b\n1,5;2,5\n", Path("eu.csv"))
    ';'
    """
    lines = _start(content)
    usual = "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    best, found = (0.0, 0), usual
    for separator in dict.fromkeys([usual, *SEPARATORS]):
        records = _records(lines, separator)
        width = len(records[0]) if records else 1
        alike = sum(len(record) == width for record in records) / max(1, len(records))
        if width > 1 and (alike, width) > best:
            best, found = (alike, width), separator
    return found


def _start(content: bytes) -> str:
    """The first lines, whole."""
    start = content[:LOOKED_AT]
    return (start[: start.rfind(b"\n") + 1] if len(content) > LOOKED_AT else start).decode(errors="replace")


def _records(text: str, separator: str) -> list[list[str]]:
    records = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if record:
                records.append(record)
            if len(records) == RECORDS_LOOKED_AT:
                break
    except csv.Error:
        pass
    return records


def header_of(content: bytes, separator: str) -> list[str]:
    """The names in the first line."""
    return next(iter(_records(_start(content), separator)), [])


@dataclass(frozen=True)
class Uneven:
    """A line that has more or fewer values than the header."""

    line: int
    values: int
    wanted: int


def uneven_lines(content: bytes, separator: str) -> Iterator[Uneven]:
    r"""Lines that have more or fewer values than the header, by their numbers; lines with nothing are none.

    Examples
    --------
    >>> list(uneven_lines(b"a,b\n1,2\n\n3\n", ","))
    [Uneven(line=4, values=1, wanted=2)]
    """
    text = io.TextIOWrapper(io.BytesIO(content), encoding=UTF8, errors="replace", newline="")
    reader = csv.reader(text, delimiter=separator)
    wanted = len(next(reader, []))
    for record in reader:
        if record and len(record) != wanted:
            yield Uneven(reader.line_num, len(record), wanted)
