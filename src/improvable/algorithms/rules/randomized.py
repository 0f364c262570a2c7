"""What Fairlearn's rules find: mixtures of classifiers, and cutoffs by group. They decide without Fairlearn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from improvable.algorithms.models import FittedModel
from improvable.data.arrays import FloatArray, IntArray
from improvable.data.frames import Rows, labels_of, missing_labels
from improvable.data.groups import MOST_LEVELS
from improvable.errors import AlgorithmError


class Classifier(Protocol):
    """A fitted estimator with decisions of 0 and 1."""

    def predict(self, matrix: FloatArray) -> Any: ...


@dataclass(frozen=True)
class Mixture:
    """Fitted classifiers, one of which is drawn at random for every row.

    Attributes
    ----------
    classifiers : tuple
    weights : array of shape (classifiers,)
        The probability of each; they add up to one.
    """

    classifiers: tuple[Classifier, ...]
    weights: FloatArray

    def predict_proba(self, matrix: FloatArray) -> FloatArray:
        """Probabilities of rejection and of selection, shape (rows, 2)."""
        selected: FloatArray = np.zeros(len(matrix))
        for classifier, weight in zip(self.classifiers, self.weights, strict=True):
            selected += weight * np.asarray(classifier.predict(matrix), dtype=np.float64)
        return np.column_stack([1 - selected, selected])


@dataclass(frozen=True)
class GroupThresholds:
    """A score with cutoffs for every group, one of two drawn at random; it reads the group of each row.

    Attributes
    ----------
    model : FittedModel
    columns : tuple of str
        The group columns.
    levels : tuple of tuple of str
        The combinations of levels of these columns that were seen in training.
    cutoffs : array of shape (combinations, 2)
    shares : array of shape (combinations, 2)
        The probability of each cutoff.
    always : array of shape (combinations,)
        The probability of selection whatever the score.
    """

    model: FittedModel
    columns: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    cutoffs: FloatArray
    shares: FloatArray
    always: FloatArray

    def score(self, rows: Rows) -> FloatArray:
        """The probability of selection of every row."""
        scores, seen = self.model.score(rows), level_codes(rows, self.columns, self.levels)
        above = scores[:, None] > self.cutoffs[seen]
        return np.asarray(self.always[seen] + (self.shares[seen] * above).sum(axis=1))


def level_codes(rows: Rows, columns: Sequence[str], levels: Sequence[tuple[str, ...]]) -> IntArray:
    """Which of the combinations each row has."""
    place = {combination: code for code, combination in enumerate(levels)}
    combinations, codes = combinations_of(rows, columns)
    unseen = [combination for combination in combinations if combination not in place]
    if unseen:
        listed = ", ".join(" and ".join(map(repr, combination)) for combination in unseen[:5])
        raise AlgorithmError(
            f"the cutoffs by {named(columns)} know no group {listed}.",
            "They know only groups with training rows; leave such rows out, or pool small groups.",
        )
    return np.array([place[combination] for combination in combinations], dtype=np.int64)[codes]


def combinations_of(rows: Rows, columns: Sequence[str]) -> tuple[list[tuple[str, ...]], IntArray]:
    """The combinations of levels that occur, and that of every row."""
    absent = [name for name in columns if name not in rows.columns]
    if absent:
        raise AlgorithmError(
            f"the cutoffs by {named(columns)} need the column '{absent[0]}', which the rows do not have.",
            "Decisions by group need the group of every row.",
        )
    read = []
    for name in columns:
        missing = int(missing_labels(rows, name).sum())
        if missing:
            raise AlgorithmError(
                f"{missing:,} rows have no group in '{name}'.", "Cutoffs by group need it in every row."
            )
        read.append(labels_of(rows, name, max(MOST_LEVELS, len(rows))))
    joint, codes = np.unique(np.stack([codes for _, codes in read]), axis=1, return_inverse=True)
    occurring = [tuple(labels[code] for (labels, _), code in zip(read, column, strict=True)) for column in joint.T]
    return occurring, codes.reshape(-1).astype(np.int64)


def named(columns: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in columns)
