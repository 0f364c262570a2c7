"""Utilities: pairs (u, w) whose group averages divide to U = E[u | g] / E[w | g],
equation (1) of the paper.

More generally (Section 3.2, where u may depend on theta = E[h]), a smooth function of
several such averages.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from improvable.errors import DataError, OptionError
from improvable.question.formula import FUNCTIONS, Formula

Part = Callable[..., ArrayLike]
FloatArray: TypeAlias = NDArray[np.float64]
Selection = Literal["benefit", "burden"]
Side = Literal["lower", "higher"]
# how a gap between two groups is measured: F_g - F_h, or 1 - F_h / F_g
Between = Literal["difference", "ratio"]
OTHER_SIDE: dict[Side, Side] = {"lower": "higher", "higher": "lower"}


class Rows(Protocol):
    """What a utility may ask of rows: the frame as the caller knows it."""

    def native(self) -> Any: ...


@dataclass(frozen=True)
class Measure:
    """What a result remembers of a utility: enough to speak of it, not to compute
    it.
    """

    label: str
    words: str
    outcome: str
    higher_is_better: bool = True  # which way accuracy goes
    # on which side of others a group is worse off, given what being selected means
    worse_off: Side = "lower"
    sense: str = ""  # what being on that side means for the group
    between: Between = "difference"  # how its gap between two groups is measured
    formula: str = ""  # for a function of several averages, which function
    # the averages it reads, and where each stands among the measures
    reads: tuple[tuple[str, int], ...] = ()
    # of a mean of outcomes: the lowest and the highest possible, if known
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        # JSON has lists for tuples.
        object.__setattr__(
            self, "reads", tuple((str(name), int(place)) for name, place in self.reads)
        )
        if self.bounds is not None:
            object.__setattr__(self, "bounds", tuple(map(float, self.bounds)))


@dataclass(frozen=True)
class Utility:
    """A pair (u, w) of functions of each row's outcome and decision; or a formula of
    several averages.

    Parameters
    ----------
    numerator : callable, optional
        u, called as ``u(outcome, decision)`` or ``u(rows, outcome, decision)`` with
        whole columns; `rows` is a data frame of the caller's own kind.
    normalizer : callable, optional
        w, called the same way and never negative. None means w = 1.
    name : str
        How outputs call it.
    words : str
        What it measures, for sentences: "the mean outcome among the selected".
    short : str
        The same for tables and pictures, where that is shorter.
    higher_is_better : bool
        A utility where lower is better can measure fairness, not accuracy.
    averages_outcome : bool
        Whether it is a mean of outcomes, so that ``lower_is_better`` turns it around:
        in accuracy, and in who is worse off.
    worse_off : {"lower", "higher"} or a pair of these, optional
        On which side of other groups a group is worse off: one for selection as a
        benefit and one for selection as a burden, or one for both. By default the side
        that is less accurate.
    sense : str or pair of str
        What being on that side means for the group, for sentences: "a higher bar for
        the benefit".
    accuracy_instead : str
        For such a utility, the one to use as accuracy.
    binary_decision, binary_outcome : bool
        Whether decisions or outcomes must be 0/1.
    outcome : str, optional
        Another outcome column than the audit's.
    reads_outcome : bool
        Whether outcomes matter to it at all; outputs name no outcome column otherwise.
    between : {"difference", "ratio"}
        How its gap between two groups is measured: F_g - F_h, or 1 - F_h / F_g, the
        share by which the lower falls short of the higher.
    formula : str
        Instead of u and w: a function of the averages in `means`, in writing (Section
        3.2).
    means : mapping from str to callable or Utility
        What the formula reads. A function, called as u is, stands for its mean in the
        group; a utility of a pair (u, w), for its own value. One function's mean over
        another's is taken as a pair (u, w), whose w is never negative.

    Examples
    --------
    The mean of `cost` among the selected, net of a fee of 100 each:

    >>> net_cost = Utility(
    ...     lambda y, d: (y - 100) * d, lambda y, d: d, name="net_cost", outcome="cost"
    ... )
    >>> net_cost.label
    'net_cost:cost'

    The share of the selected with the outcome, over the share of everyone with it:

    >>> lift = Utility(
    ...     formula="hits / (selected * positives)",
    ...     means={
    ...         "hits": lambda y, d: y * d,
    ...         "selected": lambda y, d: d,
    ...         "positives": lambda y, d: y,
    ...     },
    ...     name="lift",
    ... )
    >>> [part.name for part in lift.ingredients]
    ['lift.hits', 'lift.selected', 'lift.positives']
    """

    numerator: Part | None = None
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
    between: Between = "difference"
    formula: str = ""
    means: "Mapping[str, Part | Utility] | tuple[tuple[str, Utility], ...]" = ()
    short: str = ""

    def __post_init__(self) -> None:
        if self.formula:
            self._read_formula()
        elif self.numerator is None or self.means:
            means = ", and means but no formula" if self.means else ""
            raise OptionError(
                f"utility '{self.name}' has no numerator{means}.",
                "Give u (and w), or a formula with its means.",
            )
        for part in (self.numerator, self.normalizer):
            if part is not None and _arity(part) not in (2, 3):
                raise OptionError(
                    f"a part of utility '{self.name}' takes {_arity(part)} arguments.",
                    (
                        "Write it as a function of (outcome, decision) or of (rows, "
                        "outcome, decision)."
                    ),
                )
        sides = (
            self.worse_off
            if isinstance(self.worse_off, tuple)
            else (self.worse_off,) * 2
        )
        if len(sides) != 2 or any(side not in (None, *OTHER_SIDE) for side in sides):
            raise OptionError(
                f"worse_off of utility '{self.name}' is {self.worse_off!r}.",
                (
                    "It is 'lower' or 'higher', or a pair of them: for selection as a "
                    "benefit, and as a burden."
                ),
            )
        if self.between not in ("difference", "ratio"):
            wrong = f"between of utility '{self.name}' is {self.between!r}."
            raise OptionError(wrong, "It is 'difference' or 'ratio'.")

    def _read_formula(self) -> None:
        """Check a formula and its means, which become utilities here."""
        mine = f"utility '{self.name}'"
        if self.numerator is not None or self.normalizer is not None:
            raise OptionError(
                f"{mine} has a formula and a numerator.", "Give one of them."
            )
        named = self.means.items() if isinstance(self.means, Mapping) else self.means
        parts = {
            name: part if isinstance(part, Utility) else Utility(part)
            for name, part in named
        }
        for name, part in parts.items():
            if not name.isidentifier() or name in FUNCTIONS:
                raise OptionError(
                    f"a mean of {mine} is called '{name}'.", "Use a plain word."
                )
            if part.formula:
                raise OptionError(
                    f"the mean '{name}' of {mine} is a formula itself.",
                    "Write both as one formula.",
                )
        formula = Formula(self.formula)
        for name in formula.names:
            if name not in parts:
                unknown = (
                    f"the formula of {mine} reads '{name}', which is not among its "
                    "means."
                )
                raise OptionError(unknown, f"They are {', '.join(parts) or 'none'}.")
        for name in parts:
            if name not in formula.names:
                raise OptionError(
                    f"the formula of {mine} does not read '{name}'.", "Leave it out."
                )
        object.__setattr__(self, "means", tuple(parts.items()))
        if formula.quotient and not any(
            parts[name].normalizer or parts[name].outcome for name in formula.quotient
        ):
            # A quotient of two plain means is the pair (u, w) of what they average, and
            # is treated as one.
            above, below = (parts[name].numerator for name in formula.quotient)
            for field, value in (
                ("numerator", above),
                ("normalizer", below),
                ("formula", ""),
                ("means", ()),
            ):
                object.__setattr__(self, field, value)

    @property
    def ingredients(self) -> "tuple[Utility, ...]":
        """The pairs (u, w) whose sums it is computed from: itself, or the means of its
        formula.
        """
        if not self.formula:
            return (self,)
        assert isinstance(self.means, tuple)
        return tuple(
            replace(
                part,
                name=f"{self.name}.{name}",
                outcome=part.outcome or self.outcome,
                binary_decision=self.binary_decision or part.binary_decision,
                binary_outcome=self.binary_outcome or part.binary_outcome,
            )
            for name, part in self.means
        )

    def on(self, outcome: str) -> "Utility":
        """The same utility, reading another outcome column."""
        return replace(self, outcome=outcome)

    @property
    def reads_rows(self) -> bool:
        """Whether a part is a function of whole rows, and so may read any column."""
        parts = [
            part for one in self.ingredients for part in (one.numerator, one.normalizer)
        ]
        return any(part is not None and _arity(part) == 3 for part in parts)

    @property
    def label(self) -> str:
        return self.name if self.outcome is None else f"{self.name}:{self.outcome}"

    def meant(self, selection: Selection, lower_is_better: bool = False) -> "Utility":
        """The same utility where it is known what being selected means, and which
        outcomes are good.

        >>> bar = Utility(
        ...     lambda y, d: y * d, lambda y, d: d, worse_off=("higher", "lower")
        ... )
        >>> bar.meant("benefit").worse_off, bar.meant("burden").worse_off
        ('higher', 'lower')
        """
        case = 0 if selection == "benefit" else 1
        side = (
            self.worse_off[case]
            if isinstance(self.worse_off, tuple)
            else self.worse_off
        )
        side = side or ("lower" if self.higher_is_better else "higher")
        turned = lower_is_better and self.averages_outcome
        return replace(
            self,
            higher_is_better=self.higher_is_better != turned,
            worse_off=OTHER_SIDE[side] if turned else side,
            sense=self.sense[case] if isinstance(self.sense, tuple) else self.sense,
        )

    def measure(self, outcome: str, places: Sequence[int] = ()) -> Measure:
        """What a result keeps of it, given the audit's own outcome column and where a
        formula's ingredients stand.
        """
        if not isinstance(self.worse_off, str) or not isinstance(self.sense, str):
            return self.meant("benefit").measure(outcome, places)
        assert isinstance(self.means, tuple)
        same = ("label", "higher_is_better", "worse_off", "sense", "between", "formula")
        return Measure(
            words=self.words or self.name,
            outcome=(self.outcome or outcome) if self.reads_outcome else "",
            reads=tuple(
                (one[0], place) for one, place in zip(self.means, places, strict=False)
            ),
            **{name: getattr(self, name) for name in same},
        )

    def parts(
        self, rows: Rows, outcome: FloatArray, decision: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The u and w of every row; a formula has none, its ingredients have."""
        assert self.numerator is not None
        if self.binary_outcome:
            message = f"utility '{self.label}' needs outcomes of 0 and 1; found"
            hint = (
                "For other outcomes use 'calibration' (the mean outcome among the "
                "selected)."
            )
            _check_binary(outcome, message, hint)
        u = self._evaluate(self.numerator, rows, outcome, decision)
        if self.normalizer is None:
            return u, np.ones(len(outcome))
        w = self._evaluate(self.normalizer, rows, outcome, decision)
        if (w < 0).any():
            negative = f"utility '{self.label}' has a negative normalizer."
            raise DataError(negative, "w must be zero or more in every row.")
        return u, w

    def _evaluate(
        self, part: Part, rows: Rows, outcome: FloatArray, decision: FloatArray
    ) -> FloatArray:
        arguments = (
            (rows.native(), outcome, decision)
            if _arity(part) == 3
            else (outcome, decision)
        )
        try:
            values = np.broadcast_to(
                np.asarray(part(*arguments), dtype=np.float64), outcome.shape
            )
        except ValueError as error:
            wrong = f"utility '{self.label}' did not give one number per row."
            raise DataError(wrong, "Return an array as long as the rows.") from error
        if count := int((~np.isfinite(values)).sum()):
            raise DataError(
                f"utility '{self.label}' is missing or infinite in {count:,} rows.",
                "Check its functions.",
            )
        return values


