"""A ledger beside the data: what the command line did with them, in a chain of hashes.

Each line is a JSON object with the hash of the line before it and its own. A line that
was edited no longer has its hash; where a line was removed, the next one points to a
line that is not there. The chain holds no secret: whoever cuts lines off at the end, or
rewrites it from the start, is exposed by the hashes that outputs printed and the other
side kept, or by `verify`.

A line that was cut while it was written, when a disk was full or a machine died, ends
the file without a newline. It is passed over, and the next line that is written repairs
the file: what was torn is kept, all of it, in a line of its own. An end that is not the
beginning of a line of ours is somebody's text: the file is refused and stays as it is.
So is a link, which may point to anything.

Runs that write at the same time take turns. The lock is on the ledger itself, through
its open descriptor, so no lock file is left beside the data. Windows lets only the
descriptor that holds a lock read the file: whoever holds it reads and writes through
that one.
"""

import codecs
import contextlib
import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from filelock import lock_descriptor, unlock_descriptor

from improvable.data.engines import Engine
from improvable.data.io.csv import FileFormat
from improvable.data.io.safe import ReceivedError, nearest_file, parse_json, read_bytes
from improvable.data.keys import fingerprint
from improvable.errors import ImprovableError, OptionError, StorageError
from improvable.question.challenge import parse_source
from improvable.question.options import conforms
from improvable.results.audit import Audit, load
from improvable.results.comparison import Comparison
from improvable.results.storage import VERSION, Provenance

BEGUN, RESUMED, FINISHED, REFUSED = "begun", "resumed", "finished", "refused"
PLANNED, SEALED, VERIFIED, REPAIRED = "planned", "sealed", "verified", "repaired"
ORIGIN = "0" * 64
MAX_TORN = 100_000  # bytes that a torn line of ours may have; it is kept whole
TEXT = r'"(?:[^"\\\x00-\x1f]|\\.)*'
VALUE = rf'(?:{TEXT}"|[\w.+-]+|\{{[^{{}}\x00-\x1f]*\}})'
TORN = re.compile(
    (
        rf'\{{(?:"[a-z_]+":{VALUE},)*(?:"[a-z_]*(?:"(?::(?:{TEXT}'
        rf"\\?|\{{[^{{}}\x00-\x1f]*|{VALUE})?)?)?)?"
    ),
    re.ASCII,
)
"""The beginning of a line as we write it, with no space between names and values, cut
anywhere before its end.
"""
TYPES: dict[str, Any] = {
    **dict.fromkeys(("event", "kind", "verdict", "why", "found"), str),
    **dict.fromkeys(
        ("protocol", "seal", "rule_source", "challenge", "challenge_source"), str | None
    ),
    **dict.fromkeys(("command", "file", "columns"), str | None),
    **dict.fromkeys(("draws", "run", "bytes"), int),
    "seed": int | None,
    "p_value": float,
    "reading": dict[Literal["separator", "encoding", "decimal", "sheet"], str],
}
"""The type of each fact that is read from a line, where the line has it."""
KEEP = (
    "Keep the file as it is: it is evidence. Record further runs in another file with "
    "--ledger."
)
OUT_OF_ORDER = "NOT IN ORDER"
IDENTITY = ("kind", "protocol", "seed", "challenge", "seal", "rule_source")
"""What the lines of one run have in common. Runs that have it in common find the
same.
"""
NOT_WRITABLE = (
    "The ledger beside the data cannot be written, so this run is not recorded. Name "
    "one: --ledger FILE."
)

Result = TypeVar("Result", Audit, Comparison)


@dataclass(frozen=True)
class Line:
    """One line of a ledger."""

    number: int  # from 1
    event: str  # from "begun" to "repaired"
    # When, data, protocol, seed or challenge; of a run also its command and what the
    # data are called, of a finished one its p-value and verdict. A resumed or refused
    # run has in "run" the line that it was begun in.
    facts: dict[str, Any]
    hash: str

    @property
    def when(self) -> datetime:
        return datetime.fromisoformat(self.facts["when"])


def ledger_path(data: str | Path) -> Path:
    """Where the ledger of a data file is kept: beside it."""
    return Path(f"{data}.ledger")


def now() -> datetime:
    return datetime.now(UTC)


