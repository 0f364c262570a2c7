"""What an audit through an engine keeps between its passes, and how heavy that may be.

`counts.npz` in a run folder has what was counted of the test rows, so that a driver
that is killed need not read the data again. It is gone when the audit is finished.
Neither rows nor candidates are stored; the same data and the same seed give the same
ones.
"""

import io
import json
import pickle
import zipfile
from dataclasses import fields
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
    """Store what was counted, chained to its run: arrays as they are, exact sums in
    hexadecimal, whole numbers.
    """
    if folder is None:
        return
    arrays: dict[str, Any] = {}
    plain: dict[str, dict[str, Any]] = {}
    for repetition, tally in tallies.items():
        for part in (tally, tally.counted):
            name = f"{type(part).__name__} {repetition}"
            held = {
                one.name: getattr(part, one.name)
                for one in fields(part)
                if one.name != "counted"
            }
            sums = {
                key: list(map(hex, value))
                for key, value in held.items()
                if isinstance(value, tuple)
            }
            plain[name] = {
                key: value for key, value in held.items() if isinstance(value, int)
            } | sums
            arrays |= {
                f"{name} {key}": value
                for key, value in held.items()
                if key not in plain[name]
            }
    arrays["plain"] = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(
        buffer,
        **arrays,
        chain=np.frombuffer(chain_of(arrays, run).encode(), dtype=np.uint8),
    )
    write_whole(folder / COUNTS, buffer.getvalue())


def kept_counts(folder: Path | None, run: str) -> dict[int, Tally]:
    """What was counted already, by repetition; a file that was changed, or is another
    run's, is refused.
    """
    if folder is None or not (folder / COUNTS).exists():
        return {}
    hint = "Delete it and run the same audit again: only counting is redone."
    try:
        arrays = read_arrays(folder / COUNTS)
        chain = arrays.pop("chain").tobytes().decode("ascii")
        if chain == chain_of(arrays, run):
            return _tallies(arrays)
    except (
        OSError,
        EOFError,
        zipfile.BadZipFile,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:
        raise StorageError(f"'{folder / COUNTS}' is damaged.", hint) from error
    raise StorageError(f"'{folder / COUNTS}' was changed, or is of another run.", hint)


def _tallies(arrays: dict[str, Any]) -> dict[int, Tally]:
    made: dict[tuple[str, int], dict[str, Any]] = {}
    for name, kept in parse_json(arrays["plain"].tobytes()).items():
        kind, repetition = name.split()
        sums = {
            key: tuple(int(total, 16) for total in value)
            for key, value in kept.items()
            if isinstance(value, list)
        }
        own = {
            key.split()[-1]: value
            for key, value in arrays.items()
            if key.startswith(f"{name} ")
        }
        made[kind, int(repetition)] = kept | sums | own
    types = {"Cells": Cells, "Moments": Moments}
    counted = {
        one: types[kind](**held) for (kind, one), held in made.items() if kind in types
    }
    return {
        one: Tally(counted=counted[one], **held)
        for (kind, one), held in made.items()
        if kind == "Tally"
    }


def forget_counts(folder: Path) -> None:
    (folder / COUNTS).unlink(missing_ok=True)
    sweep(folder)


def refuse_heavy(plan: Plan, rows: int, parts: int, fitted: Fitted) -> None:
    """Refuse a rule whose first candidate is too heavy, and say from how many rows
    candidates would not be.
    """
    scale = _Scale()
    try:
        pickle.Pickler(scale, protocol=5).dump(
            getattr(fitted.candidate, "scorer", fitted.candidate)
        )
    except (pickle.PicklingError, AttributeError, TypeError):
        return  # a function of the caller's own, which only an engine can pickle
    weight = scale.bytes
    if weight * parts <= MAX_BYTES:
        return
    enough = max(MIN_TRAINING_ROWS, int(0.9 * rows * MAX_BYTES / (weight * parts)))
    raise RuleError(
        (
            f"rule '{plan.rule.name}' makes candidates of {weight / 1e6:,.0f} MB from "
            f"{rows:,} rows, too heavy to send {parts} of them to every worker."
        ),
        (
            f"Let it learn from fewer, `train_rows={enough}`, or use another rule, "
            "such as boosting."
        ),
    )


class _Scale:
    """A file that only counts."""

    bytes = 0

    def write(self, content: Any) -> None:
        self.bytes += memoryview(content).nbytes
