"""For the other side's expert: the block of each row in each repetition, and how both algorithms decided about it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from improvable.algorithms.models import steady
from improvable.algorithms.rules.base import seen
from improvable.data.engines.memory import Memory
from improvable.errors import OptionError
from improvable.inference.evidence import ALGORITHMS
from improvable.procedure.evaluate import decide_alone
from improvable.procedure.parallel import Progress, limited_threads
from improvable.procedure.prepare import Prepared
from improvable.procedure.select import fit_parts

ROW = "row"


def repetition_rows(ready: Prepared, repetitions: Sequence[int]) -> Any:
    """Every row in every repetition, as a Polars frame.

    A row has its id, or its number in the data from 1; its groups, outcomes and weight as they were read; the
    repetition and its block there; and both decisions, unless that is block 0, which is not tested. Candidates are not
    stored, so they are found again: the same rows and seed give the same.
    """
    import polars as pl

    if not isinstance(ready.engine, Memory):
        raise OptionError("rows can be exported only from data in memory.", "Leave out the engine.")
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
    told, units, frames = pl.DataFrame(known), ready.splitting.units(sample), []
    with limited_threads(workers=1, repetitions=1), Progress(len(repetitions), enabled=False) as progress:
        for repetition in repetitions:
            fitted = fit_parts(*ready.teaching(repetition), progress)
            block = ready.splitting.block_of(ready.splitting.places(units, repetition))
            both = np.full((len(sample), 2), np.nan)
            for one in fitted:
                tested = np.flatnonzero(block == one.part.block)
                if len(tested):
                    rows = sample.rows.take(tested)
                    both[tested] = decide_alone(steady(one.status_quo), rows, "status quo")[:, None]
                    if one.selection.algorithm is not None:
                        both[tested, 1] = decide_alone(steady(one.candidate), seen(rows, one.sight), one.name)
            frames.append(
                told.with_columns(
                    pl.lit(repetition, pl.Int64).alias("repetition"),
                    pl.Series("block", block),
                    *(pl.Series(name, both[:, t]).fill_nan(None) for t, name in enumerate(ALGORITHMS)),
                )
            )
    return pl.concat(frames)
