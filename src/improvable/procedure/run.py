"""Runs an audit: every repetition that is not done yet, kept as soon as it is, and the result.

In memory, repetitions are done one after the other. Through an engine, rules select for all repetitions first, and one
pass over the data counts what all of them need; the numbers are the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import SELECTION_GAP, gap_of_rates, monotone_steps
from improvable.algorithms.decisions import Algorithm, capacity_of, decide, mix
from improvable.algorithms.models import steady
from improvable.algorithms.rules.base import seen
from improvable.data.engines.memory import Memory
from improvable.data.frame import FrameLike
from improvable.errors import Caution
from improvable.inference.cells import CANDIDATE
from improvable.inference.intervals import disparities
from improvable.inference.tally import Tally, merge_tallies
from improvable.procedure.cautions import capacity_cautions, emit, gap_cautions, gather, share_cautions
from improvable.procedure.checkpoint import forget_counts, keep_counts, kept_counts, refuse_heavy
from improvable.procedure.evaluate import Contest, conclude, count_contests, most_counted
from improvable.procedure.export import repetition_rows
from improvable.procedure.importance import drivers, importance
from improvable.procedure.parallel import LOOKING, Progress, announced, in_parallel, limited_threads, worker_count
from improvable.procedure.plan import Plan
from improvable.procedure.prepare import Prepared, prepare_audit
from improvable.procedure.screen import perfection_cautions
from improvable.procedure.select import Fitted, complete_status_quo, fit_parts, select_on_all_rows
from improvable.procedure.split import ALL_ROWS, DRAWING, SHUFFLING, seed_of
from improvable.question.challenge import refuse_without_value
from improvable.question.settings import Settings
from improvable.question.utility import averages_over_selected
from improvable.results import storage
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.load import finished_repetitions


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

    `begun` is called before anything is computed or written, with True where an earlier run left the folder.
    """
    refuse_without_value(ready.plan.settings)
    plan, question = ready.plan, ready.plan.design.question
    workers = worker_count(n_jobs, own_code=plan.calls_own_code)
    if run_folder is None:
        begun(False)
    folder = None if run_folder is None else storage.open_run(run_folder, ready.identity(), begun)
    run = "" if folder is None else storage.run_key(question.to_dict(), ready.setting(), ready.data.digest)
    done = {} if folder is None else finished_repetitions(folder, question, ready.engine.backend, run)
    with limited_threads(workers, plan.repetitions):
        with announced("the status quo on all rows", progress):
            itself = _against_itself(ready, workers)
        gaps = disparities(itself.evidence, question.claim, question.alpha)
        asks = question.claim.asks("fairness")
        doubts = gap_cautions(gaps, question.alpha, ready.surveyed.constant) if asks else []
        results = _run(ready, folder, run, done, workers, progress)
    cautions = [*ready.cautions, *doubts, *gather([one.cautions for one in results])]
    emit(cautions)
    result = Audit(
        question=question,
        setting=ready.setting(),
        repetitions=tuple(results),
        disparities=tuple(gaps),
        cautions=tuple(cautions),
        census=itself.census,
        data=ready.data,
        fit_again=partial(_refit, ready),
        find_rows=partial(repetition_rows, ready),
        backend=ready.engine.backend,
    )
    if folder is not None:
        result.finish(folder)
        forget_counts(folder)
    return result


def _refit(ready: Prepared, repetition: int) -> Algorithm:
    """The rule's choice on all rows, or what a repetition tested: the same rows and seed give the same."""
    if repetition == ALL_ROWS.repetition:
        return select_on_all_rows(ready.plan, ready.features, ready.sample(), ready.seed)
    with limited_threads(workers=1, repetitions=1), Progress(1, enabled=False) as progress:
        fitted = fit_parts(*ready.teaching(repetition), progress)
    candidates, weights = [one.candidate for one in fitted], ready.splitting.weights.tolist()
    return mix(candidates, weights, ready.features.columns, ready.seed)


def _run(
    ready: Prepared,
    folder: Path | None,
    run: str,
    done: dict[int, Comparison],
    workers: int,
    show: bool | None,
) -> list[Comparison]:
    """All repetitions: those that the run folder already has, and the others."""

    def keep(one: Comparison) -> None:
        if folder is not None:
            storage.write_repetition(one, folder, run)
        done[one.repetition] = one

    every = range(1, ready.plan.repetitions + 1)
    left = [repetition for repetition in every if repetition not in done]
    run_repetitions = _one_by_one if isinstance(ready.engine, Memory) else partial(_all_at_once, folder, run)
    with Progress(len(every), len(every) - len(left), show) as progress:
        run_repetitions(ready, left, workers, progress, keep)
    return [done[repetition] for repetition in every]


