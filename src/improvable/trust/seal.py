"""Protocols as TOML files, and seals.

A seal binds a protocol to data before the audit runs, and the order of rows to a
challenge from the other side.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from improvable._text import shown
from improvable.data.frame import FrameLike
from improvable.data.io.safe import ReceivedError, nearest_file, read_bytes, write_whole
from improvable.errors import OptionError, StorageError
from improvable.procedure.prepare import Prepared, prepare_audit
from improvable.question.challenge import parse_source
from improvable.question.options import SECTIONS, TEST, Setting, check_types
from improvable.question.protocol import (
    Declaration,
    declare,
    digest_of,
    from_declaration,
)
from improvable.question.settings import Settings, section_keys
from improvable.results.storage import PACKAGES, read_json, versions, write_json
from improvable.trust.ledger import hash_of, now

HEAD = """\
# What an audit will ask and do, declared before it runs. Fill in the lines that are marked, and check what was guessed.
# A line that begins with # is not read. If it shows a value, that value holds while nothing else is said.
# Check it: improvable check {name} --data DATA
# Seal it:  improvable seal {name} --data DATA{sealing}
# Run it:   improvable audit {name} --data DATA{running} --out FOLDER
"""  # noqa: E501
CHOSEN = " --challenge 'a text the other side draws'"
PUBLIC = " --challenge 'the public value, when it is known'"
LEFT_OUT = ("seed", "rule_source")
"""Not proposed: a sealed protocol has no seed, and a digest of code is computed."""


def read_protocol(path: str | Path) -> Declaration:
    """Read a protocol and check it; unknown or contradictory keys are errors with the
    nearest valid one.
    """
    place = Path(path)
    try:
        declared: Declaration = tomllib.loads(read_bytes(place).decode())
    except FileNotFoundError as error:
        hint = nearest_file(place, ".toml", "Write one with improvable init.")
        raise OptionError(f"there is no protocol '{place}'.", hint) from error
    except (OSError, UnicodeDecodeError, ReceivedError, RecursionError) as error:
        raise StorageError(
            f"'{place}' cannot be read.", "It must be a text file."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise OptionError(
            f"'{place}' is not TOML: {str(error).rstrip('.')}.", "Fix that line."
        ) from error
    digest_of(declared)
    return declared


def write_protocol(declared: Declaration, path: str | Path) -> None:
    """Write a protocol; an existing one is never overwritten."""
    from_declaration(declared)
    place = Path(path)
    if place.exists():
        raise StorageError(
            f"'{place}' already exists.",
            "Choose another name; a protocol is never overwritten.",
        )
    write_whole(place, protocol_text(declared, place.name).encode())


def protocol_text(
    declared: Declaration,
    name: str,
    missing: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """A protocol with every setting: what is declared, what is to be filled in (words
    by section and key), and the others as comments.
    """
    is_public = "challenge_source" in declared.get(TEST, {})
    head = HEAD.format(
        name=name,
        sealing="" if is_public else CHOSEN,
        running=PUBLIC if is_public else "",
    )
    parts = [head]
    for section, words in SECTIONS.items():
        lines = [f"# {words}", f"[{section}]"]
        given = declared.get(section, {})
        for key, setting in section_keys(section).items():
            if missing and (section, key) in missing:
                lines.append(f"# FILL IN. {shown(missing[section, key])}")
            if key in given:
                lines.append(setting_line(setting, given[key]))
            elif setting.name not in LEFT_OUT:
                lines.append(f"# {setting_line(setting, default_of(setting))}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def setting_line(setting: Setting, value: Any) -> str:
    """A setting with its value, or the kind of value it takes, and what it means."""
    text = f"<{setting.kind.words}>" if value is None else toml_value(value)
    choices = f" ({' or '.join(setting.choices)})" if setting.choices else ""
    return f"{setting.key} = {text}  # {setting.help}{choices}"


def default_of(setting: Setting) -> Any:
    """What holds if a protocol says nothing, as it would say it."""
    return None if setting.default is None else setting.kind.plain(setting.default)


def toml_value(value: Any) -> str:
    """A value in TOML: but for tables and infinity as in JSON, which leaves one control
    character alone.
    """
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(
                f"{toml_value(str(key))} = {toml_value(one)}"
                for key, one in value.items()
            )
            + " }"
        )
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True)
class Seal:
    """What was fixed before the audit was run.

    Attributes
    ----------
    protocol : str
        Digest of what was declared.
    data : str
        Fingerprint of the columns that will be read.
    columns : tuple of str
        Those columns: patterns and defaults of the protocol, spelled out.
    rows : int
    challenge : str
        What the other side chose; the order of rows follows from it and from the data.
        Empty where a source is named.
    challenge_source : str
        The public value, not yet known, that will be the challenge.
    rule_source : str
        Digest of the code behind a rule of somebody's own.
    versions : dict
        Of the packages that can change a number: boosting, for one, finds other
        candidates in another version.
    """

    protocol: str
    data: str
    columns: tuple[str, ...]
    rows: int
    challenge: str
    challenge_source: str = ""
    rule_source: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """One digest of all of it, to exchange and to print on paper."""
        return hash_of(asdict(self))

    def changed(self, other: "Seal") -> list[str]:
        """The fields in which another seal differs."""
        return [
            name for name, value in vars(self).items() if value != getattr(other, name)
        ]


def seal_path(protocol: str | Path) -> Path:
    """Where a protocol's seal is kept: beside it."""
    return Path(protocol).with_suffix(".seal")


