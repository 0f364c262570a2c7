"""Results in a folder: what was asked and found as JSON, the draws as NumPy arrays, nothing pickled.

A folder holds

- ``result.json``: what was asked, in plain data. It is written last: a folder without it is a run that has not ended.
- ``split-001.npz``, ...: one file per split (one in all for a comparison), with the arrays ``sums``, ``draws``,
  ``training``, ``members`` (see `Evidence`), ``selected``, ``sizes``, ``weight``, and ``meta``, a JSON text with
  everything else.
- ``run.json``: which audit a run in this folder belongs to.

Every file is written under another name and then renamed, so that none is ever half there.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from improvable.data.files import make_folder, write_whole
from improvable.data.groups import Attribute
from improvable.errors import Caution, StorageError
from improvable.inference.estimates import Disparity
from improvable.inference.evidence import Evidence
from improvable.question.design import Question
from improvable.question.utilities import Measure
from improvable.results.comparison import Census, Comparison
from improvable.results.versions import VERSION

if TYPE_CHECKING:
    from improvable.results.audit import Audit

FORMAT = 3
RESULT, RUN = "result.json", "run.json"


def as_json(plain: Mapping[str, Any]) -> bytes:
    return (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode()


def read_json(path: Path) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(
            f"'{path}' cannot be read.", "It is damaged or not one of ours; run the audit again."
        ) from error
    if plain.get("format") != FORMAT:
        raise StorageError(
            f"'{path}' has format {plain.get('format')}, written by version {plain.get('version')}.",
            f"Version {VERSION} reads format {FORMAT}; run the audit again.",
        )
    return plain


def split_path(folder: Path, split: int) -> Path:
    return folder / f"split-{split:03d}.npz"


def write_split(result: Comparison, folder: Path) -> None:
    """Keep one split."""
    evidence = result.evidence
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "split": result.split,
        "seed": result.question.seed,
        "rows": result.rows,
        "clusters": result.clusters,
        "shares": result.shares,
        "notes": dict(result.notes),
        "cautions": [asdict(caution) for caution in result.cautions],
        "attributes": [{"name": a.name, "levels": a.levels} for a in evidence.attributes],
        "measures": [asdict(measure) for measure in evidence.measures],
        "accuracy": evidence.accuracy,
        "fairness": evidence.fairness,
        "method": evidence.method,
    }
    buffer = io.BytesIO()
    np.savez(
        buffer,
        sums=evidence.sums,
        draws=evidence.draws,
        training=evidence.training,
        selected=result.selected,
        sizes=result.sizes,
        weight=result.weight,
        members=np.stack([attribute.member for attribute in evidence.attributes]),
        meta=np.frombuffer(as_json(meta), dtype=np.uint8),
    )
    write_whole(split_path(folder, result.split), buffer.getvalue())


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
        method=meta.get("method", "bootstrap"),
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
        cautions=tuple(Caution(**caution) for caution in meta["cautions"]),
        backend=backend,
        split=meta["split"],
        notes=meta["notes"],
    )


def save_comparison(result: Comparison, folder: str | Path) -> None:
    place = _new_folder(folder)
    write_split(result, place)
    facts = {"question": result.question.to_dict(), "data_fingerprint": result.data_fingerprint}
    write_whole(place / RESULT, as_json(_result_head("comparison") | facts))


def save_audit(result: "Audit", folder: str | Path) -> None:
    place = _new_folder(folder)
    for split in result.splits:
        write_split(split, place)
    write_audit_head(result, place)


def write_audit_head(result: "Audit", folder: Path) -> None:
    """Write what makes a folder of splits a finished audit."""
    plain = _result_head("audit") | {
        "question": result.question.to_dict(),
        "setting": result.setting,
        "data_fingerprint": result.data_fingerprint,
        "census": {name: values.tolist() for name, values in vars(result.census).items()},
        "disparities": [asdict(disparity) for disparity in result.disparities],
        "cautions": [asdict(caution) for caution in result.cautions],
        "splits": [split.split for split in result.splits],
    }
    write_whole(folder / RESULT, as_json(plain))


def _result_head(kind: str) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "kind": kind}


def _new_folder(folder: str | Path) -> Path:
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise StorageError(f"'{place}' is already there and not empty.", "Save into a new folder.")
    make_folder(place)
    return place


def load(folder: str | Path) -> "Audit | Comparison":
    """Bring back a result that was saved, or the result of a run with a run folder.

    The result answers new questions about its evidence with `reconsider`; it has no data, so it has no `substitute`.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    Audit or Comparison
    """
    from improvable.results.audit import Audit

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


def open_run(folder: str | Path, identity: Mapping[str, Any]) -> Path:
    """Open a run folder for this audit; one that belongs to another audit is refused, and says in what they differ."""
    place = Path(folder)
    mine = as_json({"format": FORMAT, "version": VERSION, "audit": identity})
    if (place / RUN).exists():
        theirs = read_json(place / RUN)
        if theirs["version"] != VERSION:
            raise StorageError(
                f"'{place}' was begun by version {theirs['version']}; this is {VERSION}.",
                "Finish it with that version, or use a new folder.",
            )
        ours = json.loads(mine)["audit"]
        different = sorted(key for key in {*ours, *theirs["audit"]} if ours.get(key) != theirs["audit"].get(key))
        if different:
            listed = ", ".join(different).replace("data_fingerprint", "data")
            raise StorageError(
                f"'{place}' belongs to another audit: {listed} differ.", "Use a new folder for this one."
            )
        return place
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise StorageError(f"'{place}' is not empty and not a run folder.", "Use a new folder.")
    make_folder(place)
    write_whole(place / RUN, mine)
    return place


def finished_splits(folder: Path, question: Question, backend: Any) -> dict[int, Comparison]:
    """The splits that are already there, whole."""
    found = [read_split(path, question, backend) for path in sorted(folder.glob("split-*.npz"))]
    return {result.split: result for result in found}
