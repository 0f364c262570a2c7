"""Estimates with intervals over all repetitions, not over one of them.

A repetition has an interval from its own draws. It covers the true value of what that repetition tested, which under
the forward scheme is the mixture of its blocks' candidates, on rows like those that were tested. Its confidence is
1 - alpha / 2, so that a vote of several repetitions has 1 - alpha, as their median p-value must be below alpha / 2
(Corollary 1); it is 1 - alpha where there is one repetition.

The vote excludes a value that most repetitions exclude, so its ends are medians of the repetitions' ends, each taken on
the wider side. What is proven is about a value that all repetitions have in common, as the status quo's: fewer than
half of their intervals miss it, with the stated confidence. Every repetition has candidates of its own, whose true
values differ; how often the interval covers their mean is simulated, not proven (`benchmarks/validity/intervals`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.estimates import gap_interval, interval, utility_interval
from improvable.inference.evidence import ALGORITHMS, EVERYONE, Evidence
from improvable.inference.statistics import gap_between, unfairness
from improvable.report.labels import utility_words
from improvable.results.numbers import value_text

if TYPE_CHECKING:
    from improvable.results.result import Result


@dataclass(frozen=True)
class Spread:
    """A mean over the repetitions, with its interval; None where it is undefined in one, or an end is not bounded."""

    estimate: float | None
    low: float | None
    high: float | None

    @property
    def ends(self) -> str:
        """The interval in words."""
        if self.low is None or self.high is None:
            return "not bounded"
        return f"{value_text(self.low)} to {value_text(self.high)}"


Key = tuple[str, str, str]
"""Utility in words; group, "A minus B" or "gap by G"; algorithm."""


def gap_by(attribute: str) -> str:
    """What stands in a key in place of a group for the gap between the groups of a column."""
    return f"gap by {attribute}"


def combined(estimates: Sequence[float], draws: Sequence[FloatArray], level: float) -> Spread:
    """One number from all repetitions.

    Examples
    --------
    >>> one = combined([1.0, 2.0, 3.0], [np.array([e - 1, e, e + 1]) for e in (1.0, 2.0, 3.0)], 0.9)
    >>> one.estimate, one.low, one.high
    (2.0, 1.0, 3.0)
    """
    if not np.isfinite(estimates).all():
        return Spread(None, None, None)
    return voted(estimates, [interval(float(one), drawn, level) for one, drawn in zip(estimates, draws, strict=True)])


def voted(estimates: Sequence[float], ends: Sequence[tuple[float, float]]) -> Spread:
    """The mean of the repetitions, with what most of their intervals do not exclude."""
    low = sorted(low for low, _ in ends)[(len(ends) - 1) // 2]
    high = sorted(high for _, high in ends)[len(ends) // 2]
    return Spread(float(np.mean(estimates)), *(float(end) if np.isfinite(end) else None for end in (low, high)))


def utility(every: Sequence[Evidence], a: int, g: int, m: int, t: int, level: float) -> Spread:
    """One utility of one group under one algorithm, from all repetitions."""
    estimates = [float(one.values[a][g, m, t]) for one in every]
    if not np.isfinite(estimates).all():
        return Spread(None, None, None)
    return voted(estimates, [utility_interval(one, a, g, m, t, level) for one in every])


def widest(every: Sequence[Evidence], a: int, m: int, t: int, protected: int | None, level: float) -> Spread:
    """The gap of one utility between the groups of one attribute under one algorithm, from all repetitions."""
    estimates, ends = [], []
    for one in every:
        direction, relative = one.direction(m, protected), one.relative(m, protected)
        values, drawn = direction * one.values[a][:, m, t], direction * one.drawn[a][:, :, m, t]
        estimates.append(float(unfairness(values, protected, relative)))
        if not np.isfinite(estimates[-1]):
            return Spread(None, None, None)
        ends.append(gap_interval(values, drawn, level, protected, relative))
    return voted(estimates, ends)


def spreads(result: "Result") -> dict[Key, Spread]:
    """Every utility of every group under both algorithms, every gap, and of two groups their difference."""
    level, facts = 1 - result.threshold, result.facts
    labels = facts["about"].get("labels", {})
    words = {
        one["name"]: utility_words(one, labels) for one in (*facts["accuracy_utilities"], *facts["fairness_utilities"])
    }
    every = [repetition.evidence for repetition in result.repetitions]
    found: dict[Key, Spread] = {}
    for m, measure in enumerate(every[0].measures):
        if measure.label not in words:
            continue  # a mean that a formula reads, which nobody asked about
        name = words[measure.label]
        for t, algorithm in enumerate(ALGORITHMS):
            for a, attribute in enumerate(every[0].attributes):
                for g, group in enumerate(attribute.levels):
                    found[name, group, algorithm] = utility(every, a, g, m, t, level)
            if result.question.claim.overall is not None and m in every[0].accuracy:
                pairs = [one.overall(result.question.claim.overall, m) for one in every]
                whole = combined([value[t] for value, _ in pairs], [drawn[:, t] for _, drawn in pairs], level)
                found[name, EVERYONE, algorithm] = whole
    for gap in facts["disparities"]:
        m = next(m for m, measure in enumerate(every[0].measures) if measure.label == gap["utility"])
        a = next(a for a, attribute in enumerate(every[0].attributes) if attribute.name == gap["group"])
        levels, name = every[0].attributes[a].levels, words[gap["utility"]]
        high, low = levels.index(gap["higher"]), levels.index(gap["lower"])
        relative = int(every[0].measures[m].between == "ratio")
        protected = every[0].attributes[a].place_of(result.question.claim.protected)
        for t, algorithm in enumerate(ALGORITHMS):
            # Of more groups the rows chose the pair, and an interval of it alone would be too narrow.
            if len(levels) == 2:
                values, draws = (
                    [gap_between(x[..., high, m, t], x[..., low, m, t], relative) for x in parts]
                    for parts in ([one.values[a] for one in every], [one.drawn[a] for one in every])
                )
                found[name, f"{gap['higher']} minus {gap['lower']}", algorithm] = combined(
                    [float(value) for value in values], draws, level
                )
            by = gap_by(labels.get(gap["group"], gap["group"]))
            found[name, by, algorithm] = widest(every, a, m, t, protected, level)
    return found
