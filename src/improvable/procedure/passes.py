"""An audit where the rows live: three passes over the data, and the rule on the driver in between.

1. The survey: rows, groups, what is missing.
2. The training rows of all splits, brought to the driver; rules select, in parallel over splits.
3. Both algorithms decide for the test rows of all splits, inside the workers; what they contribute is counted.

What is counted becomes comparisons exactly as rows in memory do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from improvable.algorithms.by_column import steady
from improvable.algorithms.constraints import SELECTION_GAP, check_features, gap_of_rates, monotone_steps
from improvable.algorithms.deciding import describe
from improvable.data.arrays import FloatArray, IntArray
from improvable.data.columns import Columns, refuse_dependent
from improvable.data.engines.batches import Engine, run
from improvable.data.features import Features, choose_features
from improvable.data.reading import Reading
from improvable.data.sample import FEWEST_CLUSTERS, Sample
from improvable.errors import DataError, OptionError
from improvable.inference.cells import CANDIDATE
from improvable.inference.estimates import disparities
from improvable.inference.normal_limit import most_cells
from improvable.inference.resampling import child
from improvable.procedure.cautions import emit, gap_cautions, gather
from improvable.procedure.counting import Contest, Counting, MergeParts, Part, tally_of
from improvable.procedure.evaluating import conclude, prepare_status_quo
from improvable.procedure.kept import forget_stages, keep_counts, keep_sample, kept_counts, kept_sample
from improvable.procedure.origins import origin_facts, plan_facts
from improvable.procedure.preparing import Checked
from improvable.procedure.sampling import TRAIN_ROWS, Drawn, check_keys, draw_rows
from improvable.procedure.splitting import Splitting, make_splitting
from improvable.procedure.steps import (
    DRAWING,
    FEWEST_ROWS,
    Fitted,
    Plan,
    candidate_name,
    finish_split,
    fit_splits,
    limited_threads,
)
from improvable.procedure.survey import Survey, Surveying, conclude_survey, merge_surveys
from improvable.procedure.weighing import refuse_heavy
from improvable.question.checks import check_integer
from improvable.question.declaration import ANY_ENGINE
from improvable.question.identity import asked_identity
from improvable.question.settings import Settings
from improvable.results import storage
from improvable.results.audit import Audit, Source
from improvable.results.comparison import Comparison


@dataclass(frozen=True)
class Asked:
    """What an audit through an engine was asked."""

    checked: Checked

    def __post_init__(self) -> None:
        settings = self.checked.settings
        if settings.challenge is not None:
            raise OptionError("a sealed audit reads its data into memory.", "Leave the engine, or the challenge, away.")
        if self.checked.stopping is not None:
            raise OptionError(
                "combine 'sequential' reads the data once for every few splits.", "With an engine, fix their number."
            )
        check_integer("train_rows", self.most, FEWEST_ROWS)

    @property
    def settings(self) -> Settings:
        return self.checked.settings

    @property
    def most(self) -> int:
        return TRAIN_ROWS if self.settings.train_rows is None else int(self.settings.train_rows)

    def columns(self, available: Sequence[str]) -> Columns:
        """What is read; a rule of the caller's own may want any column."""
        return Columns(
            available,
            self.checked.design,
            [self.checked.status_quo],
            target=self.checked.target,
            features=self.settings.features,
            exclude=self.settings.exclude,
            row_id=self.settings.row_id,
            everything=not type(self.checked.rule).__module__.startswith("improvable."),
        )

    def identity(self, survey: Survey) -> dict[str, Any]:
        """What makes a run in a folder this one."""
        settings = self.settings
        return {
            "data": survey.digest,
            "status_quo": describe(self.checked.status_quo),
            "rule": self.checked.rule.name,
            "features": None if settings.features is None else list(settings.features),
            "exclude": list(settings.exclude),
            "target": self.checked.target,
            **self.checked.constraints.facts(),
            "splits": int(settings.splits),
            "train_fraction": settings.train_fraction,
            "train_rows": self.most,
            "row_id": settings.row_id,
            **self.checked.design.question.to_dict(),
            **asked_identity(settings),
        }


