"""Results brought back from a folder, and the finished repetitions of a run."""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from improvable.data.groups import Attribute
from improvable.data.io.safe import ReceivedError, parse_json, read_arrays
from improvable.errors import Caution, ImprovableError, StorageError
from improvable.inference.evidence import Evidence
from improvable.inference.intervals import Disparity
from improvable.question.design import Question
from improvable.question.options import check_types, conforms
from improvable.question.utility import Measure
from improvable.results.audit import Audit
from improvable.results.comparison import Census, Comparison
from improvable.results.storage import (
    FORMAT,
    KEPT,
    RESULT,
    RUN,
    chain_of,
    counts_from,
    read_json,
    read_provenance,
    repetition_path,
)

MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError)
"""What plain data that are not as we write them can cause, wherever they are first used."""


def read_repetition(path: Path, question: Question, backend: Any, run: str | None = None) -> Comparison:
    """Bring one repetition back; of a `run`, only if it is unchanged and one of its own."""
    try:
        arrays = read_arrays(path)
        meta = parse_json(arrays["meta"].tobytes())
        version = meta["format"]
    except (OSError, EOFError, zipfile.BadZipFile, *MALFORMED) as error:
        raise _damaged(path, error) from error
    if version != FORMAT or isinstance(version, bool):
        raise StorageError(
            f"'{path}' has format {version}.", f"This version reads format {FORMAT}; run the audit again."
        )
    try:
        if repetition_path(path.parent, meta["repetition"]) != path or meta["seed"] != question.seed:
            raise StorageError(f"'{path}' is a repetition of another run.", "Remove it, or use a new folder.")
        chain = arrays.pop("chain", np.empty(0, dtype=np.uint8)).tobytes().decode("ascii", "replace")
        if run is not None and chain != chain_of(arrays, run):
            raise StorageError(
                f"'{path}' was changed, or is a repetition of another run.",
                "Delete it and run the same audit again: only this repetition is redone.",
            )
        return _comparison(meta, arrays, question, backend)
    except MALFORMED as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: BaseException) -> StorageError:
    why = f"{error}" if isinstance(error, ReceivedError) else "is damaged"
    return StorageError(f"'{path}' {why}.", "Delete it and run the same audit again: only this repetition is redone.")


def _comparison(meta: dict[str, Any], arrays: dict[str, Any], question: Question, backend: Any) -> Comparison:
    attributes = tuple(
        Attribute(plain["name"], tuple(plain["levels"]), arrays["members"][a])
        for a, plain in enumerate(meta["attributes"])
    )
    evidence = Evidence(
        attributes=attributes,
        measures=tuple(Measure(**measure) for measure in meta["measures"]),
        accuracy=tuple(meta["accuracy"]),
        fairness=tuple(meta["fairness"]),
        sums=arrays["sums"],
        draws=arrays["draws"],
        training=arrays["training"],
        units=meta["clusters"] or meta["rows"],
        method=meta["method"],
        linear=meta["linear"],
        chosen_here=meta["chosen_here"],
    )
    result = Comparison(
        question=question,
        evidence=evidence,
        **{name: meta[name] for name in KEPT} | {"corrections": tuple(meta["corrections"])},
        selected=arrays["selected"],
        sizes=arrays["sizes"],
        weight=arrays["weight"],
        cautions=tuple(Caution(**caution) for caution in meta["cautions"]),
        backend=backend,
        repetition=meta["repetition"],
        notes=meta["notes"],
        counted=counts_from(meta.get("cells")),
        crossed=arrays["crossed"] if arrays.get("crossed", np.empty(0)).size else None,
    )
    for part in (*attributes, *evidence.measures, evidence, *result.cautions):
        check_types(part)
    _check_numbers(result)
    return result


