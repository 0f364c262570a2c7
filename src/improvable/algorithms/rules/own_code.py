"""Rules that are the caller's own code, ``module:object``: one digest of the code, and
a process of its own to run it.

A name says nothing about what runs. The digest covers the module's file; if it is in a
package, every file of the package; and, likewise, every module that these import from
the same folder. Python itself and installed packages are left out (results carry their
versions), and so is whatever the code opens. Code that imports by other means than
`import` is refused when it runs.

The rule is imported from the digested bytes, in a new process for every block
(`own_process`). So what runs is what was digested, whatever lies beside it: a stale
``.pyc``, a module of the same name elsewhere. And what the code remembers of one block
is gone in the next: it cannot act on how its own candidates fared. Our process never
imports it.
"""

import ast
import hashlib
import importlib.util
import os
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cloudpickle

from improvable.algorithms.constraints import CAPACITY
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.rules.base import Training, silent
from improvable.errors import OptionError, RuleError, nearest

REFUSED = "IMPROVABLE_NO_CODE"
"""Where this variable is set, no rule that is code is run: the local page sets it for
all that it starts.
"""
OURS = Path(__file__).resolve().parents[2]
# The process gets our path as it is, and no folder of its own in front of it.
START = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from improvable.algorithms.rules.own_process import main; main()"
)


def find_installed_folders() -> set[Path]:
    """Every folder that packages are installed into, one that only PYTHONPATH names
    included.
    """
    paths = sysconfig.get_paths()
    folders = [folder for name, folder in paths.items() if "lib" in name]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    for package in ("numpy", "polars", "sklearn"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            folders.append(str(Path(spec.origin).parents[1]))
    return {Path(folder).resolve() for folder in folders}


INSTALLED = find_installed_folders()


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
        return run_code(
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
    name, honors = run_code(module, attribute, files, None)
    return ForeignRule(name, module, attribute, files, honors)


def run_code(
    module: str,
    attribute: str,
    files: Mapping[str, bytes],
    lesson: tuple[Training, Algorithm] | None,
) -> Any:
    """What the code answers in a new process: a candidate, or, without a lesson, the
    rule's name and what it honors.
    """
    request = cloudpickle.dumps((module, attribute, dict(files), lesson))
    path = [folder for folder in sys.path if folder]
    process = subprocess.run(
        [sys.executable, "-P", "-c", START, str(OURS.parent), *path],
        input=request,
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    if process.returncode != 0 or not process.stdout:
        raise RuleError(
            f"the process of rule '{module}:{attribute}' ended without an answer.",
            "See what it printed.",
        )
    succeeded, answer = cloudpickle.loads(process.stdout)
    if succeeded:
        return answer
    kind, message, hint = answer
    raise (OptionError if kind == "option" else RuleError)(message, hint)
