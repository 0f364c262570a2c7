"""Runs an audit: every split that is not done yet, kept as soon as it is, and the result."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from improvable.data.engines import as_engine
from improvable.data.fingerprint import fingerprint
from improvable.data.frames import FrameLike
from improvable.procedure.cautions import emit, gather
from improvable.procedure.compare import worker_count
from improvable.procedure.origins import origin_facts, plan_facts
from improvable.procedure.preparing import Prepared, check_settings, prepare_audit
from improvable.procedure.steps import (
    limited_threads,
    run_splits,
    status_quo_disparity,
)
from improvable.procedure.stopping import next_count, reproducible_after, stopping_cautions
from improvable.question.identity import asked_identity
from improvable.question.settings import Settings
from improvable.results import storage
from improvable.results.audit import Audit, Source
from improvable.results.comparison import Comparison


def run_audit(
    data: FrameLike,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
) -> Audit:
    """Run an audit whose settings are one value, such as a protocol's."""
    engine = as_engine(data, settings.engine, worker_count(n_jobs))
    if engine is not None:
        from improvable.procedure.passes import audit_batches  # with Polars, which help need not wait for

        return audit_batches(engine, check_settings(settings), worker_count(n_jobs), run_folder, progress)
    return run_prepared(prepare_audit(data, settings), n_jobs=n_jobs, run_folder=run_folder, progress=progress)


def run_prepared(
    ready: Prepared,
    *,
    n_jobs: int | None = None,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
    begun: Callable[[bool], None] = lambda _: None,
) -> Audit:
    """Run an audit whose settings and data are checked.

    `begun` is called when the first split is done, with False; or at once, with True, where a folder has splits.
    """
    design, plan, sample = ready.design, ready.plan, ready.sample
    workers = worker_count(n_jobs)
    setting = _setting(ready)
    with limited_threads(workers, plan.splits):
        gaps, doubts = status_quo_disparity(design, plan.status_quo, sample, workers)
        results = _run(ready, setting, workers, run_folder, progress, begun)
    cautions = [*ready.cautions, *doubts, *gather([split.cautions for split in results])]
    cautions += stopping_cautions(plan.stopping, results, design.question.alpha)
    emit(cautions)
    result = Audit(
        question=design.question,
        setting=setting,
        splits=tuple(results),
        disparities=tuple(gaps),
        cautions=tuple(cautions),
        source=Source(design, plan, sample),
        backend=sample.backend,
    )
    if run_folder is not None:
        storage.write_audit_head(result, Path(run_folder))
    return result


def _setting(ready: Prepared) -> dict[str, Any]:
    """How candidates are found, and where everything comes from, as plain data."""
    return plan_facts(ready.plan, ready.sample) | origin_facts(ready.settings, fingerprint(ready.rows, ready.used.all))


def _run(
    ready: Prepared,
    setting: dict[str, Any],
    workers: int,
    run_folder: str | Path | None,
    progress: bool | None,
    begun: Callable[[bool], None],
) -> list[Comparison]:
    """All splits: those that the run folder already has, and the others."""
    design, plan, sample = ready.design, ready.plan, ready.sample
    done: dict[int, Comparison] = {}
    folder = None
    if run_folder is not None:
        identity = {"splits": plan.splits, **setting, **design.question.to_dict(), **asked_identity(ready.settings)}
        identity.pop("protocol")  # what matters of it stands beside it, whoever declared it
        folder = storage.open_run(run_folder, identity)
        done = storage.finished_splits(folder, design.question, sample.backend)

    fresh = not done
    if not fresh:
        begun(True)

    def keep(split: Comparison) -> None:
        if folder is not None:
            storage.write_split(split, folder)
        if fresh and split.split == 1:
            begun(False)

    count = plan.splits
    while True:
        every = range(1, count + 1)
        left = [split for split in every if split not in done]
        done |= {one.split: one for one in run_splits(design, plan, sample, left, count, workers, progress, keep)}
        results = [done[split] for split in every]
        enough = reproducible_after(plan.stopping, plan.splits, results, design.question.alpha)
        if enough is not None:
            return results[:enough]
        count = next_count(plan.stopping, count, workers)
