"""The code behind a rule that is named ``module:object``: one digest of all of it.

A name says nothing about what runs. The digest covers the module's file; if it is in a package, every file of the
package; and, likewise, every module that these import from the same folder. Python itself and installed packages are
left out (results carry their versions), and so is whatever the code opens. What it imports by other means than `import`
is refused when it runs.
"""

import ast
import hashlib
import importlib.util
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from improvable.algorithms.rules import FAMILIES, RULES, own_modules
from improvable.errors import OptionError, RuleError, nearest

INSTALLED = {Path(place).resolve() for name, place in sysconfig.get_paths().items() if "lib" in name}
CACHE = "__pycache__"


def source_digest(spec: object) -> str | None:
    """The digest of the code behind a rule's name; None where the name is one of ours, or no name.

    The same on every machine: neither the folder nor the kind of line ends counts.
    """
    files = source_files(spec)
    if not files:
        return None
    found = hashlib.blake2b(digest_size=32)
    for name, content in sorted(files.items()):
        found.update(f"{len(name)}:{name}{len(content)}:".encode() + content)
    return found.hexdigest()


def source_files(spec: object) -> dict[str, bytes]:
    """Every file of the code behind a rule's name, by its name relative to its folder; none of a rule of ours."""
    files: dict[str, bytes] = {}
    for module in own_modules(spec) if isinstance(spec, str) else []:
        files |= files_of(module)
    return files


def check_source(spec: object, declared: str | None) -> str | None:
    """The digest of a rule's code; refused where another one was declared."""
    found = source_digest(spec)
    if declared is not None and found != declared:
        what = f"has the digest {found[:16]}..." if found is not None else "is none of your own"
        raise RuleError(
            f"the code of rule '{spec}' {what}, and the protocol declares {declared[:16]}....",
            "Run the code that was declared, or declare this code in a new protocol.",
        )
    return found


def files_of(module: str) -> dict[str, bytes]:
    """Every file of a module and of what it imports from beside it, by its name relative to their common folder."""
    root = _root(module)
    found: dict[str, bytes] = {}
    waiting, seen = [module.partition(".")[0]], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for path in _files_of(name, root):
            content = path.read_bytes()
            if path.suffix == ".py":
                content = content.replace(b"\r\n", b"\n")
                waiting += [] if root in INSTALLED else _imports(content)
            found[path.relative_to(root).as_posix()] = content
    return found


def _root(module: str) -> Path:
    """The folder in which a module, or the package that it is in, lies."""
    top = module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top) if top else None
    except ValueError:  # of a module that is running, such as __main__
        spec = None
    places = [] if spec is None else [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.origin else [])]
    if not places:
        known = f"The rule {top} takes no setting." if top in RULES else nearest(top, FAMILIES)
        raise OptionError(
            f"the code of the rule's module '{module}' cannot be found.",
            f"{known} A module of your own must be on Python's path.",
        )
    place = Path(places[0]).resolve()
    return place.parent


def _files_of(name: str, root: Path) -> Iterator[Path]:
    """The files of one module beside others in a folder; none where there is no such module."""
    folder = root / name
    if folder.is_dir():
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file() and CACHE not in path.parts)
    yield from (path for path in sorted(root.glob(f"{name}.*")) if path.is_file() and _is_code(path))


def _is_code(path: Path) -> bool:
    return path.suffix in (".py", ".so", ".pyd")


def _imports(content: bytes) -> list[str]:
    """The first names of all modules that a file imports."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return []  # importing it fails too, and says why
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.append(node.module.partition(".")[0])
    return names
