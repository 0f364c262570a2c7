"""State a result: every number and sentence that it says, as plain data (`Facts`)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.inference.diagnostics import KINDS, candidate_gaps, selection_rates, smallest_eigenvalues, welfare
from improvable.inference.evidence import ALGORITHMS, EVERYONE
from improvable.inference.intervals import Disparity, combine_all, disparities, estimates
from improvable.inference.reruns import rerun_risk
from improvable.inference.statistics import unfairness
from improvable.inference.test import Component, detectable, lower_median, rows_needed, shortfall
from improvable.question.utility import Measure
from improvable.results.facts import (
    ComponentFacts,
    DiagnosticFacts,
    DisparityFacts,
    EstimateFacts,
    Facts,
    Pair,
    PersonFacts,
    RepetitionFacts,
    RerunFacts,
    ShortfallFacts,
    UtilityFacts,
)
from improvable.results.formatting import number_or_null, p_text, steady
from improvable.results.versions import VERSION

if TYPE_CHECKING:
    from improvable.results.audit import Audit
    from improvable.results.comparison import Comparison

MAX_ROWS = 1e9
"""Needing more rows than this is as good as no number being enough."""
PEOPLE = 1_000
"""Out of how many people of a group it is said who changes."""
ASKED = ("about", "outcome", "lower_is_better", "outcome_range", "selection", "group", "alpha", "weight", "cluster",
         "stratum", "draws", "seed")  # fmt: skip
CLAIMED = ("ask", "delta_accuracy", "no_worse", "delta_fairness", "form", "protected", "overall")
"""What facts take from the question and from its claim under the same names."""


def state(kind: str, result: "Audit | Comparison", own: Mapping[str, Any], gaps: Sequence[Disparity]) -> Facts:
    """Everything a result says: its `own` facts, and those that all results have."""
    question, repetitions = result.question, [repetition_facts(one) for one in result.repetitions]
    plain, shares = [_disparity_facts(gap) for gap in gaps], _selected_shares(repetitions, result.groups)
    facts: Facts = {
        **own,  # type: ignore[typeddict-item]  # a setting is plain data whose keys are those of `Facts`
        **{name: _plain(getattr(question, name)) for name in ASKED},
        **{name: _plain(getattr(question.claim, name)) for name in CLAIMED},
        "kind": kind,
        "p_value": result.p_value,
        "p_value_text": p_text(result.p_value, question.draws),
        "threshold": result.level,
        "reject": bool(result.reject),
        "groups": list(result.groups),
        "accuracy_utilities": [_measure_facts(measure) for measure in question.accuracy],
        "fairness_utilities": [_measure_facts(measure) for measure in question.fairness],
        "gap_statistic": question.claim.gap,
        # Repetitions with many cells and others may differ in how their draws are made.
        "method": " and ".join(sorted({one["method"] for one in repetitions})),
        "version": VERSION,
        "disparity": plain[0],
        "disparities": plain,
        "estimates": _estimate_facts(result, gaps),
        "bounds": result.frontier().bound_facts(),
        "selected_shares": shares,
        "people": {} if shares is None else {group: _people(repetitions, group) for group in result.groups},
        "p_plain": _p_plain(repetitions),
        "repetitions": repetitions,
        "rerun": _rerun_facts(result) if kind == "audit" and len(repetitions) > 1 else None,
        "shortfall": None if result.reject else _shortfall_facts(result, int(own["rows"])),
        "diagnostics": _diagnostic_facts(result),
        "warnings": list(result.warnings),
        "verdict_warnings": list(result.verdict_warnings),
    }
    return facts


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _fields(one: Any, **renamed: str) -> Any:
    """The fields of a dataclass as JSON can hold them; `renamed` maps a key to the field it takes."""
    names = {field: key for key, field in renamed.items()}
    return {
        names.get(field, field): number_or_null(value) if isinstance(value, float) else value
        for field, value in asdict(one).items()
    }


def _measure_facts(measure: Measure) -> UtilityFacts:
    facts: UtilityFacts = _fields(measure, name="label")
    return {name: facts[name] for name in UtilityFacts.__annotations__}  # type: ignore[literal-required, return-value]


def _disparity_facts(gap: Disparity) -> DisparityFacts:
    return {
        "utility": gap.measure,
        "group": gap.attribute,
        "higher": gap.higher,
        "lower": gap.lower,
        "gap": gap.estimate,
        "interval": [number_or_null(gap.low), number_or_null(gap.high)],
        "worse_off": gap.worse_off,
        "better_off": gap.lower if gap.worse_off == gap.higher else gap.higher,
    }


def _estimate_facts(result: "Audit | Comparison", gaps: Sequence[Disparity]) -> list[EstimateFacts]:
    """Every utility and gap over all repetitions, with the interval that reports print."""
    every = [repetition.evidence for repetition in result.repetitions]
    return [
        {
            "kind": one.kind,
            "utility": one.measure,
            "group": one.group,
            "status_quo": _fields(one.spreads[0]),
            "candidate": _fields(one.spreads[1]),
        }
        for one in combine_all(every, result.question.claim, gaps, 1 - result.level)
    ]


def _selected_shares(repetitions: Sequence[RepetitionFacts], groups: Sequence[str]) -> dict[str, Any] | None:
    """Shares selected by either algorithm, of everyone and by group: means over repetitions. None of prices."""
    whole = [[one["share_selected"][name]["test"] for one in repetitions] for name in ALGORITHMS]
    if min(map(min, whole)) == 1:
        return None
    found = {EVERYONE: whole}
    for group in groups:
        found[group] = [[one["share_selected_by_group"][group][name] for one in repetitions] for name in ALGORITHMS]
    return {
        group: {"status_quo": sum(before) / len(before), "candidate": sum(after) / len(after)}
        for group, (before, after) in found.items()
    }


def _people(repetitions: Sequence[RepetitionFacts], group: str) -> dict[str, PersonFacts]:
    """Of `PEOPLE` in a group, how many both algorithms select, one of them, or neither, with their mean outcome."""
    out: dict[str, PersonFacts] = {}
    for kind in KINDS:
        found = [repetition["changes"][group][kind] for repetition in repetitions]
        share = sum(one["share"] for one in found)
        # A mean over repetitions, each with as much weight as it has people of this kind.
        outcome = sum(one["share"] * one["mean_outcome"] for one in found if one["mean_outcome"] is not None)
        out[kind] = {"people": PEOPLE * share / len(found), "mean_outcome": outcome / share if share else None}
    return out


def _p_plain(repetitions: Sequence[RepetitionFacts]) -> float | None:
    """The p-value without corrections; None where there are none."""
    if not any(one["corrections"] for one in repetitions):
        return None
    return float(lower_median([one["p_value"] if one["p_plain"] is None else one["p_plain"] for one in repetitions]))


def repetition_facts(result: "Comparison") -> RepetitionFacts:
    """One repetition: the paper's row of numbers, every component and interval behind it, and what was counted."""
    evidence, assessment = result.evidence, result.assessment
    reference = disparities(evidence, result.question.claim, result.question.alpha)[0]
    return {
        **result.counts,
        "repetition": result.repetition,
        "method": evidence.method,
        "p_value": assessment.p_value,
        "p_value_text": p_text(assessment.p_value, result.question.draws),
        "p_accuracy": assessment.p_accuracy,
        "p_fairness": number_or_null(assessment.p_fairness),
        "p_fairness_other": number_or_null(assessment.p_fairness_other),
        "accuracy": _by_group(result, evidence.accuracy[0]),
        "fairness": _by_group(result, evidence.fairness[0]),
        "gap": _first_gap(result),
        "components": [component_facts(component) for component in assessment.components],
        "intervals": [_fields(one) for one in estimates(evidence, result.question.alpha)],
        "reference": [reference.higher, reference.lower],
        "undefined_draws": assessment.undefined,
        "rule_notes": dict(result.notes),
    }


