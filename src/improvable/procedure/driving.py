"""What drives a candidate: whom it would no longer select if one feature were shuffled among held-out rows.

That is permutation importance, measured in decisions: it needs no outcomes and means the same for every utility. What
the features that come first are worth in accuracy is said by `importance`.
"""

from collections.abc import Sequence

import numpy as np

from improvable.algorithms.decisions import Algorithm, decide, is_own_code
from improvable.data.arrays import IntArray
from improvable.data.frames import Rows
from improvable.data.keys import Keys
from improvable.data.sample import Sample

MOST_DECISIONS = 40_000
"""Selected rows times features that are decided again at most, so that looking costs little beside learning."""
AT_ONCE = 20_000
"""Rows that are decided at a time: features are shuffled in one frame, one below the other."""
MOST_FEATURES = 300
"""Of more features nothing is said: each decision reads them all, so that the cost grows with their square."""


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
    if is_own_code(candidate) or len(sample) < 2 or not 0 < len(features) <= MOST_FEATURES:
        return {}
    rows = sample.rows.take(np.argsort(keys, kind="stable"))
    before = decide(candidate, rows, whose)
    chosen = np.flatnonzero(before)[: max(1, MOST_DECISIONS // len(features))]
    if not len(chosen):
        return {}
    # Only the selected are decided again: each takes the feature's value of another row, selected or not.
    donors = np.random.default_rng(seed).permutation(len(rows))[chosen]
    out: dict[str, float] = {}
    step = max(1, AT_ONCE // len(chosen))
    for start in range(0, len(features), step):
        some = features[start : start + step]
        again = stacked(rows, [(name, donors) for name in some], chosen)
        after = decide(candidate, again, whose).reshape(len(some), len(chosen))
        moved = (after != before[chosen]).mean(axis=1)
        out |= {name: float(share) for name, share in zip(some, moved, strict=True)}
    return out


def stacked(rows: Rows, shuffled: Sequence[tuple[str, IntArray]], chosen: IntArray) -> Rows:
    """The chosen rows once for each feature to be shuffled, which takes the values of the rows beside it there."""
    many = np.tile(chosen, len(shuffled))
    whole, sources = rows.take(many), {name: many.copy() for name, _ in shuffled}
    for i, (name, donors) in enumerate(shuffled):
        sources[name][i * len(chosen) : (i + 1) * len(chosen)] = donors
    columns = [rows.frame[name][source.tolist()].alias(name) for name, source in sources.items()]
    return Rows(whole.frame.with_columns(*columns), whole.keys)
