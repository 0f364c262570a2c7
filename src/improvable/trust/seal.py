"""A seal binds a protocol to data before the audit runs, and its splits to a challenge that the other side chose."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from improvable.data.files import write_whole
from improvable.data.frames import FrameLike
from improvable.errors import StorageError
from improvable.procedure.preparing import Prepared, prepare_audit
from improvable.question.conforming import check_types
from improvable.question.declaration import Declaration, declare, digest_of, from_declaration
from improvable.question.settings import Settings
from improvable.results.storage import FORMAT, as_json, read_json
from improvable.results.versions import VERSION
from improvable.trust.files import read_protocol


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
        What the other side chose; the splits follow from it and from the data.
    """

    protocol: str
    data: str
    columns: tuple[str, ...]
    rows: int
    challenge: str

    @property
    def digest(self) -> str:
        """One digest of all of it, to exchange and to print on paper."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def seal_path(protocol: str | Path) -> Path:
    """Where a protocol's seal is kept: beside it."""
    return Path(protocol).with_suffix(".seal")


def make_seal(declared: Declaration, data: FrameLike, challenge: str = "") -> Seal:
    """Check that a protocol can be run on the data, and seal both; no split is made."""
    return seal_of(prepare_audit(data, from_declaration(declared, challenge)))


def seal_of(ready: Prepared) -> Seal:
    """The seal of an audit that is ready to run."""
    declared = declare(ready.plan.settings)
    assert declared is not None, "what a protocol declares can be declared again"
    columns, challenge = ready.data.columns, ready.plan.settings.challenge
    return Seal(digest_of(declared), ready.data.digest, columns, ready.surveyed.total, challenge or "")


def write_seal(seal: Seal, path: str | Path) -> None:
    """Write a seal; a different one that already exists is never overwritten."""
    place = Path(path)
    if place.exists():
        if read_seal(place) == seal:
            return
        raise StorageError(
            f"'{place}' already holds another seal of this protocol.",
            "A seal is made once. Keep it, or seal a copy of the protocol under another name.",
        )
    facts = {"format": FORMAT, "version": VERSION, **asdict(seal), "digest": seal.digest}
    write_whole(place, as_json(facts))


def read_seal(path: str | Path) -> Seal:
    """Read a seal and check that nobody changed it."""
    place = Path(path)
    plain = read_json(place)
    try:
        seal = Seal(**{name: plain[name] for name in Seal.__dataclass_fields__} | {"columns": tuple(plain["columns"])})
        check_types(seal)
    except KeyError as error:
        raise StorageError(f"'{place}' is not a seal: it has no {error}.", "Seal the protocol again.") from error
    except TypeError as error:
        raise StorageError(f"'{place}' is not a seal.", "Ask the other side for their copy.") from error
    if plain.get("digest") != seal.digest:
        raise StorageError(f"'{place}' was changed after it was made.", "Ask the other side for their copy.")
    return seal


def check_seal(seal: Seal, ready: Prepared) -> None:
    """Refuse a protocol or data that are not those that were sealed."""
    found = seal_of(ready)
    if found.protocol != seal.protocol:
        raise StorageError(
            "the protocol is not the one that was sealed.", "Run the sealed one, or seal this one under another name."
        )
    if found.columns != seal.columns:
        other = sorted(set(found.columns) ^ set(seal.columns))
        raise StorageError(
            f"the columns that would be read are not those that were sealed: {', '.join(map(repr, other[:3]))}.",
            "List the features in the protocol, so that new columns in the file do not become features.",
        )
    if found.data != seal.data:
        raise StorageError(
            f"the data are not those that were sealed: {found.rows:,} rows with fingerprint {found.data[:16]}..., "
            f"sealed {seal.rows:,} with {seal.data[:16]}....",
            "Find the sealed data; if they must change, say why and seal again.",
        )


def settings_of(path: str | Path) -> tuple[Settings, Seal | None]:
    """What a protocol declares, with its seal where there is one beside it."""
    declared, place = read_protocol(path), seal_path(path)
    if not place.exists():
        return from_declaration(declared), None
    seal = read_seal(place)
    return replace(from_declaration(declared, seal.challenge), seal=seal.digest), seal


def seal_facts(seal: Seal) -> dict[str, Any]:
    return {**asdict(seal), "columns": list(seal.columns), "digest": seal.digest}
