"""The small functions by which data are read, each on an example."""

from pathlib import Path

import polars as pl
import pytest

from improvable.data.frame import read_rows
from improvable.data.groups import read_groups
from improvable.data.io.csv import find_decimal, find_separator, uneven_line
from improvable.data.io.safe import ReceivedError, parse_json
from improvable.data.keys import Keying, plain_time
from improvable.data.quality import flag_code_cautions, plain_spelling, written_number
from improvable.question.settings import Groups


def test_groups_stand_side_by_side_or_are_crossed() -> None:
    rows = read_rows(pl.DataFrame({"race": ["b", "w", "w"], "sex": ["f", "f", "m"]}))
    beside = read_groups(rows, Groups(("race", "sex"))).grouping.attributes
    assert [one.levels for one in beside] == [("race=b", "race=w"), ("sex=f", "sex=m")]
    (crossed,) = read_groups(
        rows, Groups(("race", "sex"), cross=True)
    ).grouping.attributes
    assert crossed.levels == ("b, f", "w, f", "w, m")


def test_a_key_follows_from_the_content_of_a_row() -> None:
    whole = read_rows(pl.DataFrame({"y": [1, 2, 2], "g": ["a", "b", "b"]}))
    real = read_rows(pl.DataFrame({"g": ["a", "b", "b"], "y": [1.0, 2.0, 2.0]}))
    keys = Keying(1).of(whole, ["y", "g"])
    assert (keys == Keying(1).of(real, ["g", "y"])).all()
    assert keys[1] == keys[2] != keys[0]


def test_a_code_for_missing_among_zeros_and_ones() -> None:
    (caution,) = flag_code_cautions({"sick": {0.0: 60, 1.0: 37, 9.0: 3}})
    assert caution.text.startswith(
        "the outcome 'sick' is 0 and 1, but for 9 in 3 rows. If"
    )


def test_spellings_and_numbers() -> None:
    assert plain_spelling(" Not  Hispanic ") == "not hispanic"
    assert plain_spelling("cafe\u0301") == plain_spelling("ca\u200bf\u00e9")
    written = [
        written_number(text) for text in ("230,000", " $12.50 ", "2011-12", "02139")
    ]
    assert written == [230_000.0, 12.5, None, None]


def test_times_are_spelled_in_one_way() -> None:
    assert plain_time("2020-03-12T21:23:29.000000") == "2020-03-12 21:23:29"
    assert (
        plain_time("2020-08-02T10:00:00.500000+0000")
        == "2020-08-02 10:00:00.500000+00:00"
    )
    assert plain_time("10:00 T") == "10:00 T"


def test_separators_decimal_marks_and_uneven_lines() -> None:
    assert find_separator(b"a;b\n1,5;2,5\n", Path("eu.csv")) == ";"
    assert find_decimal([{".", ","}, {","}], ",") == ","
    assert (find_decimal([{".", ","}], ","), find_decimal([{".", ","}], ";")) == (
        ".",
        ",",
    )
    assert uneven_line(b"a,b\n1,2\n\n3\n", ",") == (4, 1, 2)


def test_json_that_says_a_key_twice() -> None:
    with pytest.raises(ReceivedError, match="says a key twice"):
        parse_json(b'{"p": 1, "p": 2}')