def _check_numbers(result: Comparison) -> None:
    """Hold arrays to their shapes, to each other, and to being numbers."""
    evidence = result.evidence
    strata, measures = len(evidence.attributes[0].member), sum(not one.formula for one in evidence.measures)
    shapes = {
        "sums": (strata, measures, 2, 2),
        "draws": (result.question.draws, strata, measures, 2, 2),
        "training": (strata, measures, 2),
        "selected": (strata, 2),
        "sizes": (strata,),
        "weight": (strata,),
    }
    for name, shape in shapes.items():
        array = getattr(evidence if name in ("sums", "draws", "training") else result, name)
        kind = "i" if name in ("selected", "sizes") else "f"
        if array.shape != shape or array.dtype.kind != kind or not np.isfinite(array).all():
            raise ValueError(f"{name} of another shape")
    for attribute in evidence.attributes:
        member = attribute.member
        inside = member.dtype.kind == "i" and member.shape == (strata,) and member.min() >= 0
        if not inside or member.max() >= len(attribute.levels) or len(set(attribute.levels)) < len(attribute.levels):
            raise ValueError("groups of another shape")
    read = [place for one in evidence.measures for _, place in one.reads]
    asked = (*evidence.accuracy, *evidence.fairness)
    there = all(0 <= m < len(evidence.measures) for m in asked) and all(0 <= place < measures for place in read)
    if not there or not evidence.accuracy:
        raise ValueError("measures that are not there")
    for value, hint in (
        (result.rows, int), (result.clusters, int | None), (result.repetition, int), (result.notes, dict[str, Any]),
        (result.shares, dict[str, dict[str, float]]), (result.group_shares, dict[str, dict[str, float]]),
    ):  # fmt: skip
        if not conforms(value, hint):
            raise TypeError(f"{value!r}")


def load(folder: str | Path) -> Audit | Comparison:
    """Bring back a result that was saved, or the result of a run with a run folder.

    The result answers new questions about its evidence with `with_claim`; it has no data, so it has no `refit`.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    Audit or Comparison
    """
    place = Path(folder)
    if not place.is_dir():
        raise StorageError(f"there is no folder '{place}'.", "Name the folder of a finished run, or of save.")
    if not (place / RESULT).exists():
        done = len(list(place.glob("repetition-*.npz")))
        what = (
            f"a run that has not ended: {done} repetitions are done" if done or (place / RUN).exists() else "no result"
        )
        raise StorageError(f"'{place}' holds {what}.", "Run the same audit again with this folder to finish it.")
    plain = read_json(place / RESULT)
    try:
        result = _result(place, plain)
        assert result.facts  # what it says is computed here, so that what cannot be said is found here
    except StorageError:
        raise
    except (ImprovableError, *MALFORMED) as error:
        raise StorageError(
            f"'{place / RESULT}' is not as it was written.", "It is damaged or was changed; ask for it again."
        ) from error
    return result


def _result(place: Path, plain: dict[str, Any]) -> Audit | Comparison:
    question = Question.from_dict(plain["question"])
    backend = nw.Implementation.POLARS
    if not conforms(plain.get("data_fingerprint"), str | None):
        raise TypeError("data_fingerprint")
    if plain["kind"] == "comparison":
        return replace(
            read_repetition(repetition_path(place, 0), question, backend), data=plain.get("data_fingerprint")
        )
    if (
        plain["kind"] != "audit"
        or not conforms(plain["repetitions"], list[int])
        or not conforms(plain["setting"], dict[str, Any])
    ):
        raise TypeError("kind, repetitions or setting")
    audit = Audit(
        question=question,
        setting=plain["setting"],
        repetitions=tuple(
            read_repetition(repetition_path(place, repetition), question, backend)
            for repetition in plain["repetitions"]
        ),
        disparities=tuple(Disparity(**disparity) for disparity in plain["disparities"]),
        cautions=tuple(Caution(**caution) for caution in plain["cautions"]),
        census=Census(*(np.array(plain["census"][name]) for name in ("rows", "weight", "selected"))),
        data=plain["data_fingerprint"],
        fit_again=None,
        backend=backend,
        made=read_provenance(place),
    )
    for part in (*audit.disparities, *audit.cautions):
        check_types(part)
    strata = audit.repetitions[0].sizes.shape
    if any(array.shape != strata or array.dtype.kind not in "if" for array in vars(audit.census).values()):
        raise ValueError("census")
    return audit


def finished_repetitions(folder: Path, question: Question, backend: Any, run: str) -> dict[int, Comparison]:
    """The repetitions that are already there, whole, and chained to this run."""
    found = [read_repetition(path, question, backend, run) for path in sorted(folder.glob("repetition-*.npz"))]
    return {result.repetition: result for result in found}
