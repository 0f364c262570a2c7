"""A look at the data before the first repetition: what is there, and what would make any result meaningless.

It reads the rows brought for all rows (repetition 0), which are the same for every engine, draws nothing at random, and
changes no p-value. A feature that determines the outcome or the group is refused; other suspects are cautions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.algorithms.constraints import Limits
from improvable.algorithms.decisions import decide
from improvable.algorithms.leakage import (
    MOST_TOGETHER,
    Column,
    Target,
    bins_of,
    determines,
    group_target,
    outcome_target,
    read_column,
    told,
    told_together,
)
from improvable.data.columns import AN_ID, FEWEST_ROWS_OF_AN_ID, Features
from improvable.data.frame import Rows
from improvable.data.quality import (
    amount_code_cautions,
    few_values,
    flag_code_cautions,
    repeating_ids,
    text_cautions,
)
from improvable.data.sample import Sample
from improvable.errors import Caution, DataError
from improvable.procedure.direction import check_direction, direction_of
from improvable.procedure.plan import Plan
from improvable.procedure.select import complete_status_quo
from improvable.procedure.survey import Surveyed

ROWS_LOOKED_AT = 10_000
"""How well columns tell the outcome and the group is measured on so many rows, unless the outcome is rare."""
FEWEST_OF_AN_OUTCOME = 100
NEARLY_OUTCOME, NEARLY_GROUP, NEARLY_PERFECT = 0.98, 0.95, 0.98
CLEAR_OF_CHANCE = 5.0
MOST_LISTED = 8
MOST_REPEATED = 0.8
"""Ids that repeat a few times are nearly all different in the first hundred rows."""


Told = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Look:
    """What was seen."""

    facts: dict[str, Any]  # the JSON's `look`
    cautions: tuple[Caution, ...]


@dataclass(frozen=True)
class Screened:
    """What features tell: by target and feature an AUC or an R squared, None where too few rows say."""

    outcomes: Told
    groups: Told
    together: dict[str, float | None]  # the AUC of all features, by group column


def look_at(plan: Plan, sample: Sample, features: Features, surveyed: Surveyed) -> Look:
    """Look at the rows brought for all rows."""
    question, rows = plan.design.question, sample.rows
    outcomes = [outcome_target(name, values) for name, values in _outcomes(plan, sample).items()]
    groups = [
        group_target(one.name, one.member[sample.grouping.codes], len(one.levels)) for one in sample.grouping.attributes
    ]
    screened = _screen(rows, features.columns, outcomes, groups, plan.constraints)
    decision = decide(complete_status_quo(plan.status_quo, sample, plan.breaking), rows, "status quo")
    direction = direction_of(sample, decision)
    facts = {
        "rows": {"total": surveyed.total, "used": surveyed.rows, "looked_at": len(sample)},
        "roles": {
            "outcome": plan.design.outcome_columns,
            "group": list(question.group),
            "target": plan.target,
            "weight": question.weight,
            "cluster": question.cluster,
            "row_id": plan.settings.row_id,
        },
        "outcomes": [_outcome_facts(target) for target in outcomes],
        "groups": _group_facts(sample, decision),
        "direction": None if direction is None else direction.to_dict(),
        "features": {
            name: {
                "treatment": features.treatment[name],
                "missing": surveyed.missing[name] if rows.is_numeric(name) else int(rows.frame[name].is_null().sum()),
                "tells_outcome": {target: found[name] for target, found in screened.outcomes.items()},
                "tells_group": {target: found[name] for target, found in screened.groups.items()},
            }
            for name in features.columns
        },
        "left_out": features.left_out,
        "features_tell_group": screened.together,
    }
    predicted = [plan.target] if plan.target not in plan.design.outcome_columns else []  # the survey saw the others
    cautions = [
        *_outcome_cautions(screened.outcomes),
        *(_group_cautions(screened) if plan.constraints.group_blind else []),
        *check_direction(direction, question, plan.design.utilities, plan.settings.direction),
        *(caution for target in outcomes for caution in amount_code_cautions(target.name, target.values)),
        *flag_code_cautions(few_values(rows, predicted)),
        *_repeat_cautions(sample, features, groups[0].codes),
        *text_cautions(rows, features.columns),
    ]
    return Look(facts, tuple(cautions))


def _outcomes(plan: Plan, sample: Sample) -> dict[str, FloatArray]:
    """All outcomes, and what the rule predicts."""
    found = {plan.design.question.outcome: sample.outcomes[None]}
    found |= {name: values for name, values in sample.outcomes.items() if name is not None}
    return found if plan.target in found else found | {plan.target: sample.rows.numbers(plan.target)}


def _screen(
    rows: Rows, names: Sequence[str], outcomes: Sequence[Target], groups: Sequence[Target], constraints: Limits
) -> Screened:
    """Refuse features that determine an outcome or the group; measure how well the others tell them."""
    few = _enough(len(rows), outcomes)
    columns: list[Column] = []
    bins: list[tuple[IntArray, int]] = []
    answers: list[str] = []
    found = Screened({one.name: {} for one in outcomes}, {one.name: {} for one in groups}, {})
    some = Rows(rows.frame[few], None)
    short = {target.name: target.take(few) for target in (*outcomes, *groups)}

    def determined(column: Column, target: Target, *, where_given: bool) -> bool:
        """What some rows already contradict need not be looked for in all of them."""
        if not determines(column, short[target.name], where_given=where_given):
            return False
        everywhere = len(column.values) == len(rows)
        return everywhere or determines(read_column(rows, column.name), target, where_given=where_given)

    for name in names:
        column = read_column(some, name)
        if any(determined(column, target, where_given=True) for target in outcomes):
            answers.append(name)
        for target in groups if constraints.group_blind else ():
            if determined(column, target, where_given=False):
                raise DataError(
                    f"the feature '{name}' determines the group '{target.name}' exactly.",
                    "Exclude it, or use `group_blind=False`; that may be disparate treatment.",
                )
        columns.append(column)
        bins.append(bins_of(column))
        for targets, into in ((outcomes, found.outcomes), (groups, found.groups)):
            for target in targets:
                into[target.name][name] = told(column, *bins[-1], short[target.name])
    if answers:
        raise _refuse_answers(answers, outcomes)
    for target in groups:
        alone = found.groups[target.name]
        ranked = np.argsort([-(alone[name] or 0.0) for name in names], kind="stable")
        chosen = np.sort(ranked[:MOST_TOGETHER])
        found.together[target.name] = told_together(
            [columns[j] for j in chosen], [bins[j] for j in chosen], short[target.name]
        )
    return found


def _enough(rows: int, outcomes: Sequence[Target]) -> slice:
    """The rows that are measured: more of them where an outcome is rare."""
    few = min(rows, ROWS_LOOKED_AT)
    counts = [np.bincount(target.codes[:few]) for target in outcomes if target.named]
    rare = any(few - count.max() < FEWEST_OF_AN_OUTCOME for count in counts)
    return slice(0, rows if rare else few)


def _refuse_answers(names: Sequence[str], outcomes: Sequence[Target]) -> DataError:
    listed = " and ".join(f"'{name}'" for name in names)
    which = " or ".join(f"'{target.name}'" for target in outcomes)
    subject = f"the feature {listed} determines" if len(names) == 1 else f"the features {listed} determine"
    return DataError(
        f"{subject} the outcome {which} exactly: a candidate would read the answer.",
        f"Exclude what is not known when the decision is made: `exclude={list(names)}`.",
    )


def _near(shares: Mapping[str, float | None], least: float) -> dict[str, float]:
    return {name: share for name, share in shares.items() if share is not None and share > least}


def _outcome_facts(target: Target) -> dict[str, Any]:
    values = target.values
    ends = {"least": float(values.min()), "most": float(values.max())}
    return {"column": target.name, "values": target.levels, "mean": _rounded(values.mean()), **ends}


def _group_facts(sample: Sample, decision: FloatArray) -> list[dict[str, Any]]:
    """Base rates and selection rates, weighted where rows are."""
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    outcome, chosen = sample.outcomes[None], decision != 0
    out = []
    for attribute in sample.grouping.attributes:
        level = attribute.member[sample.grouping.codes]
        for g, group in enumerate(attribute.levels):
            mine = level == g
            out.append(
                {
                    "attribute": attribute.name,
                    "group": group,
                    "rows": int(mine.sum()),
                    "mean_outcome": _mean(outcome, weights, mine),
                    "selected": _mean(chosen.astype(np.float64), weights, mine),
                    "mean_outcome_selected": _mean(outcome, weights, mine & chosen),
                }
            )
    return out


def _mean(values: FloatArray, weights: FloatArray, among: BoolArray) -> float | None:
    weight = float(weights[among].sum())
    return _rounded(float((weights[among] * values[among]).sum()) / weight) if weight else None


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _outcome_cautions(outcomes: Told) -> list[Caution]:
    out = []
    for target, found in outcomes.items():
        if near := _near(found, NEARLY_OUTCOME):
            text = (
                f"features that alone nearly tell the outcome '{target}': {_listed(near)} (AUC or R squared, out of "
                f"sample). Is each known when the decision is made? If not: `exclude={list(near)}`."
            )
            out.append(Caution(f"near outcome {target}", text))
    return out


def _group_cautions(screened: Screened) -> list[Caution]:
    out = []
    for target, found in screened.groups.items():
        near, together = _near(found, NEARLY_GROUP), screened.together[target]
        if near:
            text = (
                f"features that alone nearly tell the group '{target}': {_listed(near)} (AUC). A candidate that reads "
                f"them can act on the group. To leave them out: `exclude={list(near)}`."
            )
            out.append(Caution(f"near group {target}", text))
        elif together is not None and together > NEARLY_GROUP:
            best = dict(sorted(found.items(), key=lambda one: -(one[1] or 0.0))[:3])
            text = (
                f"the features together nearly tell the group '{target}' (AUC {together:.3f}); alone, the best are "
                f"{_listed(_near(best, -1.0))}. "
                "A candidate can act on the group without reading it."
            )
            out.append(Caution(f"together {target}", text))
    return out


def _listed(shares: Mapping[str, float]) -> str:
    shown = [f"'{name}' {share:.3f}" for name, share in list(shares.items())[:MOST_LISTED]]
    return ", ".join(shown) + (", ..." if len(shares) > MOST_LISTED else "")


def _repeat_cautions(sample: Sample, features: Features, level: IntArray) -> list[Caution]:
    """Hint at clusters where a column looks like the id of somebody who has several rows."""
    if sample.clusters is not None:
        return []
    few, first = (slice(0, count) for count in (ROWS_LOOKED_AT, FEWEST_ROWS_OF_AN_ID))
    rows = Rows(sample.rows.frame[few], None)
    names = [*features.columns, *(name for name, why in features.left_out.items() if why == AN_ID)]
    columns = {}
    for name in names:
        series = rows.frame[name]
        named = series.dtype.is_integer() or not (rows.is_numeric(name) or rows.is_date(name))
        if named and int(series[first].n_unique()) > MOST_REPEATED * len(series[first]):
            columns[name] = read_column(rows, name).values
    found = repeating_ids(columns, level[few])
    return [
        Caution(
            f"repeats {name}",
            f"'{name}' looks like an id of people with several rows each ({mean:.1f} on average, always of one group). "
            f"If so, rows of one person belong together: `cluster={name!r}`.",
        )
        for name, mean in found.items()
    ]


def perfection_cautions(sample: Sample, decision: FloatArray, outcome: str) -> list[Caution]:
    """A candidate that selects almost exactly the rows with the highest, or lowest, outcomes may know them."""
    chosen = decision != 0
    selected, rows = int(chosen.sum()), len(sample)
    if selected in (0, rows) or not np.isin(decision, (0.0, 1.0)).all():
        return []
    for name, values in sample.outcomes.items():
        mean, reached = float(values.mean()), float(values[chosen].mean())
        ordered = np.sort(values)
        chance = float(values.std()) * np.sqrt((1 - selected / rows) / selected)
        for which, ends in (("highest", ordered[-selected:]), ("lowest", ordered[:selected])):
            possible = float(ends.mean()) - mean
            if abs(possible) < CLEAR_OF_CHANCE * chance or not possible:
                continue
            share = (reached - mean) / possible
            if share > NEARLY_PERFECT:
                text = (
                    f"the candidate selects almost exactly the test rows with the {which} '{name or outcome}': "
                    f"{share:.1%} of what one that knew the outcomes would gain. Does a feature hold the answer? See "
                    "improvable check."
                )
                return [Caution(f"perfect {name or outcome}", text)]
    return []
