"""What audits and comparisons have in common: p-value, verdict, hypotheses, table,
words, frontier.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from improvable.data.frame import build_frame
from improvable.data.keys import Fingerprint
from improvable.errors import Caution, OptionError, nearest
from improvable.inference.evidence import ALGORITHMS
from improvable.inference.intervals import Disparity
from improvable.inference.test import lower_median, threshold_for
from improvable.question.claim import MEANINGS, check_claim, make_claim
from improvable.question.design import Question
from improvable.question.options import check_choice, check_number
from improvable.question.settings import About, plain_about
from improvable.results.collect import state
from improvable.results.facts import (
    ComponentFacts,
    Facts,
    RepetitionFacts,
    by_component,
    deciding,
    estimate_of,
)
from improvable.results.formatting import p_equals, p_text
from improvable.results.frontier import Bound, Frontier, make_frontier
from improvable.results.storage import Provenance
from improvable.results.wording import alternative_hypothesis, null_hypothesis

if TYPE_CHECKING:
    from improvable.results.comparison import Comparison

NUMBERS = tuple(
    f"{name}{end}"
    for name in (*ALGORITHMS, "difference", "ratio")
    for end in ("", "_low", "_high")
)
P_VALUES = ("p_value", "p_other", "p_repetition")
COUNTS = tuple(
    f"{what}_{name}"
    for what in ("selected", "share", "effective")
    for name in ALGORITHMS
)
COLUMNS: dict[str, type] = {
    "repetition": int,
    "block": str,
    "kind": str,
    "utility": str,
    "group": str,
    **dict.fromkeys((*NUMBERS, *P_VALUES), float),
    "rows": int,
    **dict.fromkeys(COUNTS, float),
}
"""Every column and what it holds; `Result.table` says what each means."""
TIDY: dict[str, type] = {
    **dict.fromkeys(("kind", "utility", "group"), str),
    **dict.fromkeys((*ALGORITHMS, "p_value", "p_median"), float),
}
GLANCE: dict[str, type] = {
    "p_value": float,
    "reject": bool,
    "alpha": float,
    "level": float,
    "scheme": str,
    "repetitions": int,
    "rows": int,
    "groups": int,
    "rule": str,
    "version": str,
    "warnings": int,
}
"""Columns of `Result.tidy` and of `Result.glance`, and what they hold."""


class Result(ABC):
    """What `audit` and `compare` return."""

    question: Question
    cautions: tuple[Caution, ...]
    data: Fingerprint | str | None
    backend: Any
    made: Provenance | None = None
    tested: ClassVar[str] = "the candidate"  # whose improvement bounds are about

    # a field of one class and a property of the other: at run time it may not be here
    if TYPE_CHECKING:

        @property
        def repetitions(self) -> "tuple[Comparison, ...]": ...

    @property
    def data_fingerprint(self) -> str | None:
        """A digest of the columns that were read, the same in any order of rows; None
        where it is not known.
        """
        return (
            self.data
            if self.data is None or isinstance(self.data, str)
            else self.data.digest
        )

    @property
    def p_value(self) -> float:
        """The lower median of the repetitions' p-values, to be compared with
        `level`.
        """
        return float(
            lower_median([repetition.p_value for repetition in self.repetitions])
        )

    @cached_property
    def facts(self) -> Facts:
        """Everything as plain numbers and text, computed once; to be read, not
        changed.
        """
        return state(cast(Any, self), *self._own())

    @abstractmethod
    def _own(self) -> tuple[str, dict[str, Any], Sequence[Disparity]]:
        """The kind of result, the facts that only this kind has, and the status quo's
        gaps.
        """

    def with_claim(self, **changes: Any) -> Self:
        """The same evidence asked another question: at once, from the draws, without
        data.

        Parameters
        ----------
        **changes
            Any of `delta_accuracy`, `delta_fairness`, `form`, `gap`,
            `protected`, `overall`, `ask` and `alpha`, as in `audit` and `compare`; what
            is not named stays.
        """
        claim, alpha = self.question.claim, changes.pop("alpha", self.question.alpha)
        settings = claim.to_dict()
        for name in changes:
            if name not in settings:
                raise OptionError(
                    f"'{name}' cannot be changed without the data.",
                    nearest(name, [*settings, "alpha"]),
                )
        meanings = {name: getattr(claim, name) for name in MEANINGS}
        changed = make_claim(**{**settings, **meanings, **changes})
        attributes = self.repetitions[0].evidence.attributes
        check_claim(changed, [attribute.levels for attribute in attributes])
        check_number("alpha", alpha, 0, 0.5)
        return self.asked(replace(self.question, claim=changed, alpha=float(alpha)))

    @abstractmethod
    def asked(self, question: Question) -> Self:
        """The same evidence beside another question."""

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Keep the result in a folder, draws included; `improvable.load` brings it
        back.
        """

    @property
    def groups(self) -> tuple[str, ...]:
        return self.repetitions[0].evidence.groups

    @property
    def level(self) -> float:
        """What the p-value must be strictly below: alpha / 2, or alpha for a single
        repetition.
        """
        return threshold_for(self.question.alpha, len(self.repetitions))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, ready for JSON; a copy that may be
        changed.
        """
        return cast(dict[str, Any], deepcopy(self.facts))

    @property
    def reject(self) -> bool:
        """Whether the null hypothesis is rejected."""
        return self.p_value < self.level

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know, in words."""
        return tuple(caution.text for caution in self.cautions)

    @property
    def verdict_warnings(self) -> tuple[str, ...]:
        """Of these, what must be read with the verdict: the two algorithms may not be
        comparable.
        """
        return tuple(
            caution.text for caution in self.cautions if caution.beside_verdict
        )

    @property
    def null_hypothesis(self) -> str:
        """H0 in words."""
        return null_hypothesis(self.facts)

    @property
    def alternative_hypothesis(self) -> str:
        """H1 in words."""
        return alternative_hypothesis(self.facts)

    def table(self) -> Any:
        """Every condition in every repetition, one row each, as a frame of the caller's
        own kind.

        The lower median of `p_repetition` over the repetitions is the p-value of the
        audit. Numbers that a row does not have are missing: only a group's own utility
        has intervals and counts of its own.

        Returns
        -------
        data frame
            With these columns:

            - `repetition`: its number, from 1; 0 in a comparison.
            - `block`: "mixture" where all blocks of a repetition are tested together;
              "1" where there is only one, as in the paper's split; "all rows" in a
              comparison.
            - `kind`: "accuracy", of a group or of "everyone", or "fairness", the gap
              between the groups of a column.
            - `utility`, and `group`: the group, or the column whose gap it is.
            - `status_quo`, `candidate`, `difference` and `ratio` (candidate to status
              quo), each with `_low` and `_high`, the ends of its interval.
            - `p_value` of the condition; `p_other`, by the gap statistic that does not
              decide; `p_repetition`, the largest of the repetition's conditions.
            - `rows` tested in the repetition.
            - `selected_`, `share_` and `effective_`, each with `status_quo` and
              `candidate`: rows of the group that are selected, their share, and what
              those that count are worth in rows of equal weight. A row that is not
              about one group has the share of all rows.
        """
        return build_frame(tidy_columns(self.facts), self.backend, COLUMNS)

    def tidy(self) -> Any:
        """Every condition of the test, one row each, as a frame of the caller's own
        kind; `table` has the repetitions.

        Returns
        -------
        data frame
            With these columns:

            - `kind`, `utility` and `group`, as in `table`.
            - `status_quo` and `candidate`: means over the repetitions, as `summary`
              prints them.
            - `p_value`: in the repetition that decides, as `summary` prints it; the
              largest of these is the result's.
            - `p_median`: the lower median of the condition's own p-values over the
              repetitions.
        """
        return build_frame(tidy_rows(self.facts), self.backend, TIDY)

    def glance(self) -> Any:
        """The result in one row, as a frame of the caller's own kind: rows of several
        results can be stacked.

        Returns
        -------
        data frame
            With the columns `p_value`, `reject`, `alpha`, `level` (what the p-value
            must be below), `scheme`, `repetitions`, `rows`, `groups` (how many),
            `rule`, `version` and `warnings` (how many). A comparison has no scheme and
            no rule.
        """
        facts = self.facts
        counts = {
            name: len(facts[name]) for name in ("repetitions", "groups", "warnings")
        }
        row = {**facts, "level": facts["threshold"], **counts}
        return build_frame(
            {name: [row.get(name)] for name in GLANCE}, self.backend, GLANCE
        )

    def frontier(self, form: str | None = None) -> Frontier:
        """How large an improvement these draws support: p-values of every delta, the
        edge, and bounds.

        Parameters
        ----------
        form : {"ratio", "difference"}, optional
            Shares or amounts; the question's own form by default.
        """
        return (
            self._frontier
            if form in (None, self.question.claim.form)
            else make_frontier(self, str(form))
        )

    @cached_property
    def _frontier(self) -> Frontier:
        return make_frontier(self, self.question.claim.form)

    def bounds(self, form: str | None = None) -> list[Bound]:
        """What is supported with confidence 1 - alpha, in words; by the signed
        statistic.
        """
        return self.frontier(form).bounds()

    def at_most(self, form: str | None = None) -> list[Bound]:
        """What is ruled out with confidence 1 - alpha, in words: no larger improvement
        is what was tested.
        """
        return self.frontier(form).at_most()

    def __repr__(self) -> str:
        """The verdict in one line."""
        p, repetitions = (
            p_equals(p_text(self.p_value, self.question.draws)),
            len(self.repetitions),
        )
        p += f" (lower median of {repetitions} repetitions)" if repetitions > 1 else ""
        return (
            f"<{type(self).__name__}: {'' if self.reject else 'not '}rejected, {p}, "
            f"{len(self.groups)} groups>"
        )

    def __str__(self) -> str:
        return self.summary()

    # Conveniences that import upward, into `report`, when they are called. There are no
    # others.

    def summary(
        self, verbose: bool = False, about: About | Mapping[str, Any] | None = None
    ) -> str:
        """The verdict, the table, who changes, how firm that is, and the cautions, as
        text.

        Parameters
        ----------
        verbose : bool
            Whether to add definitions, every repetition and the theory's conditions.
        about : About or mapping, optional
            As in `report`.
        """
        from improvable.report.text import summary

        return summary(self._told(about), verbose=verbose)

    def plot(
        self, kind: str = "dumbbells", about: About | Mapping[str, Any] | None = None
    ) -> Any:
        """A picture that a notebook displays and `save` writes to a file.

        Parameters
        ----------
        kind : str
            A picture of `improvable.report.plots.PICTURES`: "dumbbells", every group's
            utility with intervals, and the gap; "map", the sizes of improvement that
            are shown; "people", whom either algorithm selects; "p_values" by condition;
            "tipping" and "unknown", how far memberships may depart from probabilities,
            and unknown outcomes from known ones. None where there is nothing to draw.
        about : About or mapping, optional
            As in `report`.
        """
        from improvable.report.plots import PICTURES

        check_choice("kind", kind, tuple(PICTURES))
        return PICTURES[kind](self._told(about))

    def report(
        self,
        path: str | Path,
        about: About | Mapping[str, Any] | None = None,
        *,
        command: str | None = None,
        data: str | None = None,
    ) -> None:
        """Write a report that a court or a board can read.

        Parameters
        ----------
        path : str or path
            Ends in .html (one file that needs no network), .pdf (extra ``pdf``), .docx
            (extra ``word``), .md or .json (the result itself).
        about : About or mapping, optional
            Whose audit it is, and in what words the report speaks; by default what the
            protocol says.
        command : str, optional
            The command that made the result; by default what its run folder says.
        data : str, optional
            What the data are called; by default what its run folder says.
        """
        from improvable.report.write import write_report

        made = self.made or Provenance()
        write_report(
            self._told(about),
            path,
            command or made.command,
            made.runs,
            data or made.data,
        )

    def _told(self, about: About | Mapping[str, Any] | None) -> Self:
        """The same result in a report's words, which are added to those it has."""
        if about is None:
            return self
        question = replace(
            self.question, about=self.question.about | plain_about(about)
        )
        return replace(cast(Any, self), question=question)  # type: ignore[no-any-return]

    def _repr_html_(self) -> str:
        from improvable.report.html import notebook_html

        return notebook_html(self.facts)


