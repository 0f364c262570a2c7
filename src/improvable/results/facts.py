"""A result as one dictionary of plain numbers and text: the JSON, and the source of every other output.

The types below are the JSON's; `docs/reference/result.schema.json` says what each key means.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np

from improvable.inference.assessment import Component
from improvable.inference.crossing import changes
from improvable.inference.diagnostics import candidate_gaps, selection_rates, smallest_eigenvalues, welfare
from improvable.inference.estimates import Disparity, disparities, estimates
from improvable.inference.statistics import unfairness
from improvable.question.utilities import Measure
from improvable.results.findings import Findings, Tested
from improvable.results.firmness import RerunFacts, ShortfallFacts, rerun_facts, shortfall_facts
from improvable.results.numbers import number_or_null, p_text, steady
from improvable.results.versions import VERSION

Algorithm = Literal["status_quo", "candidate"]
"""The keys of a pair, in the order of every output."""


class Pair(TypedDict):
    status_quo: float | None
    candidate: float | None


class CountPair(TypedDict):
    status_quo: int
    candidate: int


class UtilityFacts(TypedDict):
    name: str
    words: str
    outcome: str
    higher_is_better: bool
    worse_off: str
    sense: str
    between: str
    formula: str


class DisparityFacts(TypedDict):
    utility: str
    group: str
    higher: str
    lower: str
    gap: float
    interval: list[float | None]
    worse_off: str
    better_off: str


class ComponentFacts(TypedDict):
    kind: str
    utility: str
    group: str
    status_quo: float | None
    candidate: float | None
    p_value: float
    p_other: float | None


class IntervalFacts(TypedDict):
    measure: str
    group: str
    quantity: str
    estimate: float | None
    low: float | None
    high: float | None


class ChangeFacts(TypedDict):
    share: float
    mean_outcome: float | None


class SplitFacts(TypedDict):
    split: int
    rows: int
    clusters: int | None
    method: str
    p_value: float
    p_value_text: str
    p_accuracy: dict[str, float]
    p_fairness: float | None
    p_fairness_other: float | None
    accuracy: dict[str, Pair]
    fairness: dict[str, Pair]
    gap: Pair
    components: list[ComponentFacts]
    intervals: list[IntervalFacts]
    reference: list[str]
    selected: dict[str, CountPair]
    share_selected: dict[str, dict[str, float]]
    share_selected_by_group: dict[str, dict[str, float]]
    effective_rows: dict[str, dict[str, float]]
    changes: dict[str, dict[str, ChangeFacts]]
    undefined_draws: int
    selection: dict[str, Any]


class EigenvalueFacts(TypedDict):
    split: int
    covariance: float
    correlation: float


class CandidateGapFacts(TypedDict):
    split: int
    utility: str
    group: str
    higher: str
    lower: str
    gap: float | None
    standard_errors: float | None
    near_zero: bool


class WelfareFacts(TypedDict):
    criterion: str
    utility: str
    status_quo: float | None
    candidate: float | None


class SelectionRateFacts(TypedDict):
    attribute: str
    group: str
    rows: int
    selected: int
    rate: float
    ratio: float | None
    below_four_fifths: bool
    best_off: bool
    standard_deviations: float


class DiagnosticFacts(TypedDict):
    eigenvalues: list[EigenvalueFacts]
    candidate_gaps: list[CandidateGapFacts]
    welfare: list[WelfareFacts]
    selection_rates: list[SelectionRateFacts]


class Facts(TypedDict):
    """Everything a result says. What only an audit says is not required."""

    kind: str
    p_value: float
    p_value_text: str
    threshold: float
    reject: bool
    alpha: float
    groups: list[str]
    about: dict[str, Any]
    outcome: str
    lower_is_better: bool
    selection: str
    group: list[str]
    accuracy_utilities: list[UtilityFacts]
    fairness_utilities: list[UtilityFacts]
    ask: str
    delta_accuracy: float | dict[str, float | dict[str, float]]
    no_worse: float | None
    delta_fairness: float | dict[str, float]
    form: str
    gap_statistic: str
    protected: list[str]
    overall: str | dict[str, float] | None
    weight: str | None
    cluster: str | None
    stratum: str | None
    combine: str
    folds: int | None
    draws: int
    method: str
    seed: int
    version: str
    rows: int
    clusters: int | None
    data_fingerprint: str | None
    seal: str | None
    disparity: DisparityFacts
    disparities: list[DisparityFacts]
    splits: list[SplitFacts]
    rerun: RerunFacts | None
    shortfall: ShortfallFacts | None
    diagnostics: DiagnosticFacts
    warnings: list[str]
    verdict_warnings: list[str]
    status_quo: NotRequired[str]
    rule: NotRequired[str]
    features: NotRequired[dict[str, str]]
    look: NotRequired[dict[str, Any]]
    target: NotRequired[str]
    capacity: NotRequired[float | str | None]
    ties: NotRequired[str]
    monotone: NotRequired[dict[str, str]]
    selection_gap: NotRequired[float | None]
    group_blind: NotRequired[bool]
    train_fraction: NotRequired[float]
    train_rows: NotRequired[int]
    row_id: NotRequired[str | None]
    stopping: NotRequired[dict[str, float] | None]
    rule_source: NotRequired[str | None]
    challenge_source: NotRequired[str | None]
    challenge: NotRequired[str | None]
    asked_again: NotRequired[bool]
    protocol: NotRequired[dict[str, Any] | None]
    versions: NotRequired[dict[str, str]]


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
        "combine": question.combine,
        "folds": question.folds,
        "draws": question.draws,
        # Splits with many cells and others may differ in how their draws are made.
        "method": " and ".join(sorted({split.evidence.method for split in result.splits})),
        "seed": question.seed,
        "version": VERSION,
        "disparity": plain[0],
        "disparities": plain,
        "splits": [split_facts(split) for split in result.splits],
        "rerun": rerun_facts(result) if kind == "audit" and len(result.splits) > 1 else None,
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


def split_facts(result: Tested) -> SplitFacts:
    """One split: the paper's row of numbers, and every component and interval behind it."""
    evidence, assessment = result.evidence, result.assessment
    reference = disparities(evidence, result.question.claim, result.question.alpha)[0]
    return {
        "split": result.split,
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
    first = result.splits[0].evidence
    rows, weight, selected = result.census.rows, result.census.weight, result.census.selected
    member, levels = first.attributes[0].member, range(len(first.attributes[0].levels))
    sizes = np.array([float(weight[member == g].sum()) for g in levels])
    out: DiagnosticFacts = {"eigenvalues": [], "candidate_gaps": [], "welfare": [], "selection_rates": []}
    for split in result.splits:
        least = smallest_eigenvalues(split.evidence, split.clusters or split.rows)
        out["eigenvalues"].append(
            {
                "split": split.split,
                "covariance": steady(least.covariance),
                "correlation": steady(least.correlation),
            }
        )
        for gap in candidate_gaps(split.evidence, result.question.claim):
            out["candidate_gaps"].append(
                {
                    "split": split.split,
                    "utility": gap.measure,
                    "group": gap.attribute,
                    "higher": gap.higher,
                    "lower": gap.lower,
                    "gap": number_or_null(gap.gap),
                    "standard_errors": None if gap.standard_errors is None else steady(gap.standard_errors),
                    "near_zero": gap.near_zero,
                }
            )
    for one in welfare([split.evidence for split in result.splits], sizes):
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


def by_component(facts: Facts) -> list[tuple[ComponentFacts, ...]]:
    """Every condition of the test, each with its numbers in every split: the one walk over a result's components."""
    return list(zip(*(split["components"] for split in facts["splits"]), strict=True))


def mean_of(component: Sequence[ComponentFacts], algorithm: Algorithm) -> float | None:
    """A component's mean over the splits; None where some split leaves it undefined."""
    values = [split[algorithm] for split in component]
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if len(defined) == len(values) else None


def split_columns(facts: Facts) -> dict[str, list[Any]]:
    """The splits as columns of a table: estimates with intervals, p-values, counts."""
    splits = facts["splits"]
    columns: dict[str, list[Any]] = {"split": [s["split"] for s in splits]}
    for component in by_component(facts):
        name = f"{component[0]['kind']} {component[0]['utility']} {component[0]['group']}"
        columns[f"{name} status_quo"] = [one["status_quo"] for one in component]
        columns[f"{name} candidate"] = [one["candidate"] for one in component]
        columns[f"{name} p"] = [one["p_value"] for one in component]
        if component[0]["kind"] == "fairness":
            columns[f"{name} p other"] = [one["p_other"] for one in component]
    columns["p_value"] = [s["p_value"] for s in splits]
    columns["rows"] = [s["rows"] for s in splits]
    for group in facts["groups"]:
        columns[f"selected {group} status_quo"] = [s["selected"][group]["status_quo"] for s in splits]
        columns[f"selected {group} candidate"] = [s["selected"][group]["candidate"] for s in splits]
    for name in ("status_quo", "candidate"):
        columns[f"share selected {name}"] = [s["share_selected"][name]["test"] for s in splits]
        for group in facts["groups"]:
            columns[f"share selected {group} {name}"] = [s["share_selected_by_group"][group][name] for s in splits]
            columns[f"effective {group} {name}"] = [s["effective_rows"][group][name] for s in splits]
    for intervals in zip(*(split["intervals"] for split in splits), strict=True):
        name = f"{intervals[0]['measure']} {intervals[0]['group']} {intervals[0]['quantity']}"
        columns[f"{name} low"] = [one["low"] for one in intervals]
        columns[f"{name} high"] = [one["high"] for one in intervals]
    return columns
