"""For the other side's expert: which split trained and tested each row, and how both algorithms decided about it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from improvable.algorithms.by_column import steady
from improvable.algorithms.rules.base import seen
from improvable.data.engines.memory import Memory
from improvable.errors import OptionError
from improvable.procedure.counting import decide_alone
from improvable.procedure.parallel import Progress, limited_threads
from improvable.procedure.preparing import Prepared
from improvable.procedure.selecting import Fitted, candidate_name, fit_part, sight_of

ROW = "row"


def split_rows(ready: Prepared, splits: Sequence[int]) -> Any:
    """Every row in every split or repetition, as a Polars frame.

    A row has its id, or its number in the data from 1; its groups, outcomes and weight as they were read; the split
    and, with folds, the fold that tests it; whether it trains or is tested there; and, where it is tested, both
    decisions.
    Candidates are not kept, so they are found again: the same rows and seed give the same.
    """
    import polars as pl

    if not isinstance(ready.engine, Memory):
        raise OptionError(
            "rows of splits can be written only of data in memory.", "Leave out the engine, or take a file that fits."
        )
    sample, keys = ready.surveyed.reading.sample(ready.engine.rows), ready.engine.rows.keys
    assert keys is not None
    assert sample.rows.keys is not None
    order = np.argsort(keys, kind="stable")
    number = order[np.searchsorted(keys[order], sample.rows.keys)] + 1
    row_id, question = ready.plan.settings.row_id, ready.plan.design.question
    # As they are: a long id would lose its last digits as a float.
    known = (
        {row_id: pl.Series(row_id, sample.rows.frame[row_id].to_list())} if row_id else {ROW: pl.Series(ROW, number)}
    )
    for attribute in sample.grouping.attributes:
        levels = np.array(attribute.levels, dtype=object)[attribute.member[sample.grouping.codes]]
        known[attribute.name] = pl.Series(attribute.name, levels.tolist(), dtype=pl.String)
    for name, values in sample.outcomes.items():
        known[name or question.outcome] = pl.Series(name or question.outcome, values)
    if sample.weights is not None and question.weight is not None:
        known[question.weight] = pl.Series(question.weight, sample.weights)
    told, folds = pl.DataFrame(known), ready.plan.folds is not None
    units, drawn = ready.splitting.units(sample), ready.drawn
    parts = ready.splitting.parts(splits)
    if any(part not in drawn.chosen for part in parts):
        drawn = ready.bring(splits)
    frames = []
    with limited_threads(workers=1, splits=1), Progress(len(parts), enabled=False) as progress:
        for part in parts:
            fitted = fit_part(ready.plan, ready.features, ready.sample(part, drawn), part, ready.seed, progress)
            tests = ready.splitting.tests(ready.splitting.places(units, part), part)
            decisions = _decisions(ready, fitted, sample.rows.take(np.flatnonzero(tests)), tests)
            numbers = {"split": pl.lit(part.split, pl.Int64)} | (
                {"fold": pl.lit(part.fold + 1, pl.Int64)} if folds else {}
            )
            roles = pl.Series("part", np.where(tests, "test", "train").tolist())
            frames.append(told.with_columns(**numbers, part=roles, **decisions))
    return pl.concat(frames)


def _decisions(ready: Prepared, fitted: Fitted, rows: Any, tests: Any) -> dict[str, Any]:
    """Both decisions about the test rows; none about the others."""
    import polars as pl

    before = decide_alone(steady(fitted.status_quo), rows, "status quo")
    found = fitted.selection.algorithm is not None
    shown = seen(rows, sight_of(fitted, ready.plan, ready.features))
    after = decide_alone(steady(fitted.candidate), shown, candidate_name(ready.plan, fitted.part)) if found else before
    out = {}
    for name, values in (("status_quo", before), ("candidate", after)):
        column = np.full(len(tests), np.nan)
        column[tests] = values
        out[name] = pl.Series(name, column).fill_nan(None)
    return out
