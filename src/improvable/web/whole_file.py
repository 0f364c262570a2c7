"""Counts of the whole file that the page asks about: rows that lack a value, by group, and what a cutoff selects.

`python -m improvable.web.whole_file FILE ASKED` prints them as JSON, in a process that ends, as `preview` does.
"""

import json
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from improvable.data.engines.memory import Memory
from improvable.data.frames import Rows, incomplete, labels_of, missing_labels
from improvable.data.groups import MOST_LEVELS
from improvable.data.recoding import Values, recode
from improvable.errors import DataError
from improvable.web.preview import answer


def count(rows: Rows, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Rows that lack a value in a column that is needed, and the cutoff that selects a score of so much or more.

    Parameters
    ----------
    rows : Rows
    asked : mapping
        The columns of numbers (`numeric`) and of labels (`labels`, the groups first among them in `group`); what
        values mean (`positive`, `na`, `strip`); and of a score, its column and the least that is selected.
    """
    said = Values((), asked["positive"], tuple(asked["na"]), asked["strip"])
    engine = recode(Memory(rows, 1), said, asked["recoded"], asked["group"])
    assert isinstance(engine, Memory)
    rows = engine.rows
    lacking = incomplete(rows, asked["numeric"], asked["labels"])
    left_out = np.zeros(len(rows), dtype=np.bool_)
    for flags in lacking.values():
        left_out |= flags
    counted: dict[str, Any] = {
        "rows": len(rows),
        "missing": {name: int(flags.sum()) for name, flags in lacking.items()},
        "left_out": int(left_out.sum()),
        "groups": [{"column": name, **one} for name in asked["group"] for one in _by_group(rows, name, left_out)],
    }
    if asked["least"] is not None:
        counted["above"] = _above(rows.numbers(asked["score"]), asked["score"], asked["least"])
    return counted


def _by_group(rows: Rows, name: str, left_out: Any) -> list[dict[str, Any]]:
    known = ~missing_labels(rows, name)
    levels, codes = labels_of(rows.take(np.flatnonzero(known)), name, MOST_LEVELS + 1)
    gone = np.bincount(codes[left_out[known]], minlength=len(levels))
    sizes = np.bincount(codes, minlength=len(levels))
    counts = zip(levels, sizes.tolist(), gone.tolist(), strict=True)
    return [{"group": level, "rows": size, "left_out": lost} for level, size, lost in counts]


def _above(scores: Any, name: str, least: float) -> float:
    """The highest score that is not selected: above it is `least` or more, for every row of this file."""
    known = scores[np.isfinite(scores)]
    if not (known >= least).any():
        raise DataError(
            f"no '{name}' is {least:g} or more: nobody would be selected.", f"The highest is {known.max():g}."
        )
    if not (known < least).any():
        raise DataError(f"every '{name}' is {least:g} or more: everybody would be selected.",
                        f"The lowest is {known.min():g}.")  # fmt: skip
    return float(known[known < least].max())


if __name__ == "__main__":
    asked = json.loads(sys.argv[2])
    sys.exit(answer(partial(count, asked=asked), sys.argv[1], asked["format"]))
