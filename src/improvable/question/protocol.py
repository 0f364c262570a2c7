"""An audit as plain data: what a protocol file holds, what a result remembers, what a
digest is of, what a run is.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from improvable.errors import OptionError, nearest
from improvable.question.options import (
    REPORT,
    SECTIONS,
    STATUS_QUO,
    TEXTS,
    Setting,
    as_specs,
    check_capacity,
)
from improvable.question.settings import SETTINGS, Settings, section_keys

Declaration = dict[str, dict[str, Any]]

# what may be said in the place of a setting that must be said
INSTEAD = {"group": ("probabilities",)}
# An algorithm in writing: a column of decisions, or a score with a capacity or a
# cutoff.
WAYS = ({"decision"}, {"score", "capacity"}, {"score", "above"})


def check_written(written: Mapping[str, Any], where: str) -> None:
    """Refuse keys of an algorithm in writing that do not go together."""
    if set(written) not in WAYS:
        keys = ", ".join(sorted(map(str, written))) or "nothing"
        raise OptionError(
            f"{where} has {keys}.",
            "Give a decision; or a score with a capacity; or a score with above.",
        )
    if "capacity" in written:
        check_capacity(written["capacity"])


def in_writing(algorithm: Any) -> dict[str, Any] | None:
    """An algorithm as plain data; None where it is an object that cannot be written
    down.
    """
    if isinstance(algorithm, str):
        return {"decision": algorithm}
    written = (
        algorithm
        if isinstance(algorithm, Mapping)
        else getattr(algorithm, "declared", None)
    )
    if not isinstance(written, Mapping):
        return None
    return {
        str(key): one if isinstance(one, str) else float(one)
        for key, one in written.items()
    }


def stated(settings: Settings) -> Iterator[tuple[Setting, Any]]:
    """Settings that say something, with their values; not those that another one makes
    void or says already.
    """
    written = in_writing(settings.status_quo) or {}
    for setting in SETTINGS.values():
        value = getattr(settings, setting.name)
        void = (
            setting.needs is not None
            and getattr(settings, setting.needs[0]) != setting.needs[1]
        )
        void |= setting.name == "seed" and (
            settings.challenge is not None or settings.challenge_source is not None
        )
        void |= setting.name == "capacity" and value == written.get("capacity")
        void |= setting.name in ("protected", "group") and not value
        if value is not None and value != {} and not void:
            yield setting, value


def declare(settings: Settings) -> Declaration | None:
    """Settings as plain data, complete with defaults; None where a rule, a utility or
    the status quo is an object.
    """
    written = in_writing(settings.status_quo)
    utilities = [*as_specs(settings.accuracy), *as_specs(settings.fairness or [])]
    if (
        written is None
        or not isinstance(settings.rule, str)
        or not all(isinstance(u, str) for u in utilities)
    ):
        return None
    out: Declaration = {section: {} for section in SECTIONS}
    out[STATUS_QUO] = {
        key: written[key] for key in section_keys(STATUS_QUO) if key in written
    }
    for setting, value in stated(settings):
        if setting.in_protocol and setting.section != STATUS_QUO:
            out[setting.section][setting.key] = setting.kind.plain(value)
    if not settings.simulated:
        del out[REPORT]["simulated"]
    if not out[REPORT]:
        del out[REPORT]
    return out


def from_declaration(
    declared: Mapping[str, Any], challenge: str | None = None
) -> Settings:
    """Settings from plain data; what is unknown, missing, of another kind or
    contradictory is refused in one line.
    """
    check_sections(declared)
    arguments: dict[str, Any] = {}
    for section in SECTIONS:
        keys = section_keys(section)
        for key, value in declared.get(section, {}).items():
            check_key(section, key, value)
            if section != STATUS_QUO:
                arguments[keys[key].name] = value
    check_together(arguments)
    is_sealed = challenge is not None or "challenge_source" in arguments
    if "seed" in arguments and is_sealed:
        raise OptionError(
            "[test] seed is in a protocol that is sealed.",
            "A sealed audit has no seed; remove it.",
        )
    status_quo = dict(declared.get(STATUS_QUO, {}))
    check_written(status_quo, f"[{STATUS_QUO}]")
    return Settings(**arguments, status_quo=status_quo, challenge=challenge)


def check_sections(declared: Mapping[str, Any]) -> None:
    for section, keys in declared.items():
        if section not in SECTIONS:
            raise OptionError(
                f"a protocol has no section [{section}].", nearest(section, SECTIONS)
            )
        if not isinstance(keys, Mapping):
            raise OptionError(
                f"'{section}' is not a section.",
                f"Write [{section}] and its keys below.",
            )


def check_key(section: str, key: str, value: Any) -> None:
    """Refuse a key that is unknown, or whose value is of another kind."""
    keys = section_keys(section)
    if key not in keys:
        homes = [name for name in SECTIONS if key in section_keys(name)]
        hint = f"Write it in [{homes[0]}]." if homes else nearest(key, keys)
        raise OptionError(f"[{section}] has no key '{key}'.", hint)
    kind = keys[key].kind
    if not kind.accepts(value):
        raise OptionError(
            f"[{section}] {key} is {value!r}.", f"It must be {kind.words}."
        )


def check_together(arguments: Mapping[str, Any]) -> None:
    """Refuse a question that lacks what must be said, or says what goes with another
    value.
    """
    for name, setting in SETTINGS.items():
        where = f"[{setting.section}] {setting.key}"
        instead = {name, *INSTEAD.get(name, ())}
        if name in ("outcome", "group", "rule") and not arguments.keys() & instead:
            raise OptionError(
                f"the protocol does not say {where}.",
                "Declare it before you run anything.",
            )
        if name not in arguments or setting.needs is None:
            continue
        needed, value = setting.needs
        if arguments.get(needed) != value:
            raise OptionError(
                f"{where} goes with {needed} = '{value}'.",
                f"Leave it out, or change {needed}.",
            )


def digest_of(declared: Mapping[str, Any]) -> str:
    """A digest of all that was declared but the seed; a default that is written out
    changes nothing.
    """
    complete = declare(from_declaration(declared))
    assert complete is not None
    complete["test"].pop("seed", None)
    text = json.dumps(
        complete, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def asked_identity(settings: Settings) -> dict[str, Any]:
    """Every setting that tells one audit from another, by name; the same however it was
    asked.
    """
    plain: dict[str, Any] = {}
    for setting, value in stated(settings):
        if setting.identity:
            plain[setting.name] = _described(
                as_specs(value) if setting.kind is TEXTS else value
            )
    return plain | {
        "status_quo": in_writing(settings.status_quo) or _described(settings.status_quo)
    }


def _described(value: Any) -> Any:
    """A value as plain data that is the same exactly where the value does the same.

    >>> _described(lambda rows: rows > 1) == _described(lambda rows: rows > 2)
    False
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): _described(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_described(one) for one in value]
    if isinstance(value, FunctionType):
        closed = [cell.cell_contents for cell in value.__closure__ or ()]
        return [
            "function",
            _code(value.__code__),
            _described(value.__defaults__),
            _described(closed),
        ]
    if is_dataclass(value) and not isinstance(value, type):
        named = {
            field.name: _described(getattr(value, field.name))
            for field in fields(value)
        }
        return [type(value).__qualname__, named]
    from joblib import hash as content_hash

    try:
        return [
            f"{type(value).__module__}.{type(value).__qualname__}",
            str(content_hash(value)),
        ]
    except Exception as error:
        raise OptionError(
            (
                f"a {type(value).__name__} cannot be told apart from others, so its "
                "run cannot be kept in a folder."
            ),
            "Omit run_folder, or make the object one that can be pickled.",
        ) from error


def _code(code: CodeType) -> list[Any]:
    constants = [
        _code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts
    ]
    return [code.co_code.hex(), constants, list(code.co_names)]
