"""A ledger beside the data: the audits begun on them from the command line, in a chain of hashes.

Each line is a JSON object with the hash of the line before it and its own. A line that was edited no longer has its
hash; where a line was removed, the next one points to a line that is not there. The chain holds no secret: whoever
cuts lines off at the end, or rewrites it from the start, is exposed by the hashes that outputs printed and the other
side kept, or by `verify`.

A line that was cut while it was written, when a disk was full or a machine died, ends the file without a newline. It is
passed over, and the next line that is written repairs the file: what was torn is kept, all of it, in a line of its own.
An end that is not the beginning of a line of ours is somebody's text: the file is refused and stays as it is. So is a
link, which may point to anything.

Runs that write at the same time take turns. The lock is on the ledger itself, through its open descriptor, so no lock
file is left beside the data. Windows lets only the descriptor that holds a lock read the file: whoever holds it reads
and writes through that one.
"""

import codecs
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from filelock import lock_descriptor, unlock_descriptor

from improvable.data.files import nearest_file
from improvable.data.received import ReceivedError, read_bytes
from improvable.errors import StorageError
from improvable.question.checks import conforms
from improvable.results.versions import VERSION

if TYPE_CHECKING:
    from improvable.results.audit import Audit
    from improvable.results.comparison import Comparison

BEGUN, RESUMED, FINISHED, REFUSED = "begun", "resumed", "finished", "refused"
PLANNED, SEALED, VERIFIED, REPAIRED = "planned", "sealed", "verified", "repaired"
IDENTITY = ("kind", "protocol", "seed", "challenge", "seal", "rule_source")
"""What the lines of one run have in common. Runs that have it in common find the same."""
ORIGIN = "0" * 64
MOST_TORN = 100_000
"""Bytes that a torn line of ours may have; it is kept whole."""
TEXT = r'"(?:[^"\\\x00-\x1f]|\\.)*'
VALUE = rf'(?:{TEXT}"|[\w.+-]+|\{{[^{{}}\x00-\x1f]*\}})'
TORN = re.compile(
    rf'\{{(?:"[a-z_]+":{VALUE},)*(?:"[a-z_]*(?:"(?::(?:{TEXT}\\?|\{{[^{{}}\x00-\x1f]*|{VALUE})?)?)?)?', re.ASCII
)
"""The beginning of a line as we write it, with no space between names and values, cut anywhere before its end."""
TYPES: dict[str, Any] = {
    "event": str,
    "kind": str,
    "protocol": str | None,
    "seal": str | None,
    "seed": int | None,
    "rule_source": str | None,
    "challenge": str | None,
    "challenge_source": str | None,
    "command": str | None,
    "file": str | None,
    "columns": str | None,
    "draws": int,
    "p_value": float,
    "verdict": str,
    "reading": dict[Literal["separator", "encoding", "decimal", "sheet"], str],
    "run": int,
    "bytes": int,
    "why": str,
    "found": str,
}
"""Of what is read from a line: its type, where the line says it."""
KEPT = "Keep the file as it is: it is evidence. Record further runs in another file with --ledger."


@dataclass(frozen=True)
class Line:
    """One line of a ledger.

    Attributes
    ----------
    number : int
        From 1.
    event : str
        "begun", "resumed", "finished", "refused", "planned", "sealed", "verified" or "repaired".
    facts : dict
        When, data, protocol, seed or challenge; of a run also its command and what the data are called, of a finished
        one its p-value and verdict. A resumed or refused run has in ``run`` the line that it was begun in.
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
    if not place.exists() and not place.is_symlink():
        begin = "improvable audit DATA begins one beside the data."
        raise StorageError(f"there is no ledger '{place}'.", nearest_file(place, ".ledger", begin))
    try:
        content = read_bytes(place, links=False)
    except ReceivedError as error:
        raise StorageError(f"'{place}' {error}.", "Name the ledger itself.") from error
    except OSError as error:
        raise StorageError(f"the ledger '{place}' cannot be read: {error.strerror}.", "Check the path.") from error
    return _checked(content, place)


def torn_end(content: bytes) -> bytes:
    """What is left of a last line of ours that was not written to its end; nothing where the end is anything else."""
    rest = content.rpartition(b"\n")[2]
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(rest[:MOST_TORN])  # the last character may be cut too
    except UnicodeDecodeError:
        return b""
    return rest if 0 < len(rest) <= MOST_TORN and TORN.fullmatch(text) else b""


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that says a key twice shows one reader what another does not see."""
    plain = dict(pairs)
    if len(plain) != len(pairs):
        raise ValueError("a key is said twice")
    return plain


def _checked(content: bytes, place: Path) -> list[Line]:
    lines: list[Line] = []
    previous = ORIGIN
    whole = content.removesuffix(torn_end(content))
    for number, text in enumerate(filter(None, whole.split(b"\n")), start=1):
        try:
            plain = json.loads(text, object_pairs_hook=no_key_twice)
            hash_, before, event = plain.pop("hash"), plain["previous"], plain["event"]
            if datetime.fromisoformat(plain["when"]).tzinfo is None:
                raise ValueError("a time without a zone")
            if not all(conforms(plain[name], hint) for name, hint in TYPES.items() if name in plain):
                raise TypeError("a fact of another type")
            found = _hash(plain)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise StorageError(f"line {number} of '{place}' is not a ledger line.", KEPT) from error
        if found != hash_:
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
        with _opened(place) as file, _locked(file):
            file.seek(0)
            content = file.read()
            lines = _checked(content, place)
            check_belongs(lines, data, place)
            torn = torn_end(content)
            if torn:
                file.truncate(len(content) - len(torn))
                kept = {"bytes": len(torn), "torn": torn.decode("utf-8", "backslashreplace")}
                lines.append(_written(file, lines, data, REPAIRED, kept))
            elif lines and not content.endswith(b"\n"):
                file.write(b"\n")
            lines.append(_written(file, lines, data, event, facts))
            file.flush()
            os.fsync(file.fileno())
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(
            f"the ledger '{place}' cannot be written: {error.strerror}.", "Choose another place with --ledger FILE."
        ) from error
    return lines[-1]


