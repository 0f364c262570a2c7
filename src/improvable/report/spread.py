"""Estimates with intervals over all splits or repetitions, not over one of them.

Each split has an interval from its own draws, at the confidence that makes a vote of the splits valid: 1 - alpha / 2
where their median decides, as p-values must be below alpha / 2 (Corollary 1), and 1 - alpha where repetitions test
every row or there is one split. A value is excluded where most splits exclude it, so the ends are medians of the
splits' ends, each taken on the wider side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.evidence import ALGORITHMS, EVERYONE
from improvable.inference.pvalues import interval
from improvable.inference.statistics import gap_between
from improvable.report.labels import utility_words
from improvable.results.numbers import value_text

if TYPE_CHECKING:
    from improvable.results.result import Result


@dataclass(frozen=True)
class Spread:
    """A mean over the splits, with its interval; None where a split leaves it undefined or an end is not bounded."""

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
"""Utility in words, group or "A minus B", algorithm."""


def combined(estimates: Sequence[float], draws: Sequence[FloatArray], level: float) -> Spread:
    """One number from all splits.

    Examples
    --------
    >>> one = combined([1.0, 2.0, 3.0], [np.array([e - 1, e, e + 1]) for e in (1.0, 2.0, 3.0)], 0.9)
    >>> one.estimate, one.low, one.high
    (2.0, 1.0, 3.0)
    """
    if not np.isfinite(estimates).all():
        return Spread(None, None, None)
    ends = [interval(float(one), drawn, level) for one, drawn in zip(estimates, draws, strict=True)]
    low = sorted(low for low, _ in ends)[(len(ends) - 1) // 2]
    high = sorted(high for _, high in ends)[len(ends) // 2]
    return Spread(float(np.mean(estimates)), *(float(end) if np.isfinite(end) else None for end in (low, high)))


def spreads(result: "Result") -> dict[Key, Spread]:
    """Every utility of every group under both algorithms, and its difference in the pair that is worst off and best."""
    level, facts = 1 - result.threshold, result.facts
    labels = facts["about"].get("labels", {})
    words = {
        one["name"]: utility_words(one, labels) for one in (*facts["accuracy_utilities"], *facts["fairness_utilities"])
    }
    every = [split.evidence for split in result.splits]
    found: dict[Key, Spread] = {}
    for m, measure in enumerate(every[0].measures):
        if measure.label not in words:
            continue  # a mean that a formula reads, which nobody asked about
        name = words[measure.label]
        for t, algorithm in enumerate(ALGORITHMS):
            for a, attribute in enumerate(every[0].attributes):
                for g, group in enumerate(attribute.levels):
                    values = [one.values[a][g, m, t] for one in every]
                    found[name, group, algorithm] = combined(values, [one.drawn[a][:, g, m, t] for one in every], level)
            if result.question.claim.overall is not None and m in every[0].accuracy:
                pairs = [one.overall(result.question.claim.overall, m) for one in every]
                whole = combined([value[t] for value, _ in pairs], [drawn[:, t] for _, drawn in pairs], level)
                found[name, EVERYONE, algorithm] = whole
    for gap in facts["disparities"]:
        m = next(m for m, measure in enumerate(every[0].measures) if measure.label == gap["utility"])
        a = next(a for a, attribute in enumerate(every[0].attributes) if attribute.name == gap["group"])
        levels = every[0].attributes[a].levels
        high, low = levels.index(gap["higher"]), levels.index(gap["lower"])
        relative = int(every[0].measures[m].between == "ratio")
        for t, algorithm in enumerate(ALGORITHMS):
            values = [
                float(gap_between(one.values[a][high, m, t], one.values[a][low, m, t], relative)) for one in every
            ]
            draws = [gap_between(one.drawn[a][:, high, m, t], one.drawn[a][:, low, m, t], relative) for one in every]
            pair = f"{gap['higher']} minus {gap['lower']}"
            found[words[gap["utility"]], pair, algorithm] = combined(values, draws, level)
    return found
