"""Option types: how each kind of value is checked, read from the command line and
written into a protocol.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from improvable.errors import OptionError, nearest

# a candidate's capacity that is the share which the status quo selects
SAME_SHARE = "status_quo"
SAME = "same"  # how people write it
POPULATION = "population"


def as_specs(spec: Any) -> list[Any]:
    return list(spec) if isinstance(spec, list | tuple) else [spec]


def as_names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(map(str, names)))


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionError(f"{_subject(name)} is {value!r}.", nearest(str(value), known))


def check_number(
    name: str, value: float, low: float, high: float, *, high_included: bool = False
) -> None:
    good = (
        _is_real(value)
        and np.isfinite(value)
        and (low < value < high or (high_included and value == high))
    )
    if not good:
        above = [f"above {low:g}"] if np.isfinite(low) else []
        below = (
            [f"{'at most' if high_included else 'below'} {high:g}"]
            if np.isfinite(high)
            else []
        )
        bounds = " and ".join(above + below)
        raise OptionError(
            f"{_subject(name)} is {value}.",
            f"It must be a number{' ' if bounds else ''}{bounds}.",
        )


def check_integer(name: str, value: int, low: int, high: int | None = None) -> None:
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not good or value < low or (high is not None and value > high):
        said: object = value
        # Python refuses to print thousands of digits
        if isinstance(value, int) and abs(value) >= 10**24:
            said = f"a number of about {int(value.bit_length() * 0.30103) + 1:,} digits"
        most = "" if high is None else f" and at most {high:,}"
        raise OptionError(
            f"{_subject(name)} is {said}.",
            f"It must be a whole number, at least {low:,}{most}.",
        )


def check_capacity(capacity: Any) -> float:
    if not _is_real(capacity) or not 0 < capacity < 1:
        shown = f"{capacity:g}" if _is_real(capacity) else repr(capacity)
        raise OptionError(
            f"`capacity` is {shown}.",
            "It is a share of the rows, above 0 and below 1, such as 0.03.",
        )
    return float(capacity)


def check_folder(path: str | Path) -> None:
    """Refuse a file to be written into a folder that does not exist, before the work is
    done.
    """
    if not Path(path).resolve().parent.is_dir():
        raise OptionError(
            f"there is no folder for '{path}'.", "Create it first, or write elsewhere."
        )


def _is_real(value: Any) -> bool:
    return isinstance(value, float | int | np.floating | np.integer) and not isinstance(
        value, bool
    )


def _subject(name: str) -> str:
    """An argument between backticks, as messages name it; other subjects, such as "a
    sample size", as they are.
    """
    return f"`{name}`" if name.isidentifier() else name


# Types of deserialized data -----------------------------------------------------------


def check_types(value: Any) -> None:
    """Raise a `TypeError` for the first field of a dataclass whose value is not of the
    type it declares.
    """
    hints = get_type_hints(type(value))
    for one in fields(value):
        found = getattr(value, one.name)
        if not conforms(found, hints[one.name]):
            raise TypeError(f"{one.name} is {found!r}")


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; a truth value is not a number, and a whole number
    is a number.

    >>> (
    ...     conforms(0, bool),
    ...     conforms(True, int),
    ...     conforms(1, float),
    ...     conforms(["a"], tuple[str, ...]),
    ... )
    (False, False, True, False)
    >>> (
    ...     conforms({"a": 0.5}, float | Mapping[str, float]),
    ...     conforms("b", Literal["a"]),
    ...     conforms("b", Sequence[str]),
    ... )
    (True, False, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if hint in (None, NoneType):
        return value is None
    if origin in (Union, UnionType):
        return any(conforms(value, one) for one in inner)
    if origin is Literal:
        return any(value == one and type(value) is type(one) for one in inner)
    if origin is tuple and inner[-1] is not Ellipsis:
        return (
            isinstance(value, tuple)
            and len(value) == len(inner)
            and all(map(conforms, value, inner))
        )
    if origin in (tuple, list, Sequence):
        kind = list | tuple if origin is Sequence else origin
        return isinstance(value, kind) and all(conforms(one, inner[0]) for one in value)
    if is_typeddict(hint):
        hints = get_type_hints(hint)
        same = isinstance(value, dict) and value.keys() == hints.keys()
        return same and all(conforms(value[key], one) for key, one in hints.items())
    if isinstance(origin, type) and issubclass(origin, Mapping):
        pairs = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(
            conforms(key, inner[0]) and conforms(one, inner[1]) for key, one in pairs
        )
    if hint in (int, float):
        return isinstance(
            value, int if hint is int else int | float
        ) and not isinstance(value, bool)
    kind = np.ndarray if origin is np.ndarray else hint
    return not isinstance(kind, type) or isinstance(value, kind)


# Values on the command line -----------------------------------------------------------


def parse_names(texts: str | Sequence[str] | None) -> list[str]:
    """Names between commas, in one text or in several; a name with a comma stands in
    double quotes, as in a CSV file.

    >>> parse_names("age, sex"), parse_names(["age,sex", '"income, net"'])
    (['age', 'sex'], ['age', 'sex', 'income, net'])
    """
    names: list[str] = []
    for text in [texts] if isinstance(texts, str) else texts or []:
        try:
            names += next(csv.reader([text], skipinitialspace=True, strict=True), [])
        except csv.Error:
            hint = (
                "Write names between commas, and a name with a comma in double quotes."
            )
            raise OptionError(f"{text} does not close its quotes.", hint) from None
    return [name.strip() for name in names if name.strip()]


def _pairs(
    texts: str | Sequence[str], separator: str, *, last: bool = False
) -> list[tuple[str, str]]:
    """Names with values; the name ends at the first separator, or at the last."""
    pairs = [
        part.rpartition(separator) if last else part.partition(separator)
        for part in parse_names(texts)
    ]
    if not all(
        between and name.strip() and value.strip() for name, between, value in pairs
    ):
        raise ValueError("a name without a value")
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _numbers(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in _pairs(text, ":", last=True)}


def parse_delta(text: str) -> float | dict[str, float]:
    """One number, or one for each group.

    >>> parse_delta("white:0.02,black:0")
    {'white': 0.02, 'black': 0.0}
    """
    return _numbers(text) if ":" in text else float(text)


def parse_positive(texts: str | Sequence[str]) -> dict[str, str] | list[str]:
    """Which value of a column is meant, for each column; or bare values.

    >>> parse_positive("default=no,approved=yes"), parse_positive(["yes"])
    ({'default': 'no', 'approved': 'yes'}, ['yes'])
    """
    given = list(dict.fromkeys(parse_names(texts)))
    return dict(_pairs(texts, "=")) if any("=" in one for one in given) else given


# Values in a protocol -----------------------------------------------------------------


def plain_positive(value: Any) -> dict[str, str] | list[str]:
    """`positive` as a protocol holds it, its values as a file has them: 1, not 1.0."""

    def label(one: Any) -> str:
        if isinstance(one, str | bool | int):
            return str(one)
        number = float(one)
        return str(int(number)) if number.is_integer() else repr(number)

    if isinstance(value, Mapping):
        return {str(column): label(one) for column, one in value.items()}
    return list(as_names(value))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return value if isinstance(value, str) else float(value)


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of value; each is one object."""

    words: str  # what a value must be, for messages: "It must be a whole number."
    hint: Any  # the type of what a protocol may hold
    plain: Callable[[Any], Any]  # a value of Python as a protocol holds it
    # from the command line; ValueError where it is not one
    parse: Callable[[Any], Any] = lambda value: value
    example: str = ""  # how it is written on the command line
    # what the command line reads before `parse`; of a list, each is an option
    option: Any = str
    length: int | None = None  # how many values a list must have

    def accepts(self, value: Any) -> bool:
        """Whether a value of a protocol is of this kind."""
        return conforms(value, self.hint) and (
            self.length is None or len(value) == self.length
        )


