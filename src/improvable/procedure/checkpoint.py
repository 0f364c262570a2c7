"""What an audit through an engine keeps between its passes, and how heavy that may be.

`counts.npz` in a run folder has what was counted of the test rows, so that a driver that is killed need not read the
data again. It is gone when the audit is finished. Neither rows nor candidates are stored; the same data and the same
seed give the same ones.
"""

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from improvable.data.io.safe import parse_json, read_arrays, sweep, write_whole
from improvable.errors import RuleError, StorageError
from improvable.inference.cells import Cells
from improvable.inference.moments import Moments
from improvable.inference.tally import Tally
from improvable.procedure.plan import MIN_TRAINING_ROWS, Plan
from improvable.procedure.select import Fitted
from improvable.results.storage import chain_of

COUNTS = "counts.npz"
MAX_BYTES = 4 << 30


def keep_counts(folder: Path | None, tallies: dict[int, Tally], run: str) -> None:
    """Store what was counted, chained to its run."""
    if folder is None:
        return
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for repetition, tally in tallies.items():
        counted = tally.counted
        if isinstance(counted, Cells):
            kept: dict[str, Any] = {"silent": counted.silent, "blocks": counted.blocks}
            arrays |= {f"{name}-{repetition}": getattr(counted, name) for name in ("values", "block", "counts")}
        else:
            kept = {name: getattr(counted, name) for name in ("rows", "blocks", "width")}
            kept |= {name: [hex(total) for total in getattr(counted, name)] for name in ("first", "second")}
        arrays |= {f"{name}-{repetition}": getattr(tally, name) for name in ("sizes", "selected", "occupied")}
        sums = {name: [hex(total) for total in getattr(tally, name)] for name in ("weighed", "crossed")}
        plain[str(repetition)] = kept | sums | {"falls": tally.falls}
    arrays["plain"] = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays, chain=np.frombuffer(chain_of(arrays, run).encode(), dtype=np.uint8))
    write_whole(folder / COUNTS, buffer.getvalue())


def kept_counts(folder: Path | None, run: str) -> dict[int, Tally]:
    """What was counted already, by repetition; a file that was changed, or is another run's, is refused."""
    if folder is None or not (folder / COUNTS).exists():
        return {}
    try:
        arrays = read_arrays(folder / COUNTS)
        chain = arrays.pop("chain").tobytes().decode("ascii")
        if chain == chain_of(arrays, run):
            return _tallies(arrays)
    except (OSError, EOFError, zipfile.BadZipFile, LookupError, TypeError, ValueError, AttributeError) as error:
        raise StorageError(
            f"'{folder / COUNTS}' is damaged.", "Delete it and run the same audit again: only counting is redone."
        ) from error
    raise StorageError(
        f"'{folder / COUNTS}' was changed, or is of another run.",
        "Delete it and run the same audit again: the rows are counted again.",
    )


def _tallies(arrays: dict[str, Any]) -> dict[int, Tally]:
    tallies = {}
    for name, kept in parse_json(arrays["plain"].tobytes()).items():
        weighed, crossed = (tuple(int(total, 16) for total in kept.pop(key)) for key in ("weighed", "crossed"))
        falls = kept.pop("falls")
        counted: Cells | Moments
        if "first" in kept:
            first, second = (tuple(int(total, 16) for total in kept.pop(key)) for key in ("first", "second"))
            counted = Moments(**kept, first=first, second=second)
        else:
            counted = Cells(*(arrays[f"{key}-{name}"] for key in ("values", "block", "counts")), **kept)
        sizes, selected, occupied = (arrays[f"{key}-{name}"] for key in ("sizes", "selected", "occupied"))
        tallies[int(name)] = Tally(counted, sizes, selected, occupied, weighed, falls, crossed)
    return tallies


def forget_counts(folder: Path) -> None:
    (folder / COUNTS).unlink(missing_ok=True)
    sweep(folder)


def refuse_heavy(plan: Plan, rows: int, parts: int, fitted: Fitted) -> None:
    """Refuse a rule whose first candidate is too heavy, and say from how many rows candidates would not be."""
    weight = weight_of(getattr(fitted.candidate, "scorer", fitted.candidate))
    if weight is None or weight * parts <= MAX_BYTES:
        return
    enough = max(MIN_TRAINING_ROWS, int(0.9 * rows * MAX_BYTES / (weight * parts)))
    raise RuleError(
        f"rule '{plan.rule.name}' makes candidates of {weight / 1e6:,.0f} MB from {rows:,} rows, "
        f"too heavy to send {parts} of them to every worker.",
        f"Let it learn from fewer, `train_rows={enough}`, or use another rule, such as boosting.",
    )


def weight_of(thing: Any) -> int | None:
    """Pickled size in bytes; None for a function of the caller's own, which only an engine can pickle."""
    scale = _Scale()
    try:
        pickle.Pickler(scale, protocol=5).dump(thing)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return scale.bytes


class _Scale:
    """A file that only counts."""

    bytes = 0

    def write(self, content: Any) -> int:
        size = memoryview(content).nbytes
        self.bytes += size
        return size
