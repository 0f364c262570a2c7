"""Run an audit: every repetition that is not done yet, stored as soon as it is, and the
result.

In memory, repetitions are done one after the other. Through an engine, rules select for
all repetitions first, and one pass over the data counts what all of them need; the
numbers are the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from improvable._typing import FloatArray
from improvable.algorithms.constraints import (
    SELECTION_GAP,
    gap_of_rates,
    monotone_steps,
)
from improvable.algorithms.decisions import Algorithm, capacity_of, decide, mix
from improvable.algorithms.models import steady
from improvable.algorithms.rules.base import seen
from improvable.data.engines.memory import Memory
from improvable.data.frame import FrameLike
from improvable.data.io.safe import sweep
from improvable.data.probabilities import NAME
from improvable.errors import Caution, OptionError
from improvable.inference.cells import CANDIDATE
from improvable.inference.evidence import ALGORITHMS
from improvable.inference.intervals import disparities
from improvable.inference.tally import Tally, merge_tallies
from improvable.procedure.candidate_size import refuse_heavy
from improvable.procedure.cautions import (
    capacity_cautions,
    emit,
    gap_cautions,
    gather,
    share_cautions,
)
from improvable.procedure.drivers import find_drivers
from improvable.procedure.evaluate import (
    Contest,
    conclude,
    count_contests,
    decide_alone,
    max_cells,
)
from improvable.procedure.parallel import (
    LOOKING,
    Progress,
    announced,
    in_parallel,
    limited_threads,
    worker_count,
)
from improvable.procedure.prepare import Prepared, prepare_audit
from improvable.procedure.screen import perfection_cautions
from improvable.procedure.select import (
    Fitted,
    complete_status_quo,
    fit_parts,
    select_on_all_rows,
)
from improvable.procedure.split import ALL_ROWS, DRAWING, SHUFFLING, seed_of
from improvable.procedure.unknown import overlap_cautions
from improvable.question.challenge import refuse_without_value
from improvable.question.settings import Settings
from improvable.question.utility import averages_over_selected
from improvable.results import storage
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison, finished_repetitions
from improvable.results.facts import CountFacts


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

    `begun` is called before anything is computed or written, with True if the folder is
    that of an earlier run.
    """
    refuse_without_value(ready.plan.settings)
    plan, question = ready.plan, ready.plan.design.question
    workers = worker_count(n_jobs, own_code=plan.calls_own_code)
    folder, run = None, ""
    done: dict[int, Comparison] = {}
    if run_folder is None:
        begun(False)
    else:
        folder = storage.open_run(run_folder, ready.identity(), begun)
        run = storage.run_key(question.to_dict(), ready.setting(), ready.data.digest)
        done = finished_repetitions(folder, question, ready.engine.backend, run)
    with limited_threads(workers, plan.repetitions):
        with announced("the status quo on all rows", progress):
            itself = _against_itself(ready, workers)
        gaps = disparities(itself.evidence, question.claim, question.alpha)
        asks = question.claim.asks("fairness")
        doubts = (
            gap_cautions(gaps, question.alpha, ready.surveyed.constant) if asks else []
        )
        _run_repetitions(ready, folder, run, done, workers, progress)
    results = [done[repetition] for repetition in range(1, plan.repetitions + 1)]
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
        sweep(folder)
    return result


def _refit(ready: Prepared, repetition: int) -> Algorithm:
    """The rule's choice on all rows, or what a repetition tested: the same rows and
    seed give the same.
    """
    if repetition == ALL_ROWS.repetition:
        return select_on_all_rows(ready)
    with (
        limited_threads(workers=1, repetitions=1),
        Progress(1, enabled=False) as progress,
    ):
        fitted = fit_parts(ready, repetition, progress)
    candidates, weights = (
        [one.candidate for one in fitted],
        ready.splitting.weights.tolist(),
    )
    return mix(candidates, weights, ready.features.columns, ready.seed)


def _against_itself(ready: Prepared, workers: int) -> Comparison:
    """The status quo on all rows: its own gaps (Assumption 1), from comparing it with
    itself, and whom it selects.
    """
    complete = complete_status_quo(
        ready.plan.status_quo, ready.sample(), ready.plan.breaking
    )
    contest, reading = Contest(ALL_ROWS, steady(complete), None), ready.reading
    (tally,) = count_contests(
        ready.engine, reading, None, [contest], ready.columns.judged, ready.splitting
    )
    return _conclude(ready, tally, ALL_ROWS.repetition, None, workers)


