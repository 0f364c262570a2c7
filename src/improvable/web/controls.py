"""Messages in the words of the page: where the library names an argument, the page names its own control."""

import ast
import re
from collections.abc import Mapping
from typing import Any

from improvable.question.argument_names import KNOWN, respell
from improvable.question.checks import FLAG

CONTROLS = {
    "drop_missing": "Leave out rows that lack a value",
    "strip": "They are one value",
    "na": "Values that mean missing",
    "positive": "Whom should the algorithm select",
    "lower_is_better": "Whom should the algorithm select",
    "direction": "It is as stated",
    "outcome": "How each person fared",
    "group": "The groups to compare",
    "decision": "The algorithm in use",
    "score": "The algorithm in use",
    "status_quo": "The algorithm in use",
    "above": "or more",
    "exclude": "leave it out",
    "features": "a candidate may read it",
    "row_id": "id of a row",
    "weight": "sampling weight",
    "cluster": "which rows belong together",
    "stratum": "survey stratum",
    "duplicates": "Rows that are the same",
    "sheet": "Sheet",
    "separator": "Separator",
    "decimal": "Decimal mark",
    "encoding": "Encoding",
    "rule": "Look with",
    "capacity": "How many people it selects",
    "accuracy": "What accuracy is",
    "fairness": "What the gap is measured by",
    "no_worse": "How accurate it must be",
    "delta_fairness": "How much smaller",
    "selection": "What being selected means",
    "scheme": "How to test",
    "alpha": "Level of the test",
    "group_blind": "A candidate may read the group",
    "organization": "Organization",
    "system": "System",
    "author": "Author",
    "date": "Date",
    "challenge": "A text that the other side chooses",
    "seal": "The seal that you agreed to",
}
"""The label of the control for each setting that the page offers."""
OFFERED_VALUES = {
    "scheme": {"split": "As in the paper", "forward": "Forward"},
    "capacity": {"status_quo": "the same share of people"},
    "duplicates": {"keep": "different people", "cluster": "copies"},
}
FLAGGED = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)( (?:'[^']*'|[A-Z|]+|\d[\d.]*|\.\.\.))?")
"""An option, in a text that was written for the command line alone."""
NAMES = {setting.flag: name for name, setting in KNOWN.items()}


def spoken(text: str) -> str:
    """A message as the page says it.

    Examples
    --------
    >>> spoken("Drop those rows: `drop_missing=True`, or use `scheme='split'`.")
    'Drop those rows: “Leave out rows that lack a value”, or use “As in the paper”.'
    >>> spoken("Exclude it: `exclude=['late']`. Raise `train_rows=5`.")
    'Exclude it: “leave it out” for late. Raise train rows, which only the command line offers.'
    >>> spoken("Is this yours? Give it: --seal FILE|DIGEST")
    'Is this yours? Give it: “The seal that you agreed to”'
    """
    return FLAGGED.sub(_of_flag, respell(text, _control))


def sentence(text: str) -> str:
    """The same as a sentence of its own.

    Examples
    --------
    >>> sentence("no column has the groups.")
    'No column has the groups.'
    """
    said = spoken(text)
    return said[:1].upper() + said[1:]


def _control(name: str, value: str | None) -> str:
    if name not in CONTROLS:
        return f"{name.replace('_', ' ')}, which only the command line offers"
    read = _read(value)
    if name in OFFERED_VALUES and isinstance(read, str) and read in OFFERED_VALUES[name]:
        return f"“{OFFERED_VALUES[name][read]}”"
    label = f"“{CONTROLS[name]}”"
    if name == "positive" and isinstance(read, Mapping):
        return " and ".join(
            f"{column} = {one}" if one is not ... else f"{label} ({column})" for column, one in read.items()
        )
    listed = ", ".join(map(str, read)) if isinstance(read, list | tuple) else read
    if name in ("exclude", "features", "cluster", "row_id") and isinstance(listed, str):
        return f"{label} for {listed}"
    return f"{label}: {listed}" if name == "na" and isinstance(listed, str) else label


def _read(value: str | None) -> Any:
    try:
        return None if value is None else ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return None


def _of_flag(found: re.Match[str]) -> str:
    name = NAMES.get(f"--{found[1]}", found[1].replace("-", "_"))
    if name not in CONTROLS:
        return f"“{found[1].replace('-', ' ')}” on the command line"
    kept = (found[2] or "") if name in KNOWN and KNOWN[name].kind is FLAG else ""
    return _control(name, None) + kept
