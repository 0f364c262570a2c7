"""Write files in one step, whole or not at all; read those of others: bounded, not
packed, never unpickled.
"""

import io
import json
import math
import os
import secrets
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from improvable.errors import StorageError, nearest

PARTIAL = ".partial"
MAX_JSON, MAX_ARRAYS, MAX_MEMBERS = 256 << 20, 4 << 30, 1 << 16
# bytes of a packed file unpacked, or times its own size, whichever is more
MAX_UNPACKED, TIGHTEST = 64 << 20, 100


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one step: it is there whole, or as it was before; a link in its
    place is refused.

    Until it is whole it has a new name that nobody can foresee: a link put there cannot
    choose what is overwritten.
    """
    if path.is_symlink():
        raise StorageError(
            f"'{path}' is a link.",
            "Remove it, or name another file: links are not written through.",
        )
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
            (
                "What was finished before is kept; make room and run the same command "
                "again."
            ),
        ) from error


def sweep(folder: Path) -> None:
    """Remove what runs that were killed while writing left in a folder."""
    for partial in folder.glob(f".*{PARTIAL}"):
        partial.unlink(missing_ok=True)


def make_folder(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot make the folder '{place}': {error.strerror}.", "Name another."
        ) from error


def nearest_file(
    path: Path, ending: str = "", otherwise: str = "Check the path."
) -> str:
    """Advice for a path that leads nowhere: files beside it with a name like it and
    this ending.
    """
    names = (
        [one.name for one in path.parent.glob("*") if one.name.endswith(ending)]
        if path.parent.is_dir()
        else []
    )
    advice = nearest(path.name, names)
    return advice if advice.startswith("Did you mean") else otherwise


class ReceivedError(ValueError):
    """What is wrong with a file, in words that can follow its name."""


def read_bytes(path: Path, most: int = MAX_JSON, links: bool = True) -> bytes:
    """The bytes of a regular file, not longer than `most`.

    In a folder that came from others no link is followed (`links=False`): it may point
    to anything.
    """
    if not links and path.is_symlink():
        raise ReceivedError("is a link")
    flags = (
        os.O_RDONLY
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_BINARY", 0)
        | getattr(os, "O_NOCTTY", 0)
    )
    # a link that was put there since
    flags |= 0 if links else getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ReceivedError("is not a regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ReceivedError(f"is longer than {most >> 20:,} MB")
    return content


def parse_json(content: bytes) -> Any:
    """JSON in UTF-8; a key that is said twice, or nesting too deep to be ours, is
    refused.
    """

    def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # which could show a reader what was not verified
        if len(plain := dict(pairs)) != len(pairs):
            raise ReceivedError("says a key twice")
        return plain

    try:
        return json.loads(content.decode(), object_pairs_hook=no_key_twice)
    except RecursionError:
        raise ReceivedError("is nested too deeply") from None


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an .npz as NumPy's `savez` writes it: stored, not deflated, each as
    long as its header says.

    So the arrays are never larger than the file, whatever its headers claim, and no
    object is unpickled.
    """
    content = read_bytes(path, MAX_ARRAYS, links=False)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if (
            len({member.filename for member in members}) != len(members)
            or len(members) > MAX_MEMBERS
        ):
            raise ReceivedError("names an array twice")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ReceivedError("is compressed, which ours never are")
        if sum(member.file_size for member in members) > len(content):
            raise ReceivedError("claims more than it holds")
        return {
            member.filename.removesuffix(".npy"): _array(archive.read(member))
            for member in members
        }


def most_unpacked(size: int) -> int:
    """How many bytes a packed file of this size may unpack to."""
    return max(MAX_UNPACKED, TIGHTEST * size)


def inflates(archive: zipfile.ZipFile, size: int) -> bool:
    """Whether an archive of this size unpacks to more than that; none unpacks to more
    than it says.
    """
    return sum(member.file_size for member in archive.infolist()) > most_unpacked(size)


def _array(content: bytes) -> Any:
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ReceivedError("has arrays of an unknown version")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, column_first, dtype = read(stream)
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ReceivedError("holds objects, which are not read")
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ReceivedError("has an array that is not as long as it says")
    flat = np.frombuffer(content, dtype, offset=stream.tell()).copy()
    return flat.reshape(shape, order="F" if column_first else "C")
