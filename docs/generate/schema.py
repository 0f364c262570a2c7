"""The schema `reference/result.schema.json`: types from `improvable.results.facts`,
words from `result_words.toml`.
"""

import json
import re
import tomllib
import types
from pathlib import Path
from typing import (
    Annotated,
    Any,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from docs.generate.settings import protocol_schema
from improvable.results.facts import Facts

REFERENCE = Path(__file__).parents[1] / "reference"
SCHEMA, WORDS = REFERENCE / "result.schema.json", REFERENCE / "result_words.toml"
PLAIN = {
    str: "string",
    float: "number",
    int: "integer",
    bool: "boolean",
    types.NoneType: "null",
}
SELDOM = {"asked_again"}
"""Keys that not every audit has."""
HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The result of improvable audit and improvable compare",
    "description": (
        "What --json writes and to_dict() returns. A key that is not defined here is "
        "not written."
    ),
    "type": "object",
    "allOf": [{"$ref": "#/$defs/common"}],
    "if": {"properties": {"kind": {"const": "audit"}}},
    "then": {"$ref": "#/$defs/audit"},
    "unevaluatedProperties": False,
}


def pages() -> dict[Path, str]:
    """The schema as the types and the settings are declared."""
    parts = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in HEAD.items()]
    made = {name: _lines(part, 4, 2) for name, part in _definitions().items()}
    protocol = _lines(protocol_schema(), 4, 4)
    definitions = {
        "common": made.pop("common"),
        "audit": made.pop("audit"),
        "protocol": protocol,
        **made,
    }
    inner = ",\n".join(
        f"    {json.dumps(name)}: {text}" for name, text in definitions.items()
    )
    return {
        SCHEMA: "{\n" + ",\n".join([*parts, f'  "$defs": {{\n{inner}\n  }}']) + "\n}\n"
    }


def _definitions() -> dict[str, dict[str, Any]]:
    """Every object of a result, the whole first."""
    words = tomllib.loads(WORDS.read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = {}
    whole = _object(Facts, found)["properties"]
    for name, keys in (
        ("common", Facts.__required_keys__),
        ("audit", Facts.__optional_keys__),
    ):
        properties = {key: value for key, value in whole.items() if key in keys}
        required = [key for key in properties if key not in SELDOM]
        found[name] = {"type": "object", "required": required, "properties": properties}
    found["protocol_declared"]["properties"]["declared"] = {"$ref": "#/$defs/protocol"}
    for name, said in words.items():
        properties = found[name]["properties"]
        if list(said) != list(properties):
            raise ValueError(
                f"[{name}] has words for {sorted(set(said) ^ set(properties))}, or in "
                "another order."
            )
        found[name]["properties"] = {
            key: value | {"description": said[key]} for key, value in properties.items()
        }
    return dict(sorted(found.items()))


def _name(kind: type) -> str:
    words = kind.__name__.removesuffix("Facts")
    plain = re.sub(r"(?<!^)(?=[A-Z])", "_", words).lower()
    return "protocol_declared" if plain == "protocol" else plain


def _object(kind: Any, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    properties = {key: _schema(hint, found) for key, hint in hints.items()}
    required = [key for key in hints if key in kind.__required_keys__]
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def _schema(hint: Any, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    origin, args = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if hint is Any:
        return {}
    if is_typeddict(hint):
        if _name(hint) not in found:
            found[_name(hint)] = {}
            found[_name(hint)] = _object(hint, found)
        return {"$ref": f"#/$defs/{_name(hint)}"}
    if origin is NotRequired:
        return _schema(args[0], found)
    if origin is Annotated:
        return _limited(_schema(args[0], found), hint.__metadata__[0])
    if origin is list:
        return {"type": "array", "items": _schema(args[0], found)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(args[1], found)}
    if origin in (Union, types.UnionType):
        parts = [_schema(one, found) for one in args]
        if all(set(part) == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"anyOf": parts}
    raise TypeError(f"There is no schema for {hint}.")


def _limited(part: dict[str, Any], limits: tuple[Any, ...]) -> dict[str, Any]:
    """Texts to choose from, the limits of a number, or of how many items a list has."""
    if part["type"] == "array":
        names = ("minItems", "maxItems")
    elif part["type"] == "number":
        names = ("minimum", "maximum")
    else:
        return {"enum": list(limits)}
    return part | {
        name: limit
        for name, limit in zip(names, limits, strict=True)
        if limit is not None
    }


def _lines(value: Any, indent: int, levels: int) -> str:
    """JSON with a line for each key of the outer levels."""
    if not isinstance(value, dict) or not levels:
        return json.dumps(value)
    inner = [
        f"{' ' * (indent + 2)}{json.dumps(key)}: {_lines(one, indent + 2, levels - 1)}"
        for key, one in value.items()
    ]
    return "{\n" + ",\n".join(inner) + f"\n{' ' * indent}}}"
