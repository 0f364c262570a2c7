"""What decides: a column, a thresholded score, a fitted model, a function of the rows.

Every algorithm has ``decide(frame)``. What still needs training rows to be complete (a score whose
threshold is a quantile) has ``prepare(rows)`` and gives the complete algorithm.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from improvable.data.arrays import FloatArray
from improvable.data.columns import Reads
from improvable.data.frames import FrameLike, Rows, read_rows
from improvable.errors import AlgorithmError, ImprovableError, OptionError, UnknownColumnError
from improvable.question.checks import check_capacity
from improvable.question.status_quo import check_written

SCORE_DIGITS = 10


class Algorithm(Protocol):
    """Anything that turns rows into decisions: the paper's a."""

    def decide(self, frame: FrameLike) -> FloatArray:
        """One decision per row."""
        ...


class Encoder(Protocol):
    """Turns messy columns into a matrix of numbers."""

    def encode(self, rows: Rows) -> FloatArray: ...


class Score(Protocol):
    """Anything that gives every row a number to be thresholded."""

    def score(self, rows: Rows) -> FloatArray: ...


@dataclass(frozen=True)
class DecisionColumn:
    """Decisions that are already in the data."""

    column: str

    @property
    def declared(self) -> dict[str, Any]:
        return {"decision": self.column}

    def decide(self, frame: FrameLike) -> FloatArray:
        return read_rows(frame).numbers(self.column)


@dataclass(frozen=True)
class ScoreColumn:
    """A score that is already in the data."""

    column: str

    def score(self, rows: Rows) -> FloatArray:
        return rows.numbers(self.column)


@dataclass(frozen=True)
class RowFunction:
    """A function of the rows, which it gets as a frame of the caller's own kind."""

    function: Callable[[Any], ArrayLike]

    def decide(self, frame: FrameLike) -> FloatArray:
        return self.score(read_rows(frame))

    def score(self, rows: Rows) -> FloatArray:
        name = _function_name(self.function)
        try:
            answer = np.asarray(self.function(rows.native()), dtype=np.float64)
        except ImprovableError:
            raise
        except Exception as error:
            columns = ", ".join(rows.columns[:8]) + (", ..." if len(rows.columns) > 8 else "")
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
            raise AlgorithmError(
                f"the function '{name}' failed on the rows: {reason}.",
                f"It is called with a frame of the columns {columns}.",
            ) from error
        return _one_per_row(answer, rows, f"the function '{name}'")


@dataclass(frozen=True)
class FittedModel:
    """A fitted scikit-learn estimator, which reads the columns it was fitted on; messy ones through an encoder."""

    estimator: Any
    features: tuple[str, ...]
    encoder: Encoder | None = None

    def decide(self, frame: FrameLike) -> FloatArray:
        rows = read_rows(frame)
        return self._call(self.estimator.predict, rows)

    def score(self, rows: Rows) -> FloatArray:
        """The probability of outcome 1 of a classifier, the prediction of a regressor."""
        if hasattr(self.estimator, "predict_proba"):
            return self._call(lambda x: self.estimator.predict_proba(x)[:, 1], rows)
        if hasattr(self.estimator, "decision_function"):
            return self._call(self.estimator.decision_function, rows)
        return self._call(self.estimator.predict, rows)

    def _input(self, rows: Rows) -> Any:
        """A frame for an estimator that knows its columns by name, a matrix for one that does not."""
        if self.encoder is not None:
            return self.encoder.encode(rows)
        if hasattr(self.estimator, "feature_names_in_"):
            return named_columns(rows, self.features)
        return rows.matrix(self.features)

    def _call(self, method: Callable[[Any], ArrayLike], rows: Rows) -> FloatArray:
        name = type(self.estimator).__name__
        try:
            rows.require(self.features)
        except UnknownColumnError as error:
            raise AlgorithmError(
                f"the model '{name}' reads a column that is not there: {error.message}", error.hint
            ) from error
        try:
            answer = np.asarray(method(self._input(rows)), dtype=np.float64)
        except Exception as error:
            raise AlgorithmError(f"the model '{name}' failed: {' '.join(str(error).split())[:200]}") from error
        return _one_per_row(answer, rows, f"the model '{name}'")


def named_columns(rows: Rows, features: tuple[str, ...]) -> Any:
    """The caller's own kind of frame where scikit-learn can read it, Polars otherwise."""
    frame = rows.frame.select(list(features))
    if frame.implementation.is_pandas() or frame.implementation.is_polars():
        return frame.to_native()
    return frame.to_polars()