def make_seal(declared: Declaration, data: FrameLike, challenge: str = "") -> Seal:
    """Check that a protocol can be run on the data, and seal both; nothing is
    tested.
    """
    named = declared.get("test", {}).get("challenge_source")
    if named is not None:
        source = parse_source(named)
        if challenge:
            hint = "Seal it without one; give the value when you run."
            raise OptionError(f"the protocol's challenge is {source.words}.", hint)
        if source.due <= now():
            hint = (
                "Whoever knows it can try protocols until one suits. Name a later one."
            )
            raise OptionError(
                (
                    f"the protocol's challenge is {source.words}, which may be known "
                    "by now."
                ),
                hint,
            )
    return seal_of(prepare_audit(data, from_declaration(declared, challenge)))


def seal_of(ready: Prepared) -> Seal:
    """The seal of an audit that is ready to run."""
    settings = ready.plan.settings
    declared, source = declare(settings), settings.challenge_source or ""
    assert declared is not None, "what a protocol declares can be declared again"
    return Seal(
        protocol=digest_of(declared),
        data=ready.data.digest,
        columns=ready.data.columns,
        rows=ready.surveyed.seen.rows,
        challenge="" if source else settings.challenge or "",
        challenge_source=source,
        rule_source=ready.rule_source or "",
        versions=of_packages(versions()),
    )


def of_packages(stated: Mapping[str, str]) -> dict[str, str]:
    """The versions that a seal covers; that of Python itself changes no number."""
    return {name: stated[name] for name in PACKAGES if name in stated}


def other_versions(
    one: Mapping[str, str], other: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Where two sets of versions differ: for each package, both."""
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return {name: (one.get(name, "none"), other.get(name, "none")) for name in names}


def seal_facts(seal: Seal) -> dict[str, Any]:
    """A seal as plain data, with its digest."""
    return {**asdict(seal), "digest": seal.digest}


def write_seal(seal: Seal, path: str | Path) -> None:
    """Write a seal; a different one that already exists is never overwritten."""
    refuse_other_seal(seal, path)
    if not Path(path).exists():
        write_json(Path(path), **seal_facts(seal))


def refuse_other_seal(seal: Seal, path: str | Path) -> None:
    if Path(path).exists() and read_seal(path) != seal:
        hint = (
            "A seal is made once. Keep it, or seal a copy of the protocol under "
            "another name."
        )
        raise StorageError(
            f"'{path}' already holds another seal of this protocol.", hint
        )


def read_seal(path: str | Path) -> Seal:
    """Read a seal and check that nobody changed it."""
    try:
        plain = read_json(Path(path))
    except StorageError as error:
        hint = (
            "Name the .seal file, as improvable seal wrote it; one of another version "
            "must be made again."
        )
        raise StorageError(error.message, hint) from error
    try:
        seal = Seal(
            **{name: plain[name] for name in Seal.__dataclass_fields__}
            | {"columns": tuple(plain["columns"])}
        )
        check_types(seal)
    except KeyError as error:
        raise StorageError(
            f"'{path}' is not a seal: it has no {error}.", "Seal the protocol again."
        ) from error
    except TypeError as error:
        raise StorageError(
            f"'{path}' is not a seal.", "Ask the other side for their copy."
        ) from error
    if plain.get("digest") != seal.digest:
        raise StorageError(
            f"'{path}' was changed after it was made.",
            "Ask the other side for their copy.",
        )
    return seal


def check_seal(seal: Seal, ready: Prepared) -> None:
    """Refuse a protocol or data that are not those that were sealed."""
    found, again = seal_of(ready), "must change, say why and seal again."
    changed = other_versions(seal.versions, found.versions).items()
    named = "; ".join(
        f"{name} {sealed}, here {here}" for name, (sealed, here) in changed
    )
    columns = ", ".join(map(repr, sorted(set(found.columns) ^ set(seal.columns))[:3]))
    rows = (
        f"{found.rows:,} rows with fingerprint {found.data[:16]}..., sealed "
        f"{seal.rows:,} with {seal.data[:16]}..."
    )
    refused = {
        "protocol": (
            "protocol is not the one that was sealed",
            "Run that one, or seal this one under another name.",
        ),
        "rule_source": (
            (
                f"code of rule '{ready.plan.settings.rule}' is not the code that was "
                "sealed"
            ),
            f"Run the sealed code; if it {again}",
        ),
        "versions": (
            f"package versions are not those that were sealed: {named}",
            f"Install the sealed versions; if they {again}",
        ),
        "columns": (
            f"columns that would be read are not those that were sealed: {columns}",
            (
                "List the features in the protocol, so that new columns in the file do "
                "not become features."
            ),
        ),
        "data": (
            f"data are not those that were sealed: {rows}",
            f"Find the sealed data; if they {again}",
        ),
    }
    for name, (what, hint) in refused.items():
        if getattr(found, name) != getattr(seal, name):
            raise StorageError(f"the {what}.", hint)


def settings_of(
    path: str | Path, challenge: str | None = None
) -> tuple[Settings, Seal | None]:
    """What a protocol declares, with its seal where there is one; `challenge` is the
    value of the source it names.
    """
    declared, place = read_protocol(path), seal_path(path)
    named = "challenge_source" in declared.get("test", {})
    if challenge is not None and not named:
        hint = "Give it to improvable seal, or declare [test] challenge_source."
        raise OptionError(
            "--challenge is given beside a protocol that names no source of one.", hint
        )
    if not place.exists():
        return from_declaration(declared, challenge), None
    seal = read_seal(place)
    return replace(
        from_declaration(declared, challenge if named else seal.challenge),
        seal=seal.digest,
    ), seal
