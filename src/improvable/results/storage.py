"""Results in a folder: what was asked and found as JSON, the draws as NumPy arrays,
nothing pickled.

A folder holds

- ``result.json``: what was asked, in plain data. It is written last: a folder without
  it is a run that has not ended.
- ``repetition-001.npz``, ...: one file per repetition (one in all for a comparison),
  with the arrays ``sums``, ``draws``, ``training``, ``members`` (see `Evidence`),
  ``rows``, ``weight``, ``selected`` (see `Census`), ``meta``, a JSON string with
  everything else; and ``chain``, a digest of all of it and of the run that it belongs
  to.
- ``run.json``: which audit a run in this folder belongs to.
- ``provenance.json``: of a run from the command line, the command, the data's name and
  the line of the ledger.

Every file is written under another name and then renamed, so that none is ever half
there. `Comparison` and `Audit` turn themselves into these parts and back.
"""

import hashlib
import io
import json
import platform
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable._text import json_text
from improvable.data.io import safe
from improvable.data.io.safe import ReceivedError, parse_json
from improvable.errors import StorageError
from improvable.inference.cells import Cells
from improvable.inference.moments import Moments
from improvable.inference.tally import Counted
from improvable.question.options import check_types, conforms

if TYPE_CHECKING:
    from improvable.results.comparison import Comparison

FORMAT = 10
VERSION = version("improvable")
PACKAGES = (
    "improvable",
    "numpy",
    "scipy",
    "scikit-learn",
    "polars",
    "narwhals",
    "skrub",
    "highspy",
)
"""Packages whose version can change a number."""
RUN_KEYS = (
    "rule",
    "rule_source",
    "features",
    "row_id",
    "train_rows",
    "scheme",
    "blocks",
)
RESULT, RUN, PROVENANCE = "result.json", "run.json", "provenance.json"
MAX_KEPT = 5_000
"""With more distinct contributions than this they are not kept: outcomes are then
nearly all different.
"""
MALFORMED = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    AssertionError,
)
"""What plain data that are not as we write them can cause, wherever they are first
used.
"""
REDO = "Delete it and run the same audit again: only this repetition is redone."


def versions() -> dict[str, str]:
    """The versions that a result is made with."""
    return dict(_installed())


@cache  # reading what is installed takes as long as a tenth of a small audit
def _installed() -> dict[str, str]:
    return {name: version(name) for name in PACKAGES} | {
        "python": platform.python_version()
    }


def as_json(plain: Mapping[str, Any]) -> bytes:
    return (json_text(plain, indent=1) + "\n").encode()


def _headed(**plain: Any) -> bytes:
    return as_json({"format": FORMAT, "version": VERSION, **plain})


