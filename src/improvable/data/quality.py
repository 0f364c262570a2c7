"""Values that are probably not meant as they stand: codes for missing, one level
spelled two ways, numbers as text.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from improvable._text import hides
from improvable._typing import FloatArray, IntArray
from improvable.data.frame import Rows, as_number, levels, text_counts
from improvable.errors import Caution

MAX_VALUES = 12  # an outcome with more values is not one of a few codes
MISSING_CODES = {
    float(sign * code)
    for code in (7, 8, 9, 77, 88, 99, 777, 888, 999, 9999)
    for sign in (1, -1)
} | {-1.0}
"""What questionnaires write for "refused", "unknown" and "not asked"."""
# of the rows; more of them, beside 0 and 1, would be an answer
MAX_SHARE_OF_CODES = 0.2
# among amounts a code is rarer, and has two digits at least
MAX_SHARE_OF_A_CODE, MIN_CODE = 0.05, 77
MAX_SHOWN = 5
MIN_NUMBERS, MAX_STRAY = 10, 0.05
MIN_REPEATS = 30
# values per row, at least, of a column of ids that repeat a few times
MIN_VALUES = 0.05
# values whose rows chance alone would put into different groups, at least
MIN_BY_CHANCE = 15
NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?([eE][-+]?\d+)?")
ZIP_CODE = re.compile(r"0\d+")

Seen = dict[str, Counter[float]]


def few_values(rows: Rows, names: Sequence[str]) -> Seen:
    """The distinct values of columns, as far as they are few, with how often each
    occurs.
    """
    known = {
        name: values[~np.isnan(values)]
        for name in names
        for values in [rows.numbers(name)]
    }
    found = {
        name: np.unique(values, return_counts=True) for name, values in known.items()
    }
    return {
        name: _few(Counter(dict(zip(*map(np.ndarray.tolist, two), strict=True))))
        for name, two in found.items()
    }


def merge_values(one: Seen, other: Seen) -> Seen:
    return {name: _few(values + other[name]) for name, values in one.items()}


def _few(values: Counter[float]) -> Counter[float]:
    """Keep one value more than the limit, enough to know that it was exceeded."""
    return (
        Counter(dict(sorted(values.items())[: MAX_VALUES + 1]))
        if len(values) > MAX_VALUES + 1
        else values
    )


def flag_code_cautions(seen: Mapping[str, Mapping[float, int]]) -> list[Caution]:
    """Outcomes of 0 and 1 among which a few rows hold a code for missing."""
    out = []
    for name, values in seen.items():
        odd = {value: values[value] for value in sorted(set(values) - {0.0, 1.0})}
        few = sum(odd.values()) <= MAX_SHARE_OF_CODES * sum(values.values())
        if (
            odd
            and few
            and len(values) - len(odd) == 2
            and MISSING_CODES.issuperset(odd)
        ):
            out.append(_codes(name, "0 and 1", odd))
    return out


def amount_code_cautions(name: str, values: FloatArray) -> list[Caution]:
    """An outcome that is an amount, with a few values such as 99 far above all others,
    or below zero.
    """
    distinct, counts = np.unique(values, return_counts=True)
    coded = np.isin(distinct, list(MISSING_CODES)) & (np.abs(distinct) >= MIN_CODE)
    coded &= counts <= MAX_SHARE_OF_A_CODE * len(values)
    others = distinct[~coded]
    if len(others) < 2 or np.isin(others, [0.0, 1.0, *MISSING_CODES]).all():
        return []  # a flag, of which `flag_code_cautions` speaks
    low, high = others.min(), others.max()
    coded &= (distinct > 3 * max(high, 1)) | ((distinct < 0) & (low >= 0))
    far = dict(zip(distinct[coded].tolist(), counts[coded].tolist(), strict=True))
    return [_codes(name, f"from {low:g} to {high:g}", far)] if far else []


def _codes(name: str, usual: str, codes: Mapping[float, int]) -> Caution:
    named = {f"{code:g}": count for code, count in codes.items()}
    return Caution(
        f"codes {name}",
        (
            f"the outcome '{name}' is {usual}, but for {_counted(named, quote='')}. If "
            f"that stands for missing, say so: `na={list(named)}`, `drop_missing=True`."
        ),
    )


def plain_spelling(text: str) -> str:
    """A string without what people spell differently, or what does not show."""
    seen = "".join(
        " " if one.isspace() else one for one in text if one.isspace() or not hides(one)
    )
    return " ".join(unicodedata.normalize("NFKC", seen).split()).casefold()


def spelled_alike(texts: Iterable[str]) -> list[list[str]]:
    """Strings that differ only in spaces, capitals or what does not show, together."""
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(plain_spelling(text), []).append(text)
    return [several for several in alike.values() if len(several) > 1]


def written_number(text: str) -> float | None:
    """The number that a text stands for, without currency, percent signs and commas
    between thousands.
    """
    bare = text.strip().lstrip("$€£").rstrip("%").strip()
    if (
        not bare
        or ZIP_CODE.fullmatch(bare)
        or not NUMBER.fullmatch(bare)
        or not any(map(str.isdigit, bare))
    ):
        return None
    return float(bare.replace(",", ""))


def text_cautions(rows: Rows, features: Sequence[str]) -> list[Caution]:
    """Of features that are text: levels that differ only in spelling, numbers, and
    numbers with a stray text.
    """
    alike, numbers, strays = [], [], []
    for name in features:
        if rows.is_numeric(name) or rows.is_date(name):
            continue
        counts = dict(sorted(text_counts(*levels(rows.frame[name])).items()))
        alike += [
            f"'{name}' has {_counted({text: counts[text] for text in some})}"
            for some in spelled_alike(counts)
        ]
        stray = {
            text: count
            for text, count in counts.items()
            if written_number(text) is None
        }
        distinct = len(counts) - len(stray)
        if not stray and (
            distinct > MIN_NUMBERS or any(as_number(text) is None for text in counts)
        ):
            numbers.append(
                f"'{name}', such as '{min(counts)}' ({sum(counts.values()):,} rows)"
            )
        elif distinct > MIN_NUMBERS and 0 < sum(stray.values()) <= MAX_STRAY * sum(
            counts.values()
        ):
            strays.append(
                f"'{name}' has {_counted(stray)}, which "
                f"`na={sorted(stray)[:MAX_SHOWN]}` reads as missing"
            )
    texts = {
        "levels": (
            alike,
            (
                "levels of features that differ only in spaces, capitals or what does "
                "not show count as different: {}. Spell them alike in the data; "
                "`strip=True` leaves features as they are."
            ),
        ),
        "text numbers": (
            numbers,
            (
                "numbers are stored as text: {}. They are read as text; write them "
                "without commas and signs."
            ),
        ),
        "stray text": (
            strays,
            "columns of numbers hold a few texts, and are read as text: {}.",
        ),
    }
    return [
        Caution(kind, words.format("; ".join(found[:MAX_SHOWN])))
        for kind, (found, words) in texts.items()
        if found
    ]


def _counted(counts: Mapping[str, int], quote: str = "'") -> str:
    shown = [
        f"{quote}{text}{quote} in {count:,} row{'s' if count > 1 else ''}"
        for text, count in list(counts.items())[:MAX_SHOWN]
    ]
    return " and ".join(shown) + (" and others" if len(counts) > MAX_SHOWN else "")


def repeating_ids(
    columns: Mapping[str, FloatArray], level: IntArray
) -> dict[str, float]:
    """Columns whose values repeat a few times, always in one group, as ids of people
    seen again do: rows per value.
    """
    out = {}
    for name, values in columns.items():
        given = ~np.isnan(values)
        distinct, place, counts = np.unique(
            values[given], return_inverse=True, return_counts=True
        )
        repeated = int((counts > 1).sum())
        if len(distinct) < MIN_VALUES * len(values) or repeated < MIN_REPEATS:
            continue
        own = level[given]
        first = np.zeros(len(distinct), dtype=np.int64)
        first[place] = own
        by_chance = float(1 - ((np.bincount(own) / len(own)) ** 2).sum()) * repeated
        if (first[place] == own).all() and by_chance >= MIN_BY_CHANCE:
            out[name] = len(own) / len(distinct)
    return out
