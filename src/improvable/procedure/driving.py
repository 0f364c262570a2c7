"""What drives a candidate: whom it would no longer select if one feature were shuffled among held-out rows.

That is permutation importance, measured in decisions: it needs no outcomes and means the same for every utility.
"""

from collections.abc import Sequence
from dataclasses import replace

import narwhals as nw
import numpy as np

from improvable.algorithms.decisions import Algorithm, decide, is_own_code
from improvable.data.frames import Rows
from improvable.data.keys import Keys
from improvable.data.sample import Sample

MOST_DECISIONS = 200_000
"""Rows times features that are decided at most, so that looking costs little beside learning."""
MOST_ROWS = 2_000
AT_ONCE = 20_000
"""Rows that are decided at a time: features are shuffled in one frame, one below the other."""


def drivers(
    candidate: Algorithm, sample: Sample, features: Sequence[str], keys: Keys, seed: np.random.SeedSequence, whose: str
) -> dict[str, float]:
    """Of those the candidate selects, the share it decides otherwise about when a feature is shuffled.

    Nothing is said of a candidate that is the caller's own code, which may take its time, and of one that selects
    nobody of these rows.

    Parameters
    ----------
    candidate : Algorithm
    sample : Sample
        Held-out rows.
    features : sequence of str
        What the candidate may read.
    keys : array
        Of the rows: their order, and so the shuffle, does not depend on how they were read.
    seed : SeedSequence
    whose : str
        How messages call the candidate.
    """
    count = min(len(sample), MOST_ROWS, MOST_DECISIONS // max(len(features), 1))
    if is_own_code(candidate) or count < 2:
        return {}
    rows = sample.rows.take(np.argsort(keys, kind="stable")[:count])
    before = decide(candidate, rows, whose)
    chosen = before != 0
    if not chosen.any():
        return {}
    shuffled = np.random.default_rng(seed).permutation(count)
    out: dict[str, float] = {}
    step = max(1, AT_ONCE // count)
    for start in range(0, len(features), step):
        some = features[start : start + step]
        after = decide(candidate, _stacked(rows, some, shuffled), whose).reshape(len(some), count)
        moved = (after[:, chosen] != before[chosen]).mean(axis=1)
        out |= {name: float(share) for name, share in zip(some, moved, strict=True)}
    return out


def _stacked(rows: Rows, features: Sequence[str], shuffled: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Rows:
    """The rows once for each feature, which takes the values of other rows there."""
    frame = rows.frame
    each = [frame.with_columns(frame[name][shuffled.tolist()].alias(name)) for name in features]
    keys = None if rows.keys is None else np.tile(rows.keys, len(features))
    return replace(rows, frame=nw.concat(each), keys=keys, _kept={})
