"""Pages of the documentation as programs: their blocks run from top to bottom, and must
print what the page shows.

On a page that has ```py blocks, or says ``<!-- run -->``: ```py blocks share one
namespace, ```sh blocks hold `improvable` commands, and a ```text block is what the
block before it prints. A page that works on a file of the reader's own says which:
``<!-- needs compas.csv -->``. On a page about the order of events, the ledger's clock
begins at ``<!-- clock 2026-11-02T09:30 -->``, and each block is a day later than the
one before it.

``python tests/pages.py`` writes the outputs of all pages anew, ``python tests/pages.py
NAME`` those of one.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from improvable.cli import run
from improvable.results import storage
from improvable.trust import ledger, seal

os.environ["COLUMNS"] = "100"
DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
PYTHON, SHELL, OUTPUT = "py", "sh", "text"
CHANGING = {
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00": "2026-11-02T09:30:00+00:00",
    r"hash [0-9a-f]{16}": "hash 8ab4924eeb6bb8d9",
}
"""Times, and hashes of ledger lines that hold times: on pages they are always these."""


def pages() -> list[Path]:
    """Every page that runs."""
    return [
        path
        for path in sorted(DOCS.rglob("*.md"))
        if f"```{PYTHON}\n" in _text(path) or "<!-- run -->" in _text(path)
    ]


def needs(path: Path) -> str | None:
    """The file of the reader's own that a page works on."""
    found = re.search(r"<!-- needs (\S+) -->", _text(path))
    return found.group(1) if found else None


class Clock:
    """The clock of the ledger on a page that says when it begins."""

    def __init__(self, path: Path) -> None:
        found = re.search(r"<!-- clock (\S+) -->", _text(path))
        self.time = (
            datetime.fromisoformat(found.group(1)).replace(tzinfo=UTC)
            if found
            else None
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Give the ledger this clock for one block, and let a day pass."""
        if self.time is None:
            yield
            return
        modules = (ledger, seal)
        real, now, installed = ledger.now, self.time, storage._installed
        for module in modules:
            module.now = lambda: now  # type: ignore[attr-defined]
        storage._installed = lambda: dict.fromkeys(installed(), "1.0")  # type: ignore[assignment]  # seals hold them
        try:
            yield
        finally:
            for module in modules:
                module.now = real  # type: ignore[attr-defined]
            storage._installed = installed
            self.time += timedelta(days=1)


def rerun(path: Path) -> str:
    """The page with the outputs that its blocks print now, in the current folder."""
    clock = Clock(path)
    names: dict[str, Any] = {"__name__": "page"}
    printed: str | None = None

    def turn(fence: re.Match[str]) -> str:
        nonlocal printed
        kind, body = fence.groups()
        if kind == OUTPUT and printed is not None:
            shown, printed = f"```{OUTPUT}\n{printed}\n```", None
            return shown
        printed = _output(kind, body, names, clock) if kind in (PYTHON, SHELL) else None
        return fence.group(0)

    return FENCE.sub(turn, _text(path))


def _output(kind: str, body: str, names: dict[str, Any], clock: Clock) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), clock.running():
        if kind == PYTHON:
            exec(compile(body, "page", "exec"), names)
        else:
            for command in body.replace("\\\n", " ").splitlines():
                _command(command)
    text = "\n".join(line.rstrip() for line in out.getvalue().strip("\n").splitlines())
    for pattern, example in CHANGING.items() if clock.time is None else ():
        text = re.sub(pattern, example, text)
    return text


def _command(line: str) -> None:
    program, *words = shlex.split(line, comments=True) or [""]
    if program == "cat":
        print(_text(Path(words[0])))
    elif program:
        assert program == "improvable", f"pages run improvable, not {program}"
        sys.argv = [program, *words]  # which the ledger keeps
        assert run(words) == 0, line


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(data: Path, wanted: list[str]) -> None:
    """Write outputs anew, of all pages or of those named."""
    for path in pages():
        if wanted and path.stem not in wanted:
            continue
        with tempfile.TemporaryDirectory() as room, contextlib.chdir(room):
            need = needs(path)
            if need is not None:
                shutil.copy(data / need, room)
            text = rerun(path)
        if text != _text(path):
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS)}")


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))  # for pages that import the replication
    warnings.simplefilter("ignore")
    beside = DOCS.parents[1] / "shared" / "data"
    write(Path(os.environ.get("IMPROVABLE_DATA", beside)), sys.argv[1:])