def _run_repetitions(
    ready: Prepared,
    folder: Path | None,
    run: str,
    done: dict[int, Comparison],
    workers: int,
    show: bool | None,
) -> None:
    def keep(one: Comparison) -> None:
        if folder is not None:
            storage.write_repetition(one, folder, run)
        done[one.repetition] = one

    total = ready.plan.repetitions
    left = [repetition for repetition in range(1, total + 1) if repetition not in done]
    with Progress(total, total - len(left), show) as progress:
        if isinstance(ready.engine, Memory):
            alone = replace(ready, engine=replace(ready.engine, workers=1))

            def take(result: Comparison) -> None:
                keep(result)
                progress.done()

            in_parallel(
                _run_repetition,
                ((alone, repetition, progress) for repetition in left),
                workers,
                take,
            )
        else:
            fitted = _fit_all(ready, left, workers, progress)
            every_part = [part for parts in fitted.values() for part in parts]
            tallies = iter(_count(ready, every_part))
            for parts in fitted.values():
                tally = _pooled(ready, [next(tallies) for _ in parts])
                keep(_finish(ready, parts, tally, workers))


def _run_repetition(ready: Prepared, repetition: int, progress: Progress) -> Comparison:
    fitted = fit_parts(ready, repetition, progress)
    progress.stage(repetition, f"{ready.plan.design.question.draws:,} draws")
    return _finish(ready, fitted, _pooled(ready, _count(ready, fitted)), workers=1)


def _fit_all(
    ready: Prepared, repetitions: Sequence[int], workers: int, progress: Progress
) -> dict[int, list[Fitted]]:
    """Fit all repetitions, several at a time, before one pass over an engine's data
    counts for all of them.
    """
    out: dict[int, list[Fitted]] = {}
    number = ready.plan.repetitions * len(ready.splitting.blocks)

    def take(fitted: list[Fitted]) -> None:
        for one in fitted:
            refuse_heavy(ready.plan, len(ready.training.chosen[one.part]), number, one)
        out[fitted[0].part.repetition] = fitted
        progress.done()

    in_parallel(
        fit_parts,
        ((ready.lessons, repetition, progress) for repetition in repetitions),
        workers,
        take,
    )
    return out


def _count(ready: Prepared, fitted: Sequence[Fitted]) -> tuple[Tally, ...]:
    monotone, contests = ready.plan.constraints.monotone, []
    for one in fitted:
        steps = (
            monotone_steps(ready.sample(one.part).rows, monotone) if monotone else {}
        )
        candidate = None if one.selection.algorithm is None else steady(one.candidate)
        known = one.name, tuple(steps.items()), one.sight, one.outcomes
        contests.append(Contest(one.part, steady(one.status_quo), candidate, *known))
    splitting, reading = ready.splitting, ready.reading
    return count_contests(
        ready.engine, reading, splitting, contests, ready.columns.read, splitting
    )


def _pooled(ready: Prepared, tallies: Sequence[Tally]) -> Tally:
    """The tested rows of all blocks together: each row is there once."""
    return reduce(
        lambda one, other: merge_tallies(one, other, max_cells(ready.reading)), tallies
    )


def _conclude(
    ready: Prepared,
    tally: Tally,
    repetition: int,
    reference: FloatArray | None,
    workers: int,
) -> Comparison:
    return conclude(
        ready.plan.design,
        ready.reading.tested,
        tally,
        ready.test_clusters(repetition),
        reference,
        seed_of(ready.seed, repetition, DRAWING),
        workers,
        ready.engine.backend,
        f"repetition {repetition}: " if repetition else "",
    )


