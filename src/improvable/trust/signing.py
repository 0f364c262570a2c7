"""One signed statement per run: who vouches for which files, in formats that others know.

An in-toto Statement names every file with its SHA-256 digest; a DSSE envelope carries it with an Ed25519 signature. It
shows that the holder of the key vouched for these files. When is not part of it: stamp the envelope for that.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from improvable.algorithms.rules.source import source_files
from improvable.data.files import write_whole
from improvable.data.received import MOST_ARRAYS, ReceivedError, parse_json, read_bytes
from improvable.errors import OptionError, StorageError
from improvable.results.storage import PROVENANCE, RESULT, RUN, as_json
from improvable.results.versions import VERSION
from improvable.trust.packages import need_package
from improvable.trust.seal import seal_path
from improvable.trust.verification import read_facts

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
PREDICATE = "urn:improvable:result:v1"
SAID = (
    "kind",
    "p_value",
    "threshold",
    "reject",
    "alpha",
    "seed",
    "challenge",
    "seal",
    "data_fingerprint",
    "rule_source",
)
"""What the statement repeats of the result, so that it can be read by itself."""
HOW = "openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out key.pub."
MAKE_KEY = f"Make one: {HOW}"
GET_KEY = f"Get key.pub from the signer, who makes it like this: {HOW}"


@dataclass(frozen=True)
class Vouched:
    """One subject of a statement: its name, and whether what the verifier holds is the same; None where not held."""

    name: str
    same: bool | None


def envelope_path(result: str | Path) -> Path:
    """Where a result's signed statement is kept: beside it."""
    return Path(f"{str(result).rstrip('/')}.dsse.json")


def sign(
    result: str | Path, key: str | Path, data: str | Path | None = None, protocol: str | Path | None = None
) -> Path:
    """Sign a statement about a result, and keep it beside the result; one that exists is never overwritten.

    Parameters
    ----------
    result : str or path
        A run folder, a file of ``improvable audit --json``, or a report in HTML.
    key : str or path
        An Ed25519 private key, in PEM.
    data, protocol : str or path, optional
        Files to vouch for too; the seal beside the protocol is one of them.
    """
    need_package("cryptography", "sign", "signatures")
    place, private = envelope_path(result), _private(key)
    if place.exists():
        raise StorageError(f"'{place}' already exists.", "Keep it, or move it away to sign again.")
    facts = read_facts(result)
    subjects = dict(_subjects(Path(result), facts, data, protocol))
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects.items()],
        "predicateType": PREDICATE,
        "predicate": {name: facts.get(name) for name in SAID} | {"version": VERSION},
    }
    payload = json.dumps(statement, sort_keys=True).encode()
    envelope = {
        "payloadType": PAYLOAD,
        "payload": _in_base64(payload),
        "signatures": [
            {"keyid": key_id(private.public_key()), "sig": _in_base64(private.sign(authenticated(PAYLOAD, payload)))}
        ],
    }
    write_whole(place, as_json(envelope))
    return place


def check_signature(
    result: str | Path,
    key: str | Path,
    data: str | Path | None = None,
    protocol: str | Path | None = None,
    envelope: str | Path | None = None,
) -> list[Vouched]:
    """Check a statement's signature, and each file that it vouches for against what the verifier holds.

    Parameters
    ----------
    result, data, protocol
        As in `sign`.
    key : str or path
        The signer's public key, in PEM, which the verifier has from elsewhere.
    envelope : str or path, optional
        The signed statement; by default the one beside the result.

    Returns
    -------
    list of Vouched
        Files of the result that the statement does not name are among them, as not the same.
    """
    need_package("cryptography", "sign", "signatures")
    place = Path(envelope) if envelope is not None else envelope_path(result)
    statement = _opened(place, public_key(key))
    vouched = _digests(statement, place)
    held = dict(_subjects(Path(result), read_facts(result), data, protocol))
    missing = [name for name in held if name not in vouched and name.startswith("result/")]
    found = [Vouched(name, held[name] == digest if name in held else None) for name, digest in vouched.items()]
    lost = [Vouched(one.name, False) for one in found if one.same is None and one.name.startswith("result/")]
    return [*(one for one in found if one.same is not None or not one.name.startswith("result/")), *lost,
            *(Vouched(f"{name} (not in the statement)", False) for name in missing)]  # fmt: skip


