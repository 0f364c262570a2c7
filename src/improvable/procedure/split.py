"""Which rows teach and which are tested, by a keyed hash: no order, partition or
library of the data can change it.

Every row has a 64-bit key: of its row id where one is named, and otherwise of its
content. Units are ordered: rows, or clusters by a key of their own. In repetition k a
unit's place is a hash of its key and of the repetition's seed, uniform on 64 bits. Cuts
divide the places into blocks:

- forward: the first block only teaches. Each later one is tested by a candidate that
  learned from all units before it, so that no row judges what it taught. Cuts are at
  10, 20, 40 and 70% of the rows. With little data, the first block grows until it can
  teach; if no later cut is left, the scheme is the split in halves. The cuts depend
  only on how many rows, clusters, groups and outcomes of either kind there are in all.
- split, the paper's: one cut. The units before it teach, those after it are tested.

A rule learns from at most `train_rows` of the rows before a block: those with the
lowest places, a simple random sample without replacement, the same for any batches and
any order. The second pass over the data fetches them. The place below which they all
lie is guessed from the number of rows, generously, so that a batch need not keep more
than its share; too low a guess is noticed and corrected.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import ceil
from operator import add
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.data.engines import Engine
from improvable.data.engines.base import run
from improvable.data.frame import Rows
from improvable.data.keys import TELL_APART, Keying, Keys, mix, shared_row_id
from improvable.data.sample import Combination, Reading, Sample
from improvable.errors import DataError
from improvable.inference.bootstrap import child
from improvable.procedure.survey import MIN_CLUSTERS, Surveyed

# each repetition's seed has one child for each of these
SPLITTING, SELECTING, DRAWING, SHUFFLING = 0, 1, 2, 3
PLACES = 1 << 64
FORWARD = (0.1, 0.2, 0.4, 0.7)
HALF = 0.5
# than a first cut that grew must a later cut lie: a block of a few rows is not worth a
# fit
FARTHER = 1.5
MIN_ROWS, MIN_OF_GROUP, MIN_OF_KIND, MIN_AT_CUTOFF = 100, 30, 10, 10
# of rows that an engine cannot tell apart, which always fall into one block, is
# harmless
MAX_SHARED = 0.01


class Part(NamedTuple):
    """One tested block of one repetition, with the rows before it, which teach its
    candidate.
    """

    repetition: int
    block: int = 1


# the part that divides nothing: all its rows teach, and all are tested
ALL_ROWS = Part(0)


def seed_of(seed: int, repetition: int, *purpose: int) -> np.random.SeedSequence:
    """The seed of a repetition, or of one of its purposes."""
    return child(np.random.SeedSequence(seed), repetition, *purpose)


@dataclass(frozen=True)
class Splitting:
    """How rows are divided. Block 0, before the first cut, only teaches; the rows
    before cut k teach for block k.
    """

    keying: Keying
    # where blocks end, as shares of the rows; the last block ends with the last row
    cuts: tuple[float, ...]
    # what a row's key is made from: its row id, or all that is read of it
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
        return [
            Part(repetition, block)
            for repetition in repetitions
            for block in self.blocks
        ]

    def keys(self, sample: Sample) -> Keys:
        """The key of every row."""
        rows = sample.rows
        return self.keying.of(rows, self.columns) if rows.keys is None else rows.keys

    def units(self, sample: Sample) -> Keys:
        """The key of what is divided: the row's cluster, or the row."""
        return self.keys(sample) if sample.clusters is None else sample.clusters

    def places(self, units: Keys, repetition: int) -> Keys:
        """Where units stand in the order of a repetition, from 0 to 2 to the 64th."""
        seed = seed_of(self.keying.seed, repetition, SPLITTING).generate_state(
            1, np.uint64
        )[0]
        return np.asarray(mix(units ^ seed))

    def order(self, units: Keys) -> Callable[[int], Keys]:
        """`places` of these units, computed once for all blocks of a repetition in
        turn.
        """
        return lru_cache(maxsize=1)(partial(self.places, units))

    def edge(self, block: int) -> np.uint64:
        """Places below this teach the candidate of a block."""
        return np.uint64(min(int(self.cuts[block - 1] * PLACES), PLACES - 1))

    def trains(self, places: Keys, part: Part) -> BoolArray:
        return (
            np.ones(len(places), dtype=np.bool_)
            if part == ALL_ROWS
            else places < self.edge(part.block)
        )

    def tests(self, places: Keys, part: Part) -> BoolArray:
        return (
            np.ones(len(places), dtype=np.bool_)
            if part == ALL_ROWS
            else self.block_of(places) == part.block
        )

    def block_of(self, places: Keys) -> IntArray:
        """The block of each place; 0 for the one that only teaches."""
        edges = np.array([self.edge(block) for block in self.blocks], dtype=np.uint64)
        return np.searchsorted(edges, places, side="right").astype(np.int64)