def _against_itself(ready: Prepared, workers: int) -> Comparison:
    """The status quo on all rows: its own gaps (Assumption 1), from comparing it with itself, and whom it selects."""
    complete = complete_status_quo(ready.plan.status_quo, ready.sample(), ready.plan.breaking)
    contest, reading = Contest(ALL_ROWS, steady(complete), None), ready.surveyed.reading
    (tally,) = count_contests(ready.engine, reading, None, [contest], ready.columns.judged, ready.splitting)
    return _conclude(ready, tally, ALL_ROWS.repetition, None, workers)


def _one_by_one(
    ready: Prepared,
    repetitions: Sequence[int],
    workers: int,
    progress: Progress,
    keep: Callable[[Comparison], None],
) -> None:
    """Fit, count and conclude each repetition by itself, several at a time."""
    alone = replace(ready, engine=ready.engine.alone()) if isinstance(ready.engine, Memory) else ready
    jobs = ((alone, repetition, progress) for repetition in repetitions)

    def take(result: Comparison) -> None:
        keep(result)
        progress.done()

    in_parallel(_run_repetition, jobs, workers, take)


def _run_repetition(ready: Prepared, repetition: int, progress: Progress) -> Comparison:
    """All blocks of one repetition."""
    fitted = fit_parts(*ready.teaching(repetition), progress)
    progress.stage(repetition, f"{ready.plan.design.question.draws:,} draws")
    return _finish(ready, fitted, _pooled(ready, _count(ready, fitted)), workers=1)


def _all_at_once(
    folder: Path | None,
    run: str,
    ready: Prepared,
    repetitions: Sequence[int],
    workers: int,
    progress: Progress,
    keep: Callable[[Comparison], None],
) -> None:
    """Fit all repetitions, several at a time; then count all of them in one pass, unless a run before this one did."""
    fitted: dict[int, list[Fitted]] = {}
    number = ready.plan.repetitions * len(ready.splitting.blocks)
    jobs = ((*ready.teaching(repetition), progress) for repetition in repetitions)

    def take(found: list[Fitted]) -> None:
        for one in found:
            refuse_heavy(ready.plan, len(ready.drawn.chosen[one.part]), number, one)
        fitted[found[0].part.repetition] = found
        progress.done()

    in_parallel(fit_parts, jobs, workers, take)
    tallies = kept_counts(folder, run)
    if not all(repetition in tallies for repetition in repetitions):
        counted = iter(_count(ready, [one for found in fitted.values() for one in found]))
        tallies = {one: _pooled(ready, [next(counted) for _ in found]) for one, found in fitted.items()}
        keep_counts(folder, tallies, run)
    for repetition, found in fitted.items():
        keep(_finish(ready, found, tallies[repetition], workers))


def _pooled(ready: Prepared, tallies: Sequence[Tally]) -> Tally:
    """The tested rows of all blocks together: each row is there once."""
    return reduce(lambda one, other: merge_tallies(one, other, most_counted(ready.surveyed.reading)), tallies)


def _count(ready: Prepared, fitted: Sequence[Fitted]) -> tuple[Tally, ...]:
    """The third pass."""
    splitting, columns = ready.splitting, ready.columns.read
    contests = [_contest(ready, one) for one in fitted]
    return count_contests(ready.engine, ready.surveyed.reading, splitting, contests, columns, splitting)


def _contest(ready: Prepared, fitted: Fitted) -> Contest:
    monotone = ready.plan.constraints.monotone
    steps = monotone_steps(ready.sample(fitted.part).rows, monotone) if monotone else {}
    candidate = None if fitted.selection.algorithm is None else steady(fitted.candidate)
    return Contest(fitted.part, steady(fitted.status_quo), candidate, fitted.name, tuple(steps.items()), fitted.sight)


def _conclude(ready: Prepared, tally: Tally, repetition: int, reference: FloatArray | None, workers: int) -> Comparison:
    """The comparison of one repetition from what was counted."""
    return conclude(
        ready.plan.design,
        ready.surveyed.reading.attributes,
        tally,
        ready.test_clusters(repetition),
        reference,
        seed_of(ready.seed, repetition, DRAWING),
        workers,
        ready.engine.backend,
        f"repetition {repetition}: " if repetition else "",
    )