def key_id(public: "Ed25519PublicKey") -> str:
    """A public key's digest, by which people can name it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def authenticated(kind: str, payload: bytes) -> bytes:
    """What is signed: DSSE's pre-authentication encoding, which binds the payload to its type.

    Examples
    --------
    >>> authenticated("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)


def _subjects(
    result: Path, facts: Mapping[str, Any], data: str | Path | None, protocol: str | Path | None
) -> Iterator[tuple[str, str]]:
    """Names and digests: every file of the result, what was declared, and the files that are given."""
    files = sorted(path for path in result.iterdir() if path.is_file()) if result.is_dir() else [result]
    for path in files:
        if result.is_file() or path.name in (RESULT, RUN, PROVENANCE) or path.match("repetition-*.npz"):
            yield f"result/{path.name}", _digest(path)
    declared = (facts.get("protocol") or {}).get("declared")
    if declared is not None:
        text = json.dumps(declared, sort_keys=True, separators=(",", ":"))
        yield "declared", hashlib.sha256(text.encode()).hexdigest()
        for name, content in source_files(declared.get("rule", {}).get("name")).items():
            yield f"rule/{name}", hashlib.sha256(content).hexdigest()
    if data is not None:
        yield "data", _digest(Path(data))
    if protocol is not None:
        yield "protocol", _digest(Path(protocol))
        if seal_path(protocol).exists():
            yield "seal", _digest(seal_path(protocol))


def _digest(path: Path) -> str:
    if path.is_dir():
        parts = {one.relative_to(path).as_posix(): _digest(one) for one in sorted(path.rglob("*")) if one.is_file()}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"'{path}' cannot be read: {error.strerror}.", "Check the path.") from error


def _opened(place: Path, public: "Ed25519PublicKey") -> dict[str, Any]:
    """The statement in an envelope, once its signature holds."""
    from cryptography.exceptions import InvalidSignature

    try:
        envelope = parse_json(read_bytes(place, MOST_ARRAYS))
        payload = base64.b64decode(envelope["payload"], validate=True)
        kind, signatures = envelope["payloadType"], [one["sig"] for one in envelope["signatures"]]
        for text in signatures:
            try:
                public.verify(base64.b64decode(text, validate=True), authenticated(kind, payload))
            except InvalidSignature:
                continue
            statement: dict[str, Any] = parse_json(payload)
            if kind != PAYLOAD or statement["_type"] != STATEMENT or statement["predicateType"] != PREDICATE:
                raise ReceivedError("is signed, but no statement about a result")
            return statement
    except FileNotFoundError as error:
        raise StorageError(f"there is no signed statement '{place}'.", "Make one with improvable sign.") from error
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = str(error) if isinstance(error, ReceivedError) else "is not a signed statement"
        raise StorageError(f"'{place}' {why}.", "Ask the signer for it again.") from error
    raise StorageError(
        f"'{place}' is not signed with this key.", "Check whose key it is, and ask for the statement again."
    )


def _digests(statement: Mapping[str, Any], place: Path) -> dict[str, str]:
    try:
        named = {str(one["name"]): str(one["digest"]["sha256"]) for one in statement["subject"]}
        if len(named) != len(statement["subject"]) or not named:
            raise ValueError
    except (LookupError, TypeError, ValueError) as error:
        raise StorageError(f"'{place}' does not say what it vouches for.", "Ask the signer for it again.") from error
    return named


def _private(path: str | Path) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = _pem(path, MAKE_KEY)
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError) as error:
        raise OptionError(f"'{path}' holds no private key that is not encrypted.", MAKE_KEY) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise OptionError(f"'{path}' is not an Ed25519 key.", MAKE_KEY)
    return key


def public_key(path: str | Path) -> "Ed25519PublicKey":
    """A signer's public key, from a PEM file."""
    need_package("cryptography", "sign", "signatures")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    content = _pem(path, GET_KEY)
    try:
        key = load_pem_public_key(content)
    except ValueError as error:
        raise OptionError(f"'{path}' holds no public key.", GET_KEY) from error
    if not isinstance(key, Ed25519PublicKey):
        raise OptionError(f"'{path}' is not an Ed25519 key.", GET_KEY)
    return key


def _pem(path: str | Path, hint: str) -> bytes:
    try:
        return read_bytes(Path(path), 1 << 16)
    except (OSError, ReceivedError) as error:
        reason = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise OptionError(f"the key '{path}' {reason}.", hint) from error


def _in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
