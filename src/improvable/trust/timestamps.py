"""Time stamps of a third party (RFC 3161): a protocol, a seal or a ledger's last line existed at a time.

An authority signs the SHA-256 digest of a file together with the time. The token is kept beside the file and checked
offline, against the authority's root certificate. Of a ledger, which grows, the hash of its last line is stamped: the
line has the hash of the one before, so the token covers the whole chain up to it.
"""

import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from improvable.data.files import write_whole
from improvable.data.received import MOST_ARRAYS, ReceivedError, read_bytes
from improvable.errors import OptionError, StorageError
from improvable.trust.ledger import read_ledger
from improvable.trust.packages import need_package

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from rfc3161_client import TimeStampResponse

TOKEN, LEDGER = ".tsr", ".ledger"
MOST_TOKEN = 1 << 20
WAIT = 30
"""Seconds until an authority that does not answer is given up."""


@dataclass(frozen=True)
class Stamped:
    """What was found about one token.

    Attributes
    ----------
    name : str
        What was stamped: a file, or a line of a ledger.
    token : str
    time : datetime or None
        When it existed, as the authority says; None where the token proves nothing.
    problem : str
        Why it proves nothing.
    """

    name: str
    token: str
    time: datetime | None
    problem: str = ""


def message_of(path: Path, line: int | None = None) -> bytes:
    """What is stamped of a file: its bytes; of a ledger, the hash of a line, by default of the last one."""
    if path.suffix != LEDGER:
        return _read(path, MOST_ARRAYS)
    lines = read_ledger(path)
    if not lines or (line is not None and not 1 <= line <= len(lines)):
        raise StorageError(
            f"'{path}' has no line {line or 1}.", "Lines were cut off, or the token is of another ledger."
        )
    return lines[(line or len(lines)) - 1].hash.encode()


def token_path(path: Path) -> Path:
    """Where a token is kept: beside the file; of a ledger, with the number of its last line."""
    if path.suffix != LEDGER:
        return Path(f"{path}{TOKEN}")
    return Path(f"{path}.{len(read_ledger(path))}{TOKEN}")


def stamp(path: str | Path, authority: str, root: str | Path | None = None) -> tuple[Path, datetime]:
    """Ask an authority to stamp a file, and keep its token; one that exists is never overwritten.

    Parameters
    ----------
    path : str or path
    authority : str
        The authority's address; only a digest is sent there.
    root : str or path, optional
        Its root certificate, to check the token at once.

    Returns
    -------
    path, datetime
        Where the token is, and the time in it.
    """
    need_package("rfc3161_client", "timestamp", "time stamps")
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

    place = Path(path)
    message = message_of(place)
    if not message:
        raise OptionError(f"'{place}' is empty.", "Stamp a file that says something.")
    token = token_path(place)
    if token.exists():
        raise StorageError(f"'{token}' already exists.", "The earliest token proves most; keep it.")
    request = TimestampRequestBuilder().data(message).hash_algorithm(HashAlgorithm.SHA256).build()
    content = _ask(authority, request.as_bytes())
    answer = _decoded(content, authority)
    imprint = answer.tst_info.message_imprint.message
    if imprint != request.message_imprint.message or answer.tst_info.nonce != request.nonce:
        raise StorageError(f"'{authority}' stamped something else.", "Do not trust that authority.")
    if root is not None:
        _check(answer, message, read_roots(root))
    write_whole(token, content)
    return token, answer.tst_info.gen_time


def check_stamps(
    paths: Sequence[Path], root: str | Path, due: datetime | None = None, agreed: int = 0
) -> list[Stamped]:
    """Check every token beside these files against the authority's root certificate, offline.

    Files are named in the order in which they must have existed; a token that is earlier than one of a file before it
    is a problem.

    Parameters
    ----------
    due : datetime, optional
        When the challenge could first be known.
    agreed : int
        So many files, the first ones, must have existed before that.
    """
    roots = read_roots(root)
    found: list[Stamped] = []
    latest: Stamped | None = None
    for place, path in enumerate(paths):
        stamps = [_checked(path, line, token, roots) for line, token in tokens_of(path)]
        for one in stamps:
            if latest is not None and one.time is not None and latest.time is not None and one.time < latest.time:
                one = Stamped(one.name, one.token, one.time, f"is earlier than the stamp of {latest.name}")
            elif due is not None and place < agreed and one.time is not None and one.time >= due and not one.problem:
                one = Stamped(one.name, one.token, one.time, "is not earlier than the challenge could be known")
            found.append(one)
        latest = max((one for one in stamps if one.time is not None), key=_time, default=latest)
    return found