TEXT = Kind("text", str, str)
NUMBER = Kind("a number", float, float, option=float)
WHOLE = Kind("a whole number", int, int, option=int)
FLAG = Kind("true or false", bool, bool, option=bool)
TEXTS = Kind(
    "a list of texts",
    str | list[str],
    lambda value: list(as_names(value)),
    option=list[str],
    parse=lambda texts: list(dict.fromkeys(parse_names(texts))),
    example="names between commas, and a name with a comma in double quotes",
)
POSITIVE = Kind(
    "a value, or a table with one for each column",
    str | list[str] | Mapping[Any, str | float | bool],
    plain_positive,
    parse=parse_positive,
    example="default=no,approved=yes",
    option=list[str],
)
RANGE = Kind(
    "two numbers, the lowest and the highest",
    Sequence[float],
    lambda value: [float(end) for end in value],
    parse=lambda text: [*map(float, parse_names(text))],
    example="0,50000",
    length=2,
)
CAPACITY = Kind(
    f"a number, or '{SAME}'",
    float | Literal["same", "status_quo"],
    _plain,
    parse=lambda text: SAME_SHARE if text in (SAME, SAME_SHARE) else float(text),
    example="0.03 or same",
)
SIGNS = Kind(
    "a table",
    Mapping,
    _plain,
    parse=lambda text: dict(_pairs(text, ":", last=True)),
    example="age:+ or age:+,income:-",
)
LABELS = Kind(
    "a table of texts",
    Mapping[Any, str],
    _plain,
    parse=lambda text: dict(_pairs(text, ":")),
    example="column:words, or column:words,other:words",
)
COLUMNS_OF = Kind(
    "a table with a column for each group",
    Mapping[Any, str],
    _plain,
    parse=lambda text: dict(_pairs(text, "=")),
    example="white=p_white,black=p_black",
)
SHARES = Kind(
    "a table with a share for each group",
    Mapping[Any, float],
    _plain,
    parse=_numbers,
    example="white:0.6,black:0.4",
)
DELTA = Kind(
    "a number, or a table with one for each group",
    float | Mapping[Any, float],
    _plain,
    parse=parse_delta,
    example="0.05, or white:0.02,black:0",
)
WEIGHTS = Kind(
    f"'{POPULATION}', or a table with a weight for each group",
    str | Mapping,
    _plain,
    parse=lambda text: text if text == POPULATION else _numbers(text),
    example=f"{POPULATION}, or white:0.5,black:0.5",
)


