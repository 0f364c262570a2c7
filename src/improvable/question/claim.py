"""The size of improvement to be shown, checked before any row is read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from improvable.errors import OptionError, nearest
from improvable.question.options import (
    DELTA,
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
Delta: TypeAlias = float | Mapping[str, float]  # one for all groups, or one for each
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
    delta_accuracy : float or mapping from group to float
        How much more accurate: the same for all, or one for each group. A negative
        number is a margin of non-inferiority: no worse by more than that.
    delta_fairness : float
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
            "How much more accurate: 0.05, or by group (white:0.02,black:0); -0.01 is "
            "no worse by more than 1%."
        ),
        0.0,
        kind=DELTA,
    )
    delta_fairness: float = of_claim(
        "By how much the gap must be smaller: 0.1 is a tenth.", 0.0
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

    def delta_of(self, group: str) -> float:
        """How much more accurate a group must be."""
        if not isinstance(self.delta_accuracy, Mapping):
            return self.delta_accuracy
        if group in self.delta_accuracy:
            return self.delta_accuracy[group]
        return self.delta_accuracy[plain_group(group)]

    @property
    def margin(self) -> float:
        """The largest loss of accuracy that is allowed; negative where a gain is
        asked for.
        """
        return -min(every_delta(self.delta_accuracy), default=0.0)

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


def every_delta(delta: Delta) -> list[float]:
    return [*delta.values()] if isinstance(delta, Mapping) else [delta]


def make_claim(**asked: Any) -> Claim:
    """Check a claim, from its fields."""
    claim = Claim(**asked)
    for name, known in (
        ("form", Form),
        ("gap", Gap),
        ("ask", Ask),
        ("selection", Selection),
    ):
        check_choice(name, getattr(claim, name), get_args(known))
    delta = check_delta(claim.delta_accuracy)
    check_number("delta_fairness", claim.delta_fairness, -np.inf, np.inf)
    overall = claim.overall
    if isinstance(overall, Mapping):
        for weight in overall.values():
            check_number("a weight in overall", weight, 0, np.inf)
        overall = {str(group): float(weight) for group, weight in overall.items()}
    elif overall not in (None, "population"):
        raise OptionError(
            f"`overall` is {overall!r}.",
            "It is 'population', or one weight for each group.",
        )
    if overall is not None and isinstance(delta, Mapping):
        raise OptionError(
            "overall accuracy takes no deltas of groups.",
            "Give `delta_accuracy` as one number.",
        )
    return replace(
        claim,
        delta_accuracy=delta,
        delta_fairness=float(claim.delta_fairness),
        overall=overall,
        lower_is_better=bool(claim.lower_is_better),
    )


def check_delta(delta: Delta) -> Delta:
    """Check an accuracy delta: a number, or one for each group."""
    for number in every_delta(delta):
        check_number("delta_accuracy", number, -np.inf, np.inf)
    if isinstance(delta, Mapping):
        return {str(group): float(number) for group, number in delta.items()}
    return float(delta)


def check_claim(claim: Claim, attributes: Sequence[Sequence[str]]) -> None:
    """Check that the groups a claim names are groups; `attributes` are the levels of
    each.
    """
    known = [level for levels in attributes for level in levels]

    def check_groups(names: Iterable[str], subject: str) -> None:
        for name in names:
            if name not in known:
                raise OptionError(
                    f"{subject.format(name)} is not a group.", nearest(name, known)
                )

    if isinstance(claim.delta_accuracy, Mapping):
        check_groups(claim.delta_accuracy, "`delta_accuracy` names '{}', which")
        for group in known:
            if group not in claim.delta_accuracy:
                raise OptionError(
                    f"`delta_accuracy` has nothing for group '{group}'.",
                    "Give one number, or one for every group.",
                )
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
