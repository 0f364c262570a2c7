"""What the command line does with data is written to the ledger beside them: seals, runs, plans, verifications."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from improvable.data.engines import Engine
    from improvable.data.formats import FileFormat
    from improvable.results.audit import Audit
    from improvable.results.comparison import Comparison


@dataclass(frozen=True)
class Recorder:
    """Records one run in a ledger; without a ledger, records nothing and says why."""

    path: Path | None
    data: str
    reason: str = ""

    def begin(self, kind: str, facts: dict[str, Any]) -> None:
        """Record that a run begins, before it computes or writes anything else."""
        from improvable.trust.ledger import BEGUN

        self._add(BEGUN, {"kind": kind, **facts})

    def finish(self, kind: str, result: "Audit | Comparison") -> str:
        """Record what a run found, and say how many runs there were."""
        from improvable.trust.ledger import FINISHED, run_facts

        return self._add(FINISHED, {"kind": kind, **run_facts(result)})

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

    def knows(self, folder: str | None) -> int | None:
        """The line that records a finished run in a folder, if there is one."""
        from improvable.errors import StorageError
        from improvable.trust.verification import ledger_line, read_facts

        if self.path is None or not self.path.exists() or folder is None or not (Path(folder) / "result.json").exists():
            return None
        try:
            return ledger_line(self.path, read_facts(folder))
        except StorageError:  # the folder is damaged, or its run is unfinished
            return None

    def _add(self, event: str, facts: dict[str, Any]) -> str:
        from improvable.trust.ledger import doubts, read_ledger, record, runs_words

        if self.path is None:
            return self.reason
        line = record(self.path, self.data, event, facts)
        lines = read_ledger(self.path)
        words = f"Line {line.number} of {self.path.name} (hash {line.hash[:16]}...): {runs_words(lines)}."
        return " ".join([words, *doubts(lines)])


def reading_facts(format_: "FileFormat") -> dict[str, Any]:
    """What a caller said of how the file is written, so that others can read the same rows."""
    return {"reading": format_.given} if format_.given else {}


def open_recorder(engine: "Engine", data: str, ledger: str | None) -> Recorder:
    """The ledger that was named, or the one beside the data where that can be written."""
    import os

    from improvable.data.fingerprint import fingerprint
    from improvable.trust.ledger import check_belongs, ledger_path, read_ledger

    path = Path(ledger) if ledger is not None else ledger_path(data)
    if ledger is None and not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        return Recorder(None, "", f"'{path}' cannot be written, so this run is not recorded. Name one: --ledger FILE.")
    recorder = Recorder(path, fingerprint(engine))
    if path.exists():
        check_belongs(read_ledger(path), recorder.data, path)
    return recorder
