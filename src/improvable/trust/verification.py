"""A result beside what the verifier agreed to, and recomputed from its own protocol:
for each number, same or not.
"""

import json
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from improvable.algorithms.rules import own_modules
from improvable.algorithms.rules.own_code import source_digest
from improvable.data.frame import FrameLike
from improvable.data.io.safe import (
    MAX_ARRAYS,
    ReceivedError,
    parse_json,
    read_arrays,
    read_bytes,
)
from improvable.errors import OptionError, StorageError
from improvable.procedure.prepare import Prepared, prepare_audit
from improvable.procedure.run import run_prepared
from improvable.question.challenge import parse_source
from improvable.question.options import conforms
from improvable.question.protocol import Declaration, digest_of, from_declaration
from improvable.report.carried import read_embedded
from improvable.results.audit import Audit, load
from improvable.results.facts import wrong_types
from improvable.results.storage import (
    MALFORMED,
    PROVENANCE,
    RUN,
    Provenance,
    open_run,
    read_json,
    read_provenance,
)
from improvable.trust.seal import (
    Seal,
    of_packages,
    other_versions,
    read_protocol,
    read_seal,
    seal_of,
    seal_path,
)

VERSIONED = ("versions", "version")  # other versions may find every number again
NAME_ONE = (
    "Give a run folder, a file written by improvable audit --json, or its report in "
    "HTML."
)
TYPED = (
    "kind",
    "protocol",
    "challenge",
    "challenge_source",
    "seal",
    "data_fingerprint",
    "rule_source",
    "version",
    "seed",
    "draws",
    "p_value",
    "reject",
    "versions",
)
"""What must be of its type before a result is recomputed; every other value is compared
with its type.
"""
PARTS = {
    "verdict": ("p_value", "p_value_text", "threshold", "reject"),
    "data": ("data_fingerprint", "rows", "clusters"),
    "status quo's gap": ("disparity", "disparities"),
    "diagnostics": ("diagnostics",),
    "warnings": ("warnings",),
}
"""What is shown together where numbers are listed; repetitions have a part each, all
else was declared.
"""
UNSEALED = "say --unsealed to accept that whoever ran it chose the order of the rows"
Check = tuple[bool | None, str]
"""Whether a result keeps to what was agreed, None where the verifier did not say; and
in words.
"""


@dataclass(frozen=True)
class Agreement:
    """What the verifier holds."""

    seal: Seal | None = None  # the verifier's own, where there is a file of it
    digest: str | None = None  # of that seal; it may be known without the file
    protocol: Declaration | None = None
    # the value of the protocol's source, as the verifier looked it up
    challenge: str | None = None
    unsealed: bool = False  # whether a result that nobody sealed is accepted


def agreed(
    seal: str | None, protocol: str | None, challenge: str | None, unsealed: bool
) -> Agreement:
    """What the verifier's options amount to; a seal is a file or a digest, by default
    the file beside the protocol.
    """
    declared = None if protocol is None else read_protocol(protocol)
    if seal is not None and unsealed:
        raise OptionError(
            "--seal and --unsealed are both given.",
            "Either the result must have your seal, or none.",
        )
    if (
        seal is None
        and protocol is not None
        and seal_path(protocol).exists()
        and not unsealed
    ):
        seal = str(seal_path(protocol))
    if seal is None or re.fullmatch(r"[0-9a-fA-F]{64}", seal):
        return Agreement(
            None, None if seal is None else seal.lower(), declared, challenge, unsealed
        )
    if not Path(seal).exists():
        raise OptionError(
            f"there is no seal '{seal}'.",
            "Name the .seal file, or give its whole digest, 64 digits.",
        )
    mine = read_seal(seal)
    return Agreement(mine, mine.digest, declared, challenge)


