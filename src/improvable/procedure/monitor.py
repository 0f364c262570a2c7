"""The monitor: a candidate that stays as it is against the status quo, on rows that
arrive after the audit.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.decisions import (
    DecisionColumn,
    as_algorithm,
    decide,
    reads_of,
)
from improvable.algorithms.thresholds import Threshold
from improvable.data.columns import make_columns
from improvable.data.engines.memory import Memory
from improvable.data.frame import FrameLike, Rows, incomplete, read_rows
from improvable.data.io.csv import format_of
from improvable.data.keys import Fingerprint
from improvable.data.recode import recode, values_of
from improvable.data.sample import combinations_of
from improvable.errors import (
    DataError,
    OptionError,
    StorageError,
    UnknownColumnError,
    one_of,
)
from improvable.inference.betting import Wealth, wealth_of
from improvable.inference.cells import CANDIDATE, contributions
from improvable.inference.components import Condition, conditions
from improvable.inference.evidence import Evidence
from improvable.question.catalog import UTILITIES
from improvable.question.design import Design, make_design
from improvable.question.options import conforms
from improvable.question.protocol import from_declaration
from improvable.question.settings import Settings
from improvable.question.utility import Utility, check_decisions
from improvable.results.audit import Audit, load
from improvable.results.facts import ProtocolFacts
from improvable.results.storage import VERSION
from improvable.results.wording import alternative_hypothesis

REFUSED = {
    "weight": "a bet must know the most that a row can lose, and weights set no limit",
    "cluster": (
        "a bet takes rows one by one, and those of a cluster depend on each other"
    ),
    "probabilities": "a bet must know the group of each row",
}
"""Settings of an audit that a monitor cannot take over, and why."""
# what a result and its protocol both say
SAME = ("outcome", "group", "accuracy", "fairness", "claim", "alpha")


@dataclass(frozen=True)
class Monitoring:
    """What the rows that have arrived say.

    Attributes
    ----------
    claim : str
    alpha : float
        Its level, at any time.
    rows : int
        How many have arrived.
    wealths : dict from str to Wealth
        What a bet against each condition has come to.
    warnings : tuple of str
    """

    claim: str
    alpha: float
    rows: int
    wealths: dict[str, Wealth]
    warnings: tuple[str, ...]

    @property
    def p_value(self) -> float:
        """Valid at any time: the largest of the conditions'."""
        return max(one.p_value for one in self.wealths.values())

    @property
    def shown_since(self) -> int | None:
        """The number of rows after which every condition had been shown; None if one
        has not been.
        """
        since = [one.shown_since(self.alpha) for one in self.wealths.values()]
        return None if None in since else max(row for row in since if row is not None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `improvable monitor --json` writes it."""
        told = [
            {
                "condition": name,
                "compared": len(one.logs),
                "log_wealth": one.now,
                "p_value": one.p_value,
                "shown_since": one.shown_since(self.alpha),
            }
            for name, one in self.wealths.items()
        ]
        joint = {
            name: getattr(self, name)
            for name in ("claim", "alpha", "rows", "p_value", "shown_since")
        }
        least = min(one.now for one in self.wealths.values())
        return {
            **joint,
            "log_wealth": least,
            "conditions": told,
            "warnings": [*self.warnings],
            "version": VERSION,
        }


def monitor(
    run: Audit | str | Path, data: FrameLike, *, candidate: Any, status_quo: Any = None
) -> Monitoring:
    """Follow a candidate on rows that arrive after the audit, and look as often as you
    like.

    Groups, utilities, claim, level and the reference pair of groups are the audit's.
    The level holds at any time: if the claim is not true, the probability that it is
    *ever* shown is at most alpha.

    Parameters
    ----------
    run : Audit, str or path
        The audit, or its run folder.
    data : data frame or path, or a list of these
        All rows since the audit, in order of arrival.
    candidate : str, fitted estimator, callable or Algorithm
        A column of decisions, or what decides: ``audit.refit()``, or what
        `import_algorithm` reads.
    status_quo : the same, optional
        By default the audit's, if that is a column of decisions or a score with a fixed
        cutoff.
    """
    audit = load(run) if isinstance(run, str | Path) else run
    if not isinstance(audit, Audit) or not conforms(
        audit.setting.get("protocol"), ProtocolFacts
    ):
        hint = (
            "Monitor an audit as it was run, whose rule, status quo and utilities are "
            "names."
        )
        raise OptionError("the result does not say how rows are to be read.", hint)
    settings = from_declaration(audit.setting["protocol"]["declared"])
    design = make_design(settings)
    if any(
        getattr(design.question, name) != getattr(audit.question, name) for name in SAME
    ):
        raise StorageError(
            "the result is not of the protocol it names.",
            "It was changed; ask for it again.",
        )
    _refuse_unbounded(settings, design)
    # The repetition that decided the audit fixes the reference pair of groups.
    evidence = next(
        one.evidence for one in audit.repetitions if one.p_value == audit.p_value
    )
    stated = (settings.status_quo if status_quo is None else status_quo, candidate)
    rows, vectors, warnings = _read(
        data, settings, design, stated, audit.data_fingerprint
    )
    strata = _strata_of(rows, evidence, design)
    if outside := int((strata < 0).sum()):
        warnings = (
            *warnings,
            f"{outside:,} rows of groups that the audit does not have are left out.",
        )
    asked = conditions(evidence, audit.question.claim)
    wealths = {_name(one, evidence): wealth_of(one, strata, vectors) for one in asked}
    claim = alternative_hypothesis({**audit.facts, "kind": "comparison"})
    return Monitoring(claim, audit.question.alpha, len(rows), wealths, warnings)


def _refuse_unbounded(settings: Settings, design: Design) -> None:
    """Refuse what no bet can be placed on."""
    for name, why in REFUSED.items():
        if getattr(settings, name):
            raise OptionError(
                f"the audit has `{name}`: {why}.", "Monitor an audit without it."
            )
    if settings.duplicates == "cluster":
        raise OptionError(
            "the audit keeps equal rows together.",
            "Monitor an audit that keeps them apart.",
        )
    for utility in design.measured:
        if not has_fixed_denominator(utility):
            works = one_of(
                name for name, one in UTILITIES.items() if has_fixed_denominator(one)
            )
            raise OptionError(
                (
                    f"'{utility.label}' is not a share of the same rows under both "
                    "algorithms, as a bet needs it."
                ),
                f"Monitor an audit by {works}.",
            )


def has_fixed_denominator(utility: Utility) -> bool:
    """Whether it is a share of rows that are the same whatever is decided, and its gap
    a difference.

    Outcomes and decisions are 0 or 1, so that four cases are all there are.
    """
    binary = utility.binary_decision and (
        utility.binary_outcome or not utility.reads_outcome
    )
    if utility.formula or utility.between != "difference" or not binary:
        return False
    nothing: Any = None  # a utility by name reads outcome and decision alone
    u, w = utility.parts(
        nothing, np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    )
    return bool(
        (w[::2] == w[1::2]).all() and np.isin([u, w], (0, 1)).all() and (u <= w).all()
    )


def _read(
    data: FrameLike,
    settings: Settings,
    design: Design,
    stated: tuple[Any, Any],
    learned: str | None,
) -> tuple[Rows, FloatArray, tuple[str, ...]]:
    """The rows as the audit reads them, what they contribute under both algorithms, and
    what to say about them.
    """
    algorithms = [as_algorithm(one) for one in stated]
    parts = [
        read_rows(one, format_of(settings))
        for one in (data if isinstance(data, list) else [data])
    ]
    rows = parts[0] if len(parts) == 1 else _joined(parts)
    # data that lack a column of the audit's are others
    with suppress(UnknownColumnError):
        known = make_columns(
            rows.columns,
            design,
            [reads_of(as_algorithm(settings.status_quo))],
            settings,
        )
        if Fingerprint(Memory(rows, 1), known.read).digest == learned:
            raise DataError(
                "these are the audit's own rows, which taught the candidate.",
                "Give rows that came later.",
            )
    if settings.row_id in rows.columns and rows.frame[settings.row_id].n_unique() < len(
        rows
    ):
        raise DataError(
            f"'{settings.row_id}' repeats: some rows are there twice.",
            "Give each row once.",
        )
    columns = make_columns(rows.columns, design, [reads_of(one) for one in algorithms])
    decided = [one.column for one in algorithms if isinstance(one, DecisionColumn)]
    said, written = values_of(settings), settings.status_quo.get("decision")
    meant = dict(said.meant)
    if written in meant:  # decisions are written as those of the audit are
        meant |= dict.fromkeys(decided, meant.pop(written))
    numeric = [*design.outcome_columns, *decided]
    read = recode(
        Memory(rows, 1),
        replace(said, meant=meant),
        numeric,
        design.labeled,
        columns.read,
    )
    assert isinstance(read, Memory)
    rows, warnings = read.rows, read.notes
    if bad := incomplete(rows, columns.numeric, columns.labels):
        lacking = ", ".join(
            f"{int(flags.sum()):,} in '{name}'" for name, flags in bad.items()
        )
        if not settings.drop_missing:
            hint = "Give rows once they are complete, as the audit had them."
            raise DataError(f"missing or infinite values: {lacking}.", hint)
        rows = rows.take(np.flatnonzero(~np.logical_or.reduce([*bad.values()])))
        warnings = (
            *warnings,
            f"rows with missing or infinite values are left out: {lacking}.",
        )
    decisions = []
    for whose, one in zip(("status quo", "candidate"), algorithms, strict=True):
        if isinstance(one, Threshold):
            fixed = (
                f"the cutoff of the {whose} comes from the rows themselves, and must "
                "be fixed before they arrive."
            )
            raise OptionError(fixed, "Name the column of its decisions.")
        decisions.append(decide(one, rows, whose))
        check_decisions(decisions[-1], design.utilities, whose)
    outcomes = {
        one.outcome: rows.numbers(one.outcome or settings.outcome)
        for one in design.utilities
    }
    return rows, contributions(design.utilities, rows, outcomes, decisions), warnings


def _joined(parts: list[Rows]) -> Rows:
    """Rows that came in parts, in the order of the parts."""
    try:
        frame = pl.concat(
            [part.frame.to_polars() for part in parts], how="vertical_relaxed"
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(
            "the parts of the data differ in columns.",
            "Give each the same, in the same order.",
        ) from error
    return Rows(nw.from_native(frame, eager_only=True), notes=parts[0].notes)


def _strata_of(rows: Rows, evidence: Evidence, design: Design) -> IntArray:
    """The stratum of the audit that each row is in; -1 where it is in none."""
    strata = zip(
        *([one.levels[g] for g in one.member] for one in evidence.attributes),
        strict=True,
    )
    known = {levels: stratum for stratum, levels in enumerate(strata)}
    columns = design.question.group
    found, codes = combinations_of(rows, columns)
    if design.groups.cross:
        found = [(", ".join(levels),) for levels in found]
    elif len(columns) > 1:
        found = [
            tuple(f"{name}={level}" for name, level in zip(columns, one, strict=True))
            for one in found
        ]
    return np.array([known.get(levels, -1) for levels in found], dtype=np.int64)[codes]


def _name(condition: Condition, evidence: Evidence) -> str:
    """What outputs call a condition; of a gap, which group must be ahead of which by
    less than the reference pair.
    """
    label = evidence.measures[condition.measure].label
    if condition.kind == "accuracy":
        return f"{label} of {condition.group}"
    levels = next(
        one.levels for one in evidence.attributes if one.name == condition.group
    )
    after = condition.coefficients[:, CANDIDATE]
    if not after.any():
        return f"gap in {label} by {condition.group}, status quo"
    return (
        f"gap in {label}, {levels[int(np.argmin(after))]} over "
        f"{levels[int(np.argmax(after))]}"
    )
