"""How firm a verdict is: whether another seed would decide otherwise, and what a test that did not reject lacked."""

from typing import TypedDict

from improvable.inference.reruns import rerun_risk
from improvable.inference.shortfall import detectable, rows_needed, shortfall
from improvable.results.findings import Findings
from improvable.results.numbers import number_or_null, steady

MOST_ROWS = 1e9
"""More rows than these are as good as none."""


class RerunFacts(TypedDict):
    otherwise: float
    otherwise_range: list[float]
    share: float
    share_range: list[float]
    repetitions: int
    rejecting: int


class ShortfallFacts(TypedDict):
    repetition: int
    kind: str
    utility: str
    group: str
    candidate: float | None
    needed: float | None
    above: bool
    standard_errors: float | None
    rows: int | None
    detectable: float | None


def rerun_facts(result: Findings) -> RerunFacts:
    """How another seed would fare, from the audit's own repetitions."""
    p_values = [repetition.assessment.p_value for repetition in result.repetitions]
    risk = rerun_risk(p_values, draws=result.question.draws, alpha=result.question.alpha)
    return {
        "otherwise": round(risk.otherwise, 6),
        "otherwise_range": [round(end, 6) for end in risk.otherwise_range],
        "share": round(risk.share, 6),
        "share_range": [round(end, 6) for end in risk.share_range],
        "repetitions": risk.repetitions,
        "rejecting": risk.rejecting,
    }


def shortfall_facts(result: Findings, rows: int) -> ShortfallFacts:
    """The condition that failed in the deciding repetition, whose p-value is the combined one."""
    repetition = next(
        repetition for repetition in result.repetitions if repetition.assessment.p_value == result.p_value
    )
    lack = shortfall(repetition.evidence, repetition.question.claim, repetition.assessment)
    enough = rows_needed(rows, lack.standard_errors, result.threshold)
    component, measures = lack.component, {one.label: one for one in repetition.evidence.measures}
    above = component.kind == "accuracy" and measures[component.measure].higher_is_better
    reach = detectable(lack.needed, lack.error, result.threshold, above)
    return {
        "repetition": repetition.repetition,
        "kind": component.kind,
        "utility": component.measure,
        "group": component.group,
        "candidate": number_or_null(component.candidate),
        "needed": number_or_null(lack.needed),
        "above": above,
        "standard_errors": None if lack.standard_errors is None else steady(lack.standard_errors),
        "rows": None if enough is None or enough > MOST_ROWS else int(float(f"{enough:.2g}")),
        "detectable": None if reach is None else steady(reach),
    }
