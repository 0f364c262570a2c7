"""The p-values of several splits, or of several repetitions in folds, become one decision: by their lower median.

**The paper's split.** Splits of the same rows have exchangeable p-values p_1, p_2, ..., in an order that chance set.
Let X_k = (2 / alpha) 1{p_k < alpha / 2}, whose mean is at most 1 under the null. The lower median of the first k is
below alpha / 2 exactly when the average of X_1, ..., X_k is at least 1 / alpha.

- **median**: for one k fixed in advance, Markov's inequality gives level alpha (Corollary 1 of the paper).
- **sequential**: splits are added until the decision would come out the same with fresh splits. Averages of
  exchangeable variables are a backward martingale, so Ville's inequality bounds the chance that *any* of them reaches
  1 / alpha by alpha, and a number of splits that depends on the p-values is covered: the exchangeable Markov inequality
  of Ramdas and Manole (Randomized and exchangeable improvements of Markov's, Chebyshev's and Chernoff's inequalities,
  2023), applied to p-values by Gasparin, Wang and Ramdas (Combining exchangeable p-values, 2025).

**Folds.** Repetitions test the same rows, so that their normal scores differ only by the candidates' luck around a
common center. Their median is at most as spread as each of them, and is compared with alpha itself. More repetitions
move it toward that center, whenever one stops: `sequential` keeps the level that the median has.
"""

import numpy as np
from numpy.typing import ArrayLike

from improvable.data.arrays import FloatArray
from improvable.inference.pvalues import threshold_for
from improvable.question.settings import Combine

MOST_FOLDS_AT_ALPHA = 2


def combined_threshold(alpha: float, splits: int, how: Combine, folds: int | None = None) -> float:
    """What the lower median must be strictly below: alpha where every repetition tests all rows in two folds.

    With more folds it is alpha / 2. A rule that memorizes then finds more of a row's near-twins among the rows that it
    learns from, and at alpha the median of five folds rejects too often (the validity page has the table).
    """
    if folds is not None:
        return alpha if folds == MOST_FOLDS_AT_ALPHA else alpha / 2
    return alpha / 2 if how == "sequential" else threshold_for(alpha, splits)


def lower_median(p_values: ArrayLike) -> FloatArray:
    """The smallest median along the first axis, below a level exactly when at least half of the p-values are.

    Examples
    --------
    >>> float(lower_median([0.2, 0.01, 0.03, 0.5]))
    0.03
    """
    p = np.sort(np.asarray(p_values, dtype=np.float64), axis=0)
    return np.asarray(p[(len(p) - 1) // 2])
