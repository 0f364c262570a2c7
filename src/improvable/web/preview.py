"""What is in a data file, for the page that asks what each column is.

`python -m improvable.web.preview FILE FORMAT` prints it as JSON. It is a program of its own, so that a large file is
read in a process that ends, and not in the server's memory. All counts are of the whole file.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from improvable.data.formats import FileFormat
from improvable.data.frames import Rows, is_missing, labeltext_of, missing_labels, read_rows
from improvable.data.quality import plain_spelling
from improvable.errors import ImprovableError

MOST_LEVELS = 12
MOST_SPELLED = 60
SHOWN = 4
LONGEST = 24
AN_ID = r"(id|.*[ _]id|seqn|uuid|index)"
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
        r"productive|success|gagne_sum_t|died|event|paid|performance|churn(ed)?|fraud)$"
    ),
}
"""Names that usually have a role; the first fitting column of each gets it."""


def preview(rows: Rows) -> dict[str, Any]:
    """Every column: its kind, missing values, levels and first values; and a guess at its role."""
    columns = [_column(rows, name) for name in rows.columns]
    return {"rows": len(rows), "columns": columns, "roles": guess(columns), "notes": [note.text for note in rows.notes]}


def _column(rows: Rows, name: str) -> dict[str, Any]:
    numeric, series = rows.is_numeric(name), rows.frame[name]
    if rows.is_nested(name):
        return {**_facts(name, "list", 0, 0), "first": [_short(str(one)) for one in series.head(SHOWN).to_list()]}
    missing = int(missing_labels(rows, name).sum())
    distinct = [one for one in series.unique().to_list() if not is_missing(one)]
    kind = "number" if numeric else "date" if rows.is_date(name) else "text"
    facts = _facts(name, kind, missing, len(distinct))
    facts["first"] = [_short(_text(one)) for one in series.drop_nulls().head(SHOWN).to_list() if not is_missing(one)]
    if len(distinct) <= MOST_SPELLED:
        counts = Counter(labeltext_of(one) for one in series.to_list() if not is_missing(one))
        facts["levels"] = sorted(counts)
        facts["kinds"], facts["alike"] = _spelled(counts) if kind == "text" else (sorted(counts), [])
    if numeric and distinct:
        numbers = rows.numbers(name)
        finite = numbers[np.isfinite(numbers)]
        facts |= {"least": float(finite.min()), "most": float(finite.max())} if len(finite) else {}
    facts["id"] = len(distinct) == len(rows) - missing > MOST_LEVELS and _is_id(facts)
    return facts


def _facts(name: str, kind: str, missing: int, values: int) -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "missing": missing, "values": values, "levels": [], "kinds": [], "alike": [],
        "first": [], "id": False,
    }  # fmt: skip


def _spelled(counts: Mapping[str, int]) -> tuple[list[str], list[list[str]]]:
    """The levels that are left where spellings are one, each as it is mostly written; and those with several."""
    alike: dict[str, list[str]] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        alike.setdefault(plain_spelling(text), []).append(text)
    return sorted(texts[0] for texts in alike.values()), [texts for texts in alike.values() if len(texts) > 1]


def _is_id(facts: Mapping[str, Any]) -> bool:
    """Whether a column that differs in every row numbers them: a text, a telling name, or whole numbers in turn."""
    if facts["kind"] != "number":
        return bool(facts["kind"] == "text")
    in_turn = facts["most"] - facts["least"] + 1 == facts["values"]
    return in_turn or re.fullmatch(AN_ID, str(facts["name"]).lower()) is not None


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else labeltext_of(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def guess(columns: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The likely role of columns, by their names and contents.

    Examples
    --------
    >>> columns = [
    ...     {"name": "sex", "kind": "text", "values": 2, "kinds": ["f", "m"], "id": False},
    ...     {"name": "repaid", "kind": "number", "values": 2, "kinds": ["0", "1"], "id": False},
    ...     {"name": "lender score", "kind": "number", "values": 900, "kinds": [], "id": False},
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
    numeric, kinds = column["kind"] == "number", len(column["kinds"])
    can: dict[str, bool] = {
        "group": 2 <= kinds <= MOST_LEVELS,
        "decision": kinds == 2,
        "score": numeric and column["values"] > MOST_LEVELS,
        "outcome": numeric or kinds == 2,
        "row_id": bool(column["id"]),
        "weight": numeric,
    }
    return can.get(role, True)


def _taken(role: str, found: Mapping[str, str]) -> bool:
    """A status quo is a column of decisions or a score, not both."""
    return role == "score" and "decision" in found.values()


def answer(work: Callable[[Rows], dict[str, Any]], path: str, said: Mapping[str, str]) -> int:
    """Print what is found in a file that is written as was said, or one line that says why nothing is."""
    try:
        facts = work(read_rows(path, FileFormat(**said).checked()))
    except ImprovableError as error:
        print(f"improvable: {error}", file=sys.stderr)
        return 2
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(answer(preview, sys.argv[1], json.loads(sys.argv[2])))
