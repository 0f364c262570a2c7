"""Kinds of values that a setting can have, and how each is written: in a protocol, in JSON, on the command line."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from improvable.errors import OptionError
from improvable.question.checks import SAME, SAME_SHARE, as_names


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of value; each is one object.

    Attributes
    ----------
    words : str
        What a value must be, for messages: "It must be a whole number."
    schema : mapping
        The same as a JSON schema.
    accepts : callable
        Whether a value of a protocol is of this kind.
    plain : callable
        A value of Python as a protocol holds it.
    parse : callable
        A value from a text of the command line; ValueError where the text is not one.
    example : str
        How it is written on the command line.
    option : type
        What the command line reads before `parse`: a number or flag is checked there; of a list, each is an option.
    """

    words: str
    schema: Mapping[str, Any]
    accepts: Callable[[Any], bool]
    plain: Callable[[Any], Any]
    parse: Callable[[Any], Any] = lambda value: value
    example: str = ""
    option: Any = str


def parse_names(text: str | None) -> list[str]:
    """Names between commas; a name with a comma in it stands in double quotes, as in a CSV file.

    Examples
    --------
    >>> parse_names("age, sex"), parse_names('"age, years",sex')
    (['age', 'sex'], ['age, years', 'sex'])
    """
    if not text:
        return []
    try:
        names = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise OptionError(
            f"{text} does not close its quotes.",
            "Write names between commas, and a name with a comma in double quotes.",
        ) from None
    return [name.strip() for name in names if name.strip()]


def parse_each(texts: str | Sequence[str] | None) -> list[str]:
    """The names in one text, or in several: an option may be repeated.

    Examples
    --------
    >>> parse_each(["age,sex", '"income, net"'])
    ['age', 'sex', 'income, net']
    """
    several = [texts] if texts is None or isinstance(texts, str) else texts
    return list(dict.fromkeys(name for text in several for name in parse_names(text)))


def parse_delta(text: str) -> float | dict[str, float | dict[str, float]]:
    """One number, one for each group or utility, or with UTILITY@GROUP one for both.

    Examples
    --------
    >>> parse_delta("0.05")
    0.05
    >>> parse_delta("white:0.02,black:0")
    {'white': 0.02, 'black': 0.0}
    >>> parse_delta("calibration:cost@white:0.02,calibration:cost@black:0,lift:0")
    {'calibration:cost': {'white': 0.02, 'black': 0.0}, 'lift': 0.0}
    """
    if ":" not in text:
        return float(text)
    out: dict[str, float | dict[str, float]] = {}
    for name, value in _by_group(text).items():
        utility, at, group = name.partition("@")
        table = out.setdefault(utility, {}) if at else out
        if not isinstance(table, dict) or (group or name) in table:
            raise ValueError("a utility as a whole and by group")
        table[group or name] = value
    return out


def parse_gap_delta(text: str) -> float | dict[str, float]:
    """One number, or one for each utility.

    Examples
    --------
    >>> parse_gap_delta("calibration:0.1,selection_rate:0")
    {'calibration': 0.1, 'selection_rate': 0.0}
    """
    return float(text) if ":" not in text else _by_group(text)


def parse_overall(text: str) -> str | dict[str, float]:
    """Whose accuracy counts: everyone's, or a weighted mean of groups.

    Examples
    --------
    >>> parse_overall("white:0.5,black:0.5")
    {'white': 0.5, 'black': 0.5}
    """
    return text if text == POPULATION else _by_group(text)


def parse_signs(text: str) -> dict[str, str]:
    """Features with a sign.

    Examples
    --------
    >>> parse_signs("age:+,income:-")
    {'age': '+', 'income': '-'}
    """
    return {name.strip(): sign.strip() for name, sign in _pairs(text)}


def parse_labels(text: str) -> dict[str, str]:
    """Columns with words for them; words may have a colon in them.

    Examples
    --------
    >>> parse_labels("cost_t:Cost of care, race:Race")
    {'cost_t': 'Cost of care', 'race': 'Race'}
    """
    pairs = [part.split(":", 1) for part in parse_names(text)]
    if any(len(pair) != 2 or not all(one.strip() for one in pair) for pair in pairs):
        raise ValueError("a column without words")
    return {column.strip(): words.strip() for column, words in pairs}


def parse_positive(texts: str | Sequence[str]) -> dict[str, str] | list[str]:
    """Which value of a column is meant, for each column; or bare values.

    Examples
    --------
    >>> parse_positive("default=no,approved=yes"), parse_positive(["yes"])
    ({'default': 'no', 'approved': 'yes'}, ['yes'])
    """
    given = parse_each(texts)
    if not any("=" in one for one in given):
        return given
    pairs = [one.partition("=") for one in given]
    if not all(column.strip() and value.strip() for column, _, value in pairs):
        raise ValueError("a column without a value")
    return {column.strip(): value.strip() for column, _, value in pairs}