def _finish(ready: Prepared, fitted: Sequence[Fitted], tally: Tally, workers: int) -> Comparison:
    """The comparison of one repetition, all blocks together, with what is known of the training.

    Forward, the blocks' own pasts would each choose a reference pair of groups; so it is chosen on the rows that are
    tested, and the test accounts for the choice.
    """
    plan, last, repetition = ready.plan, fitted[-1], fitted[0].part.repetition
    result = _conclude(ready, tally, repetition, last.reference, workers)

    def mean(values: Sequence[float]) -> float:
        """Over blocks, each with its share of the tested rows."""
        return float(np.dot(ready.splitting.weights, values))

    shares = {
        name: {"train": mean([one.shares[t] for one in fitted]), **result.shares[name]}
        for t, name in enumerate(result.shares)
    }
    # A cutoff errs as the rows do that it is learned from, and the share of the tested rows as these do.
    tested = np.sqrt(last.rows / tally.rows)
    chance = [float(np.hypot(mean([one.errors[t] for one in fitted]), last.errors[t] * tested)) for t in range(2)]
    aim = None if last.capacity is None else mean([one.capacity or 0.0 for one in fitted])
    cautions = capacity_cautions((capacity_of(plan.status_quo), aim), tally.shares(), chance)
    cautions += share_cautions(tally.shares(), tally.rows, _share_hint(plan))
    cautions += result.cautions
    if repetition == 1:  # where a feature holds the answer, every repetition's candidates find it
        cautions += _perfection(ready, last)
    without = [one for one in fitted if one.selection.algorithm is None]
    if len(without) == len(fitted):
        cautions = [Caution("no candidate", f"rule '{plan.rule.name}' found no candidate, so p is 1.")]
    elif without:
        text = (
            f"rule '{plan.rule.name}' found no candidate for block {without[0].part.block}, where the status quo "
            "stands in for it."
        )
        cautions.append(Caution("no candidate for a block", text))
    notes: dict[str, Any] = {
        "blocks": [
            {**one.selection.notes, "block": one.part.block, "learned_from": one.rows, "reached": one.reached}
            for one in fitted
        ],
        "reached": _reached(ready, tally),
    }
    if repetition == 1 and last.selection.algorithm is not None:
        notes |= _drivers(ready, last)
    return replace(result, shares=shares, cautions=tuple(cautions), repetition=repetition, notes=notes)


def _perfection(ready: Prepared, fitted: Fitted) -> list[Caution]:
    """Whether the candidate decides as if it knew the outcomes of test rows."""
    some = ready.held_out(fitted.part)
    if not len(some):
        return []
    decisions = decide(steady(fitted.candidate), seen(some.rows, fitted.sight), fitted.name)
    return perfection_cautions(some, decisions, ready.plan.design.question.outcome)


def _drivers(ready: Prepared, fitted: Fitted) -> dict[str, Any]:
    """What the last candidate of the first repetition decides by, and what that is worth to it."""
    some, candidate = ready.held_out(fitted.part), steady(fitted.candidate)
    keys, seed = ready.splitting.keys(some), seed_of(ready.seed, fitted.part.repetition, SHUFFLING)
    found = drivers(candidate, some, ready.features.columns, keys, seed, fitted.name)
    worth = importance(candidate, ready.plan.design, some, found, keys, seed, fitted.name) if found else {}
    return {"drivers": found, "importance": worth}


def _share_hint(plan: Plan) -> str:
    """How to hold the share selected, where that is what makes the algorithms comparable."""
    if plan.constraints.active or not averages_over_selected(plan.design.utilities):
        return ""
    return "To give the candidate the status quo's own share: `capacity='same'`."


def _reached(ready: Prepared, tally: Tally) -> dict[str, float | int]:
    """What the candidate reached of each constraint on the test rows."""
    attributes = ready.surveyed.reading.attributes
    rates = {group: pair[CANDIDATE] for group, pair in tally.rates(attributes).items()}
    out: dict[str, float | int] = {SELECTION_GAP: gap_of_rates(rates, attributes)}
    if ready.plan.constraints.monotone:
        out["monotone_violations"] = tally.falls
    return out
