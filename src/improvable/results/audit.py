"""What an audit found: its repetitions, and the decision that they make together."""

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import polars as pl

from improvable._text import in_cell
from improvable.algorithms.decisions import Algorithm
from improvable.data.io.safe import write_whole
from improvable.data.keys import Fingerprint
from improvable.errors import Caution, ImprovableError, OptionError, StorageError
from improvable.inference.intervals import Disparity
from improvable.question.design import Question
from improvable.question.options import check_folder, check_types, conforms
from improvable.results import storage
from improvable.results.comparison import CENSUS, Census, Comparison, read_repetition
from improvable.results.result import Result


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """The result of `audit`.

    Attributes
    ----------
    question : Question
        What was asked.
    setting : dict
        How candidates were found: rule, features, capacity, train fraction, rows. Plain
        data.
    repetitions : tuple of Comparison
    disparities : tuple of Disparity
        The status quo's gaps on all rows, with their intervals.
    cautions : tuple of Caution
    census : Census
        Rows and whom the status quo selects, over all rows.
    data : Fingerprint or str or None
        The fingerprint of the rows, or how to compute it.
    fit_again : callable or None
        Applies the rule to all rows, or to the rows before each block of a repetition,
        for `refit` and `mixture`; a loaded audit has none.
    find_rows : callable or None
        Every row in some repetitions, as `repetition_rows` gives it; a loaded audit has
        none.
    made : Provenance or None
        Of a loaded run from the command line: the command, the data's name and the line
        of the ledger.
    """

    question: Question
    setting: dict[str, Any]
    repetitions: tuple[Comparison, ...]
    disparities: tuple[Disparity, ...]
    cautions: tuple[Caution, ...]
    census: Census = field(repr=False)
    data: Fingerprint | str | None = field(repr=False)
    fit_again: Callable[[int], Algorithm] | None = field(repr=False, compare=False)
    backend: nw.Implementation = field(repr=False)
    find_rows: Callable[[Sequence[int]], Any] | None = field(
        default=None, repr=False, compare=False
    )
    made: storage.Provenance | None = field(default=None, repr=False, compare=False)
    tested: ClassVar[str] = "what this rule finds"

    @property
    def rows(self) -> int:
        """How many rows were used."""
        return int(self.setting["rows"])

    def _own(self) -> tuple[str, dict[str, Any], Sequence[Disparity]]:
        return (
            "audit",
            {**self.setting, "data_fingerprint": self.data_fingerprint},
            self.disparities,
        )

    def asked(self, question: Question) -> Self:
        """The same evidence beside another question, which was not declared before the
        run.
        """
        if question == self.question:
            return self
        setting = self.setting | {"protocol": None, "seal": None, "asked_again": True}
        repetitions = tuple(one.asked(question) for one in self.repetitions)
        new = [
            one
            for one in repetitions[0].cautions
            if one not in self.repetitions[0].cautions
        ]
        cautions = (*self.cautions, *new)
        return replace(
            self,
            question=question,
            setting=setting,
            repetitions=repetitions,
            cautions=cautions,
            made=None,
        )

    def save(self, folder: str | Path) -> None:
        """Keep the result in a folder, draws included; `improvable.load` brings it
        back.
        """
        place = storage.new_folder(folder)
        run = storage.run_key(
            self.question.to_dict(), self.setting, self.data_fingerprint
        )
        for repetition in self.repetitions:
            storage.write_repetition(repetition, place, run)
        self.finish(place)
        if self.made is not None:
            storage.write_provenance(place, self.made)

    def finish(self, folder: Path) -> None:
        """Write what makes a folder of repetitions a finished audit."""
        storage.write_json(
            folder / storage.RESULT,
            kind="audit",
            question=self.question.to_dict(),
            setting=self.setting,
            data_fingerprint=self.data_fingerprint,
            census={
                name: values.tolist() for name, values in vars(self.census).items()
            },
            disparities=[asdict(disparity) for disparity in self.disparities],
            cautions=[asdict(caution) for caution in self.cautions],
            repetitions=[repetition.repetition for repetition in self.repetitions],
        )

    def refit(self) -> Algorithm:
        """The algorithm to use instead of the status quo: the rule applied to all rows
        (Section 3.1).

        The test shows that the rule finds improving algorithms; it does not test this
        one.

        Returns
        -------
        Algorithm
            With ``decide(frame)``: one decision per row of any data frame that has the
            features.
        """
        return self._refitted(0)

    def mixture(self, repetition: int | None = None) -> Algorithm:
        """What one repetition tested: the mixture of its blocks' candidates, each with
        its block's share of the rows.

        Parameters
        ----------
        repetition : int, optional
            Number of the repetition, from 1; by default the one whose p-value is the
            lower median.
        """
        p_values = {one.repetition: one.p_value for one in self.repetitions}
        if repetition is None:  # the first one whose p-value is the lower median
            repetition = next(
                number for number, p in p_values.items() if p == self.p_value
            )
        if repetition not in p_values:
            hint = f"They are numbered from 1 to {len(self.repetitions)}."
            raise OptionError(f"there is no repetition {repetition}.", hint)
        return self._refitted(repetition)

    def repetition_rows(self) -> Any:
        """Every row in every repetition, as a Polars frame: enough to recompute each
        estimate in any tool.

        A row has its id, or its number in the data from 1; its groups, outcomes and
        weight; the repetition; its block, which teaches the candidates of all later
        blocks; and, unless that is block 0, which is not tested, both decisions, the
        candidate's being that of the block. Candidates are found again, which takes as
        long as the audit did.
        """
        if self.find_rows is None:
            raise OptionError(
                "a loaded audit has no rows.",
                "Run the audit again, and ask for them then.",
            )
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
        if place.suffix.lower() == ".parquet":
            frame.write_parquet(buffer)
        else:
            safe = pl.col(pl.String).map_elements(in_cell, return_dtype=pl.String)
            frame.with_columns(safe).rename(in_cell).write_csv(buffer)
        write_whole(place, buffer.getvalue())

    def _refitted(self, repetition: int) -> Algorithm:
        if self.fit_again is None:
            raise OptionError(
                "a loaded audit has no data to fit on.",
                "Run the audit again, and ask for it then.",
            )
        return self.fit_again(repetition)


