"""Which columns a pass must read, known before any row is."""

from collections.abc import Sequence

import narwhals as nw
import numpy as np
import polars as pl

from improvable.algorithms.deciding import Algorithm, RowFunction, Threshold, columns_read, decide
from improvable.data.features import match_columns
from improvable.data.frames import Rows
from improvable.errors import AlgorithmError
from improvable.question.design import Design
from improvable.question.utilities import takes_rows


class Columns:
    """The columns of an audit or a comparison.

    Attributes
    ----------
    numeric, labels : tuple of str
        Columns that must be complete: numbers, and groups or clusters.
    features : tuple of str
        Columns that a candidate may read, before any is left out for what it holds.
    excluded : tuple of str
        Of these, the ones that were excluded by name.
    read : tuple of str
        All of them, and the row id; every column where a function of the rows may want any.
    """

    def __init__(
        self,
        available: Sequence[str],
        design: Design,
        algorithms: Sequence[Algorithm | Threshold],
        *,
        target: str | None = None,
        features: Sequence[str] | None = (),
        exclude: Sequence[str] = (),
        row_id: str | None = None,
        everything: bool = False,
    ) -> None:
        names = Rows(nw.from_native(pl.DataFrame({name: [] for name in available}), eager_only=True))
        question = design.question
        numeric = [*design.outcome_columns, *([target] if target is not None else [])]
        inputs: list[str] = []
        for algorithm in algorithms:
            numbers, others = columns_read(algorithm)
            numeric += numbers
            inputs += others
        if question.weight is not None:
            numeric.append(question.weight)
        self.numeric = tuple(dict.fromkeys(numeric))
        self.labels = tuple(design.label_columns)
        roles = [*self.numeric, *self.labels, *inputs, *([row_id] if row_id is not None else [])]
        names.require(roles)
        self.excluded = match_columns(names, exclude)
        if features is None:
            chosen = tuple(name for name in available if name not in self.excluded)
        else:
            chosen = match_columns(names, features, {*self.numeric, *self.labels})
        self.features = tuple(name for name in chosen if name not in roles or name in inputs)
        free = everything or any(map(reads_anything, algorithms)) or any(map(takes_rows, design.utilities))
        self.read = tuple(sorted(available)) if free else tuple(sorted({*roles, *chosen}))


def reads_anything(algorithm: Algorithm | Threshold) -> bool:
    """Whether an algorithm is a function of rows, which may read any column."""
    source = getattr(algorithm, "scorer", algorithm)
    return isinstance(source, RowFunction) or not type(source).__module__.startswith("improvable.")


def refuse_dependent(algorithm: Algorithm, rows: Rows, whose: str) -> None:
    """Refuse a function that decides for a row by what other rows there are: batches have other rows."""
    if not reads_anything(algorithm):
        return
    some = np.arange(0, len(rows), 2)
    if (decide(algorithm, rows, whose)[some] != decide(algorithm, rows.take(some), whose)).any():
        raise AlgorithmError(
            f"the {whose} decides otherwise for the same rows when others are missing.",
            "Through an engine it sees rows in batches, and must decide for each row by itself.",
        )
