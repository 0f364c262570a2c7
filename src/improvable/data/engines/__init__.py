"""Engines: where rows live. A new one is a file with an `open_...` function, and one line below."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from improvable.data.engines.arrow import open_arrow
from improvable.data.engines.base import Engine
from improvable.data.engines.dask import open_dask
from improvable.data.engines.duckdb import open_duckdb
from improvable.data.engines.memory import open_memory
from improvable.data.engines.spark import open_spark
from improvable.data.frame import FrameLike
from improvable.data.io.csv import UNSAID, FileFormat
from improvable.errors import OptionError, nearest
from improvable.question.settings import EngineName

ENGINES: dict[str, Callable[[Any, int, FileFormat], Engine]] = {
    "memory": open_memory,
    "arrow": open_arrow,
    "dask": open_dask,
    "spark": open_spark,
    "duckdb": open_duckdb,
}

__all__ = ["ENGINES", "Engine", "as_engine", "home_of"]


def home_of(data: FrameLike) -> EngineName | None:
    """The engine that data need by their nature; None where they are in memory, or fit there as one file."""
    if isinstance(data, str | PathLike):
        return "arrow" if Path(data).is_dir() else None
    package, name = type(data).__module__.split(".")[0], type(data).__name__
    if package in ("dask", "dask_expr"):
        return "dask"
    if package == "pyspark":
        return "spark"
    if package in ("duckdb", "_duckdb"):
        return "duckdb"
    return "arrow" if package == "pyarrow" and name.endswith("Dataset") else None


def as_engine(data: FrameLike, engine: str | None, workers: int, format_: FileFormat = UNSAID) -> Engine:
    """The engine asked for, or the one that the data need: frames and single files are rows in memory.

    Data that can `fold` are an engine themselves.
    """
    if hasattr(data, "fold") and hasattr(data, "backend"):
        own: Engine = data
        return own
    home = home_of(data)
    name = engine or home or "memory"
    if name not in ENGINES:
        raise OptionError(f"there is no engine '{name}'.", nearest(name, ENGINES))
    folder = isinstance(data, str | PathLike)
    if home is not None and name != home and not (folder and name in ("dask", "spark")):
        raise OptionError(f"engine '{name}' cannot read these data, which are for '{home}'.", f"Use `engine={home!r}`.")
    if name == "duckdb" and home != "duckdb":
        raise OptionError("engine 'duckdb' reads relations.", "Give one, such as duckdb.sql('select ...').")
    return ENGINES[name](str(data) if isinstance(data, PathLike) else data, workers, format_)
