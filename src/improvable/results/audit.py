"""What an audit found: its repetitions, and the decision that they make together."""

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw

from improvable._text import in_cell
from improvable.algorithms.decisions import Algorithm
from improvable.data.io.safe import write_whole
from improvable.errors import Caution, OptionError
from improvable.inference.intervals import Disparity
from improvable.inference.test import lower_median, threshold_for
from improvable.question.design import Question
from improvable.question.options import check_folder
from improvable.results import storage
from improvable.results.collect import state
from improvable.results.comparison import Census, Comparison, change_question
from improvable.results.facts import Facts
from improvable.results.result import HasDigest, Result

ASKED_AGAIN = {"protocol": None, "seal": None, "asked_again": True}
"""What another question of the same evidence no longer has: it was not declared before the run."""


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """The result of `audit`.

    Attributes
    ----------
    question : Question
        What was asked.
    setting : dict
        How candidates were found: rule, features, capacity, train fraction, rows. Plain data.
    repetitions : tuple of Comparison
    disparities : tuple of Disparity
        The status quo's gaps on all rows, with their intervals.
    cautions : tuple of Caution
    census : Census
        Rows and whom the status quo selects, over all rows.
    data : Fingerprint or str or None
        The fingerprint of the rows, or how to compute it.
    fit_again : callable or None
        Applies the rule to all rows, or to the rows before each block of a repetition, for `refit` and `mixture`;
        a loaded audit has none.
    find_rows : callable or None
        Every row in some repetitions, as `repetition_rows` gives it; a loaded audit has none.
    made : Provenance or None
        Of a loaded run from the command line: the command, the data's name and the line of the ledger.
    """

    question: Question
    setting: dict[str, Any]
    repetitions: tuple[Comparison, ...]
    disparities: tuple[Disparity, ...]
    cautions: tuple[Caution, ...]
    census: Census = field(repr=False)
    data: HasDigest | str | None = field(repr=False)
    fit_again: Callable[[int], Algorithm] | None = field(repr=False, compare=False)
    backend: nw.Implementation = field(repr=False)
    find_rows: Callable[[Sequence[int]], Any] | None = field(default=None, repr=False, compare=False)
    made: storage.Provenance | None = field(default=None, repr=False, compare=False)

    @property
    def groups(self) -> tuple[str, ...]:
        return self.repetitions[0].groups

    @property
    def rows(self) -> int:
        """How many rows were used."""
        return int(self.setting["rows"])

    @property
    def p_value(self) -> float:
        """The lower median of the repetitions' p-values, to be compared with `level`."""
        return float(lower_median([repetition.p_value for repetition in self.repetitions]))

    @property
    def level(self) -> float:
        """What the p-value must be strictly below: alpha / 2, or alpha for a single repetition."""
        return threshold_for(self.question.alpha, len(self.repetitions))

    @cached_property
    def facts(self) -> Facts:
        """Everything as plain numbers and text, computed once; to be read, not changed."""
        own = {**self.setting, "data_fingerprint": self.data_fingerprint}
        return state("audit", self, own, self.disparities)

    def with_claim(self, **changes: Any) -> "Audit":
        """The same evidence asked another question: at once, from the draws, without data.

        Parameters
        ----------
        **changes
            Any of `delta_accuracy`, `no_worse`, `delta_fairness`, `form`, `gap`, `protected`, `overall`, `ask` and
            `alpha`, as in `audit`; what is not named stays.
        """
        question = change_question(self.question, self.repetitions[0].evidence.attributes, changes)
        if question == self.question:
            return self
        setting = self.setting | ASKED_AGAIN
        repetitions = tuple(repetition.asked(question) for repetition in self.repetitions)
        new = [one for one in repetitions[0].cautions if one not in self.repetitions[0].cautions]
        cautions = (*self.cautions, *new)
        return replace(self, question=question, setting=setting, repetitions=repetitions, cautions=cautions, made=None)

    def save(self, folder: str | Path) -> None:
        """Keep the result in a folder, draws included; `improvable.load` brings it back."""
        place = storage.new_folder(folder)
        run = storage.run_key(self.question.to_dict(), self.setting, self.data_fingerprint)
        for repetition in self.repetitions:
            storage.write_repetition(repetition, place, run)
        self.finish(place)
        if self.made is not None:
            storage.write_provenance(place, self.made)

    def finish(self, folder: Path) -> None:
        """Write what makes a folder of repetitions a finished audit."""
        facts = {
            "question": self.question.to_dict(),
            "setting": self.setting,
            "data_fingerprint": self.data_fingerprint,
            "census": {name: values.tolist() for name, values in vars(self.census).items()},
            "disparities": [asdict(disparity) for disparity in self.disparities],
            "cautions": [asdict(caution) for caution in self.cautions],
            "repetitions": [repetition.repetition for repetition in self.repetitions],
        }
        storage.write_head(folder, "audit", facts)

    def refit(self) -> Algorithm:
        """The algorithm to use instead of the status quo: the rule applied to all rows (Section 3.1).

        The test shows that the rule finds improving algorithms; it does not test this one.

        Returns
        -------
        Algorithm
            With ``decide(frame)``: one decision per row of any data frame that has the features.
        """
        return self._refitted(0)

    def mixture(self, repetition: int | None = None) -> Algorithm:
        """What one repetition tested: the mixture of its blocks' candidates, each with its block's share of the rows.

        Parameters
        ----------
        repetition : int, optional
            Number of the repetition, from 1; by default the one whose p-value is the lower median.
        """
        if repetition is None:
            repetition = min(
                self.repetitions, key=lambda one: (abs(one.p_value - self.p_value), one.repetition)
            ).repetition
        if repetition not in [one.repetition for one in self.repetitions]:
            raise OptionError(
                f"there is no repetition {repetition}.", f"They are numbered from 1 to {len(self.repetitions)}."
            )
        return self._refitted(repetition)

    def repetition_rows(self) -> Any:
        """Every row in every repetition, as a Polars frame: enough to recompute each estimate in any tool.

        A row has its id, or its number in the data from 1; its groups, outcomes and weight; the repetition; its block,
        which teaches the candidates of all later blocks; and, unless that is block 0, which is not tested, both
        decisions, the candidate's being that of the block. Candidates are found again, which takes as long as the audit
        did.
        """
        if self.find_rows is None:
            raise OptionError("a loaded audit has no rows.", "Run the audit again, and ask for them then.")
        return self.find_rows([one.repetition for one in self.repetitions])

    def export_rows(self, path: str | Path) -> None:
        """Write `repetition_rows` to a file.

        Parameters
        ----------
        path : str or path
            Ends in .csv or .parquet.
        """
        place = check_rows_path(path)
        frame, buffer = self.repetition_rows(), io.BytesIO()
        if place.suffix.lower() == ".csv":
            import polars as pl

            safe = pl.col(pl.String).map_elements(in_cell, return_dtype=pl.String)
            frame.with_columns(safe).rename(in_cell).write_csv(buffer)
        else:
            frame.write_parquet(buffer)
        write_whole(place, buffer.getvalue())

    def _refitted(self, repetition: int) -> Algorithm:
        if self.fit_again is None:
            raise OptionError("a loaded audit has no data to fit on.", "Run the audit again, and ask for it then.")
        return self.fit_again(repetition)


def check_rows_path(path: str | Path) -> Path:
    """Refuse a file for rows that cannot be written; to be asked before the work is done.

    Examples
    --------
    >>> check_rows_path("rows.txt")
    Traceback (most recent call last):
    improvable.errors.OptionError: 'rows.txt' is not a file for rows. Write to one that ends in .csv or .parquet.
    """
    place = Path(path)
    if place.suffix.lower() not in (".csv", ".parquet"):
        raise OptionError(f"'{place}' is not a file for rows.", "Write to one that ends in .csv or .parquet.")
    check_folder(place)
    return place
