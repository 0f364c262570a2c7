"""Settings become a plan: what is asked and how candidates are found, checked as far as can be without rows."""

from dataclasses import asdict, dataclass
from typing import Any

from improvable.algorithms.constraints import Constraints, make_constraints, refuse_unhonored
from improvable.algorithms.cutoffs import Threshold, TieBreaking
from improvable.algorithms.decisions import Algorithm, as_algorithm, capacity_of, describe
from improvable.algorithms.rules import RULES, as_rule
from improvable.algorithms.rules.base import SelectionRule
from improvable.errors import OptionError
from improvable.procedure.sealing import check_sealing
from improvable.procedure.stopping import Stopping
from improvable.question.checks import SAME_SHARE, check_integer, check_number
from improvable.question.design import Design, make_design
from improvable.question.settings import Settings

FEWEST_ROWS = 20
MOST_SPLITS = 100_000


@dataclass(frozen=True)
class Plan:
    """What an audit will do.

    Attributes
    ----------
    settings : Settings
    design : Design
    status_quo : Algorithm or Threshold
    rule : SelectionRule
    constraints : Constraints
    target : str
        Column that the rule predicts.
    splits : int
    train_fraction : float
    folds : int or None
        How many folds a repetition has; None for the paper's split.
    train_rows : int
        How many training rows of a split a rule sees at most, and cutoffs are taken from.
    stopping : Stopping or None
        When a sequential audit has enough splits.
    """

    settings: Settings
    design: Design
    status_quo: Algorithm | Threshold
    rule: SelectionRule
    constraints: Constraints
    target: str
    splits: int
    train_fraction: float
    folds: int | None
    train_rows: int
    stopping: Stopping | None

    @property
    def breaking(self) -> TieBreaking | None:
        """Which of the rows that tie at a cutoff are selected."""
        return tie_breaking(self.settings, self.design.question.seed)

    def facts(self) -> dict[str, Any]:
        """How candidates are found, as plain data."""
        return {
            "status_quo": describe(self.status_quo),
            "rule": self.rule.name,
            "target": self.target,
            **self.constraints.facts(),
            "ties": self.settings.ties,
            "train_fraction": self.train_fraction if self.folds is None else 1 - 1 / self.folds,
            "folds": self.folds,
            "train_rows": self.train_rows,
            "row_id": self.settings.row_id,
            "stopping": None if self.stopping is None else asdict(self.stopping),
        }


def tie_breaking(settings: Settings, seed: int) -> TieBreaking | None:
    """How ties are broken under a seed, which a sealed audit knows only later."""
    return TieBreaking(seed, settings.row_id) if settings.ties == "random" else None


def make_plan(settings: Settings) -> Plan:
    """Refuse what cannot be asked, before any row is read."""
    design = make_design(settings)
    check_integer("splits", settings.splits, 1, MOST_SPLITS)
    check_number("tolerance", settings.tolerance, 0, 0.5)
    check_integer("most_splits", settings.most_splits, 1, MOST_SPLITS)
    sequential = settings.combine == "sequential"
    if sequential and settings.most_splits < settings.splits:
        raise OptionError(
            f"most_splits is {settings.most_splits}, and splits, with which it begins, is {settings.splits}.",
            "Allow more, or begin with fewer.",
        )
    check_number("train_fraction", settings.train_fraction, 0, 1)
    if settings.folds is not None:
        check_integer("folds", settings.folds, 2, MOST_SPLITS)
        if settings.train_fraction != 0.5:
            raise OptionError("folds and train_fraction are both given.", "With folds, all but one are for training.")
    check_integer("train_rows", settings.train_rows, FEWEST_ROWS)
    check_sealing(settings)
    status_quo = as_algorithm(settings.status_quo)
    capacity = capacity_of(status_quo) if settings.capacity is None else settings.capacity
    if capacity == SAME_SHARE and capacity_of(status_quo) is not None:
        capacity = capacity_of(status_quo)
    constraints = make_constraints(capacity, settings.monotone, settings.selection_gap, settings.group_blind)
    rule = as_rule(settings.rule)
    refuse_unhonored(constraints, rule, RULES)
    return Plan(
        settings=settings,
        design=design,
        status_quo=status_quo,
        rule=rule,
        constraints=constraints,
        target=settings.target or settings.outcome,
        splits=int(settings.splits),
        train_fraction=float(settings.train_fraction),
        folds=None if settings.folds is None else int(settings.folds),
        train_rows=int(settings.train_rows),
        stopping=Stopping(settings.tolerance, int(settings.most_splits)) if sequential else None,
    )
