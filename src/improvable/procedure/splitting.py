"""Which rows train and which are tested, by a keyed hash: no order, partition or library of the data can change it.

Every row has a 64-bit key: of its row id where one is named, and otherwise of its content. What is divided is rows, or
clusters by a key of their own. In split k a unit's place is a hash of its key and of the split's seed, uniform on 64
bits.

- The paper's split: units whose place is below the train fraction are training units, all others are tested.
- Folds: places are cut into as many equal arcs as there are folds. Each arc is tested by a candidate that learned from
  the others, so that every row is tested once in a repetition.

Turned so that its test arc comes last, a fold is a split like any other. Of the training units, those with the lowest
places are the ones a rule sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from improvable.data.arrays import BoolArray
from improvable.data.keys import Keying, Keys, mix
from improvable.data.sample import Sample
from improvable.inference.resampling import child

SPLITTING, SELECTING, DRAWING, SHUFFLING = 0, 1, 2, 3
"""Each split's seed has one child for each of these."""
PLACES = 1 << 64


class Part(NamedTuple):
    """One division into training and test rows: a split, or one fold of a repetition."""

    split: int
    fold: int = 0


ALL_ROWS = Part(0)
"""The part that divides nothing: all its rows are training rows, and all are test rows."""


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
        Of the paper's split.
    folds : int or None
        How many, where every row is tested in every repetition.
    columns : tuple of str
        What a row's key is made from: its row id, or all that is read of it.
    """

    keying: Keying
    train_fraction: float
    folds: int | None
    columns: tuple[str, ...]

    def parts(self, splits: Sequence[int]) -> list[Part]:
        """The divisions of some splits or repetitions."""
        return [Part(split, fold) for split in splits for fold in range(self.folds or 1)]

    def keys(self, sample: Sample) -> Keys:
        """The key of every row."""
        rows = sample.rows
        return self.keying.of(rows, self.columns) if rows.keys is None else rows.keys

    def units(self, sample: Sample) -> Keys:
        """The key of what is divided: the row's cluster, or the row."""
        return self.keys(sample) if sample.clusters is None else sample.clusters

    def places(self, units: Keys, part: Part) -> Keys:
        """Where units stand, from 0 to 2 to the 64th: training units first, test units last."""
        seed = seed_of(self.keying.seed, part.split, SPLITTING).generate_state(1, np.uint64)[0]
        return np.asarray(mix(units ^ seed) - np.uint64(self._arc(part)[1] % PLACES))

    def edge(self, part: Part) -> np.uint64:
        """Places below this train."""
        begin, end = self._arc(part)
        return np.uint64(min(PLACES - (end - begin), PLACES - 1))

    def _arc(self, part: Part) -> tuple[int, int]:
        """Where the tested places begin and end."""
        if self.folds is None:
            return min(int(self.train_fraction * PLACES), PLACES - 1), PLACES
        return part.fold * PLACES // self.folds, (part.fold + 1) * PLACES // self.folds

    def trains(self, places: Keys, part: Part) -> BoolArray:
        return np.ones(len(places), dtype=np.bool_) if part == ALL_ROWS else places < self.edge(part)

    def tests(self, places: Keys, part: Part) -> BoolArray:
        return np.ones(len(places), dtype=np.bool_) if part == ALL_ROWS else places >= self.edge(part)


def make_splitting(
    seed: int, train_fraction: float, row_id: str | None, read: Sequence[str], folds: int | None = None
) -> Splitting:
    return Splitting(Keying(seed), train_fraction, folds, tuple(read) if row_id is None else (row_id,))