def read_ledger(path: str | Path) -> list[Line]:
    """Read a ledger and check its chain; an error names the first line that was edited,
    or follows a missing one.
    """
    place = Path(path)
    if not place.exists() and not place.is_symlink():
        begin = "improvable audit DATA begins one beside the data."
        raise StorageError(
            f"there is no ledger '{place}'.", nearest_file(place, ".ledger", begin)
        )
    try:
        content = read_bytes(place, links=False)
    except ReceivedError as error:
        raise StorageError(f"'{place}' {error}.", "Name the ledger itself.") from error
    except OSError as error:
        raise StorageError(
            f"the ledger '{place}' cannot be read: {error.strerror}.", "Check the path."
        ) from error
    return _checked(content, place)


def torn_end(content: bytes) -> bytes:
    """What is left of a last line of ours that was not written to its end; nothing
    where the end is anything else.
    """
    rest = content.rpartition(b"\n")[2]
    try:
        # the last character may be cut too
        text = codecs.getincrementaldecoder("utf-8")().decode(rest[:MAX_TORN])
    except UnicodeDecodeError:
        return b""
    return rest if 0 < len(rest) <= MAX_TORN and TORN.fullmatch(text) else b""


def _checked(content: bytes, place: Path) -> list[Line]:
    lines: list[Line] = []
    whole = content.removesuffix(torn_end(content))
    for number, text in enumerate(filter(None, whole.split(b"\n")), start=1):
        try:
            plain = parse_json(text)
            hash_, before, event = plain.pop("hash"), plain["previous"], plain["event"]
            if datetime.fromisoformat(plain["when"]).tzinfo is None:
                raise ValueError("a time without a zone")
            if not all(
                conforms(plain[name], hint)
                for name, hint in TYPES.items()
                if name in plain
            ):
                raise TypeError("a fact of another type")
            found = hash_of(plain)
        except (
            ValueError,
            KeyError,
            AttributeError,
            TypeError,
            RecursionError,
        ) as error:
            raise StorageError(
                f"line {number} of '{place}' is not a ledger line.", KEEP
            ) from error
        if found != hash_:
            raise StorageError(f"line {number} of '{place}' was edited.", KEEP)
        if before != (lines[-1].hash if lines else ORIGIN):
            raise StorageError(
                (
                    f"a line is missing before line {number} of '{place}', or lines "
                    "were reordered."
                ),
                KEEP,
            )
        lines.append(Line(number, event, plain, hash_))
    return lines


def check_belongs(lines: Sequence[Line], data: str, place: str | Path) -> None:
    """Refuse a ledger that belongs to other data."""
    if lines and lines[0].facts.get("data") != data:
        hint = (
            "Keep it with the data it was made for, and choose another with --ledger "
            "FILE."
        )
        raise StorageError(f"the ledger '{place}' belongs to other data.", hint)


def record(
    path: str | Path, data: str, event: str, facts: dict[str, Any]
) -> list[Line]:
    """Add a line, and give all of them; a broken ledger, or one of other data, is
    refused and stays as it is.

    `data` is the fingerprint of all columns of the data.
    """
    place, hint = Path(path), "Choose another place with --ledger FILE."
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
            f"the ledger '{place}' cannot be written: {error.strerror}.", hint
        ) from error


def _opened(place: Path) -> IO[bytes]:
    """A ledger to append to, made where there is none; never what a link points to, nor
    a pipe.
    """
    if place.is_symlink():
        raise StorageError(
            f"the ledger '{place}' is a link.", "Name the ledger itself: --ledger FILE."
        )
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    descriptor = os.open(
        place,
        flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0),
        0o666,
    )
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StorageError(
            f"the ledger '{place}' is not a regular file.",
            "Choose another place: --ledger FILE.",
        )
    return open(descriptor, "a+b")  # noqa: PTH123


