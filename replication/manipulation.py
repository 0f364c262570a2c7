"""Section 5's numbers: the bound on the splits, and equilibria of the game at a few
costs and correlations.
"""

import math

from improvable.studies.game import (
    costs_of,
    hoeffding_repetitions,
    play,
    rejection_probability,
    sufficient_repetitions,
)
from replication.lemma import lemma_bounds
from replication.mixing import BetaMixing
from replication.tables import Row

ALPHA, SPLITS = 0.05, 7
GAMES = ((0.01, 0.0), (0.001, 0.0), (0.001, 0.3))
"""Cost of a split, and correlation of two rejections of one data set."""


def manipulation_rows() -> list[Row]:
    """Proposition 1 at the paper's level and splits, Theorem 3's conclusion, and the
    lemma without Assumption 4.
    """
    bound = -2 * math.log(ALPHA) / (1 - ALPHA) ** 2
    smallest = hoeffding_repetitions(ALPHA)
    once = float(rejection_probability([1], alpha=ALPHA, repetitions=SPLITS)[0])
    rows = [
        Row(
            "Proposition 1: splits enough at 5%, independent p-values",
            f"{SPLITS} or more",
            f"{smallest} or more (above {bound:.2f})",
            "same" if smallest == SPLITS else "DIFFERENT",
        ),
        Row(
            "splits enough where the median costs at least as much as one split",
            "",
            f"{sufficient_repetitions(ALPHA)} or more",
        ),
        Row(
            f"one attempt at the median of {SPLITS} rejects",
            f"below {ALPHA:g}",
            f"{once:.2g} (Hoeffding: {math.exp(-SPLITS * (1 - ALPHA) ** 2 / 2):.3f})",
            "same" if once < ALPHA else "DIFFERENT",
        ),
    ]
    for cost, correlation in GAMES:
        solved = play(
            *costs_of(cost, SPLITS),
            repetitions=SPLITS,
            alpha=ALPHA,
            mixing=BetaMixing(correlation),
        )
        rows.append(
            Row(
                f"more robust at {cost:g} per split, correlation {correlation:g}",
                "median of splits",
                (
                    f"{'median of splits' if solved.more_robust == 's2' else 'one split'}"  # noqa: E501
                    f": false rejection {solved.repeated.rejection:.2g} (m* = "
                    f"{solved.repeated.attempts:,}) against "
                    f"{solved.single.rejection:.2g} (m* = {solved.single.attempts:,})"
                ),
                "same" if solved.more_robust == "s2" else "DIFFERENT",
            )
        )
    cost, correlation, epsilon = 0.03, 0.5, 0.001
    bounds = lemma_bounds(
        lambda m: cost * m, epsilon=epsilon, alpha=ALPHA, mixing=BetaMixing(correlation)
    )
    rows.append(
        Row(
            (
                f"splits that keep the median below {ALPHA + epsilon:g} ({cost:g} per "
                f"attempt, correlation {correlation:g}: no Assumption 4)"
            ),
            "finite",
            f"more than {bounds.k_bar} (fewer than {bounds.m_bar} attempts pay)",
        )
    )
    return rows
