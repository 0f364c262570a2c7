"""Scores become decisions: a fixed cutoff, or one that is learned from training rows so
that a share is selected.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.models import RowFunction, fitted_model
from improvable.data.frame import FrameLike, Rows, read_rows
from improvable.data.keys import Keying, Keys, mix
from improvable.errors import OptionError
from improvable.question.options import check_capacity

SCORE_DIGITS = 10
PLACES = 1 << 64
# keeps the draw among tied rows apart from the order, which hashes the same keys
_TIES = np.uint64(0x746965732061742E)


class Score(Protocol):
    """Anything that gives every row a number to be thresholded."""

    def score(self, rows: Rows) -> FloatArray: ...


@dataclass(frozen=True)
class ScoreColumn:
    """A score that is already in the data."""

    column: str

    def score(self, rows: Rows) -> FloatArray:
        return rows.numbers(self.column)


@dataclass(frozen=True)
class TieBreaking:
    """Which of the rows that tie at a cutoff are selected: those whose keyed hash is
    low enough.

    A row's key is known in an audit, where the order of rows follows from it too. Of a
    frame that comes without keys it is the hash of the row id, or else of all columns
    of the frame: a decision then depends on the row alone, whatever other rows, batches
    or orders there are.
    """

    seed: int  # under which rows are hashed
    row_id: str | None = None  # the column that tells rows apart

    def places(self, rows: Rows) -> Keys:
        """Where rows stand in the draw, uniform on 64 bits and independent of the order
        in any repetition.
        """
        keys = rows.keys
        if keys is None:
            known = self.row_id is not None and self.row_id in rows.columns
            keys = Keying(self.seed).of(
                rows, [str(self.row_id)] if known else rows.columns
            )
        return mix(keys ^ _TIES)


@dataclass(frozen=True)
class ThresholdedScore:
    """Selects the rows whose score is strictly above a cutoff, and a share of those
    that are exactly there.

    `unit` is 0 for a score in the data, which is compared as it stands. For a fitted
    model's score it is the grain to which scores are rounded, so that rows with equal
    covariates tie on every machine.
    """

    scorer: Score
    cutoff: float
    unit: float = 0.0
    share: float = 0.0  # of the rows at the cutoff
    breaking: TieBreaking | None = None  # which ones

    @property
    def declared(self) -> dict[str, Any] | None:
        return (
            {"score": self.scorer.column, "above": self.cutoff}
            if isinstance(self.scorer, ScoreColumn)
            else None
        )

    @property
    def draws_ties(self) -> bool:
        """Whether some decisions depend on the keys of rows."""
        return self.breaking is not None and 0 < self.share < 1

    def score(self, frame: FrameLike) -> FloatArray:
        return settle(self.scorer.score(read_rows(frame)), self.unit)

    def decide(self, frame: FrameLike) -> FloatArray:
        rows = read_rows(frame)
        scores = self.score(rows)
        chosen = scores > self.cutoff
        if self.breaking is not None and self.share > 0:
            tied = np.flatnonzero(scores == self.cutoff)
            if self.share < 1 and len(tied):
                last = np.uint64(min(int(self.share * PLACES), PLACES - 1))
                tied = tied[self.breaking.places(rows.take(tied)) < last]
            chosen[tied] = True
        return chosen.astype(np.float64)


@dataclass(frozen=True)
class Threshold:
    """A score with a capacity: its cutoff is the (1 - capacity) quantile of training
    scores.

    `honest` gives the scores that the training rows would have as new rows, for a score
    that was fitted on them. A model that overfits scores its own rows higher than new
    ones, and a cutoff from those selects too few.
    """

    scorer: Score
    capacity: float
    honest: Callable[[], FloatArray] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def declared(self) -> dict[str, Any] | None:
        column = self.scorer.column if isinstance(self.scorer, ScoreColumn) else None
        return None if column is None else {"score": column, "capacity": self.capacity}

    def prepare(
        self,
        rows: Rows,
        weights: FloatArray | None = None,
        breaking: TieBreaking | None = None,
    ) -> ThresholdedScore:
        """Complete from training rows."""
        return self.complete(
            self.scorer.score(rows) if self.honest is None else self.honest(),
            weights,
            breaking,
        )

    def complete(
        self,
        scores: FloatArray,
        weights: FloatArray | None = None,
        breaking: TieBreaking | None = None,
    ) -> ThresholdedScore:
        """The same from the scores of training rows."""
        unit = 0.0 if isinstance(self.scorer, ScoreColumn) else score_unit(scores)
        settled = settle(scores, unit)
        place = cutoff(settled, self.capacity, weights)
        share = (
            0.0
            if breaking is None
            else tied_share(settled, place, self.capacity, weights)
        )
        return ThresholdedScore(self.scorer, place, unit, share, breaking)


def score_unit(scores: FloatArray) -> float:
    """The grain to which a model's scores are rounded: ten digits of the largest."""
    largest = float(np.abs(scores).max())
    return (
        0.0
        if largest == 0
        else float(10.0 ** (np.floor(np.log10(largest)) - SCORE_DIGITS))
    )


def tied_share(
    scores: FloatArray, place: float, capacity: float, weights: FloatArray | None = None
) -> float:
    """The share of rows at the cutoff that must be selected, beside all rows above it,
    to meet the capacity.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    tied = float(weights[scores == place].sum())
    if tied == 0:
        return 0.0
    lacking = capacity * float(weights.sum()) - float(weights[scores > place].sum())
    return min(max(lacking / tied, 0.0), 1.0)


def cutoff(
    scores: FloatArray, capacity: float, weights: FloatArray | None = None
) -> float:
    """The (1 - capacity) quantile. Whole-number weights count repeated rows; other
    weights are scaled to mean one.
    """
    if weights is None:
        return float(np.quantile(scores, 1 - capacity))
    if not (weights == np.round(weights)).all():
        weights = weights / weights.mean()
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    place = (1 - capacity) * (reached[-1] - 1)
    below = np.floor(place)
    around = np.searchsorted(reached, [below, below + 1], side="right")
    low, high = scores[order[np.minimum(around, len(order) - 1)]]
    return float(low + (place - below) * (high - low))


def settle(scores: FloatArray, unit: float) -> FloatArray:
    """Scores rounded to whole units; as they are with a unit of 0."""
    return scores if unit == 0.0 else np.round(scores / unit) * unit


def threshold(
    score: Any, *, capacity: float | None = None, above: float | None = None
) -> Threshold | ThresholdedScore:
    """Select by a score: the top share `capacity`, or every score strictly `above` a
    fixed number.

    Parameters
    ----------
    score : str, fitted estimator or callable
        A column of scores, a fitted scikit-learn model, or a function of the rows.
    capacity : float, optional
        Share of rows to select. In an audit the cutoff is the (1 - capacity) quantile
        of the *training* scores; in a comparison, of the rows given.
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
        raise OptionError(
            "a threshold needs a capacity or a fixed cutoff.",
            "Give `capacity=0.03` or `above=4`.",
        )
    if not (isinstance(score, str) or hasattr(score, "predict") or callable(score)):
        how = (
            "Give a column name, a fitted scikit-learn model or a function of the rows."
        )
        raise OptionError(f"a {type(score).__name__} is not a score.", how)
    make = (
        ScoreColumn
        if isinstance(score, str)
        else fitted_model
        if hasattr(score, "predict")
        else RowFunction
    )
    scorer: Score = make(score)
    if above is not None:
        return ThresholdedScore(scorer, float(above))
    return Threshold(scorer, check_capacity(capacity))