def checks(
    mine: Agreement, facts: Mapping[str, Any], made: Seal | None
) -> Iterator[Check]:
    """Compare what was agreed with what a result says, and with the seal that follows
    from the data.

    `made` is from the verifier's data, the result's protocol and the rule's code; None
    before anything is run.
    """
    seal, named = facts.get("seal"), facts.get("challenge_source")
    if mine.digest is None and seal is None:
        yield (
            mine.unsealed,
            f"seal: the result has none{'' if mine.unsealed else f'; {UNSEALED}'}",
        )
    elif mine.digest is None:
        yield (
            None,
            (
                f"seal {seal}: is this the one you agreed to? Give yours: --seal "
                "FILE|DIGEST"
            ),
        )
    elif seal != mine.digest:
        yield (
            False,
            f"seal: you agreed to {mine.digest}, and the result has {seal or 'none'}",
        )
    elif mine.seal is not None and (
        other := mine.seal.changed(_as_stated(mine.seal, facts))
    ):
        yield (
            False,
            (
                f"seal {mine.digest}: it does not have the result's "
                f"{other[0].replace('_', ' ')}"
            ),
        )
    else:
        yield True, f"seal {mine.digest}, as you agreed"
        if made is not None and made.digest != mine.digest:
            which = (
                ""
                if mine.seal is None
                else f" (different: {', '.join(made.changed(mine.seal))})"
            )
            yield (
                False,
                (
                    "seal: your data and this protocol have another one, "
                    f"{made.digest}{which}"
                ),
            )
    if mine.protocol is not None:
        yield (
            digest_of(mine.protocol) == facts["protocol"]["digest"],
            "protocol, as agreed",
        )
        if facts.get("challenge") is None:
            seed = from_declaration(mine.protocol).seed
            yield facts.get("seed") == seed, f"seed {seed}, as agreed"
    stated = ascii(str(facts.get("challenge"))).strip("'")
    if mine.challenge is not None:
        same = mine.challenge == facts.get("challenge")
        yield (
            same,
            f"challenge {mine.challenge}"
            + ("" if same else f"; the result has {stated}"),
        )
    elif named is not None:
        source = parse_source(named)
        where = f"look it up at {source.where} and give it: --challenge VALUE"
        # The best of 25 values that somebody made up is a number like any other.
        yield (
            False,
            f"challenge {stated}: nobody checked that it is {source.words}; {where}",
        )


def _as_stated(seal: Seal, facts: Mapping[str, Any]) -> Seal:
    """A seal with what a result says of itself, which is known without running
    anything.
    """
    return replace(
        seal,
        protocol=digest_of(facts["protocol"]["declared"]),
        data=facts.get("data_fingerprint") or "",
        challenge="" if seal.challenge_source else facts.get("challenge") or "",
        challenge_source=facts.get("challenge_source") or "",
        rule_source=facts.get("rule_source") or "",
        versions=of_packages(facts.get("versions") or {}),
    )


@dataclass(frozen=True)
class Difference:
    """One number or string that came out differently."""

    where: str
    stated: Any
    found: Any


@dataclass(frozen=True)
class Verification:
    """What verifying a result found.

    Attributes
    ----------
    checked : dict
        Every number and text of the result by its place,
        ``repetitions.3.gap.candidate``, with what was stated.
    differences : list of Difference
        Also of keys that should not be there, or are not; and of what the files of a
        run folder hold.
    versions : dict
        For each package whose version differs, (stated, here).
    files : dict
        For each file of a run folder, or for a report, whether its bytes are those that
        are written here.
    unchecked : list of str
        Files in the folder that are not part of the result; they were not checked.
    seal : Seal or None
        The seal that follows from the data, the protocol and the rule's code as they
        are here, and the versions stated.
    """

    checked: dict[str, Any]
    differences: list[Difference] = field(default_factory=list)
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)
    files: dict[str, bool] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    seal: Seal | None = None

    @property
    def same(self) -> bool:
        """Whether every number, every version and every byte is the same."""
        return not self.differences and not self.versions and all(self.files.values())

    @property
    def by_other_versions(self) -> bool:
        """Whether every number is the same, and versions differ: then files cannot be
        compared to the byte.
        """
        return not self.differences and bool(self.versions)


