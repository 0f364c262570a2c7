"""The size of improvement to be shown, checked before any row is read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from improvable.errors import OptionError, nearest
from improvable.question.options import (
    DELTA,
    GAP_DELTA,
    WEIGHTS,
    as_names,
    check_choice,
    check_number,
    of_claim,
)
from improvable.question.utility import Selection

Form = Literal["ratio", "difference"]
Gap = Literal["signed", "absolute"]
Overall = Literal["population"] | Mapping[str, float] | None
Ask = Literal["both", "accuracy", "fairness"]
# Of accuracy: one for all, or a table whose keys are groups or utilities; those of an
# inner table are groups.
Delta: TypeAlias = float | Mapping[str, float | Mapping[str, float]]
# one for all, or a table whose keys are utilities
GapDelta: TypeAlias = float | Mapping[str, float]
# two estimates of a group that is known by probability
WEIGHTED, LINEAR = "weighted", "linear"
# Fields of a claim that say what the data mean: a result keeps them beside the claim,
# and they need the data.
MEANINGS = ("selection", "lower_is_better")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The size of improvement to be shown: the paper's (Delta_r, Delta_b, Delta_f),
    Definition 2.

    Attributes
    ----------
    selection : {"benefit", "burden"}
        What being selected means. It says which group is worse off: a higher mean need
        among the selected is a higher bar for a benefit.
    lower_is_better : bool
        Whether a lower amount is better, as of costs or days. It turns around every
        utility that averages the outcome, and rules select the lowest predictions. An
        outcome of two values is turned by `Read.positive`.
    ask : {"both", "accuracy", "fairness"}
        Which of the conditions must hold (Definition 1).
    delta_accuracy : float or mapping
        How much more accurate: the same for all, one for each group, one for each
        utility, or for each utility a mapping from group to float. A negative number is
        a margin of non-inferiority: no worse by more than that.
    delta_fairness : float or mapping from utility to float
        By how much the gap must be smaller.
    form : {"ratio", "difference"}
        Ratio: U1 > (1 + delta) U0 and gap1 < (1 - delta) gap0. Difference (the footnote
        of Definition 2): U1 > U0 + delta and gap1 < gap0 - delta.
    gap : {"signed", "absolute"}
        Which fairness statistic decides: the one without a kink, or the paper's. Both
        are reported.
    protected : sequence of str
        Groups in whose favor fairness is one-sided (Remark 2), at most one of a group
        column: only their being worse off than others is unfair.
    overall : None, "population" or mapping from group to float
        None: every group must be more accurate. Otherwise the whole population must, or
        a weighted mean of the groups' utilities (Remark 1).

    Notes
    -----
    A delta is any finite number, in both forms. What the extremes ask: an accuracy
    delta of -1 or less, as a share, lets accuracy fall to zero or below, which for a
    utility that is never negative asks for next to nothing; a fairness delta of 1 or
    more, as a share, asks for a gap below zero, which no candidate has, so that p is
    near 1.

    Examples
    --------
    >>> Claim(delta_accuracy=0.05, protected="black").protected
    ('black',)
    """

    selection: Selection = of_claim(
        "What being selected means: it says which group is worse off.", "benefit"
    )
    lower_is_better: bool = of_claim(
        "A lower amount is better: costs, days. Of two values, name one as positive.",
        False,
    )
    ask: Ask = of_claim("What must improve: accuracy, fairness, or both.", "both")
    delta_accuracy: Delta = of_claim(
        (
            "How much more accurate: 0.05, or by group (white:0.02,black:0) or "
            "utility; -0.01 is no worse by more than 1%."
        ),
        0.0,
        kind=DELTA,
    )
    delta_fairness: GapDelta = of_claim(
        "By how much the gap must be smaller: 0.1 is a tenth; or by utility.",
        0.0,
        kind=GAP_DELTA,
    )
    form: Form = of_claim("Deltas are shares (ratio) or amounts (difference).", "ratio")
    gap: Gap = of_claim(
        "Fairness statistic that decides: signed, or the paper's absolute.", "signed"
    )
    protected: Sequence[str] = of_claim(
        "The gap counts only where this group is worse off.", ()
    )
    overall: Overall = of_claim(
        "Accuracy of everyone, not of each group: population, or white:0.5,black:0.5.",
        None,
        kind=WEIGHTS,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "protected", as_names(self.protected))

    def asks(self, kind: str) -> bool:
        return self.ask in ("both", kind)

    def delta_of(self, group: str, utility: str) -> float:
        """How much more accurate a group must be, in a utility."""
        delta = delta_in(self.delta_accuracy, utility)
        return (
            delta[group if group in delta else plain_group(group)]
            if isinstance(delta, Mapping)
            else delta
        )

    def gap_delta(self, utility: str) -> float:
        return (
            self.delta_fairness[utility]
            if isinstance(self.delta_fairness, Mapping)
            else self.delta_fairness
        )

    def to_dict(self) -> dict[str, Any]:
        """The sizes that are asked for, as plain data; `MEANINGS` are not among
        them.
        """
        return {
            name: value for name, value in asdict(self).items() if name not in MEANINGS
        }


