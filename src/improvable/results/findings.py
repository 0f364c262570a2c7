"""What stating and storing need of a result, whatever its class: one tested repetition, and the whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from improvable.data.arrays import FloatArray, IntArray
from improvable.errors import Caution
from improvable.inference.assessment import Assessment
from improvable.inference.evidence import Evidence
from improvable.inference.tally import Counted
from improvable.question.design import Question


@dataclass(frozen=True)
class Census:
    """All rows of an audit or a comparison, by stratum.

    Attributes
    ----------
    rows, weight, selected : array of shape (strata,)
        How many there are, their weight, and how many the status quo selects.
    """

    rows: IntArray
    weight: FloatArray
    selected: IntArray


class Tested(Protocol):
    """One candidate tested against the status quo; see `Comparison`."""

    @property
    def question(self) -> Question: ...
    @property
    def evidence(self) -> Evidence: ...
    @property
    def assessment(self) -> Assessment: ...
    @property
    def rows(self) -> int: ...
    @property
    def clusters(self) -> int | None: ...
    @property
    def selected(self) -> IntArray: ...
    @property
    def sizes(self) -> IntArray: ...
    @property
    def weight(self) -> FloatArray: ...
    @property
    def shares(self) -> dict[str, dict[str, float]]: ...
    @property
    def group_shares(self) -> dict[str, dict[str, float]]: ...
    @property
    def counted(self) -> Counted | None: ...
    @property
    def effective(self) -> dict[str, dict[str, float]]: ...
    @property
    def crossed(self) -> FloatArray | None: ...
    @property
    def cautions(self) -> tuple[Caution, ...]: ...
    @property
    def repetition(self) -> int: ...
    @property
    def notes(self) -> Mapping[str, Any]: ...


class Findings(Protocol):
    """A whole result: a comparison, or an audit with its repetitions."""

    @property
    def question(self) -> Question: ...
    @property
    def repetitions(self) -> Sequence[Tested]: ...
    @property
    def groups(self) -> tuple[str, ...]: ...
    @property
    def p_value(self) -> float: ...
    @property
    def threshold(self) -> float: ...
    @property
    def reject(self) -> bool: ...
    @property
    def census(self) -> Census: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def verdict_warnings(self) -> tuple[str, ...]: ...
