"""Rules that are the caller's own code, ``module:object``: one digest of the code, and
a process of its own to run it.

A name says nothing about what runs. The digest covers the module's file; if it is in a
package, every file of the package; and, likewise, every module that these import from
the same folder. Python itself and installed packages are left out (results carry their
versions), and so is whatever the code opens. Code that imports by other means than
`import` is refused when it runs.

The rule is imported from the digested bytes, in a new process for every block. So what
runs is what was digested, whatever lies beside it: a stale ``.pyc``, a module of the
same name elsewhere. And what the code remembers of one block is gone in the next: it
cannot act on how its own candidates fared. Our process never imports it. A server that
has imported none of it forks once for every block; where there is no fork, the server
is started again instead.
"""

import ast
import hashlib
import importlib
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import cloudpickle

from improvable.algorithms.constraints import CAPACITY, honors_of
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.rules.base import SelectionRule, Training, silent
from improvable.errors import ImprovableError, OptionError, RuleError, nearest

REFUSED = "IMPROVABLE_NO_CODE"
"""Where this variable is set, no rule that is code is run: the local page sets it for
all that it starts.
"""
INSTALLED = {
    Path(place).resolve()
    for name, place in sysconfig.get_paths().items()
    if "lib" in name
}
OURS = Path(__file__).resolve().parents[2]
FORKS = hasattr(os, "fork")
SIZE = 8  # bytes that say how long a message is
PRELOADED = (
    "improvable.procedure.api",
    "polars",
    "narwhals",
    "sklearn.ensemble",
    "sklearn.linear_model",
)
SERVE = (
    "import sys; sys.path[:] = {path!r}; from improvable.algorithms.rules.own_code "
    "import serve; serve()"
)


# The code and its digest. ----


def source_digest(spec: object) -> str | None:
    """The digest of the code behind a rule's name, the same on every machine; None
    where there is no code but ours.
    """
    files = source_files(spec)
    if not files:
        return None
    found = hashlib.blake2b(digest_size=32)
    for name, content in sorted(files.items()):
        found.update(f"{len(name)}:{name}{len(content)}:".encode() + content)
    return found.hexdigest()


def source_files(spec: object) -> dict[str, bytes]:
    """Every file of the code behind a rule's name, by its name relative to its folder;
    none for a rule of ours.
    """
    from improvable.algorithms.rules import own_modules

    modules = own_modules(spec) if isinstance(spec, str) else []
    return {
        name: content
        for module in modules
        for name, content in files_of(module).items()
    }


def check_source(spec: object, declared: str | None) -> str | None:
    """The digest of a rule's code; refused where another one was declared."""
    found = source_digest(spec)
    if declared is not None and found != declared:
        what = (
            f"has the digest {found[:16]}..."
            if found is not None
            else "is none of your own"
        )
        message = (
            f"the code of rule '{spec}' {what}, and the protocol declares "
            f"{declared[:16]}...."
        )
        raise RuleError(
            message,
            "Run the code that was declared, or declare this code in a new protocol.",
        )
    return found


def files_of(module: str) -> dict[str, bytes]:
    """Every file of a module and of what it imports from beside it, by its name
    relative to their common folder.
    """
    root, found, names = _root(module), dict[str, bytes](), [module.partition(".")[0]]
    for name in names:  # which grows on the way
        for path in _files_beside(name, root):
            content = path.read_bytes()
            if path.suffix == ".py":
                content = content.replace(b"\r\n", b"\n")
                names += (
                    [] if root in INSTALLED else sorted(_imports(content) - {*names})
                )
            found[path.relative_to(root).as_posix()] = content
    return found


def _root(module: str) -> Path:
    """The folder of a module, or of the package that it is in."""
    from improvable.algorithms.rules import FAMILIES, RULES

    top = module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top) if top else None
    except ValueError:  # of a module that is running, such as __main__
        spec = None
    places = (
        []
        if spec is None
        else [
            *(spec.submodule_search_locations or ()),
            *([spec.origin] if spec.origin else []),
        ]
    )
    if not places:
        known = (
            f"The rule {top} takes no setting."
            if top in RULES
            else nearest(top, FAMILIES)
        )
        hint = f"{known} A module of your own must be on Python's path."
        raise OptionError(
            f"the code of the rule's module '{module}' cannot be found.", hint
        )
    return Path(places[0]).resolve().parent


def _files_beside(name: str, root: Path) -> Iterator[Path]:
    """The files of a module in a folder; none where it is not there."""
    inside = (
        path
        for path in sorted((root / name).rglob("*"))
        if "__pycache__" not in path.parts
    )
    alone = (
        path
        for path in sorted(root.glob(f"{name}.*"))
        if path.suffix in (".py", ".so", ".pyd")
    )
    yield from (path for path in (*inside, *alone) if path.is_file())


