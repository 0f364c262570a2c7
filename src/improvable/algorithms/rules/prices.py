"""Prices: predict what each customer would pay, and charge the multiple of it that pays best."""

from dataclasses import dataclass, replace

import numpy as np

from improvable.algorithms.constraints import MONOTONE
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.models import FittedModel
from improvable.algorithms.rules.base import Selection, SelectionRule, Training
from improvable.algorithms.rules.folding import folds_of
from improvable.algorithms.rules.predictive import PREDICTIVE, PredictiveRule
from improvable.data.arrays import FloatArray
from improvable.data.frames import FrameLike, read_rows
from improvable.errors import OptionError, RuleError
from improvable.inference.cells import contributions
from improvable.inference.resampling import child
from improvable.inference.statistics import utilities_of, with_formulas

FOLDS = 5
MULTIPLES = 400
LEAST_QUANTILE = 0.01  # a prediction below this quantile of the positive outcomes is raised to it
BELOW = 1 - 1e-9  # a price at what somebody pays must not lie above it by rounding


@dataclass(frozen=True)
class ScaledPrice:
    """A multiple of a predicted willingness to pay.

    Attributes
    ----------
    model : FittedModel
    multiple : float
    least : float
        Predictions are raised to this before they are multiplied, so that no price is zero or below.
    """

    model: FittedModel
    multiple: float
    least: float

    def decide(self, frame: FrameLike) -> FloatArray:
        return self.multiple * np.maximum(self.model.decide(read_rows(frame)), self.least)


@dataclass(frozen=True)
class PriceRule:
    """Set prices for the accuracy utility, ``profit`` or one of your own: ``price``, ``price:linear``.

    A rule that predicts the outcome charges about what a customer would pay, so that nearly half of them walk away. The
    best multiple of the prediction is found on the training rows, each predicted by a model that did not train on it:
    of 400 quantiles of outcome over prediction, that with the highest utility over all rows.

    Parameters
    ----------
    rule : PredictiveRule
        Predicts the outcome, which is the highest price that a customer pays.
    """

    rule: PredictiveRule

    @property
    def name(self) -> str:
        return f"price:{self.rule.name}"

    @property
    def honors(self) -> frozenset[str]:
        return self.rule.honors & {MONOTONE}

    def select(self, training: Training, status_quo: Algorithm) -> Selection:
        if not training.numeric_decisions:
            raise RuleError(
                f"rule '{self.name}' sets prices, and a utility needs decisions of 0 and 1.", "Use 'profit'."
            )
        target = training.target
        if not (target > 0).any():
            raise RuleError(
                f"rule '{self.name}' found nobody who pays anything.", "The outcome is what they would pay."
            )
        least = float(np.quantile(target[target > 0], LEAST_QUANTILE))
        predicted = np.empty(len(target))
        for fold, (learn, judge) in enumerate(folds_of(training.sample, FOLDS, child(training.seed, 0))):
            part = replace(training.take(learn), seed=child(training.seed, 1, fold))
            predicted[judge] = self.rule.fit(part).decide(training.rows.take(judge))
        predicted = np.maximum(predicted, least)
        ratios = (target / predicted)[target > 0]
        multiples = BELOW * np.unique(np.quantile(ratios, np.linspace(0, 1, MULTIPLES), method="nearest"))
        utilities = np.array([_utility(training, multiple * predicted) for multiple in multiples])
        if np.isnan(utilities).all():
            return Selection(None, {"multiple": None})
        multiple = float(multiples[np.nanargmax(utilities)])
        return Selection(ScaledPrice(self.rule.fit(training), multiple, least), {"multiple": multiple})


def _utility(training: Training, prices: FloatArray) -> float:
    """The first accuracy utility of everyone at given prices."""
    sample, design = training.sample, training.design
    sums = contributions(design.utilities, training.rows, sample.outcomes, [prices], sample.weights).sum(axis=0)
    return float(with_formulas(utilities_of(sums), design.measures, axis=-2)[design.accuracy[0], 0])


def price(rule: SelectionRule) -> PriceRule:
    """A price rule over a predictive rule."""
    if not isinstance(rule, PredictiveRule):
        raise OptionError(f"'price:{rule.name}' is not a rule.", "Write price:linear, with a predictive rule.")
    return PriceRule(rule)


PRICE = PriceRule(PREDICTIVE["boosting"])