def tidy_rows(facts: Facts) -> dict[str, list[Any]]:
    """The columns of `Result.tidy`."""
    rows: list[dict[str, Any]] = []
    for every, last in zip(
        by_component(facts), deciding(facts)["components"], strict=True
    ):
        estimate = estimate_of(facts, last)
        means: dict[str, Any] = {
            name: estimate[name]["estimate"] for name in ALGORITHMS
        }
        rows.append(
            {
                **last,
                **means,
                "p_median": float(lower_median([one["p_value"] for one in every])),
            }
        )
    return {name: [row[name] for row in rows] for name in TIDY}


def tidy_columns(facts: Facts) -> dict[str, list[Any]]:
    """The columns of `Result.table`; None where there is no such number."""
    rows = [
        _row(facts, repetition, one)
        for repetition in facts["repetitions"]
        for one in repetition["components"]
    ]
    return {name: [row.get(name) for row in rows] for name in COLUMNS}


def _row(
    facts: Facts, repetition: RepetitionFacts, one: ComponentFacts
) -> dict[str, Any]:
    before, after, group = one["status_quo"], one["candidate"], one["group"]
    # What the numbers are about: all blocks of a repetition together, its only block,
    # or the rows of a comparison.
    block = (
        "all rows"
        if facts["kind"] != "audit"
        else "mixture"
        if len(facts["blocks"]["cuts"]) > 1
        else "1"
    )
    row: dict[str, Any] = {
        "repetition": repetition["repetition"],
        "block": block,
        **one,
        "p_repetition": repetition["p_value"],
        "rows": repetition["rows"],
        **{
            f"share_{name}": repetition["share_selected"][name]["test"]
            for name in ALGORITHMS
        },
    }
    if before is not None and after is not None:
        row |= {
            "difference": after - before,
            "ratio": after / before if before else None,
        }
    if one["kind"] == "accuracy" and facts["overall"] is None:
        for found in repetition["intervals"]:
            if (found["measure"], found["group"]) == (one["utility"], group):
                name = found["quantity"]
                row |= {
                    name: found["estimate"],
                    f"{name}_low": found["low"],
                    f"{name}_high": found["high"],
                }
        counts = {
            "selected": "selected",
            "share": "share_selected_by_group",
            "effective": "effective_rows",
        }
        for what, key in counts.items():
            row |= {
                f"{what}_{name}": repetition[key][group][name]  # type: ignore[literal-required]
                for name in ALGORITHMS
            }
    return row
