"""What a candidate's test against the status quo found: the result of `compare`, and of
each repetition of `audit`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import narwhals as nw
import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.data.keys import Fingerprint
from improvable.errors import Caution
from improvable.inference.evidence import Evidence
from improvable.inference.intervals import Disparity, disparities
from improvable.inference.tally import Counted
from improvable.inference.test import Assessment, assess
from improvable.question.design import Question
from improvable.question.options import check_types, conforms
from improvable.question.utility import Measure
from improvable.results import storage
from improvable.results.facts import CountFacts
from improvable.results.result import Result

ARRAYS = ("sums", "draws", "training")  # of `Evidence`, stored beside those of `Census`


@dataclass(frozen=True)
class Census:
    """All rows of an audit or a comparison: one number per stratum."""

    rows: IntArray
    weight: FloatArray
    selected: IntArray  # by the status quo


CENSUS = tuple(Census.__annotations__)


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """The result of `compare`, and of each repetition of `audit`.

    Attributes
    ----------
    question : Question
        What was asked.
    evidence : Evidence
        Sums and draws; every p-value is computed from these.
    counts : CountFacts
        What was counted in the held-out rows, as plain data that is stored and stated
        as it is.
    census : Census
        Held-out rows by stratum, and whom the status quo selects of them.
    cautions : tuple of Caution
    repetition : int
        Number of the repetition, from 1; 0 in a plain comparison.
    notes : mapping
        How the candidate was selected: what the rule says of it, and which constraints
        it reached. Plain data.
    data : Fingerprint, str or None
        The fingerprint of the rows, or how to compute it; None in a repetition, whose
        audit has it.
    counted : Counted or None
        What the draws were made from; None in a loaded result with too many distinct
        contributions to keep.
    """

    question: Question
    evidence: Evidence
    counts: CountFacts
    census: Census = field(repr=False)
    cautions: tuple[Caution, ...]
    backend: nw.Implementation = field(repr=False)
    repetition: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)
    data: Fingerprint | str | None = field(default=None, repr=False)
    counted: Counted | None = field(default=None, repr=False, compare=False)

    @property
    def rows(self) -> int:
        """Held-out rows."""
        return self.counts["rows"]

    @property
    def clusters(self) -> int | None:
        """Held-out clusters, where rows were resampled in clusters."""
        return self.counts["clusters"]

    @cached_property
    def assessment(self) -> Assessment:
        return assess(self.evidence, self.question.claim)

    @property
    def p_value(self) -> float:
        """The largest of the component p-values."""
        return self.assessment.p_value

    @property
    def repetitions(self) -> "tuple[Comparison, ...]":
        """Itself: a comparison is one repetition."""
        return (self,)

    def _own(self) -> tuple[str, dict[str, Any], Sequence[Disparity]]:
        own = {
            "rows": self.rows,
            "clusters": self.clusters,
            "data_fingerprint": self.data_fingerprint,
            "seal": None,
        }
        return (
            "comparison",
            own,
            disparities(self.evidence, self.question.claim, self.question.alpha),
        )

    def asked(self, question: Question) -> Self:
        """The same evidence beside another question; draws were corrected for the
        margin of the first one, if any.
        """
        margin = question.claim.margin
        cautions = self.cautions
        if margin > 0 and margin != self.question.claim.margin:
            text = (
                "these draws were made for a claim without this margin. For rates near "
                "0 or 1 run it again with it."
            )
            cautions = (*cautions, Caution("margin", text))
        if question.claim.ask != self.question.claim.ask != "both":
            text = (
                "what is asked now was not looked at for long tails and few rows. Run "
                "it again with this question."
            )
            cautions = (*cautions, Caution("asked later", text))
        return replace(
            self,
            question=question,
            cautions=cautions,
            counts={**self.counts, "p_plain": None},
        )

    def with_cautions(self, cautions: Sequence[Caution], **others: Any) -> Self:
        """The same evidence and question with other warnings, or other notes; an
        assessment that was made is kept.
        """
        changed = replace(self, cautions=tuple(cautions), **others)
        if "assessment" in self.__dict__:
            changed.__dict__["assessment"] = self.assessment
        return changed

    def save(self, folder: str | Path) -> None:
        """Keep the result in a folder, draws included; `improvable.load` brings it
        back.
        """
        place = storage.new_folder(folder)
        storage.write_repetition(self, place)
        told = {
            "question": self.question.to_dict(),
            "data_fingerprint": self.data_fingerprint,
        }
        storage.write_json(place / storage.RESULT, kind="comparison", **told)

    def stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Everything but the question, as plain data and as arrays."""
        evidence = self.evidence
        meta = {
            "repetition": self.repetition,
            "seed": self.question.seed,
            "counts": self.counts,
            "notes": dict(self.notes),
            "cautions": [asdict(caution) for caution in self.cautions],
            "attributes": [
                {"name": one.name, "levels": one.levels} for one in evidence.attributes
            ],
            "measures": [asdict(measure) for measure in evidence.measures],
            "accuracy": evidence.accuracy,
            "fairness": evidence.fairness,
            "method": evidence.method,
            "chosen_here": evidence.chooses_here,
            "linear": evidence.linear,
            "cells": storage.plain_counts(self.counted),
        }
        arrays = {name: getattr(evidence, name) for name in ARRAYS} | vars(self.census)
        return meta, arrays | {
            "members": np.stack([attribute.member for attribute in evidence.attributes])
        }


