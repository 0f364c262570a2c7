"""What is known of outcomes that nobody has seen, from the training rows of a block.

A person who was not selected has no outcome. Given the features x, its mean differs
from that of people who were seen by at most delta (Rambachan, Coston and Kennedy,
2022). The rows before a block teach two models, m(x), the mean outcome of those seen,
and e(x), the probability of being seen; for the block itself both are fixed, so that
its rows are as fresh as for the candidate. Those whom the candidate selects are
counted, in its utilities alone, as

    unknown: m(x) -/+ (delta + w(x)) seen: y + (1 - e) / max(e, E_MIN) (y - m(x)).

*Where people like them were seen*, e above `E_MIN`, the residuals of those seen repair
what m gets wrong on average, and w is 0: a doubly robust mean. *Where nobody was*, as
beyond a lender's cutoff, nothing repairs m, and its own error must be in the test: w =
t se(x) (1 - e / max(e, E_MIN)), se from the models without each of `FOLDS` folds
(jackknife), t Student's quantile at the level of one test. Given the training rows, the
error of the tested rows and that of m are independent, s and s'; rejecting only if T >
z s + t s' is safe, because (s^2 + s'^2)^.5 is less than s + s', and the sum of
pointwise errors is at least the error of the sum.

From the outcome's range up, delta says nothing, and unknown outcomes are counted at the
ends of the range, with no model. A comparison, which has no training rows, takes no
other delta.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import scipy  # its submodules load when they are first used

from improvable._typing import FloatArray
from improvable.algorithms.constraints import Limits
from improvable.algorithms.models import (
    Encoder,
    final_input,
    final_step,
    linear_sum,
    matrix_of,
)
from improvable.algorithms.rules.base import FOLDS, Training, fold_of_row
from improvable.algorithms.rules.predictive import predictive_rule
from improvable.data.frame import Rows
from improvable.data.keys import mix
from improvable.data.sample import Reading, Sample
from improvable.errors import UNKNOWN, Caution, DataError
from improvable.inference.bootstrap import child
from improvable.inference.unknown import Imputed, check_utilities

E_MIN = 0.2
MIN_SEEN = 20  # rows with outcomes, to learn a model from
MIN_THIN = 0.005  # a smaller share without overlap is not worth a caution
FEW = 100  # rows on which it is looked at whether utilities can be bounded
OUTCOMES = 7  # the child of a rule's seed that orders rows into the folds of the models
# keeps outcomes that are drawn apart from other uses of rows' keys
DRAW = np.uint64(0x756E6B6E6F776E2E)
# rows; with fewer, least squares would follow chance, and a LASSO takes its place
PER_COLUMN = 10


@dataclass(frozen=True)
class OutcomeModel:
    """What unknown outcomes are counted as. Without `mean` they may be anything between
    the `ends`.
    """

    delta: float
    # the lowest and the highest outcome, where that is known
    ends: tuple[float, float] | None
    lower_is_better: bool
    features: tuple[str, ...] = ()
    encoder: Encoder | None = None
    mean: Any = None  # a regression of the outcome
    folds: tuple[Any, ...] = ()  # the same without each fold
    # a regression of having an outcome; None if all training rows have one
    seen: Any = None
    times: float = 0.0  # Student's quantile
    # of outcomes that were seen: the largest difference between strata, given the
    # features; and how far they range
    benchmark: float | None = None
    span: float | None = None

    def impute(self, sample: Sample) -> Imputed:
        outcome = sample.outcomes[None]
        unknown = np.isnan(outcome)
        nothing, half = np.zeros(len(outcome)), np.where(unknown, self.delta, 0.0)
        if self.mean is None:
            assert self.ends is not None
            middle, reach = (
                (self.ends[0] + self.ends[1]) / 2,
                (self.ends[1] - self.ends[0]) / 2,
            )
            half = np.where(unknown, reach, 0.0)
            return Imputed(
                unknown,
                np.where(unknown, middle, outcome),
                half,
                nothing,
                np.zeros_like(unknown),
            )
        mean, error, chance = self.predict(sample.rows)
        enough = np.maximum(chance, E_MIN)
        half += np.where(unknown, self.times * error * (1 - chance / enough), 0.0)
        residual = (1 - chance) / enough * (outcome - mean)
        thin = unknown & (chance < E_MIN)
        return Imputed(
            unknown,
            np.where(unknown, mean, outcome),
            half,
            np.where(unknown, 0.0, residual),
            thin,
        )

    def predict(self, rows: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The mean outcome, the standard error of that, and the probability of being
        seen.
        """
        matrix = matrix_of(rows, self.features, self.encoder)
        without = np.stack([_line(model, matrix) for model in self.folds])
        error = np.sqrt(
            (1 - 1 / len(without)) * ((without - without.mean(axis=0)) ** 2).sum(axis=0)
        )
        chance = (
            np.ones(len(matrix))
            if self.seen is None
            else scipy.special.expit(_line(self.seen, matrix))
        )
        return _line(self.mean, matrix), error, chance

    def facts(self, sample: Sample, decision: FloatArray) -> dict[str, float | None]:
        """What is known of a model: beside its own numbers, the share of those selected
        who are like nobody seen.
        """
        found = self.impute(sample)
        new = found.unknown & (decision != 0)
        thin = float(found.thin[new].sum() / max(1, new.sum()))
        return {"benchmark": self.benchmark, "span": self.span, "without_overlap": thin}

    def teach(self, sample: Sample, outcome: str) -> Sample:
        """Training rows with an outcome for everyone, so that any rule can learn:
        unknown ones at their worst.

        A 0/1 outcome is drawn, by a hash of the row; an amount is its mean. The test
        does not depend on it.
        """
        found = self.impute(sample)
        assert sample.rows.keys is not None
        values = found.sample(sample, self.lower_is_better).outcomes[None]
        if self.ends == (0.0, 1.0):
            drawn = (mix(sample.rows.keys ^ DRAW) / 2.0**64 < values).astype(np.float64)
            values = np.where(found.unknown, drawn, values)
        frame = sample.rows.frame
        column = nw.new_series(
            outcome, values.tolist(), nw.Float64, backend=frame.implementation
        )
        return replace(
            sample.with_outcome(values),
            rows=Rows(frame.with_columns(column), sample.rows.keys),
        )


