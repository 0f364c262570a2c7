"""Messy columns become numbers, fitted on training rows only: skrub for text, categories and dates; means for holes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.data.columns import MOST_CATEGORIES
from improvable.data.frames import Rows


@dataclass(frozen=True)
class Encoder:
    """A fitted encoding of some columns.

    Attributes
    ----------
    columns : tuple of str
        What it reads.
    outputs : tuple of str
        Names of what it gives; a column of numbers keeps its name.
    vectorizer : skrub.TableVectorizer
    means : array
        Training means of the encoded columns, for missing values.
    holes : array of int
        Encoded columns that had missing values in training; each gets a 0/1 flag.
    """

    columns: tuple[str, ...]
    outputs: tuple[str, ...]
    vectorizer: Any
    means: FloatArray
    holes: IntArray

    def encode(self, rows: Rows) -> FloatArray:
        """A matrix of complete numbers, shape (rows, encoded columns and flags)."""
        numbers = _numbers(self.vectorizer.transform(rows.polars(self.columns)))
        missing = np.isnan(numbers)
        flags = missing[:, self.holes].astype(np.float64)
        return np.ascontiguousarray(np.hstack([np.where(missing, self.means, numbers), flags]))


def fit_encoder(rows: Rows, columns: Sequence[str], seed: int) -> Encoder:
    """Learn an encoding from training rows."""
    from sklearn.preprocessing import OneHotEncoder
    from skrub import StringEncoder, TableVectorizer

    vectorizer = TableVectorizer(
        cardinality_threshold=MOST_CATEGORIES,
        low_cardinality=OneHotEncoder(handle_unknown="ignore", sparse_output=False),  # a level unseen is all zeros
        high_cardinality=StringEncoder(random_state=seed),
        drop_null_fraction=None,
    )
    encoded = vectorizer.fit_transform(rows.polars(columns))
    numbers = _numbers(encoded)
    missing = np.isnan(numbers)
    counts = np.maximum(1, (~missing).sum(axis=0))
    means = np.where(missing, 0.0, numbers).sum(axis=0) / counts
    holes = np.flatnonzero(missing.any(axis=0))
    outputs = (*encoded.columns, *(f"{encoded.columns[j]} is missing" for j in holes))
    return Encoder(tuple(columns), outputs, vectorizer, means, holes)


def _numbers(frame: Any) -> FloatArray:
    return np.column_stack([frame[name].cast(float).to_numpy() for name in frame.columns]).astype(np.float64)
