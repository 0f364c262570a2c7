"""Files written in one step: there whole, or as they were before."""

import os
import secrets
from pathlib import Path

from improvable.errors import StorageError, nearest

PARTIAL = ".partial"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one step: it is there whole, or as it was before.

    What is not whole yet has a name that nobody can foresee, in the same folder, and is made anew: whoever can put a
    link there beforehand cannot choose what is overwritten. A link in the place of the file itself is refused.
    """
    if path.is_symlink():
        raise StorageError(f"'{path}' is a link.", "Remove it, or name another file: links are not written through.")
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StorageError(
            f"cannot write '{path}': {error.strerror}.",
            "What was finished before is kept; make room and run the same command again.",
        ) from error


def sweep(folder: Path) -> None:
    """Remove what runs that were killed while writing left in a folder."""
    for partial in folder.glob(f".*{PARTIAL}"):
        partial.unlink(missing_ok=True)


def make_folder(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make the folder '{place}': {error.strerror}.", "Name another.") from error


def nearest_file(path: Path, ending: str = "", otherwise: str = "Check the path.") -> str:
    """Advice for a path that leads nowhere: files beside it with a name like it.

    Parameters
    ----------
    ending : str
        How the names of such files end; any, if empty.
    otherwise : str
        What to say where none is like it.
    """
    names = [one.name for one in path.parent.glob("*") if one.name.endswith(ending)] if path.parent.is_dir() else []
    advice = nearest(path.name, names)
    return advice if advice.startswith("Did you mean") else otherwise
