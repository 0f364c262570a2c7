"""State a result: every number and sentence that it says, as plain data (`Facts`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.inference.components import conditions, gaps
from improvable.inference.diagnostics import (
    KINDS,
    candidate_gaps,
    selection_rates,
)
from improvable.inference.evidence import ALGORITHMS, EVERYONE
from improvable.inference.intervals import (
    Disparity,
    combine_all,
    disparities,
    estimates,
)
from improvable.inference.reruns import rerun_risk
from improvable.inference.test import (
    Component,
    detectable,
    lower_median,
    rows_needed,
    shortfall,
)
from improvable.inference.unknown import last_delta, p_at, unknown_shares
from improvable.question.options import conforms
from improvable.results import facts
from improvable.results.formatting import number_or_null, p_text, steady
from improvable.results.storage import VERSION

if TYPE_CHECKING:
    from improvable.results.audit import Audit
    from improvable.results.comparison import Comparison

EXACT_DIGITS = 9
"""Digits in which shares of exact counts agree; beyond them they are rounding."""
MAX_ROWS = 1e9
"""Needing more rows than this is as good as no number being enough."""
ASKED = (
    "about",
    "outcome",
    "lower_is_better",
    "outcome_range",
    "selection",
    "group",
    "assume",
    "unknown_outcomes",
    "alpha",
    "weight",
    "cluster",
    "stratum",
    "draws",
    "seed",
)
NOTED = ("span", "benchmark", "without_overlap")  # of a model of unknown outcomes
# of the outcome's range
DELTAS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
CLAIMED = (
    "ask",
    "delta_accuracy",
    "delta_fairness",
    "form",
    "protected",
    "overall",
)
"""What facts take from the question and from its claim under the same names."""


def state(
    result: "Audit | Comparison",
    kind: str,
    own: Mapping[str, Any],
    gaps: Sequence[Disparity],
) -> facts.Facts:
    """Everything a result says: its `own` facts, and those that all results have."""
    question, groups = result.question, result.groups
    # Candidates were aimed at the claim of the run, not at one that was asked of it
    # later.
    cuts = (
        () if own.get("asked_again") or kind == "comparison" else own["blocks"]["cuts"]
    )
    repetitions = [repetition_facts(one, cuts) for one in result.repetitions]
    evidence = [one.evidence for one in result.repetitions]
    plain, shares = (
        [_disparity_facts(gap) for gap in gaps],
        _selected_shares(repetitions, groups),
    )
    return {
        **own,  # type: ignore[typeddict-item]  # a setting is plain data whose keys are those of `Facts`
        **{name: _plain(getattr(question, name)) for name in ASKED},
        **{name: _plain(getattr(question.claim, name)) for name in CLAIMED},
        "kind": kind,
        "p_value": result.p_value,
        "p_value_text": p_text(result.p_value, question.draws),
        "threshold": result.level,
        "reject": bool(result.reject),
        "groups": list(groups),
        "accuracy_utilities": [
            _take(facts.UtilityFacts, measure, name="label")
            for measure in question.accuracy
        ],
        "fairness_utilities": [
            _take(facts.UtilityFacts, measure, name="label")
            for measure in question.fairness
        ],
        "gap_statistic": question.claim.gap,
        # Repetitions with many cells and others may differ in how their draws are made.
        "method": " and ".join(sorted({one["method"] for one in repetitions})),
        "version": VERSION,
        "disparity": plain[0],
        "disparities": plain,
        "estimates": [
            {
                "kind": one.kind,
                "utility": one.measure,
                "group": one.group,
                **_pair(map(_fields, one.spreads)),
            }
            for one in combine_all(evidence, question.claim, gaps, 1 - result.level)
        ],
        "bounds": result.frontier().bound_facts(),
        "at_most": result.frontier().bound_facts(at_most=True),
        "selected_shares": shares,
        "people": {}
        if shares is None
        else {group: _people(repetitions, group) for group in (*groups, EVERYONE)},
        "turned": None if shares is None else _count_turned(result, repetitions),
        "p_plain": _p_plain(repetitions),
        "tipping_curve": (curve := _tipping_curve(repetitions)),
        "tipping_point": max(
            (one["gamma"] for one in curve if one["p_value"] < result.level),
            default=None,
        )
        if result.reject
        else None,
        "tipping_benchmark": _benchmark(
            repetitions, own.get("look", {"features": {}})["features"]
        )
        if curve
        else None,
        "unknown": _unknown_facts(result),
        "repetitions": repetitions,
        "rerun": _rerun_facts(result)
        if kind == "audit" and len(repetitions) > 1
        else None,
        "shortfall": None
        if result.reject
        else _shortfall_facts(result, int(own["rows"])),
        "diagnostics": _diagnostic_facts(result),
        "warnings": list(result.warnings),
        "verdict_warnings": list(result.verdict_warnings),
        "caution_kinds": [caution.kind for caution in result.cautions],
    }


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return list(value)
    return number_or_null(value) if isinstance(value, float) else value


def _fields(one: Any, **renamed: str) -> Any:
    """The fields of a dataclass as JSON can hold them; `renamed` maps a field to its
    key.
    """
    return {
        renamed.get(field, field): _plain(value) for field, value in asdict(one).items()
    }


def _take(kind: Any, one: Any, **renamed: str) -> Any:
    """The keys of a TypedDict from what an object calls the same; `renamed` maps a key
    to the object's own name.
    """
    return {
        key: _plain(getattr(one, renamed.get(key, key))) for key in kind.__annotations__
    }


def _pair(values: Iterable[Any]) -> Any:
    return dict(zip(ALGORITHMS, values, strict=True))


def _disparity_facts(gap: Disparity) -> facts.DisparityFacts:
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


def _selected_shares(
    repetitions: Sequence[facts.RepetitionFacts], groups: Sequence[str]
) -> dict[str, Any] | None:
    """Shares selected by either algorithm, of everyone and by group: means over
    repetitions. None of prices.
    """
    whole = [
        [one["share_selected"][name]["test"] for one in repetitions]
        for name in ALGORITHMS
    ]
    if min(map(min, whole)) == 1:
        return None
    found = {EVERYONE: whole}
    for group in groups:
        found[group] = [
            [one["share_selected_by_group"][group][name] for one in repetitions]
            for name in ALGORITHMS
        ]
    return {
        group: _pair(sum(shares) / len(shares) for shares in both)
        for group, both in found.items()
    }


def _people(
    repetitions: Sequence[facts.RepetitionFacts], group: str
) -> dict[str, facts.PersonFacts]:
    """Of `PEOPLE` in a group, how many both algorithms select, one of them, or neither,
    with their mean outcome.
    """
    out: dict[str, facts.PersonFacts] = {}
    for kind in KINDS:
        found = [repetition["changes"][group][kind] for repetition in repetitions]
        share = sum(one["share"] for one in found)
        # A mean over repetitions, each with as much weight as it has people of this
        # kind.
        outcome = sum(
            one["share"] * one["mean_outcome"]
            for one in found
            if one["mean_outcome"] is not None
        )
        out[kind] = {
            "people": facts.PEOPLE * share / len(found),
            "mean_outcome": outcome / share if share else None,
        }
    return out


def _count_turned(
    result: "Audit | Comparison", repetitions: Sequence[facts.RepetitionFacts]
) -> facts.TurnedFacts | None:
    """How many decisions turn right, and how many wrong: means over the repetitions.

    None unless outcomes are known, and they and decisions are 0 and 1.
    """
    question = result.question
    if question.lower_is_better or question.unknown_outcomes is not None:
        return None
    if not all(repetition["binary"] for repetition in repetitions):
        return None
    rights, wrongs = [], []
    for repetition in repetitions:
        right, wrong = share_turned(repetition["changes"][EVERYONE])
        if question.weight:
            rights.append(facts.PEOPLE * right)
            wrongs.append(facts.PEOPLE * wrong)
        else:
            rights.append(round(repetition["rows"] * right))
            wrongs.append(round(repetition["rows"] * wrong))
    not_more_right = []
    for group in result.groups:
        shares = [share_turned(one["changes"][group]) for one in repetitions]
        if round(fmean(right - wrong for right, wrong in shares), EXACT_DIGITS) <= 0:
            not_more_right.append(group)
    return {
        "right": round(fmean(rights), EXACT_DIGITS),
        "wrong": round(fmean(wrongs), EXACT_DIGITS),
        "not_more_right": not_more_right,
    }


def share_turned(changes: Mapping[str, facts.ChangeFacts]) -> tuple[float, float]:
    """The shares of a group whose decision turns right, and wrong.

    It is right to lose those whose outcome is 0, and to gain those whose outcome is 1.
    """
    lost, gained = changes["only_status_quo"], changes["only_candidate"]
    lost_ones = lost["share"] * (lost["mean_outcome"] or 0.0)
    gained_ones = gained["share"] * (gained["mean_outcome"] or 0.0)
    right = gained_ones + lost["share"] - lost_ones
    wrong = gained["share"] - gained_ones + lost_ones
    return right, wrong


def _tipping_curve(
    repetitions: Sequence[facts.RepetitionFacts],
) -> list[facts.TippingFacts]:
    """The p-value at each Gamma: the lower median over repetitions."""
    every = zip(*(one["tipping"] for one in repetitions), strict=True)
    return [
        {
            "gamma": same[0]["gamma"],
            "p_value": float(lower_median([one["p_value"] for one in same])),
        }
        for same in every
    ]


def _benchmark(
    repetitions: Sequence[facts.RepetitionFacts], features: Mapping[str, Any]
) -> facts.BenchmarkFacts:
    """What tells most about probable groups: a feature, or the status quo's
    decision.
    """
    odds = {
        "the status quo's decision": max(
            one["group_odds"] or 1.0 for one in repetitions
        )
    }
    odds |= {name: one["group_odds"] for name, one in features.items()}
    most = max(odds, key=lambda what: odds[what])
    return {"what": most, "factor": odds[most]}


def _unknown_facts(result: "Audit | Comparison") -> facts.UnknownFacts | None:
    """How p rises with what unknown outcomes may be; without a model of them, they may
    be anything.
    """
    question, every = result.question, [one.evidence for one in result.repetitions]
    delta, claim = question.unknown_outcomes, question.claim
    if delta is None:
        return None
    noted = [
        one.notes["unknown"] for one in result.repetitions if "unknown" in one.notes
    ]
    span, benchmark, thin = (
        float(np.mean([one[name] for one in noted])) if noted else None
        for name in NOTED
    )
    deltas = [] if span is None else [share * span for share in DELTAS]
    return {
        "selected": {
            group: number_or_null(share)
            for group, share in unknown_shares(every).items()
        },
        "without_overlap": thin,
        "benchmark": benchmark,
        "curve": [
            {"delta": one, "p_value": p_at(every, claim, one - delta)} for one in deltas
        ],
        "last_delta": None
        if span is None
        else last_delta(every, claim, result.level, delta, span),
    }


def _p_plain(repetitions: Sequence[facts.RepetitionFacts]) -> float | None:
    """The p-value without corrections; None where there are none."""
    if not any(one["corrections"] for one in repetitions):
        return None
    return float(
        lower_median(
            [
                one["p_value"] if one["p_plain"] is None else one["p_plain"]
                for one in repetitions
            ]
        )
    )


def repetition_facts(
    result: "Comparison", cuts: Sequence[float] = ()
) -> facts.RepetitionFacts:
    """One repetition: the paper's row of numbers, every component and interval behind
    it, and what was counted.
    """
    evidence, assessment, claim = (
        result.evidence,
        result.assessment,
        result.question.claim,
    )
    reference = disparities(evidence, claim, result.question.alpha)[0]
    accuracy, fairness = (
        {
            group: _pair(map(number_or_null, values[g, measure]))
            for values, attribute in zip(
                evidence.values, evidence.attributes, strict=True
            )
            for g, group in enumerate(attribute.levels)
        }
        for measure in (evidence.accuracy[0], evidence.fairness[0])
    )
    first = next(gaps(evidence, claim))  # also where fairness is not asked for
    return {
        **result.counts,
        "repetition": result.repetition,
        "method": evidence.method,
        "p_value": assessment.p_value,
        "p_value_text": p_text(assessment.p_value, result.question.draws),
        "p_accuracy": assessment.p_accuracy,
        "p_fairness": number_or_null(assessment.p_fairness),
        "p_fairness_other": number_or_null(assessment.p_fairness_other),
        "accuracy": accuracy,
        "fairness": fairness,
        "gap": _pair(map(number_or_null, first.folded().values)),
        "components": [
            component_facts(component) for component in assessment.components
        ],
        "intervals": [
            _fields(one) for one in estimates(evidence, result.question.alpha)
        ],
        "reference": [reference.higher, reference.lower],
        "undefined_draws": assessment.undefined,
        "aim": _aim_facts(result, cuts),
        "rule_notes": dict(result.notes),
    }


def _aim_facts(result: "Comparison", cuts: Sequence[float]) -> list[facts.AimFacts]:
    """What the rule `aim` gave weight to, and its margins: means over its blocks by how
    many rows each tests.
    """
    blocks = [
        one
        for one in result.notes.get("blocks", ())
        if cuts and conforms(one.get("aim"), facts.AimNotes)
    ]
    if not blocks:
        return []
    rows = [[*cuts, 1.0][one["block"]] - cuts[one["block"] - 1] for one in blocks]

    def mean(part: str, name: str) -> Any:
        values = [one["aim"][part].get(name) for one in blocks]
        return (
            None if None in values else steady(float(np.average(values, weights=rows)))
        )

    # a group of whom nobody is selected has no mean
    with np.errstate(invalid="ignore", divide="ignore"):
        every = list(conditions(result.evidence, result.question.claim))
    found: list[facts.AimFacts] = []
    for name, one in {one.name: one for one in every}.items():
        # Of several utilities or pairs of groups the least, as it was promised.
        tested = number_or_null(
            float(np.min([other.margin for other in every if other.name == name]))
        )
        weight, promised = mean("weights", name), mean("promised", name)
        found.append(
            facts.AimFacts(
                kind=one.kind,
                group=one.group,
                weight=weight,
                promised=promised,
                tested=tested,
            )
        )
    plain = mean("weights", "prediction")
    return [
        *found,
        facts.AimFacts(
            kind="prediction", group="", weight=plain, promised=None, tested=None
        ),
    ]


def component_facts(component: Component) -> facts.ComponentFacts:
    return {
        "kind": component.kind,
        "utility": component.measure,
        "group": component.group,
        "status_quo": number_or_null(component.status_quo),
        "candidate": number_or_null(component.candidate),
        "p_value": component.tail.p_value,
        "p_other": component.other.p_value if component.other else None,
    }


def _rerun_facts(result: "Audit | Comparison") -> facts.RerunFacts:
    """How another seed would fare, from the audit's own repetitions."""
    p_values = [repetition.p_value for repetition in result.repetitions]
    risk = _take(
        facts.RerunFacts,
        rerun_risk(p_values, draws=result.question.draws, alpha=result.question.alpha),
    )
    ranges = {
        name: [round(end, 6) for end in risk[name]]
        for name in ("otherwise_range", "share_range")
    }
    return (  # type: ignore[no-any-return]
        risk | {name: round(risk[name], 6) for name in ("otherwise", "share")} | ranges
    )


