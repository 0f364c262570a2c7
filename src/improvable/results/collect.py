"""What was found, stated: a result becomes the plain numbers and texts of its `Facts`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.inference.diagnostics import candidate_gaps, changes, selection_rates, smallest_eigenvalues, welfare
from improvable.inference.intervals import Disparity, combine_all, disparities, estimates
from improvable.inference.reruns import rerun_risk
from improvable.inference.shortfall import detectable, rows_needed, shortfall
from improvable.inference.statistics import unfairness
from improvable.inference.test import Component
from improvable.question.utility import Measure
from improvable.results.facts import (
    ComponentFacts,
    CountPair,
    DiagnosticFacts,
    DisparityFacts,
    EstimateFacts,
    Facts,
    Pair,
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

MOST_ROWS = 1e9
"""More rows than these are as good as none."""


def state(kind: str, result: "Audit | Comparison", own: Mapping[str, Any], gaps: Sequence[Disparity]) -> Facts:
    """Everything that a result says: what it has of its own, and what all results have."""
    question, claim, repetitions = result.question, result.question.claim, result.repetitions
    plain, every = [_disparity_facts(gap) for gap in gaps], [repetition.evidence for repetition in repetitions]
    facts: Facts = {
        **own,  # type: ignore[typeddict-item]  # a setting is plain data whose keys are those of `Facts`
        "kind": kind,
        "p_value": result.p_value,
        "p_value_text": p_text(result.p_value, question.draws),
        "threshold": result.level,
        "reject": bool(result.reject),
        "alpha": question.alpha,
        "groups": list(result.groups),
        "about": _plain(question.about),
        "outcome": question.outcome,
        "lower_is_better": question.lower_is_better,
        "outcome_range": None if question.outcome_range is None else list(question.outcome_range),
        "selection": question.selection,
        "group": list(question.group),
        "accuracy_utilities": [_measure_facts(measure) for measure in question.accuracy],
        "fairness_utilities": [_measure_facts(measure) for measure in question.fairness],
        "ask": claim.ask,
        "delta_accuracy": _plain(claim.delta_accuracy),
        "no_worse": claim.no_worse,
        "delta_fairness": _plain(claim.delta_fairness),
        "form": claim.form,
        "gap_statistic": claim.gap,
        "protected": list(claim.protected),
        "overall": _plain(claim.overall),
        "weight": question.weight,
        "cluster": question.cluster,
        "stratum": question.stratum,
        "draws": question.draws,
        # Repetitions with many cells and others may differ in how their draws are made.
        "method": " and ".join(sorted({evidence.method for evidence in every})),
        "seed": question.seed,
        "version": VERSION,
        "disparity": plain[0],
        "disparities": plain,
        "estimates": _estimate_facts(result, gaps),
        "bounds": result.frontier().bound_facts(),
        "repetitions": [repetition_facts(repetition) for repetition in repetitions],
        "rerun": rerun_facts(result) if kind == "audit" and len(repetitions) > 1 else None,
        "shortfall": None if result.reject else shortfall_facts(result, int(own["rows"])),
        "diagnostics": _diagnostic_facts(result),
        "warnings": list(result.warnings),
        "verdict_warnings": list(result.verdict_warnings),
    }
    return facts


def _plain(value: Any) -> Any:
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, Mapping) else value


def _measure_facts(measure: Measure) -> UtilityFacts:
    return {
        "name": measure.label,
        "words": measure.words,
        "outcome": measure.outcome,
        "higher_is_better": measure.higher_is_better,
        "worse_off": measure.worse_off,
        "sense": measure.sense,
        "between": measure.between,
        "formula": measure.formula,
    }


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
    """What reports print: every utility and gap over all repetitions, with its interval."""
    every = [repetition.evidence for repetition in result.repetitions]
    found = combine_all(every, result.question.claim, gaps, 1 - result.level)
    return [
        {
            "kind": one.kind,
            "utility": one.measure,
            "group": one.group,
            "status_quo": _fields(one.spreads[0]),
            "candidate": _fields(one.spreads[1]),
        }
        for one in found
    ]


def repetition_facts(result: "Comparison") -> RepetitionFacts:
    """One repetition: the paper's row of numbers, and every component and interval behind it."""
    evidence, assessment = result.evidence, result.assessment
    reference = disparities(evidence, result.question.claim, result.question.alpha)[0]
    crossed: Any = {} if result.crossed is None else changes(result.crossed, evidence.attributes)
    for group, kinds in crossed.items():
        crossed[group] = {kind: {"share": share, "mean_outcome": mean} for kind, (share, mean) in kinds.items()}
    differing: Any = result.differing
    return {
        "repetition": result.repetition,
        "rows": result.rows,
        "clusters": result.clusters,
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
        "selected": _selected(result),
        "share_selected": result.shares,
        "share_selected_by_group": result.group_shares,
        "effective_rows": result.effective,
        "differing_rows": differing,
        "corrections": [_plain(one) for one in result.corrections],
        "p_plain": result.p_plain,
        "changes": crossed,
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


def _fields(one: Any) -> Any:
    """The fields of a dataclass, as JSON can hold them."""
    return {key: number_or_null(value) if isinstance(value, float) else value for key, value in asdict(one).items()}


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


def _selected(result: "Comparison") -> dict[str, CountPair]:
    out: dict[str, CountPair] = {}
    for attribute in result.evidence.attributes:
        for g, group in enumerate(attribute.levels):
            before, after = result.selected[attribute.member == g].sum(axis=0)
            out[group] = {"status_quo": int(before), "candidate": int(after)}
    return out


def rerun_facts(result: "Audit | Comparison") -> RerunFacts:
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


def shortfall_facts(result: "Audit | Comparison", rows: int) -> ShortfallFacts:
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
        "rows": None if enough is None or enough > MOST_ROWS else int(float(f"{enough:.2g}")),
        "detectable": None if reach is None else steady(reach),
    }


def _diagnostic_facts(result: "Audit | Comparison") -> DiagnosticFacts:
    """Assumption 3, Theorem 2, Remark 3 and selection rates of the status quo."""
    attributes, census = result.repetitions[0].evidence.attributes, result.census
    levels = range(len(attributes[0].levels))
    sizes = np.array([float(census.weight[attributes[0].member == g].sum()) for g in levels])
    out: DiagnosticFacts = {"eigenvalues": [], "candidate_gaps": [], "welfare": [], "selection_rates": []}
    for repetition in result.repetitions:
        least = smallest_eigenvalues(repetition.evidence, repetition.clusters or repetition.rows)
        out["eigenvalues"].append(
            {
                "repetition": repetition.repetition,
                "covariance": steady(least.covariance),
                "correlation": steady(least.correlation),
            }
        )
        for gap in candidate_gaps(repetition.evidence, result.question.claim):
            out["candidate_gaps"].append(
                {
                    "repetition": repetition.repetition,
                    "utility": gap.measure,
                    "group": gap.attribute,
                    "higher": gap.higher,
                    "lower": gap.lower,
                    "gap": number_or_null(gap.gap),
                    "standard_errors": None if gap.standard_errors is None else steady(gap.standard_errors),
                    "near_zero": gap.near_zero,
                }
            )
    for one in welfare([repetition.evidence for repetition in result.repetitions], sizes):
        before, after = number_or_null(one.status_quo), number_or_null(one.candidate)
        out["welfare"].append(
            {"criterion": one.criterion, "utility": one.measure, "status_quo": before, "candidate": after}
        )
    rates = selection_rates(attributes, census.rows, census.selected, result.question.selection)
    out["selection_rates"] = [_fields(rate) for rate in rates]
    return out
