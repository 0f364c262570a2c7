"""What a selection rule sees, must do and is known by; folds of training rows for rules
that judge by rows left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.constraints import Limits
from improvable.algorithms.decisions import Algorithm, as_algorithm, prepare
from improvable.algorithms.models import (
    Encoder,
    as_numeric,
    fit_encoder,
    matrix_of,
    steady,
)
from improvable.algorithms.thresholds import Threshold, TieBreaking
from improvable.algorithms.unseen import BothSelect, limit_unseen
from improvable.data.frame import Rows
from improvable.data.sample import Sample
from improvable.errors import DataError
from improvable.inference.bootstrap import child
from improvable.question.design import Design

FOLDS = 5
FOLD, FIT = 0, 1
"""Children of a rule's seed: the first orders rows into folds, the second seeds what is
fitted on each.
"""


def silent(_: str) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Training:
    """Everything a rule may look at: training rows only.

    Attributes
    ----------
    sample : Sample
        The training rows with their groups, outcomes, weights and clusters.
    features : tuple of str
        The columns that the candidate may read.
    plain : bool
        Whether all features are complete numbers; otherwise they need encoding.
    target_column : str
        What to predict: the outcome, or the column named by ``target=``.
    design : Design
        What is asked: utilities and claim.
    constraints : Limits
        What the candidate must respect.
    seed : SeedSequence
        The only source of randomness.
    report : callable
        Called with a few words on the progress of long work.
    breaking : TieBreaking or None
        Which of the rows that tie at a cutoff are selected; None selects none.
    sight : tuple of str or None
        The columns that a candidate is shown when it decides; None for all.
    instead : array or None
        What to predict instead of the target column.
    """

    sample: Sample
    features: tuple[str, ...]
    plain: bool
    target_column: str
    design: Design
    constraints: Limits
    seed: np.random.SeedSequence
    report: Callable[[str], None] = silent
    breaking: TieBreaking | None = None
    sight: tuple[str, ...] | None = None
    instead: FloatArray | None = None

    @property
    def rows(self) -> Rows:
        """The training rows, with all columns."""
        return self.sample.rows

    @property
    def target(self) -> FloatArray:
        """What to predict, turned around where a lower outcome is better: the highest
        predictions are selected.
        """
        if self.instead is not None:
            return self.instead
        values = self.rows.numbers(self.target_column)
        if not self.design.question.lower_is_better or self.numeric_decisions:
            return values
        return 1 - values if np.isin(values, (0, 1)).all() else -values

    @property
    def binary_target(self) -> bool:
        return bool(np.isin(self.target, (0, 1)).all())

    @property
    def numeric_decisions(self) -> bool:
        """Whether a decision is a number (a price) rather than 0/1."""
        return not any(utility.binary_decision for utility in self.design.utilities)

    def encoded(self) -> tuple[FloatArray, tuple[str, ...], Encoder | None]:
        """The features as a matrix, the names of its columns, and the encoder of messy
        ones, fitted on these rows.
        """
        encoder = (
            None
            if self.plain
            else fit_encoder(
                self.rows, self.features, int(self.seed.generate_state(1)[0])
            )
        )
        columns = self.features if encoder is None else encoder.outputs
        return matrix_of(self.rows, self.features, encoder), columns, encoder

    def as_numbers(self) -> tuple["Training", Encoder | None]:
        """The same rows with nothing but their features as complete numbers, and the
        encoder that made them so.
        """
        if self.plain:
            return self, None
        encoder = fit_encoder(
            self.rows, self.features, int(self.seed.generate_state(1)[0])
        )
        sample = replace(self.sample, rows=as_numeric(self.rows, encoder))
        return replace(
            self,
            sample=sample,
            features=encoder.outputs,
            plain=True,
            instead=self.target,
        ), encoder

    def take(self, index: IntArray) -> "Training":
        """Some of the training rows."""
        return replace(
            self,
            sample=self.sample.take(index),
            instead=None if self.instead is None else self.instead[index],
        )


@dataclass(frozen=True)
class Selection:
    """What a rule found, with what a reader should know of how.

    Attributes
    ----------
    algorithm : anything that decides, or None
        None where the rule found no candidate: the status quo then stands in for it.
    notes : mapping
        Plain data for the outputs: who won, whether an optimum was proven.
    """

    algorithm: Any
    notes: Mapping[str, Any] = field(default_factory=dict)


class SelectionRule(Protocol):
    """Turns training rows into a candidate.

    A rule may have ``honors``, the set of constraints that it respects; without it,
    only the capacity. One of your own that has no ``name`` goes by its class's.
    """

    @property
    def name(self) -> str: ...

    def select(self, training: Training, status_quo: Algorithm) -> Any:
        """The candidate: anything that `improvable.compare` takes as one, or a
        `Selection`.
        """
        ...


def run_rule(
    rule: Any,
    training: Training,
    status_quo: Algorithm,
    cutoff_rows: Sample | None = None,
) -> Selection:
    """Let a rule select, and complete what it found from the same training rows.

    A cutoff can also come from `cutoff_rows`, which the rule did not learn from: where
    only the rule is judged, that saves the work of finding out how its own rows would
    score as new ones.
    """
    found = rule.select(training, status_quo)
    selection = found if isinstance(found, Selection) else Selection(found)
    if selection.algorithm is None:
        return selection
    algorithm, sample = as_algorithm(selection.algorithm), training.sample
    if cutoff_rows is not None and isinstance(algorithm, Threshold):
        algorithm, sample = replace(algorithm, honest=None), cutoff_rows
    rows = seen(sample.rows, training.sight)
    most = training.constraints.max_unknown
    if most is not None:
        algorithm = limit_unseen(algorithm, most, status_quo, rows, sample.weights)
    complete = prepare(algorithm, rows, sample.weights, training.breaking)
    if most == 0:
        complete = BothSelect(steady(complete), status_quo)
    return replace(selection, algorithm=complete)


def seen(rows: Rows, sight: tuple[str, ...] | None) -> Rows:
    """Rows as a candidate is shown them: its features, and neither outcome nor
    group.
    """
    return rows if sight is None else rows.select(sight)


def folds_of(training: Training) -> list[tuple[Training, IntArray]]:
    """For each fold, the training rows outside of it and the places of its own rows;
    clusters stay whole.
    """
    # Each fold has two units or more. A block's past may hold few clusters: then there
    # are fewer folds, at least two.
    sample, seed = training.sample, training.seed
    units = int(sample.unit_codes().max()) + 1
    folds = min(FOLDS, units // 2)
    if folds < 2:
        what = "rows" if sample.clusters is None else "clusters"
        raise DataError(
            f"{units} training {what} are too few to judge a rule by rows left out.",
            f"Use more {what}.",
        )
    fold = fold_of_row(sample, folds, child(seed, FOLD))
    return [
        (
            replace(training.take(np.flatnonzero(fold != k)), seed=child(seed, FIT, k)),
            np.flatnonzero(fold == k),
        )
        for k in range(folds)
    ]


def fold_of_row(sample: Sample, folds: int, seed: np.random.SeedSequence) -> IntArray:
    """The fold of every row; clusters stay whole."""
    unit = sample.unit_codes()
    units = int(unit.max()) + 1
    # of each unit in a random order
    places = np.argsort(np.random.default_rng(seed).permutation(units))
    return np.asarray(places % folds)[unit]


# How a rule is known by name. ----


def rule_after_colon(setting: str) -> tuple[str, list[str]]:
    own, colon, rule = setting.partition(":")
    if not colon:
        raise ValueError("a rule is missing")
    return own, [rule]


@dataclass(frozen=True)
class Family:
    """How a rule is made from its name, and what commands, pages and messages say of
    it.

    `split` parts what follows the name and a colon into the rule's own setting and the
    names of the rules inside. This is the only way to put a rule inside another, so
    somebody else's code is found wherever it stands in a name.
    """

    name: str
    words: str  # what it is
    # called with its own setting, and then with the rules inside it
    make: Callable[..., SelectionRule]
    # of what may follow the name and a colon; empty where nothing may
    example: str = ""
    alone: bool = True  # whether the name without a setting is proposed as a rule
    split: Callable[[str], tuple[str, list[str]]] = lambda setting: (setting, [])

    @property
    def usage(self) -> str:
        """The name as proposed, with an example of its setting where it needs one."""
        return self.name if self.alone else f"{self.name}:{self.example}"