def _opened(place: Path) -> IO[bytes]:
    """A ledger to append to, made where there is none; never what a link points to, nor a pipe."""
    if place.is_symlink():
        raise StorageError(f"the ledger '{place}' is a link.", "Name the ledger itself: --ledger FILE.")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    descriptor = os.open(place, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StorageError(f"the ledger '{place}' is not a regular file.", "Choose another place: --ledger FILE.")
    return open(descriptor, "a+b")  # noqa: PTH123


def _written(file: IO[bytes], lines: Sequence[Line], data: str, event: str, facts: Mapping[str, Any]) -> Line:
    plain = {
        "when": now().isoformat(timespec="seconds"),
        "event": event,
        "data": data,
        **facts,
        "version": VERSION,
        "previous": lines[-1].hash if lines else ORIGIN,
    }
    hash_ = _hash(plain)
    file.write((_canonical(plain | {"hash": hash_}) + "\n").encode())
    return Line(len(lines) + 1, event, plain, hash_)


def now() -> datetime:
    """The clock of this machine."""
    return datetime.now(UTC)


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
        "seal": facts.get("seal"),
        "rule_source": facts.get("rule_source"),
        "columns": facts["data_fingerprint"],
        "draws": facts["draws"],
        "p_value": facts["p_value"],
        "verdict": "rejected" if facts["reject"] else "not rejected",
    }


def unfinished_run(lines: Sequence[Line], facts: Mapping[str, Any]) -> int | None:
    """The line that began a run of the same audit and was not followed by its end: to resume it is to go on with it."""
    begun: list[int] = []
    for line in lines:
        if all(line.facts.get(name) == facts.get(name) for name in IDENTITY):
            if line.event == BEGUN:
                begun.append(line.number)
            elif line.event in (FINISHED, REFUSED) and begun:
                begun.pop()
    return begun[-1] if begun else None


def runs_words(lines: Sequence[Line]) -> str:
    """How many runs there were, in words.

    Examples
    --------
    >>> runs_words([])
    'no run is recorded'
    """
    if not lines:
        return "no run is recorded"
    begun, verdicts, refused = _counts(lines)
    told = ", ".join(f"{verdicts.count(v)} {v}" for v in ("rejected", "not rejected") if v in verdicts)
    what = f"{begun} run{'s' if begun != 1 else ''} begun on these data, {len(verdicts)} finished"
    what += (f" ({told})" if told else "") + (f", {refused} refused" if refused else "")
    resumed = {line.facts.get("run", line.number) for line in lines if line.event == RESUMED or line.facts.get(RESUMED)}
    return what + "".join(
        f"; {count} {words if count != 1 else word}"
        for count, word, words in (
            (len(resumed), "of them was resumed", "of them were resumed"),
            (sum(line.event == PLANNED for line in lines), "plan made on them", "plans made on them"),
            (sum(line.event == VERIFIED for line in lines), "verification", "verifications"),
        )
        if count
    )


def rejections_words(lines: Sequence[Line]) -> str:
    """How many finished runs did not reject: what a reader of one that did must know.

    Examples
    --------
    >>> rejections_words([])
    'of 0 finished runs on these data, 0 did not reject'
    """
    begun, verdicts, refused = _counts(lines)
    counts = ((begun - len(verdicts) - refused, BEGUN), (refused, REFUSED))
    others = ", ".join(f"{count} more {word}" for count, word in counts if count > 0)
    runs = f"finished run{'s' if len(verdicts) != 1 else ''} on these data" + (f" ({others})" if others else "")
    return f"of {len(verdicts)} {runs}, {verdicts.count('not rejected')} did not reject"


def _counts(lines: Sequence[Line]) -> tuple[int, list[Any], int]:
    """Runs begun, verdicts of those that finished, and how many were refused."""
    verdicts = [line.facts.get("verdict") for line in lines if line.event == FINISHED]
    begun, refused = (sum(line.event == event for line in lines) for event in (BEGUN, REFUSED))
    return begun, verdicts, refused


def line_words(path: Path, lines: Sequence[Line]) -> str:
    """The last of these lines, by which a result can be found in its ledger, and what there was up to it."""
    words = f"Line {lines[-1].number} of {path.name} (hash {lines[-1].hash[:16]}...): {runs_words(lines)}."
    return " ".join([words, *doubts(lines)])


def doubts(lines: Sequence[Line]) -> list[str]:
    """What a reader of an intact chain must know: clocks that were turned back, lines that were torn."""
    torn = [
        f"Line {line.number} repairs a line that was torn after {line.facts.get('bytes', 0):,} bytes."
        for line in lines
        if line.event == REPAIRED
    ]
    return [*turned_back(lines), *torn]


def turned_back(lines: Sequence[Line]) -> list[str]:
    """Where time goes backward: then the order of events is not shown, and nothing is verified by it."""
    return [
        f"Time goes backward at line {after.number}: a clock was turned back, or lines were backdated."
        for before, after in pairwise(lines)
        if datetime.fromisoformat(after.facts["when"]) < datetime.fromisoformat(before.facts["when"])
    ]


def _hash(plain: dict[str, Any]) -> str:
    return hashlib.blake2b(_canonical(plain).encode(), digest_size=32).hexdigest()


def _canonical(plain: dict[str, Any]) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