def check_rows_path(path: str | Path) -> Path:
    """Refuse a file for rows that cannot be written; to be asked before the work is
    done.

    >>> check_rows_path("rows.txt")
    Traceback (most recent call last):
    improvable.errors.OptionError: 'rows.txt' is not a file for rows. Write to one that ends in .csv or .parquet.
    """  # noqa: E501
    place = Path(path)
    if place.suffix.lower() not in (".csv", ".parquet"):
        raise OptionError(
            f"'{place}' is not a file for rows.",
            "Write to one that ends in .csv or .parquet.",
        )
    check_folder(place)
    return place


def load(folder: str | Path) -> Audit | Comparison:
    """Bring back a result that was saved, or the result of a run with a run folder.

    The result answers new questions about its evidence with `with_claim`; it has no
    data, so it has no `refit`.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    Audit or Comparison
    """
    place = Path(folder)
    if not place.is_dir():
        raise StorageError(
            f"there is no folder '{place}'.",
            "Name the folder of a finished run, or of save.",
        )
    if not (place / storage.RESULT).exists():
        done = len(list(place.glob("repetition-*.npz")))
        begun = f"a run that has not ended: {done} repetitions are done"
        what = begun if done or (place / storage.RUN).exists() else "no result"
        raise StorageError(
            f"'{place}' holds {what}.",
            "Run the same audit again with this folder to finish it.",
        )
    plain = storage.read_json(place / storage.RESULT)
    try:
        result = _result(place, plain)
        # what it says is computed here, so that what cannot be said is found here
        assert result.facts
    except StorageError:
        raise
    except (ImprovableError, *storage.MALFORMED) as error:
        hint = "It is damaged or was changed; ask for it again."
        raise StorageError(
            f"'{place / storage.RESULT}' is not as it was written.", hint
        ) from error
    return result


def _result(place: Path, plain: dict[str, Any]) -> Audit | Comparison:
    question, data = (
        Question.from_dict(plain["question"]),
        plain.get("data_fingerprint"),
    )
    backend = nw.Implementation.POLARS
    if not conforms(data, str | None):
        raise TypeError("data_fingerprint")
    if plain["kind"] == "comparison":
        return replace(
            read_repetition(storage.repetition_path(place, 0), question, backend),
            data=data,
        )
    numbers, setting = plain["repetitions"], plain["setting"]
    if (
        plain["kind"] != "audit"
        or not conforms(numbers, list[int])
        or not conforms(setting, dict[str, Any])
    ):
        raise TypeError("kind, repetitions or setting")
    audit = Audit(
        question=question,
        setting=setting,
        repetitions=tuple(
            read_repetition(storage.repetition_path(place, k), question, backend)
            for k in numbers
        ),
        disparities=tuple(Disparity(**disparity) for disparity in plain["disparities"]),
        cautions=tuple(Caution(**caution) for caution in plain["cautions"]),
        census=Census(*(np.array(plain["census"][name]) for name in CENSUS)),
        data=data,
        fit_again=None,
        backend=backend,
        made=storage.read_provenance(place),
    )
    for part in (*audit.disparities, *audit.cautions):
        check_types(part)
    strata = audit.repetitions[0].census.rows.shape
    if any(
        array.shape != strata or array.dtype.kind not in "if"
        for array in vars(audit.census).values()
    ):
        raise ValueError("census")
    return audit
