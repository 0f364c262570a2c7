"""What is in a data file: its columns, a guess at what each is, and counts that the
page asks for.

`python -m improvable.web.preview FILE ASKED` prints it as JSON: a process of its own
reads a large file and ends, so that the server's memory never holds it. All counts are
of the whole file.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from improvable.data.engines.memory import Memory
from improvable.data.frame import (
    Rows,
    incomplete,
    is_missing,
    labels_of,
    labeltext_of,
    missing_labels,
    read_rows,
)
from improvable.data.groups import MAX_LEVELS as MAX_GROUPS
from improvable.data.io.csv import FileFormat
from improvable.data.quality import plain_spelling
from improvable.data.recode import Values, recode
from improvable.errors import DataError, ImprovableError

MAX_LEVELS = 12
MAX_SPELLED = 60
SHOWN = 4
MAX_LETTERS = 24
NAMES = {
    "weight": r"^(weights?|.*_weight|wt|wt(mec|int|samp).*)$",
    "cluster": r"^(cluster|psu|household|hospital|school|branch|site)(_?id)?$",
    "stratum": r"^(strat(um|a)|sdmvstra)$",
    "row_id": r"^(id|.*[ _]id|seqn|uuid|index)$",
    "group": (
        r"^(race|sex|gender|ethnicity|group|raza|age_group|race_.*|ethnic.*|religion|"
        r"nationality)$"
    ),
    "decision": (
        r"^(decision|decided|approved?|selected|hired|admitted|guideline|screened?|"
        r"enrolled|offer|accepted)$"
    ),
    "score": r"^(.*score.*|risk.*|.*_risk|prob(ability)?|pred(iction)?|rating)$",
    "outcome": (
        r"^(outcome|y|label|target|default(ed)?|repaid|recid.*|two_year_recid|diabetes|"
        r"pass(_bar)?|readmitted|"
        r"productive|success|gagne_sum_t|died|event|paid|performance|churn(ed)?|fraud)$"
    ),
}
"""Names that usually have a role; the first column that fits gets it."""


def preview(rows: Rows) -> dict[str, Any]:
    """Every column: its kind, missing values, levels and first values; and a guess at
    its role.
    """
    columns = [_column(rows, name) for name in rows.columns]
    return {
        "rows": len(rows),
        "columns": columns,
        "roles": guess(columns),
        "notes": list(rows.notes),
    }


def _column(rows: Rows, name: str) -> dict[str, Any]:
    series = rows.frame[name]
    facts: dict[str, Any] = {
        "name": name,
        "kind": "list",
        "missing": 0,
        "values": 0,
        "levels": [],
        "kinds": [],
        "alike": [],
        "id": False,
    }
    if rows.is_nested(name):
        return {
            **facts,
            "first": [_short(str(one)) for one in series.head(SHOWN).to_list()],
        }
    missing = int(missing_labels(rows, name).sum())
    distinct = [one for one in series.unique().to_list() if not is_missing(one)]
    kind = (
        "number" if rows.is_numeric(name) else "date" if rows.is_date(name) else "text"
    )
    first = [
        one for one in series.drop_nulls().head(SHOWN).to_list() if not is_missing(one)
    ]
    texts = [
        f"{one:.6g}" if isinstance(one, float) else labeltext_of(one) for one in first
    ]
    facts |= {
        "kind": kind,
        "missing": missing,
        "values": len(distinct),
        "first": [_short(text) for text in texts],
    }
    if len(distinct) <= MAX_SPELLED:
        counts = Counter(
            labeltext_of(one) for one in series.to_list() if not is_missing(one)
        )
        facts["levels"] = sorted(counts)
        facts["kinds"], facts["alike"] = (
            _spelled(counts) if kind == "text" else (sorted(counts), [])
        )
    if kind == "number" and distinct:
        numbers = rows.numbers(name)
        finite = numbers[np.isfinite(numbers)]
        facts |= (
            {"least": float(finite.min()), "most": float(finite.max())}
            if len(finite)
            else {}
        )
    if len(distinct) == len(rows) - missing > MAX_LEVELS:
        # It differs in every row: an id, if it is text, has the name of one, or counts
        # the rows.
        counts_rows = kind == "number" and facts["most"] - facts["least"] + 1 == len(
            distinct
        )
        named = (
            kind == "number" and re.fullmatch(NAMES["row_id"], name.lower()) is not None
        )
        facts["id"] = kind == "text" or counts_rows or named
    return facts


def _spelled(counts: Mapping[str, int]) -> tuple[list[str], list[list[str]]]:
    """The levels that are left where spellings are one, each as it is mostly written;
    and those with several.
    """
    alike: dict[str, list[str]] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        alike.setdefault(plain_spelling(text), []).append(text)
    return sorted(texts[0] for texts in alike.values()), [
        texts for texts in alike.values() if len(texts) > 1
    ]


def _short(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 1]}…"


def guess(columns: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The likely role of columns, by their names and contents."""
    found: dict[str, str] = {}
    for role, pattern in NAMES.items():
        if role == "score" and "decision" in found.values():
            continue  # a status quo is a column of decisions or a score, not both
        for column in columns:
            name = column["name"]
            if (
                name not in found
                and re.fullmatch(pattern, name.lower())
                and _can_be(role, column)
            ):
                found[name] = role
                break
    return {
        column["name"]: found[column["name"]]
        for column in columns
        if column["name"] in found
    }


