"""What testing nine tenths of the rows costs: an audit of seven forward repetitions
against one of seven splits.

Both are whole audits of the same rows with the same rule, one worker, in turns, after
one that warms up. A forward repetition learns from 10, 20, 40 and 70% of the rows, a
split from 50%: where the time of a fit is that of its rows, all fits together take 2.8
times as long.
"""

import time
import warnings
from collections.abc import Sequence
from statistics import median
from typing import Any

import improvable
from improvable.errors import ImprovableWarning
from improvable.procedure.split import FORWARD, HALF
from improvable.question.settings import Scheme

RULES = {"linear": 3, "lasso": 3, "boosting": 3, "forest:100": 1}
"""And how many rounds each is timed."""
ROWS, FEATURES = 4_000, 30
TARGET = sum(FORWARD) / HALF


def main() -> None:
    warnings.simplefilter("ignore", ImprovableWarning)
    people = improvable.datasets.care_management(ROWS, seed=0)
    features = [*improvable.datasets.CARE_MANAGEMENT_COVARIATES][:FEATURES]
    print(
        f"{ROWS:,} rows, {len(features)} features, 10,000 draws, one worker; processor "
        "seconds, medians of rounds"
    )
    print(
        f"{'rule':12} {'7 splits':>10} {'7 forward':>12} {'ratio':>8}   target <= "
        f"{TARGET:g}"
    )
    _audit(people, features, "linear", "split")
    for rule, rounds in RULES.items():
        seconds: dict[Scheme, list[float]] = {"split": [], "forward": []}
        for _ in range(rounds):
            for scheme, times in seconds.items():
                begun = time.process_time()
                _audit(people, features, rule, scheme)
                times.append(time.process_time() - begun)
        split, forward = (median(times) for times in seconds.values())
        print(
            f"{rule:12} {split:10.2f} {forward:12.2f} {forward / split:8.2f}",
            flush=True,
        )


def _audit(people: Any, features: Sequence[str], rule: str, scheme: Scheme) -> None:
    improvable.audit(
        people,
        outcome="gagne_sum_t",
        group="race",
        rule=rule,
        features=features,
        test=improvable.Test(scheme=scheme),
        n_jobs=1,
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    )


if __name__ == "__main__":
    main()
