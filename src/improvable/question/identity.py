"""What makes two runs the same: everything that was asked, objects and functions included, as plain data."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from improvable.errors import OptionError
from improvable.question.checks import as_specs
from improvable.question.declaration import stated
from improvable.question.kinds import TEXTS
from improvable.question.settings import Settings
from improvable.question.status_quo import in_writing


def asked_identity(settings: Settings) -> dict[str, Any]:
    """Every setting that tells one audit from another, by name; the same however it was asked."""
    plain: dict[str, Any] = {}
    for setting, value in stated(settings):
        if setting.identity:
            plain[setting.name] = described(as_specs(value) if setting.kind is TEXTS else value)
    return plain | {"status_quo": in_writing(settings.status_quo) or described(settings.status_quo)}


def described(value: Any) -> Any:
    """A value as plain data that is the same exactly where the value does the same.

    Examples
    --------
    >>> described(lambda rows: rows > 1) == described(lambda rows: rows > 2)
    False
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
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
            f"a {type(value).__name__} cannot be told apart from others, so its run cannot be kept in a folder.",
            "Omit run_folder, or make the object one that can be pickled.",
        ) from error
