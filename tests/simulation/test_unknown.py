"""Levels where outcomes are unknown for people who were not selected, in short; the
study is `validity.unknown`.
"""

import pytest

from validity.unknown import EVERY, NAIVE, rate

ROWS, DATA_SETS = 1_500, 40
MOST = 0.05 + 3 * (0.05 * 0.95 / DATA_SETS) ** 0.5  # three Monte Carlo errors


@pytest.mark.parametrize(
    "name",
    ["overlap", "cutoff", "shift, cutoff", "gap, shift", "probable groups, overlap"],
)
def test_a_true_null_is_seldom_rejected(name: str) -> None:
    share, _ = rate(EVERY[name], "assumed", ROWS, DATA_SETS, first=10_000)
    assert share <= MOST


def test_dropping_unknown_rows_rejects_what_is_true() -> None:
    share, _ = rate(EVERY["shift, overlap"], NAIVE, ROWS, 20, first=10_000)
    assert share > 0.5
