"""A rule that is somebody's own code, ``module:object``: imported from the bytes of its digest, in a new process for
every block.

So what runs is what was digested, whatever lies beside it: a stale ``.pyc``, a module of the same name elsewhere. And
what the code remembers of one block is gone in the next: it cannot act on how its own candidates fared. Our process
never imports it. A server that has imported nothing of it forks once for every block; where there is no fork, it is
started again instead.
"""

import importlib
import os
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cloudpickle

from improvable.algorithms.constraints import CAPACITY, honors_of
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.rules.base import SelectionRule, Training, silent
from improvable.errors import ImprovableError, OptionError, RuleError

REFUSED = "IMPROVABLE_NO_CODE"
"""Where this variable is set, no rule that is code is run: the local page sets it for all that it starts."""
FORKS = hasattr(os, "fork")
SIZE = 8
PRELOADED = ("improvable.procedure.api", "polars", "narwhals", "sklearn.ensemble", "sklearn.linear_model")
OURS = Path(__file__).resolve().parents[2]
SERVE = "import sys; sys.path[:] = {path!r}; from improvable.algorithms.rules.foreign import serve; serve()"


@dataclass(frozen=True)
class ForeignRule:
    """A rule in a process of its own."""

    name: str  # as it calls itself
    module: str
    attribute: str
    files: Mapping[str, bytes] = field(repr=False)  # the code, by the names of its files
    honors: frozenset[str] = frozenset({CAPACITY})

    def select(self, training: Training, status_quo: Algorithm) -> Any:
        """What the rule selects in a new process, brought home."""
        quiet = replace(training, report=silent)
        return _ask(self.module, self.attribute, self.files, (quiet, status_quo))


def import_rule(module: str, attribute: str) -> ForeignRule:
    """A rule by the name of its module, described by a process that imports it."""
    from improvable.algorithms.rules.own_code import files_of

    if os.environ.get(REFUSED):
        raise OptionError(
            f"rule '{module}:{attribute}' is code, which is not run here.",
            "Read the code first; then use the command line.",
        )
    files = files_of(module)
    name, honors = _ask(module, attribute, files, None)
    return ForeignRule(name, module, attribute, files, honors)


# The server, and what asks it. ----


class _Server:
    """A process that answers one request after another."""

    def __init__(self) -> None:
        path = [place for place in sys.path if place]
        command = [sys.executable, "-P", "-c", SERVE.format(path=[str(OURS.parent), *path])]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        weakref.finalize(self, _end, self.process)

    def ask(self, request: bytes) -> bytes:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(len(request).to_bytes(SIZE) + request)
        stdin.flush()
        return stdout.read(int.from_bytes(stdout.read(SIZE)))


def _end(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()


_here = threading.local()
_known: set[str] = set()
"""In the server: the modules that were there before any code of others."""


def _ask(module: str, attribute: str, files: Mapping[str, bytes], work: Any) -> Any:
    """What a new process finds."""
    if not FORKS or getattr(_here, "server", None) is None:
        _here.server = _Server()
    try:
        reply = _here.server.ask(cloudpickle.dumps((module, attribute, dict(files), work)))
    except OSError:
        reply = b""
    if not reply:
        _here.server = None
        raise RuleError(f"the process of rule '{module}:{attribute}' ended without an answer.", "See what it printed.")
    good, found = cloudpickle.loads(reply)
    if good:
        return found
    kind, message, hint = found
    raise (OptionError if kind == "option" else RuleError)(message, hint)


def serve() -> None:
    """Answer requests until there are no more; what the code prints goes to standard error."""
    for name in PRELOADED:  # once, before anything is forked
        importlib.import_module(name)
    _known.update(sys.modules)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    while head := requests.read(SIZE):
        request = requests.read(int.from_bytes(head))
        reply = _answer_in_a_fork(request) if FORKS else _answer(request)
        replies.write(len(reply).to_bytes(SIZE) + reply)
        replies.flush()
        if not FORKS:
            return


def _answer_in_a_fork(request: bytes) -> bytes:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(_answer(request))
        finally:
            os._exit(0)  # whatever the code did, sys.exit included, this copy of the server ends here
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        reply = pipe.read()
    os.waitpid(child, 0)
    return reply


def _answer(request: bytes) -> bytes:
    """What the code finds, or why not."""
    module, attribute, files, work = cloudpickle.loads(request)
    with tempfile.TemporaryDirectory() as place:
        try:
            found = _run(module, attribute, files, work, Path(place).resolve())
            for name, file in _loaded().items():
                if file.is_relative_to(Path(place).resolve()):
                    cloudpickle.register_pickle_by_value(sys.modules[name])
            return bytes(cloudpickle.dumps((True, found)))
        except ImprovableError as error:
            told = ("option" if isinstance(error, OptionError) else "rule", error.message, error.hint)
        except Exception as error:
            reason = " ".join(str(error).split())[:240]
            told = ("rule", f"rule '{module}:{attribute}' failed: {type(error).__name__}: {reason}", "")
        return bytes(cloudpickle.dumps((False, told)))


def _run(module: str, attribute: str, files: Mapping[str, bytes], work: Any, place: Path) -> Any:
    from improvable.algorithms.rules import as_rule, rule_names

    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    sys.path.insert(0, str(place))
    importlib.invalidate_caches()
    try:
        rule: SelectionRule = as_rule(getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError) as error:
        raise OptionError(
            f"the rule '{module}:{attribute}' cannot be imported: {error}.",
            f"Rules are {', '.join(rule_names())}, or module:object of your own.",
        ) from error
    refuse_strangers(place)
    if work is None:
        return rule.name, honors_of(rule)
    found = rule.select(*work)
    refuse_strangers(place)
    return found


def refuse_strangers(place: Path) -> None:
    """Refuse code that has loaded a module which is neither installed nor part of its digest."""
    from improvable.algorithms.rules.own_code import INSTALLED

    for name, file in _loaded().items():
        if not any(file.is_relative_to(one) for one in (place, OURS, *INSTALLED)):
            raise RuleError(
                f"the rule's code loads '{name}', which is neither installed nor part of its digest.",
                "Put it beside the rule and import it by its name.",
            )


def _loaded() -> dict[str, Path]:
    """The files of the modules that were loaded after the server began."""
    named = ((name, getattr(sys.modules[name], "__file__", None)) for name in {*sys.modules} - _known)
    return {name: Path(file).resolve() for name, file in named if isinstance(file, str)}