def _appended(
    file: IO[bytes], place: Path, data: str, event: str, facts: dict[str, Any]
) -> list[Line]:
    """All lines of a ledger after one more is written, and before it a repair where the
    last one was torn.
    """
    file.seek(0)
    content = file.read()
    lines, torn = _checked(content, place), torn_end(content)
    check_belongs(lines, data, place)
    events = [(event, facts)]
    if torn:
        file.truncate(len(content) - len(torn))
        events.insert(
            0,
            (
                REPAIRED,
                {"bytes": len(torn), "torn": torn.decode("utf-8", "backslashreplace")},
            ),
        )
    elif lines and not content.endswith(b"\n"):
        file.write(b"\n")
    for what, more in events:
        plain = {
            "when": now().isoformat(timespec="seconds"),
            "event": what,
            "data": data,
            **more,
            "version": VERSION,
        }
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
    """The last of these lines, by which a result can be found in its ledger, and what
    there was up to it.
    """
    words = (
        f"Line {lines[-1].number} of {path.name} (hash {lines[-1].hash[:16]}...): "
        f"{runs_words(lines)}."
    )
    return " ".join([words, *doubts(lines)])


def runs_words(lines: Sequence[Line]) -> str:
    """How many runs there were, in words."""
    if not lines:
        return "no run is recorded"
    events, verdicts = _counts(lines)
    told = ", ".join(
        f"{verdicts.count(v)} {v}"
        for v in ("rejected", "not rejected")
        if v in verdicts
    )
    what = (
        f"{events[BEGUN]} run{'s' if events[BEGUN] != 1 else ''} begun on these data, "
        f"{len(verdicts)} finished"
    )
    what += (f" ({told})" if told else "") + (
        f", {events[REFUSED]} refused" if events[REFUSED] else ""
    )
    resumed = {
        line.facts.get("run", line.number)
        for line in lines
        if line.event == RESUMED or line.facts.get(RESUMED)
    }
    others = (
        (len(resumed), "of them was resumed", "of them were resumed"),
        (events[PLANNED], "plan made on them", "plans made on them"),
        (events[VERIFIED], "verification", "verifications"),
    )
    return what + "".join(
        f"; {count} {words if count != 1 else word}"
        for count, word, words in others
        if count
    )


def rejections_words(lines: Sequence[Line]) -> str:
    """How many finished runs did not reject: what a reader of one that did must
    know.
    """
    events, verdicts = _counts(lines)
    counts = {
        BEGUN: events[BEGUN] - len(verdicts) - events[REFUSED],
        REFUSED: events[REFUSED],
    }
    others = ", ".join(
        f"{count} more {word}" for word, count in counts.items() if count > 0
    )
    runs = f"finished run{'s' if len(verdicts) != 1 else ''} on these data" + (
        f" ({others})" if others else ""
    )
    return f"of {len(verdicts)} {runs}, {verdicts.count('not rejected')} did not reject"


def _counts(lines: Sequence[Line]) -> tuple[Counter[str], list[Any]]:
    """How often each event occurs, and the verdicts of finished runs."""
    verdicts = [line.facts.get("verdict") for line in lines if line.event == FINISHED]
    return Counter(line.event for line in lines), verdicts


def doubts(lines: Sequence[Line]) -> list[str]:
    """What a reader of an intact chain must know: clocks that were turned back, lines
    that were torn.
    """
    torn = [
        (line.number, line.facts.get("bytes", 0))
        for line in lines
        if line.event == REPAIRED
    ]
    return [
        *turned_back(lines),
        *(
            f"Line {n} repairs a line that was torn after {size:,} bytes."
            for n, size in torn
        ),
    ]


def turned_back(lines: Sequence[Line]) -> list[str]:
    """Where time goes backward: then the order of events is not shown, and nothing is
    verified by it.
    """
    return [
        (
            f"Time goes backward at line {after.number}: a clock was turned back, or "
            "lines were backdated."
        )
        for before, after in pairwise(lines)
        if after.when < before.when
    ]


def orders(lines: Sequence[Line]) -> list[str]:
    """For each seal, what happened when, and whether in the order that makes a seal
    worth something.
    """
    seals = dict.fromkeys(
        line.facts["seal"] for line in lines if line.facts.get("seal") is not None
    )
    return [order_of(seal, lines) for seal in seals]


