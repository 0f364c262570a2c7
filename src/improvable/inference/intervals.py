"""An interval of a ratio that agrees with the test: the same draws, turned round as in Fieller's theorem.

The ratio of U1 to U0 is above r where U1 - r U0 is above zero, and that is a difference, whose centered draws the test
uses. So the interval holds every r that those draws do not reject, at half of the level on each side: it excludes 1
exactly where the interval of the difference U1 - U0 excludes 0. A centered interval of the ratio itself has no such
property, and where U0 is uncertain it means nothing. Where draws do not tell U0 from zero, no ratio is too large, and
the interval is not bounded.
"""

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO


def ratio_interval(values: FloatArray, draws: FloatArray, level: float) -> tuple[float, float]:
    """The smallest and the largest ratio of candidate to status quo that the draws do not reject.

    Parameters
    ----------
    values : array of shape (2,)
        The two numbers on the sample.
    draws : array of shape (Q, 2)
        And on the draws; an undefined draw can only widen the interval.
    level : float
        The confidence.

    Returns
    -------
    (float, float)
        Minus or plus infinity on a side that is not bounded.
    """
    reflected = 2 * values - draws
    if values[STATUS_QUO] < 0:
        reflected = -reflected
    below, above = reflected[:, STATUS_QUO], reflected[:, CANDIDATE]
    allowed = int(np.floor((len(draws) - 1) * (1 - level) / 2 + 1e-9))
    return _lowest(above, below, allowed), -_lowest(-above, below, allowed)


def _lowest(above: FloatArray, below: FloatArray, allowed: int) -> float:
    """The smallest r at which more than `allowed` draws have above - r * below <= 0."""
    defined = np.isfinite(above) & np.isfinite(below)
    always = int((~defined).sum()) + int((defined & (below == 0) & (above <= 0)).sum())
    rising, falling = defined & (below > 0), defined & (below < 0)
    turns = np.sort(above[rising] / below[rising])
    returns = np.sort(above[falling] / below[falling])
    if always + len(returns) > allowed:
        return -np.inf
    counts = np.arange(1, len(turns) + 1) + always + len(returns) - np.searchsorted(returns, turns, side="left")
    enough = np.flatnonzero(counts > allowed)
    return float(turns[enough[0]]) if len(enough) else np.inf