def read_repetition(
    path: Path, question: Question, backend: Any, run: str | None = None
) -> Comparison:
    """Bring one repetition back; one of a `run` only if it is unchanged and the run's
    own.
    """
    meta, arrays = storage.read_repetition(path, question.seed, run)
    try:
        return _from_stored(meta, arrays, question, backend)
    except storage.MALFORMED as error:
        raise storage.damaged(path, error) from error


def _from_stored(
    meta: dict[str, Any], arrays: dict[str, Any], question: Question, backend: Any
) -> Comparison:
    """What `Comparison.stored` gave, held to its types, its shapes and itself."""
    counts, named = (
        meta["counts"],
        zip(meta["attributes"], arrays["members"], strict=True),
    )
    evidence = Evidence(
        attributes=tuple(
            Attribute(one["name"], tuple(one["levels"]), member)
            for one, member in named
        ),
        measures=tuple(Measure(**measure) for measure in meta["measures"]),
        accuracy=tuple(meta["accuracy"]),
        fairness=tuple(meta["fairness"]),
        units=counts["clusters"] or counts["rows"],
        **{name: meta[name] for name in ("method", "linear", "chosen_here")},
        **{name: arrays[name] for name in ARRAYS},
    )
    result = Comparison(
        question=question,
        evidence=evidence,
        counts=counts,
        census=Census(*(arrays[name] for name in CENSUS)),
        cautions=tuple(Caution(**caution) for caution in meta["cautions"]),
        backend=backend,
        repetition=meta["repetition"],
        notes=meta["notes"],
        counted=storage.counts_from(meta.get("cells")),
    )
    for part in (*evidence.measures, evidence, *result.cautions):
        check_types(part)
    check_attributes(evidence.attributes)
    if not conforms(counts, CountFacts) or not conforms(result.notes, dict[str, Any]):
        raise TypeError("counts or notes")
    strata, measures = (
        len(evidence.attributes[0].member),
        sum(not one.formula for one in evidence.measures),
    )
    shapes = {
        "sums": (strata, measures, 2, 2),
        "draws": (question.draws, strata, measures, 2, 2),
        "training": (strata, measures, 2),
        **dict.fromkeys(CENSUS, (strata,)),
    }
    for name, shape in shapes.items():
        kind = "i" if name in ("rows", "selected") else "f"
        if (
            arrays[name].shape != shape
            or arrays[name].dtype.kind != kind
            or not np.isfinite(arrays[name]).all()
        ):
            raise ValueError(f"{name} of another shape")
    read = [place for one in evidence.measures for _, place in one.reads]
    there = all(0 <= m < len(evidence.measures) for m in evidence.asked) and all(
        0 <= m < measures for m in read
    )
    if not there or not evidence.accuracy:
        raise ValueError("measures that are not there")
    return result


def check_attributes(attributes: Sequence[Attribute], least: int = -1) -> None:
    """Refuse groups that cannot be ours: of another type or shape, named twice, or
    without a level from `least` up.
    """
    for one in attributes:
        check_types(one)
        shaped = one.member.dtype.kind == "i" and one.member.shape == (
            attributes[0].member.size,
        )
        known = set(range(least, len(one.levels)))
        if (
            not shaped
            or len(set(one.levels)) < len(one.levels)
            or not set(one.member.tolist()) <= known
        ):
            raise ValueError("groups of another shape")


def finished_repetitions(
    folder: Path, question: Question, backend: Any, run: str
) -> dict[int, Comparison]:
    """The repetitions that are already there, whole, and chained to this run."""
    found = [
        read_repetition(path, question, backend, run)
        for path in sorted(folder.glob("repetition-*.npz"))
    ]
    return {result.repetition: result for result in found}
