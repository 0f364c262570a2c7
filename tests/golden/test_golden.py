"""Every golden result is what it was, in another order of rows, with more workers."""

import zlib
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from golden.audits import PROGRAMS, RULES
from golden.changes import put_headlines_first
from golden.corpus import CORPUS, make_result
from golden.differences import compare
from golden.room import Room
from golden.stored import find_path, list_stale, read_stored
from improvable.algorithms.rules import FAMILIES

MOST_LINES = 20


def write_csv(frame: pl.DataFrame) -> str:
    frame.write_csv("rows.csv")
    return "rows.csv"


def write_parquet(frame: pl.DataFrame) -> str:
    frame.write_parquet("rows.parquet", row_group_size=137)
    return "rows.parquet"


def to_arrow_types(frame: pl.DataFrame) -> Any:
    return frame.to_pandas(use_pyarrow_extension_array=True)


FRAMES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": pl.DataFrame.to_pandas,
    "pandas with Arrow's types": to_arrow_types,
    "pyarrow": pl.DataFrame.to_arrow,
    "CSV": write_csv,
    "Parquet": write_parquet,
}


def choose_room(name: str) -> Room:
    """Another order of rows and other workers than results are stored with."""
    number = zlib.crc32(name.encode())
    return Room(order=number, workers=1 + number % 2)


def describe_differences(name: str, room: Room) -> str:
    """The differences of a result from the stored one, a line each."""
    differences = compare(read_stored(name), make_result(name, room))
    differences = put_headlines_first(differences)
    lines = [f"{name}: {difference}" for difference in differences[:MOST_LINES]]
    hidden = len(differences) - MOST_LINES
    if hidden > 0:
        lines.append(f"and {hidden} more")
    return "\n".join(lines)


@pytest.mark.parametrize("name", CORPUS)
def test_golden(name: str) -> None:
    assert find_path(name).exists(), f"{name} is not stored yet; see CONTRIBUTING.md"
    room = choose_room(name)
    text = describe_differences(name, room)
    if text and not describe_differences(name, Room()):
        text = f"only in another order of rows, or with {room.workers} workers:\n{text}"
    assert not text, f"\n{text}\nIf it is meant: make accept (see CONTRIBUTING.md)"


@pytest.mark.parametrize("frame", FRAMES)
def test_every_kind_of_frame_gives_the_same_result(frame: str) -> None:
    room = Room(order=5, convert=FRAMES[frame])
    text = describe_differences("loans, linear, forward", room)
    assert not text, f"\n{text}"


@pytest.mark.parametrize("frame", ["pandas", "pyarrow", "CSV", "Parquet"])
def test_mixed_columns_give_the_same_result(frame: str) -> None:
    """Integers above 2**53, small integers, truth values, text and missing values."""
    room = Room(order=5, convert=FRAMES[frame])
    text = describe_differences("visits, counts", room)
    assert not text, f"\n{text}"


def test_every_rule_is_there_by_both_schemes() -> None:
    rules = [settings["rule"] for settings in (RULES | PROGRAMS).values()]
    names = {str(rule).partition(":")[0] for rule in rules}
    assert set(FAMILIES) <= names


def test_no_stored_result_is_without_an_entry() -> None:
    assert list_stale(CORPUS) == []


def test_names_are_told_apart_as_files() -> None:
    assert len({find_path(name) for name in CORPUS}) == len(CORPUS)
