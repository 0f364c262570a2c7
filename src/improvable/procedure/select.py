"""On training rows: the status quo is completed, and the rule selects a candidate
(Section 3.1).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import Limits, reached
from improvable.algorithms.decisions import Algorithm, decide, prepare, reads_of
from improvable.algorithms.rules import blends
from improvable.algorithms.rules.base import Selection, Training, run_rule, seen
from improvable.algorithms.thresholds import ScoreColumn, Threshold, TieBreaking
from improvable.data.columns import Features
from improvable.data.sample import Reading, Sample
from improvable.errors import DataError, ImprovableError, RuleError
from improvable.inference.tally import status_quo_sums
from improvable.inference.test import threshold_for
from improvable.procedure.evaluate import refuse_undefined_training
from improvable.procedure.parallel import Progress, limited_threads
from improvable.procedure.plan import Plan
from improvable.procedure.split import (
    ALL_ROWS,
    SELECTING,
    Part,
    Splitting,
    TrainingRows,
    seed_of,
)
from improvable.procedure.unknown import OutcomeModel, learn_outcomes


@dataclass(frozen=True)
class Fitted:
    """What was learned from the training rows of one part."""

    part: Part
    status_quo: Algorithm
    candidate: Algorithm  # the status quo if the rule found none
    name: str  # what messages call the candidate
    # columns that the candidate is shown when it decides; None for all
    sight: tuple[str, ...] | None
    selection: Selection
    # the status quo's sums, which choose the reference pair in the paper's split
    reference: FloatArray | None
    rows: int
    shares: tuple[float, float]  # selected by the status quo and by the candidate
    # standard errors of these shares, over rows or clusters
    errors: tuple[float, float]
    capacity: float | None  # the candidate's
    reached: dict[str, float | int]  # what the candidate reached of each constraint
    outcomes: OutcomeModel | None  # what unknown outcomes are counted as
    unknown: dict[str, float | None] | None  # what is known of that model


@dataclass(frozen=True)
class Lessons:
    """What candidates are found from: all but the data, which an engine may not send to
    a process.
    """

    plan: Plan
    features: Features
    reading: Reading
    splitting: Splitting
    training: TrainingRows  # of every block of every repetition, and of all rows

    @property
    def seed(self) -> int:
        return self.plan.design.question.seed

    def sample(self, part: Part = ALL_ROWS) -> Sample:
        """The training rows of a part that its rule sees; by default of all rows."""
        return self.training.sample(self.reading, part)

    def where(self, part: Part) -> str:
        return f"repetition {part.repetition}" + (
            f", block {part.block}" if self.plan.scheme == "forward" else ""
        )

    def name(self, part: Part) -> str:
        return f"candidate of rule '{self.plan.rule.name}' in {self.where(part)}"

    @property
    def sight(self) -> tuple[str, ...]:
        """The columns that a candidate is shown when it decides: its features, never
        the outcome.

        A candidate that may use the group is shown that, and one that sees the status
        quo's decision what that reads.
        """
        plan, shown = self.plan, dict.fromkeys(self.features.columns)
        if not plan.constraints.group_blind:
            shown |= dict.fromkeys(plan.design.question.group)
        if blends(plan.rule) or plan.constraints.sees_status_quo:
            reads, question = reads_of(plan.status_quo), plan.design.question
            hidden = {
                *plan.design.outcome_columns,
                plan.target,
                question.weight,
                *plan.design.label_columns,
            }
            hidden.update(plan.design.labeled)
            others = (
                self.features.left_out
                if reads.anything
                else (*reads.numbers, *reads.features)
            )
            shown |= dict.fromkeys(
                name for name in others if not reads.anything or name not in hidden
            )
        return tuple(shown)


def fit_part(
    lessons: Lessons, training: Sample, part: Part, progress: Progress
) -> Fitted:
    """Complete the status quo and let the rule select, on the training rows of one
    part.
    """
    plan, where = lessons.plan, f"{lessons.where(part)}: "
    progress.stage(
        part.repetition, f"rule '{plan.rule.name}' on {len(training):,} rows"
    )
    purpose = (SELECTING, part.block - 1) if part.block > 1 else (SELECTING,)
    seed, report = (
        seed_of(lessons.seed, part.repetition, *purpose),
        partial(progress.stage, part.repetition),
    )
    status_quo, before, constraints, outcomes, selection = _select(
        lessons, training, seed, where, report
    )
    candidate = status_quo if selection.algorithm is None else selection.algorithm
    sight = None if candidate is status_quo else lessons.sight
    sample, name = (
        replace(training, rows=seen(training.rows, sight)),
        lessons.name(part),
    )
    after = decide(candidate, sample.rows, name)
    reference = None
    # forward, the reference pair of groups is chosen on the rows that are tested
    if plan.scheme == "split":
        reference = status_quo_sums(plan.design, training, before)
        refuse_undefined_training(plan.design, reference, training.attributes, where)
    return Fitted(
        part=part,
        status_quo=status_quo,
        candidate=candidate,
        name=name,
        sight=sight,
        selection=selection,
        reference=reference,
        rows=len(training),
        shares=(_share(before, training), _share(after, training)),
        errors=(_share_error(before, training), _share_error(after, training)),
        capacity=constraints.capacity,
        reached=reached(constraints, candidate, after, sample),
        outcomes=outcomes,
        unknown=None
        if outcomes is None or outcomes.mean is None
        else outcomes.facts(training, after),
    )


def fit_parts(lessons: Lessons, repetition: int, progress: Progress) -> list[Fitted]:
    """Fit the blocks of one repetition; blocks whose rules see the same rows share one
    fit.

    They go in the order of the rows: a rule that remembers what it saw must not have
    seen a block's own rows.
    """
    found: dict[Part, Fitted] = {}
    parts = lessons.splitting.parts([repetition])
    for part in parts:
        teacher = lessons.training.teacher(part)
        if teacher not in found:
            found[teacher] = fit_part(
                lessons, lessons.sample(teacher), teacher, progress
            )
        found[part] = replace(found[teacher], part=part, name=lessons.name(part))
    return [found[part] for part in parts]


def select_on_all_rows(lessons: Lessons) -> Algorithm:
    """The rule applied to every row: what to use instead of the status quo."""
    seed, name = (
        seed_of(lessons.seed, ALL_ROWS.repetition, SELECTING),
        lessons.plan.rule.name,
    )
    with limited_threads(workers=1, repetitions=1):
        *_, selection = _select(lessons, lessons.sample(), seed, "all rows: ")
    algorithm: Algorithm | None = selection.algorithm
    if algorithm is None:
        raise RuleError(
            f"rule '{name}' finds no candidate on all rows.", "The status quo stays."
        )
    return algorithm


def complete_status_quo(
    algorithm: Algorithm | Threshold, training: Sample, breaking: TieBreaking | None
) -> Algorithm:
    if isinstance(algorithm, Threshold) and isinstance(algorithm.scorer, ScoreColumn):
        refuse_constant_score(algorithm.scorer, algorithm.scorer.score(training.rows))
    return prepare(algorithm, training.rows, training.weights, breaking)


def refuse_constant_score(scorer: ScoreColumn, scores: FloatArray) -> None:
    if scores.min() == scores.max():
        raise DataError(
            f"the score '{scorer.column}' is constant ({scores[0]:g}).",
            "Nobody is strictly above its quantile; name the column of scores.",
        )


def _share(decision: FloatArray, sample: Sample) -> float:
    chosen = decision != 0
    return float(
        chosen.mean()
        if sample.weights is None
        else sample.weights[chosen].sum() / sample.weights.sum()
    )


def _share_error(decision: FloatArray, sample: Sample) -> float:
    """The standard error of a share over rows, or over clusters, as they are
    weighted.
    """
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    chosen = decision != 0
    deviation = weights * (chosen - float(np.average(chosen, weights=weights)))
    total = np.bincount(sample.unit_codes(), weights=deviation)
    return float(np.sqrt((total**2).sum()) / weights.sum())


def _select(
    lessons: Lessons,
    sample: Sample,
    seed: np.random.SeedSequence,
    where: str,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[Algorithm, FloatArray, Limits, OutcomeModel | None, Selection]:
    """The status quo, its decisions, constraints with a capacity, what outcomes may be,
    and what the rule found.
    """
    plan, features = lessons.plan, lessons.features
    status_quo = complete_status_quo(plan.status_quo, sample, plan.breaking)
    before = decide(status_quo, sample.rows, "status quo")
    constraints = plan.constraints
    if constraints.same_share:
        share = _share(before, sample)
        if not 0 < share < 1:
            raise DataError(
                (
                    f"{where}the status quo selects "
                    f"{'everyone' if share else 'nobody'} among the training rows, and "
                    "the candidate's capacity is to be the same."
                ),
                "Give the capacity as a number, or leave it out.",
            )
        constraints = replace(constraints, capacity=share)
    training = Training(
        sample=sample,
        features=features.columns,
        plain=features.plain,
        target_column=plan.target,
        design=plan.design,
        constraints=constraints,
        seed=seed,
        breaking=plan.breaking,
        report=report,
        sight=lessons.sight,
    )
    outcomes = learn_outcomes(
        training,
        lessons.reading,
        threshold_for(plan.design.question.alpha, plan.repetitions),
    )
    if outcomes is not None:
        training = replace(
            training, sample=outcomes.teach(sample, plan.design.question.outcome)
        )
    try:
        return (
            status_quo,
            before,
            constraints,
            outcomes,
            run_rule(plan.rule, training, status_quo),
        )
    except ImprovableError as error:
        raise RuleError(f"{where}{error.message}", error.hint) from error
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"
        raise RuleError(
            f"{where}rule '{plan.rule.name}' failed on {len(sample):,} training rows: "
            f"{why}"
        ) from error