def estimate_of(group: str, estimator: str) -> str:
    """What outputs call a group, known by probability, of which there are several
    estimates.
    """
    return f"{group} ({estimator})"


def plain_group(name: str) -> str:
    """The group that an estimate is of.

    >>> plain_group(estimate_of("black", LINEAR)), plain_group("black")
    ('black', 'black')
    """
    return name.removesuffix(f" ({WEIGHTED})").removesuffix(f" ({LINEAR})")


def delta_in(delta: Delta, utility: str) -> float | Mapping[str, float]:
    """What a delta asks in one utility: of all groups, or of each."""
    if not isinstance(delta, Mapping):
        return delta
    if utility in delta:
        return delta[utility]
    return {
        group: value for group, value in delta.items() if not isinstance(value, Mapping)
    }


def every_delta(delta: Delta | GapDelta) -> Iterator[float]:
    if not isinstance(delta, Mapping):
        yield delta
        return
    for value in delta.values():
        yield from every_delta(value)


def turned(
    delta: Delta, change: Callable[[str, float], float], utilities: Sequence[str]
) -> Delta:
    """The same deltas after `change(utility, number)`, each of a utility of its own."""

    def of(
        utility: str, value: float | Mapping[str, float]
    ) -> float | Mapping[str, float]:
        if isinstance(value, Mapping):
            return {group: change(utility, one) for group, one in value.items()}
        return change(utility, value)

    return {utility: of(utility, delta_in(delta, utility)) for utility in utilities}


def make_claim(
    *, accuracy: Sequence[str] = (), fairness: Sequence[str] = (), **asked: Any
) -> Claim:
    """Check a claim, from its fields; `accuracy` and `fairness` are the labels of
    utilities that deltas may name.
    """
    claim = Claim(**asked)
    for name, known in (
        ("form", Form),
        ("gap", Gap),
        ("ask", Ask),
        ("selection", Selection),
    ):
        check_choice(name, getattr(claim, name), get_args(known))
    delta = accuracy_delta(claim.delta_accuracy, accuracy)
    overall = claim.overall
    if isinstance(claim.delta_fairness, Mapping):
        _check_names(
            "delta_fairness", claim.delta_fairness, fairness, "fairness", complete=True
        )
    if isinstance(overall, Mapping):
        for weight in overall.values():
            check_number("a weight in overall", weight, 0, np.inf)
        overall = {str(group): float(weight) for group, weight in overall.items()}
    elif overall not in (None, "population"):
        raise OptionError(
            f"`overall` is {overall!r}.",
            "It is 'population', or one weight for each group.",
        )
    if overall is not None and _by_group(delta, accuracy):
        hint = "Give `delta_accuracy` as one number, or one for each utility."
        raise OptionError("overall accuracy takes no deltas of groups.", hint)
    return replace(
        claim,
        delta_accuracy=delta,
        delta_fairness=cast(GapDelta, _numbers("delta_fairness", claim.delta_fairness)),
        overall=overall,
        lower_is_better=bool(claim.lower_is_better),
    )


