"""A bound on the difference of selection rates, for any score, without reading the
group at decision time.

Among all decisions that see only the features, the one with the highest total score
whose selection rates differ by at most a bound selects where s(x) - sum_g lambda_g
P(g | x) / P(g) is above a cutoff: the Lagrangian of the problem. So the score is
lowered for rows that look like a group that is selected often. P(g | x) is a logistic
regression of the group on the features; the lambdas are the smallest that meet the
bound on training rows, with scores from folds that did not train on them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.constraints import selection_gap, selection_rates, spread_of
from improvable.algorithms.models import Encoder, linear_sum, matrix_of
from improvable.algorithms.rules.base import Selection, Training, folds_of
from improvable.algorithms.thresholds import Score, Threshold, ThresholdedScore, cutoff
from improvable.data.frame import Rows
from improvable.data.groups import Attribute
from improvable.errors import RuleError

ROUNDS = 100
DOUBLINGS, HALVINGS = 30, 25
STRENGTHS = (0.001, 0.01, 0.1, 1.0)
MIN_OF_A_GROUP = 30
SMALLEST = 2.0**-10  # of the score's spread: the first penalty tried


@dataclass(frozen=True)
class GroupGuess:
    """How likely a row's features are of each group: a fitted logistic regression."""

    features: tuple[str, ...]
    encoder: Encoder | None
    coefficients: FloatArray  # (columns, groups)
    constants: FloatArray  # (groups,)
    shares: FloatArray  # (groups,): of the training rows, or of their weight
    strength: float  # inverse strength of the ridge penalty

    def relative(self, rows: Rows) -> FloatArray:
        """P(g | x) / P(g), shape (rows, groups)."""
        matrix = matrix_of(rows, self.features, self.encoder)
        logits = (
            np.stack(
                [linear_sum(matrix, column) for column in self.coefficients.T], axis=1
            )
            + self.constants
        )
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True) / self.shares)


@dataclass(frozen=True)
class PenalizedScore:
    """A score less a penalty for looking like groups that are selected often; it reads
    features, not groups.
    """

    scorer: Score
    guesses: tuple[GroupGuess, ...]  # one for each group column
    penalties: tuple[FloatArray, ...]  # of each group

    def score(self, rows: Rows) -> FloatArray:
        return _penalize(
            self.scorer.score(rows),
            [guess.relative(rows) for guess in self.guesses],
            self.penalties,
        )


def _penalize(
    scores: FloatArray, looks: Sequence[FloatArray], penalties: Sequence[FloatArray]
) -> FloatArray:
    for look, penalty in zip(looks, penalties, strict=True):
        scores = scores - linear_sum(look, penalty)
    return scores


def bound_selection_gap(
    training: Training, fit: Callable[[Training], Score], above: float | None
) -> Selection:
    """Fit a score and penalize it until rates differ by at most the bound; `above` is
    the cutoff without a capacity.
    """
    bound = cast(float, training.constraints.selection_gap)
    attributes = training.sample.grouping.attributes
    scores = np.empty(len(training.rows))
    looks = [np.empty((len(scores), len(attribute.levels))) for attribute in attributes]
    guesses = tuple(guess_group(training, attribute) for attribute in attributes)
    for part, judge in folds_of(training):
        judged = training.rows.take(judge)
        scores[judge] = fit(part).score(judged)
        for look, attribute, guess in zip(looks, attributes, guesses, strict=True):
            # as strongly shrunk as from all rows
            alike = guess.strength * len(scores) / len(part.rows)
            look[judge] = guess_group(part, attribute, alike).relative(judged)
    path = Path(training, scores, looks, above)
    penalties = path.descend(bound)
    reached = path.gap(penalties)
    notes = {
        "selection_gap": {
            "asked": bound,
            "without_penalty": path.gap(path.none),
            "on_folds": reached,
        }
    }
    if reached > bound:
        return Selection(None, notes)
    score: Score = fit(training)
    if any(penalty.any() for penalty in penalties):
        score = PenalizedScore(score, guesses, tuple(penalties))
    capacity = training.constraints.capacity
    if capacity is None:
        return Selection(ThresholdedScore(score, cast(float, above)), notes)
    penalized = _penalize(scores, looks, penalties)
    return Selection(
        Threshold(score, capacity).complete(penalized, training.sample.weights), notes
    )


