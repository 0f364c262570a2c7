"""On training rows: the status quo is completed, and the rule selects a candidate (Section 3.1)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from improvable.algorithms.constraints import reached
from improvable.algorithms.deciding import Algorithm, ScoreColumn, Threshold, decide, prepare
from improvable.algorithms.rules.base import Selection, Training, run_rule
from improvable.data.arrays import FloatArray
from improvable.data.features import Features
from improvable.data.sample import Sample
from improvable.errors import DataError, ImprovableError, RuleError
from improvable.inference.tally import status_quo_sums
from improvable.procedure.evaluating import refuse_undefined_training
from improvable.procedure.parallel import Progress, limited_threads
from improvable.procedure.planning import Plan
from improvable.procedure.splitting import ALL_ROWS, SELECTING, Part, seed_of


@dataclass(frozen=True)
class Fitted:
    """What the training rows of one part gave.

    Attributes
    ----------
    part : Part
    status_quo, candidate : Algorithm
        Complete; without a candidate the status quo takes its place.
    selection : Selection
        What the rule says of it.
    reference : array of shape (strata, utilities, 2)
        The status quo's sums.
    shares : tuple of two floats
        Share selected by either.
    reached : dict
        What the candidate reached of each constraint.
    """

    part: Part
    status_quo: Algorithm
    candidate: Algorithm
    selection: Selection
    reference: FloatArray
    shares: tuple[float, float]
    reached: dict[str, float | int]


def part_name(plan: Plan, part: Part) -> str:
    return f"split {part.split}" if plan.folds is None else f"repetition {part.split}, fold {part.fold + 1}"


def candidate_name(plan: Plan, part: Part) -> str:
    return f"candidate of rule '{plan.rule.name}' in {part_name(plan, part)}"


def fit_part(plan: Plan, features: Features, training: Sample, part: Part, seed: int, progress: Progress) -> Fitted:
    """Complete the status quo and let the rule select, on the training rows of one part."""
    where, purpose = f"{part_name(plan, part)}: ", (SELECTING, part.fold) if part.fold else (SELECTING,)
    progress.stage(part.split, f"rule '{plan.rule.name}' on {len(training):,} rows")
    status_quo = complete_status_quo(plan.status_quo, training)
    selection = _select(
        plan, features, training, status_quo, seed_of(seed, part.split, *purpose), where,
        lambda text: progress.stage(part.split, text),
    )  # fmt: skip
    candidate = status_quo if selection.algorithm is None else selection.algorithm
    before = decide(status_quo, training.rows, "status quo")
    after = decide(candidate, training.rows, candidate_name(plan, part))
    reference = status_quo_sums(plan.design, training, before)
    refuse_undefined_training(plan.design, reference, training.grouping.attributes, where)
    return Fitted(
        part=part,
        status_quo=status_quo,
        candidate=candidate,
        selection=selection,
        reference=reference,
        shares=(_share(before, training), _share(after, training)),
        reached=reached(plan.constraints, candidate, after, training),
    )


def select_on_all_rows(plan: Plan, features: Features, sample: Sample, seed: int) -> Algorithm:
    """The rule applied to every row: what to use instead of the status quo."""
    with limited_threads(workers=1, splits=1):
        status_quo = complete_status_quo(plan.status_quo, sample)
        purpose = seed_of(seed, ALL_ROWS.split, SELECTING)
        found = _select(plan, features, sample, status_quo, purpose, "all rows: ").algorithm
    if found is None:
        raise RuleError(f"rule '{plan.rule.name}' finds no candidate on all rows.", "The status quo stays.")
    algorithm: Algorithm = found
    return algorithm


def complete_status_quo(algorithm: Algorithm | Threshold, training: Sample) -> Algorithm:
    """Complete the status quo; a score that never varies cannot be thresholded."""
    if isinstance(algorithm, Threshold) and isinstance(algorithm.scorer, ScoreColumn):
        refuse_constant_score(algorithm.scorer, algorithm.scorer.score(training.rows))
    return prepare(algorithm, training.rows, training.weights)


def refuse_constant_score(scorer: ScoreColumn, scores: FloatArray) -> None:
    if scores.min() == scores.max():
        raise DataError(
            f"the score '{scorer.column}' is constant ({scores[0]:g}).",
            "Nobody is strictly above its quantile; name the column of scores.",
        )


def _share(decision: FloatArray, sample: Sample) -> float:
    """The share selected: of rows, or of their weight."""
    chosen = decision != 0
    return float(chosen.mean() if sample.weights is None else sample.weights[chosen].sum() / sample.weights.sum())


def _select(
    plan: Plan,
    features: Features,
    sample: Sample,
    status_quo: Algorithm,
    seed: np.random.SeedSequence,
    where: str,
    report: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Let the rule find a candidate; whatever goes wrong names the split."""
    training = Training(
        sample=sample,
        features=features.columns,
        plain=features.plain,
        target_column=plan.target,
        design=plan.design,
        constraints=plan.constraints,
        seed=seed,
        report=report,
    )
    try:
        return run_rule(plan.rule, training, status_quo)
    except ImprovableError as error:
        raise RuleError(f"{where}{error.message}", error.hint) from error
    except Exception as error:
        reason = " ".join(str(error).split())[:240]
        raise RuleError(
            f"{where}rule '{plan.rule.name}' failed on {len(sample):,} training rows: {type(error).__name__}: {reason}"
        ) from error
