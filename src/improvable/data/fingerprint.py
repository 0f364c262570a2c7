"""Digests of data: the same for CSV and Parquet, any frame library and any order of rows; another for any other value.

Rows are put in order by a fast key of their content, and the columns' bytes are then hashed. The key only has to make
the order repeatable; that two different tables have different digests rests on BLAKE2b alone.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from improvable.algorithms.deciding import Algorithm, RowFunction, Threshold, columns_read
from improvable.data.frames import Rows, content_keys, exact_column
from improvable.question.design import Design


@dataclass(frozen=True)
class UsedColumns:
    """What an analysis reads.

    Attributes
    ----------
    question : tuple of str
        The outcome, the groups, and what the status quo reads: what is asked, whatever answers it.
    answer : tuple of str
        Outcomes of other utilities, and the target and features of candidates.
    roles : tuple of str
        Weight and cluster.
    """

    question: tuple[str, ...]
    answer: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.question, *self.answer, *self.roles]))

    @property
    def order(self) -> tuple[tuple[str, ...], ...]:
        """By which columns rows are put in order: no rule deals rows anew that differ in the question's columns."""
        return tuple(columns for columns in (self.question, self.answer, self.roles) if columns)


def used_columns(
    rows: Rows, design: Design, status_quo: Algorithm | Threshold, others: Sequence[str] = ()
) -> UsedColumns:
    """The columns that an analysis reads; a function of the rows may read any, so all count as read."""
    function = isinstance(getattr(status_quo, "scorer", status_quo), RowFunction)
    if function or any(utility.reads_rows for utility in design.utilities):
        return UsedColumns(tuple(rows.columns))
    question = design.question
    decided, read = columns_read(status_quo)
    asked = dict.fromkeys([question.outcome, *question.group, *decided, *read])
    answer = dict.fromkeys(name for name in [*design.outcome_columns, *others] if name not in asked)
    roles = [name for name in (question.weight, question.cluster) if name is not None]
    return UsedColumns(tuple(asked), tuple(answer), tuple(roles))


def fingerprint(rows: Rows, columns: Sequence[str] | None = None) -> str:
    """A digest of the named columns, by default all.

    Examples
    --------
    >>> import polars as pl
    >>> from improvable.data.frames import read_rows
    >>> frame = pl.DataFrame({"y": [1, 2, 3], "g": ["a", "b", "b"]})
    >>> turned = frame.select("g", pl.col("y").cast(pl.Float32)).reverse()
    >>> fingerprint(read_rows(frame)) == fingerprint(read_rows(turned))
    True
    """
    names = sorted(set(rows.columns if columns is None else columns))
    rows.require(names)
    order = np.argsort(content_keys(rows, names), kind="stable")
    digest = hashlib.blake2b(f"{len(rows)} rows".encode(), digest_size=32)
    for name in names:
        digest.update(hashlib.blake2b(name.encode()).digest())
        digest.update(exact_column(rows, name, order))
    return digest.hexdigest()


@dataclass(frozen=True)
class DataMark:
    """The fingerprint of the rows behind a result, computed when it is first asked for."""

    rows: Rows
    columns: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        return fingerprint(self.rows, self.columns)