def _imports(content: bytes) -> set[str]:
    """The top-level names of all modules that a file imports."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return set()  # importing it fails too, and says why
    nodes = list(ast.walk(tree))
    names = [
        alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    names += [
        node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and not node.level and node.module
    ]
    return {name.partition(".")[0] for name in names}


# The rule, as our process sees it. ----


@dataclass(frozen=True)
class ForeignRule:
    """A rule in a process of its own."""

    name: str  # as it calls itself
    module: str
    attribute: str
    # the code, by the names of its files
    files: Mapping[str, bytes] = field(repr=False)
    honors: frozenset[str] = frozenset({CAPACITY})

    def select(self, training: Training, status_quo: Algorithm) -> Any:
        return _ask(
            self.module,
            self.attribute,
            self.files,
            (replace(training, report=silent), status_quo),
        )


def import_rule(module: str, attribute: str) -> ForeignRule:
    """A rule by the name of its module, described by a process that imports it."""
    if os.environ.get(REFUSED):
        what = f"rule '{module}:{attribute}' is code, which is not run here."
        raise OptionError(what, "Read the code first; then use the command line.")
    files = files_of(module)
    name, honors = _ask(module, attribute, files, None)
    return ForeignRule(name, module, attribute, files, honors)


class _Server:
    """A process that answers one request after another."""

    def __init__(self) -> None:
        path = [place for place in sys.path if place]
        command = [
            sys.executable,
            "-P",
            "-c",
            SERVE.format(path=[str(OURS.parent), *path]),
        ]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        # closes its pipes, and waits
        weakref.finalize(self, self.process.__exit__, None, None, None)

    def ask(self, request: bytes) -> bytes:
        stdin, stdout = (
            cast(BinaryIO, self.process.stdin),
            cast(BinaryIO, self.process.stdout),
        )
        stdin.write(len(request).to_bytes(SIZE) + request)
        stdin.flush()
        return stdout.read(int.from_bytes(stdout.read(SIZE)))


_here = threading.local()


def _ask(module: str, attribute: str, files: Mapping[str, bytes], work: Any) -> Any:
    """What a new process answers: a candidate, or, without work, the rule's name and
    what it honors.
    """
    if not FORKS or getattr(_here, "server", None) is None:
        _here.server = _Server()
    try:
        reply = _here.server.ask(
            cloudpickle.dumps((module, attribute, dict(files), work))
        )
    except OSError:
        reply = b""
    if not reply:
        _here.server = None
        raise RuleError(
            f"the process of rule '{module}:{attribute}' ended without an answer.",
            "See what it printed.",
        )
    good, found = cloudpickle.loads(reply)
    if good:
        return found
    kind, message, hint = found
    raise (OptionError if kind == "option" else RuleError)(message, hint)


# The server. ----

# the modules that the server had loaded before any code of others
_known: set[str] = set()


def serve() -> None:
    """Answer requests until there are no more; what the code prints goes to standard
    error.
    """
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
            # whatever the code did, sys.exit included, this copy of the server ends
            # here
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        reply = pipe.read()
    os.waitpid(child, 0)
    return reply


def _answer(request: bytes) -> bytes:
    """What the code finds, or why it failed."""
    module, attribute, files, work = cloudpickle.loads(request)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        try:
            found = _run(module, attribute, files, work, place)
            for name, file in _loaded().items():
                if file.is_relative_to(place):
                    cloudpickle.register_pickle_by_value(sys.modules[name])
            return bytes(cloudpickle.dumps((True, found)))
        except ImprovableError as error:
            failure = (
                "option" if isinstance(error, OptionError) else "rule",
                error.message,
                error.hint,
            )
        except Exception as error:
            reason = " ".join(str(error).split())[:240]
            failure = (
                "rule",
                f"rule '{module}:{attribute}' failed: {type(error).__name__}: {reason}",
                "",
            )
        return bytes(cloudpickle.dumps((False, failure)))


def _run(
    module: str, attribute: str, files: Mapping[str, bytes], work: Any, place: Path
) -> Any:
    from improvable.algorithms.rules import as_rule, rule_names

    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    sys.path.insert(0, str(place))
    importlib.invalidate_caches()
    try:
        rule: SelectionRule = as_rule(
            getattr(importlib.import_module(module), attribute)
        )
    except (ImportError, AttributeError) as error:
        hint = f"Rules are {', '.join(rule_names())}, or module:object of your own."
        raise OptionError(
            f"the rule '{module}:{attribute}' cannot be imported: {error}.", hint
        ) from error
    _refuse_strangers(place)
    if work is None:
        return rule.name, honors_of(rule)
    found = rule.select(*work)
    _refuse_strangers(place)
    return found


def _refuse_strangers(place: Path) -> None:
    """Refuse code that has loaded a module which is neither installed nor part of its
    digest.
    """
    for name, file in _loaded().items():
        if not any(file.is_relative_to(folder) for folder in (place, OURS, *INSTALLED)):
            what = (
                f"the rule's code loads '{name}', which is neither installed nor part "
                "of its digest."
            )
            raise RuleError(what, "Put it beside the rule and import it by its name.")


def _loaded() -> dict[str, Path]:
    """The files of the modules that were loaded after the server began."""
    named = (
        (name, getattr(sys.modules[name], "__file__", None))
        for name in {*sys.modules} - _known
    )
    return {name: Path(file).resolve() for name, file in named if isinstance(file, str)}
