"""What is in a data file, for the page that asks what each column is.

`python -m improvable.web.preview FILE` prints it as JSON. It is a program of its own, so that a large file is read in a
process that ends, and not in the server's memory.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from improvable.data.frames import Rows, is_missing, read_rows, text_of
from improvable.errors import ImprovableError

LOOKED_AT = 20_000
MOST_LEVELS = 12
SHOWN = 4
NAMES = {
    "weight": r"^(weights?|.*_weight|wt|wt(mec|int|samp).*)$",
    "cluster": r"^(cluster|psu|household|hospital|school|branch|site)(_?id)?$",
    "stratum": r"^(strat(um|a)|sdmvstra)$",
    "row_id": r"^(id|.*_id|seqn|uuid|index)$",
    "group": r"^(race|sex|gender|ethnicity|group|raza|age_group|race_.*|ethnic.*|religion|nationality)$",
    "decision": r"^(decision|decided|approved?|selected|hired|admitted|guideline|screened?|enrolled|offer|accepted)$",
    "score": r"^(.*score.*|risk.*|.*_risk|prob(ability)?|pred(iction)?|rating)$",
    "outcome": (
        r"^(outcome|y|label|target|default(ed)?|repaid|recid.*|two_year_recid|diabetes|pass(_bar)?|readmitted|"
        r"productive|success|gagne_sum_t|died|event|paid|performance)$"
    ),
}
"""Names that usually have a role; the first fitting column of each gets it."""
GOOD = ("yes", "y", "true", "pass", "passed", "approve", "approved", "good", "repaid", "paid", "hired", "1")
"""Levels that usually mean a good outcome."""


def preview(rows: Rows) -> dict[str, Any]:
    """Every column: its kind, missing values, levels and first values; and a guess at its role."""
    looked = rows.take(slice(0, LOOKED_AT))
    columns = [_column(looked, name) for name in rows.columns]
    return {"rows": len(rows), "looked_at": len(looked), "columns": columns, "roles": guess(columns)}


def _column(rows: Rows, name: str) -> dict[str, Any]:
    values = [None if is_missing(value) else value for value in rows.frame[name].to_list()]
    known = [value for value in values if value is not None]
    texts = [f"{value:.6g}" if isinstance(value, float) else str(text_of(value)) for value in known]
    levels = sorted(set(texts))
    numeric = rows.is_numeric(name)
    facts: dict[str, Any] = {
        "name": name,
        "kind": "number" if numeric else "date" if rows.is_date(name) else "text",
        "missing": len(values) - len(known),
        "values": len(levels),
        "levels": levels if len(levels) <= MOST_LEVELS else [],
        "first": texts[:SHOWN],
        "unique": len(levels) == len(known) > MOST_LEVELS,
        "good": next((level for level in levels if level.strip().lower() in GOOD), ""),
    }
    if numeric and known:
        numbers = np.array([float(value) for value in known])
        facts |= {"least": float(numbers.min()), "most": float(numbers.max())}
    return facts


def guess(columns: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The likely role of columns, by their names and contents.

    Examples
    --------
    >>> columns = [
    ...     {"name": "sex", "kind": "text", "values": 2, "unique": False},
    ...     {"name": "repaid", "kind": "number", "values": 2, "unique": False},
    ...     {"name": "lender score", "kind": "number", "values": 900, "unique": False},
    ... ]
    >>> guess(columns)
    {'sex': 'group', 'repaid': 'outcome', 'lender score': 'score'}
    """
    found: dict[str, str] = {}
    for role, pattern in NAMES.items():
        for column in columns:
            fits = re.fullmatch(pattern, str(column["name"]).lower()) and _can_be(role, column)
            if fits and column["name"] not in found and not _taken(role, found):
                found[str(column["name"])] = role
                break
    return {name: found[name] for name in (str(column["name"]) for column in columns) if name in found}


def _can_be(role: str, column: Mapping[str, Any]) -> bool:
    numeric, few = column["kind"] == "number", 2 <= column["values"] <= MOST_LEVELS
    can: dict[str, bool] = {
        "group": few,
        "decision": column["values"] == 2,
        "score": numeric and column["values"] > MOST_LEVELS,
        "outcome": numeric or column["values"] == 2,
        "row_id": bool(column["unique"]),
        "weight": numeric,
    }
    return can.get(role, True)


def _taken(role: str, found: Mapping[str, str]) -> bool:
    """A status quo is a column of decisions or a score, not both."""
    return role == "score" and "decision" in found.values()


def main(path: str) -> int:
    """Print the preview of a file, or one line that says why there is none."""
    try:
        facts = preview(read_rows(path))
    except ImprovableError as error:
        print(f"improvable: {error}", file=sys.stderr)
        return 2
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
