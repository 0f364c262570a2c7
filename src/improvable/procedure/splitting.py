"""Which split a row trains, by a keyed hash: no order, partition or library of the data can change it.

Every row has a 64-bit key: of its row id where one is named, and otherwise of its content. What is divided is rows, or
clusters by a key of their own. In split k a unit's place is a hash of its key and of the split's seed, uniform on 64
bits. Units whose place is below the train fraction are training units, and those with the lowest places are the ones a
rule sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import BoolArray
from improvable.data.keys import Keying, Keys, mix
from improvable.data.sample import Sample
from improvable.inference.resampling import child

SPLITTING, SELECTING, DRAWING = 0, 1, 2
"""Each split's seed has one child for each of these."""
ALL_ROWS = 0
"""The number of the split that is none: all its rows are training rows, and all are test rows."""
PLACES = 1 << 64


def seed_of(seed: int, split: int, *purpose: int) -> np.random.SeedSequence:
    """The seed of a split, or of one of its purposes."""
    return child(np.random.SeedSequence(seed), split, *purpose)


@dataclass(frozen=True)
class Splitting:
    """How rows are divided.

    Attributes
    ----------
    keying : Keying
    train_fraction : float
    columns : tuple of str
        What a row's key is made from: its row id, or all that is read of it.
    """

    keying: Keying
    train_fraction: float
    columns: tuple[str, ...]

    def keys(self, sample: Sample) -> Keys:
        """The key of every row."""
        rows = sample.rows
        return self.keying.of(rows, self.columns) if rows.keys is None else rows.keys

    def units(self, sample: Sample) -> Keys:
        """The key of what is divided: the row's cluster, or the row."""
        return self.keys(sample) if sample.clusters is None else sample.clusters

    def places(self, units: Keys, split: int) -> Keys:
        """Where units stand in a split, from 0 to 2 to the 64th."""
        return mix(units ^ seed_of(self.keying.seed, split, SPLITTING).generate_state(1, np.uint64)[0])

    @property
    def edge(self) -> np.uint64:
        """Places below this train."""
        return np.uint64(min(int(self.train_fraction * PLACES), PLACES - 1))

    def trains(self, places: Keys, split: int) -> BoolArray:
        return np.ones(len(places), dtype=np.bool_) if split == ALL_ROWS else places < self.edge

    def tests(self, places: Keys, split: int) -> BoolArray:
        return np.ones(len(places), dtype=np.bool_) if split == ALL_ROWS else places >= self.edge


def make_splitting(seed: int, train_fraction: float, row_id: str | None, read: Sequence[str]) -> Splitting:
    return Splitting(Keying(seed), train_fraction, tuple(read) if row_id is None else (row_id,))
