"""A ledger beside the data: what the command line did with them, in a chain of hashes.

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
import contextlib
import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Literal

from filelock import lock_descriptor, unlock_descriptor

from improvable.data.io.safe import ReceivedError, nearest_file, parse_json, read_bytes
from improvable.errors import OptionError, StorageError
from improvable.question.challenge import parse_source
from improvable.question.options import conforms
from improvable.results.versions import VERSION

BEGUN, RESUMED, FINISHED, REFUSED = "begun", "resumed", "finished", "refused"
PLANNED, SEALED, VERIFIED, REPAIRED = "planned", "sealed", "verified", "repaired"
ORIGIN = "0" * 64
MAX_TORN = 100_000  # bytes that a torn line of ours may have; it is kept whole
TEXT = r'"(?:[^"\\\x00-\x1f]|\\.)*'
VALUE = rf'(?:{TEXT}"|[\w.+-]+|\{{[^{{}}\x00-\x1f]*\}})'
TORN = re.compile(
    rf'\{{(?:"[a-z_]+":{VALUE},)*(?:"[a-z_]*(?:"(?::(?:{TEXT}\\?|\{{[^{{}}\x00-\x1f]*|{VALUE})?)?)?)?', re.ASCII
)
"""The beginning of a line as we write it, with no space between names and values, cut anywhere before its end."""
TYPES: dict[str, Any] = {
    **dict.fromkeys(("event", "kind", "verdict", "why", "found"), str),
    **dict.fromkeys(("protocol", "seal", "rule_source", "challenge", "challenge_source"), str | None),
    **dict.fromkeys(("command", "file", "columns"), str | None),
    **dict.fromkeys(("draws", "run", "bytes"), int),
    "seed": int | None,
    "p_value": float,
    "reading": dict[Literal["separator", "encoding", "decimal", "sheet"], str],
}
"""The type of each fact that is read from a line, where the line has it."""
KEEP = "Keep the file as it is: it is evidence. Record further runs in another file with --ledger."
OUT_OF_ORDER = "NOT IN ORDER"


@dataclass(frozen=True)
class Line:
    """One line of a ledger.

    Its facts are when, data, protocol, seed or challenge; of a run also its command and what the data are called, of a
    finished one its p-value and verdict. A resumed or refused run has in ``run`` the line that it was begun in.
    """

    number: int  # from 1
    event: str  # from "begun" to "repaired"
    facts: dict[str, Any]
    hash: str

    @property
    def when(self) -> datetime:
        return datetime.fromisoformat(self.facts["when"])


def ledger_path(data: str | Path) -> Path:
    """Where the ledger of a data file is kept: beside it."""
    return Path(f"{data}.ledger")


def now() -> datetime:
    """The clock of this machine."""
    return datetime.now(UTC)


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
        text = codecs.getincrementaldecoder("utf-8")().decode(rest[:MAX_TORN])  # the last character may be cut too
    except UnicodeDecodeError:
        return b""
    return rest if 0 < len(rest) <= MAX_TORN and TORN.fullmatch(text) else b""


def _checked(content: bytes, place: Path) -> list[Line]:
    lines: list[Line] = []
    previous = ORIGIN
    whole = content.removesuffix(torn_end(content))
    for number, text in enumerate(filter(None, whole.split(b"\n")), start=1):
        try:
            plain = parse_json(text)
            hash_, before, event = plain.pop("hash"), plain["previous"], plain["event"]
            if datetime.fromisoformat(plain["when"]).tzinfo is None:
                raise ValueError("a time without a zone")
            if not all(conforms(plain[name], hint) for name, hint in TYPES.items() if name in plain):
                raise TypeError("a fact of another type")
            found = hash_of(plain)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise StorageError(f"line {number} of '{place}' is not a ledger line.", KEEP) from error
        if found != hash_:
            raise StorageError(f"line {number} of '{place}' was edited.", KEEP)
        if before != previous:
            raise StorageError(f"a line is missing before line {number} of '{place}', or lines were reordered.", KEEP)
        lines.append(Line(number, event, plain, hash_))
        previous = hash_
    return lines


def check_belongs(lines: Sequence[Line], data: str, place: str | Path) -> None:
    """Refuse a ledger that belongs to other data."""
    if lines and lines[0].facts.get("data") != data:
        raise StorageError(
            f"the ledger '{place}' belongs to other data.",
            "Keep it with the data it was made for, and choose another with --ledger FILE.",
        )


def record(path: str | Path, data: str, event: str, facts: dict[str, Any]) -> list[Line]:
    """Add a line, and give all of them; a broken ledger, or one of other data, is refused and stays as it is.

    `data` is the fingerprint of all columns of the data.
    """
    place = Path(path)
    try:
        with _opened(place) as file:
            lock_descriptor(file.fileno())
            try:
                return _appended(file, place, data, event, facts)
            finally:
                unlock_descriptor(file.fileno())
    except StorageError:  # an OSError that already says what is wrong
        raise
    except OSError as error:
        raise StorageError(
            f"the ledger '{place}' cannot be written: {error.strerror}.", "Choose another place with --ledger FILE."
        ) from error


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


def _appended(file: IO[bytes], place: Path, data: str, event: str, facts: dict[str, Any]) -> list[Line]:
    """All lines of a ledger after one more is written, and before it a repair where the last one was torn."""
    file.seek(0)
    content = file.read()
    lines, torn = _checked(content, place), torn_end(content)
    check_belongs(lines, data, place)
    events = [(event, facts)]
    if torn:
        file.truncate(len(content) - len(torn))
        events.insert(0, (REPAIRED, {"bytes": len(torn), "torn": torn.decode("utf-8", "backslashreplace")}))
    elif lines and not content.endswith(b"\n"):
        file.write(b"\n")
    for what, more in events:
        plain = {"when": now().isoformat(timespec="seconds"), "event": what, "data": data, **more, "version": VERSION}
        plain["previous"] = lines[-1].hash if lines else ORIGIN
        lines.append(Line(len(lines) + 1, what, plain, hash_of(plain)))
        file.write(f"{_canonical(plain | {'hash': lines[-1].hash})}\n".encode())
    file.flush()
    os.fsync(file.fileno())
    return lines


def hash_of(plain: Mapping[str, Any]) -> str:
    """A digest of plain data, whatever the order of its keys."""
    return hashlib.blake2b(_canonical(plain).encode(), digest_size=32).hexdigest()


def _canonical(plain: Mapping[str, Any]) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def line_words(path: Path, lines: Sequence[Line]) -> str:
    """The last of these lines, by which a result can be found in its ledger, and what there was up to it."""
    words = f"Line {lines[-1].number} of {path.name} (hash {lines[-1].hash[:16]}...): {runs_words(lines)}."
    return " ".join([words, *doubts(lines)])


def runs_words(lines: Sequence[Line]) -> str:
    """How many runs there were, in words.

    Examples
    --------
    >>> runs_words([])
    'no run is recorded'
    """
    if not lines:
        return "no run is recorded"
    events, verdicts = _counts(lines)
    told = ", ".join(f"{verdicts.count(v)} {v}" for v in ("rejected", "not rejected") if v in verdicts)
    what = f"{events[BEGUN]} run{'s' if events[BEGUN] != 1 else ''} begun on these data, {len(verdicts)} finished"
    what += (f" ({told})" if told else "") + (f", {events[REFUSED]} refused" if events[REFUSED] else "")
    resumed = {line.facts.get("run", line.number) for line in lines if line.event == RESUMED or line.facts.get(RESUMED)}
    others = (
        (len(resumed), "of them was resumed", "of them were resumed"),
        (events[PLANNED], "plan made on them", "plans made on them"),
        (events[VERIFIED], "verification", "verifications"),
    )
    return what + "".join(f"; {count} {words if count != 1 else word}" for count, word, words in others if count)


def rejections_words(lines: Sequence[Line]) -> str:
    """How many finished runs did not reject: what a reader of one that did must know.

    Examples
    --------
    >>> rejections_words([])
    'of 0 finished runs on these data, 0 did not reject'
    """
    events, verdicts = _counts(lines)
    counts = {BEGUN: events[BEGUN] - len(verdicts) - events[REFUSED], REFUSED: events[REFUSED]}
    others = ", ".join(f"{count} more {word}" for word, count in counts.items() if count > 0)
    runs = f"finished run{'s' if len(verdicts) != 1 else ''} on these data" + (f" ({others})" if others else "")
    return f"of {len(verdicts)} {runs}, {verdicts.count('not rejected')} did not reject"


def _counts(lines: Sequence[Line]) -> tuple[Counter[str], list[Any]]:
    """How often each event occurs, and the verdicts of finished runs."""
    verdicts = [line.facts.get("verdict") for line in lines if line.event == FINISHED]
    return Counter(line.event for line in lines), verdicts


def doubts(lines: Sequence[Line]) -> list[str]:
    """What a reader of an intact chain must know: clocks that were turned back, lines that were torn."""
    torn = [(line.number, line.facts.get("bytes", 0)) for line in lines if line.event == REPAIRED]
    return [*turned_back(lines), *(f"Line {n} repairs a line that was torn after {size:,} bytes." for n, size in torn)]


def turned_back(lines: Sequence[Line]) -> list[str]:
    """Where time goes backward: then the order of events is not shown, and nothing is verified by it."""
    return [
        f"Time goes backward at line {after.number}: a clock was turned back, or lines were backdated."
        for before, after in pairwise(lines)
        if after.when < before.when
    ]


def orders(lines: Sequence[Line]) -> list[str]:
    """For each seal, what happened when, and whether that is the order that makes a seal worth something."""
    seals = dict.fromkeys(line.facts["seal"] for line in lines if line.facts.get("seal") is not None)
    return [order_of(seal, lines) for seal in seals]


def order_of(seal: str, lines: Sequence[Line]) -> str:
    """The order of events around one seal, in words: protocol, seal, challenge, run."""
    mine = [line for line in lines if line.facts.get("seal") == seal]
    sealed = next((line for line in mine if line.event == SEALED), None)
    runs = [line for line in mine if line.event in (BEGUN, RESUMED, FINISHED, REFUSED)]
    source = next((line.facts["challenge_source"] for line in mine if line.facts.get("challenge_source")), None)
    due, wrong = None, []
    with contextlib.suppress(OptionError):  # a ledger may have come from anyone
        due = None if source is None else parse_source(source).due
    if sealed is None:
        steps = ["sealed elsewhere: no line of this ledger records it"]
    else:
        protocol = str(sealed.facts.get("protocol"))[:12]
        steps = [f"protocol {protocol}... sealed {sealed.facts['when']} (line {sealed.number})"]
    if source is None:
        steps.append("challenge given by the other side when it was sealed")
    else:
        steps.append(f"challenge {source} due {'at an unknown time' if due is None else due.isoformat()}")
        if sealed is not None and due is not None and sealed.when >= due:
            wrong.append("the challenge could be known when it was sealed")
    for line in runs:
        steps.append(f"run {line.event} {line.facts['when']} (line {line.number})")
        if sealed is not None and line.number < sealed.number:
            wrong.append(f"line {line.number} is before the sealing")
        if due is not None and line.when < due:
            wrong.append(f"line {line.number} is before the challenge could be known")
    verdict = "in order" if runs else "not run yet"
    if wrong:
        verdict = f"{OUT_OF_ORDER}: {'; '.join(wrong)}"
    elif sealed is None:
        verdict = "the order cannot be shown"
    return f"Seal {seal[:16]}...: {' -> '.join(steps)}: {verdict}."
