"""Utilities: pairs (u, w) whose group averages divide to U = E[u | g] / E[w | g], equation (1) of the paper.

A new utility is one entry of `UTILITIES` below, or a `Utility` of the user's own.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from improvable.errors import DataError, OptionError, nearest

Part = Callable[..., ArrayLike]
FloatArray: TypeAlias = NDArray[np.float64]
Selection = Literal["benefit", "burden"]
Side = Literal["lower", "higher"]
OTHER_SIDE: dict[Side, Side] = {"lower": "higher", "higher": "lower"}


class Rows(Protocol):
    """What a utility may ask of rows: the frame as the caller knows it."""

    def native(self) -> Any: ...


@dataclass(frozen=True)
class Measure:
    """What a result remembers of a utility: enough to speak of it, not to compute it.

    Attributes
    ----------
    label, words, outcome : str
    higher_is_better : bool
        Which way accuracy goes.
    worse_off : {"lower", "higher"}
        On which side of other groups a group is worse off, given what being selected means.
    sense : str
        What being on that side means for the group.
    """

    label: str
    words: str
    outcome: str
    higher_is_better: bool = True
    worse_off: Side = "lower"
    sense: str = ""


@dataclass(frozen=True)
class Utility:
    """A pair (u, w) of functions of each row's outcome and decision.

    Parameters
    ----------
    numerator : callable
        u, called as ``u(outcome, decision)`` or ``u(rows, outcome, decision)`` with whole columns;
        `rows` is a data frame of the caller's own kind.
    normalizer : callable, optional
        w, called the same way and never negative. None means w = 1.
    name : str
        How outputs call it.
    words : str
        What it measures, for sentences: "the mean outcome among the selected".
    higher_is_better : bool
        A utility where lower is better can measure fairness, not accuracy.
    averages_outcome : bool
        Whether it is a mean of outcomes, so that ``lower_is_better`` turns it around: in accuracy, and in who is
        worse off.
    worse_off : {"lower", "higher"} or a pair of these, optional
        On which side of other groups a group is worse off: one for selection as a benefit and one for selection as a
        burden, or one for both. By default the side that is less accurate.
    sense : str or pair of str
        What being on that side means for the group, for sentences: "a higher bar for the benefit".
    accuracy_instead : str
        For such a utility, the one to use as accuracy.
    binary_decision, binary_outcome : bool
        Whether decisions or outcomes must be 0/1.
    outcome : str, optional
        Another outcome column than the audit's.
    reads_outcome : bool
        Whether outcomes matter to it at all; outputs name no outcome column otherwise.

    Examples
    --------
    The mean of `cost` among the selected, net of a fee of 100 each:

    >>> net_cost = Utility(lambda y, d: (y - 100) * d, lambda y, d: d, name="net_cost", outcome="cost")
    >>> net_cost.label
    'net_cost:cost'
    """

    numerator: Part
    normalizer: Part | None = None
    name: str = "utility"
    words: str = ""
    higher_is_better: bool = True
    averages_outcome: bool = False
    worse_off: Side | tuple[Side, Side] | None = None
    sense: str | tuple[str, str] = ""
    accuracy_instead: str = ""
    binary_decision: bool = False
    binary_outcome: bool = False
    outcome: str | None = None
    reads_outcome: bool = True

    def __post_init__(self) -> None:
        for part in (self.numerator, self.normalizer):
            if part is not None and _arity(part) not in (2, 3):
                raise OptionError(
                    f"a part of utility '{self.name}' takes {_arity(part)} arguments.",
                    "Write it as a function of (outcome, decision) or of (rows, outcome, decision).",
                )
        sides = self.worse_off if isinstance(self.worse_off, tuple) else (self.worse_off,) * 2
        if len(sides) != 2 or any(side not in (None, *OTHER_SIDE) for side in sides):
            raise OptionError(
                f"worse_off of utility '{self.name}' is {self.worse_off!r}.",
                "It is 'lower' or 'higher', or a pair of them: for selection as a benefit, and as a burden.",
            )

    def on(self, outcome: str) -> "Utility":
        """The same utility, reading another outcome column."""
        return replace(self, outcome=outcome)

    @property
    def reads_rows(self) -> bool:
        """Whether a part is a function of whole rows, and so may read any column."""
        return any(part is not None and _arity(part) == 3 for part in (self.numerator, self.normalizer))

    @property
    def label(self) -> str:
        return self.name if self.outcome is None else f"{self.name}:{self.outcome}"

    def meant(self, selection: Selection, lower_is_better: bool = False) -> "Utility":
        """The same utility where it is known what being selected means, and which outcomes are good.

        Examples
        --------
        >>> UTILITIES["calibration"].meant("benefit").worse_off, UTILITIES["calibration"].meant("burden").worse_off
        ('higher', 'lower')
        """
        case = 0 if selection == "benefit" else 1
        side = self.worse_off[case] if isinstance(self.worse_off, tuple) else self.worse_off
        side = side or ("lower" if self.higher_is_better else "higher")
        turned = lower_is_better and self.averages_outcome
        return replace(
            self,
            higher_is_better=self.higher_is_better != turned,
            worse_off=OTHER_SIDE[side] if turned else side,
            sense=self.sense[case] if isinstance(self.sense, tuple) else self.sense,
        )

    def measure(self, outcome: str) -> Measure:
        """What a result keeps of it; `outcome` is the audit's own outcome column."""
        read = (self.outcome or outcome) if self.reads_outcome else ""
        if not isinstance(self.worse_off, str) or not isinstance(self.sense, str):
            return self.meant("benefit").measure(outcome)
        return Measure(self.label, self.words or self.name, read, self.higher_is_better, self.worse_off, self.sense)

    def parts(self, rows: Rows, outcome: FloatArray, decision: FloatArray) -> tuple[FloatArray, FloatArray]:
        """U and w of every row."""
        if self.binary_outcome and not _is_binary(outcome):
            raise DataError(
                f"utility '{self.label}' needs outcomes of 0 and 1; found {_odd(outcome):g}.",
                _two_values(outcome) or "For other outcomes use 'calibration' (the mean outcome among the selected).",
            )
        u = self._evaluate(self.numerator, rows, outcome, decision)
        w = (
            np.ones(len(outcome))
            if self.normalizer is None
            else self._evaluate(self.normalizer, rows, outcome, decision)
        )
        if (w < 0).any():
            raise DataError(
                f"utility '{self.label}' has a negative normalizer.", "w must be zero or more in every row."
            )
        return u, w

    def _evaluate(self, part: Part, rows: Rows, outcome: FloatArray, decision: FloatArray) -> FloatArray:
        arguments: tuple[Any, ...] = (outcome, decision)
        if _arity(part) == 3:
            arguments = (rows.native(), outcome, decision)
        try:
            values = np.broadcast_to(np.asarray(part(*arguments), dtype=np.float64), outcome.shape)
        except ValueError as error:
            raise DataError(
                f"utility '{self.label}' did not give one number per row.", "Return an array as long as the rows."
            ) from error
        if not np.isfinite(values).all():
            count = int((~np.isfinite(values)).sum())
            raise DataError(f"utility '{self.label}' is missing or infinite in {count:,} rows.", "Check its functions.")
        return values


