"""Rows that are nearly the same as another one."""

import numpy as np

from improvable.data.arrays import FloatArray


def near_twins(rounded: FloatArray) -> float:
    """The share of rows that have a twin: another row with the same rounded features.

    Parameters
    ----------
    rounded : array of shape (rows, features)
        Rounded as coarsely as near-duplicates are to be found; no NaN.

    Examples
    --------
    >>> near_twins(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 3.0], [4.0, 2.0]]))
    0.5
    """
    if len(rounded) < 2:
        return 0.0
    _, which, counts = np.unique(rounded, axis=0, return_inverse=True, return_counts=True)
    return float((counts[which.ravel()] > 1).mean())
