"""Settings described for machines and for readers: the JSON schema of a protocol, and a table."""

from typing import Any

from improvable.errors import one_of
from improvable.question.describing import SECTIONS, STATUS_QUO, Setting
from improvable.question.kinds import FLAG
from improvable.question.settings import SETTINGS, STATUS_QUO_KEYS, section_keys
from improvable.question.status_quo import WAYS

ESCAPED = r"\*"
NEEDED = {"columns": ["outcome", "group"], "rule": ["name"]}


def protocol_schema() -> dict[str, Any]:
    """The JSON schema of a protocol: what a TOML file may hold, and what a result remembers as declared.

    Examples
    --------
    >>> protocol_schema()["properties"]["claim"]["properties"]["gap"]["enum"]
    ['signed', 'absolute']
    """
    return {
        "type": "object",
        "description": "What an audit was asked, as a protocol declares it.",
        "required": ["columns", "status_quo", "rule"],
        "properties": {section: _section_schema(section, words) for section, words in SECTIONS.items()},
        "additionalProperties": False,
    }


def _section_schema(section: str, words: str) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "description": words,
        "properties": {key: _key_schema(setting) for key, setting in section_keys(section).items()},
        "additionalProperties": False,
    }
    if section in NEEDED:
        schema["required"] = NEEDED[section]
    if section == STATUS_QUO:
        ways = [[key for key in STATUS_QUO_KEYS if key in way] for way in WAYS]
        schema["oneOf"] = [{"required": way, "maxProperties": len(way)} for way in ways]
    return schema


def _key_schema(setting: Setting) -> dict[str, Any]:
    allowed = {"enum": list(setting.choices)} if setting.choices else dict(setting.kind.schema)
    return {**allowed, "description": setting.help}


def settings_table() -> str:
    """Every setting as a Markdown table: in Python, on the command line, in a protocol, its default, what it means."""
    rows = [_row(setting) for setting in SETTINGS.values() if setting.name != "seal"]
    head = ["| argument | option | commands | protocol | value | default | meaning |", "|---|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def _row(setting: Setting) -> str:
    flags, commands = [setting.flag], setting.commands
    protocol = f"`[{setting.section}] {setting.key}`" if setting.section else "in the seal"
    value = one_of(f"`{one}`" for one in setting.choices) if setting.choices else setting.kind.words
    meaning = setting.help
    if setting.name == STATUS_QUO:
        flags, commands = [one.flag for one in STATUS_QUO_KEYS.values()], STATUS_QUO_KEYS["score"].commands
        protocol, value, meaning = f"`[{STATUS_QUO}]`", "an algorithm", SECTIONS[STATUS_QUO]
    options = ", ".join(f"`{flag}`" for flag in flags)
    cells = [f"`{setting.name}`", options, ", ".join(commands), protocol, value, _default(setting), meaning]
    return f"| {' | '.join(cell.replace('*', ESCAPED) for cell in cells)} |"


def _default(setting: Setting) -> str:
    if setting.required:
        return "required"
    if setting.default is None or setting.default == ():
        return setting.unset or "none"
    if setting.kind is FLAG:
        return "true" if setting.default else "false"
    return f"`{setting.default}`" if isinstance(setting.default, str) else f"{setting.default:,}"
