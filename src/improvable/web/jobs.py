"""Long commands, one at a time: what is running, what waits, and how each ended."""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from improvable.web import commands
from improvable.web.cases import Case

Kind = Literal["audit", "power"]
State = Literal["waiting", "running", "finished", "stopped", "failed", "new"]


@dataclass(frozen=True)
class Job:
    """One command of a case."""

    case: Case
    kind: Kind
    words: tuple[str, ...]

    @property
    def log(self) -> str:
        """The file that gets what the command says."""
        return f"{self.kind}.log"

    @property
    def key(self) -> tuple[str, str]:
        """What tells jobs apart: two of one kind for one audit are the same."""
        return self.case.name, self.kind


class Jobs:
    """The queue. A job runs in a process of its own; the next one starts when it has ended."""

    def __init__(self) -> None:
        self._waiting: list[Job] = []
        self._running: Job | None = None
        self._process: Process | None = None
        self._worker: asyncio.Task[None] | None = None

    def add(self, case: Case, kind: Kind, words: Sequence[str]) -> None:
        """Queue a job, unless it is queued or running."""
        job = Job(case, kind, tuple(words))
        if self.state(case, kind) in ("waiting", "running"):
            return
        case.forget(f"{kind}-exit.json")
        self._waiting.append(job)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    def state(self, case: Case, kind: Kind) -> State:
        """How a job stands; from the disk where this server does not run it."""
        key = (case.name, kind)
        if self._running is not None and self._running.key == key:
            return "running"
        if any(job.key == key for job in self._waiting):
            return "waiting"
        if case.has("result.json" if kind == "audit" else "power.json"):
            return "finished"
        ended = case.read(f"{kind}-exit.json")
        if ended.get("code") == 2:
            return "failed"
        return "stopped" if ended or (kind == "audit" and case.has("run")) else "new"

    def ahead(self, case: Case, kind: Kind) -> int:
        """How many jobs run before this one."""
        keys = [job.key for job in self._waiting]
        return keys.index((case.name, kind)) + (self._running is not None) if (case.name, kind) in keys else 0

    def stop(self, case: Case, kind: Kind) -> None:
        """Stop a job; what it has finished stays, and it can be resumed."""
        key = (case.name, kind)
        self._waiting = [job for job in self._waiting if job.key != key]
        if self._running is not None and self._running.key == key:
            self._terminate()

    async def close(self) -> None:
        """Stop everything when the server ends."""
        self._waiting.clear()
        self._terminate()
        if self._worker is not None:
            await self._worker

    def _terminate(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    async def _work(self) -> None:
        while self._waiting:
            job = self._running = self._waiting.pop(0)
            place = job.case.home / job.log
            place.unlink(missing_ok=True)  # made anew: through a link, another file would be lost
            with place.open("xb") as log:
                process = await commands.start(
                    job.words, job.case.folder.root, out=commands.DEVNULL, err=log.fileno()
                )  # fmt: skip
                self._process = process
                code = await process.wait()
            said = (job.case.home / job.log).read_text(encoding="utf-8", errors="replace")
            ended = commands.Finished(code, "", said)
            job.case.write(f"{job.kind}-exit.json", {"code": code, "said": ended.refusal, "warnings": ended.warnings})
            self._running = self._process = None
