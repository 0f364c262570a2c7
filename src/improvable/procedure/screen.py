"""Screen the data before the first repetition: describe them, and find what would make
any result meaningless.

The screen reads the rows fetched for all rows (repetition 0), which are the same for
every engine; it draws nothing at random and changes no p-value. A feature that
determines the outcome or the group is refused, and so is an outcome that points the
wrong way round; other suspects are cautions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms import leakage
from improvable.algorithms.decisions import decide
from improvable.algorithms.leakage import Column, Target
from improvable.data.columns import AN_ID, MIN_ROWS_OF_AN_ID, Features
from improvable.data.frame import Rows
from improvable.data.probabilities import odds_factor
from improvable.data.quality import (
    amount_code_cautions,
    few_values,
    flag_code_cautions,
    repeating_ids,
    text_cautions,
)
from improvable.data.sample import Sample
from improvable.errors import Caution, DataError, OptionError
from improvable.inference.diagnostics import KINDS
from improvable.procedure.plan import Plan
from improvable.procedure.select import complete_status_quo
from improvable.procedure.survey import Surveyed
from improvable.question.design import Question
from improvable.question.settings import AsStated
from improvable.question.utility import Utility

# on which it is measured how well columns predict outcome and group, unless the outcome
# is rare
MAX_ROWS = 10_000
MIN_OF_AN_OUTCOME = 100
NEARLY_OUTCOME, NEARLY_GROUP, NEARLY_PERFECT = 0.98, 0.95, 0.98
CLEAR_OF_CHANCE = 5.0
MAX_LISTED = 8
# ids that repeat a few times are nearly all different in the first hundred rows
MAX_REPEATED = 0.8
# standard errors: a status quo unrelated to the outcome is stopped once in 700 data
# sets
WRONG_WAY = 3.0
# by target and feature: AUC or R squared, None where rows are too few
Scores = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Look:
    facts: dict[str, Any]  # the JSON's `look`
    cautions: tuple[Caution, ...]


def look_at(plan: Plan, sample: Sample, features: Features, surveyed: Surveyed) -> Look:
    question, design, whole, sample = (
        plan.design.question,
        plan.design,
        sample,
        sample.known(),
    )
    rows = sample.rows
    values = {
        name or question.outcome: outcome for name, outcome in sample.outcomes.items()
    }
    if plan.target not in values:
        values[plan.target] = rows.numbers(plan.target)
    outcomes = [
        leakage.outcome_target(name, outcome) for name, outcome in values.items()
    ]
    groups = [
        leakage.group_target(
            attribute.name,
            attribute.member[sample.grouping.codes],
            len(attribute.levels),
        )
        for attribute in sample.grouping.attributes
    ]
    blind = plan.constraints.group_blind
    tells_outcome, tells_group, together = _screen(
        rows, features.columns, outcomes, groups, blind
    )
    status_quo = complete_status_quo(plan.status_quo, whole, plan.breaking)
    direction = direction_of(sample, decide(status_quo, rows, "status quo"))
    facts = {
        "rows": {
            "total": surveyed.seen.rows,
            "used": surveyed.rows,
            "looked_at": len(whole),
        },
        "roles": {
            "outcome": design.outcome_columns,
            "group": list(question.group),
            "target": plan.target,
            "weight": question.weight,
            "cluster": question.cluster,
            "row_id": plan.settings.row_id,
        },
        "outcomes": [
            {
                "column": target.name,
                "values": target.levels,
                "mean": _rounded(target.values.mean()),
                "least": float(target.values.min()),
                "most": float(target.values.max()),
            }
            for target in outcomes
        ],
        "groups": _group_facts(whole, decide(status_quo, whole.rows, "status quo")),
        "direction": None if direction is None else direction.to_dict(),
        "features": {
            name: {
                "treatment": features.treatment[name],
                "missing": surveyed.seen.missing[name]
                if rows.is_numeric(name)
                else int(whole.rows.frame[name].is_null().sum()),
                "tells_outcome": {
                    target: scores[name] for target, scores in tells_outcome.items()
                },
                "tells_group": {
                    target: scores[name] for target, scores in tells_group.items()
                },
                "group_odds": _group_odds(sample, name),
            }
            for name in features.columns
        },
        "left_out": features.left_out,
        "features_tell_group": together,
    }
    # the survey saw the others
    predicted = [plan.target] if plan.target not in design.outcome_columns else []
    cautions = [
        *_outcome_cautions(tells_outcome),
        *(_group_cautions(tells_group, together) if blind else []),
        *check_direction(
            direction, question, design.utilities, plan.settings.direction
        ),
        *(
            caution
            for target in outcomes
            for caution in amount_code_cautions(target.name, target.values)
        ),
        *flag_code_cautions(few_values(rows, predicted)),
        *_repeat_cautions(sample, features),
        *text_cautions(rows, features.columns),
    ]
    return Look(facts, tuple(cautions))


def _screen(
    rows: Rows,
    names: Sequence[str],
    outcomes: Sequence[Target],
    groups: Sequence[Target],
    group_blind: bool,
) -> tuple[Scores, Scores, dict[str, float | None]]:
    """Refuse features that determine an outcome or the group; score the others by
    outcome, by group, and together.
    """
    few = min(len(rows), MAX_ROWS)
    counts = [np.bincount(target.codes[:few]) for target in outcomes if target.named]
    # a rare outcome needs all rows
    if any(few - count.max() < MIN_OF_AN_OUTCOME for count in counts):
        few = len(rows)
    some = Rows(rows.frame[:few], None)
    short = {target.name: target.take(slice(0, few)) for target in (*outcomes, *groups)}

    def determined(column: Column, target: Target, *, where_given: bool) -> bool:
        """What a few rows contradict need not be checked in all of them."""
        if not leakage.determines(column, short[target.name], where_given=where_given):
            return False
        whole = column if few == len(rows) else leakage.read_column(rows, column.name)
        return whole is column or leakage.determines(
            whole, target, where_given=where_given
        )

    columns, bins, answers = [], [], []
    scores: Scores = {target.name: {} for target in (*outcomes, *groups)}
    for name in names:
        column = leakage.read_column(some, name)
        if any(determined(column, target, where_given=True) for target in outcomes):
            answers.append(name)
        for target in groups if group_blind else ():
            if determined(column, target, where_given=False):
                raise DataError(
                    (
                        f"the feature '{name}' determines the group '{target.name}' "
                        "exactly."
                    ),
                    (
                        "Exclude it, or use `group_blind=False`; that may be disparate "
                        "treatment."
                    ),
                )
        columns.append(column)
        bins.append(leakage.bins_of(column))
        for target in (*outcomes, *groups):
            scores[target.name][name] = leakage.score_column(
                column, *bins[-1], short[target.name]
            )
    if answers:
        listed = " and ".join(f"'{name}'" for name in answers)
        which = " or ".join(f"'{target.name}'" for target in outcomes)
        subject = (
            f"the feature {listed} determines"
            if len(answers) == 1
            else f"the features {listed} determine"
        )
        raise DataError(
            (
                f"{subject} the outcome {which} exactly: a candidate would read the "
                "answer."
            ),
            (
                "Exclude what is not known when the decision is made: "
                f"`exclude={answers}`."
            ),
        )
    together = {}
    for target in groups:
        alone = scores[target.name]
        ranked = np.argsort([-(alone[name] or 0.0) for name in names], kind="stable")
        best = np.sort(ranked[: leakage.MAX_TOGETHER])
        chosen, cut = [columns[j] for j in best], [bins[j] for j in best]
        together[target.name] = leakage.told_together(chosen, cut, short[target.name])
    return (
        {one.name: scores[one.name] for one in outcomes},
        {one.name: scores[one.name] for one in groups},
        together,
    )


def _group_odds(sample: Sample, name: str) -> float | None:
    """What a feature tells about probable groups: by what factor it moves their odds;
    None where groups are known.
    """
    if sample.spread is None:
        return None
    by_group = (
        sample.spread.shares
        if sample.weights is None
        else sample.spread.shares * sample.weights[:, None]
    )
    upper = by_group[leakage.upper_part(leakage.read_column(sample.rows, name))]
    return _rounded(odds_factor(by_group.sum(axis=0), upper.sum(axis=0)))


def _group_facts(sample: Sample, decision: FloatArray) -> list[dict[str, Any]]:
    """Base rates and selection rates, weighted if rows are."""
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    outcome, chosen = sample.outcomes[None], decision != 0

    def mean(values: FloatArray, among: FloatArray) -> float | None:
        counted = np.flatnonzero(among * np.isfinite(values))
        by = weights[counted] * among[counted]
        return (
            _rounded(float((by * values[counted]).sum()) / float(by.sum()))
            if by.sum()
            else None
        )

    out = []
    for attribute in sample.grouping.attributes:
        level = attribute.member[sample.grouping.codes]
        for g, group in enumerate(attribute.levels):
            # Where groups are known by probability, a row counts for each by that.
            mine = (
                (level == g).astype(np.float64)
                if sample.spread is None
                else sample.spread.shares[:, 1 + g]
            )
            facts = {
                "attribute": attribute.name,
                "group": group,
                "rows": round(mine.sum()),
            }
            facts |= {
                "mean_outcome": mean(outcome, mine),
                "selected": mean(chosen.astype(np.float64), mine),
            }
            out.append({**facts, "mean_outcome_selected": mean(outcome, mine * chosen)})
    return out


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _near(scores: Mapping[str, float | None], least: float) -> dict[str, float]:
    return {
        name: score
        for name, score in scores.items()
        if score is not None and score > least
    }


def _listed(scores: Mapping[str, float]) -> str:
    shown = [
        f"'{name}' {score:.3f}" for name, score in list(scores.items())[:MAX_LISTED]
    ]
    return ", ".join(shown) + (", ..." if len(scores) > MAX_LISTED else "")


def _outcome_cautions(tells_outcome: Scores) -> list[Caution]:
    return [
        Caution(
            f"near outcome {target}",
            (
                f"features that alone nearly tell the outcome '{target}': "
                f"{_listed(near)} (AUC, or R squared of values or ranks, out of "
                "sample). Is each known "
                f"when the decision is made? If not: `exclude={list(near)}`."
            ),
        )
        for target, scores in tells_outcome.items()
        if (near := _near(scores, NEARLY_OUTCOME))
    ]


def _group_cautions(
    tells_group: Scores, together: Mapping[str, float | None]
) -> list[Caution]:
    out = []
    for target, scores in tells_group.items():
        all_features = together[target]
        if near := _near(scores, NEARLY_GROUP):
            text = (
                f"features that alone nearly tell the group '{target}': "
                f"{_listed(near)} (AUC). A candidate that reads them can act on the "
                f"group. To leave them out: `exclude={list(near)}`."
            )
            out.append(Caution(f"near group {target}", text))
        elif all_features is not None and all_features > NEARLY_GROUP:
            best = dict(sorted(scores.items(), key=lambda item: -(item[1] or 0.0))[:3])
            text = (
                f"the features together nearly tell the group '{target}' (AUC "
                f"{all_features:.3f}); alone, the best are "
                f"{_listed(_near(best, -1.0))}. A candidate can act on the group "
                "without reading it."
            )
            out.append(Caution(f"together {target}", text))
    return out


def _repeat_cautions(sample: Sample, features: Features) -> list[Caution]:
    """Suggest clusters if a column looks like the id of people who have several rows
    each.
    """
    if sample.clusters is not None:
        return []
    rows = Rows(sample.rows.frame[:MAX_ROWS], None)
    columns = {}
    for name in (
        *features.columns,
        *(name for name, why in features.left_out.items() if why == AN_ID),
    ):
        series = rows.frame[name]
        first = series[:MIN_ROWS_OF_AN_ID]
        names_things = series.dtype.is_integer() or not (
            rows.is_numeric(name) or rows.is_date(name)
        )
        if names_things and int(first.n_unique()) > MAX_REPEATED * len(first):
            columns[name] = leakage.read_column(rows, name).values
    level = sample.grouping.attributes[0].member[sample.grouping.codes][:MAX_ROWS]
    return [
        Caution(
            f"repeats {name}",
            (
                f"'{name}' looks like an id of people with several rows each "
                f"({mean:.1f} on average, always of one group). If so, rows of one "
                f"person belong together: `cluster={name!r}`."
            ),
        )
        for name, mean in repeating_ids(columns, level).items()
    ]


def perfection_cautions(
    sample: Sample, decision: FloatArray, outcome: str
) -> list[Caution]:
    """A candidate that selects almost exactly the rows with the highest, or lowest,
    outcomes may know them.
    """
    chosen = decision != 0
    selected, rows = int(chosen.sum()), len(sample)
    if selected in (0, rows) or not np.isin(decision, (0.0, 1.0)).all():
        return []
    for name, values in sample.outcomes.items():
        mean, reached = float(values.mean()), float(values[chosen].mean())
        ordered = np.sort(values)
        chance = float(values.std()) * np.sqrt((1 - selected / rows) / selected)
        for which, ends in (
            ("highest", ordered[-selected:]),
            ("lowest", ordered[:selected]),
        ):
            possible = float(ends.mean()) - mean
            share = (
                (reached - mean) / possible
                if possible and abs(possible) >= CLEAR_OF_CHANCE * chance
                else 0.0
            )
            if share > NEARLY_PERFECT:
                text = (
                    "the candidate selects almost exactly the test rows with the "
                    f"{which} '{name or outcome}': {share:.1%} of what one that knew "
                    "the outcomes would gain. Does a feature hold the answer? See "
                    "improvable check."
                )
                return [Caution(f"perfect {name or outcome}", text)]
    return []


@dataclass(frozen=True)
class Direction:
    """Mean outcomes of those whom the status quo selects and of the others, and how far
    apart these are.

    A file whose default is coded yes, or whose approvals are read as refusals, gives a
    verdict about the opposite question. The status quo shows it: whoever made it meant
    to select the better outcomes, be selection a benefit or a burden; a care program
    rightly selects the sick.
    """

    selected: float
    others: float
    standard_errors: float

    def to_dict(self) -> dict[str, float]:
        means = {"selected": _rounded(self.selected), "others": _rounded(self.others)}
        return {**means, "standard_errors": round(self.standard_errors, 2)}


def direction_of(sample: Sample, decision: FloatArray) -> Direction | None:
    """From rows; None if the status quo does not divide them in two."""
    chosen, outcome = decision != 0, sample.outcomes[None]
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    sizes = [float(weights[side].sum()) for side in (chosen, ~chosen)]
    if not all(sizes) or not np.isin(decision, (0.0, 1.0)).all():
        return None
    means = [
        float((weights * outcome)[side].sum()) / size
        for side, size in zip((chosen, ~chosen), sizes, strict=True)
    ]
    influence = weights * np.where(
        chosen, (outcome - means[0]) / sizes[0], -(outcome - means[1]) / sizes[1]
    )
    error = float(
        np.sqrt((np.bincount(sample.unit_codes(), weights=influence) ** 2).sum())
    )
    return Direction(
        means[0], means[1], (means[0] - means[1]) / error if error else 0.0
    )


def direction_of_counts(crossed: FloatArray, rows_per_unit: float) -> Direction | None:
    """From counted rows (`diagnostics.crossed_array`), for a comparison, which has no
    rows at hand.

    The rows of a cluster count as one, so that a direction is questioned less readily
    than it might be.
    """
    both, only, others, neither = (
        crossed[:, KINDS.index(kind)].sum(axis=0) for kind in KINDS
    )
    sides = np.array([both + only, others + neither])
    if (sides[:, 0] <= 0).any():
        return None
    weight, total, square, heavy = sides.T
    means = total / weight
    variances = (
        np.maximum(square / weight - means**2, 0.0) * heavy / weight**2 * rows_per_unit
    )
    error = float(np.sqrt(variances.sum()))
    return Direction(
        float(means[0]),
        float(means[1]),
        float(means[0] - means[1]) / error if error else 0.0,
    )


def check_direction(
    direction: Direction | None,
    question: Question,
    utilities: Sequence[Utility],
    stated: AsStated | None,
) -> list[Caution]:
    """Refuse a direction that the status quo contradicts by more than chance, unless it
    was stated; then say so.
    """
    reads = any(
        utility.reads_outcome and utility.outcome is None for utility in utilities
    )
    lower = question.lower_is_better
    if (
        direction is None
        or not reads
        or (1 if lower else -1) * direction.standard_errors < WRONG_WAY
    ):
        return []
    name, side, better = (
        question.outcome,
        *(("higher", "lower") if lower else ("lower", "higher")),
    )
    seen = (
        f"those whom the status quo selects have a {side} mean '{name}' "
        f"({direction.selected:.4g}) than the others ({direction.others:.4g}), and "
        f"{better} counts as better"
    )
    if stated is not None:
        return [
            Caution("direction", f"{seen}. Whoever ran this confirmed it as stated.")
        ]
    turn = (
        "leave out `lower_is_better`"
        if lower
        else (
            f"say which value should be selected, `positive={{{name!r}: ...}}`, or of "
            "an amount `lower_is_better=True`"
        )
    )
    raise OptionError(
        f"{seen}.",
        (
            f"If that is the wrong way round, {turn}; if it is right, say "
            "`direction='as stated'`."
        ),
    )
