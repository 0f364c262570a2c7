"""Deltas: one number for all, one for each group, one for each utility, or one for each utility and group."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from improvable.errors import OptionError, nearest
from improvable.question.checks import check_number

Delta: TypeAlias = float | Mapping[str, float | Mapping[str, float]]
"""Of accuracy. The keys are groups or utilities; those of an inner table are groups."""
GapDelta: TypeAlias = float | Mapping[str, float]
"""Of the gap. The keys are utilities."""


def accuracy_delta(delta: Delta, utilities: Sequence[str]) -> Delta:
    """Check an accuracy delta, and bring it into one of its four forms.

    Parameters
    ----------
    delta : float or mapping
        Keys that are all groups, or all utilities.
    utilities : sequence of str
        Labels of the accuracy utilities.

    Examples
    --------
    >>> accuracy_delta({"calibration": {"a": 0.02, "b": 0}, "lift": 0.1}, ["calibration", "lift"])
    {'calibration': {'a': 0.02, 'b': 0.0}, 'lift': 0.1}
    """
    if not isinstance(delta, Mapping):
        return _number("delta_accuracy", delta)
    named = {str(key): value for key, value in delta.items()}
    for key, value in named.items():
        if isinstance(value, Mapping) and key not in utilities:
            raise OptionError(f"`delta_accuracy` names '{key}', which is no accuracy utility.", nearest(key, utilities))
    if any(key in utilities for key in named):
        _check_names("delta_accuracy", list(named), utilities, "accuracy")
    out: dict[str, float | Mapping[str, float]] = {}
    for key, value in named.items():
        if isinstance(value, Mapping):
            out[key] = {str(group): _number("delta_accuracy", one) for group, one in value.items()}
        else:
            out[key] = _number("delta_accuracy", value)
    return out


def gap_delta(delta: GapDelta, utilities: Sequence[str]) -> GapDelta:
    """Check a delta of the gap: one number, or one for each fairness utility."""
    if not isinstance(delta, Mapping):
        return _number("delta_fairness", delta)
    named = {str(key): _number("delta_fairness", value) for key, value in delta.items()}
    _check_names("delta_fairness", list(named), utilities, "fairness")
    return named


def every_delta(delta: Delta | GapDelta) -> Iterator[float]:
    """All the numbers in it."""
    if not isinstance(delta, Mapping):
        yield delta
        return
    for value in delta.values():
        yield from every_delta(value)


def turned(delta: Delta, change: Callable[[str, float], float], utilities: Sequence[str]) -> Delta:
    """The same deltas after `change(utility, number)`, each of a utility of its own."""

    def of(utility: str, value: float | Mapping[str, float]) -> float | Mapping[str, float]:
        if isinstance(value, Mapping):
            return {group: change(utility, one) for group, one in value.items()}
        return change(utility, value)

    own = {utility: delta_in(delta, utility) for utility in utilities}
    return {utility: of(utility, value) for utility, value in own.items()}


def delta_in(delta: Delta, utility: str) -> float | Mapping[str, float]:
    """What a delta asks in one utility: of all groups, or of each."""
    if not isinstance(delta, Mapping):
        return delta
    if utility in delta:
        return delta[utility]
    return {group: value for group, value in delta.items() if not isinstance(value, Mapping)}


def groups_named(delta: Delta, utilities: Sequence[str]) -> list[Mapping[str, float]]:
    """The tables in it whose keys are groups."""
    tables = [delta_in(delta, utility) for utility in utilities or [""]]
    return [table for table in tables if isinstance(table, Mapping)]


def _number(name: str, value: float) -> float:
    check_number(name, value, -np.inf, np.inf)
    return float(value)


def _check_names(setting: str, given: Sequence[str], utilities: Sequence[str], kind: str) -> None:
    for name in given:
        if name not in utilities:
            raise OptionError(f"`{setting}` names '{name}', which is no {kind} utility.", nearest(name, utilities))
    for name in utilities:
        if name not in given:
            raise OptionError(
                f"`{setting}` has nothing for the utility '{name}'.", "Give one number, or one for every utility."
            )