def _time(stamped: Stamped) -> datetime:
    assert stamped.time is not None
    return stamped.time


def tokens_of(path: Path) -> Iterator[tuple[int | None, Path]]:
    """The tokens beside a file, with the line of a ledger that each is of."""
    if path.suffix != LEDGER:
        if (token := token_path(path)).exists():
            yield None, token
        return
    numbered = [(token.name.removeprefix(f"{path.name}.").removesuffix(TOKEN), token) for token in _beside(path)]
    yield from sorted((int(number), token) for number, token in numbered if number.isdecimal() and number.isascii())


def _beside(path: Path) -> list[Path]:
    begin = f"{path.name}."
    folder = path.parent
    if not folder.is_dir():
        return []
    return [one for one in folder.iterdir() if one.name.startswith(begin) and one.name.endswith(TOKEN)]


def read_roots(path: str | Path) -> "list[Certificate]":
    """Root certificates, from a PEM file."""
    need_package("rfc3161_client", "timestamp", "time stamps")
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return load_pem_x509_certificates(_read(Path(path), MOST_TOKEN))
    except ValueError as error:
        raise OptionError(
            f"'{path}' holds no certificate.", "Give the authority's root certificate, in PEM."
        ) from error


def _checked(path: Path, line: int | None, token: Path, roots: "list[Certificate]") -> Stamped:
    name = path.name if line is None else f"line {line} of {path.name}"
    try:
        answer = _decoded(_read(token, MOST_TOKEN), str(token))
        _check(answer, message_of(path, line), roots)
    except StorageError as error:
        return Stamped(name, token.name, None, error.message.rstrip("."))
    return Stamped(name, token.name, answer.tst_info.gen_time)


def _check(answer: "TimeStampResponse", message: bytes, roots: "list[Certificate]") -> None:
    from rfc3161_client import VerificationError, VerifierBuilder

    try:
        VerifierBuilder(roots=roots).build().verify_message(answer, message)
    except (VerificationError, ValueError) as error:
        raise StorageError(f"its token does not hold: {error}.", "Ask for it again.") from error


def _decoded(content: bytes, source: str) -> "TimeStampResponse":
    from rfc3161_client import PKIStatus, decode_timestamp_response

    try:
        answer = decode_timestamp_response(content)
        if PKIStatus(answer.status) != PKIStatus.GRANTED:
            raise ValueError
        assert answer.tst_info.gen_time
    except (ValueError, AssertionError) as error:
        raise StorageError(f"'{source}' gives no time stamp.", "It must be a token of RFC 3161, granted.") from error
    return answer


def _ask(authority: str, request: bytes) -> bytes:
    if not authority.lower().startswith(("http://", "https://")):
        raise OptionError(f"'{authority}' is no authority's address.", "It begins with http:// or https://.")
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    try:
        asked = urllib.request.Request(authority, request, headers)
        with urllib.request.urlopen(asked, timeout=WAIT) as answer:
            return bytes(answer.read(MOST_TOKEN))
    except (OSError, ValueError, urllib.error.URLError) as error:
        raise StorageError(
            f"'{authority}' does not answer: {getattr(error, 'reason', error)}.",
            "Check the address, and that this machine has a network.",
        ) from error


def _read(path: Path, most: int) -> bytes:
    try:
        return read_bytes(path, most)
    except OSError as error:
        raise StorageError(f"'{path}' cannot be read: {error.strerror}.", "Check the path.") from error
    except ReceivedError as error:
        raise StorageError(f"'{path}' {error}.", "Name the file itself.") from error
