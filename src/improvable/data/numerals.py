"""Numbers that a file writes as texts: with a decimal comma, with thousands separated, with spaces around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MOST_STRAYS = 0.05
"""Share of texts in a column that is one of numbers all the same."""
FEWEST_NUMBERS = 10
_SPACE = "[ '\u00a0\u2009\u202f\u2019]"
POINT = rf"^\s*[+-]?((\d+|\d{{1,3}}(,\d{{3}})+|\d{{1,3}}({_SPACE}\d{{3}})+)(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"
"""A number with a decimal point."""
COMMA = rf"^\s*[+-]?((\d+|\d{{1,3}}(\.\d{{3}})+|\d{{1,3}}({_SPACE}\d{{3}})+)(,\d*)?|,\d+)([eE][+-]?\d+)?\s*$"
"""A number with a decimal comma."""
PATTERNS = {".": POINT, ",": COMMA}


@dataclass(frozen=True)
class Stray:
    """A column of numbers in which a few values are texts."""

    column: str
    values: int
    of: int
    example: str
    row: int

    @property
    def words(self) -> str:
        many = f"{self.values:,} of {self.of:,} values {'is' if self.values == 1 else 'are'} no number"
        return (
            f"column '{self.column}' is read as text, because {many}: '{self.example}' in row {self.row:,}. "
            "Fix them in the file to have it read as numbers."
        )


def written_with(texts: "pl.Series") -> set[str]:
    """The decimal marks with which every text of a column is a number; empty where there are none."""
    filled = texts.drop_nulls()
    if not len(filled):
        return set()
    return {mark for mark, pattern in PATTERNS.items() if filled.str.contains(pattern).all()}


def find_decimal(marks: Sequence[set[str]], separator: str) -> str:
    """The decimal mark of a file, from those that are possible in each column.

    A column that leaves no doubt decides. Where all numbers could be read either way ("1,234"), a file with semicolons
    has decimal commas, because that is why it has semicolons.

    Examples
    --------
    >>> find_decimal([{".", ","}, {","}], ","), find_decimal([{".", ","}], ","), find_decimal([{".", ","}], ";")
    (',', '.', ',')
    """
    sure = {next(iter(one)) for one in marks if len(one) == 1}
    if len(sure) == 1:
        return sure.pop()
    return "," if separator == ";" and not sure else "."


def as_numbers(texts: "pl.Series", decimal: str) -> "pl.Series":
    """Texts that are numbers as numbers: whole ones where all are."""
    import polars as pl

    bare = texts.str.replace_all(rf"[\s'\u2019{',' if decimal == '.' else '.'}]", "")
    if decimal == ",":
        bare = bare.str.replace(",", ".", literal=True)
    if not bare.str.contains(r"[.eE]").any():
        whole = bare.str.strip_prefix("+").cast(pl.Int64, strict=False)
        if whole.null_count() == bare.null_count():
            return whole
    return bare.cast(pl.Float64)


def find_stray(texts: "pl.Series", decimal: str) -> Stray | None:
    """Whether a column of texts is one of numbers but for a few values."""
    filled = texts.is_not_null()
    stray = filled & ~texts.str.contains(PATTERNS[decimal])
    total, strays = int(filled.sum()), int(stray.sum())
    if total - strays < FEWEST_NUMBERS or not 0 < strays <= max(1, MOST_STRAYS * total):
        return None
    row = int(stray.arg_true()[0])
    return Stray(texts.name, strays, total, str(texts[row])[:40], row + 1)
