"""A comparison: a survey, cutoffs from all rows, and one pass that counts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.decisions import Algorithm, DecisionColumn, as_algorithm, capacity_of, is_own_code, reads_of
from improvable.algorithms.models import steady
from improvable.algorithms.thresholds import Score, ScoreColumn, Threshold, TieBreaking
from improvable.data.columns import make_columns
from improvable.data.engines import Engine, as_engine
from improvable.data.engines.base import run
from improvable.data.engines.memory import Memory
from improvable.data.frame import FrameLike, Rows
from improvable.data.io.csv import format_of, note_cautions
from improvable.data.keys import Fingerprint, with_keys
from improvable.data.recode import recode, values_of
from improvable.data.sample import Reading
from improvable.errors import DataError
from improvable.inference.cells import Cells, count, merge
from improvable.inference.diagnostics import crossed_array
from improvable.inference.intervals import disparities
from improvable.procedure.cautions import capacity_cautions, easy_cautions, emit, gap_cautions, share_cautions
from improvable.procedure.direction import check_direction, direction_of_counts
from improvable.procedure.evaluate import Contest, conclude, count_contests, draws_ties
from improvable.procedure.parallel import worker_count
from improvable.procedure.plan import tie_breaking
from improvable.procedure.select import refuse_constant_score
from improvable.procedure.split import ALL_ROWS, make_splitting
from improvable.procedure.survey import survey
from improvable.question.design import Design, make_design
from improvable.question.settings import Settings
from improvable.question.utility import averages_over_selected
from improvable.results.comparison import Comparison

MOST_SCORES = 50_000_000
"""Distinct scores that fit into the driver's memory, at 16 bytes each and some room to sort."""


def run_comparison(
    data: FrameLike,
    settings: Settings,
    candidate: Any,
    n_jobs: int | None = None,
    begun: Callable[[], None] = lambda: None,
) -> Comparison:
    """Compare two algorithms on the rows given; cutoffs that come from a capacity are taken from these rows.

    `begun` is called when settings and columns are checked, before anything is counted.
    """
    design, workers = make_design(settings), worker_count(n_jobs)
    specs = as_algorithm(settings.status_quo), as_algorithm(candidate)
    own = any(map(is_own_code, specs)) or any(utility.reads_rows for utility in design.utilities)
    engine = as_engine(data, settings.engine, worker_count(n_jobs, own_code=own), format_of(settings))
    columns = make_columns(engine.columns, design, [reads_of(spec) for spec in specs])
    fingerprint = Fingerprint(engine, columns.read)
    decided = [spec.column for spec in specs if isinstance(spec, DecisionColumn)]
    engine = recode(engine, values_of(settings), [*design.outcome_columns, *decided], design.question.group)
    begun()
    surveyed = survey(engine, design, columns, settings.drop_missing)
    reading, question = surveyed.reading, design.question
    keyed = make_splitting(question.seed, (), None, engine.columns)
    breaking = tie_breaking(settings, question.seed)
    before, after = (_complete(engine, reading, spec, columns.read, breaking, spec is specs[0]) for spec in specs)
    if isinstance(engine, Memory) and (draws_ties(before) or draws_ties(after)):
        engine = with_keys(engine, keyed.keying, keyed.columns)
    (tally,) = count_contests(engine, reading, None, [Contest(ALL_ROWS, before, after)], columns.read, keyed)
    seed = np.random.SeedSequence(question.seed)
    result = conclude(design, reading.attributes, tally, surveyed.clusters, None, seed, workers, engine.backend)
    capacities, shares = [*map(capacity_of, specs)], tally.shares()
    chance = [0.0 if c is None else float(np.sqrt(c * (1 - c) / tally.rows)) for c in capacities]
    cautions = note_cautions(getattr(engine, "notes", ()), columns.read)
    cautions += [*surveyed.cautions, *capacity_cautions(capacities, shares, chance)]
    cautions += share_cautions(shares, tally.rows, _share_hint(design, shares))
    per_unit = 1.0 if surveyed.clusters is None else tally.rows / len(surveyed.clusters)
    binary = any(utility.binary_decision for utility in design.utilities)
    direction = direction_of_counts(crossed_array(tally.crossed), per_unit) if binary else None
    cautions += check_direction(direction, question, design.utilities, settings.direction)
    cautions += easy_cautions(question)
    if question.claim.asks("fairness"):
        gaps = disparities(result.evidence, question.claim, question.alpha)
        cautions += gap_cautions(gaps, question.alpha, surveyed.constant)
    cautions += result.cautions
    emit(cautions)
    return replace(result.with_cautions(cautions), data=fingerprint)


def _share_hint(design: Design, shares: Sequence[float]) -> str:
    if not averages_over_selected(design.utilities):
        return ""
    return f"To compare equal shares, give the candidate as a score: threshold(..., capacity={shares[0]:.2g})."


def _complete(
    engine: Engine,
    reading: Reading,
    spec: Algorithm | Threshold,
    columns: Sequence[str],
    breaking: TieBreaking | None,
    first: bool,
) -> Algorithm:
    """Cutoffs come from the scores of all rows, exactly: distinct scores are counted, and brought to the driver."""
    spec = steady(spec)
    if not isinstance(spec, Threshold):
        return spec
    cells = run(engine, Scoring(reading, spec.scorer), columns, _merge_scores)
    scores, weights = (np.repeat(cells.values[:, j], cells.counts) for j in range(2))
    if first and isinstance(spec.scorer, ScoreColumn):
        refuse_constant_score(spec.scorer, scores)
    return spec.complete(scores, weights if reading.weighted else None, breaking)


@dataclass(frozen=True)
class Scoring:
    """The work of finding a threshold: distinct pairs of score and weight, and how often each occurs."""

    reading: Reading
    scorer: Score

    def __call__(self, rows: Rows) -> Cells:
        sample = self.reading.sample(rows)
        ones: FloatArray = np.ones(len(sample))
        scores = self.scorer.score(sample.rows) if len(sample) else ones
        weights = ones if sample.weights is None else sample.weights
        return count(np.column_stack([scores + 0.0, weights]), np.zeros(len(sample), dtype=np.int64), 1)


def _merge_scores(one: Cells, other: Cells) -> Cells:
    both = merge(one, other)
    if len(both.counts) > MOST_SCORES:
        raise DataError(
            f"the score has more than {MOST_SCORES:,} distinct values, too many for an exact quantile.",
            "Give its cutoff instead: threshold(..., above=...), or round the scores.",
        )
    return both
