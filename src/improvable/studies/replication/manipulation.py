"""Section 5's numbers: the bound on the repetitions, and equilibria of the game at a few costs and correlations."""

import math

from improvable.studies.game.game import (
    hoeffding_repetitions,
    linear_costs,
    play,
    rejection_probability,
    sufficient_repetitions,
)
from improvable.studies.game.lemma import lemma_bounds
from improvable.studies.game.mixing import BetaMixing
from improvable.studies.replication.tables import Row

ALPHA, REPETITIONS = 0.05, 7
GAMES = ((0.01, 0.0), (0.001, 0.0), (0.001, 0.3))
"""Cost of a repetition, and correlation of two rejections of one data set."""


def manipulation_rows() -> list[Row]:
    """Proposition 1 at the paper's level and K, Theorem 3's conclusion, and the lemma without Assumption 4."""
    bound = -2 * math.log(ALPHA) / (1 - ALPHA) ** 2
    smallest = hoeffding_repetitions(ALPHA)
    once = float(rejection_probability([1], alpha=ALPHA, repetitions=REPETITIONS)[0])
    rows = [
        Row(
            "Proposition 1: repetitions enough at 5%, independent p-values",
            f"{REPETITIONS} or more",
            f"{smallest} or more (above {bound:.2f})",
            "same" if smallest == REPETITIONS else "DIFFERENT",
        ),
        Row(
            "repetitions enough where the median costs at least as much as one repetition",
            "",
            f"{sufficient_repetitions(ALPHA)} or more",
        ),
        Row(
            f"one simulation of the median of {REPETITIONS} rejects",
            f"below {ALPHA:g}",
            f"{once:.2g} (Hoeffding: {math.exp(-REPETITIONS * (1 - ALPHA) ** 2 / 2):.3f})",
            "same" if once < ALPHA else "DIFFERENT",
        ),
    ]
    for cost, correlation in GAMES:
        solved = play(
            *linear_costs(cost, REPETITIONS), repetitions=REPETITIONS, alpha=ALPHA, mixing=BetaMixing(correlation)
        )
        rows.append(
            Row(
                f"more robust at {cost:g} per repetition, correlation {correlation:g}",
                "median of repetitions",
                f"{'median of repetitions' if solved.more_robust == 's2' else 'one repetition'}: false rejection "
                f"{solved.repeated.rejection:.2g} (m* = {solved.repeated.simulations:,}) against "
                f"{solved.single.rejection:.2g} (m* = {solved.single.simulations:,})",
                "same" if solved.more_robust == "s2" else "DIFFERENT",
            )
        )
    cost, correlation, epsilon = 0.03, 0.5, 0.001
    bounds = lemma_bounds(lambda m: cost * m, epsilon=epsilon, alpha=ALPHA, mixing=BetaMixing(correlation))
    rows.append(
        Row(
            f"repetitions that keep the median below {ALPHA + epsilon:g} ({cost:g} per simulation, correlation "
            f"{correlation:g}: no Assumption 4)",
            "finite",
            f"more than {bounds.k_bar} (fewer than {bounds.m_bar} simulations pay)",
        )
    )
    return rows
