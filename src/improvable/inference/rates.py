"""An interval of a rate: Wilson's, which holds near 0 and 1, where draws lean the wrong way or do not move at all.

Of 40 rows at a rate of .97, three samples in ten hold no failure. Every draw is then 1, and so is either end of the
interval: the draws' interval covers about .7. Wilson's (1927) holds every rate p that a normal test with the variance
of p itself, p (1 - p) / n, does not reject. n is the number of independent rows that the rate is worth:

- p (1 - p) over the draws' variance, where the sample holds both successes and failures. So clusters, strata and
  weights count for what they count in the test, and with many rows the interval is that of the draws;
- else Kish's effective number of the rows that count, (sum of w)^2 / (sum of w^2). The draws of w tell it too: the
  variance of their sum is the sum of w^2, less (sum of w)^2 over the number of units.

Evidence holds sums and draws, not rows, and they must tell which utilities are rates. A rate's sums have 0 <= u <= w in
every stratum. And no other number between 0 and w varies more: where draws vary more than twice as much as those of a
rate that has one success and one failure more, values go beyond, and the draws' interval stays. Counts with a mean of
up to one half pass. They do no harm: their variance, about p, is then nearly p (1 - p).

Differences and ratios keep the intervals of the draws, so that they agree with the test.
"""

from statistics import NormalDist

import numpy as np

from improvable.inference.cells import U, W
from improvable.inference.evidence import Evidence
from improvable.inference.pvalues import interval


def utility_interval(
    evidence: Evidence, attribute: int, group: int, measure: int, algorithm: int, level: float
) -> tuple[float, float]:
    """The interval of one group's utility under one algorithm: Wilson's of a rate, and else that of its draws."""
    value = float(evidence.values[attribute][group, measure, algorithm])
    drawn = evidence.drawn[attribute][:, group, measure, algorithm]
    if np.isnan(value):
        return np.nan, np.nan
    rows = _rows_of_rate(evidence, attribute, group, measure, algorithm)
    return interval(value, drawn, level) if rows is None else wilson(value, rows, level)


def _rows_of_rate(evidence: Evidence, attribute: int, group: int, measure: int, algorithm: int) -> float | None:
    """How many independent rows a rate is worth; None of what is no rate."""
    if evidence.measures[measure].formula:
        return None
    sums = evidence.sums[:, measure]
    drawn = evidence.drawn[attribute][:, group, measure, algorithm]
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn) or (sums[..., U] < 0).any() or (sums[..., U] > sums[..., W]).any():
        return None
    mine = evidence.attributes[attribute].member == group
    whole = float(sums[mine, algorithm, W].sum())
    rows = whole**2 / (
        float(evidence.draws[:, mine, measure, algorithm, W].sum(axis=1).var()) + whole**2 / evidence.units
    )
    rate, variance = float(evidence.values[attribute][group, measure, algorithm]), float(drawn.var())
    smoothed = (rate * rows + 1) / (rows + 2)
    if variance > 2 * smoothed * (1 - smoothed) / rows:
        return None
    if rate in (0.0, 1.0):
        return rows
    return rate * (1 - rate) / variance if variance > 0 else None


def wilson(rate: float, rows: float, level: float) -> tuple[float, float]:
    """Wilson's score interval.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(1.0, 40, 0.95)]
    [0.912, 1.0]
    """
    square = NormalDist().inv_cdf((1 + level) / 2) ** 2 / rows
    center = (rate + square / 2) / (1 + square)
    reach = np.sqrt(square * (rate * (1 - rate) + square / 4)) / (1 + square)
    return max(0.0, float(center - reach)), min(1.0, float(center + reach))