def parse_range(text: str) -> list[float]:
    """The lowest and the highest of something.

    Examples
    --------
    >>> parse_range("0, 50000")
    [0.0, 50000.0]
    """
    ends = [float(part) for part in parse_names(text)]
    if len(ends) != 2:
        raise ValueError("not two numbers")
    return ends


def plain_positive(value: Any) -> dict[str, str] | list[str]:
    """`positive` as a protocol holds it."""
    if isinstance(value, Mapping):
        return {str(column): label_text(one) for column, one in value.items()}
    return list(as_names(value))


def label_text(value: Any) -> str:
    """A value as a file has it: 1, not 1.0.

    Examples
    --------
    >>> label_text("yes"), label_text(1234567.0), label_text(0.5), label_text(True)
    ('yes', '1234567', '0.5', 'True')
    """
    if isinstance(value, str | bool | int):
        return str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


def _by_group(text: str) -> dict[str, float]:
    return {group.strip(): float(value) for group, value in _pairs(text)}


def _pairs(text: str) -> list[list[str]]:
    pairs = [part.rsplit(":", 1) for part in parse_names(text)]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("a name without a value")
    return pairs


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain_table(value: Any) -> Any:
    """A table whose entries are texts or numbers; anything else is a text or a number itself."""
    if isinstance(value, Mapping):
        return {str(key): _plain_table(one) for key, one in value.items()}
    return value if isinstance(value, str) else float(value)


def parse_capacity(text: str) -> float | str:
    """A share of rows, or the share of the status quo.

    Examples
    --------
    >>> parse_capacity("0.03"), parse_capacity("same")
    (0.03, 'status_quo')
    """
    return SAME_SHARE if text in ("same", SAME_SHARE) else float(text)


POPULATION = "population"
_NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}

TEXT = Kind("text", {"type": "string"}, lambda value: isinstance(value, str), str)
TEXTS = Kind(
    "a list of texts",
    {"type": ["string", "array"], "items": {"type": "string"}},
    lambda value: isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value)),
    lambda value: list(as_names(value)),
    parse=parse_each,
    example="names between commas, and a name with a comma in double quotes",
    option=list[str],
)
POSITIVE = Kind(
    "a value, or a table with one for each column",
    {
        "anyOf": [
            {"type": ["string", "array"]},
            {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
        ]
    },
    lambda value: (
        TEXTS.accepts(value)
        or (isinstance(value, Mapping) and all(isinstance(one, str | int | float) for one in value.values()))
    ),
    plain_positive,
    parse=parse_positive,
    example="default=no,approved=yes",
    option=list[str],
)
NUMBER = Kind("a number", {"type": "number"}, _is_number, float, option=float)
RANGE = Kind(
    "two numbers, the lowest and the highest",
    {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    lambda value: isinstance(value, Sequence) and len(value) == 2 and all(map(_is_number, value)),
    lambda value: [float(end) for end in value],
    parse=parse_range,
    example="0,50000",
)
CAPACITY = Kind(
    f"a number, or '{SAME}'",
    {"anyOf": [{"type": "number"}, {"enum": [SAME, SAME_SHARE]}]},
    lambda value: _is_number(value) or value in (SAME, SAME_SHARE),
    _plain_table,
    parse=parse_capacity,
    example="0.03 or same",
)
WHOLE = Kind(
    "a whole number",
    {"type": "integer"},
    lambda value: isinstance(value, int) and not isinstance(value, bool),
    int,
    option=int,
)
FLAG = Kind("true or false", {"type": "boolean"}, lambda value: isinstance(value, bool), bool, option=bool)
SIGNS = Kind(
    "a table",
    {"type": "object", "additionalProperties": {"enum": ["+", "-", 1, -1]}},
    lambda value: isinstance(value, Mapping),
    _plain_table,
    parse=parse_signs,
    example="age:+ or age:+,income:-",
)
LABELS = Kind(
    "a table of texts",
    {"type": "object", "additionalProperties": {"type": "string"}},
    lambda value: isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values()),
    _plain_table,
    parse=parse_labels,
    example="column:words, or column:words,other:words",
)
DELTA = Kind(
    "a number, or a table with one for each group or utility",
    {"type": ["number", "object"], "additionalProperties": {"anyOf": [{"type": "number"}, _NUMBERS]}},
    lambda value: _is_number(value) or isinstance(value, Mapping),
    _plain_table,
    parse=parse_delta,
    example="0.05, or white:0.02,black:0, or calibration:0.02,lift@white:0,lift@black:0.1",
)
GAP_DELTA = Kind(
    "a number, or a table with one for each utility",
    {"type": ["number", "object"], "additionalProperties": {"type": "number"}},
    lambda value: _is_number(value) or isinstance(value, Mapping),
    _plain_table,
    parse=parse_gap_delta,
    example="0.1, or calibration:0.1,selection_rate:0",
)
WEIGHTS = Kind(
    f"'{POPULATION}', or a table with a weight for each group",
    {"anyOf": [{"const": POPULATION}, _NUMBERS]},
    lambda value: isinstance(value, str | Mapping),
    _plain_table,
    parse=parse_overall,
    example=f"{POPULATION}, or white:0.5,black:0.5",
)