def write_json(path: Path, **plain: Any) -> None:
    safe.write_whole(path, _headed(**plain))


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object that we wrote, of this format; anything else is refused in one
    line.
    """
    try:
        plain = parse_json(safe.read_bytes(path, links=False))
        if not isinstance(plain, dict):
            raise ReceivedError("is not a JSON object")
    except (OSError, ValueError) as error:
        why = error if isinstance(error, ReceivedError) else "cannot be read"
        raise StorageError(
            f"'{path}' {why}.", "It is damaged or not one of ours; run the audit again."
        ) from error
    if plain.get("format") != FORMAT or isinstance(plain["format"], bool):
        wrong = (
            f"'{path}' has format {plain.get('format')}, written by version "
            f"{plain.get('version')}."
        )
        raise StorageError(
            wrong, f"Version {VERSION} reads format {FORMAT}; run the audit again."
        )
    return plain


def repetition_path(folder: Path, repetition: int) -> Path:
    return folder / f"repetition-{repetition:03d}.npz"


def run_key(
    question: Mapping[str, Any], setting: Mapping[str, Any], data: str | None
) -> str:
    """What the repetitions of one run have in common: the question, rule, code, blocks
    and data.
    """
    named = {name: setting.get(name) for name in RUN_KEYS}
    text = json.dumps([question, named, data], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def chain_of(arrays: Mapping[str, Any], run: str) -> str:
    """A digest of arrays, chained to the run that they belong to.

    It holds no secret: it finds files that were changed or come from another run. Only
    `verify` shows that the numbers are right.
    """
    found = hashlib.blake2b(run.encode(), digest_size=32)
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {values.dtype.str} {values.shape}".encode())
        found.update(values.tobytes())
    return found.hexdigest()


def write_repetition(result: "Comparison", folder: Path, run: str = "") -> None:
    """Keep one repetition, chained to its run."""
    meta, arrays = result.stored()
    arrays["meta"] = np.frombuffer(_headed(**meta), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(
        buffer,
        **arrays,
        chain=np.frombuffer(chain_of(arrays, run).encode(), dtype=np.uint8),
    )
    safe.write_whole(repetition_path(folder, result.repetition), buffer.getvalue())


def read_repetition(
    path: Path, seed: int, run: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metadata and arrays of one repetition; those of a `run` only if unchanged and
    its own.
    """
    try:
        arrays = safe.read_arrays(path)
        meta = parse_json(arrays["meta"].tobytes())
        found, number = meta["format"], meta.get("repetition")
    except (OSError, EOFError, zipfile.BadZipFile, *MALFORMED) as error:
        raise damaged(path, error) from error
    if found != FORMAT or isinstance(found, bool):
        raise StorageError(
            f"'{path}' has format {found}.",
            f"This version reads format {FORMAT}; run the audit again.",
        )
    if (
        not conforms(number, int)
        or repetition_path(path.parent, number) != path
        or meta.get("seed") != seed
    ):
        raise StorageError(
            f"'{path}' is a repetition of another run.",
            "Remove it, or use a new folder.",
        )
    chain = (
        arrays.pop("chain", np.empty(0, dtype=np.uint8))
        .tobytes()
        .decode("ascii", "replace")
    )
    if run is not None and chain != chain_of(arrays, run):
        raise StorageError(
            f"'{path}' was changed, or is a repetition of another run.", REDO
        )
    return meta, arrays


def damaged(path: Path, error: BaseException) -> StorageError:
    return StorageError(
        f"'{path}' {error if isinstance(error, ReceivedError) else 'is damaged'}.", REDO
    )


@dataclass(frozen=True)
class Provenance:
    """Where a result comes from: the command that made it, its line in the ledger, and
    what the data are called.
    """

    command: str | None = None
    runs: str | None = None
    data: str | None = None


def write_provenance(folder: Path, made: Provenance) -> None:
    """Keep where a result comes from, for reports that are written later."""
    write_json(folder / PROVENANCE, **asdict(made))


def read_provenance(folder: Path) -> Provenance | None:
    """Where a result in a folder comes from; None where nobody kept it."""
    if not (folder / PROVENANCE).exists():
        return None
    plain = read_json(folder / PROVENANCE)
    made = Provenance(
        **{name: plain.get(name) for name in Provenance.__dataclass_fields__}
    )
    try:
        check_types(made)
    except TypeError as error:
        raise StorageError(
            f"'{folder / PROVENANCE}' is not as it was written.", "Ask for it again."
        ) from error
    return made


def new_folder(folder: str | Path) -> Path:
    """A folder to save into; one that holds something is refused."""
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise StorageError(
            f"'{place}' is already there and not empty.", "Save into a new folder."
        )
    safe.make_folder(place)
    return place


