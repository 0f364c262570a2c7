"""Runs an audit: every split that is not done yet, kept as soon as it is, and the result.

Rows in memory are judged split by split. Through an engine, rules select for all splits first, and one pass over the
data counts what all of them need; the numbers are the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from improvable.algorithms.by_column import steady
from improvable.algorithms.constraints import SELECTION_GAP, gap_of_rates, monotone_steps
from improvable.algorithms.deciding import capacity_of
from improvable.data.arrays import FloatArray
from improvable.data.engines.memory import Memory
from improvable.data.frames import FrameLike
from improvable.errors import Caution
from improvable.inference.cells import CANDIDATE
from improvable.inference.estimates import disparities
from improvable.inference.tally import Tally
from improvable.procedure.cautions import capacity_cautions, emit, gap_cautions, gather, share_cautions
from improvable.procedure.counting import Contest, count_contests
from improvable.procedure.evaluating import conclude
from improvable.procedure.kept import forget_counts, keep_counts, kept_counts, refuse_heavy
from improvable.procedure.parallel import Progress, in_parallel, limited_threads, worker_count
from improvable.procedure.preparing import Prepared, prepare_audit
from improvable.procedure.sampling import Drawn
from improvable.procedure.selecting import Fitted, candidate_name, complete_status_quo, fit_split, select_on_all_rows
from improvable.procedure.splitting import ALL_ROWS, DRAWING, seed_of
from improvable.procedure.stopping import next_count, reproducible_after, stopping_cautions
from improvable.question.settings import Settings
from improvable.results import storage
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.loading import finished_splits


def run_audit(
    data: FrameLike,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
) -> Audit:
    """Run an audit whose settings are one value, such as a protocol's."""
    ready = prepare_audit(data, settings, n_jobs=n_jobs)
    return run_prepared(ready, n_jobs=n_jobs, run_folder=run_folder, progress=progress)


def run_prepared(
    ready: Prepared,
    *,
    n_jobs: int | None = None,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
    begun: Callable[[bool], None] = lambda _: None,
) -> Audit:
    """Run an audit whose settings and data are checked.

    `begun` is called when the first split is done, with False; or at once, with True, where the folder has splits.
    """
    plan, question, workers = ready.plan, ready.plan.design.question, worker_count(n_jobs)
    folder = None if run_folder is None else storage.open_run(run_folder, ready.identity())
    done = {} if folder is None else finished_splits(folder, question, ready.engine.backend)
    if done:
        begun(True)
    with limited_threads(workers, plan.splits):
        itself = _against_itself(ready, workers)
        gaps = disparities(itself.evidence, question.claim, question.alpha)
        doubts = gap_cautions(gaps, question.alpha, ready.surveyed.constant)
        results = _run(ready, folder, done, workers, progress, begun)
    cautions = [*ready.cautions, *doubts, *gather([one.cautions for one in results])]
    cautions += stopping_cautions(plan.stopping, results, question.alpha)
    emit(cautions)
    result = Audit(
        question=question,
        setting=ready.setting(),
        splits=tuple(results),
        disparities=tuple(gaps),
        cautions=tuple(cautions),
        census=itself.census,
        data=ready.data,
        refit=partial(select_on_all_rows, plan, ready.features, ready.sample(), ready.seed),
        backend=ready.engine.backend,
    )
    if folder is not None:
        result.finish(folder)
        forget_counts(folder)
    return result


def _run(
    ready: Prepared,
    folder: Path | None,
    done: dict[int, Comparison],
    workers: int,
    show: bool | None,
    begun: Callable[[bool], None],
) -> list[Comparison]:
    """All splits: those that the run folder already has, and the others."""
    plan = ready.plan

    def keep(one: Comparison) -> None:
        if folder is not None:
            storage.write_split(one, folder)
        if not done:
            begun(False)
        done[one.split] = one

    run_splits = _split_by_split if isinstance(ready.engine, Memory) else partial(_all_at_once, folder)
    count, drawn = plan.splits, ready.drawn
    while True:
        every = range(1, count + 1)
        left = [split for split in every if split not in done]
        if any(split not in drawn.chosen for split in left):
            drawn = ready.bring(left)
            ready.check_sizes(drawn)
        with Progress(count, done=count - len(left), enabled=show) as progress:
            run_splits(ready, drawn, left, workers, progress, keep)
        results = [done[split] for split in every]
        enough = reproducible_after(plan.stopping, plan.splits, results, plan.design.question.alpha)
        if enough is not None:
            return results[:enough]
        count = next_count(plan.stopping, count, workers)


def _against_itself(ready: Prepared, workers: int) -> Comparison:
    """The status quo on all rows: its own gaps (Assumption 1), from comparing it with itself, and whom it selects."""
    contest = Contest(ALL_ROWS, steady(complete_status_quo(ready.plan.status_quo, ready.sample())), None)
    (tally,) = count_contests(ready.engine, ready.surveyed.reading, None, [contest], ready.columns.judged)
    return _conclude(ready, tally, ALL_ROWS, None, workers)


