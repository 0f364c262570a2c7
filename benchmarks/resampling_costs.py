"""What drawing costs in `improvable.inference.bootstrap`, and what MIN_IN_LARGE_CELL
should be.

What is measured
----------------
Nanoseconds per draw of a cell by its number of rows, drawn both ways by the same code:
as a large cell (one binomial) and row by row in lots. 200 equal cells, nine in ten rows
silent.

How
---
MIN_IN_LARGE_CELL is set so that all cells are large, then so that none is, interleaved
in one process and one thread; a time is the least of several repeats, since what
disturbs a measurement only adds to it. The constant should be the smallest number of
rows from which on the binomial is the cheaper way.

Run ``python benchmarks/resampling_costs.py [--repeats 7]``. Nothing is asserted about
time.
"""

import argparse
import time

import numpy as np

from improvable.inference import bootstrap as resampling
from improvable.inference.cells import Cells

CELLS = 200
ROWS_PER_CELL = (1, 2, 3, 5, 8, 12, 16, 20, 25, 28, 30, 32, 36, 45, 60, 100, 300, 1_000)
DRAWS = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    now = resampling.MIN_IN_LARGE_CELL
    print(
        f"{'rows in cell':>14}{'ns as large':>14}{'ns by rows':>14}{'ns per row':>14}"
        f"   {'cheaper':10}{'chosen':10}"
    )
    cheaper: dict[int, bool] = {}
    for rows in ROWS_PER_CELL:
        counts = np.full(CELLS, rows, dtype=np.int64)
        values = np.asfortranarray(rng.random((CELLS, 4)))
        cells = Cells(
            values, np.sort(rng.integers(0, 2, CELLS)), counts, 9 * CELLS * rows, 2
        )
        least = {True: np.inf, False: np.inf}
        for repeat in range(options.repeats):
            for large in least:
                resampling.MIN_IN_LARGE_CELL = 1 if large else rows + 1
                start = time.perf_counter()
                resampling.resample(cells, DRAWS, np.random.SeedSequence(repeat))
                least[large] = min(
                    least[large], (time.perf_counter() - start) / DRAWS / CELLS * 1e9
                )
        cheaper[rows] = least[True] < least[False]
        print(
            f"{rows:>14,}{least[True]:>14.1f}{least[False]:>14.1f}"
            f"{least[False] / rows:>14.2f}   "
            f"{'large' if cheaper[rows] else 'by rows':10}"
            f"{'large' if rows >= now else 'by rows':10}"
        )
    by_rows = [rows for rows, large in cheaper.items() if not large]
    best = min(
        (rows for rows in ROWS_PER_CELL if not by_rows or rows > max(by_rows)),
        default=None,
    )
    print(f"\nMIN_IN_LARGE_CELL is {now}; measured: {best}")


if __name__ == "__main__":
    main()