def impute(
    reading: Reading, sample: Sample, before: FloatArray, model: OutcomeModel | None
) -> Imputed | None:
    """What rows are counted as; None where every outcome is known. Without a model, as
    the status quo alone needs.
    """
    question = reading.design.question
    if question.unknown_outcomes is None:
        return None
    unknown = np.isnan(sample.outcomes[None])
    check_utilities(
        reading.design,
        sample.rows.take(np.arange(min(len(sample), FEW))),
        reading.ends == (0.0, 1.0),
    )
    if strange := int((unknown & (before != 0)).sum()):
        raise DataError(
            (
                f"{strange:,} rows that the status quo selects have no "
                f"'{question.outcome}'."
            ),
            (
                "Leave them out. If they were not selected in fact, give the decisions "
                "that were made as the status quo."
            ),
        )
    return (model or OutcomeModel(0.0, (0.0, 0.0), question.lower_is_better)).impute(
        sample
    )


def no_model(reading: Reading) -> OutcomeModel | None:
    """What needs no model: nothing where all is known, or the ends of the range where
    delta is at least that.
    """
    question, ends = reading.design.question, reading.ends
    delta = question.unknown_outcomes
    if delta is None or ends is None or delta < ends[1] - ends[0]:
        return None
    return OutcomeModel(delta, ends, question.lower_is_better)


def learn_outcomes(
    training: Training, reading: Reading, level: float
) -> OutcomeModel | None:
    """The models of the training rows, for tests at a level; None where every outcome
    is known.
    """
    question, outcome = reading.design.question, training.sample.outcomes[None]
    known, delta = ~np.isnan(outcome), question.unknown_outcomes
    if delta is None or (found := no_model(reading)) is not None:
        return None if delta is None else found
    if known.sum() < MIN_SEEN:
        hint = (
            f"A model needs {MIN_SEEN}; add rows, or assume nothing: "
            "`unknown_outcomes=1`."
        )
        raise DataError(
            f"{int(known.sum())} training rows have a known '{question.outcome}'.", hint
        )
    everyone, encoder = replace(
        training, seed=child(training.seed, OUTCOMES), constraints=Limits()
    ).as_numbers()
    lessons = replace(everyone.take(np.flatnonzero(known)), instead=outcome[known])
    enough = known.sum() >= PER_COLUMN * len(lessons.features)
    rule, fold = (
        predictive_rule("linear" if enough else "lasso"),
        fold_of_row(lessons.sample, FOLDS, lessons.seed),
    )
    # no row is in -1
    models = [
        rule.fit(lessons.take(np.flatnonzero(fold != k))).estimator
        for k in range(-1, FOLDS)
    ]
    seen = None
    if not known.all():
        seen = (
            predictive_rule("logistic")
            .fit(replace(everyone, instead=known.astype(np.float64)))
            .estimator
        )
    about = delta, reading.ends, question.lower_is_better, training.features, encoder
    made = OutcomeModel(
        *about,
        models[0],
        tuple(models[1:]),
        seen,
        float(scipy.special.stdtrit(FOLDS - 1, 1 - level)),
    )
    span = float(np.ptp(outcome[known] if reading.ends is None else reading.ends))
    return replace(made, benchmark=_benchmark(made, training.sample.known()), span=span)


def overlap_cautions(facts: Mapping[str, float | None]) -> list[Caution]:
    share = facts["without_overlap"] or 0.0
    text = (
        f"{share:.0%} of those whom the candidate selects without a known outcome are "
        "like nobody whose outcome was seen; there the verdict rests on a linear model "
        "of the outcome."
    )
    return [Caution(f"{UNKNOWN} overlap", text)] if share >= MIN_THIN else []


def _line(model: Any, matrix: FloatArray) -> FloatArray:
    """What a linear model, alone or at the end of a pipeline, predicts; column after
    column, the same in any batch.
    """
    final = final_step(model)
    return linear_sum(final_input(model, matrix), np.ravel(final.coef_)) + float(
        np.ravel(final.intercept_)[0]
    )


def _benchmark(model: OutcomeModel, seen: Sample) -> float:
    """The largest difference of mean residuals between groups, or between thirds by the
    probability of being seen.
    """
    mean, _, chance = model.predict(seen.rows)
    thirds = np.searchsorted(np.quantile(chance, [1 / 3, 2 / 3]), chance)
    known, largest = seen.grouping.attributes if seen.spread is None else (), 0.0
    for codes in (thirds, *(one.member[seen.grouping.codes] for one in known)):
        rows = np.bincount(codes)
        sums = np.bincount(codes, weights=seen.outcomes[None] - mean)
        means = sums[rows >= MIN_SEEN] / rows[rows >= MIN_SEEN]
        largest = max(largest, float(np.ptp(means))) if len(means) else largest
    return largest
