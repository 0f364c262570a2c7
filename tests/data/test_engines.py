"""Engines open data, and what batches give is put together in any order."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from improvable.data.engines import ENGINES, as_engine
from improvable.data.engines.base import Opener, merge_all
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows
from improvable.data.io.csv import FileFormat


def test_a_new_engine_is_one_declaration(monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens data that are its own without being asked, and is offered where a name
    is misspelled.
    """

    def open_lists(data: Any, workers: int, format_: FileFormat) -> Memory:
        return Memory(read_rows(pl.DataFrame(data), format_), workers)

    monkeypatch.setitem(
        ENGINES, "lists", Opener(open_lists, owns=lambda data: isinstance(data, list))
    )
    rows = [{"x": 1.0, "g": "a"}, {"x": 2.0, "g": "b"}]
    for name in (None, "lists"):
        assert as_engine(rows, name, workers=1).columns == ["x", "g"]
    with pytest.raises(improvable.OptionError, match="which are for 'lists'"):
        as_engine(rows, "memory", workers=1)
    with pytest.raises(improvable.OptionError, match="Did you mean 'lists'"):
        as_engine(rows, "list", workers=1)


@pytest.mark.parametrize("parts", [0, 1, 2, 3, 7, 8, 100])
def test_parts_are_merged_as_a_tree(parts: int) -> None:
    """Each is in the whole once, and merged about as often as the logarithm of their
    number.
    """
    merged = 0

    def merge(one: list[int], other: list[int]) -> list[int]:
        nonlocal merged
        merged += len(one) + len(other)
        return one + other

    found = merge_all(([part] for part in range(parts)), merge)
    assert sorted(found or []) == list(range(parts))
    assert merged <= parts * (np.log2(max(parts, 1)) + 1)
