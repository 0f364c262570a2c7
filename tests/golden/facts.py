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
OFF_TIES = 1 + 1e-8 / 3
"""What numbers are multiplied by before that: 12345.65 lies where bits would decide."""
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
    >>> flatten({"corrections": [{"why": "weights", "group": "men"}]})
    {'correction men, weights': True}
    >>> flatten({"notes": [{"name": "a", "rows": 1}, {"rows": 2}]})
    {'note 1 | name': 'a', 'note 1 | rows': 1, 'note 2 | rows': 2}
    """
    facts: Facts = {}
    for key, part in _list_parts(value, name):
        found = {key: part}
        if isinstance(part, Mapping) or _is_list_of_records(part):
            found = flatten(part, key)
        elif _is_nothing(part):
            continue
        if facts.keys() & found.keys():
            raise ValueError(f"two facts are called '{key}'")
        facts |= found
    return facts


def _list_parts(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The parts of a mapping, or of a list of records, with their names."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield _join_names(name, str(key)), part
        return
    *before, container = name.split(SEPARATOR)
    singular = SINGULARS.get(container, container.removesuffix("s"))
    for identity, rest in _name_records(value):
        yield SEPARATOR.join([*before, f"{singular} {identity}"]), rest


def _name_records(records: Sequence[Any]) -> list[tuple[str, Any]]:
    """What tells each record of a list apart, and the rest of it.

    Records are told apart by their names or, where some have none, by numbers. Of a
    record that has nothing but a name it is a fact that it is there.
    """
    names = [_read_name(record) for record in records]
    if not all(names):
        return [(str(number), record) for number, record in enumerate(records, start=1)]
    if len(set(names)) < len(names):
        names = [f"{number}, {name}" for number, name in enumerate(names, start=1)]
    return list(zip(names, map(_drop_name, records), strict=True))


def _read_name(record: Any) -> str:
    if not isinstance(record, Mapping):
        return ""
    values = [record.get(key) for key in IDENTITIES]
    return ", ".join(str(value) for value in values if not _is_nothing(value))


def _drop_name(record: Mapping[str, Any]) -> Any:
    rest = {key: value for key, value in record.items() if key not in IDENTITIES}
    return rest or True


def _is_list_of_records(value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return False
    return any(isinstance(item, Mapping | list | tuple) for item in value)


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple | str) and len(value) == 0)


def _join_names(name: str, key: str) -> str:
    return f"{name}{SEPARATOR}{key}" if name else key


def describe_array(values: NDArray[Any]) -> Facts:
    """An array as text where it is short, and else as a digest with a summary.

    Counts are exact in a digest. Other numbers are rounded for it; their sum and
    extremes, which agree to ten digits, are what sees a smaller change.
    """
    shape = " x ".join(map(str, values.shape))
    if values.size <= SHORT:
        return {"shape": shape, "values": [to_plain(value) for value in values.ravel()]}
    digest = blake2b(_write_digestible(values), digest_size=8).hexdigest()
    return {
        "shape": shape,
        "digest": digest,
        "sum": math.fsum(values.ravel().tolist()),
        "least": to_plain(values.min()),
        "most": to_plain(values.max()),
    }


def _write_digestible(values: NDArray[Any]) -> bytes:
    if np.array_equal(values, np.round(values)):
        return values.astype(np.int64).tobytes()
    numbers = (values * OFF_TIES).ravel().tolist()
    texts = [f"{number:.{DIGITS_OF_DIGESTS - 1}e}" for number in numbers]
    return " ".join(texts).encode()


def to_plain(value: Any) -> Any:
    """A value of NumPy's as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


# Values as text ---------------------------------------------------------------------


def write_value(value: Any) -> str:
    """A value as a stored file has it.

    >>> write_value(0.1 + 0.2), write_value("yes"), write_value([1, 2e-15])
    ('0.3', '"yes"', '[1, 0.0]')
    """
    return json.dumps(_round(to_plain(value)), ensure_ascii=False)


def _round(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_round(to_plain(item)) for item in value]
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
    new = to_plain(new)
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


def find_family(name: str) -> str:
    """The name that a fact shares with those of other repetitions, groups and blocks.

    >>> find_family("repetition 3 | component accuracy, calibration, men | p_value")
    'p of component of repetition'
    """
    parts = [re.split(r" (?=\d|.*,)", part)[0] for part in name.split(SEPARATOR)]
    return describe_fact(SEPARATOR.join(parts))
