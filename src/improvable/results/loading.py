"""Results brought back from a folder, and the finished splits of a run."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from improvable.data.groups import Attribute
from improvable.errors import Caution, StorageError
from improvable.inference.estimates import Disparity
from improvable.inference.evidence import Evidence
from improvable.question.design import Question
from improvable.question.utilities import Measure
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.findings import Census
from improvable.results.storage import FORMAT, RESULT, RUN, read_json, split_path


def read_split(path: Path, question: Question, backend: Any) -> Comparison:
    """Bring one split back."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays["meta"].tobytes())
        version = meta["format"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise StorageError(
            f"'{path}' is damaged.", "Delete it and run the same audit again: only this split is redone."
        ) from error
    if version != FORMAT:
        raise StorageError(
            f"'{path}' has format {version}.", f"This version reads format {FORMAT}; run the audit again."
        )
    if split_path(path.parent, meta["split"]) != path or meta["seed"] != question.seed:
        raise StorageError(f"'{path}' is a split of another run.", "Remove it, or use a new folder.")
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
        method=meta["method"],
        chosen_here=meta["chosen_here"],
    )
    return Comparison(
        question=question,
        evidence=evidence,
        rows=meta["rows"],
        clusters=meta["clusters"],
        selected=arrays["selected"],
        sizes=arrays["sizes"],
        weight=arrays["weight"],
        shares=meta["shares"],
        group_shares=meta["group_shares"],
        cautions=tuple(Caution(**caution) for caution in meta["cautions"]),
        backend=backend,
        split=meta["split"],
        notes=meta["notes"],
        crossed=arrays["crossed"] if arrays.get("crossed", np.empty(0)).size else None,
    )


def load(folder: str | Path) -> Audit | Comparison:
    """Bring back a result that was saved, or the result of a run with a run folder.

    The result answers new questions about its evidence with `reconsider`; it has no data, so it has no `substitute`.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    Audit or Comparison
    """
    place = Path(folder)
    if not place.is_dir():
        raise StorageError(f"there is no folder '{place}'.", "Name a folder of improvable audit --out, or of save.")
    if not (place / RESULT).exists():
        done = len(list(place.glob("split-*.npz")))
        what = f"a run that has not ended: {done} splits are done" if done or (place / RUN).exists() else "no result"
        raise StorageError(f"'{place}' holds {what}.", "Run the same audit again with this folder to finish it.")
    plain = read_json(place / RESULT)
    question = Question.from_dict(plain["question"])
    backend = nw.Implementation.POLARS
    if plain["kind"] == "comparison":
        return replace(read_split(split_path(place, 0), question, backend), data=plain.get("data_fingerprint"))
    return Audit(
        question=question,
        setting=plain["setting"],
        splits=tuple(read_split(split_path(place, split), question, backend) for split in plain["splits"]),
        disparities=tuple(Disparity(**disparity) for disparity in plain["disparities"]),
        cautions=tuple(Caution(**caution) for caution in plain["cautions"]),
        census=Census(*(np.array(plain["census"][name]) for name in ("rows", "weight", "selected"))),
        data=plain["data_fingerprint"],
        refit=None,
        backend=backend,
    )


def finished_splits(folder: Path, question: Question, backend: Any) -> dict[int, Comparison]:
    """The splits that are already there, whole."""
    found = [read_split(path, question, backend) for path in sorted(folder.glob("split-*.npz"))]
    return {result.split: result for result in found}