def audit_batches(
    engine: Engine, checked: Checked, workers: int, run_folder: str | Path | None, progress: bool | None
) -> Audit:
    """Run an audit through an engine."""
    asked, settings = Asked(checked), checked.settings
    design, question = checked.design, checked.design.question
    columns = asked.columns(engine.columns)
    surveying = Surveying(design, columns.numeric, columns.labels, columns.features, run_folder is not None)
    survey = run(engine, surveying, columns.read, merge_surveys)
    reading, sizes, clusters, cautions = conclude_survey(survey, surveying, settings.drop_missing)
    folder = None if run_folder is None else storage.open_run(run_folder, asked.identity(survey))
    splitting = make_splitting(
        question.seed, int(settings.splits), settings.train_fraction, settings.row_id, question.cluster, columns.read
    )
    with limited_threads(workers, int(settings.splits)):
        drawn = _bring(engine, reading, splitting, columns, int(sizes.sum()), asked, folder)
        some = drawn.sample(reading, 0)
        features = _choose(some, asked, columns, survey)
        plan = Plan(
            checked.status_quo,
            checked.rule,
            features,
            checked.target,
            checked.constraints,
            int(settings.splits),
            settings.train_fraction,
        )
        units = _check_parts(drawn, sizes, survey, splitting, asked)
        done = {} if folder is None else storage.finished_splits(folder, question, engine.backend)
        left = [split for split in range(1, plan.splits + 1) if split not in done]
        trainings = ((split, drawn.sample(reading, split)) for split in left)
        fitted = fit_splits(design, plan, trainings, len(left), workers, progress, partial(refuse_heavy, plan, drawn))
        contests = (
            Contest(0, steady(prepare_status_quo(plan.status_quo, some)), None),
            *(_contest(plan, one, drawn.sample(reading, one.split)) for one in fitted),
        )
        parts = _count(engine, reading, splitting, columns, contests, folder)
        itself = _conclude(reading, parts[0], clusters, 0, None, workers, engine.backend)
        gaps = disparities(itself.evidence, question.claim, question.alpha)
        for one in fitted:
            part = parts[one.split]
            result = _conclude(reading, part, units[one.split], one.split, one.reference, workers, engine.backend)
            result = finish_split(plan, one, result, _reached(plan, part, reading))
            done[one.split] = result
            if folder is not None:
                storage.write_split(result, folder)
    results = [done[split] for split in sorted(done)]
    cautions += [*features.cautions, *gap_cautions(gaps, question.alpha)]
    cautions += gather([split.cautions for split in results])
    emit(cautions)
    setting = {
        **plan_facts(plan, some),
        "rows": int(sizes.sum()),
        "clusters": clusters,
        "train_rows": asked.most,
        "row_id": settings.row_id,
        **origin_facts(replace(settings, engine=ANY_ENGINE), survey.digest if run_folder is not None else None),
    }
    audit = Audit(
        question=question,
        setting=setting,
        splits=tuple(results),
        disparities=tuple(gaps),
        cautions=tuple(cautions),
        source=Source(design, plan, some, whole=len(some) == int(sizes.sum())),
        backend=engine.backend,
    )
    if folder is not None:
        storage.write_audit_head(audit, folder)
        forget_stages(folder)
    return audit


def _bring(
    engine: Engine,
    reading: Reading,
    splitting: Splitting,
    columns: Columns,
    total: int,
    asked: Asked,
    folder: Path | None,
) -> Drawn:
    """The second pass, unless a run before this one made it."""
    drawn = kept_sample(folder, splitting, asked.most)
    if drawn is None:
        drawn = draw_rows(engine, reading, splitting, columns.read, total, asked.most)
        keep_sample(folder, drawn)
    if asked.checked.design.question.cluster is None:
        check_keys(drawn, splitting, asked.settings.row_id)
    return drawn


def _count(
    engine: Engine,
    reading: Reading,
    splitting: Splitting,
    columns: Columns,
    contests: tuple[Contest, ...],
    folder: Path | None,
) -> dict[int, Part]:
    """The third pass, unless a run before this one made it."""
    parts = kept_counts(folder)
    if not all(contest.split in parts for contest in contests):
        question = reading.design.question
        merge = MergeParts(np.inf if question.cluster is not None else most_cells(question.method))
        found = run(engine, Counting(reading, splitting, contests), columns.read, merge)
        parts = {contest.split: part for contest, part in zip(contests, found, strict=True)}
        keep_counts(folder, parts)
    return parts


