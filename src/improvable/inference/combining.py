"""The p-values of several repetitions become one decision, by their lower median.

Whatever their dependence, the lower median of K p-values is below alpha / 2 exactly when at least half of them are.
Where each is below alpha / 2 with probability at most alpha / 2, Markov's inequality bounds the chance of that by alpha
(Corollary 1 of the paper). One repetition alone is held against alpha itself.
"""

import numpy as np
from numpy.typing import ArrayLike

from improvable.data.arrays import FloatArray


def threshold_for(alpha: float, repetitions: int) -> float:
    """What the lower median must be strictly below: alpha for one repetition, alpha / 2 for several."""
    return alpha if repetitions == 1 else alpha / 2


def lower_median(p_values: ArrayLike) -> FloatArray:
    """The smallest median along the first axis, below a level exactly when at least half of the p-values are.

    Examples
    --------
    >>> float(lower_median([0.2, 0.01, 0.03, 0.5]))
    0.03
    """
    p = np.sort(np.asarray(p_values, dtype=np.float64), axis=0)
    return np.asarray(p[(len(p) - 1) // 2])