@cache
def _arity(part: Part) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(part).parameters.values()
    return sum(1 for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty)


def takes_rows(utility: Utility) -> bool:
    """Whether a part of a utility is a function of the rows, which may read any column."""
    return any(part is not None and _arity(part) == 3 for part in (utility.numerator, utility.normalizer))


def _is_binary(values: FloatArray) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _odd(values: FloatArray) -> float:
    return float(values[(values != 0) & (values != 1)][0])


def _two_values(values: FloatArray) -> str:
    """What to do where two values are used, as 1 and 2 are; nothing to say where there are more."""
    distinct = [f"{value:g}" for value in np.unique(values)[:3]]
    if len(distinct) != 2:
        return ""
    low, high = distinct
    return f"Say which of {low} and {high} is 1: positive='{high}' (--positive {high})."


def check_decisions(decision: FloatArray, utilities: Sequence[Utility], whose: str) -> None:
    """Refuse decisions other than 0/1 where a utility needs them."""
    for utility in utilities:
        if utility.binary_decision and not _is_binary(decision):
            raise DataError(
                f"utility '{utility.label}' needs decisions of 0 and 1; the {whose} decides {_odd(decision):g}.",
                _two_values(decision)
                or "A score becomes decisions with threshold(column, capacity=...): as --score in an audit, "
                "as --status-quo-score or --candidate-score in a comparison, each with --capacity.",
            )


A_BAR: dict[str, Any] = {
    "averages_outcome": True,
    "worse_off": ("higher", "lower"),
    "sense": ("a higher bar for the benefit", "a lower bar for the burden"),
}
"""Means of outcomes, of the selected or of the others: the higher they are, the higher is the bar to be selected."""
AT_THE_SAME_OUTCOME = (
    "selected less often for the benefit at the same outcome",
    "selected more often for the burden at the same outcome",
)
CHOSEN: dict[str, Any] = {"worse_off": ("lower", "higher"), "sense": AT_THE_SAME_OUTCOME}
"""Rates of selection: less of a benefit is worse, and more of a burden."""
PASSED_OVER: dict[str, Any] = {"worse_off": ("higher", "lower"), "sense": AT_THE_SAME_OUTCOME}
"""Rates of rejection: the reverse."""

