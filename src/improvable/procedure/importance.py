"""What a feature is worth to a candidate, and how it goes with the group: permutation importance on held-out rows.

Of the features that change most decisions (`driving`), each is shuffled among all held-out rows, several times, and the
candidate's accuracy over everyone is measured again. The group's part is a plain correlation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from improvable.algorithms.decisions import Algorithm, decide
from improvable.algorithms.telling import Column, read_column
from improvable.data.arrays import BoolArray, FloatArray
from improvable.data.keys import Keys
from improvable.data.sample import Sample
from improvable.inference.cells import contributions
from improvable.inference.statistics import utilities_of, with_formulas
from improvable.procedure.driving import AT_ONCE, stacked
from improvable.question.design import Design
from improvable.results.numbers import steady

MOST_FEATURES = 10
"""Of so many features that change most decisions it is said what accuracy would lose."""
SHUFFLES = 2
"""Each is shuffled so often; the loss is the mean."""
MOST_ROWS = 3_000
"""Held-out rows that are decided about again, so that looking costs little beside learning."""
FEWEST_ROWS = 3
DIGITS = 4
"""Of a correlation: the last ones of a sum differ between machines, and a result must not."""


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
    candidate : Algorithm
    design : Design
        Its first accuracy utility is measured, over everyone.
    sample : Sample
        Held-out rows.
    drivers : dict
        From each feature to the share of decisions that it changes.
    keys : array
        Of the rows: their order, and so the shuffles, do not depend on how they were read.
    seed : SeedSequence
    whose : str
        How messages call the candidate.

    Returns
    -------
    dict
        By feature `accuracy_loss`, None where nobody is left to average over, and `correlation`, by group column and
        group; None where the feature is not a number or does not vary.
    """
    ranked = sorted(drivers, key=lambda name: (-drivers[name], name))
    chosen = [name for name in ranked if drivers[name] > 0][:MOST_FEATURES]
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
    rows, size = sample.rows, len(sample)
    rng, everyone = np.random.default_rng(seed), np.arange(size)
    orders = [rng.permutation(size) for _ in range(SHUFFLES)]
    jobs = [(name, donors) for name in features for donors in orders]
    before = _accuracy(design, sample, decide(candidate, rows, whose))
    after: list[float] = []
    step = max(1, AT_ONCE // size)
    for start in range(0, len(jobs), step):
        now = jobs[start : start + step]
        decisions = decide(candidate, stacked(rows, now, everyone), whose).reshape(len(now), size)
        after += [_accuracy(design, sample, one) for one in decisions]
    better = 1 if design.measures[design.accuracy[0]].higher_is_better else -1
    falls = better * (before - np.array(after).reshape(len(features), SHUFFLES).mean(axis=1))
    return [steady(fall) if np.isfinite(fall) else None for fall in falls.tolist()]


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
