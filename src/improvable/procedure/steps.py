"""The steps of one audit (Section 3.1): split the rows, let the rule select, compare on the rest."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from improvable.algorithms.constraints import Constraints, reached
from improvable.algorithms.deciding import Algorithm, Threshold, capacity_of, decide
from improvable.algorithms.rules.base import Selection, SelectionRule, Training, run_rule
from improvable.data.arrays import FloatArray, IntArray
from improvable.data.features import Features
from improvable.data.sample import FEWEST_CLUSTERS, Sample
from improvable.errors import Caution, DataError, ImprovableError, RuleError
from improvable.inference.estimates import Disparity, disparities
from improvable.inference.resampling import child
from improvable.procedure.cautions import capacity_cautions, gap_cautions, share_cautions
from improvable.procedure.evaluating import (
    evaluate,
    prepare_status_quo,
    refuse_undefined_training,
    selected_share,
    status_quo_sums,
)
from improvable.procedure.progress import Progress
from improvable.procedure.stopping import Stopping
from improvable.question.design import Design
from improvable.results.comparison import Comparison

SPLITTING, SELECTING, DRAWING = 0, 1, 2
"""Each split's seed has one child for each of these."""
FEWEST_ROWS = 20
Result = TypeVar("Result")


@dataclass(frozen=True)
class Plan:
    """How candidates are found: everything of an audit that is not the question itself."""

    status_quo: Algorithm | Threshold
    rule: SelectionRule
    features: Features
    target: str
    constraints: Constraints
    splits: int
    train_fraction: float
    stopping: Stopping | None = None


def check_split_sizes(sample: Sample, train_fraction: float, capacity: float | None) -> None:
    kind, least = ("rows", FEWEST_ROWS) if sample.clusters is None else ("clusters", FEWEST_CLUSTERS)
    training = int(train_fraction * sample.units)
    testing = sample.units - training
    if min(training, testing) < least:
        raise DataError(
            f"{sample.units:,} {kind} split into {training:,} for training and {testing:,} for testing.",
            f"Each part needs at least {least}; bring more {kind} or change the train fraction.",
        )
    if capacity is not None and capacity * train_fraction * len(sample) < 1:
        raise DataError(
            f"a capacity of {capacity:g} of {int(train_fraction * len(sample)):,} training rows is less than one row.",
            "Give a larger capacity, or bring more rows.",
        )


