"""Populations whose truth is known, and rules that learn from them; each rule is a few
lines of NumPy, or a name.

In all populations but those of `TOLD`, outcomes of group a are coin tosses that nothing
tells: no candidate is more accurate for a than the status quo, or less, and the
accuracy of a binds alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from improvable._typing import FloatArray, IntArray

Utility = Literal["classification_rate", "calibration"]
Decide = Callable[[FloatArray], FloatArray]
"""From features to scores; above zero, or above the cutoff of a capacity, a row is
selected.
"""


@dataclass(frozen=True)
class Table:
    """Rows.

    Attributes
    ----------
    row : array of int
        Numbers that tell rows apart.
    group : array of int
    outcome : array
    features : array of shape (rows, features)
    score : array
        The status quo selects above a cutoff: zero, or what its capacity makes of the
        training rows.
    weight : array, optional
    cluster, stratum : array of int, optional
    """

    row: IntArray
    group: IntArray
    outcome: FloatArray
    features: FloatArray
    score: FloatArray
    weight: FloatArray | None = None
    cluster: IntArray | None = None
    stratum: IntArray | None = None

    def __len__(self) -> int:
        return len(self.group)

    def take(self, rows: Any) -> "Table":
        """Some of the rows."""
        columns: dict[str, Any] = {
            one.name: getattr(self, one.name) for one in fields(self)
        }
        taken: dict[str, Any] = {
            name: None if one is None else one[rows] for name, one in columns.items()
        }
        return Table(**taken)


def table_of(
    group: IntArray,
    outcome: Any,
    features: FloatArray,
    score: FloatArray,
    **design: Any,
) -> Table:
    return Table(
        np.arange(len(group)),
        group,
        np.asarray(outcome, dtype=np.float64),
        features,
        score,
        **design,
    )


Rule = Callable[[Table], Decide]
"""From training rows to a candidate."""
Draw = Callable[[np.random.Generator, int], Table]


@dataclass(frozen=True)
class Learning:
    """A population with the rule that learns from it.

    Attributes
    ----------
    name, words : str
    draw : callable
        From a generator and a number of rows to a table.
    rule : Rule or str
        A function of this study, or the name of a rule of the package.
    rows, groups : int
    capacity : float or None
        The share that either algorithm selects.
    utility : {"classification_rate", "calibration"}
    ask : {"both", "accuracy", "fairness"}
        What must improve.
    options : tuple of pairs
        What else `audit` is told.
    """

    name: str
    words: str
    draw: Draw
    rule: Any
    rows: int = 1_000
    groups: int = 2
    capacity: float | None = None
    utility: Utility = "classification_rate"
    ask: Literal["both", "accuracy", "fairness"] = "both"
    options: tuple[tuple[str, Any], ...] = ()

    def names(self) -> tuple[str, ...]:
        return tuple("abcdefghij"[: self.groups])


def least_squares(train: Table) -> Decide:
    features, outcome = train.features, train.outcome
    mean = features.mean(axis=0)
    gram = (features - mean).T @ (features - mean) + 1e-9 * np.eye(features.shape[1])
    slope = np.linalg.solve(gram, (features - mean).T @ (outcome - outcome.mean()))
    return lambda rows: (rows - mean) @ slope + outcome.mean() - 0.5


def best_half_space(train: Table) -> Decide:
    """Of sixty fixed directions, the one that is right most often for group a on the
    training rows.
    """
    directions = np.random.default_rng(60).normal(size=(train.features.shape[1], 60))
    a = train.group == 0
    right = ((train.features[a] @ directions > 0) == (train.outcome[a, None] > 0)).sum(
        axis=0
    )
    best = directions[:, int(np.argmax(right))]
    return lambda rows: rows @ best


def nearest_neighbor(train: Table) -> Decide:
    """The outcome of the training row that is nearest: a rule that memorizes."""
    squares = (train.features**2).sum(axis=1)
    return lambda rows: (
        train.outcome[np.argmin(squares - 2 * rows @ train.features.T, axis=1)] - 0.5
    )


Signal = Sequence[float]
COIN: tuple[Signal, Signal] = ((0.5, 0.65), (0.5, 0.05))
TOLD: tuple[Signal, Signal] = ((0.64, 0.64), (0.58, 0.42))
"""How well the features tell the outcomes of each group, and how often the status quo
is right there. In the first, group a's outcomes are coin tosses. In the second, least
squares improve."""


def classes(
    signal: Signal, right: Signal, features: int = 3, twins: bool = False
) -> Draw:
    """The sign of the sum of two features tells the outcome with a group's `signal`;
    the status quo knows by itself.

    Where `twins`, every row of features is there twice, with an outcome of its own.
    """

    def draw(rng: np.random.Generator, rows: int) -> Table:
        half = rows // 2 if twins else rows
        group, x = rng.integers(0, len(signal), half), rng.normal(size=(half, features))
        if twins:
            group, x = np.tile(group, 2), np.tile(x, (2, 1))
        return told_by(rng, group, x, signal, right)

    return draw


def told_by(
    rng: np.random.Generator,
    group: IntArray,
    x: FloatArray,
    signal: Signal,
    right: Signal,
) -> Table:
    told = x[:, 0] + x[:, 1] > 0
    outcome = np.where(
        rng.random(len(x)) < np.array(signal)[group], told, ~told
    ).astype(np.float64)
    knows = rng.random(len(x)) < np.array(right)[group]
    return table_of(group, outcome, x, np.where(knows, outcome, 1 - outcome) - 0.5)


def districts(rng: np.random.Generator, rows: int) -> Table:
    """Eight districts and nothing else to learn from: a rule chooses, in effect, where
    to select.
    """
    group, place = rng.integers(0, 2, rows), rng.integers(0, 8, rows)
    outcome = rng.integers(0, 2, rows).astype(np.float64)
    knows = rng.random(rows) < np.array([0.5, 0.05])[group]
    x = (place[:, None] == np.arange(1, 8)).astype(np.float64)
    return table_of(group, outcome, x, np.where(knows, outcome, 1 - outcome) - 0.5)


def in_clusters(signal: Signal, right: Signal, size: int = 10, strata: int = 0) -> Draw:
    """The rows of a cluster share their features, and how often outcomes are one."""

    def draw(rng: np.random.Generator, rows: int) -> Table:
        cluster, clusters = np.arange(rows) // size, rows // size + 1
        group = rng.integers(0, 2, rows)
        x = rng.normal(size=(clusters, 3))
        if strata:  # strata differ in a feature
            x[:, 2] += np.arange(clusters) % strata
        x = x[cluster]
        shift = rng.choice([-0.2, 0.2], clusters)[cluster]
        told = x[:, 0] + x[:, 1] > 0
        sure = np.array(signal)[group]
        one = np.where(told, sure, 1 - sure) + shift * (sure == 0.5)
        outcome = (rng.random(rows) < one).astype(np.float64)
        knows = rng.random(rows) < np.array(right)[group]
        score = np.where(knows, outcome, 1 - outcome) - 0.5
        stratum = cluster % strata if strata else None
        return table_of(group, outcome, x, score, cluster=cluster, stratum=stratum)

    return draw


def with_weights(signal: Signal, right: Signal) -> Draw:
    """Weights between one and four that have nothing to do with outcomes."""

    def draw(rng: np.random.Generator, rows: int) -> Table:
        table = classes(signal, right)(rng, rows)
        return replace(table, weight=rng.choice([1.0, 2.0, 4.0], rows))

    return draw


def rare(rng: np.random.Generator, rows: int) -> Table:
    """One outcome in twenty is 1, whoever is selected, in group a; in b the features
    tell, and the status quo errs.
    """
    group, x = rng.integers(0, 2, rows), rng.normal(size=(rows, 3))
    lean = (x[:, 0] + x[:, 1]) / 2**0.5
    chance = np.where(group == 0, 0.05, np.clip(0.12 + 0.12 * lean, 0.01, 0.6))
    return table_of(
        group,
        rng.random(rows) < chance,
        x,
        np.where(group == 0, rng.normal(size=rows), -lean),
    )


def counts(rng: np.random.Generator, rows: int) -> Table:
    """Counts: in group a nothing tells them, in b the features do and the status quo
    selects the lowest.
    """
    group, x = rng.integers(0, 2, rows), rng.normal(size=(rows, 3))
    lean = (x[:, 0] + x[:, 1]) / 2**0.5
    mean = np.where(group == 0, 5.0, np.clip(2.5 + lean, 0.1, None))
    return table_of(
        group, rng.poisson(mean), x, np.where(group == 0, rng.normal(size=rows), -lean)
    )
