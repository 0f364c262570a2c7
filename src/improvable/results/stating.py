"""What was found, stated: a result becomes the plain numbers and texts of its `Facts`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from improvable.inference.assessment import Component
from improvable.inference.diagnostics import candidate_gaps, changes, selection_rates, smallest_eigenvalues, welfare
from improvable.inference.estimates import Disparity, disparities, estimates
from improvable.inference.statistics import unfairness
from improvable.question.utilities import Measure
from improvable.results.facts import (
    ChangeFacts,
    ComponentFacts,
    CountPair,
    DiagnosticFacts,
    DisparityFacts,
    Facts,
    Pair,
    RepetitionFacts,
    UtilityFacts,
)
from improvable.results.findings import Findings, Tested
from improvable.results.firmness import rerun_facts, shortfall_facts
from improvable.results.numbers import number_or_null, p_text, steady
from improvable.results.versions import VERSION


def state(kind: str, result: Findings, own: Mapping[str, Any], gaps: Sequence[Disparity]) -> Facts:
    """Everything that a result says: what it has of its own, and what all results have."""
    question, claim = result.question, result.question.claim
    plain = [_disparity_facts(gap) for gap in gaps]
    rows = int(own["rows"])
    facts: Facts = {
        **own,  # type: ignore[typeddict-item]  # a setting is plain data whose keys are those of `Facts`
        "kind": kind,
        "p_value": result.p_value,
        "p_value_text": p_text(result.p_value, question.draws),
        "threshold": result.threshold,
        "reject": bool(result.reject),
        "alpha": question.alpha,
        "groups": list(result.groups),
        "about": dict(question.about),
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
        "method": " and ".join(sorted({repetition.evidence.method for repetition in result.repetitions})),
        "seed": question.seed,
        "version": VERSION,
        "disparity": plain[0],
        "disparities": plain,
        "repetitions": [repetition_facts(repetition) for repetition in result.repetitions],
        "rerun": rerun_facts(result) if kind == "audit" and len(result.repetitions) > 1 else None,
        "shortfall": None if result.reject else shortfall_facts(result, rows),
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


def repetition_facts(result: Tested) -> RepetitionFacts:
    """One repetition: the paper's row of numbers, and every component and interval behind it."""
    evidence, assessment = result.evidence, result.assessment
    reference = disparities(evidence, result.question.claim, result.question.alpha)[0]
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
        "intervals": [
            {
                "measure": one.measure,
                "group": one.group,
                "quantity": one.quantity,
                "estimate": number_or_null(one.estimate),
                "low": number_or_null(one.low),
                "high": number_or_null(one.high),
            }
            for one in estimates(evidence, result.question.alpha)
        ],
        "reference": [reference.higher, reference.lower],
        "selected": _selected(result),
        "share_selected": result.shares,
        "share_selected_by_group": result.group_shares,
        "effective_rows": result.effective,
        "differing_rows": result.differing,
        "corrections": [dict(one) for one in result.corrections],
        "p_plain": result.p_plain,
        "changes": _change_facts(result),
        "undefined_draws": assessment.undefined,
        "selection": dict(result.notes),
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


def _by_group(result: Tested, measure: int) -> dict[str, Pair]:
    return {
        group: {"status_quo": number_or_null(values[g, measure, 0]), "candidate": number_or_null(values[g, measure, 1])}
        for values, attribute in zip(result.evidence.values, result.evidence.attributes, strict=True)
        for g, group in enumerate(attribute.levels)
    }


def _first_gap(result: Tested) -> Pair:
    """Under both algorithms; also where fairness is not asked for."""
    evidence = result.evidence
    measure, protected = evidence.fairness[0], evidence.attributes[0].place_of(result.question.claim.protected)
    values = evidence.direction(measure, protected) * evidence.values[0][:, measure]
    relative = evidence.relative(measure, protected)
    before, after = (number_or_null(float(unfairness(values[:, t], protected, relative))) for t in (0, 1))
    return {"status_quo": before, "candidate": after}


def _change_facts(result: Tested) -> dict[str, dict[str, ChangeFacts]]:
    """Of every group, whom both algorithms select, one of them, or neither; nothing where it was not counted."""
    if result.crossed is None:
        return {}
    return {
        group: {kind: {"share": share, "mean_outcome": mean} for kind, (share, mean) in kinds.items()}
        for group, kinds in changes(result.crossed, result.evidence.attributes).items()
    }


def _selected(result: Tested) -> dict[str, CountPair]:
    out: dict[str, CountPair] = {}
    for attribute in result.evidence.attributes:
        for g, group in enumerate(attribute.levels):
            before, after = result.selected[attribute.member == g].sum(axis=0)
            out[group] = {"status_quo": int(before), "candidate": int(after)}
    return out


def _diagnostic_facts(result: Findings) -> DiagnosticFacts:
    """Assumption 3, Theorem 2, Remark 3 and selection rates of the status quo."""
    first = result.repetitions[0].evidence
    rows, weight, selected = result.census.rows, result.census.weight, result.census.selected
    member, levels = first.attributes[0].member, range(len(first.attributes[0].levels))
    sizes = np.array([float(weight[member == g].sum()) for g in levels])
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
    for rate in selection_rates(first.attributes, rows, selected, result.question.selection):
        out["selection_rates"].append(
            {
                "attribute": rate.attribute,
                "group": rate.group,
                "rows": rate.rows,
                "selected": rate.selected,
                "rate": rate.rate,
                "ratio": rate.ratio,
                "below_four_fifths": rate.below_four_fifths,
                "best_off": rate.best_off,
                "standard_deviations": rate.standard_deviations,
            }
        )
    return out
