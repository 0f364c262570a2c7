"""One spelling of an argument in every message, and how each surface says it.

A message names a setting between backticks: ``Drop those rows: `drop_missing=True`.`` An error in Python says in which
object it goes, the command line says ``--drop-missing``, and a page names its control.
"""

import ast
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from improvable.question.options import SAME_SHARE, Setting
from improvable.question.settings import HELD, SETTINGS, STATUS_QUO_KEYS, in_object

NAMED = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")
KNOWN: dict[str, Setting] = {**STATUS_QUO_KEYS, **SETTINGS}
OF_STUDIES = {name: f"--{name}" for name in ("simulations", "fits", "rows", "epsilon")}
"""Arguments of plans and games that are no settings of an audit."""


def respell(text: str, say: Callable[[str, str | None], str]) -> str:
    """A message in which every argument is named as `say` has it, from its name and, where it has one, its value."""
    return NAMED.sub(lambda found: say(found[1], found[2]) if found[1] in KNOWN else found[0], text)


def as_arguments(text: str) -> str:
    """A message as Python says it.

    Examples
    --------
    >>> as_arguments("Drop those rows: `drop_missing=True`, or those of `small='pool'`; `draws` is 3.")
    "Drop those rows: `read=Read(drop_missing=True)`, or those of `group=Groups(..., small='pool')`; `draws` is 3."
    """

    def say(name: str, value: str | None) -> str:
        given = name if value is None else in_object(name, value) if name in HELD else f"{name}={value}"
        return f"`{given}`"

    return respell(text, say)


def as_options(text: str) -> str:
    """A message as the command line says it.

    Examples
    --------
    >>> as_options("Drop those rows: `drop_missing=True`, or use `scheme='split'`.")
    'Drop those rows: --drop-missing, or use --scheme split.'
    >>> as_options("Say which is meant: `positive={'default': 'no', 'approved': 'yes'}`.")
    'Say which is meant: --positive default=no,approved=yes.'
    >>> as_options("`capacity='status_quo'`, `group_blind=False`, `exclude=['a', 'b c']`, `row_id`, `row_id=...`")
    "--capacity same, --allow-group, --exclude 'a,b c', --row-id, --row-id ..."
    """
    for name, flag in OF_STUDIES.items():
        text = text.replace(f"`{name}`", flag)
    return respell(text, as_option)


def as_option(name: str, value: str | None) -> str:
    """An argument as an option."""
    flag = KNOWN[name].flag
    if value is None or value in ("True", "False"):
        return flag
    try:
        text = _joined(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return f"{flag} {value}"
    return f"{flag} {text if text == '...' else shlex.quote(text)}"


def _joined(value: Any) -> str:
    if value is Ellipsis:
        return "..."
    if value == SAME_SHARE:
        return "same"
    if isinstance(value, Mapping):
        return ",".join(f"{column}={_joined(one)}" for column, one in value.items())
    if isinstance(value, list | tuple):
        return ",".join(f'"{one}"' if "," in str(one) else str(one) for one in value)
    return str(value)
