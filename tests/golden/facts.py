"""Facts: a name and a plain value each, made from nested plain data.

A fact's name is a path, such as ``repetition 3 | p_value``. `describe_fact` turns it
around for messages: "p of repetition 3". Numbers are written with ten digits; a stored
number agrees with a new one whose last bits another processor computed.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGITS = 10
ROUNDING = 0.51  # units of the last digit: rounding, and one part in fifty for bits
NOISE = 1e-13  # what sums of rounding errors come to, of values near 1
SHORT = 64
"""An array with at most this many numbers is kept as text."""
DIGITS_OF_DIGESTS = 6
"""Fewer than `DIGITS`: a digest has no tolerance, and no bit may move a rounding."""
SEPARATOR = " | "
IDENTITIES = (
    *("repetition", "kind", "attribute", "utility", "measure", "criterion", "column"),
    *("group", "quantity", "what", "why", "condition", "name"),
)
"""Keys that say which item of a list a record is."""
SINGULARS = {"disparities": "disparity", "accuracy_utilities": "accuracy utility"}
SINGULARS |= {"fairness_utilities": "fairness utility"}

Facts = dict[str, Any]


def flatten(value: Any, name: str = "") -> Facts:
    """Every fact of nested plain data; what is None or empty is not a fact.

    >>> flatten({"p_value": 0.5, "gap": None, "cuts": [0.1, 0.5]})
    {'p_value': 0.5, 'cuts': [0.1, 0.5]}
    >>> flatten({"repetitions": [{"repetition": 1, "p_value": 0.5}]})
    {'repetition 1 | p_value': 0.5}
    """
    facts: Facts = {}
    for key, part in _parts(value, name):
        if isinstance(part, Mapping) or _is_list_of_records(part):
            facts |= flatten(part, key)
        elif not _is_nothing(part):
            facts[key] = part
    return facts


def _parts(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The parts of a mapping, or of a list of records, with their names."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield _join(name, str(key)), part
        return
    identities = _identities(value)
    *before, container = name.split(SEPARATOR)
    singular = SINGULARS.get(container, container.removesuffix("s"))
    for record, identity in zip(value, identities, strict=True):
        rest = record
        if isinstance(record, Mapping):
            rest = {key: part for key, part in record.items() if key not in IDENTITIES}
        yield SEPARATOR.join([*before, f"{singular} {identity}"]), rest


def _identities(records: Sequence[Any]) -> list[str]:
    """What tells the records of a list apart: their names or, failing that, numbers."""
    numbers = [str(number) for number, _ in enumerate(records, start=1)]
    if not all(isinstance(record, Mapping) for record in records):
        return numbers
    names = []
    for record in records:
        values = [record.get(key) for key in IDENTITIES]
        names.append(
            ", ".join(str(value) for value in values if not _is_nothing(value))
        )
    if not all(names):
        return numbers
    if len(set(names)) == len(names):
        return names
    return [f"{number}, {name}" for number, name in zip(numbers, names, strict=True)]


def _is_list_of_records(value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return False
    return any(isinstance(item, Mapping | list | tuple) for item in value)


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple | str) and len(value) == 0)


def _join(name: str, key: str) -> str:
    return f"{name}{SEPARATOR}{key}" if name else key


def describe_array(values: NDArray[Any]) -> Facts:
    """An array as text where it is short, and else as a digest with a summary.

    Counts are exact in a digest. Other numbers are rounded for it; their sum and
    extremes, which agree to ten digits, are what sees a smaller change.
    """
    shape = " x ".join(map(str, values.shape))
    if values.size <= SHORT:
        return {"shape": shape, "values": [plain(value) for value in values.ravel()]}
    digest = blake2b(_digestible(values), digest_size=8).hexdigest()
    return {
        "shape": shape,
        "digest": digest,
        "sum": math.fsum(values.ravel().tolist()),
        "least": plain(values.min()),
        "most": plain(values.max()),
    }


def _digestible(values: NDArray[Any]) -> bytes:
    if np.array_equal(values, np.round(values)):
        return values.astype(np.int64).tobytes()
    texts = [f"{value:.{DIGITS_OF_DIGESTS - 1}e}" for value in values.ravel().tolist()]
    return " ".join(texts).encode()


def plain(value: Any) -> Any:
    """A value of NumPy's as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


# Values as text ---------------------------------------------------------------------


def write_value(value: Any) -> str:
    """A value as a stored file has it.

    >>> write_value(0.1 + 0.2), write_value("yes"), write_value([1, 2e-15])
    ('0.3', '"yes"', '[1, 0.0]')
    """
    return json.dumps(_rounded(plain(value)), ensure_ascii=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_rounded(plain(item)) for item in value]
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return 0.0 if abs(value) < NOISE else float(f"{value:.{DIGITS}g}")


def agrees(stored: Any, new: Any) -> bool:
    """Whether a stored value is what is found now: exactly but for the last bits.

    >>> agrees(0.0064, 0.0064), agrees(0.3333333333, 1 / 3), agrees(0.0064, 0.0065)
    (True, True, False)
    >>> agrees(0.3333333333, 0.3333333334), agrees(3, 4), agrees(True, 1)
    (False, False, False)
    """
    new = plain(new)
    if isinstance(stored, list) and isinstance(new, list | tuple):
        if len(stored) != len(new):
            return False
        return all(agrees(old, item) for old, item in zip(stored, new, strict=True))
    if isinstance(stored, float) and isinstance(new, float):
        return _is_near(stored, new)
    return type(stored) is type(new) and bool(stored == new)


def _is_near(stored: float, new: float) -> bool:
    if not math.isfinite(stored) or not math.isfinite(new):
        return repr(stored) == repr(new)
    largest = max(abs(stored), abs(new))
    if largest == 0:
        return True
    unit = 10.0 ** (math.floor(math.log10(largest)) + 1 - DIGITS)
    return abs(stored - new) <= max(ROUNDING * unit, NOISE)


# Names in messages ------------------------------------------------------------------


def describe_fact(name: str) -> str:
    """A fact's name in a message.

    >>> describe_fact("repetition 3 | p_value")
    'p of repetition 3'
    >>> describe_fact("repetition 3 | component fairness, calibration, sex | candidate")
    'candidate of component fairness, calibration, sex of repetition 3'
    """
    parts = [part.replace("_", " ") for part in name.split(SEPARATOR)]
    parts[-1] = {"p value": "p"}.get(parts[-1], parts[-1])
    return " of ".join(reversed(parts))


def family_of(name: str) -> str:
    """The name that a fact shares with those of other repetitions, groups and blocks.

    >>> family_of("repetition 3 | component accuracy, calibration, men | p_value")
    'p of component of repetition'
    """
    parts = [re.split(r" (?=\d|.*,)", part)[0] for part in name.split(SEPARATOR)]
    return describe_fact(SEPARATOR.join(parts))
