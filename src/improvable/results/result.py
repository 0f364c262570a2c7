"""The one face of every result: p-value, verdict, hypotheses, table, words, frontier."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from improvable.data.frames import build_frame
from improvable.errors import Caution
from improvable.question.checks import check_choice
from improvable.question.design import Question

if TYPE_CHECKING:
    from improvable.results.frontier import Bound, Frontier


class HasDigest(Protocol):
    """A fingerprint that is computed when it is first asked for."""

    @property
    def digest(self) -> str: ...


class Result(ABC):
    """What `audit` and `compare` return."""

    question: Question
    cautions: tuple[Caution, ...]
    data: HasDigest | str | None
    backend: Any

    @property
    def data_fingerprint(self) -> str | None:
        """A digest of the columns that were read, the same in any order of rows; None where it is not known."""
        return self.data if self.data is None or isinstance(self.data, str) else self.data.digest

    @property
    @abstractmethod
    def p_value(self) -> float:
        """To be compared with `threshold`."""

    @property
    @abstractmethod
    def threshold(self) -> float:
        """What the p-value must be strictly below."""

    @property
    @abstractmethod
    def groups(self) -> tuple[str, ...]: ...

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, ready for JSON."""

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Keep the result in a folder, draws included; `improvable.load` brings it back."""

    @property
    def reject(self) -> bool:
        """Whether the null hypothesis is rejected."""
        return self.p_value < self.threshold

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know, in words."""
        return tuple(caution.text for caution in self.cautions)

    @property
    def null_hypothesis(self) -> str:
        """H0 in words."""
        from improvable.results.words import null_hypothesis

        return null_hypothesis(self.to_dict())

    @property
    def alternative_hypothesis(self) -> str:
        """H1 in words."""
        from improvable.results.words import alternative_hypothesis

        return alternative_hypothesis(self.to_dict())

    def table(self) -> Any:
        """One row per split with estimates, intervals and p-values, as a frame of the caller's own kind."""
        from improvable.results.facts import split_columns

        return build_frame(split_columns(self.to_dict()), self.backend)

    def summary(self) -> str:
        """The paper's table and the verdict in words."""
        from improvable.report.text import summary

        return summary(self.to_dict())

    def __str__(self) -> str:
        return self.summary()

    def plot(self, picture: str = "utilities") -> Any:
        """A picture as an Altair chart.

        Parameters
        ----------
        picture : {"utilities", "surface", "p_values", "intervals"}
            Utilities of two groups (Figure 2), p-values of every delta (Figure 3), p-values by split and component, or
            intervals of every utility.
        """
        from improvable.report import plots

        check_choice("picture", picture, ("utilities", "surface", "p_values", "intervals"))
        return getattr(plots, picture)(self)

    def report(self, path: str | Path, command: str | None = None) -> None:
        """Write a report that a court or a board can read: HTML in one file, or Markdown.

        Parameters
        ----------
        path : str or path
            Ends in .html or .md.
        command : str, optional
            The command that made the result, for its provenance.
        """
        from improvable.report.write import write_report

        write_report(self, path, command)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from improvable.report.html import notebook_html

        return notebook_html(self.to_dict())

    def frontier(self, form: str | None = None) -> "Frontier":
        """How large an improvement these draws support: p-values of every delta, the edge, and bounds.

        Parameters
        ----------
        form : {"ratio", "difference"}, optional
            Shares or amounts; the question's own form by default.
        """
        from improvable.results.frontier import make_frontier

        return make_frontier(self, form)  # type: ignore[arg-type]

    def bounds(self, form: str | None = None) -> "list[Bound]":
        """What is supported with confidence 1 - alpha, in words; by the signed statistic."""
        return self.frontier(form).bounds()
