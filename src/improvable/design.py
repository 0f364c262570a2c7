"""What was asked: the question of a comparison or an audit, checked once, and the sample it is asked of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import narwhals as nw
import numpy as np

from improvable.algorithms import Algorithm, Threshold, columns_read
from improvable.arrays import FloatArray, IntArray
from improvable.data import Grouping, Rows, keep_complete, read_groups
from improvable.errors import OptionError, nearest
from improvable.inference.criteria import Claim, Form, Gap
from improvable.utilities import Utility, as_accuracy, as_utility

Delta = float | Mapping[str, float]
FEWEST_DRAWS = 100


@dataclass(frozen=True)
class Design:
    """The question: which columns, which utilities, how large an improvement, at what level."""

    outcome: str
    group: str
    accuracy: Utility
    fairness: Utility
    delta_accuracy: Delta
    delta_fairness: float
    form: Form
    gap: Gap
    draws: int
    alpha: float
    seed: int

    @property
    def utilities(self) -> list[Utility]:
        """The distinct utilities, accuracy first."""
        return [self.accuracy] if self.fairness == self.accuracy else [self.accuracy, self.fairness]

    @property
    def outcome_columns(self) -> list[str]:
        named = [utility.outcome or self.outcome for utility in self.utilities]
        return list(dict.fromkeys([self.outcome, *named]))

    def claim(self, groups: Sequence[str]) -> Claim:
        """The claim for these groups: one accuracy delta each."""
        if isinstance(self.delta_accuracy, Mapping):
            for name in self.delta_accuracy:
                if name not in groups:
                    raise OptionError(f"delta_accuracy names '{name}', which is not a group.", nearest(name, groups))
            missing = [g for g in groups if g not in self.delta_accuracy]
            if missing:
                raise OptionError(
                    f"delta_accuracy has nothing for group '{missing[0]}'.", "Give one number, or one for every group."
                )
            accuracy = tuple(float(self.delta_accuracy[g]) for g in groups)
        else:
            accuracy = (float(self.delta_accuracy),) * len(groups)
        return Claim(accuracy, float(self.delta_fairness), self.form, self.gap)


def make_design(
    *,
    outcome: str,
    group: str,
    accuracy: str | Utility,
    fairness: str | Utility | None,
    delta_accuracy: Delta,
    delta_fairness: float,
    form: str,
    gap: str,
    draws: int,
    alpha: float,
    seed: int,
) -> Design:
    """Check the question before any row is read."""
    accuracy = as_accuracy(accuracy)
    deltas = list(delta_accuracy.values()) if isinstance(delta_accuracy, Mapping) else [delta_accuracy]
    check_choice("form", form, get_args(Form))
    check_choice("gap", gap, get_args(Gap))
    for delta in deltas:
        check_number("delta_accuracy", delta, -np.inf if form == "difference" else -1, np.inf)
    check_number("delta_fairness", delta_fairness, -np.inf, np.inf if form == "difference" else 1, high_included=True)
    check_number("alpha", alpha, 0, 0.5)
    check_integer("draws", draws, FEWEST_DRAWS)
    check_integer("seed", seed, 0)
    if outcome == group:
        raise OptionError(f"'{group}' is named as outcome and as group.", "They must be two columns.")
    return Design(
        outcome=outcome,
        group=group,
        accuracy=accuracy,
        fairness=accuracy if fairness is None else as_utility(fairness),
        delta_accuracy=delta_accuracy,
        delta_fairness=float(delta_fairness),
        form="ratio" if form == "ratio" else "difference",
        gap="signed" if gap == "signed" else "absolute",
        draws=int(draws),
        alpha=float(alpha),
        seed=int(seed),
    )


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


@dataclass(frozen=True)
class Sample:
    """Validated rows with the columns that the design reads."""

    rows: Rows
    grouping: Grouping
    outcomes: dict[str | None, FloatArray]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def backend(self) -> nw.Implementation:
        backend: nw.Implementation = self.rows.frame.implementation
        return backend

    def take(self, index: IntArray) -> "Sample":
        outcomes = {name: values[index] for name, values in self.outcomes.items()}
        return Sample(self.rows.take(index), self.grouping.take(index), outcomes)


def complete_rows(
    rows: Rows,
    design: Design,
    algorithms: Sequence[Algorithm | Threshold],
    other: Sequence[str],
    drop_missing: bool,
) -> tuple[Rows, int]:
    """Rows without holes in the columns that the design, the algorithms and `other` read; and how many were dropped."""
    numeric = [*design.outcome_columns, *other]
    for algorithm in algorithms:
        needed, features = columns_read(algorithm)
        rows.require([*needed, *features])
        numeric += needed
    return keep_complete(rows, numeric, [design.group], drop_missing)


def make_sample(rows: Rows, design: Design) -> Sample:
    outcomes: dict[str | None, FloatArray] = {None: rows.numbers(design.outcome)}
    for utility in design.utilities:
        if utility.outcome is not None:
            outcomes[utility.outcome] = rows.numbers(utility.outcome)
    return Sample(rows, read_groups(rows, design.group), outcomes)


def delta_words(delta: Delta) -> dict[str, Any] | float:
    return dict(delta) if isinstance(delta, Mapping) else float(delta)
