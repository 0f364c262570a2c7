"""Settings become a plan: what is asked and how candidates are found, checked as far as
can be without rows.
"""

from dataclasses import dataclass
from typing import Any

from improvable.algorithms.constraints import Limits, make_limits, refuse_unhonored
from improvable.algorithms.decisions import (
    Algorithm,
    as_algorithm,
    capacity_of,
    describe,
    is_own_code,
)
from improvable.algorithms.rules import RULES, as_rule, keeps_state, runs_foreign_code
from improvable.algorithms.rules.base import SelectionRule
from improvable.algorithms.thresholds import Threshold, TieBreaking
from improvable.errors import OptionError
from improvable.question.challenge import check_sealing
from improvable.question.design import Design, make_design
from improvable.question.options import SAME_SHARE, check_integer, check_number
from improvable.question.settings import Scheme, Settings

MIN_TRAINING_ROWS = 20
MAX_REPETITIONS = 100_000
# a rule that stops once it is ahead rejects too often in one repetition, not in 7
MIN_WITH_FOREIGN_CODE = 7


@dataclass(frozen=True)
class Plan:
    """What an audit will do."""

    settings: Settings
    design: Design
    status_quo: Algorithm | Threshold
    rule: SelectionRule
    constraints: Limits
    target: str  # column that the rule predicts
    repetitions: int
    scheme: Scheme
    train_fraction: float  # of the paper's split
    # a rule, and cutoffs, learn from at most this many of the rows before a block
    train_rows: int

    @property
    def calls_own_code(self) -> bool:
        """Whether code of the caller's own runs in this process: the rule, the status
        quo or a utility.
        """
        reads = any(utility.reads_rows for utility in self.design.utilities)
        return reads or keeps_state(self.rule) or is_own_code(self.status_quo)

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
            "direction": self.settings.direction,
            **self.constraints.facts(),
            "ties": self.settings.ties,
            "scheme": self.scheme,
            "train_fraction": self.train_fraction if self.scheme == "split" else None,
            "train_rows": self.train_rows,
            "row_id": self.settings.row_id,
        }


def tie_breaking(settings: Settings, seed: int) -> TieBreaking | None:
    """How ties are broken under a seed, which a sealed audit knows only later."""
    return TieBreaking(seed, settings.row_id) if settings.ties == "random" else None


def make_plan(settings: Settings) -> Plan:
    """Refuse what cannot be asked, before any row is read."""
    design = make_design(settings)
    check_integer("repetitions", settings.repetitions, 1, MAX_REPETITIONS)
    check_number("train_fraction", settings.train_fraction, 0, 1)
    if settings.scheme == "forward" and settings.train_fraction != 0.5:
        raise OptionError(
            "`train_fraction` goes with the paper's split.",
            "Leave it out, or use `scheme='split'`.",
        )
    check_integer("train_rows", settings.train_rows, MIN_TRAINING_ROWS)
    check_sealing(settings)
    status_quo = as_algorithm(settings.status_quo)
    capacity = (
        capacity_of(status_quo) if settings.capacity is None else settings.capacity
    )
    if capacity == SAME_SHARE and capacity_of(status_quo) is not None:
        capacity = capacity_of(status_quo)
    constraints = make_limits(settings, capacity)
    rule = as_rule(settings.rule)
    refuse_unhonored(constraints, rule, RULES)
    if settings.scheme == "forward" and runs_foreign_code(rule):
        # Refuse what code could exploit that follows its own statistic from block to
        # block (docs: guarantees).
        if settings.repetitions < MIN_WITH_FOREIGN_CODE:
            raise OptionError(
                (
                    f"rule '{rule.name}' is code of its own, and fewer than "
                    f"{MIN_WITH_FOREIGN_CODE} forward repetitions do not keep the "
                    "level for every code."
                ),
                f"Make at least {MIN_WITH_FOREIGN_CODE}, or use `scheme='split'`.",
            )
        if not any(utility.binary_decision for utility in design.utilities):
            raise OptionError(
                (
                    f"rule '{rule.name}' is code of its own that decides amounts. "
                    "Forward repetitions do not keep the level for every such code: it "
                    "could raise its stakes while it is behind."
                ),
                "Use `scheme='split'`.",
            )
    return Plan(
        settings=settings,
        design=design,
        status_quo=status_quo,
        rule=rule,
        constraints=constraints,
        target=settings.target or settings.outcome,
        repetitions=int(settings.repetitions),
        scheme=settings.scheme,
        train_fraction=float(settings.train_fraction),
        train_rows=int(settings.train_rows),
    )
