"""Everything of an audit before its first repetition: survey the rows, fetch training
rows, choose features, screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable.algorithms.constraints import check_features
from improvable.algorithms.decisions import (
    DecisionColumn,
    capacity_of,
    decide,
    reads_of,
)
from improvable.algorithms.rules import is_own_rule
from improvable.algorithms.rules.own_code import check_source
from improvable.data.columns import Columns, choose_features, make_columns
from improvable.data.duplicates import copy_cautions
from improvable.data.engines import Engine, as_engine
from improvable.data.engines.memory import Memory
from improvable.data.frame import FrameLike
from improvable.data.io.csv import format_of
from improvable.data.keys import Fingerprint, with_keys
from improvable.data.recode import recode, values_of
from improvable.data.sample import Sample
from improvable.errors import Caution, DataError
from improvable.inference.tally import Clusters
from improvable.procedure import split
from improvable.procedure.cautions import note_cautions, plan_cautions
from improvable.procedure.parallel import one_blas_thread, worker_count
from improvable.procedure.plan import MIN_TRAINING_ROWS, make_plan
from improvable.procedure.screen import Look, look_at
from improvable.procedure.select import Lessons, complete_status_quo
from improvable.procedure.survey import MIN_CLUSTERS, Surveyed, survey
from improvable.question.challenge import sealed_seed
from improvable.question.protocol import asked_identity, declare, digest_of
from improvable.question.settings import Settings
from improvable.results.storage import versions

# rows, of those fetched for all rows, in which test rows of a block are looked for
MAX_HELD_OUT = 8_000


@dataclass(frozen=True)
class Prepared(Lessons):
    """An audit that is ready to run."""

    engine: Engine
    columns: Columns
    surveyed: Surveyed
    look: Look
    data: Fingerprint  # of the columns that are read
    cuts: split.Cuts
    rule_source: str | None = None  # digest of the code behind a rule of somebody's own

    @property
    def cautions(self) -> list[Caution]:
        """What a reader must know before anything is run."""
        trained = [
            rows
            for part, rows in self.training.trained.items()
            if part != split.ALL_ROWS
        ]
        return [
            *note_cautions(self.engine),
            *self.surveyed.cautions,
            *self.features.cautions,
            *self.look.cautions,
            *plan_cautions(self.plan, max(trained, default=0)),
        ]

    @property
    def lessons(self) -> Lessons:
        return Lessons(
            self.plan, self.features, self.reading, self.splitting, self.training
        )

    def held_out(self, part: split.Part) -> Sample:
        """Some test rows of a part, of those fetched for all rows: to look at, not to
        test on.
        """
        sample = self.reading.sample(
            self.training.rows.take(self.training.chosen[split.ALL_ROWS][:MAX_HELD_OUT])
        )
        tests = self.splitting.tests(
            self.splitting.places(self.splitting.units(sample), part.repetition), part
        )
        return sample.take(np.flatnonzero(tests))

    def test_clusters(self, repetition: int) -> Clusters | None:
        """The clusters that a repetition tests on, if rows are clustered; all of them
        for the status quo itself.
        """
        clusters = self.surveyed.clusters
        if clusters is None or repetition == split.ALL_ROWS.repetition:
            return clusters
        return clusters.only(
            self.splitting.block_of(self.splitting.places(clusters.keys, repetition))
            > 0
        )

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
            "protocol": None
            if declared is None
            else {"digest": digest_of(declared), "declared": declared},
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


def prepare_audit(
    data: FrameLike, settings: Settings, *, n_jobs: int | None = None
) -> Prepared:
    """Check settings and data, and stop before the first repetition."""
    source, plan = (
        check_source(settings.rule, settings.rule_source),
        make_plan(settings),
    )
    design = plan.design
    engine = as_engine(
        data,
        settings.engine,
        worker_count(n_jobs, own_code=plan.calls_own_code),
        format_of(settings),
    )
    reads = [reads_of(plan.status_quo)]
    columns = make_columns(
        engine.columns, design, reads, settings, everything=is_own_rule(plan.rule)
    )
    if settings.challenge is not None:
        seed = sealed_seed(
            Fingerprint(engine, columns.question).digest, settings.challenge
        )
        design = replace(design, question=replace(design.question, seed=seed))
        plan = replace(plan, design=design)
    fingerprint = Fingerprint(engine, columns.read)
    decided = (
        [plan.status_quo.column] if isinstance(plan.status_quo, DecisionColumn) else []
    )
    numeric = [*design.outcome_columns, plan.target, *decided]
    engine = recode(
        engine, values_of(settings), numeric, design.labeled, columns.features
    )
    surveyed = survey(engine, design, columns, settings.drop_missing)
    splitting = split.make_splitting(
        design.question.seed, (), settings.row_id, columns.read
    )
    if isinstance(engine, Memory):
        engine = with_keys(engine, splitting.keying, splitting.columns, settings.row_id)

    def fetch(
        splitting: split.Splitting, parts: Sequence[split.Part]
    ) -> split.TrainingRows:
        return split.fetch_training_rows(
            engine, surveyed, splitting, columns.read, plan.train_rows, parts
        )

    def divide() -> tuple[split.Cuts, split.Splitting, split.TrainingRows]:
        forward = plan.scheme == "forward"
        cuts = (
            split.forward_cuts(*split.first_block(surveyed, rarest))
            if forward
            else split.Cuts((plan.train_fraction,))
        )
        divided = replace(splitting, cuts=cuts.ends)
        return (
            cuts,
            divided,
            fetch(
                divided,
                [split.ALL_ROWS, *divided.parts(range(1, plan.repetitions + 1))],
            ),
        )

    # Of the shares that cutoffs leave above them, the one of which the first block sees
    # the fewest rows on one side.
    shares = [
        share
        for share in (plan.constraints.capacity, capacity_of(plan.status_quo))
        if share is not None
    ]
    # the status quo's own share must be counted
    if plan.constraints.same_share and plan.scheme == "forward":
        some = fetch(splitting, [split.ALL_ROWS]).sample(
            surveyed.reading, split.ALL_ROWS
        )
        status_quo = complete_status_quo(plan.status_quo, some, plan.breaking)
        shares.append(float((decide(status_quo, some.rows, "status quo") != 0).mean()))
    rarest = min(
        (share for share in shares if 0 < share < 1),
        key=lambda share: min(share, 1 - share),
        default=None,
    )
    cuts, splitting, training = divide()
    split.check_keys(training, settings.row_id)
    some = training.sample(surveyed.reading, split.ALL_ROWS)
    seen = surveyed.seen
    features = choose_features(
        some.rows,
        design,
        columns,
        settings,
        seen.missing,
        seen.infinite,
        engine.columns,
    )
    check_features(plan.constraints, some.rows, features.columns)
    same = tuple(dict.fromkeys([*features.columns, *design.outcome_columns]))
    if settings.duplicates == "cluster" and settings.cluster is None:
        columns = replace(columns, judged=tuple(sorted({*columns.judged, *same})))
        surveyed = survey(engine, design, columns, settings.drop_missing, same)
        cuts, splitting, training = divide()
        some = training.sample(surveyed.reading, split.ALL_ROWS)
    copies = copy_cautions(engine, surveyed.reading, settings, some, same)
    with one_blas_thread():
        look = look_at(plan, some, features, surveyed)
    look = replace(look, cautions=(*look.cautions, *copies))
    lessons = plan, features, surveyed.reading, splitting, training
    ready = Prepared(
        *lessons, engine, columns, surveyed, look, fingerprint, cuts, source
    )
    _check_sizes(ready)
    return ready


def _check_sizes(ready: Prepared) -> None:
    """Refuse repetitions with too few rows or clusters."""
    plan, surveyed = ready.plan, ready.surveyed
    for part, rows in ready.training.trained.items():
        if part == split.ALL_ROWS or part.block > 1:
            continue
        kind, least, training, testing = (
            "rows",
            MIN_TRAINING_ROWS,
            rows,
            surveyed.rows - rows,
        )
        enough = training >= least
        clusters = ready.test_clusters(part.repetition)
        if clusters is not None and surveyed.clusters is not None:
            kind, least = "clusters", MIN_CLUSTERS
            training, testing = len(surveyed.clusters) - len(clusters), len(clusters)
            # Forward, a first block may happen to hold fewer clusters than it was made
            # for; its rows must do.
            enough = training >= least or (enough and plan.scheme == "forward")
        if not enough or testing < least:
            change = " or change the train fraction" if plan.scheme == "split" else ""
            raise DataError(
                (
                    f"repetition {part.repetition} has {training:,} {kind} for "
                    f"training and {testing:,} for testing."
                ),
                f"Each needs at least {least}; provide more {kind}{change}.",
            )
        seen, capacity = min(rows, plan.train_rows), plan.constraints.capacity
        if capacity is not None and capacity * seen < 1:
            raise DataError(
                (
                    f"a capacity of {capacity:g} of {seen:,} training rows is less "
                    "than one row."
                ),
                "Give a larger capacity, or provide more rows.",
            )
