"""Values that are probably not what they seem: codes for "unknown" among outcomes, one level spelled two ways."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from improvable.data.frames import Rows
from improvable.showing import hides

MOST_VALUES = 12
"""An outcome with more values is none of a few codes."""
CODES = {float(sign * code) for code in (7, 8, 9, 77, 88, 99, 777, 888, 999, 9999) for sign in (1, -1)} | {-1.0}
"""What questionnaires write for "refused", "unknown" and "not asked"."""
MOST_OF_CODES = 0.2
"""Share of the rows beyond which a code would be an answer."""

Seen = dict[str, Counter[float]]


def few_values(rows: Rows, names: Sequence[str]) -> Seen:
    """The distinct values of columns, as far as they are few, with how often each occurs."""
    found: Seen = {}
    for name in dict.fromkeys(names):
        values, times = np.unique(rows.numbers(name), return_counts=True)
        found[name] = _few(Counter(dict(zip(values.tolist(), times.tolist(), strict=True))))
    return found


def merge_values(one: Seen, other: Seen) -> Seen:
    return {name: _few(values + other[name]) for name, values in one.items()}


def _few(values: Counter[float]) -> Counter[float]:
    """One more than are few is enough to know that they are many."""
    return Counter(dict(sorted(values.items())[: MOST_VALUES + 1])) if len(values) > MOST_VALUES + 1 else values


def constant_values(seen: Mapping[str, Counter[float]]) -> dict[str, float]:
    """The one value of each column that has but one."""
    return {name: next(iter(values)) for name, values in seen.items() if len(values) == 1}


def code_notes(seen: Mapping[str, Counter[float]]) -> list[str]:
    """Outcomes of 0 and 1 among which a few rows hold a code.

    Examples
    --------
    >>> code_notes({"sick": Counter({0.0: 60, 1.0: 37, 9.0: 3})})[0][:53]
    "outcome 'sick' is 0 or 1, but for 3 rows that hold 9."
    """
    notes = []
    for name, values in seen.items():
        odd = sorted(set(values) - {0.0, 1.0})
        if len(values) - len(odd) < 2 or not odd or not CODES.issuperset(odd):
            continue
        rows = sum(values[value] for value in odd)
        if rows <= MOST_OF_CODES * values.total():
            codes = [f"{value:g}" for value in odd]
            notes.append(
                f"outcome '{name}' is 0 or 1, but for {rows:,} row{'' if rows == 1 else 's'} that "
                f"hold{'s' if rows == 1 else ''} {' or '.join(codes)}. "
                f"If that means unknown, read it as missing: `na={codes}`, `drop_missing=True`."
            )
    return notes


def spelling_notes(name: str, levels: Sequence[str]) -> list[str]:
    """Levels of a group column that differ only in spaces, capitals or what does not show.

    Examples
    --------
    >>> spelling_notes("sex", ["Male ", "female", "male"])[0][:74]
    "groups 'Male ' and 'male' of 'sex' differ only in spaces, capitals or what"
    """
    alike: dict[str, list[str]] = {}
    for level in levels:
        alike.setdefault(plain_spelling(level), []).append(level)
    return [
        f"groups {' and '.join(map(repr, several))} of '{name}' differ only in spaces, capitals or what does not show. "
        "To read them as one: `strip=True`."
        for several in alike.values()
        if len(several) > 1
    ]


def plain_spelling(text: str) -> str:
    """A text without what people spell differently, or what does not show.

    Examples
    --------
    >>> plain_spelling(" Not  Hispanic "), plain_spelling("cafe\u0301") == plain_spelling("ca\u200bf\u00e9")
    ('not hispanic', True)
    """
    seen = "".join(" " if one.isspace() else one for one in text if one.isspace() or not hides(one))
    return " ".join(unicodedata.normalize("NFKC", seen).split()).casefold()
