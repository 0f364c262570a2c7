"""The part of the validity study in which rules learn: levels and power, forward and by
the paper's split.
"""

from functools import partial

import numpy as np

import improvable
from improvable.datasets import DIABETES_SCREENING, diabetes_screening
from validity.choosing import ADVERSARIES, FEW
from validity.learning import (
    COIN,
    TOLD,
    Learning,
    Table,
    best_half_space,
    classes,
    districts,
    in_clusters,
    least_squares,
    nearest_neighbor,
    rare,
    with_weights,
)
from validity.schemes import SCHEMES, audit_of, found_by, p_values_of, summarized
from validity.study import DRAWS, Unit

SEED = 20_240_716
FAST, THROUGH_AUDIT, POWER, SEEDS = 1_000, 100, 500, 20
THREE = ((0.5, 0.65, 0.65), (0.5, 0.05, 0.05))
MEMORIZING = (
    Learning(
        "nearest neighbor, twins",
        "every row of features is there twice",
        classes(*COIN, twins=True),
        nearest_neighbor,
    ),
    Learning(
        "60 half-spaces",
        "the one that is right most often for a",
        classes(*COIN),
        best_half_space,
    ),
)
LEAST_SQUARES = (
    *(
        Learning(
            f"least squares, eight districts, {n:,} rows",
            "as `linear` below",
            districts,
            least_squares,
            n,
        )
        for n in (400, 1_000, 3_000, 5_000)
    ),
    Learning(
        "least squares, clusters",
        "150 clusters of 10 rows",
        in_clusters(*COIN),
        least_squares,
        1_500,
    ),
    Learning(
        "least squares, weights", "of 1, 2 and 4", with_weights(*COIN), least_squares
    ),
    Learning(
        "least squares, three groups",
        "3 features",
        classes(*THREE),
        least_squares,
        1_500,
        3,
    ),
    Learning(
        "least squares, rare outcomes",
        "5% in group a; calibration, capacity 10%",
        rare,
        least_squares,
        3_000,
        capacity=0.1,
        utility="calibration",
        ask="accuracy",
    ),
)
"""What `linear` does, by the fast path."""
CODE = (*FEW, *MEMORIZING, *ADVERSARIES, *LEAST_SQUARES)
"""Rules that are functions of this study."""
NAMED: dict[Learning, int] = {
    **{
        Learning(
            f"`linear`, eight districts, {n:,} rows",
            "nothing else to learn from",
            districts,
            "linear",
            n,
        ): size
        for n, size in ((1_000, 1_000), (3_000, 1_000), (400, 300), (5_000, 300))
    },
    Learning("`lasso`", "3 features", classes(*COIN), "lasso"): 1_000,
    Learning(
        "`linear`, strata",
        "200 clusters in 5 strata",
        in_clusters(*COIN, strata=5),
        "linear",
        2_000,
    ): 1_000,
    Learning(
        "`linear`, clusters",
        "150 clusters of 10 rows",
        in_clusters(*COIN),
        "linear",
        1_500,
    ): 300,
    Learning("`linear`, weights", "of 1, 2 and 4", with_weights(*COIN), "linear"): 300,
    Learning(
        "`linear`, rare outcomes",
        "5% in group a; calibration, capacity 10%",
        rare,
        "linear",
        3_000,
        capacity=0.1,
        utility="calibration",
        ask="accuracy",
    ): 300,
    Learning(
        "`linear`, three groups", "3 features", classes(*THREE), "linear", 1_500, 3
    ): 300,
    Learning("`logistic`", "3 features", classes(*COIN), "logistic"): 300,
    Learning(
        "`tournament:linear,ridge:10`",
        "3 features",
        classes(*COIN),
        "tournament:linear,ridge:10",
    ): 300,
    Learning("`boosting`", "3 features", classes(*COIN), "boosting"): 200,
    Learning("`lasso`, 3,000 rows", "3 features", classes(*COIN), "lasso", 3_000): 300,
    Learning("`lasso`, 400 rows", "3 features", classes(*COIN), "lasso", 400): 300,
    Learning("`forest:20`", "3 features", classes(*COIN), "forest:20"): 200,
    Learning("`aim`", "3 features", classes(*COIN), "aim"): 150,
    Learning("`aim`, 400 rows", "3 features", classes(*COIN), "aim", 400): 150,
    Learning(
        "`aim`, eight districts, 1,000 rows",
        "few candidates, as `linear` above",
        districts,
        "aim",
        1_000,
    ): 150,
    Learning(
        "`aim`, three groups", "3 features", classes(*THREE), "aim", 1_500, 3
    ): 150,
}
"""The package's own rules, with how many samples each has."""
POWERS = (
    Learning("least squares, 1,500 rows", "", classes(*TOLD), least_squares, 1_500),
    Learning("least squares, 3,000 rows", "", classes(*TOLD), least_squares, 3_000),
    Learning(
        "three groups",
        "least squares",
        classes((0.64,) * 3, (0.58, 0.42, 0.42)),
        least_squares,
        2_250,
        3,
    ),
    Learning(
        "clusters",
        "150 of 10 rows, least squares",
        in_clusters((0.66, 0.66), TOLD[1]),
        least_squares,
        1_500,
    ),
    Learning(
        "weights",
        "of 1, 2 and 4, least squares",
        with_weights(*TOLD),
        least_squares,
        1_500,
    ),
    Learning(
        "nearest neighbor",
        "memorizes",
        classes((0.85, 0.85), TOLD[1]),
        nearest_neighbor,
        750,
    ),
)
"""Where the claim is true; the sizes at which it can be seen."""


