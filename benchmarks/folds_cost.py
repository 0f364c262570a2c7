"""What testing every row costs: an audit of seven repetitions in two folds against one of seven repetitions in half.

Both are whole audits of the same rows with the same rule, one worker, in turns, after one that warms up; a repetition
in two folds fits the rule twice and tests twice the rows, so twice the time is what the fits alone would take.
"""

import time
import warnings
from collections.abc import Sequence
from statistics import median
from typing import Any

import improvable
from improvable.errors import ImprovableWarning

RULES = {"linear": 3, "lasso": 3, "boosting": 3, "forest:100": 1}
"""And how many rounds each is timed."""
ROWS, FEATURES = 4_000, 30
TARGET = 2.2


def main() -> None:
    warnings.simplefilter("ignore", ImprovableWarning)
    people = improvable.datasets.care_management(ROWS, seed=0)
    features = [*improvable.datasets.CARE_MANAGEMENT_COVARIATES][:FEATURES]
    print(f"{ROWS:,} rows, {len(features)} features, 10,000 draws, one worker; processor seconds, medians of rounds")
    print(f"{'rule':12} {'7 repetitions':>10} {'7 x 2 folds':>12} {'ratio':>8}   target <= {TARGET}")
    _audit(people, features, "linear", None)
    for rule, rounds in RULES.items():
        seconds: dict[int | None, list[float]] = {None: [], 2: []}
        for _ in range(rounds):
            for folds, times in seconds.items():
                begun = time.process_time()
                _audit(people, features, rule, folds)
                times.append(time.process_time() - begun)
        halves, in_folds = median(seconds[None]), median(seconds[2])
        print(f"{rule:12} {halves:10.2f} {in_folds:12.2f} {in_folds / halves:8.2f}", flush=True)


def _audit(people: Any, features: Sequence[str], rule: str, folds: int | None) -> None:
    improvable.audit(
        people, outcome="gagne_sum_t", group="race", rule=rule, features=features, folds=folds, n_jobs=1,
        status_quo=improvable.threshold("risk_score_t", capacity=0.1), progress=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
