"""The steps of one audit (Section 3.1): split the rows, let the rule select, compare on the rest."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from improvable.algorithms import Algorithm, Threshold, as_algorithm, capacity_of, decide, prepare
from improvable.arrays import FloatArray, IntArray
from improvable.cautions import Caution, capacity_cautions, gap_caution
from improvable.compare import Comparison, evaluate, gap_interval, prepare_status_quo, reference_pair, sample_cells
from improvable.data import Rows
from improvable.design import Design, Sample
from improvable.errors import DataError, ImprovableError, RuleError
from improvable.inference.cells import STATUS_QUO
from improvable.inference.criteria import utilities_of
from improvable.inference.resampling import child
from improvable.progress import Progress
from improvable.rules import SelectionRule, Training

SPLITTING, SELECTING, DRAWING = 0, 1, 2
"""Each split's seed has one child for each of these."""
FEWEST_ROWS = 20


@dataclass(frozen=True)
class Plan:
    """How candidates are found: everything of an audit that is not the question itself."""

    status_quo: Algorithm | Threshold
    rule: SelectionRule
    features: tuple[str, ...]
    target: str
    capacity: float | None
    splits: int
    train_fraction: float


def check_split_sizes(rows: int, train_fraction: float) -> None:
    training = int(train_fraction * rows)
    if min(training, rows - training) < FEWEST_ROWS:
        raise DataError(
            f"{rows:,} rows split into {training:,} for training and {rows - training:,} for testing.",
            f"Each part needs at least {FEWEST_ROWS}; bring more rows or change the train fraction.",
        )


@contextmanager
def limited_threads(workers: int, splits: int) -> Iterator[None]:
    """Keep `workers` cores busy and no more: splits first, and what is left over to the estimators' own threads.

    BLAS always gets one thread, because it may round differently with another number of them.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits={"blas": 1, "openmp": max(1, workers // splits)}):
        yield


def disparity(
    design: Design, algorithm: Algorithm | Threshold, sample: Sample, workers: int
) -> tuple[tuple[float, float, float], list[Caution]]:
    """The status quo's own gap on all rows (Assumption 1), from comparing it with itself."""
    decisions = decide(prepare_status_quo(algorithm, sample.rows), sample.rows, "status quo")
    seed = child(np.random.SeedSequence(design.seed), 0, DRAWING)
    itself = evaluate(design, sample, (decisions, decisions), None, seed, workers)
    gap = gap_interval(itself.evidence, design.alpha)
    return gap, gap_caution(gap, design)


def run_splits(design: Design, plan: Plan, sample: Sample, workers: int, show: bool | None) -> list[Comparison]:
    from joblib import Parallel, delayed

    results: list[Comparison] = []
    with Progress(plan.splits, show) as progress:
        jobs = (
            delayed(_run_split)(design, plan, sample, split, progress, os.getpid())
            for split in range(1, plan.splits + 1)
        )
        for result in Parallel(n_jobs=workers, prefer="threads", return_as="generator")(jobs):
            results.append(result)
            progress.done()
    return results


def select_on_all_rows(design: Design, plan: Plan, sample: Sample) -> Algorithm:
    """The rule applied to every row: what to use instead of the status quo."""
    with limited_threads(workers=1, splits=1):
        status_quo = prepare_status_quo(plan.status_quo, sample.rows)
        seed = child(np.random.SeedSequence(design.seed), 0, SELECTING)
        return _select(design, plan, sample.rows, status_quo, seed, "all rows: ")


def split_rows(rows: int, train_fraction: float, seed: np.random.SeedSequence) -> tuple[IntArray, IntArray]:
    """Training and test rows of one split: floor(fraction * rows) for training, the rest for testing, each in order."""
    shuffled = np.random.default_rng(seed).permutation(rows)
    edge = int(train_fraction * rows)
    return np.sort(shuffled[:edge]), np.sort(shuffled[edge:])


def _run_split(design: Design, plan: Plan, sample: Sample, split: int, progress: Progress, parent: int) -> Comparison:
    """One split: divide, select on the training rows, compare on the others."""
    if os.getpid() != parent:
        with limited_threads(workers=1, splits=plan.splits):
            return _run_split(design, plan, sample, split, progress, os.getpid())
    seed = child(np.random.SeedSequence(design.seed), split)
    where = f"split {split}: "
    train, test = split_rows(len(sample), plan.train_fraction, child(seed, SPLITTING))
    training = sample.take(train)
    progress.stage(split, f"rule '{plan.rule.name}' on {len(training):,} rows")
    status_quo = prepare_status_quo(plan.status_quo, training.rows)
    candidate = _select(design, plan, training.rows, status_quo, child(seed, SELECTING), where)
    decided = decide(status_quo, training.rows, "status quo"), decide(candidate, training.rows, "candidate")
    reference = _training_reference(design, training, decided[0], where)
    held_out = sample.take(test)
    decisions = decide(status_quo, held_out.rows, "status quo"), decide(candidate, held_out.rows, "candidate")
    progress.stage(split, f"{design.draws:,} draws of {len(held_out):,} rows")
    result = evaluate(design, held_out, decisions, reference, child(seed, DRAWING), 1, where)
    shares = {
        name: {"train": float((d != 0).mean()), **result.shares[name]}
        for name, d in zip(result.shares, decided, strict=True)
    }
    capacities = capacity_of(plan.status_quo), plan.capacity
    reached = [shares[name]["train"] for name in shares]
    cautions = [*capacity_cautions(capacities, reached), *result.cautions]
    return replace(result, shares=shares, cautions=tuple(cautions), split=split)


def _training_reference(design: Design, training: Sample, decision: FloatArray, where: str) -> tuple[int, int]:
    cells = sample_cells(design, training, (decision, decision))
    groups = training.grouping.levels
    sums = cells.sums().reshape(len(groups), len(design.utilities), 2, 2)
    values = utilities_of(sums)[:, -1, STATUS_QUO]
    if np.isnan(values).any():
        group = groups[int(np.flatnonzero(np.isnan(values))[0])]
        raise DataError(
            f"{where}the status quo selects nobody of group '{group}' among the training rows.",
            "Leave that group out, use a larger capacity, or bring more rows.",
        )
    return reference_pair(values)


def _select(
    design: Design,
    plan: Plan,
    rows: Rows,
    status_quo: Algorithm,
    seed: np.random.SeedSequence,
    where: str,
) -> Algorithm:
    """Let the rule find a candidate; whatever goes wrong names the split."""
    training = Training(
        rows=rows,
        features=plan.features,
        target=rows.numbers(plan.target),
        capacity=plan.capacity,
        numeric_decisions=not any(utility.binary_decision for utility in design.utilities),
        seed=seed,
    )
    try:
        return prepare(as_algorithm(plan.rule.select(training, status_quo)), rows)
    except ImprovableError as error:
        raise RuleError(f"{where}{error.message}", error.hint) from error
    except Exception as error:
        reason = " ".join(str(error).split())[:240]
        raise RuleError(
            f"{where}rule '{plan.rule.name}' failed on {len(rows):,} training rows: {type(error).__name__}: {reason}"
        ) from error
