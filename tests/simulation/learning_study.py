"""The part of the validity study in which rules learn: levels and power of the paper's split and of folds."""

import numpy as np

from improvable.inference.combining import lower_median
from simulation.learning import LEVELS, POWERS, Learning, audit_once, p_values_of
from simulation.study import DRAWS, Unit

SEED = 20_240_716
LEVEL_REPETITIONS, POWER_REPETITIONS, SLOW = 2_000, 1_000, 0.05
MANY_FOLDS = ("least squares", "nearest neighbor", "nearest neighbor, twins")
"""Where five folds are studied too."""
SEEDS = 50
SEEDED = POWERS[2]


def level_units() -> list[Unit]:
    return [_unit("learning level", LEVEL_REPETITIONS, p, case) for p, case in enumerate(LEVELS)]


def power_units() -> list[Unit]:
    return [_unit("learning power", POWER_REPETITIONS, 100 + p, case) for p, case in enumerate(POWERS)]


def many_folds_units() -> list[Unit]:
    cases = [case for case in LEVELS if case.name in MANY_FOLDS]
    return [
        Unit(
            f"five folds/{case.name}",
            lambda i, p=p, case=case: audit_once(case, (SEED + 200 + p, i), (5,), DRAWS),  # type: ignore[misc]
            LEVEL_REPETITIONS,
        )
        for p, case in enumerate(cases)
    ]


def seeds_unit() -> Unit:
    """One sample, audited with other seeds: how much luck decides."""
    case = SEEDED
    return Unit("seeds", lambda i: _reseeded(case, i), SEEDS)


def _reseeded(case: Learning, seed: int) -> dict[str, float]:
    table = case.draw(np.random.default_rng([SEED, 2]), case.rows)
    ways = {"halves": None, "2 folds": 2}
    return {name: float(lower_median(p_values_of(case, table, seed, folds, DRAWS)[0])) for name, folds in ways.items()}


def _unit(study: str, repetitions: int, seed: int, case: Learning) -> Unit:
    number = round(SLOW * repetitions) if "forest" in case.name else repetitions
    return Unit(f"{study}/{case.name}", lambda i: audit_once(case, (SEED + seed, i), (None, 2), DRAWS), number)