def component_facts(component: Component) -> ComponentFacts:
    return {
        "kind": component.kind,
        "utility": component.measure,
        "group": component.group,
        "status_quo": number_or_null(component.status_quo),
        "candidate": number_or_null(component.candidate),
        "p_value": component.tail.p_value,
        "p_other": component.other.p_value if component.other else None,
    }


def _by_group(result: "Comparison", measure: int) -> dict[str, Pair]:
    return {
        group: {"status_quo": number_or_null(values[g, measure, 0]), "candidate": number_or_null(values[g, measure, 1])}
        for values, attribute in zip(result.evidence.values, result.evidence.attributes, strict=True)
        for g, group in enumerate(attribute.levels)
    }


def _first_gap(result: "Comparison") -> Pair:
    """Under both algorithms; also where fairness is not asked for."""
    evidence = result.evidence
    measure, protected = evidence.fairness[0], evidence.attributes[0].place_of(result.question.claim.protected)
    values = evidence.direction(measure, protected) * evidence.values[0][:, measure]
    relative = evidence.relative(measure, protected)
    before, after = (number_or_null(float(unfairness(values[:, t], protected, relative))) for t in (0, 1))
    return {"status_quo": before, "candidate": after}


def _rerun_facts(result: "Audit | Comparison") -> RerunFacts:
    """How another seed would fare, from the audit's own repetitions."""
    p_values = [repetition.p_value for repetition in result.repetitions]
    risk = rerun_risk(p_values, draws=result.question.draws, alpha=result.question.alpha)
    return {
        "otherwise": round(risk.otherwise, 6),
        "otherwise_range": [round(end, 6) for end in risk.otherwise_range],
        "share": round(risk.share, 6),
        "share_range": [round(end, 6) for end in risk.share_range],
        "repetitions": risk.repetitions,
        "rejecting": risk.rejecting,
    }


