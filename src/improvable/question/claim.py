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
    """

    delta_accuracy: float | Mapping[str, float] = 0.0
    delta_fairness: float = 0.0
    form: Form = "ratio"
    gap: Gap = "signed"
    protected: tuple[str, ...] = ()
    overall: Literal["population"] | Mapping[str, float] | None = None

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
                "Protect one of them, and audit the other separately.",
            )
    if isinstance(claim.overall, Mapping):
        for name in claim.overall:
            if name not in known:
                raise OptionError(f"overall names '{name}', which is not a group.", nearest(name, known))
        if not any(set(claim.overall) == set(levels) for levels in attributes):
            raise OptionError("overall does not weigh every group of one column.", "Give one weight for each group.")
