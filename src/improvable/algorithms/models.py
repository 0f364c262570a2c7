"""What gives every row a number by itself: a fitted model, a linear classifier, a function of the rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from improvable.data.arrays import FloatArray
from improvable.data.frames import FrameLike, Rows, read_rows
from improvable.errors import AlgorithmError, ImprovableError, UnknownColumnError


class Encoder(Protocol):
    """Turns messy columns into a matrix of numbers."""

    def encode(self, rows: Rows) -> FloatArray: ...


@dataclass(frozen=True)
class RowFunction:
    """A function of the rows, which it gets as a frame of the caller's own kind."""

    function: Callable[[Any], ArrayLike]

    def decide(self, frame: FrameLike) -> FloatArray:
        return self.score(read_rows(frame))

    def score(self, rows: Rows) -> FloatArray:
        name = function_name(self.function)
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
        return one_per_row(answer, rows, f"the function '{name}'")


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

    def input(self, rows: Rows) -> Any:
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
            answer = np.asarray(method(self.input(rows)), dtype=np.float64)
        except Exception as error:
            raise AlgorithmError(f"the model '{name}' failed: {' '.join(str(error).split())[:200]}") from error
        return one_per_row(answer, rows, f"the model '{name}'")


def final_step(estimator: Any) -> Any:
    """What predicts: a pipeline's last step, or the estimator itself."""
    from sklearn.pipeline import Pipeline

    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def fitted_model(estimator: Any) -> FittedModel:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise AlgorithmError(
            f"the model '{type(estimator).__name__}' does not know its columns.",
            "Fit it on a data frame with named columns, or give a function of the rows.",
        )
    return FittedModel(estimator, tuple(map(str, names)))


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


def named_columns(rows: Rows, features: tuple[str, ...]) -> Any:
    """The caller's own kind of frame where scikit-learn can read it, Polars otherwise."""
    frame = rows.frame.select(list(features))
    if frame.implementation.is_pandas() or frame.implementation.is_polars():
        return frame.to_native()
    return frame.to_polars()


def one_per_row(answer: FloatArray, rows: Rows, who: str) -> FloatArray:
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


def function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)