class Path:
    """Out-of-fold scores of the training rows, and what penalties make of them."""

    def __init__(
        self,
        training: Training,
        scores: FloatArray,
        looks: list[FloatArray],
        above: float | None,
    ) -> None:
        self.sample, self.capacity = training.sample, training.constraints.capacity
        self.scores, self.looks, self.above = scores, looks, above
        self.none = [np.zeros(look.shape[1]) for look in looks]

    def decisions(self, penalties: list[FloatArray]) -> FloatArray:
        scores = _penalize(self.scores, self.looks, penalties)
        edge = (
            self.above
            if self.capacity is None
            else cutoff(scores, self.capacity, self.sample.weights)
        )
        return (scores > cast(float, edge)).astype(np.float64)

    def gap(self, penalties: list[FloatArray]) -> float:
        return selection_gap(self.decisions(penalties), self.sample)

    def descend(self, bound: float) -> list[FloatArray]:
        """Penalize the pair of groups that is farthest apart until it meets the bound,
        pair after pair.
        """
        penalties, attributes = self.none, self.sample.grouping.attributes
        for _ in range(ROUNDS):
            rates = selection_rates(self.decisions(penalties), self.sample)
            place, attribute = max(
                enumerate(attributes), key=lambda each: spread_of(rates, each[1])
            )
            if spread_of(rates, attribute) <= bound:
                break
            high, low = (
                extreme(attribute.levels, key=rates.__getitem__)
                for extreme in (max, min)
            )
            direction = np.array(
                [
                    float(level == high) - float(level == low)
                    for level in attribute.levels
                ]
            )
            moved = self._shortest(penalties, place, direction, (high, low), bound)
            if moved is None:
                break
            penalties = moved
        return penalties

    def _shortest(
        self,
        penalties: list[FloatArray],
        place: int,
        direction: FloatArray,
        pair: tuple[str, str],
        bound: float,
    ) -> list[FloatArray] | None:
        """The smallest further penalty of one pair of groups that brings their rates
        together.
        """

        def move(length: float) -> tuple[list[FloatArray], bool]:
            moved = [*penalties]
            moved[place] = penalties[place] + length * direction
            rates = selection_rates(self.decisions(moved), self.sample)
            return moved, rates[pair[0]] - rates[pair[1]] <= bound

        low, high = 0.0, SMALLEST * (float(self.scores.std()) or 1.0)
        for _ in range(DOUBLINGS):
            if move(high)[1]:
                break
            low, high = high, 2 * high
        else:
            return None
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if move(middle)[1] else (middle, high)
        return move(high)[0]


def guess_group(
    training: Training, attribute: Attribute, strength: float | None = None
) -> GroupGuess:
    """Learn to predict the group from features, but not from monotone ones, so that
    scores stay monotone.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    matrix, columns, encoder = training.encoded()
    free = np.array([name not in training.constraints.monotone for name in columns])
    if not free.any():
        what = (
            "every feature is monotone, so none is left to bound the selection gap "
            "with."
        )
        raise RuleError(
            what,
            "Give features that are not monotone, or use the rule 'linear_program'.",
        )
    weights = training.sample.relative_weights
    scaler = StandardScaler().fit(matrix[:, free])
    level = attribute.member[training.sample.grouping.codes]
    standard = scaler.transform(matrix[:, free])
    # cross-validated, unless it is given
    strength = _strength(standard, level) if strength is None else strength
    model = LogisticRegression(C=strength, max_iter=1_000).fit(
        standard, level, sample_weight=weights
    )
    slopes, constants = (
        model.coef_ / scaler.scale_,
        model.intercept_ - model.coef_ @ (scaler.mean_ / scaler.scale_),
    )
    if len(model.classes_) == 2:
        slopes, constants = (
            np.vstack([np.zeros_like(slopes), slopes]),
            np.array([0.0, constants[0]]),
        )
    coefficients = np.zeros((len(columns), len(attribute.levels)))
    coefficients[np.ix_(free, model.classes_)] = slopes.T
    constant, share = (
        np.full(len(attribute.levels), -np.inf),
        np.ones(len(attribute.levels)),
    )
    constant[model.classes_] = constants
    counted = np.bincount(level, weights=weights, minlength=len(share))
    share[model.classes_] = (counted / counted.sum())[model.classes_]
    return GroupGuess(
        training.features, encoder, coefficients, constant, share, strength
    )


def _strength(matrix: FloatArray, level: IntArray) -> float:
    """Inverse strength of the ridge penalty, by the cross-validated likelihood: a guess
    that overfits adds noise.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    counts = np.bincount(level)
    if counts[counts > 0].min() < MIN_OF_A_GROUP:
        return STRENGTHS[0]

    def likelihood(strength: float) -> float:
        model = LogisticRegression(C=strength, max_iter=1_000)
        return float(
            cross_val_score(model, matrix, level, cv=3, scoring="neg_log_loss").mean()
        )

    return max(STRENGTHS, key=likelihood)
