"""The scores that training rows would have as new rows, from which a capacity's cutoff
is taken.

A model that overfits scores the rows it was fitted on higher than others. A cutoff from
those scores is too high, and the candidate then selects a fraction of its capacity.
Three ways to out-of-sample scores, the cheapest that applies:

- a least-squares or ridge regression: each row left out, exactly, by the hat matrix;
- a forest of at least `MIN_TREES` trees: for each row the trees that did not see it
  (out of bag). With fewer trees these scores are too noisy beside those of the whole
  forest;
- anything else: cross-fitted in `FOLDS` folds, and mapped from each fold's model to the
  final one by rank. The LASSO has these models from its cross-validation, with the
  penalty that it chose; others are fitted again.

Rows left out or out of bag that equal another training row in all features keep the
final model's own score. A new row like them gets exactly that score, and rows that tie
for the model must still tie for the cutoff. The share of the other rows, which have no
equal, estimates how many new rows are unlike any training row (Good and Turing).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.models import FittedModel, final_input, final_step
from improvable.algorithms.rules.base import FOLDS, Training, fold_of_row
from improvable.algorithms.thresholds import score_unit, settle
from improvable.data.keys import Keying
from improvable.inference.bootstrap import child

MIN_TREES = 100
FEW_FOLDS = 3  # for predictions that only weigh one condition against another
# the child of a rule's seed that orders rows into folds; `folds_of` and a tournament
# have those below
CUTOFF = 3
Fit = Callable[[Training], FittedModel]


def honest_scores(fitted: FittedModel, training: Training, refit: Fit) -> FloatArray:
    """The score of every training row as if it were new; `refit` fits the same model on
    other training rows.
    """
    own = fitted.score(training.rows)
    found = _known(fitted, training, own)
    if found is None:
        return _cross_fitted(fitted, training, own, refit)
    return keep_twins(own, found, training)


def keep_twins(own: FloatArray, found: FloatArray, training: Training) -> FloatArray:
    """Scores of rows left out, but for those that equal another row in all features:
    they keep the model's own.
    """
    keys = Keying(0).of(training.rows, training.features)
    _, codes, times = np.unique(keys, return_inverse=True, return_counts=True)
    return np.where(times[codes] > 1, own, found)


def cross_fit(training: Training, fit: Fit) -> tuple[FittedModel, FloatArray]:
    """A model of all rows, and the prediction for every one by a model that did not
    learn from it.
    """
    fitted = fit(training)
    if (known := _by_fold(fitted, training)) is not None:
        return fitted, known[cutoff_folds(training), np.arange(len(training.target))]
    if (found := _known(fitted, training, fitted.score(training.rows))) is not None:
        return fitted, found
    fold = fold_of_row(training.sample, FEW_FOLDS, child(training.seed, CUTOFF))
    out = np.empty(len(fold))
    for k in range(int(fold.max()) + 1):
        learn, judge = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if np.ptp(training.target[learn]) == 0:
            out[judge] = training.target[learn[0]]
        else:
            part = replace(training.take(learn), seed=child(training.seed, CUTOFF, k))
            out[judge] = fit(part).score(training.rows.take(judge))
    return fitted, out


def _known(
    fitted: FittedModel, training: Training, own: FloatArray
) -> FloatArray | None:
    """Predictions of rows left out that the fitted model itself can tell; clusters must
    stay whole, so not of these.
    """
    if training.sample.clusters is not None:
        return None
    found = _left_out(fitted, training, own)
    return _out_of_bag(fitted.estimator) if found is None else found


def may_keep_out_of_bag(model: Any) -> bool:
    """Whether an unfitted estimator is a forest that can say how its trees judge rows
    that they did not see.
    """
    known = model.get_params(deep=False)
    return bool(
        "oob_score" in known
        and known.get("bootstrap")
        and known.get("n_estimators", 0) >= MIN_TREES
    )


def _out_of_bag(estimator: Any) -> FloatArray | None:
    """Out-of-bag scores; none where some row was in every tree's bag."""
    found = getattr(
        estimator, "oob_decision_function_", getattr(estimator, "oob_prediction_", None)
    )
    if found is None or not np.isfinite(found).all():
        return None
    return np.asarray(found[:, 1] if np.ndim(found) == 2 else found)


def forget_training(estimator: Any) -> None:
    """Drop predictions of training rows and models of some of them: a candidate may be
    exported.
    """
    final = final_step(estimator)
    for name in (
        "oob_decision_function_",
        "oob_prediction_",
        "oob_score_",
        "coef_by_fold_",
        "intercept_by_fold_",
    ):
        if hasattr(final, name):
            delattr(final, name)