def _shortfall_facts(result: "Audit | Comparison", rows: int) -> ShortfallFacts:
    """The condition that failed in the deciding repetition, whose p-value is the combined one."""
    repetition = next(repetition for repetition in result.repetitions if repetition.p_value == result.p_value)
    lack = shortfall(repetition.evidence, repetition.question.claim, repetition.assessment)
    enough = rows_needed(rows, lack.standard_errors, result.level)
    component, measures = lack.component, {one.label: one for one in repetition.evidence.measures}
    above = component.kind == "accuracy" and measures[component.measure].higher_is_better
    reach = detectable(lack.needed, lack.error, result.level, above)
    return {
        "repetition": repetition.repetition,
        "kind": component.kind,
        "utility": component.measure,
        "group": component.group,
        "candidate": number_or_null(component.candidate),
        "needed": number_or_null(lack.needed),
        "above": above,
        "standard_errors": None if lack.standard_errors is None else steady(lack.standard_errors),
        "rows": None if enough is None or enough > MAX_ROWS else int(float(f"{enough:.2g}")),
        "detectable": None if reach is None else steady(reach),
    }


def _diagnostic_facts(result: "Audit | Comparison") -> DiagnosticFacts:
    """Assumption 3, Theorem 2, Remark 3 and selection rates of the status quo."""
    attributes, census = result.repetitions[0].evidence.attributes, result.census
    levels = range(len(attributes[0].levels))
    sizes = np.array([float(census.weight[attributes[0].member == g].sum()) for g in levels])
    out: DiagnosticFacts = {"eigenvalues": [], "candidate_gaps": [], "welfare": [], "selection_rates": []}
    for repetition in result.repetitions:
        number: Any = {"repetition": repetition.repetition}
        least = smallest_eigenvalues(repetition.evidence, repetition.clusters or repetition.rows)
        out["eigenvalues"].append(number | {name: steady(value) for name, value in asdict(least).items()})
        for gap in candidate_gaps(repetition.evidence, result.question.claim):
            errors = None if gap.standard_errors is None else steady(gap.standard_errors)
            found = _fields(gap, utility="measure", group="attribute") | {"standard_errors": errors}
            out["candidate_gaps"].append(number | found)
    criteria = welfare([repetition.evidence for repetition in result.repetitions], sizes)
    out["welfare"] = [_fields(one, utility="measure") for one in criteria]
    rates = selection_rates(attributes, census.rows, census.selected, result.question.selection)
    out["selection_rates"] = [_fields(rate) for rate in rates]
    return out
