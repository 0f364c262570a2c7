"""Finished stages in a run folder, so that a driver that is killed need not repeat them.

`sample.parquet` has the training rows that were brought, `counts.npz` what was counted of the test rows. Both are
gone when the audit is finished: the splits and the result are what is kept. Candidates are not stored; the same rows
and the same seed give the same ones.
"""

import io
import json
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from improvable.data.files import write_whole
from improvable.data.frames import Rows
from improvable.inference.cells import Cells
from improvable.inference.normal_limit import Moments
from improvable.procedure.counting import Part
from improvable.procedure.sampling import Drawn, lowest
from improvable.procedure.splitting import Splitting

SAMPLE, COUNTS = "sample.parquet", "counts.npz"
KEY, TRAINED = "improvable key", "improvable trained"


def keep_sample(folder: Path | None, drawn: Drawn) -> None:
    """Keep the training rows; those of other frame libraries are in memory anyway."""
    if folder is None or not drawn.rows.frame.implementation.is_polars():
        return
    buffer = io.BytesIO()
    table = drawn.rows.frame.to_polars().with_columns(pl.Series(KEY, drawn.keys))
    table.write_parquet(buffer, metadata={TRAINED: json.dumps(drawn.trained.tolist())})
    write_whole(folder / SAMPLE, buffer.getvalue())


def kept_sample(folder: Path | None, splitting: Splitting, most: int) -> Drawn | None:
    if folder is None or not (folder / SAMPLE).exists():
        return None
    table = pl.read_parquet(folder / SAMPLE)
    trained = json.loads(pl.read_parquet_metadata(folder / SAMPLE)[TRAINED])
    keys = table[KEY].to_numpy().astype(np.uint64)
    return Drawn(
        rows=Rows(nw.from_native(table.drop(KEY), eager_only=True)),
        keys=keys,
        trained=np.array(trained, dtype=np.int64),
        chosen=tuple(lowest(splitting, keys, split, most) for split in range(len(splitting.seeds))),
    )


def keep_counts(folder: Path | None, parts: dict[int, Part]) -> None:
    """Keep what was counted."""
    if folder is None:
        return
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for split, part in parts.items():
        counted = part.counted
        if isinstance(counted, Cells):
            kept: dict[str, Any] = {"silent": counted.silent, "blocks": counted.blocks}
            arrays |= {f"{name}-{split}": getattr(counted, name) for name in ("values", "block", "counts")}
        else:
            kept = {name: getattr(counted, name) for name in ("rows", "blocks", "width")}
            kept |= {name: [hex(total) for total in getattr(counted, name)] for name in ("first", "second")}
        arrays |= {f"{name}-{split}": getattr(part, name) for name in ("sizes", "selected", "occupied")}
        plain[str(split)] = kept | {"weighed": [hex(total) for total in part.weighed], "falls": part.falls}
    buffer = io.BytesIO()
    np.savez(buffer, plain=np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8), **arrays)
    write_whole(folder / COUNTS, buffer.getvalue())


def kept_counts(folder: Path | None) -> dict[int, Part]:
    """What was counted already, by split."""
    if folder is None or not (folder / COUNTS).exists():
        return {}
    with np.load(folder / COUNTS, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    parts = {}
    for name, kept in json.loads(arrays["plain"].tobytes()).items():
        weighed, falls = tuple(int(total, 16) for total in kept.pop("weighed")), kept.pop("falls")
        counted: Cells | Moments
        if "first" in kept:
            first, second = (tuple(int(total, 16) for total in kept.pop(key)) for key in ("first", "second"))
            counted = Moments(**kept, first=first, second=second)
        else:
            counted = Cells(*(arrays[f"{key}-{name}"] for key in ("values", "block", "counts")), **kept)
        sizes, selected, occupied = (arrays[f"{key}-{name}"] for key in ("sizes", "selected", "occupied"))
        parts[int(name)] = Part(counted, sizes, selected, occupied, weighed, falls)
    return parts


def forget_stages(folder: Path) -> None:
    """Remove what a finished audit no longer needs; people's rows least of all."""
    for name in (SAMPLE, COUNTS):
        (folder / name).unlink(missing_ok=True)