def _can_be(role: str, column: Mapping[str, Any]) -> bool:
    numeric, kinds = column["kind"] == "number", len(column["kinds"])
    can: dict[str, bool] = {
        "group": 2 <= kinds <= MAX_LEVELS,
        "decision": kinds == 2,
        "score": numeric and column["values"] > MAX_LEVELS,
        "outcome": numeric or kinds == 2,
        "row_id": bool(column["id"]),
        "weight": numeric,
    }
    return can.get(role, True)


def count(rows: Rows, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Rows that lack a needed value, and the cutoff above which a score is at least the
    lowest that is selected.

    `asked` names columns of numbers (`numeric`), labels (`labels`) and groups
    (`group`), says what values mean (`positive`, `na`, `strip`), and has a score's
    column (`score`) and the lowest that is selected (`least`).
    """
    said = Values((), asked["positive"], tuple(asked["na"]), asked["strip"])
    engine = recode(Memory(rows, 1), said, asked["recoded"], asked["group"])
    assert isinstance(engine, Memory)
    rows = engine.rows
    lacking = incomplete(rows, asked["numeric"], asked["labels"])
    left_out = np.any([np.zeros(len(rows), dtype=np.bool_), *lacking.values()], axis=0)
    counted: dict[str, Any] = {
        "missing": {name: int(flags.sum()) for name, flags in lacking.items()},
        "left_out": int(left_out.sum()),
        "groups": [
            one for name in asked["group"] for one in _by_group(rows, name, left_out)
        ],
    }
    if asked["least"] is not None:
        # The highest score that is not selected: above it is `least` or more, for every
        # row of this file.
        scores = rows.numbers(asked["score"])
        known, least = scores[np.isfinite(scores)], asked["least"]
        below, more = known[known < least], f"'{asked['score']}' is {least:g} or more"
        if len(below) == len(known):
            raise DataError(
                f"no {more}: nobody would be selected.",
                f"The highest is {known.max():g}.",
            )
        if not len(below):
            raise DataError(
                f"every {more}: everybody would be selected.",
                f"The lowest is {known.min():g}.",
            )
        counted["above"] = float(below.max())
    return counted


def _by_group(rows: Rows, name: str, left_out: Any) -> list[dict[str, Any]]:
    known = ~missing_labels(rows, name)
    levels, codes = labels_of(rows.take(np.flatnonzero(known)), name, MAX_GROUPS + 1)
    sizes, gone = (
        np.bincount(some, minlength=len(levels)).tolist()
        for some in (codes, codes[left_out[known]])
    )
    counts = zip(levels, sizes, gone, strict=True)
    return [
        {"group": level, "rows": size, "left_out": lost} for level, size, lost in counts
    ]


def main(path: str, asked: Mapping[str, Any]) -> int:
    """Print what is in a file, or what is counted in it; or in one line why it cannot
    be read.
    """
    try:
        rows = read_rows(path, FileFormat(**asked["format"]).checked())
        facts = count(rows, asked) if "numeric" in asked else preview(rows)
    except ImprovableError as error:
        print(f"improvable: {error}", file=sys.stderr)
        return 2
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
