"""Constraints on candidates, stated once: honored by every rule that can, refused by
those that cannot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import narwhals as nw
import numpy as np

from improvable._typing import BoolArray, FloatArray
from improvable.algorithms.decisions import Algorithm
from improvable.data.frame import Rows
from improvable.data.groups import Attribute
from improvable.data.sample import Sample
from improvable.errors import OptionError
from improvable.question.options import SAME_SHARE, check_capacity
from improvable.question.settings import Constraints

CAPACITY, MONOTONE, SELECTION_GAP = "capacity", "monotone", "selection_gap"


@dataclass(frozen=True, kw_only=True)
class Limits(Constraints):
    """What a candidate must respect, checked: the constraints of the question, and the
    capacity.
    """

    # +1: a higher value never turns a selection away; or -1
    monotone: Mapping[str, int] = field(default_factory=dict)
    capacity: float | None = None  # share of rows that it may select
    # the capacity is the status quo's share of training rows, which a plan does not
    # know yet
    same_share: bool = False

    @property
    def sees_status_quo(self) -> bool:
        """Whether the candidate is shown whom the status quo selects (`unseen`)."""
        return self.max_unknown is not None

    @property
    def active(self) -> list[str]:
        """The constraints that a rule must honor."""
        asked = {
            CAPACITY: self.capacity is not None or self.same_share,
            MONOTONE: bool(self.monotone),
            SELECTION_GAP: self.selection_gap is not None,
        }
        return [name for name, is_asked in asked.items() if is_asked]

    def facts(self) -> dict[str, Any]:
        return {
            "capacity": SAME_SHARE if self.same_share else self.capacity,
            "monotone": {
                name: "+" if sign > 0 else "-" for name, sign in self.monotone.items()
            },
            "selection_gap": self.selection_gap,
            "group_blind": self.group_blind,
            "max_unknown": self.max_unknown,
        }


def make_limits(constraints: Constraints, capacity: float | str | None) -> Limits:
    """Check constraints before any row is read."""
    signs, selection_gap = {}, constraints.selection_gap
    for name, sign in (constraints.monotone or {}).items():
        if sign not in ("+", "-", 1, -1):
            raise OptionError(
                f"`monotone` in '{name}' is {sign!r}.",
                "Write '+' for rising or '-' for falling.",
            )
        signs[name] = 1 if sign in ("+", 1) else -1
    if selection_gap is not None and not 0 <= selection_gap < 1:
        raise OptionError(
            f"`selection_gap` is {selection_gap:g}.",
            "It is a difference of rates, from 0 to below 1.",
        )
    same_share = capacity == SAME_SHARE
    share = None if capacity is None or same_share else check_capacity(capacity)
    most = constraints.max_unknown
    if most is not None and not 0 <= most < 1:
        raise OptionError(
            f"`max_unknown` is {most:g}.",
            "It is a share of those selected, from 0 to below 1.",
        )
    given: dict[str, Any] = {
        one.name: getattr(constraints, one.name) for one in fields(Constraints)
    }
    return Limits(**given | {"monotone": signs}, capacity=share, same_share=same_share)


def check_features(limits: Limits, rows: Rows, features: Sequence[str]) -> None:
    """Monotone features must be numeric features."""
    for name in limits.monotone:
        if name not in features:
            rows.require([name])
            raise OptionError(
                f"`monotone` names '{name}', which is not a feature.",
                "Name it in features, too.",
            )
        if not rows.is_numeric(name):
            raise OptionError(
                f"`monotone` names '{name}', which is not a number.",
                "Only numbers can rise or fall.",
            )


def honors_of(rule: Any) -> frozenset[str]:
    """The constraints that a rule respects; one that does not say respects the
    capacity.
    """
    return frozenset(getattr(rule, "honors", {CAPACITY}))


def refuse_unhonored(limits: Limits, rule: Any, rules: Mapping[str, Any]) -> None:
    """Refuse a rule that cannot honor an active constraint, naming those that can."""
    for name in limits.active:
        if name not in honors_of(rule):
            able = [known for known in rules if name in honors_of(rules[known])]
            hint = f"Rules that can: {', '.join(able)}."
            if name == SELECTION_GAP:
                hint += " Or ask for a smaller gap: `fairness='selection_rate'`."
            raise OptionError(f"rule '{rule.name}' cannot honor {name}.", hint)


def selection_rates(decision: FloatArray, sample: Sample) -> dict[str, float]:
    """Share selected of every group, of rows or of their weight."""
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    if sample.spread is not None:
        by = sample.spread.shares[:, 1:] * weights[:, None]
        rates = by[decision != 0].sum(axis=0) / by.sum(axis=0)
        return dict(
            zip(sample.grouping.attributes[0].levels, rates.tolist(), strict=False)
        )
    return {
        group: float(weights[mine & (decision != 0)].sum() / weights[mine].sum())
        for attribute in sample.grouping.attributes
        for g, group in enumerate(attribute.levels)
        for mine in [attribute.member[sample.grouping.codes] == g]
    }


def selection_gap(decision: FloatArray, sample: Sample) -> float:
    """The largest difference of selection rates between groups of one attribute."""
    return gap_of_rates(selection_rates(decision, sample), sample.grouping.attributes)


def gap_of_rates(rates: Mapping[str, float], attributes: Sequence[Attribute]) -> float:
    return max(spread_of(rates, attribute) for attribute in attributes)


def spread_of(rates: Mapping[str, float], attribute: Attribute) -> float:
    """The largest difference of rates between groups of one attribute."""
    mine = [rates[level] for level in attribute.levels]
    return max(mine) - min(mine)


def monotone_steps(rows: Rows, monotone: Mapping[str, int]) -> dict[str, float]:
    """A standard deviation of each monotone feature, in its favored direction."""
    return {
        name: sign * float(np.nanstd(rows.numbers(name)))
        for name, sign in monotone.items()
    }


def monotone_falls(
    algorithm: Algorithm, rows: Rows, steps: Mapping[str, float]
) -> BoolArray:
    """The rows whose decision falls when a feature moves by its step."""
    before = np.asarray(algorithm.decide(rows))
    worse = np.zeros(len(rows), dtype=np.bool_)
    for name, step in steps.items():
        moved = Rows(
            rows.frame.with_columns((nw.col(name).cast(nw.Float64) + step).alias(name)),
            rows.keys,
        )
        worse |= np.asarray(algorithm.decide(moved)) < before
    return worse


def reached(
    limits: Limits, algorithm: Algorithm, decision: FloatArray, sample: Sample
) -> dict[str, float | int]:
    """What the candidate reached of each constraint on one sample."""
    out: dict[str, float | int] = {SELECTION_GAP: selection_gap(decision, sample)}
    if limits.monotone:
        steps = monotone_steps(sample.rows, limits.monotone)
        out["monotone_violations"] = int(
            monotone_falls(algorithm, sample.rows, steps).sum()
        )
    return out