def _split_by_split(
    ready: Prepared,
    drawn: Drawn,
    splits: Sequence[int],
    workers: int,
    progress: Progress,
    keep: Callable[[Comparison], None],
) -> None:
    """Fit, count and conclude each split by itself, several at a time."""
    alone = replace(ready, engine=ready.engine.alone()) if isinstance(ready.engine, Memory) else ready
    jobs = ((alone, drawn, split, progress) for split in splits)
    for result in in_parallel(_run_split, jobs, workers):
        keep(result)
        progress.done()


def _run_split(ready: Prepared, drawn: Drawn, split: int, progress: Progress) -> Comparison:
    training = ready.sample(split, drawn)
    fitted = fit_split(ready.plan, ready.features, training, split, ready.seed, progress)
    progress.stage(split, f"{ready.plan.design.question.draws:,} draws")
    (tally,) = _count(ready, [_contest(ready, fitted, drawn)])
    return _finish(ready, fitted, tally, workers=1)


def _all_at_once(
    folder: Path | None,
    ready: Prepared,
    drawn: Drawn,
    splits: Sequence[int],
    workers: int,
    progress: Progress,
    keep: Callable[[Comparison], None],
) -> None:
    """Fit all splits, several at a time; then count all of them in one pass, unless a run before this one did."""
    fitted: list[Fitted] = []
    jobs = ((ready.plan, ready.features, ready.sample(s, drawn), s, ready.seed, progress) for s in splits)
    for one in in_parallel(fit_split, jobs, workers):
        refuse_heavy(ready.plan, len(drawn.chosen[one.split]), one)
        fitted.append(one)
        progress.done()
    tallies = kept_counts(folder)
    if not all(split in tallies for split in splits):
        found = _count(ready, [_contest(ready, one, drawn) for one in fitted])
        tallies = {one.split: tally for one, tally in zip(fitted, found, strict=True)}
        keep_counts(folder, tallies)
    for one in fitted:
        keep(_finish(ready, one, tallies[one.split], workers))


def _count(ready: Prepared, contests: Sequence[Contest]) -> tuple[Tally, ...]:
    """The third pass."""
    return count_contests(ready.engine, ready.surveyed.reading, ready.splitting, contests, ready.columns.read)


def _contest(ready: Prepared, fitted: Fitted, drawn: Drawn) -> Contest:
    steps = {}
    if ready.plan.constraints.monotone:
        steps = monotone_steps(ready.sample(fitted.split, drawn).rows, ready.plan.constraints.monotone)
    candidate = None if fitted.selection.algorithm is None else steady(fitted.candidate)
    name = candidate_name(ready.plan, fitted.split)
    return Contest(fitted.split, steady(fitted.status_quo), candidate, name, (*steps.items(),))


def _conclude(ready: Prepared, tally: Tally, split: int, reference: FloatArray | None, workers: int) -> Comparison:
    """The comparison of one split from what was counted."""
    reading = ready.surveyed.reading
    return conclude(
        ready.plan.design,
        reading.attributes,
        tally,
        ready.test_clusters(split),
        reference,
        seed_of(ready.seed, split, DRAWING),
        workers,
        ready.engine.backend,
        f"split {split}: " if split else "",
    )


def _finish(ready: Prepared, fitted: Fitted, tally: Tally, workers: int) -> Comparison:
    """The comparison of one split, with what is known of its training."""
    plan, result = ready.plan, _conclude(ready, tally, fitted.split, fitted.reference, workers)
    shares = {
        name: {"train": share, **result.shares[name]} for name, share in zip(result.shares, fitted.shares, strict=True)
    }
    capacities = capacity_of(plan.status_quo), plan.constraints.capacity
    cautions = [*capacity_cautions(capacities, fitted.shares), *result.cautions]
    if plan.constraints.capacity is None:
        cautions += share_cautions(tally.shares())
    if fitted.selection.algorithm is None:
        cautions = [Caution("no candidate", f"rule '{plan.rule.name}' found no candidate, so p is 1.")]
    notes = {**fitted.selection.notes, "reached": {"train": fitted.reached, "test": _reached(ready, tally)}}
    return replace(result, shares=shares, cautions=tuple(cautions), split=fitted.split, notes=notes)


def _reached(ready: Prepared, tally: Tally) -> dict[str, float | int]:
    """What the candidate reached of each constraint on the test rows."""
    weights, attributes = tally.weights(), ready.surveyed.reading.attributes
    rates = {}
    for attribute in attributes:
        for g, group in enumerate(attribute.levels):
            everyone, *chosen = weights[attribute.member == g].sum(axis=0)
            rates[group] = float(chosen[CANDIDATE] / everyone)
    out: dict[str, float | int] = {SELECTION_GAP: gap_of_rates(rates, attributes)}
    if ready.plan.constraints.monotone:
        out["monotone_violations"] = tally.falls
    return out
