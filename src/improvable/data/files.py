"""Files written in one step: there whole, or as they were before."""

import os
from pathlib import Path

from improvable.errors import StorageError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one step: it is there whole, or as it was before."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
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


def make_folder(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make the folder '{place}': {error.strerror}.", "Name another.") from error
