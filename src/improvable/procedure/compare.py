"""Run a comparison: survey the rows, take cutoffs from all of them, count in one pass,
and test.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.decisions import (
    Algorithm,
    DecisionColumn,
    as_algorithm,
    capacity_of,
    is_own_code,
    reads_of,
)
from improvable.algorithms.models import steady
from improvable.algorithms.thresholds import Score, ScoreColumn, Threshold, TieBreaking
from improvable.data.columns import make_columns
from improvable.data.engines import Engine, as_engine
from improvable.data.engines.base import run
from improvable.data.engines.memory import Memory
from improvable.data.frame import FrameLike, Rows
from improvable.data.io.csv import format_of
from improvable.data.keys import Fingerprint, with_keys
from improvable.data.recode import recode, values_of
from improvable.data.sample import Reading
from improvable.errors import DataError, OptionError
from improvable.inference.diagnostics import crossed_array
from improvable.inference.intervals import disparities
from improvable.procedure.cautions import (
    capacity_cautions,
    easy_cautions,
    emit,
    gap_cautions,
    note_cautions,
    share_cautions,
)
from improvable.procedure.evaluate import Contest, conclude, count_contests, draws_ties
from improvable.procedure.parallel import worker_count
from improvable.procedure.plan import tie_breaking
from improvable.procedure.screen import check_direction, direction_of_counts
from improvable.procedure.select import refuse_constant_score
from improvable.procedure.split import ALL_ROWS, make_splitting
from improvable.procedure.survey import survey
from improvable.procedure.unknown import no_model
from improvable.question.design import make_design
from improvable.question.settings import Settings
from improvable.question.utility import averages_over_selected
from improvable.results.comparison import Comparison

# that fit into the driver's memory, at 16 bytes each and some room to sort
MAX_SCORES = 50_000_000


def run_comparison(
    data: FrameLike,
    settings: Settings,
    candidate: Any,
    n_jobs: int | None = None,
    begun: Callable[[], None] = lambda: None,
) -> Comparison:
    """Compare two algorithms on the rows given; cutoffs that come from a capacity are
    taken from these rows.

    `begun` is called when settings and columns are checked, before anything is counted.
    """
    design = make_design(settings)
    question = design.question
    specs = [
        steady(as_algorithm(stated)) for stated in (settings.status_quo, candidate)
    ]
    own_code = any(map(is_own_code, specs)) or any(
        utility.reads_rows for utility in design.utilities
    )
    engine = as_engine(
        data,
        settings.engine,
        worker_count(n_jobs, own_code=own_code),
        format_of(settings),
    )
    columns = make_columns(engine.columns, design, [reads_of(spec) for spec in specs])
    fingerprint = Fingerprint(engine, columns.read)
    decided = [spec.column for spec in specs if isinstance(spec, DecisionColumn)]
    engine = recode(
        engine, values_of(settings), [*design.outcome_columns, *decided], design.labeled
    )
    begun()
    surveyed = survey(engine, design, columns, settings.drop_missing)
    reading = surveyed.reading
    before, after = _complete(
        engine, reading, specs, columns.read, tie_breaking(settings, question.seed)
    )
    keyed = make_splitting(question.seed, (), None, engine.columns)
    if isinstance(engine, Memory) and (draws_ties(before) or draws_ties(after)):
        engine = with_keys(engine, keyed.keying, keyed.columns)
    contest = Contest(ALL_ROWS, before, after, outcomes=no_model(reading))
    # which selects nobody whose outcome is unknown
    itself = candidate is settings.status_quo
    if (
        question.unknown_outcomes is not None
        and contest.outcomes is None
        and not itself
    ):
        hint = (
            "Run an audit, or give the outcome's range, 1 of a 0/1 outcome: "
            "`unknown_outcomes=1`."
        )
        raise OptionError(
            (
                "a comparison has no training rows to learn a model of unknown "
                "outcomes from."
            ),
            hint,
        )
    (tally,) = count_contests(engine, reading, None, [contest], columns.read, keyed)
    seed, workers = np.random.SeedSequence(question.seed), worker_count(n_jobs)
    result = conclude(
        design,
        reading.tested,
        tally,
        surveyed.clusters,
        None,
        seed,
        workers,
        engine.backend,
    )

    capacities, shares = [capacity_of(spec) for spec in specs], tally.shares()
    chance = [
        0.0 if c is None else float(np.sqrt(c * (1 - c) / tally.rows))
        for c in capacities
    ]
    hint = ""
    if averages_over_selected(design.utilities):
        hint = (
            "To compare equal shares, give the candidate as a score: threshold(..., "
            f"capacity={shares[0]:.2g})."
        )
    cautions = [
        *note_cautions(engine),
        *surveyed.cautions,
        *capacity_cautions(capacities, shares, chance),
        *share_cautions(shares, tally.rows, hint),
    ]
    if any(utility.binary_decision for utility in design.utilities):
        rows_per_unit = (
            1.0 if surveyed.clusters is None else tally.rows / len(surveyed.clusters)
        )
        direction = direction_of_counts(crossed_array(tally.crossed), rows_per_unit)
        cautions += check_direction(
            direction, question, design.utilities, settings.direction
        )
    cautions += easy_cautions(question)
    if question.claim.asks("fairness"):
        gaps = disparities(result.evidence, question.claim, question.alpha)
        cautions += gap_cautions(gaps, question.alpha, surveyed.constant)
    cautions += result.cautions
    emit(cautions)
    return result.with_cautions(cautions, data=fingerprint)


def _complete(
    engine: Engine,
    reading: Reading,
    specs: Sequence[Algorithm | Threshold],
    columns: Sequence[str],
    breaking: TieBreaking | None,
) -> list[Algorithm]:
    """Take cutoffs from the scores of all rows, exactly: distinct scores are counted
    and brought to the driver.
    """
    scorers = {
        j: spec.scorer for j, spec in enumerate(specs) if isinstance(spec, Threshold)
    }
    work = partial(_score_batch, reading=reading, scorers=tuple(scorers.values()))
    counted = run(engine, work, columns, _merge_scores) if scorers else ()
    found, out = dict(zip(scorers, counted, strict=True)), []
    for j, spec in enumerate(specs):
        if isinstance(spec, Threshold):
            times = found[j].counts
            scores, weights = np.repeat(found[j].scores, times), found[j].weights
            if j == 0 and isinstance(spec.scorer, ScoreColumn):
                refuse_constant_score(spec.scorer, scores)
            spec = spec.complete(
                scores, None if weights is None else np.repeat(weights, times), breaking
            )
        out.append(spec)
    return out


class Scores(NamedTuple):
    """Distinct scores, or pairs of score and weight, sorted; and how often each
    occurs.
    """

    scores: FloatArray
    weights: FloatArray | None
    counts: IntArray


def count_scores(
    scores: FloatArray, weights: FloatArray | None, counts: IntArray | None = None
) -> Scores:
    """Count equal scores; each counts once, or as often as `counts` says."""
    order = np.argsort(scores) if weights is None else np.lexsort((weights, scores))
    scores, weights = scores[order], None if weights is None else weights[order]
    new = np.ones(len(scores), dtype=np.bool_)
    new[1:] = scores[1:] != scores[:-1]
    if weights is not None:
        new[1:] |= weights[1:] != weights[:-1]
    first = np.flatnonzero(new)
    if counts is None:
        times = np.diff(first, append=len(scores))
    else:
        times = np.add.reduceat(counts[order], first) if len(first) else counts
    return Scores(scores[first], None if weights is None else weights[first], times)


def _score_batch(
    rows: Rows, reading: Reading, scorers: Sequence[Score]
) -> tuple[Scores, ...]:
    sample = reading.sample(rows)
    scored = [
        scorer.score(sample.rows) if len(sample) else np.empty(0) for scorer in scorers
    ]
    # -0.0 becomes 0.0
    return tuple(count_scores(scores + 0.0, sample.weights) for scores in scored)


def _merge_scores(
    one: tuple[Scores, ...], other: tuple[Scores, ...]
) -> tuple[Scores, ...]:
    merged = []
    for a, b in zip(one, other, strict=True):
        weights = (
            None
            if a.weights is None or b.weights is None
            else np.concatenate([a.weights, b.weights])
        )
        scores, counts = (
            np.concatenate([a.scores, b.scores]),
            np.concatenate([a.counts, b.counts]),
        )
        merged.append(count_scores(scores, weights, counts))
    if any(len(both.counts) > MAX_SCORES for both in merged):
        raise DataError(
            (
                f"a score has more than {MAX_SCORES:,} distinct values, too many for "
                "an exact quantile."
            ),
            "Give its cutoff instead: threshold(..., above=...), or round the scores.",
        )
    return tuple(merged)