def order_of(seal: str, lines: Sequence[Line]) -> str:
    """The order of events around one seal, in words: protocol, seal, challenge, run."""
    mine = [line for line in lines if line.facts.get("seal") == seal]
    sealed = next((line for line in mine if line.event == SEALED), None)
    runs = [line for line in mine if line.event in (BEGUN, RESUMED, FINISHED, REFUSED)]
    source = next(
        (
            line.facts["challenge_source"]
            for line in mine
            if line.facts.get("challenge_source")
        ),
        None,
    )
    due, wrong = None, []
    with contextlib.suppress(OptionError):  # a ledger may have come from anyone
        due = None if source is None else parse_source(source).due
    steps = ["sealed elsewhere: no line of this ledger records it"]
    if sealed is not None:
        protocol = str(sealed.facts.get("protocol"))[:12]
        steps = [
            f"protocol {protocol}... sealed {sealed.facts['when']} (line "
            f"{sealed.number})"
        ]
    when = "at an unknown time" if due is None else due.isoformat()
    given = "challenge given by the other side when it was sealed"
    steps.append(given if source is None else f"challenge {source} due {when}")
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


@dataclass(frozen=True)
class Recorder:
    """Records what is done with data in a ledger; without one, records nothing and says
    why.
    """

    path: Path | None
    data: str = ""

    def run(
        self,
        kind: str,
        facts: dict[str, Any],
        work: Callable[[Callable[[bool], None]], Result],
    ) -> tuple[Result, str]:
        """Record that a run begins and how it ends; its result, and in words how many
        runs there were.

        `facts` are known before it begins. `work` runs: it calls what it is given
        before it computes or writes anything, with True where it goes on with what an
        earlier run left.
        """
        stated, begun = {"kind": kind, **facts}, 0

        def begin(resumed: bool) -> None:
            nonlocal begun
            if self.path is None:
                return
            before = unfinished_run(self._lines(), stated) if resumed else None
            if before is not None:
                record(self.path, self.data, RESUMED, stated | {"run": before})
            more = {RESUMED: True} if resumed else {}
            begun = (
                before or record(self.path, self.data, BEGUN, stated | more)[-1].number
            )

        try:
            result = work(begin)
        except ImprovableError as error:
            # a full disk refuses nothing
            if begun and not isinstance(error.__cause__, OSError):
                # what went wrong first is what the caller must know
                with contextlib.suppress(StorageError):
                    self.add(REFUSED, stated | {"run": begun, "why": error.message})
            raise
        # What a report says of how its run was made is kept, to be compared with it.
        made = {name: facts[name] for name in ("command", "file") if name in facts}
        return result, self.add(
            FINISHED, {"kind": kind, **stated_facts(result.to_dict()), **made}
        )

    def seal(self, facts: dict[str, Any]) -> str:
        """Record, once, that a protocol and these data were sealed."""
        for line in self._lines():
            if (
                self.path is not None
                and line.event == SEALED
                and line.facts.get("seal") == facts["seal"]
            ):
                return f"Sealed earlier: see line {line.number} of {self.path.name}."
        return self.add(SEALED, facts)

    def knows(self, folder: str | None) -> str:
        """What the ledger says of a finished run in a folder; empty where it says
        nothing.
        """
        lines = self._lines()
        if (
            self.path is None
            or not lines
            or folder is None
            or not (Path(folder) / "result.json").exists()
        ):
            return ""
        try:
            number = finished_line(lines, load(folder).to_dict())
        except StorageError:  # the folder is damaged, or its run is unfinished
            return ""
        return "" if number is None else line_words(self.path, lines[:number])

    def add(self, event: str, facts: dict[str, Any]) -> str:
        """Add a line, and say how many runs there were."""
        if self.path is None:
            return NOT_WRITABLE
        return line_words(self.path, record(self.path, self.data, event, facts))

    def _lines(self) -> list[Line]:
        return (
            read_ledger(self.path)
            if self.path is not None and self.path.exists()
            else []
        )


def open_recorder(engine: Engine, data: str, ledger: str | None) -> Recorder:
    """The ledger that was named, or the one beside the data where that can be
    written.
    """
    path = Path(ledger) if ledger is not None else ledger_path(data)
    if ledger is None and not os.access(
        path if path.exists() else path.resolve().parent, os.W_OK
    ):
        return Recorder(None)
    recorder = Recorder(path, fingerprint(engine))
    if path.exists() or path.is_symlink():
        check_belongs(read_ledger(path), recorder.data, path)
    return recorder


