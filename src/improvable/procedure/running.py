"""Runs an audit: every split that is not done yet, kept as soon as it is, and the result.

Rows in memory are judged split by split. Through an engine, rules select for all splits first, and one pass over the
data counts what all of them need; the numbers are the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from improvable.algorithms.by_column import steady
from improvable.algorithms.constraints import SELECTION_GAP, gap_of_rates, monotone_steps
from improvable.algorithms.decisions import Algorithm, capacity_of, decide
from improvable.algorithms.mixture import even_mixture
from improvable.algorithms.rules.base import seen
from improvable.data.arrays import FloatArray
from improvable.data.engines.memory import Memory
from improvable.data.frames import FrameLike
from improvable.errors import Caution
from improvable.inference.cells import CANDIDATE
from improvable.inference.estimates import disparities
from improvable.inference.tally import Tally, merge_tallies
from improvable.procedure.cautions import capacity_cautions, emit, gap_cautions, gather, share_cautions
from improvable.procedure.counting import Contest, count_contests, most_counted
from improvable.procedure.driving import drivers
from improvable.procedure.evaluating import conclude
from improvable.procedure.exporting import split_rows
from improvable.procedure.importance import importance
from improvable.procedure.kept import forget_counts, keep_counts, kept_counts, refuse_heavy
from improvable.procedure.looking import perfection_cautions
from improvable.procedure.memorizing import memorizes, memorizing_cautions
from improvable.procedure.parallel import LOOKING, Progress, announced, in_parallel, limited_threads, worker_count
from improvable.procedure.planning import Plan
from improvable.procedure.preparing import Prepared, prepare_audit
from improvable.procedure.sampling import Drawn
from improvable.procedure.sealing import refuse_without_value
from improvable.procedure.selecting import (
    Fitted,
    candidate_name,
    complete_status_quo,
    fit_part,
    select_on_all_rows,
    sight_of,
)
from improvable.procedure.splitting import ALL_ROWS, DRAWING, SHUFFLING, Part, seed_of
from improvable.procedure.stopping import next_count, reproducible_after, stopping_cautions
from improvable.question.settings import Settings
from improvable.question.utilities import averages_over_selected
from improvable.results import storage
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.loading import finished_splits
from improvable.results.words import round_name


def run_audit(
    data: FrameLike,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
) -> Audit:
    """Run an audit whose settings are one value, such as a protocol's."""
    with announced(LOOKING, progress):
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

    `begun` is called before anything is computed or written, with True where the folder has what an earlier run did.
    """
    refuse_without_value(ready.plan.settings)
    plan, question, workers = ready.plan, ready.plan.design.question, worker_count(n_jobs)
    if run_folder is None:
        begun(False)
    folder = None if run_folder is None else storage.open_run(run_folder, ready.identity(), begun)
    run = "" if folder is None else storage.run_key(question.to_dict(), ready.setting(), ready.data.digest)
    done = {} if folder is None else finished_splits(folder, question, ready.engine.backend, run)
    with limited_threads(workers, plan.splits):
        with announced("the status quo on all rows", progress):
            itself = _against_itself(ready, workers)
        gaps = disparities(itself.evidence, question.claim, question.alpha)
        asks = question.claim.asks("fairness")
        doubts = gap_cautions(gaps, question.alpha, ready.surveyed.constant) if asks else []
        results = _run(ready, folder, run, done, workers, progress)
    cautions = [*ready.cautions, *doubts, *gather([one.cautions for one in results], round_name(question.folds))]
    cautions += stopping_cautions(plan.stopping, results, question)
    emit(cautions)
    result = Audit(
        question=question,
        setting=ready.setting(),
        splits=tuple(results),
        disparities=tuple(gaps),
        cautions=tuple(cautions),
        census=itself.census,
        data=ready.data,
        refit=partial(_refit, ready),
        rows=partial(split_rows, ready),
        backend=ready.engine.backend,
    )
    if folder is not None:
        result.finish(folder)
        forget_counts(folder)
    return result


def _refit(ready: Prepared, split: int) -> Algorithm:
    """The rule's choice on all rows, or what a split or repetition tested: the same rows and seed give the same."""
    if split == ALL_ROWS.split:
        return select_on_all_rows(ready.plan, ready.features, ready.sample(), ready.seed)
    parts = ready.splitting.parts([split])
    drawn = ready.drawn if all(part in ready.drawn.chosen for part in parts) else ready.bring([split])
    with limited_threads(workers=1, splits=1), Progress(1, enabled=False) as progress:
        fitted = [
            fit_part(ready.plan, ready.features, ready.sample(part, drawn), part, ready.seed, progress)
            for part in parts
        ]
    return even_mixture([one.candidate for one in fitted], ready.features.columns, ready.seed)


