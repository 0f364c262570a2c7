"""What gives every row a number by itself: a fitted model, a linear classifier, a
function of the rows.

A row's number must not depend on the batch it comes in, to the last bit. BLAS may round
a sum of products differently with another number of rows, so in workers linear models
add up column after column (`steady`). Trees add up row by row already.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from improvable._typing import FloatArray, IntArray
from improvable.data.columns import MAX_CATEGORIES
from improvable.data.frame import FrameLike, Rows, read_rows
from improvable.errors import AlgorithmError, ImprovableError, UnknownColumnError

Part = TypeVar("Part")

# Messy columns become numbers. ----


@dataclass(frozen=True)
class Encoder:
    """A fitted encoding of some columns: skrub for text, categories and dates; training
    means for holes.
    """

    columns: tuple[str, ...]  # what it reads
    # names of what it gives; a column of numbers keeps its name
    outputs: tuple[str, ...]
    vectorizer: Any  # a skrub.TableVectorizer of the columns that are not plain
    means: FloatArray  # training means of the encoded columns, for missing values
    # encoded columns that had missing values in training; each gets a 0/1 flag
    holes: IntArray
    # columns of numbers, which nothing has to be learned of
    plain: tuple[str, ...] = ()

    def encode(self, rows: Rows) -> FloatArray:
        """A matrix of complete numbers, shape (rows, encoded columns and flags)."""
        parts = [*rows.polars(self.plain)]
        if messy := [name for name in self.columns if name not in self.plain]:
            parts = [*parts, *self.vectorizer.transform(rows.polars(messy))]
        numbers = _numbers(parts, self.outputs[: len(self.means)])
        missing = np.isnan(numbers)
        flags = missing[:, self.holes].astype(np.float64)
        return np.ascontiguousarray(
            np.hstack([np.where(missing, self.means, numbers), flags])
        )


def fit_encoder(rows: Rows, columns: Sequence[str], seed: int) -> Encoder:
    """Learn an encoding from training rows."""
    plain = [name for name in columns if rows.is_numeric(name)]
    parts, made, vectorizer = (
        [*rows.polars(plain)],
        {name: [name] for name in plain},
        None,
    )
    if messy := [name for name in columns if name not in made]:
        from sklearn.preprocessing import OneHotEncoder
        from skrub import StringEncoder, TableVectorizer

        vectorizer = TableVectorizer(
            cardinality_threshold=MAX_CATEGORIES,
            # a level unseen is all zeros
            low_cardinality=OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            high_cardinality=StringEncoder(random_state=seed),
            drop_null_fraction=None,
        )
        encoded = vectorizer.fit_transform(rows.polars(messy))
        # skrub finds other names for what it makes if it sees them all
        if made.keys() & set(encoded.columns):
            plain, parts, encoded = (
                [],
                [],
                vectorizer.fit_transform(rows.polars(columns)),
            )
        parts, made = [*parts, *encoded], made | vectorizer.input_to_outputs_
    names = [name for column in columns for name in made[column]]
    numbers = _numbers(parts, names)
    missing = np.isnan(numbers)
    means = np.where(missing, 0.0, numbers).sum(axis=0) / np.maximum(
        1, (~missing).sum(axis=0)
    )
    holes = np.flatnonzero(missing.any(axis=0))
    outputs = (*names, *(f"{names[j]} is missing" for j in holes))
    return Encoder(tuple(columns), outputs, vectorizer, means, holes, tuple(plain))


def _numbers(columns: Sequence[pl.Series], names: Sequence[str]) -> FloatArray:
    """Columns in this order as a matrix of doubles, rounded to single precision, as
    skrub has numbers.
    """
    named = {
        column.name: column.cast(pl.Float32, strict=False).to_numpy()
        for column in columns
    }
    return np.column_stack([named[name] for name in names]).astype(np.float64)


def matrix_of(
    rows: Rows, features: Sequence[str], encoder: Encoder | None
) -> FloatArray:
    """Features as a matrix, messy ones through an encoder."""
    return rows.matrix(features) if encoder is None else encoder.encode(rows)


def as_numeric(rows: Rows, encoder: Encoder) -> Rows:
    """The same rows with nothing but their encoded features."""
    frame = nw.from_dict(
        dict(zip(encoder.outputs, encoder.encode(rows).T, strict=True)),
        backend="polars",
    )
    return Rows(frame, rows.keys)


# What decides or scores. ----


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
            columns = ", ".join(rows.columns[:8]) + (
                ", ..." if len(rows.columns) > 8 else ""
            )
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
            message = f"the function '{name}' failed on the rows: {reason}."
            raise AlgorithmError(
                message, f"It is called with a frame of the columns {columns}."
            ) from error
        return one_per_row(answer, rows, f"the function '{name}'")


@dataclass(frozen=True)
class FittedModel:
    """A fitted scikit-learn estimator, which reads the columns it was fitted on; messy
    ones through an encoder.
    """

    estimator: Any
    features: tuple[str, ...]
    encoder: Encoder | None = None

    def decide(self, frame: FrameLike) -> FloatArray:
        return self._call(self.estimator.predict, read_rows(frame))

    def score(self, rows: Rows) -> FloatArray:
        """The probability of outcome 1 of a classifier, the prediction of a
        regressor.
        """
        if hasattr(self.estimator, "predict_proba"):
            return self._call(lambda x: self.estimator.predict_proba(x)[:, 1], rows)
        return self._call(
            getattr(self.estimator, "decision_function", self.estimator.predict), rows
        )

    def input(self, rows: Rows) -> Any:
        """A frame for an estimator that knows its columns by name, a matrix for one
        that does not.
        """
        if self.encoder is None and hasattr(self.estimator, "feature_names_in_"):
            return named_columns(rows, self.features)
        return matrix_of(rows, self.features, self.encoder)

    def _call(self, method: Callable[[Any], ArrayLike], rows: Rows) -> FloatArray:
        name = type(self.estimator).__name__
        try:
            rows.require(self.features)
            answer = np.asarray(method(self.input(rows)), dtype=np.float64)
        except UnknownColumnError as error:
            message = (
                f"the model '{name}' reads a column that is not there: {error.message}"
            )
            raise AlgorithmError(message, error.hint) from error
        except Exception as error:
            raise AlgorithmError(
                f"the model '{name}' failed: {' '.join(str(error).split())[:200]}"
            ) from error
        return one_per_row(answer, rows, f"the model '{name}'")


def final_step(estimator: Any) -> Any:
    """What predicts: a pipeline's last step, or the estimator itself."""
    from sklearn.pipeline import Pipeline

    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def final_input(estimator: Any, x: Any) -> FloatArray:
    """What the final step gets, after the steps before it."""
    before = (
        estimator[:-1].transform(x) if final_step(estimator) is not estimator else x
    )
    return np.asarray(before, dtype=np.float64)


