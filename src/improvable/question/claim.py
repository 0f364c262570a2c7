"""The size of improvement to be shown, checked before any row is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from improvable.errors import OptionError, nearest
from improvable.question.checks import as_names, check_choice, check_number
from improvable.question.deltas import (
    Delta,
    GapDelta,
    accuracy_delta,
    delta_in,
    every_delta,
    gap_delta,
    groups_named,
)

Form = Literal["ratio", "difference"]
Gap = Literal["signed", "absolute"]
Overall = Literal["population"] | Mapping[str, float] | None
Ask = Literal["both", "accuracy", "fairness"]


@dataclass(frozen=True)
class Claim:
    """The size of improvement to be shown: the paper's (Delta_r, Delta_b, Delta_f), Definition 2.

    Attributes
    ----------
    delta_accuracy : float or mapping
        How much more accurate: the same for all, one for each group, one for each utility, or for each utility a
        mapping from group to float.
    delta_fairness : float or mapping from utility to float
        By how much the gap must be smaller.
    form : {"ratio", "difference"}
        Ratio: U1 > (1 + delta) U0 and gap1 < (1 - delta) gap0. Difference (the footnote of Definition 2):
        U1 > U0 + delta and gap1 < gap0 - delta.
    gap : {"signed", "absolute"}
        Which fairness statistic decides.
    protected : tuple of str
        Groups in whose favor fairness is one-sided (Remark 2): only their falling short of others is unfair.
    overall : None, "population" or mapping from group to float
        None: every group must be more accurate. Otherwise the whole population must, or a weighted mean of the
        groups' utilities (Remark 1).
    ask : {"both", "accuracy", "fairness"}
        Which of the conditions must hold (Definition 1).
    no_worse : float or None
        The margin of a claim of non-inferiority, declared as such; `delta_accuracy` is then minus this.

    Notes
    -----
    A delta is any finite number, in both forms. What the extremes ask: an accuracy delta of -1 or less, as a share,
    lets accuracy fall to zero or below, which for a utility that is never negative asks for next to nothing; a fairness
    delta of 1 or more, as a share, asks for a gap below zero, which no candidate has, so that p is near 1.
    """

    delta_accuracy: Delta = 0.0
    delta_fairness: GapDelta = 0.0
    form: Form = "ratio"
    gap: Gap = "signed"
    protected: tuple[str, ...] = ()
    overall: Literal["population"] | Mapping[str, float] | None = None
    ask: Ask = "both"
    no_worse: float | None = None

    def asks(self, kind: str) -> bool:
        """Whether conditions of a kind, "accuracy" or "fairness", must hold."""
        return self.ask in ("both", kind)

    def delta_of(self, group: str, utility: str) -> float:
        """How much more accurate a group must be, in a utility."""
        delta = delta_in(self.delta_accuracy, utility)
        return delta[group] if isinstance(delta, Mapping) else delta

    def gap_delta(self, utility: str) -> float:
        """By how much the gap in a utility must be smaller."""
        return self.delta_fairness[utility] if isinstance(self.delta_fairness, Mapping) else self.delta_fairness


def make_claim(
    *,
    delta_accuracy: Delta,
    delta_fairness: GapDelta,
    form: str,
    gap: str,
    protected: str | Sequence[str] | None,
    overall: Overall,
    ask: str = "both",
    no_worse: float | None = None,
    accuracy: Sequence[str] = (),
    fairness: Sequence[str] = (),
) -> Claim:
    """Check the size of improvement asked for; any finite delta is one.

    `accuracy` and `fairness` are the labels of the utilities, which deltas may name.
    """
    check_choice("form", form, get_args(Form))
    check_choice("gap", gap, get_args(Gap))
    check_choice("ask", ask, get_args(Ask))
    delta_accuracy = accuracy_delta(delta_accuracy, accuracy)
    if no_worse is not None:
        delta_accuracy = _margin(no_worse, delta_accuracy, form, ask)
    if isinstance(overall, Mapping):
        for value in overall.values():
            check_number("a weight in overall", value, 0, np.inf)
    elif overall not in (None, "population"):
        raise OptionError(f"`overall` is {overall!r}.", "It is 'population', or one weight for each group.")
    if overall is not None and groups_named(delta_accuracy, accuracy):
        raise OptionError(
            "overall accuracy takes no deltas of groups.",
            "Give `delta_accuracy` as one number, or one for each utility.",
        )
    return Claim(
        delta_accuracy=delta_accuracy,
        delta_fairness=gap_delta(delta_fairness, fairness),
        form="ratio" if form == "ratio" else "difference",
        gap="signed" if gap == "signed" else "absolute",
        protected=as_names(protected),
        overall={str(g): float(w) for g, w in overall.items()} if isinstance(overall, Mapping) else overall,
        ask="both" if ask == "both" else "accuracy" if ask == "accuracy" else "fairness",
        no_worse=None if no_worse is None else float(no_worse),
    )


def _margin(no_worse: float, delta_accuracy: Delta, form: str, ask: str) -> float:
    """The accuracy delta of a margin of non-inferiority; one that contradicts it is refused."""
    check_number("no_worse", no_worse, 0, 1 if form == "ratio" else np.inf)
    if ask == "fairness":
        raise OptionError("`no_worse` is about accuracy, and only fairness is asked for.", "Leave one of them out.")
    if any(delta not in (0, -no_worse) for delta in every_delta(delta_accuracy)):
        raise OptionError(
            f"`no_worse` of {no_worse:g} contradicts `delta_accuracy`.",
            "Give one of them: `no_worse` is minus that delta.",
        )
    return -float(no_worse)


def check_claim(claim: Claim, attributes: Sequence[Sequence[str]], accuracy: Sequence[str] = ()) -> None:
    """Check that the groups a claim names are groups.

    Parameters
    ----------
    claim : Claim
    attributes : sequence of sequences of str
        The levels of each attribute.
    accuracy : sequence of str
        Labels of the accuracy utilities.
    """
    known = [level for levels in attributes for level in levels]
    if isinstance(claim.delta_accuracy, Mapping):
        for name in claim.delta_accuracy:
            if name in accuracy and name in known:
                raise OptionError(
                    f"`delta_accuracy` names '{name}', which is a group and a utility.", "Give the group another name."
                )
    for table in groups_named(claim.delta_accuracy, accuracy):
        for name in table:
            if name not in known:
                raise OptionError(
                    f"`delta_accuracy` names '{name}', which is not a group.", nearest(name, [*known, *accuracy])
                )
        for level in known:
            if level not in table:
                raise OptionError(
                    f"`delta_accuracy` has nothing for group '{level}'.", "Give one number, or one for every group."
                )
    for name in claim.protected:
        if name not in known:
            raise OptionError(f"the protected group '{name}' is not a group.", nearest(name, known))
    for levels in attributes:
        several = [name for name in claim.protected if name in levels]
        if len(several) > 1:
            raise OptionError(
                f"'{several[0]}' and '{several[1]}' of one group column are both protected.",
                "Protect one of them, and audit the other separately.",
            )
    if isinstance(claim.overall, Mapping):
        for name in claim.overall:
            if name not in known:
                raise OptionError(f"`overall` names '{name}', which is not a group.", nearest(name, known))
        if not any(set(claim.overall) == set(levels) for levels in attributes):
            raise OptionError("overall does not weigh every group of one column.", "Give one weight for each group.")