def _run(
    ready: Prepared,
    folder: Path | None,
    run: str,
    done: dict[int, Comparison],
    workers: int,
    show: bool | None,
) -> list[Comparison]:
    """All splits: those that the run folder already has, and the others."""
    plan = ready.plan

    def keep(one: Comparison) -> None:
        if folder is not None:
            storage.write_split(one, folder, run)
        done[one.split] = one

    run_splits = _split_by_split if isinstance(ready.engine, Memory) else partial(_all_at_once, folder, run)
    count, drawn = plan.splits, ready.drawn
    while True:
        every = range(1, count + 1)
        left = [split for split in every if split not in done]
        if any(part not in drawn.chosen for part in ready.splitting.parts(left)):
            drawn = ready.bring(left)
            ready.check_sizes(drawn)
        with Progress(count, count - len(left), show, round_name(plan.folds)) as progress:
            run_splits(ready, drawn, left, workers, progress, keep)
        results = [done[split] for split in every]
        enough = reproducible_after(plan.stopping, plan.splits, results, plan.design.question)
        if enough is not None:
            return results[:enough]
        count = next_count(plan.stopping, count, workers)


def _against_itself(ready: Prepared, workers: int) -> Comparison:
    """The status quo on all rows: its own gaps (Assumption 1), from comparing it with itself, and whom it selects."""
    complete = complete_status_quo(ready.plan.status_quo, ready.sample(), ready.plan.breaking)
    contest, reading = Contest(ALL_ROWS, steady(complete), None), ready.surveyed.reading
    (tally,) = count_contests(ready.engine, reading, None, [contest], ready.columns.judged, ready.splitting)
    return _conclude(ready, tally, ALL_ROWS.split, None, workers)


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
    """One split, or all folds of one repetition."""
    fitted = [
        fit_part(ready.plan, ready.features, ready.sample(part, drawn), part, ready.seed, progress)
        for part in ready.splitting.parts([split])
    ]
    progress.stage(split, f"{ready.plan.design.question.draws:,} draws")
    tallies = _count(ready, [_contest(ready, one, drawn) for one in fitted])
    return _finish(ready, fitted, _pooled(ready, tallies), workers=1)


def _all_at_once(
    folder: Path | None,
    run: str,
    ready: Prepared,
    drawn: Drawn,
    splits: Sequence[int],
    workers: int,
    progress: Progress,
    keep: Callable[[Comparison], None],
) -> None:
    """Fit all splits, several at a time; then count all of them in one pass, unless a run before this one did."""
    fitted: dict[int, list[Fitted]] = {split: [] for split in splits}
    parts = ready.splitting.parts(splits)
    jobs = ((ready.plan, ready.features, ready.sample(part, drawn), part, ready.seed, progress) for part in parts)
    for one in in_parallel(fit_part, jobs, workers):
        refuse_heavy(ready.plan, len(drawn.chosen[one.part]), one)
        fitted[one.part.split].append(one)
        if len(fitted[one.part.split]) == len(parts) // len(splits):
            progress.done()
    tallies = kept_counts(folder, run)
    if not all(split in tallies for split in splits):
        found = iter(_count(ready, [_contest(ready, one, drawn) for folds in fitted.values() for one in folds]))
        tallies = {split: _pooled(ready, [next(found) for _ in folds]) for split, folds in fitted.items()}
        keep_counts(folder, tallies, run)
    for split, folds in fitted.items():
        keep(_finish(ready, folds, tallies[split], workers))


def _pooled(ready: Prepared, tallies: Sequence[Tally]) -> Tally:
    """The test rows of all folds together: each row is there once."""
    return reduce(lambda one, other: merge_tallies(one, other, most_counted(ready.surveyed.reading)), tallies)


def _count(ready: Prepared, contests: Sequence[Contest]) -> tuple[Tally, ...]:
    """The third pass."""
    splitting, columns = ready.splitting, ready.columns.read
    return count_contests(ready.engine, ready.surveyed.reading, splitting, contests, columns, splitting)


def _contest(ready: Prepared, fitted: Fitted, drawn: Drawn) -> Contest:
    steps = {}
    if ready.plan.constraints.monotone:
        steps = monotone_steps(ready.sample(fitted.part, drawn).rows, ready.plan.constraints.monotone)
    candidate = None if fitted.selection.algorithm is None else steady(fitted.candidate)
    name = candidate_name(ready.plan, fitted.part)
    shown = sight_of(fitted, ready.plan, ready.features)
    return Contest(fitted.part, steady(fitted.status_quo), candidate, name, (*steps.items(),), shown)


def _conclude(ready: Prepared, tally: Tally, split: int, reference: FloatArray | None, workers: int) -> Comparison:
    """The comparison of one split from what was counted."""
    reading, folds = ready.surveyed.reading, ready.plan.folds
    return conclude(
        ready.plan.design,
        reading.attributes,
        tally,
        ready.test_clusters(ALL_ROWS if folds else Part(split)),
        reference,
        seed_of(ready.seed, split, DRAWING),
        workers,
        ready.engine.backend,
        f"{round_name(folds)} {split}: " if split else "",
    )