def _one_per_row(answer: FloatArray, rows: Rows, who: str) -> FloatArray:
    if answer.shape != (len(rows),):
        raise AlgorithmError(
            f"{who} gave an answer of shape {answer.shape} for {len(rows):,} rows.", "It must give one number per row."
        )
    bad = int((~np.isfinite(answer)).sum())
    if bad:
        raise AlgorithmError(
            f"{who} gave a missing or infinite answer for {bad:,} rows.", "Check what it does with them."
        )
    return answer


@dataclass(frozen=True)
class LinearClassifier:
    """Selects the rows where a linear score is at least zero (Appendix F)."""

    features: tuple[str, ...]
    coefficients: FloatArray
    constant: float
    encoder: Encoder | None = None

    def decide(self, frame: FrameLike) -> FloatArray:
        rows = read_rows(frame)
        rows.require(self.features)
        matrix = rows.matrix(self.features) if self.encoder is None else self.encoder.encode(rows)
        return (linear_sum(matrix, self.coefficients) + self.constant >= 0).astype(np.float64)


def linear_sum(matrix: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Column after column: BLAS may round a row's sum differently with other rows beside it."""
    out = np.zeros(len(matrix))
    for j, coefficient in enumerate(coefficients):
        out += coefficient * matrix[:, j]
    return out


@dataclass(frozen=True)
class ThresholdedScore:
    """Selects the rows whose score is strictly above a cutoff.

    `unit` is 0 for a score in the data, which is compared as it stands. For a fitted model's score it is
    the grain to which scores are rounded, so that rows with equal covariates tie on every machine.
    """

    scorer: Score
    cutoff: float
    unit: float = 0.0

    @property
    def declared(self) -> dict[str, Any] | None:
        """In writing, where the score is a column."""
        return {"score": self.scorer.column, "above": self.cutoff} if isinstance(self.scorer, ScoreColumn) else None

    def score(self, frame: FrameLike) -> FloatArray:
        return _settle(self.scorer.score(read_rows(frame)), self.unit)

    def decide(self, frame: FrameLike) -> FloatArray:
        return (self.score(frame) > self.cutoff).astype(np.float64)


@dataclass(frozen=True)
class Threshold:
    """A score with a capacity: its cutoff is the (1 - capacity) quantile of the training scores."""

    scorer: Score
    capacity: float

    @property
    def declared(self) -> dict[str, Any] | None:
        """In writing, where the score is a column."""
        return (
            {"score": self.scorer.column, "capacity": self.capacity} if isinstance(self.scorer, ScoreColumn) else None
        )

    def prepare(self, rows: Rows, weights: FloatArray | None = None) -> ThresholdedScore:
        return self.complete(self.scorer.score(rows), weights)

    def complete(self, scores: FloatArray, weights: FloatArray | None = None) -> ThresholdedScore:
        """The same from the scores of training rows."""
        unit = 0.0
        if not isinstance(self.scorer, ScoreColumn):
            largest = float(np.abs(scores).max())
            unit = 0.0 if largest == 0 else 10.0 ** (np.floor(np.log10(largest)) - SCORE_DIGITS)
        return ThresholdedScore(self.scorer, cutoff(_settle(scores, unit), self.capacity, weights), unit)


def cutoff(scores: FloatArray, capacity: float, weights: FloatArray | None = None) -> float:
    """The (1 - capacity) quantile. Whole-number weights count repeated rows; other weights are scaled to mean one.

    Examples
    --------
    >>> import numpy as np
    >>> scores, weights = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0, 1.0])
    >>> cutoff(scores, 0.3, weights) == cutoff(np.repeat(scores, [2, 1, 3, 1]), 0.3)
    True
    """
    if weights is None:
        return float(np.quantile(scores, 1 - capacity))
    if not (weights == np.round(weights)).all():
        weights = weights / weights.mean()
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    place = (1 - capacity) * (reached[-1] - 1)
    below = np.floor(place)
    low, high = (
        scores[order[min(int(np.searchsorted(reached, at, side="right")), len(order) - 1)]] for at in (below, below + 1)
    )
    return float(low + (place - below) * (high - low))


def _settle(scores: FloatArray, unit: float) -> FloatArray:
    return scores if unit == 0.0 else np.round(scores / unit) * unit


def threshold(score: Any, *, capacity: float | None = None, above: float | None = None) -> Threshold | ThresholdedScore:
    """Select by a score: the top share `capacity`, or every score strictly `above` a fixed number.

    Parameters
    ----------
    score : str, fitted estimator or callable
        A column of scores, a fitted scikit-learn model, or a function of the rows.
    capacity : float, optional
        Share of rows to select. In an audit the cutoff is the (1 - capacity) quantile of the *training*
        scores; in a comparison, of the rows given.
    above : float, optional
        A fixed cutoff instead.

    Examples
    --------
    >>> threshold("risk_score", capacity=0.03).capacity
    0.03
    >>> threshold("decile_score", above=4).cutoff
    4.0
    """
    if (capacity is None) == (above is None):
        raise OptionError("a threshold needs either a capacity or a fixed cutoff.", "Give capacity=0.03 or above=4.")
    scorer = _as_score(score)
    if capacity is not None:
        return Threshold(scorer, check_capacity(capacity))
    assert above is not None
    return ThresholdedScore(scorer, float(above))


def _as_score(score: Any) -> Score:
    if isinstance(score, str):
        return ScoreColumn(score)
    if hasattr(score, "predict"):
        return fitted_model(score)
    if callable(score):
        return RowFunction(score)
    raise OptionError(
        f"a {type(score).__name__} is not a score.",
        "Give a column name, a fitted scikit-learn model or a function of the rows.",
    )


def fitted_model(estimator: Any) -> FittedModel:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise AlgorithmError(
            f"the model '{type(estimator).__name__}' does not know its columns.",
            "Fit it on a data frame with named columns, or give a function of the rows.",
        )
    return FittedModel(estimator, tuple(map(str, names)))


def as_algorithm(spec: Any) -> Algorithm | Threshold:
    """A column of decisions, a threshold, a fitted model, a function of the rows, or an object that decides.

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
        return DecisionColumn(spec["decision"]) if "decision" in spec else threshold(**spec)
    if isinstance(spec, Threshold | ThresholdedScore | DecisionColumn | FittedModel | LinearClassifier | RowFunction):
        return spec
    if hasattr(spec, "decide"):
        return RowFunction(spec.decide)
    if hasattr(spec, "predict"):
        return fitted_model(spec)
    if callable(spec):
        return RowFunction(spec)
    raise OptionError(
        f"a {type(spec).__name__} cannot decide.",
        "Give a column of decisions, threshold(...), a fitted scikit-learn model or a function of the rows.",
    )


def prepare(algorithm: Algorithm | Threshold, training: Rows, weights: FloatArray | None = None) -> Algorithm:
    """Complete an algorithm from training rows; one that is complete stays as it is."""
    return algorithm.prepare(training, weights) if isinstance(algorithm, Threshold) else algorithm


def capacity_of(algorithm: Algorithm | Threshold) -> float | None:
    return algorithm.capacity if isinstance(algorithm, Threshold) else None


def reads_of(algorithm: Algorithm | Threshold) -> Reads:
    """Which columns an algorithm reads; of a function of the rows, nobody knows."""
    source: Any = getattr(algorithm, "scorer", algorithm)
    if isinstance(source, DecisionColumn | ScoreColumn):
        return Reads(numbers=(source.column,))
    if isinstance(source, FittedModel | LinearClassifier):
        return Reads(features=source.features)
    return Reads(anything=True)


def is_own_code(algorithm: Algorithm | Threshold) -> bool:
    """Whether an algorithm is code of the caller's own, of which nothing is known."""
    source: Any = getattr(algorithm, "scorer", algorithm)
    return isinstance(source, RowFunction) or not type(source).__module__.startswith("improvable.")


def describe(algorithm: Algorithm | Threshold) -> str:
    """What decides, in words."""
    source: Any = getattr(algorithm, "scorer", algorithm)
    if isinstance(source, DecisionColumn | ScoreColumn):
        name = f"column '{source.column}'"
    elif isinstance(source, FittedModel):
        name = f"model '{type(source.estimator).__name__}'"
    elif isinstance(source, RowFunction):
        name = f"function '{_function_name(source.function)}'"
    else:
        name = f"'{type(source).__name__}'"
    if isinstance(algorithm, Threshold):
        return f"the top {100 * algorithm.capacity:g}% by {name}"
    if isinstance(algorithm, ThresholdedScore):
        return f"above {algorithm.cutoff:g} by {name}"
    return f"decisions of {name}"


def _function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def decide(algorithm: Algorithm, rows: Rows, whose: str) -> FloatArray:
    """Decisions, checked: one finite number per row."""
    try:
        answer = np.asarray(algorithm.decide(rows), dtype=np.float64)
    except AlgorithmError as error:
        raise AlgorithmError(f"{whose}: {error.message}", error.hint) from error
    return _one_per_row(answer, rows, f"the {whose}")
