"""What makes two runs the same: everything that was asked, objects and functions included, as plain data."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType
from typing import Any

from improvable.algorithms.deciding import as_algorithm
from improvable.errors import OptionError
from improvable.question.checks import as_specs
from improvable.question.settings import Settings

ROWS_ASKED = ("groups", "cross", "min_group", "small", "drop_missing")
"""Settings that say which rows and groups are analysed, and are not kept in a result."""


def asked_identity(settings: Settings) -> dict[str, Any]:
    """What of the settings a result does not keep, or keeps by name only."""
    return {
        **{name: described(getattr(settings, name)) for name in ROWS_ASKED},
        "rule": described(settings.rule),
        "status_quo": described(as_algorithm(settings.status_quo)),
        "utilities": described([as_specs(settings.accuracy), as_specs(settings.fairness or [])]),
    }


def described(value: Any) -> Any:
    """A value as plain data that is the same exactly where the value does the same.

    Examples
    --------
    >>> described(lambda rows: rows > 1) == described(lambda rows: rows > 2)
    False
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): described(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [described(one) for one in value]
    if isinstance(value, FunctionType):
        closed = [cell.cell_contents for cell in value.__closure__ or ()]
        return ["function", _code(value.__code__), described(value.__defaults__), described(closed)]
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: described(getattr(value, field.name)) for field in fields(value)}
        return [type(value).__qualname__, named]
    return [f"{type(value).__module__}.{type(value).__qualname__}", _hash(value)]


def _code(code: CodeType) -> list[Any]:
    constants = [_code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names)]


def _hash(value: Any) -> str:
    """Of an estimator, fitted or not, or of any other object that can be written down."""
    from joblib import hash as content_hash

    try:
        return str(content_hash(value))
    except Exception as error:
        raise OptionError(
            f"a {type(value).__name__} cannot be told from another, so a run with it cannot be kept in a folder.",
            "Leave run_folder away, or make the object one that can be pickled.",
        ) from error
