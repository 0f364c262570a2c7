"""Values that are probably not meant as they stand: levels spelled in two ways, numbers as text, codes for missing."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.data.frames import Rows
from improvable.data.suspects import plain_spelling
from improvable.errors import Caution

MOST_SHOWN = 5
FEWEST_NUMBERS = 10
MOST_STRAY = 0.05
MOST_OF_A_CODE = 0.05
FEWEST_REPEATS = 30
FEWEST_VALUES = 0.05
"""A column has ids that repeat a few times if it has at least so many values per row."""
FEWEST_BY_CHANCE = 15
"""And if chance alone would put rows of at least so many values into different groups."""
MISSING_CODES = frozenset(sign * code for sign in (1, -1) for code in (7, 8, 9, 77, 88, 99, 777, 888, 999, 9999))
NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?([eE][-+]?\d+)?")
CODE = re.compile(r"0\d+")


def as_number(text: str) -> float | None:
    """The number that a text stands for, without currency, percent signs and commas between thousands.

    Examples
    --------
    >>> as_number("230,000"), as_number(" $12.50 "), as_number("2011-12"), as_number("02139")
    (230000.0, 12.5, None, None)
    """
    bare = text.strip().lstrip("$€£").rstrip("%").strip()
    if not bare or CODE.fullmatch(bare) or not NUMBER.fullmatch(bare) or not any(map(str.isdigit, bare)):
        return None
    return float(bare.replace(",", ""))


def text_cautions(rows: Rows, names: Sequence[str]) -> list[Caution]:
    """Of columns of text: levels that differ only by case or spaces, numbers, and numbers with a stray text."""
    alike, numbers, strays = [], [], []
    for name in names:
        if rows.is_numeric(name) or rows.is_date(name):
            continue
        counts = level_counts(rows, name)
        alike += [f"'{name}' has {_counted(some)}" for some in _spelled_alike(counts)]
        found = {text: as_number(text) for text in counts}
        stray = {text: count for text, count in counts.items() if found[text] is None}
        distinct = len(found) - len(stray)
        if not stray and (distinct > FEWEST_NUMBERS or any(not _is_plain(text) for text in counts)):
            numbers.append(f"'{name}', such as '{min(counts)}' ({sum(counts.values()):,} rows)")
        elif distinct > FEWEST_NUMBERS and 0 < sum(stray.values()) <= MOST_STRAY * sum(counts.values()):
            strays.append(f"'{name}' has {_counted(stray)}, which `na={sorted(stray)[:MOST_SHOWN]}` reads as missing")
    texts = {
        "levels": (alike, "levels that differ only by case, spaces or what does not show count as different: {}. "
                   "`strip=True` removes spaces around them; spell the others alike."),
        "text numbers": (numbers, "numbers are stored as text: {}. They are read as text; write them without commas "
                         "and signs."),
        "stray text": (strays, "columns of numbers hold a few texts, and are read as text: {}."),
    }  # fmt: skip
    return [
        Caution(kind, words.format("; ".join(found[:MOST_SHOWN]))) for kind, (found, words) in texts.items() if found
    ]


def level_counts(rows: Rows, name: str) -> dict[str, int]:
    """How many rows have each text of a column."""
    series = rows.polars([name])[name].drop_nulls()
    texts, counts = series.value_counts().sort(name)
    return dict(zip(texts.to_list(), counts.to_list(), strict=True))


def _spelled_alike(counts: Mapping[str, int]) -> list[dict[str, int]]:
    same: dict[str, dict[str, int]] = {}
    for text, count in counts.items():
        same.setdefault(plain_spelling(text), {})[text] = count
    return [some for some in same.values() if len(some) > 1]


def _is_plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _counted(counts: Mapping[str, int]) -> str:
    shown = [
        f"'{text}' in {count:,} row{'s' if count > 1 else ''}" for text, count in list(counts.items())[:MOST_SHOWN]
    ]
    return " and ".join(shown) + (" and others" if len(counts) > MOST_SHOWN else "")


def code_cautions(name: str, values: FloatArray) -> list[Caution]:
    """An outcome with a few values such as 9 or 99 beside 0 and 1, or far above all others."""
    distinct, counts = np.unique(values, return_counts=True)
    coded = np.isin(distinct, list(MISSING_CODES)) & (counts <= MOST_OF_A_CODE * len(values))
    codes = [(value, int(count)) for value, count in zip(distinct[coded], counts[coded], strict=True)]
    others = distinct[~coded]
    if not codes or len(others) < 2:
        return []
    binary = bool(np.isin(others, (0.0, 1.0)).all())
    low, high = others.min(), others.max()
    far = [
        (code, count)
        for code, count in codes
        if binary or (abs(code) >= 77 and (code > 3 * max(high, 1) or (code < 0 <= low)))
    ]
    if not far:
        return []
    listed = " and ".join(f"{code:g} in {count:,} row{'s' if count > 1 else ''}" for code, count in far)
    marks = [f"{code:g}" for code, _ in far]
    usual = "0 and 1" if binary else f"from {low:g} to {high:g}"
    text = (
        f"the outcome '{name}' is {usual}, and {listed}. If that stands for missing, say so: `na={marks}`, "
        "`drop_missing=True`."
    )
    return [Caution(f"codes {name}", text)]


def repeating_ids(columns: Mapping[str, FloatArray], level: IntArray) -> dict[str, float]:
    """Columns whose values repeat a few times, always in one group, as the ids of people seen again do.

    Returns
    -------
    dict
        From the column to its mean number of rows per value.
    """
    out = {}
    for name, values in columns.items():
        given = ~np.isnan(values)
        distinct, place, counts = np.unique(values[given], return_inverse=True, return_counts=True)
        repeated = counts > 1
        if len(distinct) < FEWEST_VALUES * len(values) or repeated.sum() < FEWEST_REPEATS:
            continue
        own = level[given]
        first = np.zeros(len(distinct), dtype=np.int64)
        first[place] = own
        by_chance = float(1 - ((np.bincount(own) / len(own)) ** 2).sum()) * int(repeated.sum())
        if (first[place] == own).all() and by_chance >= FEWEST_BY_CHANCE:
            out[name] = len(own) / len(distinct)
    return out