def _shortfall_facts(result: "Audit | Comparison", rows: int) -> facts.ShortfallFacts:
    """The condition that failed in the deciding repetition, whose p-value is the
    combined one.
    """
    repetition = next(
        repetition
        for repetition in result.repetitions
        if repetition.p_value == result.p_value
    )
    lack = shortfall(
        repetition.evidence, repetition.question.claim, repetition.assessment
    )
    enough = rows_needed(rows, lack.standard_errors, result.level)
    component, measures = (
        lack.component,
        {one.label: one for one in repetition.evidence.measures},
    )
    above = (
        component.kind == "accuracy" and measures[component.measure].higher_is_better
    )
    return {
        "repetition": repetition.repetition,
        "kind": component.kind,
        "utility": component.measure,
        "group": component.group,
        "candidate": number_or_null(component.candidate),
        "needed": number_or_null(lack.needed),
        "above": above,
        "standard_errors": _steady(lack.standard_errors),
        "rows": None
        if enough is None or enough > MAX_ROWS
        else int(float(f"{enough:.2g}")),
        "detectable": _steady(detectable(lack.needed, lack.error, result.level, above)),
    }


def _steady(value: float | None) -> float | None:
    return None if value is None else steady(value)


def _diagnostic_facts(result: "Audit | Comparison") -> facts.DiagnosticsFacts:
    """Theorem 2, and selection rates of the status quo."""
    attributes, census = result.repetitions[0].evidence.attributes, result.census
    rates = selection_rates(
        attributes, census.rows, census.selected, result.question.selection
    )
    return {
        "candidate_gaps": _candidate_gap_facts(result),
        "selection_rates": [_fields(rate) for rate in rates],
    }


def _candidate_gap_facts(
    result: "Audit | Comparison",
) -> list[facts.CandidateGapFacts]:
    """How far the candidate's gap lies from zero, repetition by repetition."""
    rows: list[Any] = []
    for repetition in result.repetitions:
        for gap in candidate_gaps(repetition.evidence, result.question.claim):
            fields = _fields(gap, measure="utility", attribute="group")
            fields["standard_errors"] = _steady(gap.standard_errors)
            rows.append({"repetition": repetition.repetition} | fields)
    return rows