def _choose(some: Sample, asked: Asked, columns: Columns, survey: Survey) -> Features:
    """Features, judged by some of the rows; of holes and infinities in all of them the survey knows."""
    exclude = [name for name in (*columns.excluded, asked.settings.row_id) if name is not None and name in columns.read]
    checked = asked.checked
    chosen = choose_features(
        some.rows, checked.design, checked.status_quo, checked.target, asked.settings.features, exclude
    )
    for name in chosen.columns:
        if survey.infinite[name]:
            raise DataError(
                f"column '{name}' has {survey.infinite[name]:,} infinite values.", "Mend them, or exclude the column."
            )
    holes = {name: survey.missing[name] for name in chosen.columns if survey.missing[name]}
    words = {
        name: f"number: {count:,} missing values take the training mean and are flagged"
        for name, count in holes.items()
    }
    check_features(asked.checked.constraints, some.rows, chosen.columns, some)
    return replace(chosen, treatment={**chosen.treatment, **words}, plain=chosen.plain and not holes)


def _check_parts(
    drawn: Drawn, sizes: IntArray, survey: Survey, splitting: Splitting, asked: Asked
) -> dict[int, int | None]:
    """Refuse splits with too few rows or clusters; the test clusters of each split, where rows are clustered."""
    rows, capacity = int(sizes.sum()), asked.checked.constraints.capacity
    clusters = np.unique(survey.clusters[0])
    units: dict[int, int | None] = {}
    for split in range(1, int(asked.settings.splits) + 1):
        kind, least = "rows", FEWEST_ROWS
        training = int(drawn.trained[split])
        testing = rows - training
        fewest_to_select_from = min(training, asked.most)
        units[split] = None
        if asked.checked.design.question.cluster is not None:
            kind, least = "clusters", FEWEST_CLUSTERS
            testing = int(splitting.tests(splitting.places(clusters, split), split).sum())
            training, units[split] = len(clusters) - testing, testing
        if min(training, testing) < least:
            raise DataError(
                f"split {split} has {training:,} {kind} for training and {testing:,} for testing.",
                f"Each part needs at least {least}; bring more {kind} or change the train fraction.",
            )
        if capacity is not None and capacity * fewest_to_select_from < 1:
            raise DataError(
                f"a capacity of {capacity:g} of {fewest_to_select_from:,} training rows is less than one row.",
                "Give a larger capacity, or bring more rows.",
            )
    return units


def _contest(plan: Plan, fitted: Fitted, training: Sample) -> Contest:
    for algorithm, whose in ((fitted.status_quo, "status quo"), (fitted.candidate, "candidate")):
        refuse_dependent(algorithm, training.rows, whose)
    steps = monotone_steps(training.rows, plan.constraints.monotone)
    candidate = None if fitted.selection.algorithm is None else steady(fitted.candidate)
    name = candidate_name(plan, fitted.split)
    return Contest(fitted.split, steady(fitted.status_quo), candidate, name, (*steps.items(),))


def _conclude(
    reading: Reading,
    part: Part,
    clusters: int | None,
    split: int,
    reference: FloatArray | None,
    workers: int,
    backend: nw.Implementation,
) -> Comparison:
    """The comparison of one split from what was counted."""
    design = reading.design
    seed = child(np.random.SeedSequence(design.question.seed), split, DRAWING)
    where = f"split {split}: " if split else ""
    return conclude(design, reading.attributes, tally_of(part, clusters), reference, seed, workers, backend, where)


def _reached(plan: Plan, part: Part, reading: Reading) -> dict[str, float | int]:
    """What the candidate reached of each constraint on the test rows."""
    weights = part.weights()
    rates = {}
    for attribute in reading.attributes:
        for g, group in enumerate(attribute.levels):
            everyone, *chosen = weights[attribute.member == g].sum(axis=0)
            rates[group] = float(chosen[CANDIDATE] / everyone)
    out: dict[str, float | int] = {SELECTION_GAP: gap_of_rates(rates, reading.attributes)}
    if plan.constraints.monotone:
        out["monotone_violations"] = part.falls
    return out