def read_facts(result: str | Path) -> dict[str, Any]:
    """What a result says: a run folder, or a JSON file of `improvable audit --json`."""
    place = Path(result)
    if place.is_dir():
        plain: dict[str, Any] = json.loads(json.dumps(load(place).to_dict()))
        return plain
    try:
        content = read_bytes(place)
        facts: dict[str, Any] = (
            read_embedded(content.decode())["result"]
            if is_page(place)
            else parse_json(content)
        )
    except FileNotFoundError as error:
        raise StorageError(f"there is no result '{place}'.", NAME_ONE) from error
    except (OSError, ValueError) as error:
        why = (
            f" {error}"
            if isinstance(error, ReceivedError)
            else " cannot be read as a result"
        )
        raise StorageError(f"'{place}'{why}.", NAME_ONE) from error
    if not isinstance(facts, dict) or "repetitions" not in facts:
        raise StorageError(f"'{place}' is not a result.", NAME_ONE)
    wrong = wrong_types(facts, TYPED)
    if not conforms(facts["repetitions"], list[dict[str, Any]]):
        wrong.append("repetitions")
    if wrong:
        raise StorageError(
            f"'{place}' is not a result: its '{wrong[0]}' is of another type.", NAME_ONE
        )
    return facts


def verify(
    result: str | Path,
    data: FrameLike,
    n_jobs: int | None = None,
    run_code: bool = False,
) -> Verification:
    """Recompute a result from the protocol it carries.

    Parameters
    ----------
    result : str or path
        A run folder, a file of ``improvable audit --json``, or a report in HTML.
    data : data frame or path
    n_jobs : int, optional
    run_code : bool
        Whether to run a rule that is somebody's code, ``module:object``; otherwise such
        a result is refused.

    Returns
    -------
    Verification
    """
    facts, place = read_facts(result), Path(result)
    protocol = protocol_of(facts, result)
    declared = protocol["declared"]
    settings = replace(
        from_declaration(declared, facts.get("challenge")), seal=facts.get("seal")
    )
    if not run_code:
        refuse_code(settings.rule)
    if source_digest(settings.rule) != facts.get("rule_source"):
        what = (
            f"the code of rule '{settings.rule}' here is not the code that the result "
            "names, so nothing was run."
        )
        raise StorageError(what, "Find the code whose digest the result has.")
    ready = prepare_audit(data, settings, n_jobs=n_jobs)
    stated_versions = facts.get("versions") or {}
    made = replace(seal_of(ready), versions=of_packages(stated_versions))
    digests = [
        ("protocol", protocol["digest"], digest_of(declared)),
        ("seal", settings.seal, made.digest),
    ]
    wrong = [
        Difference(*digest) for digest in digests if digest[1] not in (None, digest[2])
    ]
    again = run_prepared(ready, n_jobs=n_jobs)
    found = json.loads(json.dumps(again.to_dict()))
    wrong += differences(_unversioned(facts), _unversioned(found))
    versions = other_versions(
        {"improvable": str(facts.get("version"))}, {"improvable": found["version"]}
    )
    versions |= other_versions(stated_versions, found["versions"])
    files, inside = _compared_files(place, ready, again)
    beside = (
        {path.name for path in place.iterdir()} - set(files) - {PROVENANCE}
        if place.is_dir()
        else set()
    )
    checked = {
        ".".join(map(str, path)): value for path, value in leaves(_unversioned(facts))
    }
    return Verification(
        checked, [*wrong, *inside], versions, files, sorted(beside), made
    )


def protocol_of(facts: Mapping[str, Any], result: str | Path) -> dict[str, Any]:
    """The protocol that a result carries, with its digest; refused where there is
    none.
    """
    protocol: dict[str, Any] | None = facts.get("protocol")
    if facts.get("kind") != "audit" or protocol is None:
        hint = (
            "Only audits whose rule, utilities and status quo are named, not Python "
            "objects, can be verified."
        )
        raise StorageError(f"'{result}' has no protocol to recompute it from.", hint)
    return protocol


def refuse_code(rule: object) -> None:
    """Refuse a rule that is somebody's code, before any of it is imported; say what to
    read.
    """
    if modules := own_modules(rule) if isinstance(rule, str) else []:
        raise OptionError(
            (
                f"the result's rule '{rule}' is Python code by its author, the module "
                f"{' and '.join(modules)}."
            ),
            (
                "It would run here with your rights. Read it and what it imports "
                "first; then say --run-code."
            ),
        )


def _unversioned(plain: Any) -> Any:
    """A document of ours without the versions in it, which are compared by
    themselves.
    """
    if not isinstance(plain, dict):
        return plain
    kept = {name: value for name, value in plain.items() if name not in VERSIONED}
    return kept | {
        name: _unversioned(kept[name]) for name in ("setting", "audit") if name in kept
    }


