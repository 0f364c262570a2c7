"""The runs that a ledger keeps: how they are recorded, and how the line of one is found again."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from improvable.data.engines import Engine
from improvable.data.io.csv import FileFormat
from improvable.data.keys import fingerprint
from improvable.errors import ImprovableError, StorageError
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.load import load
from improvable.results.storage import Provenance
from improvable.trust.ledger import (
    BEGUN,
    FINISHED,
    OUT_OF_ORDER,
    PLANNED,
    REFUSED,
    RESUMED,
    SEALED,
    Line,
    check_belongs,
    doubts,
    ledger_path,
    line_words,
    order_of,
    read_ledger,
    record,
    rejections_words,
    turned_back,
)

Result = TypeVar("Result", Audit, Comparison)

IDENTITY = ("kind", "protocol", "seed", "challenge", "seal", "rule_source")
"""What the lines of one run have in common. Runs that have it in common find the same."""
NOT_WRITABLE = "The ledger beside the data cannot be written, so this run is not recorded. Name one: --ledger FILE."


@dataclass(frozen=True)
class Recorder:
    """Records what is done with data in a ledger; without one, records nothing and says why."""

    path: Path | None
    data: str = ""

    def run(
        self, kind: str, facts: dict[str, Any], work: Callable[[Callable[[bool], None]], Result]
    ) -> tuple[Result, str]:
        """Record that a run begins and how it ends; its result, and in words how many runs there were.

        `facts` are known before it begins. `work` runs: it calls what it is given before it computes or writes
        anything, with True where it goes on with what an earlier run left.
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
            begun = before or record(self.path, self.data, BEGUN, stated | more)[-1].number

        try:
            result = work(begin)
        except ImprovableError as error:
            if begun and not isinstance(error.__cause__, OSError):  # a full disk refuses nothing
                with contextlib.suppress(StorageError):  # what went wrong first is what the caller must know
                    self.add(REFUSED, stated | {"run": begun, "why": error.message})
            raise
        # What a report says of how its run was made is kept, to be compared with it.
        made = {name: facts[name] for name in ("command", "file") if name in facts}
        return result, self.add(FINISHED, {"kind": kind, **stated_facts(result.to_dict()), **made})

    def plan(self, kind: str, facts: dict[str, Any]) -> str:
        """Record that settings were tried on these data before an audit."""
        return self.add(PLANNED, {"kind": kind, **facts})

    def seal(self, facts: dict[str, Any]) -> str:
        """Record, once, that a protocol and these data were sealed."""
        for line in self._lines():
            if self.path is not None and line.event == SEALED and line.facts.get("seal") == facts["seal"]:
                return f"Sealed earlier: see line {line.number} of {self.path.name}."
        return self.add(SEALED, facts)

    def knows(self, folder: str | None) -> str:
        """What the ledger says of a finished run in a folder; empty where it says nothing."""
        lines = self._lines()
        if self.path is None or not lines or folder is None or not (Path(folder) / "result.json").exists():
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
        return read_ledger(self.path) if self.path is not None and self.path.exists() else []


def open_recorder(engine: Engine, data: str, ledger: str | None) -> Recorder:
    """The ledger that was named, or the one beside the data where that can be written."""
    path = Path(ledger) if ledger is not None else ledger_path(data)
    if ledger is None and not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        return Recorder(None)
    recorder = Recorder(path, fingerprint(engine))
    if path.exists() or path.is_symlink():
        check_belongs(read_ledger(path), recorder.data, path)
    return recorder


def reading_facts(format_: FileFormat) -> dict[str, Any]:
    """What a caller said of how the file is written, so that others can read the same rows."""
    return {"reading": format_.given} if format_.given else {}


def stated_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a ledger keeps about a finished run, from what its result says about itself."""
    protocol = facts.get("protocol")
    return {
        "protocol": None if protocol is None else protocol["digest"],
        **{name: facts.get(name) for name in ("seed", "challenge", "seal", "rule_source", "draws", "p_value")},
        "columns": facts["data_fingerprint"],
        "verdict": "rejected" if facts["reject"] else "not rejected",
    }


def finished_line(lines: Sequence[Line], facts: Mapping[str, Any], words: str | None = None) -> int | None:
    """The line that records a result; of several alike, the one that `words` name. None where none does."""
    stated = stated_facts(facts).items()
    finished = [line for line in lines if line.event == FINISHED]
    found = [line for line in finished if all(line.facts.get(name) == value for name, value in stated)]
    named = [line for line in found if line.hash[:16] in (words or "")]
    return (named or found)[0].number if found else None


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


def ledger_of(result: str, data: str, facts: Mapping[str, Any]) -> Path | None:
    """The ledger beside the data, or one beside the result that lists it."""
    if ledger_path(data).exists():
        return ledger_path(data)
    listed = (place for place, lines in _ledgers_beside(result) if finished_line(lines, facts) is not None)
    return next(listed, None)


def _ledgers_beside(result: str) -> Iterator[tuple[Path, list[Line]]]:
    for place in sorted(Path(result).resolve().parent.glob("*.ledger")):
        with contextlib.suppress(StorageError):  # a broken one lists nothing
            yield place, read_ledger(place)


def check_recorded(place: Path, facts: Mapping[str, Any], made: Provenance, result: str) -> tuple[bool, str, str]:
    """Whether a ledger is intact and lists a result, where, and how many runs it has.

    What the result says of how it was `made` is compared with the line that it names, here or in a ledger beside it.
    """
    try:
        lines = read_ledger(place)
    except StorageError as error:
        return False, error.message, "the ledger cannot be read, so nobody knows how many runs did not reject"
    line, runs = finished_line(lines, facts, made.runs), rejections_words(lines)
    if line is None:
        return False, f"no line of {place.name} records this result", runs
    where, known = place, lines[:line]
    if made.runs is not None and known[-1].hash[:16] not in made.runs:  # perhaps it names a line of another ledger
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
        if said is not None and _without_name(said) != _without_name(there or "nothing"):
            return False, f"the result says '{said}', and the ledger says '{there or 'nothing'}'", runs
    order = [] if facts.get("seal") is None else [order_of(facts["seal"], lines)]
    other = [] if where == place else [f"The result names line {known[-1].number} of {where.name}."]
    told = " ".join([f"line {line} of {place.name}.", *other, *doubts(lines), *order])
    return not turned_back(lines) and OUT_OF_ORDER not in " ".join(order), told, runs


def _without_name(words: str) -> str:
    """Words about a line without the name of its ledger: a copy of a ledger may have another one."""
    return re.sub(r"^(Line \d+) of [\w.-]{1,100} \(hash ", r"\1 (hash ", words)