@contextmanager
def limited_threads(workers: int, splits: int) -> Iterator[None]:
    """Keep `workers` cores busy and no more: splits first, and what is left over to the estimators' own threads.

    BLAS always gets one thread, because it may round differently with another number of them.
    """
    import sklearn.ensemble  # noqa: F401  loads OpenMP: what is loaded later would not be limited
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits={"blas": 1, "openmp": max(1, workers // splits)}):
        yield


def status_quo_disparity(
    design: Design, algorithm: Algorithm | Threshold, sample: Sample, workers: int
) -> tuple[list[Disparity], list[Caution]]:
    """The status quo's own gaps on all rows (Assumption 1), from comparing it with itself."""
    decisions = decide(prepare_status_quo(algorithm, sample), sample.rows, "status quo")
    seed = child(np.random.SeedSequence(design.question.seed), 0, DRAWING)
    itself = evaluate(design, sample, (decisions, decisions), None, seed, workers)
    gaps = disparities(itself.evidence, design.question.claim, design.question.alpha)
    return gaps, gap_cautions(gaps, design.question.alpha)


def run_splits(
    design: Design,
    plan: Plan,
    sample: Sample,
    which: Sequence[int],
    total: int,
    workers: int,
    show: bool | None,
    finished: Callable[[Comparison], None],
) -> list[Comparison]:
    """Run the splits numbered `which`, of `total`; `finished` gets each as soon as it and those before it are done."""
    results: list[Comparison] = []
    with Progress(total, done=total - len(which), enabled=show) as progress:
        jobs = ((design, plan, sample, split, progress) for split in which)
        for result in in_parallel(_run_split, jobs, workers):
            finished(result)
            results.append(result)
            progress.done()
    return results


def select_on_all_rows(design: Design, plan: Plan, sample: Sample) -> Algorithm:
    """The rule applied to every row: what to use instead of the status quo."""
    with limited_threads(workers=1, splits=1):
        status_quo = prepare_status_quo(plan.status_quo, sample)
        seed = child(np.random.SeedSequence(design.question.seed), 0, SELECTING)
        found = _select(design, plan, sample, status_quo, seed, "all rows: ").algorithm
    if found is None:
        raise RuleError(f"rule '{plan.rule.name}' finds no candidate on all rows.", "The status quo stays.")
    algorithm: Algorithm = found
    return algorithm


def split_units(units: int, train_fraction: float, seed: np.random.SeedSequence) -> tuple[IntArray, IntArray]:
    """Training and test units of one split: floor(fraction * units) for training, the rest for testing, in order."""
    trains = np.zeros(units, dtype=np.bool_)
    trains[np.random.default_rng(seed).permutation(units)[: int(train_fraction * units)]] = True
    return np.flatnonzero(trains), np.flatnonzero(~trains)


def split_sample(sample: Sample, train_fraction: float, seed: np.random.SeedSequence) -> tuple[Sample, Sample]:
    """Divide rows, or whole clusters, into a training and a test sample."""
    train, test = split_units(sample.units, train_fraction, seed)
    if sample.clusters is not None:
        train, test = (np.flatnonzero(np.isin(sample.clusters, part)) for part in (train, test))
    return sample.take(train), sample.take(test)


def _run_split(design: Design, plan: Plan, sample: Sample, split: int, progress: Progress) -> Comparison:
    """One split: divide, select on the training rows, compare on the others."""
    seed = child(np.random.SeedSequence(design.question.seed), split)
    training, held_out = split_sample(sample, plan.train_fraction, child(seed, SPLITTING))
    fitted = fit_split(design, plan, training, split, progress)
    decisions = (
        decide(fitted.status_quo, held_out.rows, "status quo"),
        decide(fitted.candidate, held_out.rows, candidate_name(plan, split)),
    )
    progress.stage(split, f"{design.question.draws:,} draws of {len(held_out):,} rows")
    result = evaluate(design, held_out, decisions, fitted.reference, child(seed, DRAWING), 1, f"split {split}: ")
    return finish_split(plan, fitted, result, reached(plan.constraints, fitted.candidate, decisions[1], held_out))


@dataclass(frozen=True)
class Fitted:
    """What the training rows of one split gave.

    Attributes
    ----------
    split : int
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

    split: int
    status_quo: Algorithm
    candidate: Algorithm
    selection: Selection
    reference: FloatArray
    shares: tuple[float, float]
    reached: dict[str, float | int]


def candidate_name(plan: Plan, split: int) -> str:
    return f"candidate of rule '{plan.rule.name}' in split {split}"


def fit_split(design: Design, plan: Plan, training: Sample, split: int, progress: Progress) -> Fitted:
    """Complete the status quo and let the rule select, on the training rows of one split."""
    seed = child(np.random.SeedSequence(design.question.seed), split)
    where = f"split {split}: "
    progress.stage(split, f"rule '{plan.rule.name}' on {len(training):,} rows")
    status_quo = prepare_status_quo(plan.status_quo, training)
    selection = _select(
        design, plan, training, status_quo, child(seed, SELECTING), where, lambda text: progress.stage(split, text)
    )
    candidate = status_quo if selection.algorithm is None else selection.algorithm
    now = decide(status_quo, training.rows, "status quo")
    new = decide(candidate, training.rows, candidate_name(plan, split))
    reference = status_quo_sums(design, training, now)
    refuse_undefined_training(design, reference, training.grouping.attributes, where)
    return Fitted(
        split=split,
        status_quo=status_quo,
        candidate=candidate,
        selection=selection,
        reference=reference,
        shares=(selected_share(now, training), selected_share(new, training)),
        reached=reached(plan.constraints, candidate, new, training),
    )


def finish_split(plan: Plan, fitted: Fitted, result: Comparison, on_test: dict[str, float | int]) -> Comparison:
    """The comparison of one split, with what is known of its training."""
    shares = {
        name: {"train": share, **result.shares[name]} for name, share in zip(result.shares, fitted.shares, strict=True)
    }
    capacities = capacity_of(plan.status_quo), plan.constraints.capacity
    cautions = [*capacity_cautions(capacities, fitted.shares), *result.cautions]
    if plan.constraints.capacity is None:
        cautions += share_cautions([result.shares[name]["test"] for name in result.shares])
    if fitted.selection.algorithm is None:
        cautions = [Caution("no candidate", f"rule '{plan.rule.name}' found no candidate, so p is 1.")]
    notes = {**fitted.selection.notes, "reached": {"train": fitted.reached, "test": on_test}}
    return replace(result, shares=shares, cautions=tuple(cautions), split=fitted.split, notes=notes)


def in_parallel(work: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], workers: int) -> Iterable[Result]:
    """Run jobs on joblib's current backend, threads unless the caller chose another.

    Results come as they are ready, in order; all at once from a backend that cannot do that (Ray's).
    """
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    streams = getattr(backend, "supports_return_generator", False)
    done: Iterable[Result] = Parallel(
        n_jobs=workers, prefer="threads", pre_dispatch="n_jobs", return_as="generator" if streams else "list"
    )(delayed(_one_of_several)(work, job, workers, os.getpid()) for job in jobs)
    return done


def _one_of_several(work: Callable[..., Result], job: tuple[Any, ...], workers: int, parent: int) -> Result:
    """A job beside others: estimators that would start workers of their own do without, and processes get one core."""
    from joblib import parallel_config

    with ExitStack() as held:
        if workers > 1:
            held.enter_context(parallel_config(backend="sequential"))
        if os.getpid() != parent:
            held.enter_context(limited_threads(workers=1, splits=1))
        return work(*job)


def fit_splits(
    design: Design,
    plan: Plan,
    trainings: Iterable[tuple[int, Sample]],
    left: int,
    workers: int,
    show: bool | None,
    check: Callable[[Fitted], None],
) -> list[Fitted]:
    """Let the rule select on the training rows of several splits, in parallel; `check` may refuse each."""
    fitted: list[Fitted] = []
    with Progress(plan.splits, done=plan.splits - left, enabled=show) as progress:
        jobs = ((design, plan, sample, split, progress) for split, sample in trainings)
        for one in in_parallel(fit_split, jobs, workers):
            check(one)
            fitted.append(one)
            progress.done()
    return fitted


def _select(
    design: Design,
    plan: Plan,
    sample: Sample,
    status_quo: Algorithm,
    seed: np.random.SeedSequence,
    where: str,
    report: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Let the rule find a candidate; whatever goes wrong names the split."""
    training = Training(
        sample=sample,
        features=plan.features.columns,
        plain=plan.features.plain,
        target_column=plan.target,
        design=design,
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