# Settings -----------------------------------------------------------------------------

AUDIT, COMPARE, POWER = "audit", "compare", "power"
EVERYWHERE, SEARCHING, TESTING = (
    (AUDIT, COMPARE, POWER),
    (AUDIT, POWER),
    (AUDIT, COMPARE),
)
COLUMNS, GROUPS, STATUS_QUO, RULE, CONSTRAINTS = (
    "columns",
    "groups",
    "status_quo",
    "rule",
    "constraints",
)
CLAIM, TEST, READ, REPORT = "claim", "test", "read", "report"
SECTIONS = {
    COLUMNS: "Columns of the data.",
    GROUPS: "Which groups count, and how.",
    STATUS_QUO: (
        "The algorithm in use: a decision; or a score with a capacity; or a score with "
        "a cutoff (above)."
    ),
    RULE: "How a candidate is found.",
    CONSTRAINTS: "What a candidate must respect.",
    CLAIM: "The improvement to be shown.",
    TEST: "How it is tested.",
    READ: "How the data are read, and what their values mean.",
    REPORT: "Whose audit this is, and in what words. Nothing here changes a number.",
}
"""Sections of a protocol and panels of --help, in order. In Python, most are a value
object.
"""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is known of one setting."""

    name: str
    kind: Kind
    help: str
    section: str  # of a protocol, and panel of the help
    key: str  # in the section
    flag: str  # on the command line; one that takes no value turns the default around
    flag_help: str = ""  # what the flag does, where that is not `help`
    commands: tuple[str, ...] = EVERYWHERE  # that take it
    in_protocol: bool = True  # whether a protocol may hold it
    identity: bool = True  # whether two runs that differ in it are two audits
    unset: str = ""  # what holds where it is None, in words
    # another setting and its value, without which this one means nothing
    needs: tuple[str, str] | None = None
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()  # the only strings that are allowed; any where empty


def option(help: str, default: Any = MISSING, **known: Any) -> Any:  # noqa: A002
    """A field of a dataclass that is a setting; `known` are attributes of `Setting`.
    Its type says its kind, mostly.
    """
    return field(default=default, metadata={"help": help, **known})


of_columns, of_groups, of_claim, of_test, of_read = (
    partial(option, section=section) for section in (COLUMNS, GROUPS, CLAIM, TEST, READ)
)
of_rule, of_constraints = (
    partial(option, section=section, commands=SEARCHING)
    for section in (RULE, CONSTRAINTS)
)
of_report = partial(option, section=REPORT, commands=TESTING, identity=False)


def make_setting(name: str, **known: Any) -> Setting:
    return Setting(
        **{"name": name, "key": name, "flag": f"--{name.replace('_', '-')}", **known}
    )


def settings_of(declared: type) -> dict[str, Setting]:
    """The settings that a dataclass declares, by name."""
    out = {}
    for one in fields(declared):
        parts: tuple[Any, ...] = (one.type, *get_args(one.type))
        choices = next(
            (get_args(part) for part in parts if get_origin(part) is Literal), ()
        )
        plain = {bool: FLAG, int: WHOLE, float: NUMBER}.get(
            parts[1] if len(parts) > 1 else parts[0], TEXT
        )
        kind = TEXTS if any(get_origin(part) is Sequence for part in parts) else plain
        known = {"kind": kind, **one.metadata}
        known |= (
            {"required": True} if one.default is MISSING else {"default": one.default}
        )
        out[one.name] = make_setting(
            one.name, choices=choices if known["kind"] is TEXT else (), **known
        )
    return out