def make_splitting(
    seed: int, cuts: Sequence[float], row_id: str | None, read: Sequence[str]
) -> Splitting:
    return Splitting(
        Keying(seed), tuple(cuts), tuple(read) if row_id is None else (row_id,)
    )


@dataclass(frozen=True)
class Cuts:
    """Where blocks end, as shares of the rows, and why the first one grew; None if it
    did not.
    """

    ends: tuple[float, ...]
    reason: str | None = None


def forward_cuts(share: float, reason: str) -> Cuts:
    """The cuts of a forward repetition whose first block must hold a share of the
    rows.
    """
    if share <= FORWARD[0]:
        return Cuts(FORWARD)
    first = ceil(100 * share) / 100
    later = [cut for cut in FORWARD[1:] if cut >= FARTHER * first]
    return Cuts((first, *later) if later else (HALF,), reason)


def first_block(surveyed: Surveyed, capacity: float | None) -> tuple[float, str]:
    """The share of the rows that the first block must hold to be able to teach, in
    expectation, and why.

    A cutoff leaves the share `capacity` above it, and rows on both sides must be seen.
    """

    def by_group(combinations: Counter[Combination]) -> dict[str, int]:
        reading = surveyed.reading
        return {
            level: sum(
                combinations[one]
                for one, stratum in reading.strata.items()
                if attribute.member[stratum] == g
            )
            for attribute in reading.attributes
            for g, level in enumerate(attribute.levels)
        }

    needs = [(MIN_ROWS / surveyed.rows, f"{MIN_ROWS} rows")]
    if surveyed.clusters is not None:
        needs.append(
            (MIN_CLUSTERS / len(surveyed.clusters), f"{MIN_CLUSTERS} clusters")
        )
    if capacity is not None:
        rarer = min(capacity, 1 - capacity) * surveyed.rows
        needs.append(
            (
                MIN_AT_CUTOFF / rarer,
                f"{MIN_AT_CUTOFF} rows on either side of the cutoff",
            )
        )
    for group, rows in by_group(surveyed.seen.combinations).items():
        needs.append((MIN_OF_GROUP / rows, f"{MIN_OF_GROUP} rows of group '{group}'"))
    two = {
        name: kinds
        for name, kinds in surveyed.seen.kinds.items()
        if kinds is not None and len(kinds) == 2
    }
    for outcome, kinds in two.items():
        one, other = map(by_group, kinds.values())
        for group in one:
            rows = min(one[group], other[group])
            # a group in which only one kind occurs has no rarer one to wait for
            if rows:
                needs.append(
                    (
                        MIN_OF_KIND / rows,
                        f"{MIN_OF_KIND} of the rarer '{outcome}' in group '{group}'",
                    )
                )
    return max(needs)


class Fetched(NamedTuple):
    """Rows with low places in some repetition, with their keys; and how many rows teach
    in each part.
    """

    frames: tuple[nw.DataFrame[Any], ...]
    keys: tuple[Keys, ...]
    units: tuple[Keys, ...]
    trained: IntArray


def _fetch_batch(
    rows: Rows, reading: Reading, splitting: Splitting, limits: Mapping[Part, np.uint64]
) -> Fetched:
    """The rows of a batch that lie below the limit of some part."""
    sample = reading.sample(rows)
    keys, units = splitting.keys(sample), splitting.units(sample)
    wanted = np.zeros(len(keys), dtype=np.bool_)
    trained, places_in = [], splitting.order(units)
    for part, limit in limits.items():
        places = places_in(part.repetition)
        trained.append(int(splitting.trains(places, part).sum()))
        wanted |= places <= limit
    index = np.flatnonzero(wanted)
    return Fetched(
        (sample.rows.frame[index],),
        (keys[index],),
        (units[index],),
        np.array(trained, dtype=np.int64),
    )


