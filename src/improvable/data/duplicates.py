"""Rows that are there twice: a candidate would be tested on people that it learned
from.

Equal rows are no proof of copies. Where features are coarse (an age, a few flags),
different people are alike. So an audit refuses nothing; it says how many rows repeat
another, and what to do if they are copies. That stands beside the verdict where it is
hardly chance: one column alone tells most rows apart, or the whole file is there
several times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from improvable._typing import IntArray
from improvable.data.engines import Engine
from improvable.data.engines.base import run
from improvable.data.frame import Rows
from improvable.data.keys import Keying, Keys, plain_bits, siphash
from improvable.data.sample import Reading, Sample, cluster_columns
from improvable.errors import COPIES, Caution
from improvable.question.settings import Settings

MAX_SHARE = 0.01  # rows that repeat another, up to this share, are harmless
# rows that nearly repeat another, up to this share, are not worth a warning
MAX_NEAR = 0.05
# standard deviations apart is nearly the same; of 100,000 numbers, fewer than
# `MAX_NEAR` are so by chance
GRAIN = 1e-6
# rows that are counted; of more, those whose content has a low hash, with all its
# copies
MAX_CONTENTS = 1 << 21
# what occurs more often is an atom of the population, such as the healthy, and not
# somebody's copies
MAX_COPIES = 5
MAX_MULTIPLE = 60  # how often a file may have been appended to itself
# it was, where this share of at least so many contents occurs m, 2m, ... times
MIN_CONTENTS, IN_MULTIPLES = 20, 0.8
# a column with this many values, as a share of the different contents, tells most rows
# apart
TELLS_APART = 0.5


@dataclass(frozen=True)
class Contents:
    """Hashes of what rows hold, and of their clusters if there are any; those that
    begin with `bits` zeros.
    """

    keys: Keys
    bits: int = 0

    def few(self, bits: int = 0) -> "Contents":
        """Those that begin with `bits` zeros, or with as many more as leave few enough
        to count.
        """
        if bits > self.bits:
            return Contents(
                self.keys[self.keys[:, 0] >> np.uint64(64 - bits) == 0], bits
            ).few()
        return self if len(self.keys) <= MAX_CONTENTS else self.few(self.bits + 1)


def _hash_contents(
    rows: Rows, reading: Reading, hashed: Sequence[Sequence[str]]
) -> Contents:
    kept = reading.sample(rows).rows
    return Contents(
        np.stack([reading.keying.of(kept, columns) for columns in hashed], axis=1)
    ).few()


def merge_contents(one: Contents, other: Contents) -> Contents:
    """The same in whatever order batches come: the fewest zeros with which the hashes
    are few enough.
    """
    bits = max(one.bits, other.bits)
    return Contents(
        np.concatenate([one.few(bits).keys, other.few(bits).keys]), bits
    ).few()


@dataclass(frozen=True)
class Repeats:
    times: IntArray  # the number of rows of each content

    @property
    def share(self) -> float:
        """Of all rows, those that repeat another one."""
        return 1 - len(self.times) / int(self.times.sum()) if len(self.times) else 0.0

    @property
    def suspect(self) -> float:
        """The same, only of contents that occur a few times."""
        return float(
            (self.times[self.times <= MAX_COPIES] - 1).sum() / max(1, self.times.sum())
        )

    @property
    def appended(self) -> bool:
        """Whether the whole file is there several times; of people who are alike, as
        many counts are odd as even.
        """
        multiples = [
            float((self.times % m == 0).mean())
            for m in range(2, MAX_MULTIPLE + 1)
            if len(self.times)
        ]
        return len(self.times) >= MIN_CONTENTS and max(multiples) > IN_MULTIPLES


def repeats_of(keys: Keys) -> Repeats:
    """How often rows repeat others, from hashes of contents and perhaps of clusters.

    In each cluster a content counts once, since its rows teach together and are tested
    together.
    """
    contents = keys[:, 0] if keys.shape[1] == 1 else np.unique(keys, axis=0)[:, 0]
    return Repeats(np.unique(contents, return_counts=True)[1].astype(np.int64))


def near_repeats(rows: Rows, columns: Sequence[str], keying: Keying) -> Repeats:
    """The same of some rows, with numbers rounded to a grain of their standard
    deviation.
    """

    def rounded(name: str) -> Keys:
        if not rows.is_numeric(name):
            return keying.words(rows, name)
        values = rows.read_numbers(name)
        finite = values[np.isfinite(values)]
        spread = float(finite.std()) if len(finite) else 0.0
        return plain_bits(np.round(values / (GRAIN * spread)) if spread > 0 else values)

    return repeats_of(
        siphash([rounded(name) for name in columns], keying.secret)[:, None]
    )


def copy_cautions(
    engine: Engine,
    reading: Reading,
    settings: Settings,
    some: Sample,
    columns: Sequence[str],
) -> list[Caution]:
    """Say how many rows are the same, or nearly the same, in features and outcomes
    (`columns`).

    What stands beside the verdict does so whatever was declared: an id that is new in
    every row tells nothing. `some` are the rows by which columns and near copies are
    judged.
    """
    if settings.duplicates == "cluster" and settings.cluster is None:
        return []  # copies teach together and are tested together
    clusters = [] if settings.cluster is None else cluster_columns(reading.design, ())
    needed = list(
        dict.fromkeys(
            [
                *columns,
                *reading.numeric,
                *reading.labels,
                *reading.design.labeled,
                *clusters,
            ]
        )
    )
    work = partial(
        _hash_contents,
        reading=reading,
        hashed=[columns, clusters] if clusters else [columns],
    )
    found = repeats_of(run(engine, work, needed, merge_contents).keys)
    sure, keep = found.appended, settings.duplicates == "keep"
    declared = (
        "They count as different people, as declared: `duplicates='keep'`. "
        if keep
        else ""
    )
    if settings.cluster is not None:
        declared = declared or f"The cluster '{settings.cluster}' tells them apart. "
        remedy = "name a cluster that they share: `cluster=...`."
    else:
        if settings.row_id is not None:
            declared = declared or f"The row id '{settings.row_id}' tells them apart. "
        remedy = "keep them together: `duplicates='cluster'`"
        remedy += (
            "."
            if keep
            else "; if they are different people, say so: `duplicates='keep'`."
        )
    if found.suspect > MAX_SHARE or sure:
        distinct = [
            len(np.unique(reading.keying.words(some.rows, name))) for name in columns
        ]
        contents = len(np.unique(reading.keying.of(some.rows, columns)))
        sure = sure or max(distinct) >= TELLS_APART * contents
        counted = ", counted once in each cluster," if clusters else ""
        another = "a row of another cluster" if clusters else "another row"
        text = (
            f"{found.share:.1%} of the rows{counted} repeat the features and outcome "
            f"of {another}"
            f"{'' if sure else ', as different people may where features are coarse'}. "
            f"{declared}If they are copies, a candidate is tested on people that it "
            f"learned from, and noise can look like an improvement. Then {remedy}"
        )
        return (
            [Caution(COPIES if sure else "alike", text)] if sure or not declared else []
        )
    near = (
        None if clusters or keep else near_repeats(some.rows, columns, reading.keying)
    )
    if near is None or near.suspect <= MAX_NEAR:
        return []
    text = (
        f"{near.share:.1%} of the rows have nearly the features and outcome of another "
        "row. If they are the same people, name what they have in common: "
        "`cluster=...`."
    )
    return [Caution("near twins", text)]
