"""The second pass: the training rows that rules will see, brought to the driver.

A rule trains on at most `train_rows` rows of a split's training part: those with the lowest places, which is a simple
random sample without replacement, the same for any batches and any order. The place below which they all lie is
guessed from the number of rows, generously, so that a batch need not keep more than its share; too low a guess is
noticed and mended.
"""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from improvable.data.arrays import IntArray
from improvable.data.engines.batches import Engine, run
from improvable.data.frames import Rows
from improvable.data.reading import Reading
from improvable.data.sample import Sample
from improvable.errors import DataError
from improvable.procedure.splitting import PLACES, Keys, Splitting

TRAIN_ROWS = 100_000
MOST_SHARED = 0.01
"""Rows that share their key fall to the same side of every split; up to this share it does not matter."""


@dataclass(frozen=True)
class Brought:
    """Rows with low places in some split, with their keys; and how many rows of each split train."""

    frames: tuple[nw.DataFrame[Any], ...]
    keys: tuple[Keys, ...]
    trained: IntArray


@dataclass(frozen=True)
class Bringing:
    """The work of the second pass. `limits` has the place of each split below which rows are brought."""

    reading: Reading
    splitting: Splitting
    limits: Keys

    def __call__(self, rows: Rows) -> Brought:
        sample = self.reading.sample(rows)
        keys = self.splitting.keys(sample.rows)
        wanted = np.zeros(len(keys), dtype=np.bool_)
        trained = np.zeros(len(self.limits), dtype=np.int64)
        for split, limit in enumerate(self.limits):
            places = self.splitting.places(keys, split)
            trained[split] = int(self.splitting.trains(places, split).sum())
            wanted |= places <= limit
        index = np.flatnonzero(wanted)
        return Brought((sample.rows.frame[index],), (keys[index],), trained)


def merge_brought(one: Brought, other: Brought) -> Brought:
    return Brought(one.frames + other.frames, one.keys + other.keys, one.trained + other.trained)


@dataclass(frozen=True)
class Drawn:
    """The rows brought, as one frame, and for each split which of them are its training rows."""

    rows: Rows
    keys: Keys
    trained: IntArray
    chosen: tuple[IntArray, ...]

    def sample(self, reading: Reading, split: int) -> Sample:
        return reading.training(self.rows.take(self.chosen[split]))


def draw_rows(
    engine: Engine, reading: Reading, splitting: Splitting, columns: tuple[str, ...], total: int, most: int
) -> Drawn:
    """Bring training rows of all splits to the driver in one pass."""
    margin = 1.0
    while True:
        limits = _limits(splitting, total, most * margin)
        brought = run(engine, Bringing(reading, splitting, limits), columns, merge_brought)
        keys = np.concatenate(brought.keys)
        enough = [
            int((splitting.places(keys, split) <= limit).sum()) >= min(most + 1, int(brought.trained[split]))
            for split, limit in enumerate(limits)
        ]
        if all(enough):
            rows = _together(brought.frames)
            chosen = tuple(lowest(splitting, keys, split, most) for split in range(len(splitting.seeds)))
            return Drawn(rows, keys, brought.trained, chosen)
        margin *= 4


def _limits(splitting: Splitting, total: int, rows: float) -> Keys:
    """Below these places lie at least `rows` of `total` rows, but for once in a billion."""
    share = (rows + 6 * np.sqrt(rows) + 10) / total
    low = int(min(share, splitting.train_fraction) * PLACES)
    whole = int(min(share, 1.0) * PLACES)
    splits = len(splitting.seeds)
    return np.array([min(whole, PLACES - 1), *[min(low, PLACES - 1)] * (splits - 1)], dtype=np.uint64)


def lowest(splitting: Splitting, keys: Keys, split: int, most: int) -> IntArray:
    """At most `most` training rows of a split: those with the lowest places; rows of one key stay together."""
    places = splitting.places(keys, split)
    training = np.flatnonzero(splitting.trains(places, split))
    if len(training) <= most:
        return training
    own = places[training]
    next_place = np.partition(own, most)[most]
    kept: IntArray = training[own < next_place]
    return kept if len(kept) else training[own <= next_place]


def _together(frames: tuple[nw.DataFrame[Any], ...]) -> Rows:
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        raise DataError("no row is left to train on.", "Bring more rows, or change the train fraction.")
    if filled[0].implementation.is_polars():
        whole = pl.concat([frame.to_native() for frame in filled], how="vertical_relaxed", rechunk=True)
        return Rows(nw.from_native(whole, eager_only=True))
    return Rows(nw.concat(filled))


def check_keys(drawn: Drawn, splitting: Splitting, row_id: str | None) -> None:
    """Refuse keys that rows share: rows of one key fall to the same side, and splits would be other than random."""
    keys = drawn.keys[drawn.chosen[0]]
    _, times = np.unique(keys, return_counts=True)
    shared = float(times[times > 1].sum() / len(keys))
    if shared <= MOST_SHARED:
        return
    if splitting.content:
        raise DataError(
            f"{shared:.0%} of the rows are like another, and their content cannot tell them apart.",
            "Name a column that does: row_id='...' (--row-id).",
        )
    raise DataError(
        f"{shared:.0%} of the rows share their '{row_id}' with another, so it is no row id.",
        "Name one that differs in every row; rows that belong together go by cluster='...' (--cluster).",
    )