@cache
def _arity(part: Part) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(part).parameters.values()
    return sum(
        1
        for p in parameters
        if p.kind in kinds and p.default is inspect.Parameter.empty
    )


def _check_binary(values: FloatArray, message: str, hint: str) -> None:
    """Refuse values other than 0 and 1; of two others, as 1 and 2 are, say how to tell
    which is meant.
    """
    odd = values[(values != 0) & (values != 1)]
    if len(odd):
        distinct = [f"{value:g}" for value in np.unique(values)[:3]]
        if len(distinct) == 2:
            low, high = distinct
            hint = (
                f"Say which of {low} and {high} is meant, such as `positive={high!r}`."
            )
        raise DataError(f"{message} {odd[0]:g}.", hint)


def check_decisions(
    decision: FloatArray, utilities: Sequence[Utility], whose: str
) -> None:
    """Refuse decisions other than 0/1 where a utility needs them."""
    for utility in utilities:
        if utility.binary_decision:
            message = (
                f"utility '{utility.label}' needs decisions of 0 and 1; the {whose} "
                "decides"
            )
            hint = (
                "If it is a score, give it as a score with the share of rows to "
                "select, `capacity=0.03`."
            )
            _check_binary(decision, message, hint)


def averages_over_selected(utilities: Sequence[Utility]) -> bool:
    """Whether some utility is a mean over the selected, which the share selected moves
    by itself.
    """
    nobody, everybody, outcomes = np.zeros(2), np.ones(2), np.array([0.0, 1.0])
    parts = [
        utility.normalizer for utility in utilities if utility.normalizer is not None
    ]
    return any(
        not np.asarray(part(outcomes, nobody)).any()
        and np.asarray(part(outcomes, everybody)).all()
        for part in parts
        if _arity(part) == 2
    )
