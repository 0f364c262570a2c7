"""Which split a row trains, by a keyed hash: no order, partition or library of the data can change it.

Every row has a 64-bit key: of its cluster where rows are clustered, of its row id where one is named, and otherwise of
its content. In split k a row's place is a hash of that key and of the split's seed, uniform on 64 bits. Rows whose
place is below the train fraction are training rows, and those with the lowest places are the ones a rule sees.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from improvable.data.arrays import BoolArray
from improvable.data.frames import Rows, column_bits, content_keys, digest, mix
from improvable.inference.resampling import child
from improvable.procedure.steps import SPLITTING

Keys = NDArray[np.uint64]
PLACES = 1 << 64
LARGEST_EXACT = 1 << 53
"""Whole numbers up to this are exact as float64, so that an id may be stored as either."""


@dataclass(frozen=True)
class Splitting:
    """How rows are divided.

    Attributes
    ----------
    seeds : array of shape (splits + 1,)
        Split 0 is no split: all its rows are training rows, and all are test rows.
    train_fraction : float
    columns : tuple of str
        What a key is made from.
    content : bool
        Whether that is the row's content, rather than an id or a cluster.
    """

    seeds: Keys
    train_fraction: float
    columns: tuple[str, ...]
    content: bool

    def keys(self, rows: Rows) -> Keys:
        """The key of every row."""
        if self.content:
            return content_keys(Rows(rows.frame.select(list(self.columns))))
        return id_keys(rows, self.columns[0])

    def places(self, keys: Keys, split: int) -> Keys:
        """Where rows stand in a split, from 0 to 2 to the 64th."""
        return mix(keys ^ self.seeds[split])

    @property
    def edge(self) -> np.uint64:
        """Places below this train."""
        return np.uint64(min(int(self.train_fraction * PLACES), PLACES - 1))

    def trains(self, places: Keys, split: int) -> BoolArray:
        return np.ones(len(places), dtype=np.bool_) if split == 0 else places < self.edge

    def tests(self, places: Keys, split: int) -> BoolArray:
        return np.ones(len(places), dtype=np.bool_) if split == 0 else places >= self.edge


def make_splitting(
    seed: int, splits: int, train_fraction: float, row_id: str | None, cluster: str | None, used: tuple[str, ...]
) -> Splitting:
    """Seeds for every split, and the columns that tell rows apart."""
    root = np.random.SeedSequence(seed)
    seeds = [child(root, split, SPLITTING).generate_state(1, np.uint64)[0] for split in range(splits + 1)]
    named = cluster or row_id
    columns = used if named is None else (named,)
    return Splitting(np.array(seeds, dtype=np.uint64), train_fraction, columns, content=named is None)


def id_keys(rows: Rows, name: str) -> Keys:
    """Keys of a column of ids, the same for whole numbers of any width, exact beyond what float64 holds."""
    bits = column_bits(rows, name)
    if rows.frame[name].dtype.is_integer():
        whole = rows.frame[name].to_numpy()
        large = (whole > LARGEST_EXACT) | (whole < -LARGEST_EXACT)
        if large.any():
            bits = np.where(large, mix(whole.astype(np.uint64)), bits)
    return mix(bits ^ np.uint64(digest("row id")))
