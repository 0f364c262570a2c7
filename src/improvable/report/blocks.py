"""What a report is made of: blocks without a format, which each writer writes down in
its own.

Strings in blocks are plain: a writer escapes them for its format. Numbers are formatted
already, so that no writer can round another way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class Title:
    """The head of a report: its kind, the question it answers, and who, what, when, on
    which data.
    """

    kicker: str
    text: str
    facts: tuple[tuple[str, str], ...]
    simulated: bool = False


@dataclass(frozen=True)
class Answer:
    """The answer in words: what is or is not shown, what must be read beside it, and
    how firm it is.
    """

    shown: bool
    word: str
    claim: str
    beside: tuple[str, ...]
    firmness: tuple[str, ...]


@dataclass(frozen=True)
class Tile:
    """One large number, or a pair of them with an arrow, and a line that explains
    it.
    """

    title: str
    before: str
    after: str
    words: str

    @property
    def number(self) -> str:
        """The number or the pair, in one line."""
        return f"{self.before} → {self.after}" if self.before else self.after


@dataclass(frozen=True)
class Tiles:
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class Heading:
    """A heading; level 2 opens a section, 3 a part of one."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Sentence:
    """A paragraph; a note is set smaller."""

    text: str
    tone: Literal["plain", "note"] = "plain"


@dataclass(frozen=True)
class Listing:
    items: tuple[str, ...]


@dataclass(frozen=True)
class FactList:
    """Names, and what each is."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    name: str  # by which a reader of HTML finds it
    heads: tuple[str, ...]  # one per column, the first included
    rows: tuple[tuple[str, ...], ...]
    # titles over several columns, from the second column on
    spans: tuple[tuple[str, int], ...] = ()
    closing: int = 0  # how many rows at the end sum up the others
    marked: frozenset[tuple[int, int]] = frozenset()  # cells in bold, by row and column
    note: str = ""

    @property
    def full_heads(self) -> list[str]:
        """Heads with the titles over them, for a format in which no cell spans several
        columns.
        """
        spans = [title for title, width in self.spans for _ in range(width)] or [
            ""
        ] * len(self.heads[1:])
        return [
            self.heads[0],
            *(
                f"{span}: {head}".removeprefix(": ")
                for span, head in zip(spans, self.heads[1:], strict=True)
            ),
        ]

    def holds_words(self, column: int) -> bool:
        """Whether a column holds words, set flush left, rather than numbers."""
        cells = [row[column] for row in self.rows if row[column]]
        return column == 0 or sum(cell[0].isalpha() for cell in cells) > len(cells) / 2


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    words: tuple[str, ...]  # how to read it
    alt: str  # its numbers in words, for whoever cannot see it
    # at a width in pixels
    draw: Callable[[int], Any] = field(compare=False, repr=False)
    table: Table | None = None  # its numbers, where they are worth a table below it


@dataclass(frozen=True)
class Note:
    """A caution, and what it means for the reader."""

    text: str
    meaning: str = ""


@dataclass(frozen=True)
class Appendix:
    """What most readers skip and some need."""

    title: str
    blocks: tuple["Block", ...]


Block: TypeAlias = (
    Title
    | Answer
    | Tiles
    | Heading
    | Sentence
    | Listing
    | FactList
    | Table
    | Picture
    | Note
    | Appendix
)


def flat(blocks: tuple[Block, ...]) -> list[Block]:
    """All blocks in the order they are read, those of appendices under a heading."""
    out: list[Block] = []
    for block in blocks:
        out += (
            [Heading(block.title), *flat(block.blocks)]
            if isinstance(block, Appendix)
            else [block]
        )
    return out
