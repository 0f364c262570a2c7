"""The size of improvement to be shown, checked before any row is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from improvable.errors import OptionError, nearest
from improvable.question.checks import as_names, check_choice, check_number

Form = Literal["ratio", "difference"]
Gap = Literal["signed", "absolute"]
Delta = float | Mapping[str, float]
Overall = Literal["population"] | Mapping[str, float] | None
Ask = Literal["both", "accuracy", "fairness"]


@dataclass(frozen=True)
class Claim:
    """The size of improvement to be shown: the paper's (Delta_r, Delta_b, Delta_f), Definition 2.

    Attributes
    ----------
    delta_accuracy : float or mapping from group to float
        How much more accurate, the same for all or one for each group.
    delta_fairness : float
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

    delta_accuracy: float | Mapping[str, float] = 0.0
    delta_fairness: float = 0.0
    form: Form = "ratio"
    gap: Gap = "signed"
    protected: tuple[str, ...] = ()
    overall: Literal["population"] | Mapping[str, float] | None = None
    ask: Ask = "both"
    no_worse: float | None = None

    def asks(self, kind: str) -> bool:
        """Whether conditions of a kind, "accuracy" or "fairness", must hold."""
        return self.ask in ("both", kind)

    def delta_of(self, group: str) -> float:
        return self.delta_accuracy[group] if isinstance(self.delta_accuracy, Mapping) else self.delta_accuracy


def make_claim(
    *,
    delta_accuracy: Delta,
    delta_fairness: float,
    form: str,
    gap: str,
    protected: str | Sequence[str] | None,
    overall: Overall,
    ask: str = "both",
    no_worse: float | None = None,
) -> Claim:
    """Check the size of improvement asked for; any finite delta is one."""
    check_choice("form", form, get_args(Form))
    check_choice("gap", gap, get_args(Gap))
    check_choice("ask", ask, get_args(Ask))
    if no_worse is not None:
        delta_accuracy = _margin(no_worse, delta_accuracy, form, ask)
    deltas = list(delta_accuracy.values()) if isinstance(delta_accuracy, Mapping) else [delta_accuracy]
    for delta in deltas:
        check_number("delta_accuracy", delta, -np.inf, np.inf)
    check_number("delta_fairness", delta_fairness, -np.inf, np.inf)
    if isinstance(overall, Mapping):
        for value in overall.values():
            check_number("a weight in overall", value, 0, np.inf)
    elif overall not in (None, "population"):
        raise OptionError(f"overall is {overall!r}.", "It is 'population', or one weight for each group.")
    if overall is not None and isinstance(delta_accuracy, Mapping):
        raise OptionError("overall accuracy takes one delta.", "Give delta_accuracy as one number.")
    return Claim(
        delta_accuracy={str(g): float(d) for g, d in delta_accuracy.items()}
        if isinstance(delta_accuracy, Mapping)
        else float(delta_accuracy),
        delta_fairness=float(delta_fairness),
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
        raise OptionError("no_worse is about accuracy, and only fairness is asked for.", "Leave one of them out.")
    given = list(delta_accuracy.values()) if isinstance(delta_accuracy, Mapping) else [delta_accuracy]
    if any(delta not in (0, -no_worse) for delta in given):
        raise OptionError(
            f"no_worse of {no_worse:g} contradicts delta_accuracy.", "Give one of them: no_worse is minus that delta."
        )
    return -float(no_worse)


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
                "Protect one of them, and audit the other separately.",
            )
    if isinstance(claim.overall, Mapping):
        for name in claim.overall:
            if name not in known:
                raise OptionError(f"overall names '{name}', which is not a group.", nearest(name, known))
        if not any(set(claim.overall) == set(levels) for levels in attributes):
            raise OptionError("overall does not weigh every group of one column.", "Give one weight for each group.")
