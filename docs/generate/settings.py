"""What is made from the settings: the page `reference/settings.md`, and the protocol in
the JSON schema.
"""

from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

from improvable.errors import one_of
from improvable.procedure.api import audit
from improvable.question import options as checks
from improvable.question.options import FLAG, SECTIONS, STATUS_QUO, Setting
from improvable.question.protocol import WAYS
from improvable.question.settings import (
    ELSEWHERE,
    OBJECTS,
    SETTINGS,
    STATUS_QUO_KEYS,
    About,
    section_keys,
)

PAGE = Path(__file__).parents[1] / "reference" / "settings.md"
HEAD = """\
# Settings

Each row is one setting: in Python an argument of `improvable.audit` or a field of one of its value objects, an option
of the commands named, and a key of a [protocol](../how-to/seal-and-verify.md). Arguments that cannot change a result
(`n_jobs`, `run_folder`) are not settings. An option that takes no value turns its default around.

The value objects, the sections of a protocol and the panels of `--help` are the same groups. `improvable.Groups` is
given as `group`; `About` is given to `result.report`. What stands in parentheses is for protocols and the command line.

This page is made from the declaration of the settings: `make pages` writes it.

"""  # noqa: E501

ESCAPED = r"\*"
NEEDED = {"columns": ["outcome"], "rule": ["name"]}

NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}
SCHEMAS: dict[checks.Kind, dict[str, Any]] = {
    checks.TEXT: {"type": "string"},
    checks.TEXTS: {"type": ["string", "array"], "items": {"type": "string"}},
    checks.POSITIVE: {
        "anyOf": [
            {"type": ["string", "array"]},
            {
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean"]},
            },
        ]
    },
    checks.NUMBER: {"type": "number"},
    checks.RANGE: {
        "type": "array",
        "items": {"type": "number"},
        "minItems": 2,
        "maxItems": 2,
    },
    checks.CAPACITY: {
        "anyOf": [{"type": "number"}, {"enum": [checks.SAME, checks.SAME_SHARE]}]
    },
    checks.WHOLE: {"type": "integer"},
    checks.FLAG: {"type": "boolean"},
    checks.SIGNS: {
        "type": "object",
        "additionalProperties": {"enum": ["+", "-", 1, -1]},
    },
    checks.LABELS: {"type": "object", "additionalProperties": {"type": "string"}},
    checks.COLUMNS_OF: {"type": "object", "additionalProperties": {"type": "string"}},
    checks.SHARES: NUMBERS,
    checks.DELTA: {
        "type": ["number", "object"],
        "additionalProperties": {"type": "number"},
    },
    checks.WEIGHTS: {"anyOf": [{"const": checks.POPULATION}, NUMBERS]},
}
"""What a protocol may hold, by the kind of a setting."""


def pages() -> dict[Path, str]:
    """The page as the settings are declared."""
    return {PAGE: f"{HEAD}{settings_table()}\n"}


def protocol_schema() -> dict[str, Any]:
    """The JSON schema of a protocol: what a TOML file may hold, and what a result
    remembers as declared.

    Examples
    --------
    >>> protocol_schema()["properties"]["claim"]["properties"]["gap"]["enum"]
    ['signed', 'absolute']
    """
    return {
        "type": "object",
        "description": "What an audit was asked, as a protocol declares it.",
        "required": ["columns", "status_quo", "rule"],
        "properties": {
            section: _section_schema(section, words)
            for section, words in SECTIONS.items()
        },
        "additionalProperties": False,
    }


def _section_schema(section: str, words: str) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "description": words,
        "properties": {
            key: _key_schema(setting) for key, setting in section_keys(section).items()
        },
        "additionalProperties": False,
    }
    if section in NEEDED:
        schema["required"] = NEEDED[section]
    if section == STATUS_QUO:
        ways = [[key for key in STATUS_QUO_KEYS if key in way] for way in WAYS]
        schema["oneOf"] = [{"required": way, "maxProperties": len(way)} for way in ways]
    return schema


def _key_schema(setting: Setting) -> dict[str, Any]:
    allowed = (
        {"enum": list(setting.choices)} if setting.choices else SCHEMAS[setting.kind]
    )
    return {**allowed, "description": setting.help}


def settings_table() -> str:
    """Every setting as a Markdown table: in Python, on the command line, in a protocol,
    its default, what it means.
    """
    every = [
        one
        for section in SECTIONS
        for one in SETTINGS.values()
        if one.section == section
    ]
    rows = [_row(setting) for setting in every if setting.name != "seal"]
    head = [
        "| Python | option | commands | protocol | value | default | meaning |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])


def _row(setting: Setting) -> str:
    flags, commands = [setting.flag], setting.commands
    protocol = f"`[{setting.section}] {setting.key}`" if setting.in_protocol else "none"
    value = (
        one_of(f"`{one}`" for one in setting.choices)
        if setting.choices
        else setting.kind.words
    )
    meaning = setting.help
    if setting.name == STATUS_QUO:
        flags, commands = (
            [one.flag for one in STATUS_QUO_KEYS.values()],
            STATUS_QUO_KEYS["score"].commands,
        )
        protocol, value, meaning = (
            f"`[{STATUS_QUO}]`",
            "an algorithm",
            SECTIONS[STATUS_QUO],
        )
    options = ", ".join(f"`{flag}`" for flag in flags)
    cells = [
        _in_python(setting.name),
        options,
        ", ".join(commands),
        protocol,
        value,
        _default(setting),
        meaning,
    ]
    return f"| {' | '.join(cell.replace('*', ESCAPED) for cell in cells)} |"


def _in_python(name: str) -> str:
    """An argument, a field of a value object, or neither."""
    for kind in (*OBJECTS.values(), About):
        for one in fields(kind):
            if name != "group" and ELSEWHERE.get(one.name, one.name) == name:
                return f"`{kind.__name__}.{one.name}`"
    return f"`{name}`" if name in signature(audit).parameters else f"(`{name}`)"


def _default(setting: Setting) -> str:
    if setting.required:
        return "required"
    if setting.default is None or setting.default == ():
        return setting.unset or "none"
    if setting.kind is FLAG:
        return "true" if setting.default else "false"
    return (
        f"`{setting.default}`"
        if isinstance(setting.default, str)
        else f"{setting.default:,}"
    )
