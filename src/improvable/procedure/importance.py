"""What drives a candidate: permutation importance on held-out rows.

First in decisions: whom the candidate would no longer select if one feature were shuffled. That needs no outcomes and
means the same for every utility. Then, of the features that change most decisions, in accuracy: each is shuffled among
all held-out rows, several times, and the candidate's accuracy over everyone is measured again. How a feature goes with
the group is a plain correlation.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.algorithms.decisions import Algorithm, decide, is_own_code
from improvable.algorithms.leakage import Column, read_column
from improvable.data.frame import Rows
from improvable.data.keys import Keys
from improvable.data.sample import Sample
from improvable.inference.cells import contributions
from improvable.inference.statistics import utilities_of, with_formulas
from improvable.question.design import Design
from improvable.results.formatting import steady

MOST_DECISIONS = 40_000
"""Selected rows times features that are decided again at most, so that looking costs little beside learning."""
AT_ONCE = 20_000
"""Rows that are decided at a time: features are shuffled in one frame, one below the other."""
MOST_FEATURES = 300
"""Of more features nothing is said: each decision reads them all, so that the cost grows with their square."""
MOST_WEIGHED = 10
"""Of so many features that change most decisions it is said what accuracy would lose."""
SHUFFLES = 2
"""Each is shuffled so often; the loss is the mean."""
MOST_ROWS = 3_000
"""Held-out rows that are decided about again for accuracy."""
FEWEST_ROWS = 3
DIGITS = 4
"""Of a correlation: the last ones of a sum differ between machines, and a result must not."""


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
    after = _decide_shuffled(candidate, rows, [(name, donors) for name in features], chosen, whose)
    return {name: float((one != before[chosen]).mean()) for name, one in zip(features, after, strict=True)}


def importance(
    candidate: Algorithm,
    design: Design,
    sample: Sample,
    drivers: dict[str, float],
    keys: Keys,
    seed: np.random.SeedSequence,
    whose: str,
) -> dict[str, Any]:
    """By feature, the most important first: the loss of accuracy without it, and its correlation with every group.

    Parameters
    ----------
    candidate, sample, keys, seed, whose
        As in `drivers`.
    design : Design
        Its first accuracy utility is measured, over everyone.
    drivers : dict
        From each feature to the share of decisions that it changes.

    Returns
    -------
    dict
        By feature `accuracy_loss`, None where nobody is left to average over, and `correlation`, by group column and
        group; None where the feature is not a number or does not vary.
    """
    ranked = sorted(drivers, key=lambda name: (-drivers[name], name))
    chosen = [name for name in ranked if drivers[name] > 0][:MOST_WEIGHED]
    some = sample.take(np.argsort(keys, kind="stable")[:MOST_ROWS])
    losses = accuracy_losses(candidate, design, some, chosen, seed, whose)
    return {
        name: {"accuracy_loss": loss, "correlation": correlations(read_column(some.rows, name), some)}
        for name, loss in zip(chosen, losses, strict=True)
    }


def accuracy_losses(
    candidate: Algorithm,
    design: Design,
    sample: Sample,
    features: Sequence[str],
    seed: np.random.SeedSequence,
    whose: str,
) -> list[float | None]:
    """By how much the first accuracy utility gets worse, over everyone, when each feature is shuffled."""
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
    candidate: Algorithm, rows: Rows, shuffled: Sequence[tuple[str, IntArray]], chosen: IntArray, whose: str
) -> Iterator[FloatArray]:
    """Decisions about the chosen rows, once for each feature, which takes the values of the rows beside it there.

    The rows stand below each other in one frame, as many features at a time as make about `AT_ONCE` rows.
    """
    step = max(1, AT_ONCE // len(chosen))
    for start in range(0, len(shuffled), step):
        some = shuffled[start : start + step]
        many = np.tile(chosen, len(some))
        whole, sources = rows.take(many), {name: many.copy() for name, _ in some}
        for i, (name, donors) in enumerate(some):
            sources[name][i * len(chosen) : (i + 1) * len(chosen)] = donors
        columns = [rows.frame[name][source.tolist()].alias(name) for name, source in sources.items()]
        yield from decide(candidate, Rows(whole.frame.with_columns(*columns), whole.keys), whose).reshape(len(some), -1)


def _accuracy(design: Design, sample: Sample, decision: FloatArray) -> float:
    """The first accuracy utility of everyone; NaN where nobody is there to average over."""
    vectors = contributions(design.utilities, sample.rows, sample.outcomes, [decision], sample.weights)
    values = utilities_of(vectors[:, :, 0].sum(axis=0))
    return float(with_formulas(values, design.measures, axis=0)[design.accuracy[0]])


def correlations(column: Column, sample: Sample) -> dict[str, dict[str, float | None]]:
    """The correlation of a feature with being in each group, by group column, over the rows in which it is given."""
    given = np.isfinite(column.values)
    out: dict[str, dict[str, float | None]] = {}
    for attribute in sample.grouping.attributes:
        level = attribute.member[sample.grouping.codes]
        out[attribute.name] = {
            group: _correlation(column.values[given], (level == g)[given]) if column.ordered else None
            for g, group in enumerate(attribute.levels)
        }
    return out


def _correlation(values: FloatArray, inside: BoolArray) -> float | None:
    """Pearson's; None where one of the two does not vary."""
    if len(values) < FEWEST_ROWS or np.ptp(values) == 0 or inside.all() or not inside.any():
        return None
    # Of the size of one, so that squares of numbers of any size are there.
    scaled = (values - values.mean()) / np.abs(values - values.mean()).max()
    return round(float(np.corrcoef(scaled, inside)[0, 1]), DIGITS)
