"""What a test that did not reject lacked: which condition decided, by how much, and how many rows would do."""

from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.assessment import Assessment, Component
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.evidence import Evidence
from improvable.inference.statistics import accuracy_statistic, folded_statistic, signed_statistics
from improvable.question.claim import Claim

POWER = 0.8


@dataclass(frozen=True)
class Shortfall:
    """The condition that kept one test from rejecting.

    Attributes
    ----------
    component : Component
        The one with the largest p-value.
    needed : float
        What the candidate's value had to pass: (1 + delta) times the status quo's, or what the form says instead.
    standard_errors : float or None
        How far the statistic stands from its null, positive on the side of improvement; of several statistics, the
        least. None where it is undefined or does not vary.
    error : float or None
        That standard error, in units of the utility.
    """

    component: Component
    needed: float
    standard_errors: float | None
    error: float | None = None


def shortfall(evidence: Evidence, claim: Claim, assessment: Assessment) -> Shortfall:
    """The weakest condition of a test; among equal p-values, the one nearest to its null."""
    found = [_of(evidence, claim, component) for component in assessment.components]
    return max(found, key=lambda one: (one.component.tail.p_value, -_or_lowest(one.standard_errors)))


def rows_needed(rows: int, standard_errors: float | None, level: float) -> float | None:
    """About how many rows give a single test power .8 if the estimate is the truth.

    Statistics grow with the square root of the rows, in standard errors, and a test rejects with probability .8 where
    the expected one exceeds the critical value by the .8 quantile of the normal distribution.

    Returns
    -------
    float or None
        None where the estimate is on the wrong side: no number of rows would do.

    Examples
    --------
    >>> round(rows_needed(1_000, 1.4, 0.025))
    4005
    """
    from scipy.special import ndtri

    if standard_errors is None or standard_errors <= 0:
        return None
    return float(rows * ((ndtri(1 - level) + ndtri(POWER)) / standard_errors) ** 2)


def detectable(needed: float, error: float | None, level: float, above: bool) -> float | None:
    """The value nearest to what was needed that a single test would have shown with probability .8.

    Examples
    --------
    >>> round(detectable(5.0, 0.1, 0.025, above=True), 3)
    5.28
    """
    from scipy.special import ndtri

    if error is None or not np.isfinite(needed):
        return None
    reach = float((ndtri(1 - level) + ndtri(POWER)) * error)
    return needed + reach if above else needed - reach


def _or_lowest(errors: float | None) -> float:
    return -np.inf if errors is None else errors


def _of(evidence: Evidence, claim: Claim, component: Component) -> Shortfall:
    measure = next(m for m, named in enumerate(evidence.measures) if named.label == component.measure)
    before = component.status_quo
    if component.kind == "accuracy":
        delta, better = claim.delta_of(component.group, component.measure), evidence.better(measure)
        values, drawn = _accuracy_values(evidence, claim, measure, component.group)
        size = delta, claim.form, better
        statistic = accuracy_statistic(values[STATUS_QUO], values[CANDIDATE], *size)
        draws = accuracy_statistic(drawn[:, STATUS_QUO], drawn[:, CANDIDATE], *size)
        needed = before * (1 + better * delta) if claim.form == "ratio" else before + better * delta
        margin, error = _margin(statistic, draws)
        return Shortfall(component, needed, margin, error)
    delta = claim.gap_delta(component.measure)
    a = next(a for a, attribute in enumerate(evidence.attributes) if attribute.name == component.group)
    protected = evidence.attributes[a].place_of(claim.protected)
    direction, relative = evidence.direction(measure, protected), evidence.relative(measure, protected)
    values, drawn = direction * evidence.values[a][:, measure], direction * evidence.drawn[a][:, :, measure]
    both, many = (values[:, STATUS_QUO], values[:, CANDIDATE]), (drawn[..., STATUS_QUO], drawn[..., CANDIDATE])
    if claim.gap == "signed":
        reference = evidence.reference(a, measure, protected)
        signed = reference, delta, claim.form, protected, relative
        statistics, drawn_statistics = (signed_statistics(one[0], one[1], *signed) for one in (both, many))
        margins = [_margin(-statistics[j], -drawn_statistics[:, j]) for j in range(len(statistics))]
    else:
        folded = delta, claim.form, protected, relative
        statistic, draws = (folded_statistic(one[0], one[1], *folded) for one in (both, many))
        margins = [_margin(-statistic, -draws)]
    needed = before * (1 - delta) if claim.form == "ratio" else before - delta
    if any(margin is None for margin, _ in margins):
        return Shortfall(component, needed, None)
    return Shortfall(component, needed, *min(margins, key=lambda one: _or_lowest(one[0])))


def _accuracy_values(evidence: Evidence, claim: Claim, measure: int, group: str) -> tuple[FloatArray, FloatArray]:
    if claim.overall is not None:
        return evidence.overall(claim.overall, measure)
    for a, attribute in enumerate(evidence.attributes):
        if group in attribute.levels:
            g = attribute.levels.index(group)
            return evidence.values[a][g, measure], evidence.drawn[a][:, g, measure]
    raise AssertionError(group)


def _margin(statistic: FloatArray, draws: FloatArray) -> tuple[float | None, float | None]:
    """A statistic in standard errors, and the standard error."""
    defined = draws[np.isfinite(draws)]
    spread = float(np.std(defined)) if len(defined) else 0.0
    return (float(statistic) / spread, spread) if np.isfinite(statistic) and spread > 0 else (None, None)
