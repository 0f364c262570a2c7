"""What a candidate's test against the status quo found: the result of `compare`, and of each repetition of `audit`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import narwhals as nw

from improvable._typing import FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.errors import Caution, OptionError, nearest
from improvable.inference.cells import STATUS_QUO
from improvable.inference.evidence import Evidence
from improvable.inference.intervals import disparities
from improvable.inference.tally import Counted
from improvable.inference.test import Assessment, assess, threshold_for
from improvable.question.claim import MEANINGS, check_claim, every_delta, make_claim
from improvable.question.design import Question
from improvable.question.options import check_number
from improvable.results import storage
from improvable.results.collect import state
from improvable.results.facts import Facts
from improvable.results.result import HasDigest, Result


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


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """The result of `compare`, and of each repetition of `audit`.

    Attributes
    ----------
    question : Question
        What was asked.
    evidence : Evidence
        Sums and draws; every p-value is computed from these.
    rows : int
        Held-out rows.
    clusters : int or None
        Held-out clusters, where rows were resampled in clusters.
    selected : array of shape (strata, 2)
        Rows with a decision other than 0, by stratum and algorithm.
    sizes, weight : array of shape (strata,)
        Rows by stratum, and their weight.
    shares : dict
        Share selected, by algorithm and sample: the capacity reached.
    group_shares : dict
        Share of each group's held-out rows that is selected, by group and algorithm.
    effective : dict
        What the rows that count are worth in rows of equal weight (Kish), by group and algorithm.
    differing : dict
        By group, the `rows` that the two algorithms treat differently and what they are worth, `effective`.
    corrections : tuple of dict
        Where draws were corrected: `why`, the `utility`, the `group`.
    p_plain : float or None
        The p-value without corrections; None where there are none.
    crossed : array of shape (strata, 4, 4), or None
        Rows or their weight, and their outcomes, of whom both algorithms select, one of them, or neither. None in
        results of earlier versions.
    cautions : tuple of Caution
    repetition : int
        Number of the repetition, from 1; 0 in a plain comparison.
    notes : mapping
        How the candidate was selected: what the rule says of it, and which constraints it reached. Plain data.
    data : Fingerprint, str or None
        The fingerprint of the rows, or how to compute it; None in a repetition, whose audit has it.
    counted : Counted or None
        What the draws were made from; None in a loaded result with too many distinct contributions to keep.
    """

    question: Question
    evidence: Evidence
    rows: int
    clusters: int | None
    selected: IntArray
    sizes: IntArray
    weight: FloatArray
    shares: dict[str, dict[str, float]]
    group_shares: dict[str, dict[str, float]]
    effective: dict[str, dict[str, float]]
    cautions: tuple[Caution, ...]
    backend: nw.Implementation = field(repr=False)
    repetition: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)
    data: HasDigest | str | None = field(default=None, repr=False)
    counted: Counted | None = field(default=None, repr=False, compare=False)
    crossed: FloatArray | None = field(default=None, repr=False)
    differing: dict[str, dict[str, float]] = field(default_factory=dict)
    corrections: tuple[dict[str, str], ...] = ()
    p_plain: float | None = None

    @cached_property
    def assessment(self) -> Assessment:
        return assess(self.evidence, self.question.claim)

    @property
    def groups(self) -> tuple[str, ...]:
        return self.evidence.groups

    @property
    def p_value(self) -> float:
        """The largest of the component p-values."""
        return self.assessment.p_value

    @property
    def level(self) -> float:
        """What the p-value must be strictly below."""
        return threshold_for(self.question.alpha, repetitions=1)

    @property
    def census(self) -> Census:
        """Its rows, and whom the status quo selects of them."""
        return Census(self.sizes, self.weight, self.selected[:, STATUS_QUO])

    @property
    def repetitions(self) -> "tuple[Comparison, ...]":
        """Itself: a comparison is one repetition."""
        return (self,)

    @cached_property
    def facts(self) -> Facts:
        """Everything as plain numbers and text, computed once; to be read, not changed."""
        gaps = disparities(self.evidence, self.question.claim, self.question.alpha)
        own = {
            "rows": self.rows,
            "clusters": self.clusters,
            "data_fingerprint": self.data_fingerprint,
            "seal": None,
        }
        return state("comparison", self, own, gaps)

    def with_claim(self, **changes: Any) -> "Comparison":
        """The same evidence asked another question: at once, from the draws, without data.

        Parameters
        ----------
        **changes
            Any of `delta_accuracy`, `no_worse`, `delta_fairness`, `form`, `gap`, `protected`, `overall`, `ask` and
            `alpha`, as in `compare`; what is not named stays.
        """
        return self.asked(change_question(self.question, self.evidence.attributes, changes))

    def asked(self, question: Question) -> "Comparison":
        """The same evidence beside another question; draws were corrected for the margin of the first one, if any."""
        margins = [min(every_delta(one.claim.delta_accuracy), default=0.0) for one in (self.question, question)]
        cautions = self.cautions
        if margins[1] < 0 and margins[0] != margins[1]:
            text = "these draws were made for a claim without this margin. For rates near 0 or 1 run it again with it."
            cautions = (*cautions, Caution("margin", text))
        parts: tuple[Literal["accuracy", "fairness"], ...] = ("accuracy", "fairness")
        if any(question.claim.asks(one) and not self.question.claim.asks(one) for one in parts):
            text = "what is asked now was not looked at for long tails and few rows. Run it again with this question."
            cautions = (*cautions, Caution("asked later", text))
        return replace(self, question=question, cautions=cautions, p_plain=None)

    def with_cautions(self, cautions: Sequence[Caution]) -> "Comparison":
        """The same result with other warnings; the assessment, if it was made, is kept."""
        changed = replace(self, cautions=tuple(cautions))
        if "assessment" in self.__dict__:
            changed.__dict__["assessment"] = self.assessment
        return changed

    def save(self, folder: str | Path) -> None:
        """Keep the result in a folder, draws included; `improvable.load` brings it back."""
        place = storage.new_folder(folder)
        storage.write_repetition(self, place)
        facts = {"question": self.question.to_dict(), "data_fingerprint": self.data_fingerprint}
        storage.write_head(place, "comparison", facts)


def change_question(question: Question, attributes: Sequence[Attribute], changes: dict[str, Any]) -> Question:
    """Another claim or level for the same evidence."""
    claim, alpha = question.claim, changes.pop("alpha", question.alpha)
    settings = claim.to_dict()
    for name in changes:
        if name not in settings:
            raise OptionError(f"'{name}' cannot be changed without the data.", nearest(name, [*settings, "alpha"]))
    # A margin and its delta are one thing: whichever is changed, the other follows.
    if "delta_accuracy" in changes:
        settings["no_worse"] = None
    elif "no_worse" in changes:
        settings["delta_accuracy"] = 0.0
    accuracy, fairness = ([one.label for one in asked] for asked in (question.accuracy, question.fairness))
    meanings = {name: getattr(claim, name) for name in MEANINGS}
    changed = make_claim(**{**settings, **meanings, **changes}, accuracy=accuracy, fairness=fairness)
    check_claim(changed, [attribute.levels for attribute in attributes], accuracy)
    check_number("alpha", alpha, 0, 0.5)
    return replace(question, claim=changed, alpha=float(alpha))
