"""What reference pages take from the program: the commands' own help, and the tables of
the JSON schema.
"""

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

from docs.generate.schema import pages as schema_pages

REFERENCE = Path(__file__).parents[1] / "reference"
BEGIN = "<!-- generated -->"
WIDTH = "80"
TABLES = {
    "common": "Every result",
    "audit": "Audits only",
    "look": "`look`",
    "estimate": "Each entry of `estimates`",
    "spread": "`status_quo` and `candidate` of an estimate",
    "bound": "Each entry of `bounds`",
    "repetition": "Each entry of `repetitions`",
    "component": "Each entry of `components`",
    "interval": "Each entry of `intervals`",
    "disparity": "`disparity`, and each entry of `disparities`",
    "diagnostics": "`diagnostics`",
    "candidate_gap": "Each entry of `candidate_gaps`",
    "selection_rate": "Each entry of `selection_rates`",
    "utility": "Each entry of `accuracy_utilities` and `fairness_utilities`",
}


def pages() -> dict[Path, str]:
    """Each page as it is written, up to its mark, and then what is made."""
    made = {REFERENCE / "commands.md": commands(), REFERENCE / "json.md": tables()}
    return {
        path: (
            f"{path.read_text(encoding='utf-8').partition(BEGIN)[0]}{BEGIN}\n\n{text}\n"
        )
        for path, text in made.items()
    }


def names() -> list[str]:
    """Every command of the program."""
    from improvable.cli import app

    return [
        command.name or command.callback.__name__
        for command in app.registered_commands
        if command.callback
    ]


def commands() -> str:
    """The help of every command, as the program prints it."""
    parts = [f"```text\n{_help([])}\n```"]
    parts += [
        f"## improvable {name}\n\n```text\n{_help([name])}\n```" for name in names()
    ]
    return "\n\n".join(parts)


def _help(words: list[str]) -> str:
    from improvable.cli import built

    before, out = os.environ.get("COLUMNS"), io.StringIO()
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(out):
            built()(
                args=[*words, "--help"], prog_name="improvable", standalone_mode=False
            )
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return out.getvalue().strip()


def tables() -> str:
    """A table of keys for every object of the schema."""
    schema = json.loads(next(iter(schema_pages().values())))
    return "\n\n".join(
        f"## {title}\n\n{_table(schema['$defs'][name])}"
        for name, title in TABLES.items()
    )


def _table(part: dict[str, Any]) -> str:
    lines = ["| key | kind | meaning |", "|---|---|---|"]
    lines += [
        f"| `{key}` | {_kind(value)} | {value['description']} |"
        for key, value in part["properties"].items()
    ]
    return "\n".join(lines)


def _kind(value: dict[str, Any]) -> str:
    if "enum" in value:
        return " or ".join(f"`{one}`" for one in value["enum"])
    if "anyOf" in value:
        return " or ".join(_kind(one) for one in value["anyOf"])
    if "$ref" in value:
        return "pair" if value["$ref"].endswith("/pair") else "object"
    if value.get("maximum") == 1:
        return "number from 0 to 1"
    if value["type"] == "array":
        return f"list of {_kind(value['items'])}"
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    return " or ".join("text" if kind == "string" else kind for kind in kinds)
