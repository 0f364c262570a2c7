"""On training rows: the status quo is completed, and the rule selects a candidate (Section 3.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
from improvable.procedure.evaluate import refuse_undefined_training
from improvable.procedure.parallel import Progress, limited_threads
from improvable.procedure.plan import Plan
from improvable.procedure.split import ALL_ROWS, SELECTING, Drawn, Part, seed_of


@dataclass(frozen=True)
class Fitted:
    """What the training rows of one part gave.

    Attributes
    ----------
    part : Part
    status_quo, candidate : Algorithm
        Complete; without a candidate the status quo takes its place.
    name : str
        How messages call the candidate.
    sight : tuple of str or None
        The columns that the candidate is shown when it decides; None, for all, where it is the status quo itself.
    selection : Selection
        What the rule says of it.
    reference : array of shape (strata, utilities, 2), or None
        The status quo's sums, which choose the reference pair of groups in the paper's split.
    rows : int
        How many training rows there were.
    shares : tuple of two floats
        Share selected by either.
    errors : tuple of two floats
        Standard errors of these shares, over rows or clusters.
    capacity : float or None
        The candidate's.
    reached : dict
        What the candidate reached of each constraint.
    """

    part: Part
    status_quo: Algorithm
    candidate: Algorithm
    name: str
    sight: tuple[str, ...] | None
    selection: Selection
    reference: FloatArray | None
    rows: int
    shares: tuple[float, float]
    errors: tuple[float, float]
    capacity: float | None
    reached: dict[str, float | int]


def _place_of(plan: Plan, part: Part) -> str:
    where = f"repetition {part.repetition}"
    return where if plan.scheme == "split" else f"{where}, block {part.block}"


def _name_of(plan: Plan, part: Part) -> str:
    return f"candidate of rule '{plan.rule.name}' in {_place_of(plan, part)}"


def fit_part(plan: Plan, features: Features, training: Sample, part: Part, seed: int, progress: Progress) -> Fitted:
    """Complete the status quo and let the rule select, on the training rows of one part."""
    where, purpose = f"{_place_of(plan, part)}: ", (SELECTING, part.block - 1) if part.block > 1 else (SELECTING,)
    progress.stage(part.repetition, f"rule '{plan.rule.name}' on {len(training):,} rows")
    status_quo = complete_status_quo(plan.status_quo, training, plan.breaking)
    before = decide(status_quo, training.rows, "status quo")
    constraints = settle_capacity(plan.constraints, before, training, where)
    selection = _select(
        plan, constraints, features, training, status_quo, seed_of(seed, part.repetition, *purpose), where,
        lambda text: progress.stage(part.repetition, text),
    )  # fmt: skip
    candidate = status_quo if selection.algorithm is None else selection.algorithm
    shown = None if candidate is status_quo else _sight(plan, features)
    sample, name = replace(training, rows=seen(training.rows, shown)), _name_of(plan, part)
    after = decide(candidate, sample.rows, name)
    reference = None
    if plan.scheme == "split":  # forward, the reference pair of groups is chosen on the rows that are tested
        reference = status_quo_sums(plan.design, training, before)
        refuse_undefined_training(plan.design, reference, training.grouping.attributes, where)
    return Fitted(
        part=part,
        status_quo=status_quo,
        candidate=candidate,
        name=name,
        sight=shown,
        selection=selection,
        reference=reference,
        rows=len(training),
        shares=(_share(before, training), _share(after, training)),
        errors=(_share_error(before, training), _share_error(after, training)),
        capacity=constraints.capacity,
        reached=reached(constraints, candidate, after, sample),
    )


def fit_parts(
    plan: Plan, features: Features, drawn: Drawn, reading: Reading, parts: Sequence[Part], seed: int, progress: Progress
) -> list[Fitted]:
    """Fit the blocks of one repetition; blocks whose rules see the same rows share one fit.

    In the order of the rows: a rule that remembers what it saw must not have seen a block's own rows.
    """
    found: dict[Part, Fitted] = {}
    for part in parts:
        teacher = drawn.teacher(part)
        if teacher not in found:
            found[teacher] = fit_part(plan, features, drawn.sample(reading, teacher), teacher, seed, progress)
        found[part] = replace(found[teacher], part=part, name=_name_of(plan, part))
    return [found[part] for part in parts]


def _sight(plan: Plan, features: Features) -> tuple[str, ...]:
    """The columns that a candidate is shown when it decides: its features, never the outcome.

    A candidate that may use the group is shown that, and a blend what the status quo reads.
    """
    shown = dict.fromkeys(features.columns)
    if not plan.constraints.group_blind:
        shown |= dict.fromkeys(plan.design.question.group)
    if blends(plan.rule):
        reads, question = reads_of(plan.status_quo), plan.design.question
        hidden = {*plan.design.outcome_columns, plan.target, question.weight, *plan.design.label_columns}
        others = features.left_out if reads.anything else (*reads.numbers, *reads.features)
        shown |= dict.fromkeys(name for name in others if not reads.anything or name not in hidden)
    return tuple(shown)


def select_on_all_rows(plan: Plan, features: Features, sample: Sample, seed: int) -> Algorithm:
    """The rule applied to every row: what to use instead of the status quo."""
    with limited_threads(workers=1, repetitions=1):
        status_quo = complete_status_quo(plan.status_quo, sample, plan.breaking)
        before = decide(status_quo, sample.rows, "status quo")
        constraints = settle_capacity(plan.constraints, before, sample, "all rows: ")
        purpose = seed_of(seed, ALL_ROWS.repetition, SELECTING)
        found = _select(plan, constraints, features, sample, status_quo, purpose, "all rows: ").algorithm
    if found is None:
        raise RuleError(f"rule '{plan.rule.name}' finds no candidate on all rows.", "The status quo stays.")
    algorithm: Algorithm = found
    return algorithm


def settle_capacity(constraints: Limits, before: FloatArray, training: Sample, where: str) -> Limits:
    """A capacity that is the status quo's own share becomes a number, learned from training rows."""
    if not constraints.same_share:
        return constraints
    share = _share(before, training)
    if not 0 < share < 1:
        raise DataError(
            f"{where}the status quo selects {'everyone' if share else 'nobody'} among the training rows, and the "
            "candidate's capacity is to be the same.",
            "Give the capacity as a number, or leave it out.",
        )
    return replace(constraints, capacity=share)


def complete_status_quo(algorithm: Algorithm | Threshold, training: Sample, breaking: TieBreaking | None) -> Algorithm:
    """Complete the status quo; a score that never varies cannot be thresholded."""
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
    """The share selected: of rows, or of their weight."""
    chosen = decision != 0
    return float(chosen.mean() if sample.weights is None else sample.weights[chosen].sum() / sample.weights.sum())


def _share_error(decision: FloatArray, sample: Sample) -> float:
    """The standard error of a share over rows, or over clusters, as they are weighted."""
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    chosen = decision != 0
    deviation = weights * (chosen - float(np.average(chosen, weights=weights)))
    total = np.bincount(sample.unit_codes(), weights=deviation)
    return float(np.sqrt((total**2).sum()) / weights.sum())


def _select(
    plan: Plan,
    constraints: Limits,
    features: Features,
    sample: Sample,
    status_quo: Algorithm,
    seed: np.random.SeedSequence,
    where: str,
    report: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Let the rule find a candidate; whatever goes wrong names the repetition and the block."""
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
        sight=_sight(plan, features),
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
