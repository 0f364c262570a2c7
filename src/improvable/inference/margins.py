"""How far each component of a claim stands from its null, in standard errors."""

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.evidence import Evidence
from improvable.inference.statistics import accuracy_statistic, signed_statistics
from improvable.question.claim import Claim


def studentised_margins(evidence: Evidence, claim: Claim) -> list[float]:
    """Every statistic over its bootstrap standard error, turned so that large values speak for improvement.

    Fairness is judged by the signed statistics. What is undefined, or never varies, is infinitely far off.
    """
    out = []
    for measure in evidence.accuracy if claim.asks("accuracy") else ():
        if claim.overall is not None:
            pairs = [("", *evidence.overall(claim.overall, measure))]
        else:
            pairs = [
                (group, evidence.values[a][g, measure], evidence.drawn[a][:, g, measure])
                for a, attribute in enumerate(evidence.attributes)
                for g, group in enumerate(attribute.levels)
            ]
        for group, values, drawn in pairs:
            size = claim.delta_of(group or "everyone"), claim.form, evidence.better(measure)
            out.append(
                _margin(
                    accuracy_statistic(values[STATUS_QUO], values[CANDIDATE], *size),
                    accuracy_statistic(drawn[:, STATUS_QUO], drawn[:, CANDIDATE], *size),
                )
            )
    for measure in evidence.fairness if claim.asks("fairness") else ():
        for a, attribute in enumerate(evidence.attributes):
            protected = attribute.place_of(claim.protected)
            direction = evidence.direction(measure, protected)
            values, drawn = direction * evidence.values[a][:, measure], direction * evidence.drawn[a][:, :, measure]
            rest = evidence.reference(a, measure, protected), claim.delta_fairness, claim.form, protected
            statistics = signed_statistics(values[:, STATUS_QUO], values[:, CANDIDATE], *rest)
            draws = signed_statistics(drawn[..., STATUS_QUO], drawn[..., CANDIDATE], *rest)
            out += [_margin(-statistics[j], -draws[:, j]) for j in range(len(statistics))]
    return out


def _margin(statistic: FloatArray, draws: FloatArray) -> float:
    spread = float(np.std(draws))
    return float(statistic) / spread if np.isfinite(statistic) and np.isfinite(spread) and spread > 0 else -np.inf
