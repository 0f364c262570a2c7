"""How far components stand from their nulls, and what a test that did not reject lacked."""

from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load when they are first used

from improvable.inference.components import Gain, GroupGap, Statistic, asked, gap_statistics
from improvable.inference.evidence import Evidence
from improvable.inference.test import Assessment, Component
from improvable.question.claim import Claim

POWER = 0.8


@dataclass(frozen=True)
class Shortfall:
    """The condition that kept one test from rejecting."""

    component: Component  # the one with the largest p-value
    needed: float  # what the candidate's value had to pass, (1 + delta) times the status quo's if the form is "ratio"
    # from the statistic to its null, positive on the side of improvement; of several, the least; None where undefined
    standard_errors: float | None
    error: float | None = None  # that standard error, in units of the utility


def shortfall(evidence: Evidence, claim: Claim, assessment: Assessment) -> Shortfall:
    """The weakest condition of a test; among equal p-values, the one nearest to its null."""
    found = []
    for part, component in zip(asked(evidence, claim), assessment.components, strict=True):
        change, before = part.delta(claim) * (part.better if isinstance(part, Gain) else -1), component.status_quo
        needed = before * (1 + change) if claim.form == "ratio" else before + change
        margins = [_margin(one) for one in _statistics(part, claim, claim.gap)]
        known = all(margin is not None for margin, _ in margins)
        least = min(margins, key=lambda one: _or_lowest(one[0])) if known else (None, None)
        found.append(Shortfall(component, needed, *least))
    return max(found, key=lambda one: (one.component.tail.p_value, -_or_lowest(one.standard_errors)))


def rows_needed(rows: int, standard_errors: float | None, level: float) -> float | None:
    """About how many rows give a single test power .8 if the estimate is the truth.

    Statistics grow with the square root of the rows, in standard errors, and a test rejects with probability .8 where
    the expected one exceeds the critical value by the .8 quantile of the normal distribution. None where the estimate
    is on the wrong side: no number of rows would do.

    >>> round(rows_needed(1_000, 1.4, 0.025))
    4005
    """
    if standard_errors is None or standard_errors <= 0:
        return None
    return float(rows * (_reach(level) / standard_errors) ** 2)


def detectable(needed: float, error: float | None, level: float, above: bool) -> float | None:
    """The value nearest to what was needed that a single test would have shown with probability .8.

    >>> round(detectable(5.0, 0.1, 0.025, above=True), 3)
    5.28
    """
    if error is None or not np.isfinite(needed):
        return None
    reach = float(_reach(level) * error)
    return needed + reach if above else needed - reach


def studentized_margins(evidence: Evidence, claim: Claim) -> list[float]:
    """Every statistic over its bootstrap standard error, turned so that large values speak for improvement.

    Fairness is judged by the signed statistics. What is undefined in a draw, or never varies, is infinitely far off.
    """
    statistics = [one for part in asked(evidence, claim) for one in _statistics(part, claim, "signed")]
    return [_or_lowest(_margin(one)[0]) if np.isfinite(one[1]).all() else -np.inf for one in statistics]


def _reach(level: float) -> float:
    """How many standard errors from its null a statistic must be expected for power .8."""
    return float(scipy.special.ndtri(1 - level) + scipy.special.ndtri(POWER))


def _or_lowest(errors: float | None) -> float:
    return -np.inf if errors is None else errors


def _statistics(part: Gain | GroupGap, claim: Claim, gap: str) -> list[Statistic]:
    """Of one component, turned so that large values speak for improvement."""
    if isinstance(part, Gain):
        return [part.statistic(claim)]
    conditions = part.signed() if gap == "signed" else [part.folded()]
    both = [gap_statistics(one, part.delta(claim), claim.form) for one in conditions]
    return [(-statistic, -draws) for statistic, draws in both]


def _margin(one: Statistic) -> tuple[float | None, float | None]:
    """A statistic in standard errors, and the standard error."""
    statistic, draws = one
    defined = draws[np.isfinite(draws)]
    spread = float(np.std(defined)) if len(defined) else 0.0
    return (float(statistic) / spread, spread) if np.isfinite(statistic) and spread > 0 else (None, None)