def reading_facts(format_: FileFormat) -> dict[str, Any]:
    """How the file is written, where the caller said so: others can then read the same
    rows.
    """
    return {"reading": format_.given} if format_.given else {}


def stated_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a ledger keeps about a finished run, from what its result says about
    itself.
    """
    protocol = facts.get("protocol")
    return {
        "protocol": None if protocol is None else protocol["digest"],
        **{
            name: facts.get(name)
            for name in ("seed", "challenge", "seal", "rule_source", "draws", "p_value")
        },
        "columns": facts["data_fingerprint"],
        "verdict": "rejected" if facts["reject"] else "not rejected",
    }


def finished_line(
    lines: Sequence[Line], facts: Mapping[str, Any], words: str | None = None
) -> int | None:
    """The line that records a result; of several alike, the one that `words` name. None
    where none does.
    """
    stated = stated_facts(facts).items()
    finished = [line for line in lines if line.event == FINISHED]
    found = [
        line
        for line in finished
        if all(line.facts.get(name) == value for name, value in stated)
    ]
    named = [line for line in found if line.hash[:16] in (words or "")]
    return (named or found)[0].number if found else None


def unfinished_run(lines: Sequence[Line], facts: Mapping[str, Any]) -> int | None:
    """The line that began a run of the same audit and was not followed by its end: to
    resume it is to go on with it.
    """
    begun: list[int] = []
    for line in lines:
        if all(line.facts.get(name) == facts.get(name) for name in IDENTITY):
            if line.event == BEGUN:
                begun.append(line.number)
            elif line.event in (FINISHED, REFUSED) and begun:
                begun.pop()
    return begun[-1] if begun else None


def ledger_of(result: str, data: str, facts: Mapping[str, Any]) -> Path | None:
    """The ledger beside the data, or one beside the result that lists it."""
    listed = (
        place
        for place, lines in _ledgers_beside(result)
        if finished_line(lines, facts) is not None
    )
    return ledger_path(data) if ledger_path(data).exists() else next(listed, None)


def _ledgers_beside(result: str) -> Iterator[tuple[Path, list[Line]]]:
    for place in sorted(Path(result).resolve().parent.glob("*.ledger")):
        with contextlib.suppress(StorageError):  # a broken one lists nothing
            yield place, read_ledger(place)


def check_recorded(
    place: Path, facts: Mapping[str, Any], made: Provenance, result: str
) -> tuple[bool, str, str]:
    """Whether a ledger is intact and lists a result, where, and how many runs it has.

    What the result says of how it was `made` is compared with the line that it names,
    here or in a ledger beside it.
    """
    try:
        lines = read_ledger(place)
    except StorageError as error:
        return (
            False,
            error.message,
            "the ledger cannot be read, so nobody knows how many runs did not reject",
        )
    line, runs = finished_line(lines, facts, made.runs), rejections_words(lines)
    if line is None:
        return False, f"no line of {place.name} records this result", runs
    where, known = place, lines[:line]
    # perhaps it names a line of another ledger
    if made.runs is not None and known[-1].hash[:16] not in made.runs:
        named = (
            (other, others[: one.number])
            for other, others in _ledgers_beside(result)
            for one in others
            if f"(hash {one.hash[:16]}..." in made.runs
        )
        where, known = next(named, (where, known))
    kept = known[-1].facts
    recorded = (kept.get("command"), line_words(where, known), kept.get("file"))
    for said, there in zip((made.command, made.runs, made.data), recorded, strict=True):
        if said is not None and _without_name(said) != _without_name(
            there or "nothing"
        ):
            return (
                False,
                f"the result says '{said}', and the ledger says '{there or 'nothing'}'",
                runs,
            )
    order = [] if facts.get("seal") is None else [order_of(facts["seal"], lines)]
    other = (
        []
        if where == place
        else [f"The result names line {known[-1].number} of {where.name}."]
    )
    told = " ".join([f"line {line} of {place.name}.", *other, *doubts(lines), *order])
    return not turned_back(lines) and OUT_OF_ORDER not in " ".join(order), told, runs


def _without_name(words: str) -> str:
    """Words about a line without the name of its ledger: a copy of a ledger may have
    another one.
    """
    return re.sub(r"^(Line \d+) of [\w.-]{1,100} \(hash ", r"\1 (hash ", words)
