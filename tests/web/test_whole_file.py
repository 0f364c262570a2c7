"""What the page says of a file is counted in all of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from improvable.data.frame import read_rows
from improvable.errors import DataError
from improvable.web.preview import count, preview

ASKED: dict[str, Any] = {
    "format": {},
    "positive": {"default": "no"},
    "na": [],
    "strip": True,
    "numeric": ["default"],
    "recoded": ["default"],
    "group": ["sex"],
    "labels": ["sex"],
    "score": "",
    "least": None,
}


def test_a_late_value_is_seen() -> None:
    """A third level in row 30,000 is a third level."""
    rows = 30_000
    levels = ["yes", "no"] * (rows // 2 - 1) + ["Yes", None]
    found = preview(
        read_rows(pl.DataFrame({"default": levels, "sex": ["F", "M"] * (rows // 2)}))
    )
    default = found["columns"][0]
    assert (found["rows"], default["values"], default["missing"]) == (rows, 3, 1)
    assert (default["kinds"], default["alike"]) == (["no", "yes"], [["yes", "Yes"]])


@pytest.mark.parametrize(
    ("values", "is_id"),
    [
        (list(range(100, 200)), True),
        ([f"L{i}" for i in range(100)], True),
        ([i * 7 for i in range(100)], False),
        ([i / 7 for i in range(100)], False),
        ([1, *range(1, 100)], False),
    ],
)
def test_what_numbers_the_rows_is_an_id(values: list[Any], is_id: bool) -> None:
    assert (
        preview(read_rows(pl.DataFrame({"amount": values})))["columns"][0]["id"]
        is is_id
    )


def test_rows_that_lack_a_value_are_counted_by_group() -> None:
    frame = pl.DataFrame(
        {
            "default": ["no", None, "yes", None, "no", "9"],
            "sex": ["F", "F", "M", "m", "M", None],
        }
    )
    counted = count(read_rows(frame), {**ASKED, "na": ["9"]})
    assert counted["missing"] == {"default": 3, "sex": 1}
    assert counted["left_out"] == 3
    assert counted["groups"] == [
        {"group": "F", "rows": 2, "left_out": 1},
        {"group": "M", "rows": 3, "left_out": 1},
    ]


def test_so_much_or_more_selects_exactly_those() -> None:
    rng = np.random.default_rng(0)
    for scores in (
        rng.integers(300, 850, 500).astype(float),
        rng.normal(620, 50, 500),
        np.array([0.1, 0.2, 0.3, 0.3]),
    ):
        least = float(np.quantile(scores, 0.6, method="nearest"))
        frame = pl.DataFrame(
            {
                "score": scores,
                "default": ["no", "yes"] * (len(scores) // 2),
                "sex": ["F"] * len(scores),
            }
        )
        above = count(read_rows(frame), {**ASKED, "score": "score", "least": least})[
            "above"
        ]
        assert ((scores > above) == (scores >= least)).all()


@pytest.mark.parametrize(
    ("least", "said"),
    [(900.0, "nobody would be selected"), (1.0, "everybody would be selected")],
)
def test_a_cutoff_that_divides_nobody_is_refused(least: float, said: str) -> None:
    frame = pl.DataFrame(
        {"score": [500, 600], "default": ["no", "yes"], "sex": ["F", "M"]}
    )
    with pytest.raises(DataError, match=said):
        count(read_rows(frame), {**ASKED, "score": "score", "least": least})


@pytest.mark.parametrize("asked", [{"format": {}}, ASKED])
def test_a_program_says_in_one_line_what_is_wrong(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "empty.csv").write_text("")
    words = [
        sys.executable,
        "-m",
        "improvable.web.preview",
        str(tmp_path / "empty.csv"),
    ]
    done = subprocess.run(
        [*words, json.dumps(asked)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("improvable: ")
    assert done.stderr.count("\n") == 1
