"""Writes what is made from the settings: the table of `reference/settings.md`, and the protocol in the JSON schema."""

import json
import re
from pathlib import Path
from typing import Any

from improvable.question.reference import protocol_schema, settings_table

REFERENCE = Path(__file__).parent / "reference"
PAGE, SCHEMA = REFERENCE / "settings.md", REFERENCE / "result.schema.json"
OPEN = 4
"""Levels of the protocol's schema that take a line for each of their keys."""
HEAD = """\
# Settings

Each row is one setting: an argument of `improvable.audit`, an option of the commands named, and a key of a
[protocol](../how-to/seal-and-verify.md). Arguments that cannot change a result (`n_jobs`, `progress`, `run_folder`) are
not settings. An option that takes no value turns its default around.

This page is made from the declaration of the settings: `python docs/settings.py` writes it.

"""


def page() -> str:
    """The page."""
    return f"{HEAD}{settings_table()}\n"


def schema(before: str) -> str:
    """The text of the result's schema with the protocol as it is now."""
    now = f'    "protocol": {_lines(protocol_schema(), 4, OPEN)},'
    return re.sub(r'^    "protocol": \{\n.*?^    \},', lambda _: now, before, flags=re.MULTILINE | re.DOTALL)


def _lines(value: Any, indent: int, levels: int) -> str:
    """JSON with a line for each key of the outer levels."""
    if not isinstance(value, dict) or not levels:
        return json.dumps(value)
    inner = [
        f"{' ' * (indent + 2)}{json.dumps(key)}: {_lines(one, indent + 2, levels - 1)}" for key, one in value.items()
    ]
    return "{\n" + ",\n".join(inner) + f"\n{' ' * indent}}}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    SCHEMA.write_text(schema(SCHEMA.read_text(encoding="utf-8")), encoding="utf-8")
