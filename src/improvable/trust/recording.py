"""What the command line does with data is written to the ledger beside them: seals, runs, plans, verifications."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from improvable.errors import ImprovableError, StorageError

if TYPE_CHECKING:
    from improvable.data.engines import Engine
    from improvable.data.formats import FileFormat
    from improvable.results.audit import Audit
    from improvable.results.comparison import Comparison
    from improvable.trust.ledger import Line

    Result = TypeVar("Result", Audit, Comparison)

NOT_RECORDED = 0
"""The line of a run that has none."""
NOT_WRITABLE = "The ledger beside the data cannot be written, so this run is not recorded. Name one: --ledger FILE."
MADE = ("command", "file")
"""What a report says of how its run was made: the ledger keeps it, so that a report is compared with it."""


@dataclass(frozen=True)
class Recorder:
    """Records one run in a ledger; without a ledger, records nothing and says why."""

    path: Path | None
    data: str
    reason: str = ""

    def run(
        self, kind: str, facts: dict[str, Any], work: "Callable[[Callable[[bool], None]], Result]"
    ) -> "tuple[Result, str]":
        """Record that a run begins and how it ends; its result, and in words how many runs there were.

        Parameters
        ----------
        kind : str
        facts : dict
            What is known before it begins.
        work : callable
            Runs. It calls what it is given before it computes or writes anything, with True where it goes on with what
            an earlier run left.
        """
        from improvable.trust.ledger import BEGUN, FINISHED, REFUSED, RESUMED, read_ledger, run_facts, unfinished_run

        stated, begun = {"kind": kind, **facts}, NOT_RECORDED

        def begin(resumed: bool) -> None:
            nonlocal begun
            if self.path is None:
                return
            before = unfinished_run(read_ledger(self.path), stated) if resumed and self.path.exists() else None
            if before is not None:
                self._write(RESUMED, stated | {"run": before})
            begun = before or self._write(BEGUN, stated | ({RESUMED: True} if resumed else {})).number

        try:
            result = work(begin)
        except ImprovableError as error:
            if begun != NOT_RECORDED and not isinstance(error.__cause__, OSError):  # a full disk refuses nothing
                with contextlib.suppress(StorageError):  # what went wrong first is what the caller must know
                    self._write(REFUSED, stated | {"run": begun, "why": error.message})
            raise
        made = {name: facts[name] for name in MADE if name in facts}
        return result, self._add(FINISHED, {"kind": kind, **run_facts(result), **made})

    def plan(self, kind: str, facts: dict[str, Any]) -> str:
        """Record that settings were tried on these data before an audit, and say how many runs there were."""
        from improvable.trust.ledger import PLANNED

        return self._add(PLANNED, {"kind": kind, **facts})

    def seal(self, facts: dict[str, Any]) -> str:
        """Record that a protocol and these data were sealed, once, and say how many runs there were."""
        from improvable.trust.ledger import SEALED, read_ledger

        if self.path is not None and self.path.exists():
            for line in read_ledger(self.path):
                if line.event == SEALED and line.facts.get("seal") == facts["seal"]:
                    return f"Sealed earlier: see line {line.number} of {self.path.name}."
        return self._add(SEALED, facts)

    def verify(self, facts: dict[str, Any]) -> str:
        """Record that a result was verified, in a ledger that is there."""
        from improvable.trust.ledger import VERIFIED

        return self._add(VERIFIED, facts)

    def knows(self, folder: str | None) -> str:
        """What the ledger says of a finished run in a folder; empty where it says nothing."""
        from improvable.trust.ledger import line_words, read_ledger
        from improvable.trust.verification import ledger_line, read_facts

        if self.path is None or not self.path.exists() or folder is None or not (Path(folder) / "result.json").exists():
            return ""
        try:
            number = ledger_line(self.path, read_facts(folder))
        except StorageError:  # the folder is damaged, or its run is unfinished
            return ""
        return "" if number is None else line_words(self.path, read_ledger(self.path)[:number])

    def _add(self, event: str, facts: dict[str, Any]) -> str:
        from improvable.trust.ledger import line_words, read_ledger

        if self.path is None:
            return self.reason
        line = self._write(event, facts)
        return line_words(self.path, read_ledger(self.path)[: line.number])

    def _write(self, event: str, facts: dict[str, Any]) -> "Line":
        from improvable.trust.ledger import record

        assert self.path is not None
        return record(self.path, self.data, event, facts)


def reading_facts(format_: "FileFormat") -> dict[str, Any]:
    """What a caller said of how the file is written, so that others can read the same rows."""
    return {"reading": format_.given} if format_.given else {}


def open_recorder(engine: "Engine", data: str, ledger: str | None) -> Recorder:
    """The ledger that was named, or the one beside the data where that can be written."""
    import os

    from improvable.data.keys import fingerprint
    from improvable.trust.ledger import check_belongs, ledger_path, read_ledger

    path = Path(ledger) if ledger is not None else ledger_path(data)
    if ledger is None and not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        return Recorder(None, "", NOT_WRITABLE)
    recorder = Recorder(path, fingerprint(engine))
    if path.exists() or path.is_symlink():
        check_belongs(read_ledger(path), recorder.data, path)
    return recorder
