"""What the data at hand say about answers, while `improvable init` asks: what cannot be, and what to propose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.data.columns import match_columns
from improvable.data.engines import Engine
from improvable.data.frames import Rows, is_missing, labels_of, labeltext_of, missing_labels
from improvable.data.groups import MOST_LEVELS
from improvable.errors import DataError, ImprovableError
from improvable.question.checks import as_names
from improvable.question.settings import Settings


@dataclass(frozen=True)
class Glimpse:
    """The data, as far as questions need them.

    Attributes
    ----------
    engine : Engine
        What an audit would read.
    rows : Rows
        The same rows.
    """

    engine: Engine
    rows: Rows

    # What cannot be. ----

    def check_there(self, names: Any) -> None:
        self.rows.require(as_names(names))

    def check_matches(self, patterns: Any) -> None:
        match_columns(self.rows.columns, as_names(patterns))

    def check_numbers(self, name: str) -> None:
        self.check_there(name)
        numbers = self.rows.numbers(name)
        finite = numbers[np.isfinite(numbers)]
        if len(finite) == 0 or finite.min() == finite.max():
            raise DataError(f"column '{name}' is constant or empty.", "Name one that tells people apart.")

    def check_groups(self, names: Any) -> None:
        for name in as_names(names):
            self.check_there(name)
            known = Rows(self.rows.frame.filter((~missing_labels(self.rows, name)).tolist()), None)
            levels, _ = labels_of(known, name, MOST_LEVELS)
            if len(levels) < 2:
                held = f"has one level, '{levels[0]}'" if levels else "is empty"
                raise DataError(f"column '{name}' {held}.", "Groups to compare are two or more.")

    def check_cutoff(self, score: str, above: float) -> None:
        share = float(np.mean(self.rows.numbers(score) > above))
        if share in (0.0, 1.0):
            who = "everybody" if share else "nobody"
            raise DataError(f"a cutoff of {above:g} selects {who}.", "Name one that divides the people.")

    # What to propose. ----

    def two_levels(self, name: str) -> list[str]:
        """The values of a column that has two; otherwise nothing."""
        self.check_there(name)
        if self.rows.is_nested(name):
            return []
        values = self.rows.frame[name].unique().to_list()
        levels = sorted({labeltext_of(value) for value in values if not is_missing(value)})
        return levels if len(levels) == 2 else []

    def share_of_decisions(self, name: str, positive: str | None, weight: str | None) -> float | None:
        """The share of people that a column of decisions selects."""
        if positive is None:
            return self._share(self.rows.numbers(name), weight)
        values = self.rows.frame[name].to_list()
        chosen = [np.nan if is_missing(value) else float(labeltext_of(value) == positive) for value in values]
        return self._share(np.array(chosen), weight)

    def share_above(self, score: str, above: float, weight: str | None) -> float | None:
        """The share of people whose score is above a cutoff."""
        values = self.rows.numbers(score)
        return self._share(np.where(np.isfinite(values), values > above, np.nan), weight)

    def share_of_score(self, score: str, outcome: str, weight: str | None) -> tuple[str, float] | None:
        """A column of 0 and 1 that selects exactly the top of a score, with its share; None where there is none."""
        values = self.rows.numbers(score)
        for name in self.rows.columns:
            if name == outcome or not self.rows.is_numeric(name):
                continue
            flags = self.rows.numbers(name)
            known = np.isfinite(flags) & np.isfinite(values)
            chosen, others = values[known & (flags == 1)], values[known & (flags == 0)]
            whole = len(chosen) + len(others) == int(known.sum())
            if len(chosen) and len(others) and whole and chosen.min() > others.max():
                share = self._share(np.where(known, flags, np.nan), weight)
                return None if share is None else (name, round(share, 4))
        return None

    def _share(self, chosen: FloatArray, weight: str | None) -> float | None:
        weights = np.ones(len(chosen)) if weight is None else self.rows.numbers(weight)
        known = np.isfinite(chosen) & np.isfinite(weights)
        total = float(weights[known].sum())
        return float((weights[known] * chosen[known]).sum()) / total if total else None

    def missing(self, names: Sequence[str]) -> str:
        """Which columns lack values, in words; "" where none does."""
        lacking = {name: self._lacking(name) for name in dict.fromkeys(names)}
        return ", ".join(f"{count:,} in '{name}'" for name, count in lacking.items() if count)

    def _lacking(self, name: str) -> int:
        if self.rows.is_numeric(name):
            return int((~np.isfinite(self.rows.numbers(name))).sum())
        return int(self.rows.frame[name].is_null().sum())

    def suspects(self, settings: Settings) -> list[str]:
        """Features that determine, or nearly tell, the outcome or the group, as `improvable check` finds them."""
        from improvable.procedure.looking import GivenAwayError, suspects
        from improvable.procedure.preparing import prepare_audit

        found: list[str] = []
        while True:
            try:
                ready = prepare_audit(self.engine, replace(settings, exclude=tuple(found), drop_missing=True))
            except GivenAwayError as error:
                found += error.columns
            except ImprovableError:
                break
            else:
                found += suspects(ready.look.facts)
                break
        return sorted(found, key=self.rows.columns.index)
