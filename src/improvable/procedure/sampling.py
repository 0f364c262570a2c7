"""The second pass: the training rows that rules will see, brought to the driver.

A rule learns from at most `train_rows` of the rows before a block: those with the lowest places, which is a simple
random sample without replacement, the same for any batches and any order. The place below which they all lie is
guessed from the number of rows, generously, so that a batch need not keep more than its share; too low a guess is
noticed and corrected.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from improvable.data.arrays import IntArray
from improvable.data.engines import Engine
from improvable.data.engines.batches import run
from improvable.data.frames import Rows
from improvable.data.keys import Keys, shared_row_id
from improvable.data.sample import Reading, Sample
from improvable.errors import DataError
from improvable.procedure.splitting import ALL_ROWS, PLACES, Part, Splitting

MOST_SHARED = 0.01
"""Equal rows that an engine cannot tell apart always fall into one block; up to this share that is harmless."""


@dataclass(frozen=True)
class Brought:
    """Rows with low places in some repetition, with their keys; and how many rows teach in each part."""

    frames: tuple[nw.DataFrame[Any], ...]
    keys: tuple[Keys, ...]
    units: tuple[Keys, ...]
    trained: IntArray


class Order:
    """The places of some units, computed once for all blocks of a repetition in turn."""

    def __init__(self, splitting: Splitting, units: Keys) -> None:
        self._splitting, self._units = splitting, units
        self._repetition = -1

    def places(self, part: Part) -> Keys:
        if part.repetition != self._repetition:
            self._repetition = part.repetition
            self._places = self._splitting.places(self._units, part.repetition)
        return self._places


@dataclass(frozen=True)
class Bringing:
    """The work of the second pass. `limits` has the place of each part below which rows are brought."""

    reading: Reading
    splitting: Splitting
    limits: Mapping[Part, np.uint64]

    def __call__(self, rows: Rows) -> Brought:
        sample = self.reading.sample(rows)
        keys, units = self.splitting.keys(sample), self.splitting.units(sample)
        wanted = np.zeros(len(keys), dtype=np.bool_)
        trained = []
        order = Order(self.splitting, units)
        for part, limit in self.limits.items():
            places = order.places(part)
            trained.append(int(self.splitting.trains(places, part).sum()))
            wanted |= places <= limit
        index = np.flatnonzero(wanted)
        return Brought((sample.rows.frame[index],), (keys[index],), (units[index],), np.array(trained, dtype=np.int64))


def merge_brought(one: Brought, other: Brought) -> Brought:
    return Brought(
        one.frames + other.frames, one.keys + other.keys, one.units + other.units, one.trained + other.trained
    )


@dataclass(frozen=True)
class Drawn:
    """The rows brought, as one frame, and for each part which of them are its training rows.

    Attributes
    ----------
    rows : Rows
        With their keys.
    trained : dict
        From a part to how many rows train in it, brought or not.
    chosen : dict
        From a part to the rows that its rule sees, in the order of their keys.
    """

    rows: Rows
    trained: dict[Part, int]
    chosen: dict[Part, IntArray]

    def teacher(self, part: Part) -> Part:
        """The first block of the repetition whose rule sees the same rows: what one learned, the others need not."""
        mine = self.chosen[part]
        earlier = (Part(part.repetition, block) for block in range(1, part.block))
        return next((one for one in earlier if np.array_equal(self.chosen[one], mine)), part)

    def sample(self, reading: Reading, part: Part) -> Sample:
        return reading.sample(self.rows.take(self.chosen[part]))


def draw_rows(
    engine: Engine,
    reading: Reading,
    splitting: Splitting,
    columns: Sequence[str],
    total: int,
    most: int,
    parts: Sequence[Part],
) -> Drawn:
    """Bring training rows of some parts to the driver in one pass."""
    margin = 1.0
    while True:
        limits = _limits(splitting, total, most * margin, parts)
        brought = run(engine, Bringing(reading, splitting, limits), columns, merge_brought)
        keys, units = np.concatenate(brought.keys), np.concatenate(brought.units)
        trained = dict(zip(parts, brought.trained.tolist(), strict=True))
        order = Order(splitting, units)
        enough = [
            int((order.places(part) <= limit).sum()) >= min(most + 1, trained[part]) for part, limit in limits.items()
        ]
        if all(enough):
            rows = Rows(_together(brought.frames).frame, keys)
            return Drawn(rows, trained, choose(splitting, keys, units, most, parts))
        margin *= 4


def _limits(splitting: Splitting, total: int, rows: float, parts: Sequence[Part]) -> dict[Part, np.uint64]:
    """Below these places lie at least `rows` of `total` rows, but for once in a billion."""
    share = int(min((rows + 6 * np.sqrt(rows) + 10) / total, 1.0) * PLACES)
    edges = {part: PLACES - 1 if part == ALL_ROWS else int(splitting.edge(part.block)) for part in parts}
    return {part: np.uint64(min(share, edge)) for part, edge in edges.items()}


def choose(splitting: Splitting, keys: Keys, units: Keys, most: int, parts: Sequence[Part]) -> dict[Part, IntArray]:
    """At most `most` training rows of each part: those with the lowest places, in the order of their keys."""
    by_key = np.lexsort((keys, units))
    order = Order(splitting, units[by_key])
    return {part: by_key[_lowest(splitting, order.places(part), part, most)] for part in parts}


def _lowest(splitting: Splitting, places: Keys, part: Part, most: int) -> IntArray:
    """Rows of one unit stay together."""
    training = np.flatnonzero(splitting.trains(places, part))
    if len(training) <= most:
        return training
    own = places[training]
    next_place = np.partition(own, most)[most]
    kept: IntArray = training[own < next_place]
    return kept if len(kept) else training[own <= next_place]


def _together(frames: tuple[nw.DataFrame[Any], ...]) -> Rows:
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        raise DataError("no row is left to train on.", "Bring more rows.")
    if len(filled) > 1 and filled[0].implementation.is_polars():
        whole = pl.concat([frame.to_native() for frame in filled], how="vertical_relaxed", rechunk=True)
        return Rows(nw.from_native(whole, eager_only=True))
    return Rows(nw.concat(filled) if len(filled) > 1 else filled[0])


def check_keys(drawn: Drawn, row_id: str | None) -> None:
    """Refuse keys that rows share: rows of one key fall into the same block, and the order would not be random."""
    assert drawn.rows.keys is not None
    keys = drawn.rows.keys[drawn.chosen[ALL_ROWS]]
    _, times = np.unique(keys, return_counts=True)
    if row_id is not None and len(times) < len(keys):
        raise shared_row_id(row_id, len(keys) - len(times))
    shared = float(times[times > 1].sum() / len(keys))
    if shared > MOST_SHARED:
        raise DataError(
            f"{shared:.0%} of the rows have a twin, and an engine cannot tell them apart by their content.",
            "Name a column that differs in every row: `row_id=...`.",
        )
