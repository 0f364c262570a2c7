"""What drives a candidate: whom it would no longer select if one feature were shuffled
among held-out rows. That needs no outcomes.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import SeedSequence

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.decisions import Algorithm, decide, is_own_code
from improvable.data.frame import Rows
from improvable.data.keys import Keys
from improvable.data.sample import Sample

# selected rows times features that are decided again, so that this costs less than
# learning
MAX_DECISIONS = 40_000
# rows decided at a time: features are shuffled in one frame, one below the other
AT_ONCE = 20_000
# each decision reads all features, so that the cost grows with their square
MAX_FEATURES = 300


def find_drivers(
    candidate: Algorithm,
    sample: Sample,
    features: Sequence[str],
    keys: Keys,
    seed: SeedSequence,
    whose: str,
) -> dict[str, float]:
    """Of those the candidate selects, the share it decides otherwise about when a
    feature is shuffled.

    `sample` has held-out rows, and `keys` theirs: the shuffle must not depend on the
    order in which they were read. There is no answer for a candidate that is the
    caller's own code, which may be slow, or that selects nobody here.
    """
    if is_own_code(candidate) or len(sample) < 2:
        return {}
    if not 0 < len(features) <= MAX_FEATURES:
        return {}
    rows = sample.rows.take(np.argsort(keys, kind="stable"))
    before = decide(candidate, rows, whose)
    chosen = np.flatnonzero(before)[: max(1, MAX_DECISIONS // len(features))]
    if not len(chosen):
        return {}
    # Only the selected are decided again: each takes the feature's value of another
    # row, selected or not.
    donors = np.random.default_rng(seed).permutation(len(rows))[chosen]
    shares = {}
    decisions = _decide_shuffled(candidate, rows, features, chosen, donors, whose)
    for name, after in zip(features, decisions, strict=True):
        shares[name] = float((after != before[chosen]).mean())
    return shares


def _decide_shuffled(
    candidate: Algorithm,
    rows: Rows,
    features: Sequence[str],
    chosen: IntArray,
    donors: IntArray,
    whose: str,
) -> Iterator[FloatArray]:
    """Decide about the chosen rows once for each feature, which takes the values of the
    donor rows.
    """
    step = max(1, AT_ONCE // len(chosen))
    for start in range(0, len(features), step):
        names = features[start : start + step]
        repeated = rows.take(np.tile(chosen, len(names)))
        columns = []
        for place, name in enumerate(names):
            source = np.tile(chosen, len(names))
            source[place * len(chosen) : (place + 1) * len(chosen)] = donors
            columns.append(rows.frame[name][source.tolist()].alias(name))
        shuffled = Rows(repeated.frame.with_columns(*columns), repeated.keys)
        yield from decide(candidate, shuffled, whose).reshape(len(names), -1)
