"""What Appendix E's simulation needs to know of a test sample, read off the sums and
draws that a run keeps.

Appendix E simulates (Gamma_0, Gamma_1), the groups' difference in fairness utility of
one row under the status quo and under the candidate. Its moments come from the test
rows of the median repetition: the covariance of a row's contributions is that of the
bootstrap sums over the number of rows.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from improvable._typing import FloatArray
from improvable.errors import OptionError
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.test import lower_median
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison

Theta = Literal["estimated", "known"]
VARIANCE = 10.0
"""Of Gamma_0, after the paper's scaling."""


@dataclass(frozen=True)
class GapProcess:
    """What Appendix E's simulation needs to know of a test sample.

    Attributes
    ----------
    repetition : int
        The repetition it was calibrated from.
    p_value : float
        Of that repetition; the lower median of all.
    rows : int
        Its test rows.
    groups : tuple of two str
        The gap is the first one's utility less the second one's.
    status_quo, candidate : float
        Means of Gamma_0 and Gamma_1; the first is positive.
    covariance : array of shape (2, 2)
        Of (Gamma_0, Gamma_1) for one row, theta being estimated: what the test meets.
    covariance_known : array of shape (2, 2)
        The same with theta taken as known, which is the paper's definition.
    draws : int
        Behind the covariances.
    """

    repetition: int
    p_value: float
    rows: int
    groups: tuple[str, str]
    status_quo: float
    candidate: float
    covariance: FloatArray
    covariance_known: FloatArray
    draws: int

    @property
    def error(self) -> float:
        """Relative Monte Carlo error of a variance from so many draws."""
        return float(np.sqrt(2 / self.draws))

    def of(self, theta: Theta) -> FloatArray:
        return self.covariance if theta == "estimated" else self.covariance_known

    def scaled(self, theta: Theta) -> FloatArray:
        """The covariance divided so that Gamma_0 has variance 10, as the paper prints
        it.
        """
        covariance = self.of(theta)
        return np.asarray(covariance * (VARIANCE / covariance[0, 0]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "repetition": self.repetition,
            "p_value": self.p_value,
            "rows": self.rows,
            "groups": list(self.groups),
            "status_quo": self.status_quo,
            "candidate": self.candidate,
            "draws": self.draws,
            "relative_error_of_covariance": self.error,
            "covariance": {
                "estimated": self.covariance.tolist(),
                "known": self.covariance_known.tolist(),
            },
            "scaled": {
                "estimated": self.scaled("estimated").tolist(),
                "known": self.scaled("known").tolist(),
            },
        }


def gap_process(result: Audit | Comparison) -> GapProcess:
    """Calibrate Gamma from a comparison, or from an audit's median repetition, whose
    p-value is the lower median.
    """
    repetitions = result.repetitions if isinstance(result, Audit) else (result,)
    middle = float(lower_median([repetition.p_value for repetition in repetitions]))
    repetition = next(
        repetition for repetition in repetitions if repetition.p_value == middle
    )
    evidence, protected = repetition.evidence, result.question.claim.protected
    attribute, measure = evidence.attributes[0], evidence.fairness[0]
    named = evidence.measures[measure]
    if named.formula or named.between != "difference":
        raise OptionError(
            f"'{named.label}' is not a difference of two means.",
            (
                "Appendix E calibrates from one that is, such as 'calibration' or "
                "'selection_rate'."
            ),
        )
    first, second = evidence.reference(0, measure, attribute.place_of(protected))
    values = evidence.values[0][:, measure]
    gaps = values[first] - values[second]
    if not np.isfinite(gaps).all() or gaps[STATUS_QUO] == 0:
        raise OptionError(
            f"repetition {repetition.repetition} has no gap to calibrate from.",
            "A group has nobody selected, or both are equal.",
        )
    if gaps[STATUS_QUO] < 0:
        first, second, gaps = second, first, -gaps
    known, estimated = (
        gap_covariance(repetition, measure, (first, second), theta)
        for theta in ("known", "estimated")
    )
    return GapProcess(
        repetition=repetition.repetition,
        p_value=middle,
        rows=repetition.rows,
        groups=(attribute.levels[first], attribute.levels[second]),
        status_quo=float(gaps[STATUS_QUO]),
        candidate=float(gaps[CANDIDATE]),
        covariance=estimated,
        covariance_known=known,
        draws=len(evidence.draws),
    )


def gap_covariance(
    repetition: Comparison, measure: int, pair: tuple[int, int], theta: str
) -> FloatArray:
    """The covariance of (Gamma_0, Gamma_1) for one row: a linear map of that of its
    contributions.

    With theta known, Gamma_t = u 1{g = r} / theta_tr - u 1{g = b} / theta_tb. With
    theta estimated, the ratio of sums moves with both of its parts, and u becomes u - U
    w.
    """
    evidence = repetition.evidence
    attribute = evidence.attributes[0]
    sums, draws = evidence.sums[:, measure], evidence.draws[:, :, measure]
    contributions = np.cov(draws.reshape(len(draws), -1).T) / repetition.rows
    place = np.arange(sums.size).reshape(sums.shape)
    maps = np.zeros((2, sums.size))
    for t in (STATUS_QUO, CANDIDATE):
        for level, sign in zip(pair, (1.0, -1.0), strict=True):
            strata = np.flatnonzero(attribute.member == level)
            u, w = sums[strata, t].sum(axis=0) / repetition.rows
            maps[t, place[strata, t, 0]] = sign / w
            maps[t, place[strata, t, 1]] = (
                -sign * u / w**2 if theta == "estimated" else 0.0
            )
    out = maps @ contributions @ maps.T
    if np.linalg.eigvalsh(out)[0] <= 1e-12 * np.trace(out):
        raise OptionError(
            (
                f"repetition {repetition.repetition} has a candidate whose gap moves "
                "exactly with the status quo's."
            ),
            "There is nothing to simulate; use another rule.",
        )
    return np.asarray(out)