def code_units() -> list[Unit]:
    """Rules of this study by the fast path."""
    return [
        Unit(f"code/{case.name}", partial(_by_fast_path, case, p), FAST)
        for p, case in enumerate(CODE)
    ]


def audited_units() -> list[Unit]:
    """The first samples of these once more, through `audit`."""
    return [
        Unit(f"audited/{case.name}", partial(_by_both, case, p), THROUGH_AUDIT)
        for p, case in enumerate(CODE)
    ]


def named_units() -> list[Unit]:
    """The package's own rules, through `audit`."""
    cases = enumerate(NAMED.items())
    return [
        Unit(f"named/{case.name}", partial(_by_audit, case, 100 + p), number)
        for p, (case, number) in cases
    ]


def power_units() -> list[Unit]:
    cases = enumerate(POWERS)
    return [
        Unit(
            f"learning power/{case.name}", partial(_by_fast_path, case, 200 + p), POWER
        )
        for p, case in cases
    ]


def screening_unit() -> Unit:
    """One real sample, audited with other seeds: how much luck decides."""
    return Unit("screening", _screening, SEEDS)


def _drawn(case: Learning, p: int, i: int) -> Table:
    return case.draw(np.random.default_rng([SEED + p, i]), case.rows)


def _by_fast_path(case: Learning, p: int, i: int) -> dict[str, float]:
    table = _drawn(case, p, i)
    return summarized(
        {scheme: p_values_of(case, table, scheme, i, DRAWS) for scheme in SCHEMES}
    )


def _by_audit(case: Learning, p: int, i: int) -> dict[str, float]:
    table = _drawn(case, p, i)
    return found_by(
        {scheme: audit_of(case, table, scheme, i, DRAWS) for scheme in SCHEMES}
    )


def _by_both(case: Learning, p: int, i: int) -> dict[str, float]:
    """What the audit finds, and 1 where the fast path finds something else."""
    slow = _by_audit(case, p, i)
    return {**slow, "differs": float(slow != _by_fast_path(case, p, i))}


def _screening(seed: int) -> dict[str, float]:
    people = diabetes_screening()
    return found_by(
        {
            scheme: improvable.audit(
                people,
                **DIABETES_SCREENING,
                test=improvable.Test(scheme=scheme),
                seed=seed,
            )
            for scheme in SCHEMES
        }
    )