def _left_out(
    fitted: FittedModel, training: Training, own: FloatArray
) -> FloatArray | None:
    """Each row's prediction by the regression that is fitted without it: y - e / (1 -
    h), h from the hat matrix.
    """
    from sklearn.linear_model import LinearRegression, Ridge

    final = final_step(fitted.estimator)
    if (
        type(final) not in (LinearRegression, Ridge)
        or not final.fit_intercept
        or getattr(final, "positive", False)
    ):
        return None
    matrix = final_input(fitted.estimator, fitted.input(training.rows))
    relative = training.sample.relative_weights
    weights = np.ones(len(matrix)) if relative is None else relative
    mean = float(np.average(training.target, weights=weights))
    scaled = (matrix - np.average(matrix, axis=0, weights=weights)) * np.sqrt(weights)[
        :, None
    ]
    penalty = float(final.alpha) if isinstance(final, Ridge) else 0.0
    leverage = weights / weights.sum() + _leverage(scaled, penalty)
    residual = training.target - own
    # it carries a coefficient by itself, and gets the mean of the target
    alone = 1 - leverage < 1e-8
    out: FloatArray = training.target - residual / np.where(alone, 1.0, 1 - leverage)
    return np.where(alone, mean, out)


def _leverage(matrix: FloatArray, penalty: float) -> FloatArray:
    """The diagonal of X (X'X + penalty)^-1 X', from the smaller of X'X and XX', which
    have the same eigenvalues.
    """
    rows, columns = matrix.shape
    wide = columns > rows
    # Directions without variation are left out, as the solver of least squares does.
    values, vectors = np.linalg.eigh(matrix @ matrix.T if wide else matrix.T @ matrix)
    seen = values > values[-1] * max(rows, columns) * np.finfo(np.float64).eps
    along = (
        vectors[:, seen] * np.sqrt(values[seen]) if wide else matrix @ vectors[:, seen]
    )
    return np.asarray((along**2 / (values[seen] + penalty)).sum(axis=1))


def cutoff_folds(training: Training) -> IntArray:
    """The fold of every training row."""
    return fold_of_row(training.sample, FOLDS, child(training.seed, CUTOFF))


def _by_fold(fitted: FittedModel, training: Training) -> FloatArray | None:
    """The scores of all rows by the models without each fold, (folds, rows), which a
    LASSO has already.
    """
    final = final_step(fitted.estimator)
    if not hasattr(final, "coef_by_fold_"):
        return None
    matrix = final_input(fitted.estimator, fitted.input(training.rows))
    return np.asarray(
        final.coef_by_fold_ @ matrix.T + final.intercept_by_fold_[:, None]
    )


def _cross_fitted(
    fitted: FittedModel, training: Training, own: FloatArray, refit: Fit
) -> FloatArray:
    """Score every fold by a model of the others, and map these scores to the final
    model's own by rank.
    """
    out, fold, target = own.copy(), cutoff_folds(training), training.target
    known = _by_fold(fitted, training)
    folds = int(fold.max()) + 1
    for k in range(folds):
        learn, judge = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if training.binary_target and target[learn].min() == target[learn].max():
            return own  # too few of one outcome to leave any out
        if known is not None:
            scores = known[k]
        else:
            training.report(f"cutoff, fold {k + 1} of {folds}")
            part = replace(training.take(learn), seed=child(training.seed, CUTOFF, k))
            scores = refit(part).score(training.rows)
        out[judge] = map_by_rank(scores[judge], scores[learn], own[learn])
    return out


def map_by_rank(
    scores: FloatArray, before: FloatArray, after: FloatArray
) -> FloatArray:
    """Scores of one model on the scale of another, by what both say of the same rows.

    A score goes where the rows that `before` ranks beside it are in `after`; between
    two of them in proportion. Scores that tie with several rows are spread evenly over
    these, so that a tie of one model becomes a tie of the other.
    """
    unit = score_unit(np.concatenate([scores, before]))
    scores, low_to_high = settle(scores, unit), np.sort(settle(before, unit))
    target, last = np.sort(after), len(after) - 1
    first, end = (
        np.searchsorted(low_to_high, scores, side=side) for side in ("left", "right")
    )
    below, above = np.clip(first - 1, 0, last), np.clip(first, 0, last)
    width = low_to_high[above] - low_to_high[below]
    part = np.where(
        width > 0, (scores - low_to_high[below]) / np.where(width > 0, width, 1.0), 0.0
    )
    between = target[below] + part * (target[above] - target[below])
    between = np.where(first == 0, target[0] + scores - low_to_high[0], between)
    between = np.where(
        first == last + 1, target[last] + scores - low_to_high[last], between
    )
    # Of several equal scores, each has its place among the rows that it ties with,
    # evenly.
    _, codes, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    rank = np.empty(len(scores), dtype=np.int64)
    rank[np.argsort(codes, kind="stable")] = np.arange(len(scores)) - np.repeat(
        np.cumsum(sizes) - sizes, sizes
    )
    spread = ((rank + 0.5) / sizes[codes] * (end - first)).astype(np.int64)
    return np.where(end > first, target[np.clip(first + spread, 0, last)], between)
