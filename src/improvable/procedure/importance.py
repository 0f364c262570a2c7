"""What drives a candidate: permutation importance on held-out rows.

First in decisions, which needs no outcomes: whom the candidate would no longer select
if one feature were shuffled. Then in accuracy over everyone, for the features that
change most decisions.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.decisions import Algorithm, decide, is_own_code
from improvable.algorithms.leakage import Column, read_column
from improvable.data.frame import Rows
from improvable.data.keys import Keys
from improvable.data.sample import Sample
from improvable.inference.cells import contributions
from improvable.inference.statistics import utilities_of, with_formulas
from improvable.question.design import Design
from improvable.results.formatting import steady

# selected rows times features that are decided again, so that this costs less than
# learning
MAX_DECISIONS = 40_000
# rows decided at a time: features are shuffled in one frame, one below the other
AT_ONCE = 20_000
# each decision reads all features, so that the cost grows with their square
MAX_FEATURES = 300
# features, those that change most decisions, whose loss of accuracy is measured
MAX_WEIGHED = 10
SHUFFLES = 2  # of each feature; the loss is the mean
MAX_ROWS = 3_000  # held-out rows decided again for accuracy
MIN_ROWS = 3
# of a correlation: the last ones of a sum differ between machines, and a result must
# not
DIGITS = 4


def drivers(
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
    if (
        is_own_code(candidate)
        or len(sample) < 2
        or not 0 < len(features) <= MAX_FEATURES
    ):
        return {}
    rows = sample.rows.take(np.argsort(keys, kind="stable"))
    before = decide(candidate, rows, whose)
    chosen = np.flatnonzero(before)[: max(1, MAX_DECISIONS // len(features))]
    if not len(chosen):
        return {}
    # Only the selected are decided again: each takes the feature's value of another
    # row, selected or not.
    donors = np.random.default_rng(seed).permutation(len(rows))[chosen]
    after = _decide_shuffled(
        candidate, rows, [(name, donors) for name in features], chosen, whose
    )
    return {
        name: float((one != before[chosen]).mean())
        for name, one in zip(features, after, strict=True)
    }


def importance(
    candidate: Algorithm,
    design: Design,
    sample: Sample,
    drivers: dict[str, float],
    keys: Keys,
    seed: SeedSequence,
    whose: str,
) -> dict[str, Any]:
    """By feature, the most important first: the loss of accuracy without it, and its
    correlation with every group.

    A loss is None if nobody is left to average over, a correlation if the feature is
    not a number or does not vary.
    """
    if not drivers:
        return {}
    ranked = sorted(drivers, key=lambda name: (-drivers[name], name))
    chosen = [name for name in ranked if drivers[name] > 0][:MAX_WEIGHED]
    some = sample.take(np.argsort(keys, kind="stable")[:MAX_ROWS])
    losses = accuracy_losses(candidate, design, some, chosen, seed, whose)
    return {
        name: {
            "accuracy_loss": loss,
            "correlation": correlations(read_column(some.rows, name), some),
        }
        for name, loss in zip(chosen, losses, strict=True)
    }


def accuracy_losses(
    candidate: Algorithm,
    design: Design,
    sample: Sample,
    features: Sequence[str],
    seed: SeedSequence,
    whose: str,
) -> list[float | None]:
    """By how much the first accuracy utility gets worse, over everyone, when each
    feature is shuffled.
    """
    rng, everyone = np.random.default_rng(seed), np.arange(len(sample))
    orders = [rng.permutation(len(sample)) for _ in range(SHUFFLES)]
    jobs = [(name, donors) for name in features for donors in orders]
    before = _accuracy(design, sample, decide(candidate, sample.rows, whose))
    decisions = _decide_shuffled(candidate, sample.rows, jobs, everyone, whose)
    after = np.array([_accuracy(design, sample, one) for one in decisions])
    better = 1 if design.measures[design.accuracy[0]].higher_is_better else -1
    falls = better * (before - after.reshape(len(features), SHUFFLES).mean(axis=1))
    return [steady(fall) if np.isfinite(fall) else None for fall in falls.tolist()]


def _decide_shuffled(
    candidate: Algorithm,
    rows: Rows,
    shuffled: Sequence[tuple[str, IntArray]],
    chosen: IntArray,
    whose: str,
) -> Iterator[FloatArray]:
    """Decide about the chosen rows once for each feature, which takes the values of its
    donor rows.
    """
    step = max(1, AT_ONCE // len(chosen))
    for start in range(0, len(shuffled), step):
        some = shuffled[start : start + step]
        many = np.tile(chosen, len(some))
        whole, sources = rows.take(many), {name: many.copy() for name, _ in some}
        for i, (name, donors) in enumerate(some):
            sources[name][i * len(chosen) : (i + 1) * len(chosen)] = donors
        columns = [
            rows.frame[name][source.tolist()].alias(name)
            for name, source in sources.items()
        ]
        yield from decide(
            candidate, Rows(whole.frame.with_columns(*columns), whole.keys), whose
        ).reshape(len(some), -1)


def _accuracy(design: Design, sample: Sample, decision: FloatArray) -> float:
    """The first accuracy utility of everyone; NaN where nobody is there to average
    over.
    """
    vectors = contributions(
        design.utilities, sample.rows, sample.outcomes, [decision], sample.weights
    )
    values = utilities_of(vectors[:, :, 0].sum(axis=0))
    return float(with_formulas(values, design.measures, axis=0)[design.accuracy[0]])


def correlations(column: Column, sample: Sample) -> dict[str, dict[str, float | None]]:
    """Pearson's correlation of a feature with being in each group, by group column,
    over rows in which it is given.
    """
    given = np.isfinite(column.values)
    values = column.values[given]
    varies = column.ordered and len(values) >= MIN_ROWS and np.ptp(values) > 0
    # Scaled to one, so that squares of numbers of any size are finite.
    scaled = (
        (values - values.mean()) / np.abs(values - values.mean()).max()
        if varies
        else values
    )

    out: dict[str, dict[str, float | None]] = {}
    for attribute in sample.grouping.attributes:
        own = out[attribute.name] = dict.fromkeys(attribute.levels)
        for g, group in enumerate(attribute.levels):
            inside = attribute.member[sample.grouping.codes][given] == g
            if sample.spread is not None:
                inside = sample.spread.shares[given, 1 + g]
            if varies and np.ptp(inside.astype(np.float64)) > 0:
                own[group] = round(float(np.corrcoef(scaled, inside)[0, 1]), DIGITS)
    return out
