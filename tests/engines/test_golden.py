"""Every engine gives the golden result that rows in memory give."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest

from golden.corpus import make_result
from golden.differences import compare
from golden.room import Room
from golden.stored import read_stored
from people import write_folder

NAME = "visits, counts"


def find_differences(convert: Callable[[pl.DataFrame], Any]) -> list[str]:
    result = make_result(NAME, Room(order=8, workers=2, convert=convert))
    return [str(difference) for difference in compare(read_stored(NAME), result)]


def to_dask(frame: pl.DataFrame) -> Any:
    return dd.from_pandas(frame.to_pandas(), npartitions=5)


def to_duckdb(frame: pl.DataFrame) -> Any:
    return duckdb.from_arrow(frame.to_arrow())


def to_arrow_dataset(frame: pl.DataFrame) -> Any:
    return ds.dataset(frame.to_arrow())


@pytest.mark.parametrize("convert", [to_dask, to_duckdb, to_arrow_dataset])
def test_engines_in_this_process(convert: Callable[[pl.DataFrame], Any]) -> None:
    assert find_differences(convert) == []


def test_a_folder_of_parquet(tmp_path: Path) -> None:
    def to_folder(frame: pl.DataFrame) -> Path:
        folder = tmp_path / f"rows {len(list(tmp_path.iterdir()))}"
        return write_folder(frame, folder, [0, 300, 1])

    assert find_differences(to_folder) == []


def test_spark(spark: Any) -> None:
    def to_spark(frame: pl.DataFrame) -> Any:
        return spark.createDataFrame(frame.to_arrow()).repartition(3)

    assert find_differences(to_spark) == []
