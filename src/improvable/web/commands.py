"""Our own command line, run by the server: each command in a process of its own, in the served folder."""

import asyncio
import os
import shlex
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from improvable.algorithms.rules.foreign import REFUSED

CHILD = ("-m", "improvable.web.child")
PREVIEW = ("-m", "improvable.web.preview")
WHOLE_FILE = ("-m", "improvable.web.whole_file")
WRAP = 66


@dataclass(frozen=True)
class Finished:
    """What a command printed."""

    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The line that says what is wrong; empty where nothing is."""
        lines = [line for line in self.err.splitlines() if not line.startswith("warning: ")]
        return lines[-1].removeprefix("improvable: ") if self.code == 2 and lines else ""

    @property
    def warnings(self) -> list[str]:
        """The cautions it gave."""
        marked = (line for line in self.err.splitlines() if line.startswith("warning: "))
        return [line.removeprefix("warning: ") for line in marked]


async def start(
    words: Sequence[str], folder: Path, out: int = PIPE, err: int = PIPE, how: Sequence[str] = CHILD
) -> Process:
    """Start a command; its messages name arguments as Python does, so that the page can name its controls instead.

    It imports nothing from the folder of the data (-P), and no rule that is code: a file that somebody sent never runs.
    """
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100", "IMPROVABLE_SPELLING": "python"}
    environment[REFUSED] = "1"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", *how, *words, cwd=folder, stdin=PIPE, stdout=out, stderr=err, env=environment
    )  # fmt: skip


async def run(words: Sequence[str], folder: Path, how: Sequence[str] = CHILD) -> Finished:
    """Run a short command to its end."""
    process = await start(words, folder, how=how)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Finished(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def shown(words: Sequence[str]) -> str:
    r"""A command as a person would type it, wrapped.

    Examples
    --------
    >>> shown(["audit", "my loans.csv", "--outcome", "repaid"])
    "improvable audit 'my loans.csv' --outcome repaid"
    """
    lines, line = [], "improvable"
    for part in _pairs(words):
        if len(line) + len(part) + 1 > WRAP:
            lines.append(line)
            line = f"   {part}"
        else:
            line = f"{line} {part}"
    return " \\\n".join([*lines, line])


def _pairs(words: Sequence[str]) -> list[str]:
    """Words with each option's value beside it."""
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("--") and " " not in parts[-1] and not word.startswith("--"):
            parts[-1] = f"{parts[-1]} {shlex.quote(word)}"
        else:
            parts.append(word if word.startswith("--") else shlex.quote(word))
    return parts


__all__ = ["DEVNULL", "PREVIEW", "WHOLE_FILE", "Finished", "run", "shown", "start"]
