"""A result recomputed from its own protocol: for each number, same or different."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from improvable.data.frames import FrameLike
from improvable.data.received import MOST_ARRAYS, ReceivedError, parse_json, read_arrays, read_bytes
from improvable.errors import StorageError
from improvable.procedure.preparing import prepare_audit
from improvable.procedure.running import run_prepared
from improvable.question.conforming import conforms
from improvable.question.declaration import digest_of, from_declaration, gone
from improvable.report.embedding import read_embedded
from improvable.report.html import html_page
from improvable.results.audit import Audit
from improvable.results.loading import load
from improvable.results.storage import PROVENANCE, RUN, read_provenance
from improvable.trust.ledger import FINISHED, read_ledger, stated_facts
from improvable.trust.seal import Seal, seal_of

UNCHECKED = ("versions", "version")
NAME_ONE = "Give a run folder, a file written by improvable audit --json, or its report in HTML."
SHAPE: dict[str, Any] = {
    "kind": str,
    "repetitions": list[dict[str, Any]],
    "protocol": dict[str, Any] | None,
    "challenge": str | None,
    "seal": str | None,
    "seed": int,
    "draws": int,
    "p_value": float,
    "reject": bool,
    "data_fingerprint": str | None,
    "versions": dict[str, str] | None,
}
"""What must be of its type before a result is recomputed; every other value is compared with its type."""


@dataclass(frozen=True)
class Difference:
    """One number or text that came out differently."""

    where: str
    stated: Any
    found: Any


@dataclass(frozen=True)
class Verification:
    """What verifying a result found.

    Attributes
    ----------
    checked : dict
        Every number and text of the result by its place, ``repetitions.3.gap.candidate``, with what was stated.
    differences : list of Difference
    versions : dict
        For each package whose version differs, (stated, here).
    files : dict
        For each file of a run folder, whether its bytes are the same.
    unchecked : list of str
        Files in the folder that are not part of the result; they were not checked.
    seal : Seal or None
        The seal that follows from the data, the protocol and the rule's code as they are here.
    """

    checked: dict[str, Any]
    differences: list[Difference] = field(default_factory=list)
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)
    files: dict[str, bool] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    seal: Seal | None = None

    @property
    def same(self) -> bool:
        """Whether every number and, on the same versions, every byte is the same."""
        return not self.differences and (bool(self.versions) or all(self.files.values()))


def read_facts(result: str | Path) -> dict[str, Any]:
    """What a result says: a run folder, or a JSON file of `improvable audit --json`."""
    place = Path(result)
    if place.is_dir():
        return _through_json(load(place).to_dict())
    try:
        content = read_bytes(place)
        is_page = place.suffix.lower() in (".html", ".htm")
        facts: dict[str, Any] = read_embedded(content.decode())["result"] if is_page else parse_json(content)
    except FileNotFoundError as error:
        raise StorageError(f"there is no result '{place}'.", NAME_ONE) from error
    except (OSError, ValueError) as error:
        why = f" {error}" if isinstance(error, ReceivedError) else " cannot be read as a result"
        raise StorageError(f"'{place}'{why}.", NAME_ONE) from error
    if isinstance(facts, dict) and "splits" in facts:
        if facts.get("folds") is not None or facts.get("combine") == "sequential":
            raise StorageError(*gone(f"'{place}'").args)
        raise StorageError(
            f"'{place}' is of an earlier version.", "Verify it with that version, or run the audit again."
        )
    if not isinstance(facts, dict) or "repetitions" not in facts:
        raise StorageError(f"'{place}' is not a result.", NAME_ONE)
    _check_shape(facts, place)
    return facts


def _check_shape(facts: dict[str, Any], place: Path) -> None:
    """Refuse a result of which a value that is used before all are compared has another type."""
    wrong = [name for name, hint in SHAPE.items() if not conforms(facts.get(name), hint)]
    protocol = facts.get("protocol")
    if not wrong and protocol is not None:
        parts = ("declared", dict[str, dict[str, Any]]), ("digest", str)
        wrong = [f"protocol.{name}" for name, hint in parts if not conforms(protocol.get(name), hint)]
    if wrong:
        raise StorageError(f"'{place}' is not a result: its '{wrong[0]}' is of another type.", NAME_ONE)


def verify(result: str | Path, data: FrameLike, n_jobs: int | None = None) -> Verification:
    """Recompute a result from the protocol it carries.

    Parameters
    ----------
    result : str or path
        A run folder, or a file of ``improvable audit --json``.
    data : data frame or path
    n_jobs : int, optional

    Returns
    -------
    Verification
    """
    facts = read_facts(result)
    protocol = facts.get("protocol")
    if facts.get("kind") != "audit" or protocol is None:
        raise StorageError(
            f"'{result}' has no protocol to recompute it from.",
            "Only audits whose rule, utilities and status quo are named, not Python objects, can be verified.",
        )
    declared = protocol["declared"]
    differences = []
    if digest_of(declared) != protocol["digest"]:
        differences.append(Difference("protocol", protocol["digest"], digest_of(declared)))
    settings = replace(from_declaration(declared, facts.get("challenge")), seal=facts.get("seal"))
    ready = prepare_audit(data, settings, n_jobs=n_jobs)
    made = seal_of(ready)
    if settings.seal is not None and made.digest != settings.seal:
        differences.append(Difference("seal", settings.seal, made.digest))
    again = run_prepared(ready, n_jobs=n_jobs)
    found = _through_json(again.to_dict())
    stated, now = dict(_leaves(facts)), dict(_leaves(found))
    places = [path for path in dict.fromkeys([*stated, *now]) if path[0] not in UNCHECKED]
    checked = {".".join(map(str, path)): stated.get(path) for path in places}
    differences += [
        Difference(".".join(map(str, path)), stated.get(path), now.get(path))
        for path in places
        if path not in stated or path not in now or not _same(stated[path], now[path])
    ]
    here = found["versions"]
    versions = {
        name: (str(number), here.get(name, "none"))
        for name, number in (facts.get("versions") or {}).items()
        if here.get(name) != number
    }
    files, others = _compared_files(Path(result), again)
    place = Path(result)
    beside = {path.name for path in place.iterdir()} - set(files) - {RUN, PROVENANCE} if place.is_dir() else set()
    return Verification(checked, [*differences, *others], versions, files, sorted(beside), made)


def ledger_line(ledger: str | Path, facts: Mapping[str, Any], words: str | None = None) -> int | None:
    """The line of a ledger that records a result; of several alike, the one that `words` name. None where none does."""
    stated = stated_facts(facts)
    found = [
        line
        for line in read_ledger(ledger)
        if line.event == FINISHED and all(line.facts.get(key) == value for key, value in stated.items())
    ]
    named = [line for line in found if line.hash[:16] in (words or "")]
    return (named or found)[0].number if found else None


def stated_line(result: str | Path) -> str | None:
    """What a run folder, or a report, says of its line in the ledger and of the runs before it."""
    place = Path(result)
    if place.is_dir():
        made = read_provenance(place)
        return None if made is None else made.runs
    if place.suffix.lower() not in (".html", ".htm"):
        return None
    runs = read_embedded(read_bytes(place).decode())["runs"]
    return None if runs is None else str(runs)


def _compared_files(folder: Path, again: Audit) -> tuple[dict[str, bool], list[Difference]]:
    """Which files are the same to the byte; and arrays that are missing or differ, whatever version wrote them."""
    if folder.suffix.lower() in (".html", ".htm") and folder.is_file():
        page = read_bytes(folder).decode()
        made = read_embedded(page)
        return {folder.name: page == html_page(again, made["command"], made["runs"], made["data"])}, []
    if not folder.is_dir():
        return {}, []
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "again"
        again.save(fresh)
        files, differences = {}, []
        for path in sorted(fresh.iterdir()):
            twin = folder / path.name
            files[path.name] = _content(twin) == path.read_bytes()
            if path.suffix == ".npz" and not (files[path.name] or _same_arrays(twin, path)):
                differences.append(Difference(path.name, "arrays in the folder", "other arrays"))
        return files, differences


def _content(path: Path) -> bytes | None:
    try:
        return read_bytes(path, MOST_ARRAYS, links=False)
    except (OSError, ValueError):
        return None


def _same_arrays(one: Path, other: Path) -> bool:
    if not one.exists():
        return False
    first, second = read_arrays(one), read_arrays(other)
    return set(first) == set(second) and all(
        np.array_equal(first[name], second[name], equal_nan=True) for name in first if name != "meta"
    )


def _same(stated: Any, found: Any) -> bool:
    """Equal, and of the same type: a verdict of 0 is not one of false."""
    return type(stated) is type(found) and bool(stated == found)


def _through_json(facts: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every number and text, by its place: places in a list are numbers, so that an object cannot pose as one."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(one, (*path, str(key)))
    elif isinstance(value, list) and value:
        for i, one in enumerate(value, start=1):
            yield from _leaves(one, (*path, i))
    else:
        yield path, value


PARTS = {
    "verdict": ("p_value", "p_value_text", "threshold", "reject"),
    "data": ("data_fingerprint", "rows", "clusters"),
    "status quo's gap": ("disparity", "disparities"),
    "diagnostics": ("diagnostics",),
    "warnings": ("warnings",),
}


def part_of(where: str) -> str:
    """The part of a result that a number belongs to."""
    names = where.split(".")
    if names[0] == "repetitions":
        return f"repetition {names[1]}"
    return next((part for part, fields in PARTS.items() if names[0] in fields), "what was declared")