def differences(stated: Any, found: Any, file: str = "") -> list[Difference]:
    """Every place where two documents differ; a key that only one of them has is such a
    place.
    """
    one, other = dict(leaves(stated)), dict(leaves(found))
    return [
        Difference(f"{file}{'.'.join(map(str, path))}", one.get(path), other.get(path))
        for path in dict.fromkeys([*one, *other])
        # A verdict of 0 is not one of false: types must be the same too.
        if (path in one) != (path in other)
        or type(one[path]) is not type(other[path])
        or one[path] != other[path]
    ]


def stated_made(result: str | Path) -> Provenance:
    """What a run folder, or a report, says of its line in the ledger, its command and
    its data.
    """
    place = Path(result)
    if place.is_dir():
        return read_provenance(place) or Provenance()
    if not is_page(place):
        return Provenance()
    page = read_embedded(read_bytes(place).decode())
    return Provenance(page["command"], page["runs"], page["data"])


def is_page(result: str | Path) -> bool:
    return Path(result).suffix.lower() in (".html", ".htm") and Path(result).is_file()


def _compared_files(
    place: Path, ready: Prepared, again: Audit
) -> tuple[dict[str, bool], list[Difference]]:
    """Which files are those that are written here, to the byte; and how the others
    differ.
    """
    if is_page(place):
        from improvable.report.html import html_page

        # A report is drawn again from the result that was found here, never from the
        # one that it carries.
        return {
            place.name: read_bytes(place).decode()
            == html_page(again, **vars(stated_made(place)))
        }, []
    if not place.is_dir():
        return {}, []
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "again"
        again.save(fresh)
        # a result that was saved has none
        if (place / RUN).exists() or (place / RUN).is_symlink():
            open_run(Path(scratch) / "run", ready.identity())
            (Path(scratch) / "run" / RUN).rename(fresh / RUN)
        files = {
            path.name: _content(place / path.name) == path.read_bytes()
            for path in sorted(fresh.iterdir())
        }
        wrong = [
            one
            for name, same in files.items()
            if not same
            for one in _inside(place / name, fresh / name)
        ]
    if (place / PROVENANCE).exists():
        ours, said = (
            ("format", "version", *Provenance.__dataclass_fields__),
            read_json(place / PROVENANCE),
        )
        wrong += [
            Difference(f"{PROVENANCE} {name}", said[name], None)
            for name in said
            if name not in ours
        ]
    return files, wrong


def _inside(stated: Path, found: Path) -> list[Difference]:
    """How two files differ whose bytes differ: documents key by key; versions are
    compared by themselves.
    """
    if not stated.is_file():
        return [Difference(stated.name, "no such file", "a file")]
    if stated.suffix == ".json":
        return differences(
            _unversioned(read_json(stated)),
            _unversioned(read_json(found)),
            f"{stated.name} ",
        )
    try:
        same = _list_contents(stated) == _list_contents(found)
    except (OSError, EOFError, zipfile.BadZipFile, *MALFORMED):
        same = False
    return [] if same else [Difference(stated.name, "a file", "another file")]


def _list_contents(path: Path) -> dict[str, Any]:
    """What a file of arrays holds beside versions, to the byte."""
    arrays = read_arrays(path)
    arrays.pop("chain", None)  # a digest of the others, and of the versions among them
    meta = _unversioned(parse_json(arrays.pop("meta").tobytes()))
    contents = {}
    for name, array in arrays.items():
        contents[name] = array.dtype, array.shape, array.tobytes()
    return {"meta": json.dumps(meta, sort_keys=True), **contents}


def _content(path: Path) -> bytes | None:
    try:
        return read_bytes(path, MAX_ARRAYS, links=False)
    except (OSError, ValueError):
        return None


def leaves(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every number and string, by its place: places in a list are numbers, so that an
    object cannot pose as one.
    """
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from leaves(one, (*path, str(key)))
    elif isinstance(value, list) and value:
        for i, one in enumerate(value, start=1):
            yield from leaves(one, (*path, i))
    else:
        yield path, value


def part_of(where: str) -> str:
    names = where.split(".")
    if names[0] == "repetitions":
        return f"repetition {names[1]}"
    return next(
        (part for part, fields in PARTS.items() if names[0] in fields),
        "what was declared",
    )
