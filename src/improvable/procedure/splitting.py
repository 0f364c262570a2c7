"""Which rows teach and which are tested, by a keyed hash: no order, partition or library of the data can change it.

Every row has a 64-bit key: of its row id where one is named, and otherwise of its content. What is ordered is rows, or
clusters by a key of their own. In repetition k a unit's place is a hash of its key and of the repetition's seed,
uniform on 64 bits. Cuts divide the places into blocks:

- forward: the first block only teaches. Each later one is tested by a candidate that learned from all units before it,
  so that no row judges what it taught.
- split, the paper's: one cut. The units before it teach, those after it are tested.

Of the units that teach, those with the lowest places are the ones a rule sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.data.keys import Keying, Keys, mix
from improvable.data.sample import Sample
from improvable.inference.resampling import child

SPLITTING, SELECTING, DRAWING, SHUFFLING = 0, 1, 2, 3
"""Each repetition's seed has one child for each of these."""
PLACES = 1 << 64


class Part(NamedTuple):
    """One tested block of one repetition, with the rows before it, which teach its candidate."""

    repetition: int
    block: int = 1


ALL_ROWS = Part(0)
"""The part that divides nothing: all its rows teach, and all are tested."""


def seed_of(seed: int, repetition: int, *purpose: int) -> np.random.SeedSequence:
    """The seed of a repetition, or of one of its purposes."""
    return child(np.random.SeedSequence(seed), repetition, *purpose)


@dataclass(frozen=True)
class Splitting:
    """How rows are divided.

    Attributes
    ----------
    keying : Keying
    cuts : tuple of float
        Where blocks end, as shares of the rows; the last block ends with the last row. Block 0, before the first cut,
        only teaches; block k is tested by what learned from the rows before cut k.
    columns : tuple of str
        What a row's key is made from: its row id, or all that is read of it.
    """

    keying: Keying
    cuts: tuple[float, ...]
    columns: tuple[str, ...]

    @property
    def blocks(self) -> range:
        """The numbers of the blocks that are tested."""
        return range(1, len(self.cuts) + 1)

    @property
    def weights(self) -> FloatArray:
        """The share of the tested rows that each block has, in expectation."""
        ends = np.array([*self.cuts, 1.0])
        return np.asarray(np.diff(ends) / (1 - ends[0]))

    def parts(self, repetitions: Sequence[int]) -> list[Part]:
        """The tested blocks of some repetitions."""
        return [Part(repetition, block) for repetition in repetitions for block in self.blocks]

    def keys(self, sample: Sample) -> Keys:
        """The key of every row."""
        rows = sample.rows
        return self.keying.of(rows, self.columns) if rows.keys is None else rows.keys

    def units(self, sample: Sample) -> Keys:
        """The key of what is divided: the row's cluster, or the row."""
        return self.keys(sample) if sample.clusters is None else sample.clusters

    def places(self, units: Keys, repetition: int) -> Keys:
        """Where units stand in the order of a repetition, from 0 to 2 to the 64th."""
        seed = seed_of(self.keying.seed, repetition, SPLITTING).generate_state(1, np.uint64)[0]
        return np.asarray(mix(units ^ seed))

    def edge(self, block: int) -> np.uint64:
        """Places below this teach the candidate of a block."""
        return np.uint64(min(int(self.cuts[block - 1] * PLACES), PLACES - 1))

    def trains(self, places: Keys, part: Part) -> BoolArray:
        return np.ones(len(places), dtype=np.bool_) if part == ALL_ROWS else places < self.edge(part.block)

    def tests(self, places: Keys, part: Part) -> BoolArray:
        return np.ones(len(places), dtype=np.bool_) if part == ALL_ROWS else self.block_of(places) == part.block

    def block_of(self, places: Keys) -> IntArray:
        """The block of each place; 0 for the one that only teaches."""
        edges = np.array([self.edge(block) for block in self.blocks], dtype=np.uint64)
        return np.searchsorted(edges, places, side="right").astype(np.int64)


def make_splitting(seed: int, cuts: Sequence[float], row_id: str | None, read: Sequence[str]) -> Splitting:
    return Splitting(Keying(seed), tuple(cuts), tuple(read) if row_id is None else (row_id,))