def fitted_model(estimator: Any) -> FittedModel:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        message = f"the model '{type(estimator).__name__}' does not know its columns."
        raise AlgorithmError(
            message,
            (
                "Fit it on a data frame with named columns, or give a function of the "
                "rows."
            ),
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
        matrix = matrix_of(rows, self.features, self.encoder)
        return (linear_sum(matrix, self.coefficients) + self.constant >= 0).astype(
            np.float64
        )


def named_columns(rows: Rows, features: tuple[str, ...]) -> Any:
    """The caller's own kind of frame where scikit-learn can read it, Polars
    otherwise.
    """
    frame = rows.frame.select(list(features))
    readable = frame.implementation.is_pandas() or frame.implementation.is_polars()
    return frame.to_native() if readable else frame.to_polars()


def one_per_row(answer: FloatArray, rows: Rows, who: str) -> FloatArray:
    if answer.shape != (len(rows),):
        what = f"{who} gave an answer of shape {answer.shape} for {len(rows):,} rows."
        raise AlgorithmError(what, "It must give one number per row.")
    if bad := int((~np.isfinite(answer)).sum()):
        what = f"{who} gave a missing or infinite answer for {bad:,} rows."
        raise AlgorithmError(what, "Check what it does with them.")
    return answer


def function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


# The same bits in any batch. ----


def linear_sum(matrix: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Column after column: BLAS may round a row's sum differently with other rows
    beside it.
    """
    out = np.zeros(len(matrix))
    for j, coefficient in enumerate(coefficients):
        out += coefficient * matrix[:, j]
    return out


def steady(part: Part) -> Part:
    """The same algorithm or score, with linear models that add up column after
    column.
    """
    same: Any = part
    if isinstance(part, FittedModel) and _is_linear(part.estimator):
        same = replace(part, estimator=ByColumns(part.estimator))
    elif hasattr(part, "scorer"):
        same = replace(same, scorer=steady(same.scorer))
    return cast(Part, same)


def _is_linear(estimator: Any) -> bool:
    from sklearn.base import RegressorMixin
    from sklearn.linear_model._base import LinearModel

    final = final_step(estimator)
    known = type(final).__module__.startswith(
        ("sklearn.linear_model.", "improvable.algorithms.")
    )
    return (
        known
        and isinstance(final, LinearModel)
        and isinstance(final, RegressorMixin)
        and np.ndim(final.coef_) == 1
    )


class ByColumns:
    """A fitted linear regression, alone or at the end of a pipeline, that predicts
    column after column.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_

    def predict(self, x: Any) -> FloatArray:
        final = final_step(self.estimator)
        return linear_sum(final_input(self.estimator, x), final.coef_) + float(
            final.intercept_
        )
