"""Everything of an audit before its first repetition: rows surveyed, training rows brought, features chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable.algorithms.constraints import check_features
from improvable.algorithms.decisions import DecisionColumn, capacity_of, decide, reads_of
from improvable.algorithms.rules import is_own_rule
from improvable.algorithms.rules.own_code import check_source
from improvable.data.columns import EXCLUDED, NOT_NAMED, Columns, Features, choose_features, make_columns
from improvable.data.duplicates import copy_cautions
from improvable.data.engines import Engine, as_engine
from improvable.data.engines.memory import Memory
from improvable.data.frame import FrameLike
from improvable.data.io.csv import format_of, note_cautions
from improvable.data.keys import Fingerprint, with_keys
from improvable.data.recode import recode, values_of
from improvable.data.sample import Reading, Sample
from improvable.errors import Caution, DataError
from improvable.inference.tally import Clusters
from improvable.procedure.cautions import lever_cautions
from improvable.procedure.parallel import limited_threads, worker_count
from improvable.procedure.plan import FEWEST_ROWS, Plan, code_cautions, make_plan
from improvable.procedure.screen import Look, look_at
from improvable.procedure.select import complete_status_quo
from improvable.procedure.split import (
    ALL_ROWS,
    Cuts,
    Drawn,
    Part,
    Splitting,
    check_keys,
    choose_cuts,
    draw_rows,
    make_splitting,
)
from improvable.procedure.survey import FEWEST_CLUSTERS, Surveyed, survey
from improvable.question.challenge import sealed_seed
from improvable.question.protocol import asked_identity, declare, digest_of
from improvable.question.settings import Settings
from improvable.results.versions import versions

ROWS_HELD_OUT = 8_000
"""Of the rows brought, so many are looked at for test rows of a block."""


@dataclass(frozen=True)
class Prepared:
    """An audit that is ready to run.

    Attributes
    ----------
    plan : Plan
    engine : Engine
    columns : Columns
    surveyed : Surveyed
    splitting : Splitting
    drawn : Drawn
        Training rows of every block of every repetition, and those of all rows.
    features : Features
    look : Look
        What was seen of the data.
    data : Fingerprint
        Of the columns that are read.
    cuts : Cuts
        Where blocks end, and why.
    rule_source : str or None
        Digest of the code behind a rule of somebody's own.
    """

    plan: Plan
    engine: Engine
    columns: Columns
    surveyed: Surveyed
    splitting: Splitting
    drawn: Drawn
    features: Features
    look: Look
    data: Fingerprint
    cuts: Cuts
    rule_source: str | None = None

    @property
    def seed(self) -> int:
        return self.plan.design.question.seed

    @property
    def cautions(self) -> list[Caution]:
        """What a reader must know before anything is run."""
        read = note_cautions(getattr(self.engine, "notes", ()), self.columns.read)
        seen = (*read, *self.surveyed.cautions, *self.features.cautions, *self.look.cautions)
        return [
            *seen,
            *_few_training_rows(self.plan, self.drawn),
            *lever_cautions(self.plan),
            *code_cautions(self.plan),
        ]

    def sample(self, part: Part = ALL_ROWS) -> Sample:
        """The training rows of a part that its rule sees; by default of all rows."""
        return self.drawn.sample(self.surveyed.reading, part)

    def teaching(self, repetition: int) -> tuple[Plan, Features, Drawn, Reading, list[Part], int]:
        """What `fit_parts` needs for a repetition, without the data, which an engine may not send to a process."""
        parts = self.splitting.parts([repetition])
        return self.plan, self.features, self.drawn, self.surveyed.reading, parts, self.seed

    def held_out(self, part: Part) -> Sample:
        """Some test rows of a part, of those brought for all rows: to look at, not to test on."""
        some = self.drawn.rows.take(self.drawn.chosen[ALL_ROWS][:ROWS_HELD_OUT])
        sample = self.surveyed.reading.sample(some)
        tests = self.splitting.tests(self.splitting.places(self.splitting.units(sample), part.repetition), part)
        return sample.take(np.flatnonzero(tests))

    def test_clusters(self, repetition: int) -> Clusters | None:
        """The clusters that a repetition tests on, where rows are clustered; all of them for the status quo itself."""
        clusters = self.surveyed.clusters
        if clusters is None or repetition == ALL_ROWS.repetition:
            return clusters
        return clusters.only(self.splitting.block_of(self.splitting.places(clusters.keys, repetition)) > 0)

    def setting(self) -> dict[str, Any]:
        """How candidates are found, and where everything comes from, as plain data."""
        settings, clusters = self.plan.settings, self.surveyed.clusters
        declared = declare(settings)
        return {
            **self.plan.facts(),
            "features": self.features.treatment,
            "look": self.look.facts,
            "blocks": {"cuts": list(self.cuts.ends), "grown_for": self.cuts.reason},
            "rows": self.surveyed.rows,
            "clusters": None if clusters is None else len(clusters),
            "rule_source": self.rule_source,
            "challenge_source": settings.challenge_source,
            "challenge": settings.challenge,
            "seal": settings.seal,
            "protocol": None if declared is None else {"digest": digest_of(declared), "declared": declared},
            "versions": versions(),
        }

    def identity(self) -> dict[str, Any]:
        """What makes a run in a folder this one."""
        return {
            **asked_identity(self.plan.settings),
            "rule_source": self.rule_source,
            "seed": self.seed,
            "versions": versions(),
            "data": self.data.digest,
        }

    def check_sizes(self) -> None:
        """Refuse repetitions with too few rows or clusters."""
        capacity = self.plan.constraints.capacity
        for part, rows in self.drawn.trained.items():
            if part == ALL_ROWS or part.block > 1:
                continue
            kind, least, training, testing = "rows", FEWEST_ROWS, rows, self.surveyed.rows - rows
            enough = training >= least
            clusters = self.test_clusters(part.repetition)
            if clusters is not None and self.surveyed.clusters is not None:
                kind, least = "clusters", FEWEST_CLUSTERS
                training, testing = len(self.surveyed.clusters) - len(clusters), len(clusters)
                # Forward, a first block may happen to hold fewer clusters than it was made for; its rows must do.
                enough = training >= least or (enough and self.plan.scheme == "forward")
            if not enough or testing < least:
                change = " or change the train fraction" if self.plan.scheme == "split" else ""
                raise DataError(
                    f"repetition {part.repetition} has {training:,} {kind} for training and {testing:,} for testing.",
                    f"It needs at least {least} of either; bring more {kind}{change}.",
                )
            seen = min(rows, self.plan.train_rows)
            if capacity is not None and capacity * seen < 1:
                raise DataError(
                    f"a capacity of {capacity:g} of {seen:,} training rows is less than one row.",
                    "Give a larger capacity, or bring more rows.",
                )


def prepare_audit(data: FrameLike, settings: Settings, *, n_jobs: int | None = None) -> Prepared:
    """Check settings and data, and stop before the first repetition."""
    source = check_source(settings.rule, settings.rule_source)
    plan = make_plan(settings)
    engine = as_engine(data, settings.engine, worker_count(n_jobs, own_code=plan.calls_own_code), format_of(settings))
    columns = make_columns(
        engine.columns,
        plan.design,
        [reads_of(plan.status_quo)],
        target=plan.target,
        features=settings.features,
        exclude=settings.exclude,
        row_id=settings.row_id,
        everything=is_own_rule(plan.rule),
    )
    if settings.challenge is not None:
        seed = sealed_seed(Fingerprint(engine, columns.question).digest, settings.challenge)
        question = replace(plan.design.question, seed=seed)
        plan = replace(plan, design=replace(plan.design, question=question))
    seed = plan.design.question.seed
    fingerprint = Fingerprint(engine, columns.read)
    decided = [plan.status_quo.column] if isinstance(plan.status_quo, DecisionColumn) else []
    numeric = [*plan.design.outcome_columns, plan.target, *decided]
    engine = recode(engine, values_of(settings), numeric, plan.design.question.group, columns.features)
    surveyed = survey(engine, plan.design, columns, settings.drop_missing)
    splitting = make_splitting(seed, (), settings.row_id, columns.read)
    if isinstance(engine, Memory):
        engine = with_keys(engine, splitting.keying, splitting.columns, settings.row_id)
    share = _rarest_share(plan, engine, columns, surveyed, splitting)
    cuts, splitting, drawn = _divide(plan, engine, columns, surveyed, splitting, share)
    check_keys(drawn, settings.row_id)
    some = drawn.sample(surveyed.reading, ALL_ROWS)
    features = _choose(plan, columns, surveyed, some, engine.columns)
    same = tuple(dict.fromkeys([*features.columns, *plan.design.outcome_columns]))
    if settings.duplicates == "cluster" and settings.cluster is None:
        columns = replace(columns, judged=tuple(sorted({*columns.judged, *same})))
        surveyed = survey(engine, plan.design, columns, settings.drop_missing, same)
        cuts, splitting, drawn = _divide(plan, engine, columns, surveyed, splitting, share)
        some = drawn.sample(surveyed.reading, ALL_ROWS)
    copies = copy_cautions(engine, surveyed.reading, settings, some, same)
    with limited_threads(workers=1, repetitions=1):
        look = look_at(plan, some, features, surveyed)
    look = replace(look, cautions=(*look.cautions, *copies))
    ready = Prepared(plan, engine, columns, surveyed, splitting, drawn, features, look, fingerprint, cuts, source)
    ready.check_sizes()
    return ready


def _rarest_share(
    plan: Plan, engine: Engine, columns: Columns, surveyed: Surveyed, splitting: Splitting
) -> float | None:
    """Of the shares that cutoffs leave above them, that of which the first block sees the fewest rows on one side.

    Where the candidate's share is the status quo's own, it is counted, in a pass over the data.
    """
    shares = [share for share in (plan.constraints.capacity, capacity_of(plan.status_quo)) if share is not None]
    if plan.constraints.same_share and plan.scheme == "forward":
        some = _bring(plan, engine, columns, surveyed, splitting, [ALL_ROWS]).sample(surveyed.reading, ALL_ROWS)
        status_quo = complete_status_quo(plan.status_quo, some, plan.breaking)
        shares.append(float((decide(status_quo, some.rows, "status quo") != 0).mean()))
    return min((share for share in shares if 0 < share < 1), key=lambda share: min(share, 1 - share), default=None)


def _divide(
    plan: Plan, engine: Engine, columns: Columns, surveyed: Surveyed, splitting: Splitting, share: float | None
) -> tuple[Cuts, Splitting, Drawn]:
    """Cut the order of the rows into blocks, and bring those that teach."""
    cuts = choose_cuts(plan.scheme, plan.train_fraction, surveyed, share)
    splitting = replace(splitting, cuts=cuts.ends)
    parts = [ALL_ROWS, *splitting.parts(range(1, plan.repetitions + 1))]
    return cuts, splitting, _bring(plan, engine, columns, surveyed, splitting, parts)


def _bring(
    plan: Plan, engine: Engine, columns: Columns, surveyed: Surveyed, splitting: Splitting, parts: Sequence[Part]
) -> Drawn:
    """The second pass."""
    return draw_rows(engine, surveyed.reading, splitting, columns.read, surveyed.rows, plan.train_rows, parts)


def _choose(plan: Plan, columns: Columns, surveyed: Surveyed, some: Sample, available: Sequence[str]) -> Features:
    """Features, judged by the rows that were brought; of missing and infinite values in all rows the survey knows."""
    settings = plan.settings
    exclude = [name for name in (*columns.excluded, settings.row_id) if name is not None and name in columns.read]
    chosen = choose_features(some.rows, plan.design, columns.in_use, plan.target, settings.features, exclude, available)
    for name in chosen.columns:
        if surveyed.infinite[name]:
            raise DataError(
                f"column '{name}' has {surveyed.infinite[name]:,} infinite values.", "Fix them, or exclude the column."
            )
    missing = {name: surveyed.missing[name] for name in chosen.columns if surveyed.missing[name]}
    words = {
        name: f"number: {count:,} missing values take the training mean and are flagged"
        for name, count in missing.items()
    }
    check_features(plan.constraints, some.rows, chosen.columns)
    left_out = dict(chosen.left_out)
    left_out |= {name: EXCLUDED for name in columns.excluded if left_out.get(name) == NOT_NAMED}
    if settings.row_id is not None:
        left_out[settings.row_id] = "row id"
    return replace(
        chosen, treatment={**chosen.treatment, **words}, plain=chosen.plain and not missing, left_out=left_out
    )


def _few_training_rows(plan: Plan, drawn: Drawn) -> list[Caution]:
    """Say so where rules see only some of their training rows."""
    most = max((rows for part, rows in drawn.trained.items() if part != ALL_ROWS), default=0)
    if most <= plan.train_rows:
        return []
    text = (
        f"a rule, and cutoffs, learn from {plan.train_rows:,} of up to {most:,} rows before a block; "
        "the test uses all test rows. To let them see more, raise `train_rows`."
    )
    return [Caution("train rows", text)]
