"""A result as one dictionary of plain numbers and text: the JSON, and the source of every other output."""

from typing import TYPE_CHECKING, Any

import numpy as np

import improvable
from improvable.arrays import FloatArray, IntArray
from improvable.compare import gap_interval, gaps
from improvable.design import Design, delta_words
from improvable.inference.evidence import ALGORITHMS, Evidence
from improvable.report.words import p_text
from improvable.utilities import Utility

if TYPE_CHECKING:
    from improvable.audit import Audit
    from improvable.compare import Comparison


def comparison_facts(result: "Comparison") -> dict[str, Any]:
    estimate, low, high = gap_interval(result.evidence, result.design.alpha)
    facts = _common_facts("comparison", result)
    facts["rows"] = result.rows
    facts["disparity"] = _disparity_facts(result.evidence, estimate, low, high)
    facts["splits"] = [split_facts(result)]
    facts["warnings"] = list(result.warnings)
    return facts


def audit_facts(result: "Audit") -> dict[str, Any]:
    facts = _common_facts("audit", result)
    facts["rows"] = result.rows
    facts["disparity"] = _disparity_facts(result.splits[0].evidence, *result.disparity)
    facts["rule"] = result.plan.rule.name
    facts["features"] = list(result.plan.features)
    facts["target"] = result.plan.target
    facts["capacity"] = result.plan.capacity
    facts["train_fraction"] = result.plan.train_fraction
    facts["splits"] = [split_facts(split) for split in result.splits]
    facts["warnings"] = list(result.warnings)
    return facts


def _common_facts(kind: str, result: "Audit | Comparison") -> dict[str, Any]:
    design: Design = result.design
    return {
        "kind": kind,
        "p_value": result.p_value,
        "p_value_text": p_text(result.p_value, design.draws),
        "threshold": result.threshold,
        "reject": bool(result.reject),
        "alpha": design.alpha,
        "groups": list(result.groups),
        "outcome": design.outcome,
        "group": design.group,
        "accuracy_utility": _utility_facts(design.accuracy, design),
        "fairness_utility": _utility_facts(design.fairness, design),
        "delta_accuracy": delta_words(design.delta_accuracy),
        "delta_fairness": design.delta_fairness,
        "form": design.form,
        "gap_statistic": design.gap,
        "draws": design.draws,
        "seed": design.seed,
        "version": improvable.__version__,
    }


def _utility_facts(utility: Utility, design: Design) -> dict[str, str]:
    return {"name": utility.label, "words": utility.words or utility.name, "outcome": utility.outcome or design.outcome}


def _disparity_facts(evidence: Evidence, estimate: float, low: float, high: float) -> dict[str, Any]:
    higher, lower = evidence.reference
    return {
        "higher": evidence.groups[higher],
        "lower": evidence.groups[lower],
        "gap": estimate,
        "interval": [low, high],
    }


def split_facts(result: "Comparison") -> dict[str, Any]:
    """One split: the paper's row of numbers."""
    evidence, assessment = result.evidence, result.assessment
    draws = result.design.draws
    return {
        "split": result.split,
        "rows": result.rows,
        "p_value": assessment.p_value,
        "p_value_text": p_text(assessment.p_value, draws),
        "p_accuracy": {g: tail.p_value for g, tail in zip(evidence.groups, assessment.accuracy, strict=True)},
        "p_fairness": assessment.fairness.p_value,
        "p_fairness_other": assessment.fairness_other.p_value,
        "accuracy": _by_group(evidence, evidence.values[:, evidence.accuracy]),
        "fairness": _by_group(evidence, evidence.values[:, evidence.fairness]),
        "gap": {name: _number(value) for name, value in gaps(evidence).items()},
        "reference": [evidence.groups[g] for g in evidence.reference],
        "selected": _by_group(evidence, result.selected),
        "share_selected": result.shares,
        "undefined_draws": assessment.undefined,
    }


def _by_group(evidence: Evidence, values: FloatArray | IntArray) -> dict[str, dict[str, Any]]:
    return {
        group: {name: _number(values[g, t]) for t, name in enumerate(ALGORITHMS)}
        for g, group in enumerate(evidence.groups)
    }


def _number(value: Any) -> float | int | None:
    """JSON has no NaN: an undefined utility is null."""
    if isinstance(value, np.integer):
        return int(value)
    return float(value) if np.isfinite(value) else None


def split_columns(facts: dict[str, Any]) -> dict[str, list[Any]]:
    """The splits as columns of a table."""
    splits = facts["splits"]
    columns: dict[str, list[Any]] = {"split": [s["split"] for s in splits]}
    for group in facts["groups"]:
        for name in ALGORITHMS:
            columns[f"accuracy_{group}_{name}"] = [s["accuracy"][group][name] for s in splits]
        columns[f"p_{group}"] = [s["p_accuracy"][group] for s in splits]
    for name in ALGORITHMS:
        columns[f"gap_{name}"] = [s["gap"][name] for s in splits]
    for name in ("p_fairness", "p_fairness_other", "p_value", "rows"):
        columns[name] = [s[name] for s in splits]
    for group in facts["groups"]:
        for name in ALGORITHMS:
            columns[f"selected_{group}_{name}"] = [s["selected"][group][name] for s in splits]
    return columns