def _finish(ready: Prepared, fitted: Sequence[Fitted], tally: Tally, workers: int) -> Comparison:
    """The comparison of one split, or of all folds of a repetition, with what is known of the training.

    Folds leave no rows on which to choose the reference pair of groups, so it is chosen on the rows that are tested.
    """
    plan, first = ready.plan, fitted[0]
    result = _conclude(ready, tally, first.part.split, first.reference if plan.folds is None else None, workers)
    learned = [sum(one.shares[t] for one in fitted) / len(fitted) for t in range(2)]
    shares = {name: {"train": share, **result.shares[name]} for name, share in zip(result.shares, learned, strict=True)}
    rows = sum(one.rows for one in fitted) / len(fitted)
    chance = [first.errors[t] * np.sqrt(1 + rows / tally.rows) for t in range(2)]
    cautions = capacity_cautions((capacity_of(plan.status_quo), first.capacity), tally.shares(), chance)
    cautions += share_cautions(tally.shares(), tally.rows, _share_hint(plan))
    cautions += result.cautions
    if first.part.split == 1:  # where a feature holds the answer, every split's candidate finds it
        cautions += _perfection(ready, first)
        cautions += _memorizing(ready, result, fitted)
    without = [one for one in fitted if one.selection.algorithm is None]
    if len(without) == len(fitted):
        cautions = [Caution("no candidate", f"rule '{plan.rule.name}' found no candidate, so p is 1.")]
    elif without:
        text = (
            f"rule '{plan.rule.name}' found no candidate in fold {without[0].part.fold + 1}, where the status quo "
            "stands in for it."
        )
        cautions.append(Caution("no candidate in a fold", text))
    reached = {"train": first.reached, "test": _reached(ready, tally)}
    notes: dict[str, Any] = {**first.selection.notes, "reached": reached}
    if plan.folds is not None:
        notes = {"folds": [{**one.selection.notes, "reached": one.reached} for one in fitted], "reached": reached}
    if first.part.split == 1 and first.selection.algorithm is not None:
        notes |= _drivers(ready, first)
    return replace(result, shares=shares, cautions=tuple(cautions), split=first.part.split, notes=notes)


def _perfection(ready: Prepared, fitted: Fitted) -> list[Caution]:
    """Whether the candidate decides as if it knew the outcomes of test rows."""
    some = ready.held_out(fitted.part)
    if not len(some):
        return []
    rows = seen(some.rows, sight_of(fitted, ready.plan, ready.features))
    decisions = decide(steady(fitted.candidate), rows, candidate_name(ready.plan, fitted.part))
    return perfection_cautions(some, decisions, ready.plan.design.question.outcome)


def _memorizing(ready: Prepared, result: Comparison, fitted: Sequence[Fitted]) -> list[Caution]:
    """Whether the rule memorizes rows that have near-duplicates in other folds."""
    learned = [one.learned for one in fitted if one.learned is not None]
    if not learned or not ready.plan.design.question.claim.asks("accuracy"):
        return []
    label = result.evidence.measures[result.evidence.accuracy[0]].label
    found = memorizes(result.evidence, learned)
    return memorizing_cautions(found, label, ready.sample().rows, ready.features.columns)


def _drivers(ready: Prepared, fitted: Fitted) -> dict[str, Any]:
    """What the candidate of the first split decides by, and what that is worth to it."""
    some, candidate = ready.held_out(fitted.part), steady(fitted.candidate)
    keys, seed = ready.splitting.keys(some), seed_of(ready.seed, fitted.part.split, SHUFFLING)
    whose = candidate_name(ready.plan, fitted.part)
    found = drivers(candidate, some, ready.features.columns, keys, seed, whose)
    worth = importance(candidate, ready.plan.design, some, found, keys, seed, whose) if found else {}
    return {"drivers": found, "importance": worth}


def _share_hint(plan: Plan) -> str:
    """How to hold the share selected, where that is what makes the algorithms comparable."""
    if plan.constraints.active or not averages_over_selected(plan.design.utilities):
        return ""
    return "To give the candidate the status quo's own share: capacity='status_quo' (--capacity same)."


def _reached(ready: Prepared, tally: Tally) -> dict[str, float | int]:
    """What the candidate reached of each constraint on the test rows."""
    attributes = ready.surveyed.reading.attributes
    rates = {group: pair[CANDIDATE] for group, pair in tally.rates(attributes).items()}
    out: dict[str, float | int] = {SELECTION_GAP: gap_of_rates(rates, attributes)}
    if ready.plan.constraints.monotone:
        out["monotone_violations"] = tally.falls
    return out
