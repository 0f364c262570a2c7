"""The numbers of the paper's tables and figures, for comparison with ours.

Auerbach, Liang, Okumura and Tabord-Meehan, *Testing the Fairness-Accuracy Improvability
of Algorithms*, Section 6 and Appendices E and H. The authors' split seeds are not
published, so a replication agrees with these in distribution, not split by split.
"""

from typing import Final

MEANS: Final = (
    "black_status_quo",
    "black_candidate",
    "white_status_quo",
    "white_candidate",
    "gap_status_quo",
    "gap_candidate",
)
"""The columns of `TABLES` that are utilities and gaps."""

COLUMNS: Final = (
    "black_status_quo",
    "black_candidate",
    "p_black",
    "white_status_quo",
    "white_candidate",
    "p_white",
    "gap_status_quo",
    "gap_candidate",
    "p_fairness",
    "p",
)

# fmt: off
TABLES: Final[dict[str, tuple[tuple[float, ...], ...]]] = {
    "next_year/linear": (
        (6.33, 7.31, 0.0000, 5.14, 7.27, 0.0000, 1.19, 0.04, 0.0000, 0.0000),
        (6.32, 7.39, 0.0001, 5.11, 7.23, 0.0000, 1.20, 0.15, 0.0000, 0.0001),
        (6.67, 7.49, 0.0003, 5.15, 7.06, 0.0000, 1.52, 0.43, 0.0000, 0.0003),
        (6.35, 7.35, 0.0000, 5.06, 7.27, 0.0000, 1.28, 0.08, 0.0000, 0.0000),
        (6.88, 7.58, 0.0036, 5.27, 7.26, 0.0000, 1.61, 0.32, 0.0000, 0.0036),
        (6.52, 7.96, 0.0000, 5.02, 7.26, 0.0000, 1.51, 0.70, 0.0049, 0.0049),
        (6.74, 7.65, 0.0004, 5.19, 7.37, 0.0000, 1.55, 0.28, 0.0001, 0.0004),
    ),
    "next_year/lasso": (
        (6.33, 7.18, 0.0005, 5.14, 7.27, 0.0000, 1.19, 0.10, 0.0000, 0.0005),
        (6.32, 7.39, 0.0001, 5.11, 7.30, 0.0000, 1.20, 0.09, 0.0000, 0.0001),
        (6.67, 7.52, 0.0002, 5.15, 7.11, 0.0000, 1.52, 0.41, 0.0000, 0.0002),
        (6.35, 7.20, 0.0001, 5.06, 7.25, 0.0000, 1.28, 0.05, 0.0000, 0.0001),
        (6.88, 7.58, 0.0040, 5.27, 7.27, 0.0000, 1.61, 0.30, 0.0000, 0.0040),
        (6.52, 7.97, 0.0000, 5.02, 7.34, 0.0000, 1.51, 0.63, 0.0022, 0.0022),
        (6.74, 7.59, 0.0009, 5.19, 7.34, 0.0000, 1.55, 0.25, 0.0000, 0.0009),
    ),
    "next_year/forest": (
        (6.33, 7.44, 0.0000, 5.14, 7.35, 0.0000, 1.19, 0.09, 0.0000, 0.0000),
        (6.32, 7.50, 0.0001, 5.11, 7.41, 0.0000, 1.20, 0.09, 0.0000, 0.0001),
        (6.67, 7.55, 0.0001, 5.15, 7.25, 0.0000, 1.52, 0.30, 0.0000, 0.0001),
        (6.35, 7.46, 0.0000, 5.06, 7.31, 0.0000, 1.28, 0.15, 0.0000, 0.0000),
        (6.88, 7.76, 0.0009, 5.27, 7.33, 0.0000, 1.61, 0.43, 0.0000, 0.0009),
        (6.52, 7.86, 0.0000, 5.02, 7.43, 0.0000, 1.51, 0.43, 0.0002, 0.0002),
        (6.74, 7.66, 0.0005, 5.19, 7.40, 0.0000, 1.55, 0.26, 0.0001, 0.0005),
    ),
    "same_year/linear": (
        (7.43, 9.35, 0.0000, 5.80, 9.08, 0.0000, 1.62, 0.27, 0.0000, 0.0000),
        (7.54, 9.14, 0.0000, 5.85, 8.91, 0.0000, 1.70, 0.22, 0.0000, 0.0000),
        (7.82, 9.27, 0.0000, 5.92, 8.93, 0.0000, 1.90, 0.34, 0.0000, 0.0000),
        (7.43, 9.26, 0.0000, 5.67, 8.83, 0.0000, 1.76, 0.43, 0.0000, 0.0000),
        (8.14, 9.40, 0.0000, 5.92, 8.88, 0.0000, 2.22, 0.53, 0.0000, 0.0000),
        (7.33, 9.61, 0.0000, 5.66, 9.01, 0.0000, 1.67, 0.61, 0.0003, 0.0003),
        (7.91, 9.59, 0.0000, 5.80, 8.92, 0.0000, 2.11, 0.67, 0.0000, 0.0000),
    ),
    "same_year/lasso": (
        (7.43, 9.31, 0.0000, 5.80, 9.04, 0.0000, 1.62, 0.27, 0.0000, 0.0000),
        (7.54, 9.20, 0.0000, 5.85, 8.92, 0.0000, 1.70, 0.28, 0.0000, 0.0000),
        (7.82, 9.25, 0.0000, 5.92, 8.95, 0.0000, 1.90, 0.30, 0.0000, 0.0000),
        (7.43, 9.28, 0.0000, 5.67, 8.84, 0.0000, 1.76, 0.44, 0.0000, 0.0000),
        (8.14, 9.43, 0.0000, 5.92, 8.89, 0.0000, 2.22, 0.54, 0.0000, 0.0000),
        (7.33, 9.46, 0.0000, 5.66, 8.96, 0.0000, 1.67, 0.50, 0.0001, 0.0001),
        (7.91, 9.44, 0.0000, 5.80, 8.99, 0.0000, 2.11, 0.45, 0.0000, 0.0000),
    ),
    "same_year/forest": (
        (7.43, 9.38, 0.0000, 5.80, 8.91, 0.0000, 1.62, 0.47, 0.0004, 0.0004),
        (7.54, 9.31, 0.0000, 5.85, 8.86, 0.0000, 1.70, 0.45, 0.0000, 0.0000),
        (7.82, 9.15, 0.0000, 5.92, 8.90, 0.0000, 1.90, 0.25, 0.0000, 0.0000),
        (7.43, 9.31, 0.0000, 5.67, 8.83, 0.0000, 1.76, 0.48, 0.0000, 0.0000),
        (8.14, 9.72, 0.0000, 5.92, 8.94, 0.0000, 2.22, 0.77, 0.0000, 0.0000),
        (7.33, 9.51, 0.0000, 5.66, 8.94, 0.0000, 1.67, 0.57, 0.0004, 0.0004),
        (7.91, 9.54, 0.0000, 5.80, 8.89, 0.0000, 2.11, 0.65, 0.0000, 0.0000),
    ),
}
# fmt: on

MEDIAN_P: Final = {
    "next_year/forest": "0.0001",
    "next_year/lasso": "0.0005",
    "next_year/linear": "0.0003",
    "same_year/linear": "< 0.0001",
    "same_year/lasso": "< 0.0001",
    "same_year/forest": "< 0.0001",
}
"""As printed: below one in ten thousand, or the number."""

FRONTIER_FAIRNESS: Final = 0.64
"""The largest delta_f at delta_a = 0 that is rejected, next_year/forest."""
FRONTIER_ACCURACY: Final = 0.09
"""The largest delta_a at delta_f = 0 that is rejected, next_year/forest."""


def published_mean(table: str, column: str) -> float:
    """The mean over the seven splits of a column of a table.

    Examples
    --------
    >>> round(published_mean("next_year/lasso", "gap_candidate"), 3)
    0.261
    """
    values = [row[COLUMNS.index(column)] for row in TABLES[table]]
    return sum(values) / len(values)


def published_range(table: str, column: str) -> tuple[float, float]:
    """The smallest and the largest of a column over the seven splits."""
    values = [row[COLUMNS.index(column)] for row in TABLES[table]]
    return min(values), max(values)
