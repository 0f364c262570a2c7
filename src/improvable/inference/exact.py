"""Sums without rounding: the same whatever order, batches or workers the numbers came in.

A float64 is a whole number times a power of two, and so is any sum of them. Sums are kept as Python integers, in units
of the smallest power that can occur, and are rounded once, when they are read.
"""

import numpy as np

from improvable.data.arrays import FloatArray, IntArray

DIGITS = 53
SCALE = 1126
"""Sums are in units of 2 to the minus this: the last digit of the smallest float64."""
PART = 18
"""Bits of a number that are added at a time: what is added stays below 2 to the 53rd, for up to 2 to the 35th rows."""


def exact_sum(values: FloatArray, counts: IntArray | None = None) -> int:
    """The sum of finite numbers, each taken `counts` times, in units of 2 to the minus `SCALE`.

    Examples
    --------
    >>> to_float(exact_sum(np.array([1e16, 1.0, -1e16])))
    1.0
    """
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, DIGITS).astype(np.int64)
    place = exponent.astype(np.int64) + (SCALE - DIGITS)
    times = 1.0 if counts is None else counts.astype(np.float64)
    total = 0
    for shift in range(0, DIGITS + 1, PART):
        last = shift + PART > DIGITS
        part = (whole >> shift) if last else (whole >> shift) & ((1 << PART) - 1)
        added = np.bincount(place, weights=part * times)
        for j in np.flatnonzero(added):
            total += int(added[j]) << (int(j) + shift)
    return total


def to_float(total: int) -> float:
    """The float64 nearest to a sum."""
    return total / (1 << SCALE)
