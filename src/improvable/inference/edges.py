"""A margin near the edge: rates close to 0 or 1 that may fall short by a little.

"No worse by more than 5%" at a rate of .98 with 60 rows of a group is decided by one or two failures. A sample with
none looks both better and less variable than the truth, and a centered bootstrap rejects up to 15% of true nulls at a
level of 5%. A score test has the variance that the statistic would have *if the null held* (Farrington and Manning,
1990; for pairs, Tango, 1998). It is found here by empirical likelihood (Owen, 2001): of all weights of the rows under
which the claim just fails, those nearest to equal ones. The deviations of draws are multiplied by the ratio of the two
standard errors and, as for outcomes not seen (`unseen`), the rows on which the algorithms differ get one more of each
value and deviations change sign. With two values per row only; where a margin allows no loss, nothing is done.
"""

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.inference.cells import Cells, U, W, by_utility
from improvable.inference.unseen import TwoValues, Unseen

HALVINGS = 60


def ratio_at_the_null(values: FloatArray, counts: FloatArray, statistic: float) -> float:
    """The standard error that a mean of n values would have if the mean were zero, over the one it has; at least 1.

    Parameters
    ----------
    values : array
        What each row adds to the statistic; their mean is the statistic.
    counts : array
        How many rows there are of each.
    statistic : float

    Notes
    -----
    The weights are q_i = 1 / (n + t v_i) with the t that makes their mean of v zero.

    Examples
    --------
    Ten rows, one of which speaks against: at a mean of zero half of the weight would.

    >>> round(ratio_at_the_null(np.array([1.0, -1.0]), np.array([9.0, 1.0]), 0.8), 2)
    1.67
    """
    total = float(counts.sum())
    against = values[values < 0]
    if statistic <= 0 or not len(against):
        return 1.0
    low, high = 0.0, total / -float(against.min())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = float((counts * values / (total + middle * values)).sum()) > 0
        low, high = (middle, high) if above else (low, middle)
    weights = counts / (total + low * values)
    weights /= weights.sum()
    there = float((weights * values**2).sum() - (weights * values).sum() ** 2)
    here = float((counts * values**2).sum()) / total - (float((counts * values).sum()) / total) ** 2
    return max(1.0, (there / here) ** 0.5) if here > 0 else 1.0


def discordant_rows(cells: Cells, place: IntArray, measure: int, pair: TwoValues) -> list[Unseen]:
    """One row more that only the candidate gets right, and one that only the status quo does."""
    vectors = by_utility(cells)[place]
    weights = np.average(vectors[:, measure, :, W], axis=0, weights=cells.counts[place])
    block = int(np.argmax(np.bincount(cells.block[place], weights=cells.counts[place])))
    out = []
    for values in ((pair.low, pair.high), (pair.high, pair.low)):
        row = np.zeros(vectors.shape[1:])
        row[measure, :, W] = weights
        row[measure, :, U] = np.array(values) * weights
        out.append(Unseen(block, measure, row, mirrored=True))
    return out
