"""How far each component of a claim stands from its null, in standard errors."""

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.components import gains, gaps
from improvable.inference.evidence import Evidence
from improvable.inference.statistics import accuracy_statistic, gap_statistic
from improvable.question.claim import Claim


def studentized_margins(evidence: Evidence, claim: Claim) -> list[float]:
    """Every statistic over its bootstrap standard error, turned so that large values speak for improvement.

    Fairness is judged by the signed statistics. What is undefined, or never varies, is infinitely far off.
    """
    out = []
    for gain in gains(evidence, claim) if claim.asks("accuracy") else ():
        values, drawn = gain.contrast.values, gain.contrast.drawn
        size = claim.delta_of(gain.group, evidence.measures[gain.measure].label), claim.form, gain.better
        out.append(
            _margin(
                accuracy_statistic(values[STATUS_QUO], values[CANDIDATE], *size),
                accuracy_statistic(drawn[:, STATUS_QUO], drawn[:, CANDIDATE], *size),
            )
        )
    for gap in gaps(evidence, claim) if claim.asks("fairness") else ():
        sizes = claim.gap_delta(evidence.measures[gap.measure].label), claim.form
        for one in gap.signed():
            statistic = gap_statistic(one.values[STATUS_QUO], one.values[CANDIDATE], *sizes)
            draws = gap_statistic(one.drawn[:, STATUS_QUO], one.drawn[:, CANDIDATE], *sizes)
            out.append(_margin(-statistic, -draws))
    return out


def _margin(statistic: FloatArray, draws: FloatArray) -> float:
    spread = float(np.std(draws))
    return float(statistic) / spread if np.isfinite(statistic) and np.isfinite(spread) and spread > 0 else -np.inf
