"""A ledger beside the data: the audits begun on them from the command line, in a chain of hashes.

Each line is a JSON object with the hash of the line before it and its own. A line that was edited no longer has its
hash; where a line was removed, the next one points to a line that is not there. The chain holds no secret: whoever
cuts lines off at the end, or rewrites it from the start, is exposed by the hashes that outputs printed and the other
side kept, or by `verify`.

Runs that write at the same time take turns. The lock is on the ledger itself, through its open descriptor, so no lock
file is left beside the data. Windows lets only the descriptor that holds a lock read the file: whoever holds it reads
and writes through that one.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from filelock import lock_descriptor, unlock_descriptor

from improvable.data.received import ReceivedError, read_bytes
from improvable.errors import StorageError
from improvable.results.versions import VERSION

if TYPE_CHECKING:
    from improvable.results.audit import Audit
    from improvable.results.comparison import Comparison

BEGUN, FINISHED, PLANNED = "begun", "finished", "planned"
ORIGIN = "0" * 64
KEPT = "Keep the file as it is: it is evidence. Record further runs in another file with --ledger."


@dataclass(frozen=True)
class Line:
    """One line of a ledger.

    Attributes
    ----------
    number : int
        From 1.
    event : str
        "begun", "finished" or "planned".
    facts : dict
        When, data, protocol, seed or challenge; of a finished run also its p-value and verdict.
    hash : str
    """

    number: int
    event: str
    facts: dict[str, Any]
    hash: str


def ledger_path(data: str | Path) -> Path:
    """Where the ledger of a data file is kept: beside it."""
    return Path(f"{data}.ledger")


def read_ledger(path: str | Path) -> list[Line]:
    """Read a ledger and check its chain; an error names the first line that was edited, or follows a missing one."""
    place = Path(path)
    if not place.exists():
        raise StorageError(f"there is no ledger '{place}'.", "improvable audit DATA begins one beside the data.")
    try:
        return _checked(read_bytes(place), place)
    except ReceivedError as error:
        raise StorageError(f"'{place}' {error}.", "Name the ledger itself.") from error


def _checked(content: bytes, place: Path) -> list[Line]:
    lines: list[Line] = []
    previous = ORIGIN
    for number, text in enumerate(filter(None, content.split(b"\n")), start=1):
        try:
            plain = json.loads(text)
            hash_, before, event = plain.pop("hash"), plain["previous"], plain["event"]
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise StorageError(f"line {number} of '{place}' is not a ledger line.", KEPT) from error
        if _hash(plain) != hash_:
            raise StorageError(f"line {number} of '{place}' was edited.", KEPT)
        if before != previous:
            raise StorageError(f"a line is missing before line {number} of '{place}', or lines were reordered.", KEPT)
        lines.append(Line(number, event, plain, hash_))
        previous = hash_
    return lines


def record(path: str | Path, data: str, event: str, facts: dict[str, Any]) -> Line:
    """Add a line; a broken ledger, or one of other data, is refused and stays as it is.

    Parameters
    ----------
    path : str or path
    data : str
        Fingerprint of all columns of the data.
    event : str
    facts : dict
    """
    place = Path(path)
    try:
        with place.open("a+b") as file, _locked(file):
            file.seek(0)
            content = file.read()
            lines = _checked(content, place)
            check_belongs(lines, data, place)
            plain = {
                "when": datetime.now(UTC).isoformat(timespec="seconds"),
                "event": event,
                "data": data,
                **facts,
                "version": VERSION,
                "previous": lines[-1].hash if lines else ORIGIN,
            }
            hash_ = _hash(plain)
            begin = b"" if content.endswith(b"\n") or not lines else b"\n"
            file.write(begin + (_canonical(plain | {"hash": hash_}) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(
            f"the ledger '{place}' cannot be written: {error.strerror}.", "Choose another place with --ledger FILE."
        ) from error
    return Line(len(lines) + 1, event, plain, hash_)


@contextmanager
def _locked(file: IO[bytes]) -> Iterator[None]:
    lock_descriptor(file.fileno())
    try:
        yield
    finally:
        unlock_descriptor(file.fileno())


def check_belongs(lines: Sequence[Line], data: str, place: str | Path) -> None:
    """Refuse a ledger that belongs to other data."""
    if lines and lines[0].facts.get("data") != data:
        raise StorageError(
            f"the ledger '{place}' belongs to other data.",
            "Keep it with the data it was made for, and choose another with --ledger FILE.",
        )


def run_facts(result: "Audit | Comparison") -> dict[str, Any]:
    """What a ledger keeps about a finished run."""
    return stated_facts(result.to_dict())


def stated_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The same, from what a result says about itself."""
    protocol = facts.get("protocol")
    return {
        "protocol": None if protocol is None else protocol["digest"],
        "seed": facts["seed"],
        "challenge": facts.get("challenge"),
        "columns": facts["data_fingerprint"],
        "draws": facts["draws"],
        "p_value": facts["p_value"],
        "verdict": "rejected" if facts["reject"] else "not rejected",
    }


def runs_words(lines: Sequence[Line]) -> str:
    """How many runs there were, in words.

    Examples
    --------
    >>> runs_words([])
    'no run is recorded'
    """
    begun = sum(line.event == BEGUN for line in lines)
    verdicts = [line.facts.get("verdict") for line in lines if line.event == FINISHED]
    if not lines:
        return "no run is recorded"
    told = ", ".join(f"{verdicts.count(v)} {v}" for v in ("rejected", "not rejected") if v in verdicts)
    what = f"{begun} run{'s' if begun != 1 else ''} begun on these data, {len(verdicts)} finished"
    plans = sum(line.event == PLANNED for line in lines)
    planned = f"; {plans} plan{'s' if plans != 1 else ''} made on them" if plans else ""
    return f"{what} ({told}){planned}" if told else f"{what}{planned}"


def _hash(plain: dict[str, Any]) -> str:
    return hashlib.blake2b(_canonical(plain).encode(), digest_size=32).hexdigest()


def _canonical(plain: dict[str, Any]) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