def _finish(
    ready: Prepared, fitted: Sequence[Fitted], tally: Tally, workers: int
) -> Comparison:
    """The comparison of one repetition, all blocks together, with what is known of the
    training.

    Forward, the rows before each block would each choose a reference pair of groups; so
    it is chosen on the tested rows, and the test accounts for the choice.
    """
    plan, last, repetition = ready.plan, fitted[-1], fitted[0].part.repetition
    result = _conclude(ready, tally, repetition, last.reference, workers)

    def mean(values: Sequence[float]) -> float:
        """Over blocks, each with its share of the tested rows."""
        return float(np.dot(ready.splitting.weights, values))

    shares = {
        name: {"train": mean([one.shares[t] for one in fitted]), **share}
        for t, (name, share) in enumerate(result.counts["share_selected"].items())
    }
    # A cutoff errs as the rows do that it is learned from, and the share of the tested
    # rows as these do.
    tested = np.sqrt(last.rows / tally.rows)
    chance = [
        float(
            np.hypot(mean([one.errors[t] for one in fitted]), last.errors[t] * tested)
        )
        for t in range(2)
    ]
    aim = (
        None if last.capacity is None else mean([one.capacity or 0.0 for one in fitted])
    )
    hint = ""
    if averages_over_selected(plan.design.utilities) and not plan.constraints.active:
        hint = "To give the candidate the status quo's own share: `capacity='same'`."
    cautions = capacity_cautions(
        (capacity_of(plan.status_quo), aim), tally.shares(), chance
    )
    cautions += share_cautions(tally.shares(), tally.rows, hint)
    cautions += result.cautions

    attributes = ready.reading.tested
    rates = {group: pair[CANDIDATE] for group, pair in tally.rates(attributes).items()}
    reached: dict[str, float | int] = {SELECTION_GAP: gap_of_rates(rates, attributes)}
    if plan.constraints.monotone:
        reached["monotone_violations"] = tally.falls
    blocks = [
        {
            **one.selection.notes,
            "block": one.part.block,
            "learned_from": one.rows,
            "reached": one.reached,
        }
        for one in fitted
    ]
    notes: dict[str, Any] = {"blocks": blocks, "reached": reached}
    if last.unknown is not None:
        notes["unknown"] = last.unknown
        cautions += overlap_cautions(last.unknown)
    # if a feature holds the answer, the candidates of every repetition find it
    if repetition == 1:
        held_out, candidate = ready.held_out(last.part), steady(last.candidate)
        if len(held_out):
            decisions = decide(candidate, seen(held_out.rows, last.sight), last.name)
            there = ~np.isnan(held_out.outcomes[None])
            cautions += perfection_cautions(
                held_out.known(), decisions[there], plan.design.question.outcome
            )
        if last.selection.algorithm is not None:
            keys, seed = (
                ready.splitting.keys(held_out),
                seed_of(ready.seed, repetition, SHUFFLING),
            )
            notes["drivers"] = find_drivers(
                candidate, held_out, ready.features.columns, keys, seed, last.name
            )
    none = f"rule '{plan.rule.name}' found no candidate"
    without = [one for one in fitted if one.selection.algorithm is None]
    if len(without) == len(fitted):
        cautions = [Caution("no candidate", f"{none}, so p is 1.")]
    elif without:
        text = (
            f"{none} for block {without[0].part.block}, where the status quo stands in "
            "for it."
        )
        cautions.append(Caution("no candidate for a block", text))
    counts: CountFacts = {**result.counts, "share_selected": shares}
    return result.with_cautions(
        cautions, counts=counts, repetition=repetition, notes=notes
    )


def repetition_rows(ready: Prepared, repetitions: Sequence[int]) -> Any:
    """Every row in every repetition, as a Polars frame, for the other side's expert.

    A row has its id, or its number in the data from 1; its groups, outcomes and weight
    as they were read; the repetition and its block there; and both decisions, unless
    that is block 0, which is not tested. Candidates are not stored, so they are found
    again: the same rows and seed give the same.
    """
    if not isinstance(ready.engine, Memory):
        raise OptionError(
            "rows can be exported only from data in memory.", "Leave out the engine."
        )
    sample, keys = ready.reading.sample(ready.engine.rows), ready.engine.rows.keys
    assert keys is not None
    assert sample.rows.keys is not None
    order = np.argsort(keys, kind="stable")
    number = order[np.searchsorted(keys[order], sample.rows.keys)] + 1
    row_id, question = ready.plan.settings.row_id, ready.plan.design.question
    known = {"row": pl.Series("row", number)}
    if row_id is not None:  # as it is: a long id would lose its last digits as a float
        known = {row_id: pl.Series(row_id, sample.rows.frame[row_id].to_list())}
    for attribute in sample.grouping.attributes:
        levels = np.array(attribute.levels, dtype=object)[
            attribute.member[sample.grouping.codes]
        ]
        known[attribute.name] = pl.Series(
            attribute.name, levels.tolist(), dtype=pl.String
        )
    # nobody knows more than these
    if sample.spread is not None and ready.reading.membership is not None:
        del known[NAME]
        named = zip(
            ready.reading.membership.columns, sample.spread.shares.T[1:], strict=False
        )
        known |= {name: pl.Series(name, values) for name, values in named}
    for name, values in sample.outcomes.items():
        known[name or question.outcome] = pl.Series(name or question.outcome, values)
    if sample.weights is not None and question.weight is not None:
        known[question.weight] = pl.Series(question.weight, sample.weights)
    told, units, frames = pl.DataFrame(known), ready.splitting.units(sample), []
    with (
        limited_threads(workers=1, repetitions=1),
        Progress(len(repetitions), enabled=False) as progress,
    ):
        for repetition in repetitions:
            fitted = fit_parts(ready, repetition, progress)
            block = ready.splitting.block_of(ready.splitting.places(units, repetition))
            both = np.full((len(sample), 2), np.nan)
            for one in fitted:
                tested = np.flatnonzero(block == one.part.block)
                if len(tested):
                    rows = sample.rows.take(tested)
                    both[tested] = decide_alone(
                        steady(one.status_quo), rows, "status quo"
                    )[:, None]
                    if one.selection.algorithm is not None:
                        both[tested, 1] = decide_alone(
                            steady(one.candidate), seen(rows, one.sight), one.name
                        )
            decided = [
                pl.Series(name, both[:, t]).fill_nan(None)
                for t, name in enumerate(ALGORITHMS)
            ]
            where = (
                pl.lit(repetition, pl.Int64).alias("repetition"),
                pl.Series("block", block),
            )
            frames.append(told.with_columns(*where, *decided))
    return pl.concat(frames)
