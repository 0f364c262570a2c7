"""A comparison where the rows live: a survey, thresholds from all rows, and one pass that counts.

The same rows give the same bits as a comparison in memory: there is nothing to split.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable.algorithms.by_column import steady, steady_model
from improvable.algorithms.deciding import Algorithm, FittedModel, Score, ScoreColumn, Threshold
from improvable.data.arrays import FloatArray
from improvable.data.columns import Columns
from improvable.data.engines.batches import Engine, run
from improvable.data.frames import Rows
from improvable.data.reading import Reading
from improvable.errors import Caution, DataError
from improvable.inference.cells import Cells, count, merge
from improvable.inference.normal_limit import most_cells
from improvable.procedure.counting import Contest, Counting, MergeParts, tally_of
from improvable.procedure.evaluating import conclude, refuse_constant_score
from improvable.procedure.survey import Surveying, conclude_survey, merge_surveys
from improvable.question.design import Design
from improvable.results.comparison import Comparison

MOST_SCORES = 50_000_000
"""Distinct scores that fit into the driver's memory, at 16 bytes each and some room to sort."""


def compare_batches(
    engine: Engine, design: Design, specs: Sequence[Algorithm | Threshold], drop_missing: bool, workers: int
) -> tuple[Comparison, list[Caution]]:
    """Compare two algorithms through an engine."""
    columns = Columns(engine.columns, design, specs)
    surveying = Surveying(design, columns.numeric, columns.labels, (), fingerprint=False)
    survey = run(engine, surveying, columns.read, merge_surveys)
    reading, _, clusters, cautions = conclude_survey(survey, surveying, drop_missing)
    now, new = (_complete(engine, reading, spec, columns.read, constant_is_refused=spec is specs[0]) for spec in specs)
    counting = Counting(reading, None, (Contest(0, now, new),))
    most = np.inf if clusters is not None else most_cells(design.question.method)
    (part,) = run(engine, counting, columns.read, MergeParts(most))
    seed = np.random.SeedSequence(design.question.seed)
    tally = tally_of(part, clusters)
    return conclude(design, reading.attributes, tally, None, seed, workers, engine.backend), cautions


def _complete(
    engine: Engine, reading: Reading, spec: Algorithm | Threshold, columns: Sequence[str], constant_is_refused: bool
) -> Algorithm:
    """Thresholds come from the scores of all rows, exactly: distinct scores are counted, and brought to the driver."""
    if not isinstance(spec, Threshold):
        return steady(spec)
    if isinstance(spec.scorer, FittedModel):
        spec = replace(spec, scorer=steady_model(spec.scorer))
    cells = run(engine, Scoring(reading, spec.scorer), columns, _merge_scores)
    scores, weights = (np.repeat(cells.values[:, j], cells.counts) for j in range(2))
    if constant_is_refused and isinstance(spec.scorer, ScoreColumn):
        refuse_constant_score(spec.scorer, scores)
    return spec.complete(scores, weights if reading.weighted else None)


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
