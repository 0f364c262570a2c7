"""What decides: a column, a thresholded score, a fitted model, a function of the rows,
a mixture of several.

Every algorithm has ``decide(frame)``. What still needs training rows to be complete (a
score whose threshold is a quantile) has ``prepare(rows)`` and gives the complete
algorithm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms import models
from improvable.algorithms.models import FittedModel, LinearClassifier, RowFunction
from improvable.algorithms.thresholds import (
    ScoreColumn,
    Threshold,
    ThresholdedScore,
    TieBreaking,
    threshold,
)
from improvable.data.columns import Reads
from improvable.data.frame import FrameLike, Rows, read_rows
from improvable.data.keys import Keying
from improvable.errors import AlgorithmError, OptionError, UnknownColumnError
from improvable.question.protocol import check_written


class Algorithm(Protocol):
    """Anything that turns rows into decisions: the paper's a."""

    def decide(self, frame: FrameLike) -> FloatArray:
        """One decision per row."""
        ...


@dataclass(frozen=True)
class DecisionColumn:
    """Decisions that are already in the data."""

    column: str

    @property
    def declared(self) -> dict[str, Any]:
        return {"decision": self.column}

    def decide(self, frame: FrameLike) -> FloatArray:
        return read_rows(frame).numbers(self.column)


def as_algorithm(spec: Any) -> Algorithm | Threshold:
    """A column of decisions, a threshold, a fitted model, a function of the rows, or an
    object that decides.

    A mapping is an algorithm in writing, as in a protocol.

    Examples
    --------
    >>> as_algorithm({"score": "risk_score", "capacity": 0.03}).capacity
    0.03
    """
    if isinstance(spec, str):
        return DecisionColumn(spec)
    if isinstance(spec, Mapping):
        check_written(spec, "an algorithm in writing")
        return (
            DecisionColumn(spec["decision"])
            if "decision" in spec
            else threshold(**spec)
        )
    if isinstance(
        spec,
        Threshold
        | ThresholdedScore
        | DecisionColumn
        | FittedModel
        | LinearClassifier
        | RowFunction,
    ):
        return spec
    if hasattr(spec, "predict") and not hasattr(spec, "decide"):
        return models.fitted_model(spec)
    if hasattr(spec, "decide") or callable(spec):
        return RowFunction(getattr(spec, "decide", spec))
    how = (
        "Give a column of decisions, threshold(...), a fitted scikit-learn model or a "
        "function of the rows."
    )
    raise OptionError(f"a {type(spec).__name__} cannot decide.", how)


def prepare(
    algorithm: Algorithm | Threshold,
    rows: Rows,
    weights: FloatArray | None = None,
    breaking: TieBreaking | None = None,
) -> Algorithm:
    """Complete an algorithm from training rows; without `breaking`, rows that tie at a
    cutoff are not selected.
    """
    return (
        algorithm.prepare(rows, weights, breaking)
        if isinstance(algorithm, Threshold)
        else algorithm
    )


def capacity_of(algorithm: Algorithm | Threshold) -> float | None:
    return algorithm.capacity if isinstance(algorithm, Threshold) else None


def reads_of(algorithm: Algorithm | Threshold) -> Reads:
    """Which columns an algorithm reads; a function of the rows may read any."""
    source: Any = getattr(algorithm, "scorer", algorithm)
    if isinstance(source, DecisionColumn | ScoreColumn):
        return Reads(numbers=(source.column,))
    if isinstance(source, FittedModel | LinearClassifier):
        return Reads(features=source.features)
    return Reads(anything=True)


def is_own_code(algorithm: Algorithm | Threshold) -> bool:
    """Whether an algorithm is the caller's own code."""
    source: Any = getattr(algorithm, "scorer", algorithm)
    return isinstance(source, RowFunction) or not type(source).__module__.startswith(
        "improvable."
    )


def describe(algorithm: Algorithm | Threshold) -> str:
    """What decides, in words."""
    source: Any = getattr(algorithm, "scorer", algorithm)
    if isinstance(source, DecisionColumn | ScoreColumn):
        name = f"column '{source.column}'"
    elif isinstance(source, FittedModel):
        name = f"model '{type(source.estimator).__name__}'"
    elif isinstance(source, RowFunction):
        name = f"function '{models.function_name(source.function)}'"
    else:
        name = f"'{type(source).__name__}'"
    if isinstance(algorithm, Threshold):
        return f"the top {100 * algorithm.capacity:g}% by {name}"
    if isinstance(algorithm, ThresholdedScore):
        return f"above {algorithm.cutoff:g} by {name}"
    return f"decisions of {name}"


def decide(algorithm: Algorithm, rows: Rows, whose: str) -> FloatArray:
    """Decisions, checked: one finite number per row."""
    try:
        answer = np.asarray(algorithm.decide(rows), dtype=np.float64)
    except AlgorithmError as error:
        raise AlgorithmError(f"{whose}: {error.message}", error.hint) from error
    except UnknownColumnError as error:
        shown = ", ".join(rows.columns[:8]) + (", ..." if len(rows.columns) > 8 else "")
        raise AlgorithmError(
            f"{whose}: {error.message}", f"It is shown these columns: {shown}."
        ) from error
    return models.one_per_row(answer, rows, f"the {whose}")


@dataclass(frozen=True)
class Mixture:
    """One of several algorithms decides for each row, chosen by a hash of what they
    read: equal rows alike.
    """

    algorithms: tuple[Algorithm, ...]
    # the share of rows that each decides for; they add up to one
    weights: tuple[float, ...]
    features: tuple[str, ...]  # what tells rows apart
    seed: int

    def decide(self, frame: FrameLike) -> FloatArray:
        rows = read_rows(frame)
        rows.require(self.features)
        place = Keying(self.seed).of(rows, self.features) / 2.0**64
        which = np.searchsorted(np.cumsum(self.weights)[:-1], place, side="right")
        decisions = np.stack(
            [decide(algorithm, rows, "candidate") for algorithm in self.algorithms]
        )
        return np.asarray(decisions[which, np.arange(len(rows))])


def mix(
    algorithms: Sequence[Algorithm],
    weights: Sequence[float],
    features: Sequence[str],
    seed: int,
) -> Algorithm:
    """The mixture; of one algorithm, itself."""
    several = Mixture(tuple(algorithms), tuple(weights), tuple(features), seed)
    return several if len(algorithms) > 1 else algorithms[0]