def _merge(one: Fetched, other: Fetched) -> Fetched:
    return Fetched(*map(add, one, other))


@dataclass(frozen=True)
class TrainingRows:
    """The rows fetched, as one frame with their keys, and which of them each part's
    rule sees.
    """

    rows: Rows
    trained: dict[Part, int]  # how many rows train in each part, fetched or not
    # the rows that each part's rule sees, in the order of their keys
    chosen: dict[Part, IntArray]

    def teacher(self, part: Part) -> Part:
        """The first block of the repetition whose rule sees the same rows, so that one
        fit serves both.
        """
        mine = self.chosen[part]
        earlier = (Part(part.repetition, block) for block in range(1, part.block))
        return next(
            (one for one in earlier if np.array_equal(self.chosen[one], mine)), part
        )

    def sample(self, reading: Reading, part: Part) -> Sample:
        return reading.sample(self.rows.take(self.chosen[part]))


def fetch_training_rows(
    engine: Engine,
    surveyed: Surveyed,
    splitting: Splitting,
    columns: Sequence[str],
    most: int,
    parts: Sequence[Part],
) -> TrainingRows:
    """Fetch the training rows of some parts, at most `most` of each, in one pass."""
    margin = 1.0
    while True:
        # Below these places lie at least as many rows as are wanted, but for once in a
        # billion.
        wanted = most * margin
        share = int(
            min((wanted + 6 * np.sqrt(wanted) + 10) / surveyed.rows, 1.0) * PLACES
        )
        edges = {
            part: PLACES - 1 if part == ALL_ROWS else int(splitting.edge(part.block))
            for part in parts
        }
        limits = {part: np.uint64(min(share, edge)) for part, edge in edges.items()}
        work = partial(
            _fetch_batch, reading=surveyed.reading, splitting=splitting, limits=limits
        )
        fetched = run(engine, work, columns, _merge)
        keys, units = np.concatenate(fetched.keys), np.concatenate(fetched.units)
        trained = dict(zip(parts, fetched.trained.tolist(), strict=True))
        places_in = splitting.order(units)
        if all(
            (places_in(part.repetition) <= limits[part]).sum()
            >= min(most + 1, trained[part])
            for part in parts
        ):
            break
        margin *= 4
    filled = [frame for frame in fetched.frames if len(frame)]
    if not filled:
        raise DataError("no row is left to train on.", "Provide more rows.")
    if len(filled) == 1:
        frame = filled[0]
    elif filled[0].implementation.is_polars():
        whole = pl.concat(
            [frame.to_native() for frame in filled],
            how="vertical_relaxed",
            rechunk=True,
        )
        frame = nw.from_native(whole, eager_only=True)
    else:
        frame = nw.concat(filled)
    return TrainingRows(
        Rows(frame, keys), trained, choose(splitting, keys, units, most, parts)
    )


def choose(
    splitting: Splitting, keys: Keys, units: Keys, most: int, parts: Sequence[Part]
) -> dict[Part, IntArray]:
    """At most `most` training rows of each part: those with the lowest places, in the
    order of their keys.
    """
    by_key = np.lexsort((keys, units))
    places_in, out = splitting.order(units[by_key]), {}
    for part in parts:
        places = places_in(part.repetition)
        training = np.flatnonzero(splitting.trains(places, part))
        if len(training) > most:
            own = places[training]
            next_place = np.partition(own, most)[most]
            kept = training[own < next_place]  # rows of one unit stay together
            training = kept if len(kept) else training[own <= next_place]
        out[part] = by_key[training]
    return out


def check_keys(training: TrainingRows, row_id: str | None) -> None:
    """Refuse keys that rows share: rows of one key fall into the same block, and the
    order would not be random.
    """
    assert training.rows.keys is not None
    keys = training.rows.keys[training.chosen[ALL_ROWS]]
    _, times = np.unique(keys, return_counts=True)
    if row_id is not None and len(times) < len(keys):
        raise shared_row_id(row_id, len(keys) - len(times))
    shared = float(times[times > 1].sum() / len(keys))
    if shared > MAX_SHARED:
        twins = (
            f"{shared:.0%} of the rows have a twin, and an engine cannot tell them "
            "apart by their content."
        )
        raise DataError(twins, TELL_APART)
