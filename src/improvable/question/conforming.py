"""Plain data that came from a file, held to the types that a class declares."""

from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


def check_types(value: Any) -> None:
    """Raise a `TypeError` for the first field of a dataclass whose value is not of the type it declares."""
    hints = get_type_hints(type(value))
    for field in fields(value):
        found = getattr(value, field.name)
        if not conforms(found, hints[field.name]):
            raise TypeError(f"{field.name} is {found!r}")


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; a truth value is no number, and a whole number is a number.

    Examples
    --------
    >>> conforms(0, bool), conforms(True, int), conforms(1, float), conforms(["a"], tuple[str, ...])
    (False, False, True, False)
    >>> conforms({"a": 0.5}, float | Mapping[str, float]), conforms("b", Literal["a"])
    (True, False)
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
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(conforms, value, inner))
    if origin in (tuple, list):
        return isinstance(value, origin) and all(conforms(one, inner[0]) for one in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        pairs = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(conforms(key, inner[0]) and conforms(one, inner[1]) for key, one in pairs)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)
