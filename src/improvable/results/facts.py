"""A result as one dictionary of plain numbers and text: the JSON, and the source of every other output."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.inference.assessment import Component
from improvable.inference.estimates import Disparity, disparities, estimates
from improvable.inference.evidence import ALGORITHMS
from improvable.question.utilities import Measure
from improvable.results.versions import VERSION
from improvable.results.words import p_text

if TYPE_CHECKING:
    from improvable.results.audit import Audit
    from improvable.results.comparison import Comparison


def comparison_facts(result: "Comparison") -> dict[str, Any]:
    gaps = disparities(result.evidence, result.question.claim, result.question.alpha)
    return {
        **_common_facts("comparison", result),
        "rows": result.rows,
        "clusters": result.clusters,
        "data_fingerprint": result.data_fingerprint,
        "seal": None,
        **_disparity_facts(gaps),
        "splits": [split_facts(result)],
        "warnings": list(result.warnings),
    }


def audit_facts(result: "Audit") -> dict[str, Any]:
    return {
        **result.setting,
        **_common_facts("audit", result),
        **_disparity_facts(result.disparities),
        "splits": [split_facts(split) for split in result.splits],
        "warnings": list(result.warnings),
    }


def _common_facts(kind: str, result: "Audit | Comparison") -> dict[str, Any]:
    question, claim = result.question, result.question.claim
    return {
        "kind": kind,
        "p_value": result.p_value,
        "p_value_text": p_text(result.p_value, question.draws),
        "threshold": result.threshold,
        "reject": bool(result.reject),
        "alpha": question.alpha,
        "groups": list(result.groups),
        "outcome": question.outcome,
        "group": list(question.group),
        "accuracy_utilities": [_measure_facts(measure) for measure in question.accuracy],
        "fairness_utilities": [_measure_facts(measure) for measure in question.fairness],
        "delta_accuracy": dict(claim.delta_accuracy)
        if isinstance(claim.delta_accuracy, Mapping)
        else claim.delta_accuracy,
        "delta_fairness": claim.delta_fairness,
        "form": claim.form,
        "gap_statistic": claim.gap,
        "protected": list(claim.protected),
        "overall": dict(claim.overall) if isinstance(claim.overall, Mapping) else claim.overall,
        "weight": question.weight,
        "cluster": question.cluster,
        "combine": question.combine,
        "draws": question.draws,
        "method": _method(result),
        "seed": question.seed,
        "version": VERSION,
    }


def _method(result: "Audit | Comparison") -> str:
    """How draws were made; splits with many cells and others may differ."""
    comparisons: Sequence[Comparison] = getattr(result, "splits", None) or [result]
    return " and ".join(sorted({comparison.evidence.method for comparison in comparisons}))


def _measure_facts(measure: Measure) -> dict[str, str]:
    return {"name": measure.label, "words": measure.words, "outcome": measure.outcome}


def _disparity_facts(gaps: Sequence[Disparity]) -> dict[str, Any]:
    plain = [
        {
            "utility": gap.measure,
            "group": gap.attribute,
            "higher": gap.higher,
            "lower": gap.lower,
            "gap": gap.estimate,
            "interval": [_number(gap.low), _number(gap.high)],
        }
        for gap in gaps
    ]
    return {"disparity": plain[0], "disparities": plain}


def split_facts(result: "Comparison") -> dict[str, Any]:
    """One split: the paper's row of numbers, and every component and interval behind it."""
    evidence, assessment = result.evidence, result.assessment
    first = assessment.of("fairness")[0]
    return {
        "split": result.split,
        "rows": result.rows,
        "clusters": result.clusters,
        "method": evidence.method,
        "p_value": assessment.p_value,
        "p_value_text": p_text(assessment.p_value, result.question.draws),
        "p_accuracy": assessment.p_accuracy,
        "p_fairness": assessment.p_fairness,
        "p_fairness_other": assessment.p_fairness_other,
        "accuracy": _by_group(result, evidence.accuracy[0]),
        "fairness": _by_group(result, evidence.fairness[0]),
        "gap": {"status_quo": _number(first.status_quo), "candidate": _number(first.candidate)},
        "components": [_component_facts(component) for component in assessment.components],
        "intervals": [
            {name: _number(value) if isinstance(value, float) else value for name, value in asdict(one).items()}
            for one in estimates(evidence, result.question.alpha)
        ],
        "reference": [first_reference(result)[0], first_reference(result)[1]],
        "selected": _selected(result),
        "share_selected": result.shares,
        "undefined_draws": assessment.undefined,
        "selection": dict(result.notes),
    }


def first_reference(result: "Comparison") -> tuple[str, str]:
    """The pair of groups between which the status quo's gap was widest on the training rows."""
    gap = disparities(result.evidence, result.question.claim, result.question.alpha)[0]
    return gap.higher, gap.lower


def _component_facts(component: Component) -> dict[str, Any]:
    return {
        "kind": component.kind,
        "utility": component.measure,
        "group": component.group,
        "status_quo": _number(component.status_quo),
        "candidate": _number(component.candidate),
        "p_value": component.tail.p_value,
        "p_other": component.other.p_value if component.other else None,
    }


def _by_group(result: "Comparison", measure: int) -> dict[str, dict[str, Any]]:
    evidence = result.evidence
    return {
        group: {name: _number(values[g, measure, t]) for t, name in enumerate(ALGORITHMS)}
        for values, attribute in zip(evidence.values, evidence.attributes, strict=True)
        for g, group in enumerate(attribute.levels)
    }


def _selected(result: "Comparison") -> dict[str, dict[str, int]]:
    return {
        group: {name: int(result.selected[attribute.member == g, t].sum()) for t, name in enumerate(ALGORITHMS)}
        for attribute in result.evidence.attributes
        for g, group in enumerate(attribute.levels)
    }


def _number(value: float) -> float | None:
    """JSON has no NaN and no infinity: what is undefined is null."""
    return float(value) if np.isfinite(value) else None


def split_columns(facts: dict[str, Any]) -> dict[str, list[Any]]:
    """The splits as columns of a table: estimates with intervals, p-values, counts."""
    splits = facts["splits"]
    columns: dict[str, list[Any]] = {"split": [s["split"] for s in splits]}
    for j, component in enumerate(splits[0]["components"]):
        name = f"{component['kind']} {component['utility']} {component['group']}"
        for algorithm in ALGORITHMS:
            columns[f"{name} {algorithm}"] = [s["components"][j][algorithm] for s in splits]
        columns[f"{name} p"] = [s["components"][j]["p_value"] for s in splits]
        if component["kind"] == "fairness":
            columns[f"{name} p other"] = [s["components"][j]["p_other"] for s in splits]
    columns["p_value"] = [s["p_value"] for s in splits]
    columns["rows"] = [s["rows"] for s in splits]
    for group in facts["groups"]:
        for algorithm in ALGORITHMS:
            columns[f"selected {group} {algorithm}"] = [s["selected"][group][algorithm] for s in splits]
    for j, one in enumerate(splits[0]["intervals"]):
        for side in ("low", "high"):
            name = f"{one['measure']} {one['group']} {one['quantity']} {side}"
            columns[name] = [s["intervals"][j][side] for s in splits]
    return columns