def open_run(
    folder: str | Path,
    identity: Mapping[str, Any],
    begun: Callable[[bool], None] = lambda _: None,
) -> Path:
    """Open a run folder for this audit; refuse one that belongs to another audit, and
    say in what they differ.

    `begun` is called before anything is written: with True where an earlier run left
    the folder.
    """
    place = Path(folder)
    mine = _headed(audit=identity)
    if (place / RUN).exists() or (place / RUN).is_symlink():
        theirs = read_json(place / RUN)
        if not isinstance(theirs.get("audit"), dict) or not isinstance(
            theirs.get("version"), str
        ):
            raise StorageError(
                f"'{place / RUN}' does not say which audit it belongs to.",
                "Use a new folder.",
            )
        if theirs["version"] != VERSION:
            other = (
                f"'{place}' was begun by version {theirs['version']}; this is "
                f"{VERSION}."
            )
            raise StorageError(
                other, "Finish it with that version, or use a new folder."
            )
        ours = json.loads(mine)["audit"]
        different = sorted(
            key
            for key in {*ours, *theirs["audit"]}
            if ours.get(key) != theirs["audit"].get(key)
        )
        if different:
            named = ", ".join(different).replace("data_fingerprint", "data")
            raise StorageError(
                f"'{place}' belongs to another audit: {named} differ.",
                "Use a new folder for this one.",
            )
        begun(True)
        return place
    # A run that was killed while it wrote its first file leaves only a part of it.
    if place.exists() and (
        not place.is_dir() or any(one.suffix != safe.PARTIAL for one in place.iterdir())
    ):
        raise StorageError(
            f"'{place}' is not empty and not a run folder.", "Use a new folder."
        )
    begun(False)
    safe.make_folder(place)
    safe.write_whole(place / RUN, mine)
    return place


def few_enough(counted: Counted) -> bool:
    """Whether there are few enough distinct contributions to keep them."""
    return (
        isinstance(counted.strata, Moments)
        or sum(len(cells.counts) for cells in counted.strata) <= MAX_KEPT
    )


def plain_counts(counted: Counted | None) -> dict[str, Any] | None:
    """Cells or moments as plain data; None where there are too many.

    Distinct contributions and how often each occurs; no row, no feature, no person. All
    that draws, and so p-values, are made from: others can draw again without the data
    (`improvable bundle`).
    """
    if counted is None or not few_enough(counted):
        return None
    if isinstance(counted.strata, Moments):
        plain = asdict(counted.strata)
        return plain | {
            name: [hex(total) for total in plain[name]] for name in ("first", "second")
        }
    strata = [
        {
            "blocks": cells.blocks,
            "silent": cells.silent,
            "width": cells.values.shape[1],
            "cells": [
                [int(block), int(count), *map(float, values)]
                for block, count, values in zip(
                    cells.block, cells.counts, cells.values, strict=True
                )
            ],
        }
        for cells in counted.strata
    ]
    return {"strata": strata, "clusters": counted.clusters}


def counts_from(plain: Mapping[str, Any] | None) -> Counted | None:
    """The same, back; whatever is not as `plain_counts` writes it is a `ValueError` or
    a `TypeError`.
    """
    if plain is None:
        return None
    if "strata" not in plain:
        first, second = (
            tuple(int(total, 16) for total in plain[name])
            for name in ("first", "second")
        )
        rows, blocks, width = (
            _whole(plain[name], 0) for name in ("rows", "blocks", "width")
        )
        if (
            len(first) != blocks * width
            or len(second) != blocks * width * (width + 1) // 2
        ):
            raise ValueError("moments of another shape")
        return Counted(Moments(rows, blocks, width, first, second), None)
    clusters = None if plain["clusters"] is None else _whole(plain["clusters"], 1)
    return Counted(tuple(_cells_from(one) for one in plain["strata"]), clusters)


def _cells_from(plain: Mapping[str, Any]) -> Cells:
    blocks, silent, width = (
        _whole(plain[name], low)
        for name, low in (("blocks", 1), ("silent", 0), ("width", 1))
    )
    lines = [
        (_whole(line[0], 0), _whole(line[1], 1), *map(float, line[2:]))
        for line in plain["cells"]
    ]
    in_order = sorted(lines, key=lambda line: (line[0], *line[2:]))
    if lines != in_order or any(
        len(line) != width + 2 or line[0] >= blocks for line in lines
    ):
        raise ValueError("cells of another shape or order")
    values = np.asfortranarray(
        np.array([line[2:] for line in lines], dtype=np.float64).reshape(-1, width)
    )
    if not np.isfinite(values).all():
        raise ValueError("cells that are not numbers")
    block, counts = (
        np.array([line[j] for line in lines], dtype=np.int64) for j in range(2)
    )
    return Cells(values, block, counts, silent, blocks)


def _whole(value: Any, low: int) -> int:
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or not low <= value < 1 << 62
    ):
        raise ValueError(f"{value!r} is not a count")
    return value
