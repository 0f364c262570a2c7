"""What a tournament costs beyond its parts: the contest against the contenders'
cross-fitting, on the demo's data.

The parts are each contender's five fits and decisions; the contest adds margins and one
refit of the winner. Time is the processor's.
"""

import time
import warnings

import numpy as np

import improvable
from improvable.algorithms.decisions import decide
from improvable.algorithms.rules import as_rule, as_tournament
from improvable.algorithms.rules.base import Training, folds_of, run_rule
from improvable.errors import ImprovableWarning
from improvable.procedure.parallel import limited_threads
from improvable.procedure.prepare import prepare_audit
from improvable.procedure.select import complete_status_quo
from improvable.procedure.split import Part
from improvable.question.settings import Settings

RULES = ("linear", "lasso", "boosting", "aim")
TARGET = 1.3


def main() -> None:
    warnings.simplefilter("ignore", ImprovableWarning)
    people = improvable.datasets.care_management(48_784, seed=0)
    asked = Settings(
        outcome="gagne_sum_t",
        group="race",
        rule="linear",
        repetitions=1,
        status_quo=improvable.threshold("risk_score_t", capacity=0.03),
        features=improvable.datasets.CARE_MANAGEMENT_COVARIATES,
    )
    ready = prepare_audit(people, asked)
    sample, plan, features = ready.sample(Part(1)), ready.plan, ready.features
    training = Training(
        sample,
        features.columns,
        features.plain,
        plan.target,
        plan.design,
        plan.constraints,
        np.random.SeedSequence(2),
    )
    status_quo = complete_status_quo(plan.status_quo, sample, plan.breaking)
    contest = as_tournament(RULES)
    with limited_threads(workers=1, repetitions=1):
        parts = 0.0
        for name in RULES:
            begun = time.process_time()
            for part, judge in folds_of(training):
                held = training.sample.take(judge)
                # cutoffs as in the contest
                found = run_rule(as_rule(name), part, status_quo, cutoff_rows=held)
                decide(found.algorithm, held.rows, "candidate")
            seconds = time.process_time() - begun
            parts += seconds
            print(f"cross-fitting {name:10} {seconds:8.2f} s")
        begun = time.process_time()
        notes = contest.select(training, status_quo).notes
        whole = time.process_time() - begun
    print(f"whole contest            {whole:8.2f} s, won by {notes['winner']}")
    print(f"contest / parts          {whole / parts:8.2f}, target <= {TARGET}")


if __name__ == "__main__":
    main()
