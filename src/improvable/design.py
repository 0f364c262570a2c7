"""What was asked: the question of a comparison or an audit, checked once before any row is read."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from improvable.errors import OptionError, nearest
from improvable.groups import GroupChoice
from improvable.inference.combining import Combine
from improvable.inference.criteria import Claim, Form, Gap
from improvable.utilities import Measure, Utility, as_accuracy, as_utility

Delta = float | Mapping[str, float]
Overall = Literal["population"] | Mapping[str, float] | None
FEWEST_DRAWS = 100
METHODS = ("bootstrap", "delta")


@dataclass(frozen=True)
class Question:
    """What a result remembers of what was asked: columns, measures, claim, level. Plain data.

    Attributes
    ----------
    outcome : str
    group : tuple of str
        Group columns.
    accuracy, fairness : tuple of Measure
    claim : Claim
    draws : int
    alpha : float
    seed : int
    weight, cluster : str or None
        Columns.
    combine : {"median", "running_median", "sequential"}
        How the p-values of splits become one.
    method : {"bootstrap", "delta"} or None
        How draws are made; None lets the number of cells decide.
    """

    outcome: str
    group: tuple[str, ...]
    accuracy: tuple[Measure, ...]
    fairness: tuple[Measure, ...]
    claim: Claim
    draws: int
    alpha: float
    seed: int
    weight: str | None = None
    cluster: str | None = None
    combine: Combine = "median"
    method: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(plain: Mapping[str, Any]) -> "Question":
        claim = dict(plain["claim"])
        claim["protected"] = tuple(claim["protected"])
        return Question(
            **{
                **plain,
                "group": tuple(plain["group"]),
                "accuracy": tuple(Measure(**measure) for measure in plain["accuracy"]),
                "fairness": tuple(Measure(**measure) for measure in plain["fairness"]),
                "claim": Claim(**claim),
            }
        )


@dataclass(frozen=True)
class Design:
    """A question with what is needed to answer it from rows."""

    question: Question
    groups: GroupChoice
    utilities: tuple[Utility, ...]
    accuracy: tuple[int, ...]
    fairness: tuple[int, ...]

    @property
    def outcome_columns(self) -> list[str]:
        named = [utility.outcome or self.question.outcome for utility in self.utilities]
        return list(dict.fromkeys([self.question.outcome, *named]))

    @property
    def label_columns(self) -> list[str]:
        cluster = self.question.cluster
        return [*self.question.group, *([cluster] if cluster is not None else [])]


def make_design(
    *,
    outcome: str,
    group: str | Sequence[str],
    accuracy: str | Utility | Sequence[str | Utility],
    fairness: str | Utility | Sequence[str | Utility] | None,
    delta_accuracy: Delta,
    delta_fairness: float,
    form: str,
    gap: str,
    protected: str | Sequence[str] | None,
    overall: Overall,
    groups: Sequence[str] | None,
    cross: bool,
    min_group: int,
    small: str,
    weight: str | None,
    cluster: str | None,
    draws: int,
    alpha: float,
    seed: int,
    combine: str = "median",
    method: str | None = None,
) -> Design:
    """Check the question before any row is read."""
    columns = as_names(group)
    if not columns:
        raise OptionError("no group column is named.", "Name the column that says which group a row belongs to.")
    if outcome in columns:
        raise OptionError(f"'{outcome}' is named as outcome and as group.", "They must be two columns.")
    if weight is not None and weight in (outcome, *columns, cluster):
        raise OptionError(f"'{weight}' is named as weight and as something else.", "Name the column of weights.")
    check_choice("small", small, ("pool", "refuse"))
    check_integer("min_group", min_group, 0)
    accuracies = [as_accuracy(spec) for spec in as_specs(accuracy)]
    fairnesses = accuracies if fairness is None else [as_utility(spec) for spec in as_specs(fairness)]
    utilities = tuple(dict.fromkeys([*accuracies, *fairnesses]))
    claim = make_claim(
        delta_accuracy=delta_accuracy,
        delta_fairness=delta_fairness,
        form=form,
        gap=gap,
        protected=protected,
        overall=overall,
    )
    check_choice("combine", combine, get_args(Combine))
    check_number("alpha", alpha, 0, 0.5)
    check_integer("draws", draws, FEWEST_DRAWS)
    check_integer("seed", seed, 0)
    if method is not None:
        check_choice("method", method, METHODS)
    question = Question(
        outcome=outcome,
        group=columns,
        accuracy=tuple(utility.measure(outcome) for utility in accuracies),
        fairness=tuple(utility.measure(outcome) for utility in fairnesses),
        claim=claim,
        draws=int(draws),
        alpha=float(alpha),
        seed=int(seed),
        weight=weight,
        cluster=cluster,
        combine=cast(Combine, combine),
        method=method,
    )
    return Design(
        question=question,
        groups=GroupChoice(columns, cross, as_names(groups), int(min_group), small),
        utilities=utilities,
        accuracy=tuple(utilities.index(utility) for utility in accuracies),
        fairness=tuple(utilities.index(utility) for utility in fairnesses),
    )


def make_claim(
    *,
    delta_accuracy: Delta,
    delta_fairness: float,
    form: str,
    gap: str,
    protected: str | Sequence[str] | None,
    overall: Overall,
) -> Claim:
    """Check the size of improvement asked for."""
    check_choice("form", form, get_args(Form))
    check_choice("gap", gap, get_args(Gap))
    deltas = list(delta_accuracy.values()) if isinstance(delta_accuracy, Mapping) else [delta_accuracy]
    for delta in deltas:
        check_number("delta_accuracy", delta, -np.inf if form == "difference" else -1, np.inf)
    check_number("delta_fairness", delta_fairness, -np.inf, np.inf if form == "difference" else 1, high_included=True)
    if isinstance(overall, Mapping):
        for value in overall.values():
            check_number("a weight in overall", value, 0, np.inf)
    elif overall not in (None, "population"):
        raise OptionError(f"overall is {overall!r}.", "It is 'population', or one weight for each group.")
    if overall is not None and isinstance(delta_accuracy, Mapping):
        raise OptionError("overall accuracy has one delta.", "Give delta_accuracy as one number.")
    return Claim(
        delta_accuracy={str(g): float(d) for g, d in delta_accuracy.items()}
        if isinstance(delta_accuracy, Mapping)
        else float(delta_accuracy),
        delta_fairness=float(delta_fairness),
        form="ratio" if form == "ratio" else "difference",
        gap="signed" if gap == "signed" else "absolute",
        protected=as_names(protected),
        overall={str(g): float(w) for g, w in overall.items()} if isinstance(overall, Mapping) else overall,
    )


def check_claim(claim: Claim, attributes: Sequence[Sequence[str]]) -> None:
    """Check that the groups a claim names are groups; `attributes` holds the levels of each attribute."""
    known = [level for levels in attributes for level in levels]
    if isinstance(claim.delta_accuracy, Mapping):
        for name in claim.delta_accuracy:
            if name not in known:
                raise OptionError(f"delta_accuracy names '{name}', which is not a group.", nearest(name, known))
        for level in known:
            if level not in claim.delta_accuracy:
                raise OptionError(
                    f"delta_accuracy has nothing for group '{level}'.", "Give one number, or one for every group."
                )
    for name in claim.protected:
        if name not in known:
            raise OptionError(f"the protected group '{name}' is not a group.", nearest(name, known))
    for levels in attributes:
        several = [name for name in claim.protected if name in levels]
        if len(several) > 1:
            raise OptionError(
                f"'{several[0]}' and '{several[1]}' of one group column are both protected.",
                "Protect one of them, and ask for the other in an audit of its own.",
            )
    if isinstance(claim.overall, Mapping):
        for name in claim.overall:
            if name not in known:
                raise OptionError(f"overall names '{name}', which is not a group.", nearest(name, known))
        if not any(set(claim.overall) == set(levels) for levels in attributes):
            raise OptionError("overall does not weigh every group of one column.", "Give one weight for each group.")


def as_specs(spec: Any) -> list[Any]:
    return list(spec) if isinstance(spec, list | tuple) else [spec]


def as_names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(map(str, names)))


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionError(f"{name} is {value!r}.", nearest(str(value), known))


def check_number(name: str, value: float, low: float, high: float, *, high_included: bool = False) -> None:
    good = isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)
    if not good or not (low < value < high or (high_included and value == high)) or not np.isfinite(value):
        bounds = [f"above {low:g}"] if np.isfinite(low) else []
        if np.isfinite(high):
            bounds.append(f"{'at most' if high_included else 'below'} {high:g}")
        raise OptionError(f"{name} is {value}.", f"It must be a number{' ' if bounds else ''}{' and '.join(bounds)}.")


def check_integer(name: str, value: int, low: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < low:
        raise OptionError(f"{name} is {value}.", f"It must be a whole number, at least {low:,}.")