UTILITIES: dict[str, Utility] = {
    utility.name: utility
    for utility in (
        Utility(
            lambda y, d: y == d,
            name="classification_rate",
            words="the rate of correct decisions",
            binary_decision=True,
            binary_outcome=True,
            worse_off="lower",
            sense="more wrong decisions",
        ),
        Utility(
            lambda y, d: y * d,
            lambda y, d: d,
            name="calibration",
            words="the mean outcome among the selected",
            binary_decision=True,
            **A_BAR,
        ),
        Utility(
            lambda y, d: y * (1 - d),
            lambda y, d: 1 - d,
            name="calibration_rejected",
            words="the mean outcome among those not selected",
            higher_is_better=False,
            accuracy_instead="calibration",
            binary_decision=True,
            **A_BAR,
        ),
        Utility(
            lambda y, d: (1 - y) * d,
            lambda y, d: 1 - y,
            name="false_positive_rate",
            words="the rate of selection among outcomes of 0",
            higher_is_better=False,
            accuracy_instead="true_negative_rate",
            binary_decision=True,
            binary_outcome=True,
            **CHOSEN,
        ),
        Utility(
            lambda y, d: y * (1 - d),
            lambda y, d: y,
            name="false_negative_rate",
            words="the rate of rejection among outcomes of 1",
            higher_is_better=False,
            accuracy_instead="true_positive_rate",
            binary_decision=True,
            binary_outcome=True,
            **PASSED_OVER,
        ),
        Utility(
            lambda y, d: y * d,
            lambda y, d: y,
            name="true_positive_rate",
            words="the rate of selection among outcomes of 1",
            binary_decision=True,
            binary_outcome=True,
            **CHOSEN,
        ),
        Utility(
            lambda y, d: (1 - y) * (1 - d),
            lambda y, d: 1 - y,
            name="true_negative_rate",
            words="the rate of rejection among outcomes of 0",
            binary_decision=True,
            binary_outcome=True,
            **PASSED_OVER,
        ),
        Utility(
            lambda y, d: y * d,
            lambda y, d: d,
            name="positive_predictive_value",
            words="the share of outcomes of 1 among the selected",
            binary_decision=True,
            binary_outcome=True,
            **A_BAR,
        ),
        Utility(
            lambda y, d: d,
            name="selection_rate",
            words="the rate of selection",
            binary_decision=True,
            reads_outcome=False,
            worse_off=("lower", "higher"),
            sense=("selected less often for the benefit", "selected more often for the burden"),
        ),
        Utility(
            lambda y, d: d * (y >= d),
            name="profit",
            words="the mean profit",
            worse_off="higher",
            sense="it pays more",
        ),
    )
}


def as_utility(spec: str | Utility) -> Utility:
    """A utility from its name, ``name:outcome_column``, or itself.

    Examples
    --------
    >>> as_utility("calibration:cost").outcome
    'cost'
    """
    if isinstance(spec, Utility):
        return spec
    if not isinstance(spec, str):
        raise OptionError(f"a utility is a name or a Utility, not a {type(spec).__name__}.", nearest("", UTILITIES))
    name, _, outcome = spec.partition(":")
    if name not in UTILITIES:
        raise OptionError(f"there is no utility '{name}'.", nearest(name, UTILITIES))
    return UTILITIES[name].on(outcome) if outcome else UTILITIES[name]


def averages_over_selected(utilities: Sequence[Utility]) -> bool:
    """Whether some utility is a mean over the selected, which the share selected moves by itself.

    Examples
    --------
    >>> averages_over_selected([as_utility("calibration")]), averages_over_selected([as_utility("true_positive_rate")])
    (True, False)
    """
    nobody, everybody, outcomes = np.zeros(2), np.ones(2), np.array([0.0, 1.0])
    parts = [utility.normalizer for utility in utilities if utility.normalizer is not None]
    known = [part for part in parts if _arity(part) == 2]
    return any(
        not np.asarray(part(outcomes, nobody)).any() and np.asarray(part(outcomes, everybody)).all() for part in known
    )


def as_accuracy(spec: str | Utility, lower_is_better: bool = False) -> Utility:
    """A utility that can stand for accuracy: higher must be better, or it averages outcomes of which lower is."""
    utility = as_utility(spec)
    if lower_is_better and utility.reads_outcome:
        if utility.averages_outcome:
            return utility
        raise OptionError(
            f"lower_is_better does not turn '{utility.label}' around, which is not a mean of outcomes.",
            "Recode the outcome so that 1, or more, is what should be selected; or use 'calibration'.",
        )
    if not utility.higher_is_better:
        instead = (
            f"Use '{utility.accuracy_instead}'." if utility.accuracy_instead else "Use one where higher is better."
        )
        raise OptionError(f"'{utility.label}' cannot measure accuracy, because lower is better.", instead)
    return utility