def accuracy_delta(delta: Delta, utilities: Sequence[str]) -> Delta:
    """Check an accuracy delta, whose keys are all groups or all utilities, and bring it
    into one of its four forms.
    """
    if isinstance(delta, Mapping):
        inner = [key for key, value in delta.items() if isinstance(value, Mapping)]
        _check_names("delta_accuracy", inner, utilities, "accuracy")
        if any(str(key) in utilities for key in delta):
            _check_names("delta_accuracy", delta, utilities, "accuracy", complete=True)
    return cast(Delta, _numbers("delta_accuracy", delta))


def _numbers(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _numbers(name, one) for key, one in value.items()}
    check_number(name, value, -np.inf, np.inf)
    return float(value)


def _by_group(delta: Delta, utilities: Sequence[str]) -> list[Mapping[str, float]]:
    """The tables of a delta whose keys are groups."""
    tables = [delta_in(delta, utility) for utility in utilities or [""]]
    return [table for table in tables if isinstance(table, Mapping)]


def _check_names(
    setting: str,
    given: Iterable[Any],
    utilities: Sequence[str],
    kind: str,
    complete: bool = False,
) -> None:
    """Refuse names that are not utilities and, where they must be complete, fewer than
    all of them.
    """
    names = [*map(str, given)]
    for name in names:
        if name not in utilities:
            raise OptionError(
                f"`{setting}` names '{name}', which does not measure {kind}.",
                nearest(name, utilities),
            )
    if complete:
        _check_complete(setting, names, utilities, "the utility", "utility")


def _check_complete(
    setting: str, given: Iterable[str], needed: Iterable[str], what: str, each: str
) -> None:
    for name in needed:
        if name not in given:
            missing = f"`{setting}` has nothing for {what} '{name}'."
            raise OptionError(missing, f"Give one number, or one for every {each}.")


def check_claim(
    claim: Claim, attributes: Sequence[Sequence[str]], accuracy: Sequence[str] = ()
) -> None:
    """Check that the groups a claim names are groups; `attributes` are the levels of
    each, `accuracy` the utilities.
    """
    known = [level for levels in attributes for level in levels]

    def check_groups(
        names: Iterable[str], subject: str, others: Sequence[str] = ()
    ) -> None:
        for name in names:
            if name not in known:
                raise OptionError(
                    f"{subject.format(name)} is not a group.",
                    nearest(name, [*known, *others]),
                )

    for name in (
        claim.delta_accuracy if isinstance(claim.delta_accuracy, Mapping) else ()
    ):
        if name in accuracy and name in known:
            twice = f"`delta_accuracy` names '{name}', which is a group and a utility."
            raise OptionError(twice, "Give the group another name.")
    for table in _by_group(claim.delta_accuracy, accuracy):
        check_groups(table, "`delta_accuracy` names '{}', which", accuracy)
        _check_complete("delta_accuracy", table, known, "group", "group")
    check_groups(claim.protected, "the protected group '{}'")
    for levels in attributes:
        several = [name for name in claim.protected if name in levels]
        if len(several) > 1:
            both = (
                f"'{several[0]}' and '{several[1]}' of one group column are both "
                "protected."
            )
            raise OptionError(
                both, "Protect one of them, and audit the other separately."
            )
    if isinstance(claim.overall, Mapping):
        check_groups(claim.overall, "`overall` names '{}', which")
        if not any(set(claim.overall) == set(levels) for levels in attributes):
            raise OptionError(
                "overall does not weigh every group of one column.",
                "Give one weight for each group.",
            )
