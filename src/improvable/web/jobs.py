"""Our own command line, run by the server: each command in a process of its own, long
ones one at a time.

`python -m improvable.web.jobs ARGUMENTS` is `python -m improvable ARGUMENTS` that
leaves when its standard input closes, as it does when the server is killed. A run that
leaves is resumed from its folder.
"""

import asyncio
import contextlib
import os
import runpy
import shlex
import sys
import threading
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from improvable.algorithms.rules.own_code import REFUSED
from improvable.errors import OptionError
from improvable.web.files import Case

COMMAND, PREVIEW = "improvable.web.jobs", "improvable.web.preview"
INTERRUPTED = 130
WRAP = 66
Kind = Literal["audit", "power"]
State = Literal["waiting", "running", "finished", "stopped", "failed", "new"]
RESULTS: dict[Kind, str] = {"audit": "result.json", "power": "power.json"}


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The line that says what is wrong; empty where nothing is."""
        lines = [
            line for line in self.err.splitlines() if not line.startswith("warning: ")
        ]
        return (
            lines[-1].removeprefix("improvable: ") if self.code == 2 and lines else ""
        )


async def start(
    words: Sequence[str],
    folder: Path,
    out: int = PIPE,
    err: int = PIPE,
    module: str = COMMAND,
) -> Process:
    """Start a command; its messages name arguments as Python does, so that the page can
    name its controls instead.

    It imports nothing from the folder of the data (-P), and no rule that is code: no
    file that somebody sent runs.
    """
    asked = {
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "100",
        "IMPROVABLE_SPELLING": "python",
        REFUSED: "1",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        module,
        *words,
        cwd=folder,
        stdin=PIPE,
        stdout=out,
        stderr=err,
        env={**os.environ, **asked},
    )


async def run(words: Sequence[str], folder: Path, module: str = COMMAND) -> Finished:
    """Run a short command to its end."""
    process = await start(words, folder, module=module)
    assert process.stdout is not None
    assert process.stderr is not None
    try:  # not communicate(), which closes the child's standard input: it would leave
        out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Finished(
        code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    )


async def output(
    words: Sequence[str], folder: Path, otherwise: str, module: str = COMMAND
) -> str:
    """What a short command prints; raises its refusal, or `otherwise` if it fails and
    says nothing.
    """
    done = await run(words, folder, module)
    if done.code:
        raise OptionError(done.refusal or otherwise)
    return done.out


def shown(words: Sequence[str]) -> str:
    """A command as a person would type it, wrapped."""
    parts = ["improvable"]
    for word in words:
        if (
            parts[-1].startswith("--")
            and " " not in parts[-1]
            and not word.startswith("--")
        ):
            parts[-1] += f" {shlex.quote(word)}"  # a value stands beside its option
        else:
            parts.append(word if word.startswith("--") else shlex.quote(word))
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 1 > WRAP:
            lines.append(f"   {part}")
        else:
            lines[-1] += f" {part}"
    return " \\\n".join(lines)


class Jobs:
    """The queue: jobs run one at a time, and two of one kind for one audit are the same
    job.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, Kind], tuple[Case, Sequence[str]]] = {}
        self._running: tuple[str, Kind] | None = None
        self._process: Process | None = None
        self._worker: asyncio.Task[None] | None = None

    def add(self, case: Case, kind: Kind, words: Sequence[str]) -> None:
        """Queue a job, unless it is queued or running."""
        if self.state(case, kind) in ("waiting", "running"):
            return
        case.forget(f"{kind}-exit.json")
        self._waiting[case.name, kind] = case, words
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    def state(self, case: Case, kind: Kind) -> State:
        """How a job stands, by its files if this server does not run it."""
        if self._running == (case.name, kind):
            return "running"
        if (case.name, kind) in self._waiting:
            return "waiting"
        if case.has(RESULTS[kind]):
            return "finished"
        ended = case.read(f"{kind}-exit.json")
        if ended.get("code") == 2:
            return "failed"
        return "stopped" if ended or (kind == "audit" and case.has("run")) else "new"

    def ahead(self, case: Case, kind: Kind) -> int:
        """How many jobs run before this one."""
        waiting = list(self._waiting)
        return (
            waiting.index((case.name, kind)) + (self._running is not None)
            if (case.name, kind) in waiting
            else 0
        )

    def stop(self, case: Case, kind: Kind) -> None:
        """Stop a job, which can be resumed."""
        self._waiting.pop((case.name, kind), None)
        if self._running == (case.name, kind):
            self._terminate()

    async def close(self) -> None:
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
            self._running = next(iter(self._waiting))
            (case, words), kind = self._waiting.pop(self._running), self._running[1]
            place = case.home / f"{kind}.log"
            # made anew: through a link, another file would be lost
            place.unlink(missing_ok=True)
            with place.open("xb") as log:
                self._process = await start(
                    words, case.folder.root, out=DEVNULL, err=log.fileno()
                )
                code = await self._process.wait()
            ended = Finished(
                code, "", place.read_text(encoding="utf-8", errors="replace")
            )
            case.write(f"{kind}-exit.json", {"code": code, "said": ended.refusal})
            self._running = self._process = None


def _leave_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    sys.argv[0] = "improvable"
    runpy.run_module("improvable", run_name="__main__", alter_sys=True)
