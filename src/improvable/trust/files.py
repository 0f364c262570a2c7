"""A declaration as a TOML file, for people to read, sign and exchange."""

import json
import tomllib
from pathlib import Path
from typing import Any

from improvable.data.files import nearest_file, write_whole
from improvable.data.received import ReceivedError, read_bytes
from improvable.errors import OptionError, StorageError
from improvable.question.checks import SECTIONS
from improvable.question.declaration import Declaration, digest_of, from_declaration

HEAD = """\
# What an audit will ask and do, declared before it runs.
# Seal it:  improvable seal {name} --data DATA{sealing}
# Run it:   improvable audit {name} --data DATA{running}
"""


def read_protocol(path: str | Path) -> Declaration:
    """Read a protocol and check it; unknown or contradictory keys are errors with the nearest valid one."""
    place = Path(path)
    try:
        declared: Declaration = tomllib.loads(read_bytes(place).decode())
    except FileNotFoundError as error:
        hint = nearest_file(place, ".toml", "Write one with improvable init.")
        raise OptionError(f"there is no protocol '{place}'.", hint) from error
    except (OSError, UnicodeDecodeError, ReceivedError, RecursionError) as error:
        raise StorageError(f"'{place}' cannot be read.", "It must be a text file.") from error
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"'{place}' is not TOML: {str(error).rstrip('.')}.", "Fix that line.") from error
    digest_of(declared)
    return declared


def write_protocol(declared: Declaration, path: str | Path) -> None:
    """Write a protocol; an existing one is never overwritten."""
    from_declaration(declared)
    place = Path(path)
    if place.exists():
        raise StorageError(f"'{place}' already exists.", "Choose another name; a protocol is never overwritten.")
    write_whole(place, protocol_text(declared, place.name).encode())


def protocol_text(declared: Declaration, name: str = "protocol.toml") -> str:
    """A protocol as it is written.

    Examples
    --------
    >>> print(protocol_text({"columns": {"outcome": "y", "group": ["g"]}}).splitlines()[-2])
    outcome = "y"
    """
    named = "challenge_source" in declared.get("test", {})
    sealing = "" if named else " --challenge 'a text the other side draws'"
    running = " --challenge 'the public value, when it is known'" if named else ""
    parts = [HEAD.format(name=name, sealing=sealing, running=running)]
    for section in SECTIONS:
        keys = declared.get(section, {})
        if keys:
            parts.append(
                "\n".join([f"[{section}]", *(f"{key} = {_toml(value)}" for key, value in keys.items())]) + "\n"
            )
    return "\n".join(parts)


def _toml(value: Any) -> str:
    """A value in TOML; texts are written as in JSON, except for the one control character that JSON leaves alone."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(str(key))} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)
