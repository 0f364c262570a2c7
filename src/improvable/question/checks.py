"""Checks that every public function shares: names, choices, numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from improvable.errors import OptionError, nearest


def as_specs(spec: Any) -> list[Any]:
    return list(spec) if isinstance(spec, list | tuple) else [spec]


def as_names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(map(str, names)))


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionError(f"{_subject(name)} is {value!r}.", nearest(str(value), known))


def check_number(name: str, value: float, low: float, high: float, *, high_included: bool = False) -> None:
    good = isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)
    if not good or not (low < value < high or (high_included and value == high)) or not np.isfinite(value):
        bounds = [f"above {low:g}"] if np.isfinite(low) else []
        if np.isfinite(high):
            bounds.append(f"{'at most' if high_included else 'below'} {high:g}")
        raise OptionError(
            f"{_subject(name)} is {value}.", f"It must be a number{' ' if bounds else ''}{' and '.join(bounds)}."
        )


def check_integer(name: str, value: int, low: int, high: int | None = None) -> None:
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not good or value < low or (high is not None and value > high):
        most = "" if high is None else f" and at most {high:,}"
        raise OptionError(
            f"{_subject(name)} is {_short(value)}.", f"It must be a whole number, at least {low:,}{most}."
        )


def _subject(name: str) -> str:
    """An argument as messages name it; what is no argument, such as "a sample size", as it is."""
    return f"`{name}`" if name.isidentifier() else name


def _short(value: Any) -> str:
    """A value in a message: Python itself refuses to print a whole number of thousands of digits."""
    if isinstance(value, int) and abs(value) >= 10**24:
        return f"a number of about {int(value.bit_length() * 0.30103) + 1:,} digits"
    return str(value)


SAME_SHARE = "status_quo"
"""A candidate's capacity that is the share which the status quo selects."""
SAME = "same"
"""How people write it."""


def check_capacity(capacity: Any) -> float:
    number = isinstance(capacity, float | int | np.floating | np.integer) and not isinstance(capacity, bool)
    if not number or not 0 < capacity < 1:
        raise OptionError(
            f"`capacity` is {capacity:g}." if number else f"`capacity` is {capacity!r}.",
            "It is a share of the rows, above 0 and below 1, such as 0.03.",
        )
    return float(capacity)
