"""Data that many tests share."""

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from improvable._typing import FloatArray, IntArray

settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")
# as wide wherever tests run: make hands the terminal's width on
os.environ["COLUMNS"] = "100"
if sys.dont_write_bytecode:
    # Tests start Python a few hundred times. Where bytecode is switched off, as in many
    # containers, each start would compile all that it imports: two thirds of its time.
    # So they share bytecode that is kept beside pytest's cache.
    sys.dont_write_bytecode, sys.pycache_prefix = (
        False,
        str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode"),
    )
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    # of files that are gone
    shutil.rmtree(f"{sys.pycache_prefix}{tempfile.gettempdir()}", ignore_errors=True)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, which is never part of the project."""
    here = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("IMPROVABLE_DATA", here))
    if not (folder / "compas.csv").exists():
        pytest.skip(f"no real data in {folder}; name their folder in IMPROVABLE_DATA")
    return folder


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Engines are tested where they are installed, and only when asked for: `make
    test-engines`.
    """
    asked = any("engines" in argument for argument in config.args)
    return (
        True
        if collection_path.name == "engines"
        and "tests" in collection_path.parts
        and not asked
        else None
    )


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of garbage collection, which else walks it
    again and again.
    """
    gc.collect()
    gc.freeze()


class Case:
    """A sample of outcomes, decisions and groups in which group 0 of the status quo
    stands above group 1.
    """

    def __init__(self, seed: int = 0, rows: int = 500, prices: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.group: IntArray = (rng.random(rows) < 0.5).astype(np.int64)
        need = rng.normal(0.6 * (self.group == 0), 1.0)
        self.binary: FloatArray = (need + rng.normal(0, 0.7, rows) > 0).astype(float)
        self.count: FloatArray = rng.poisson(np.exp(0.5 * need + 0.5)).astype(float)
        first, second = need + rng.normal(0, 1.5, rows), need + rng.normal(0, 0.8, rows)
        if prices:
            self.decisions = [
                np.round(np.exp(0.3 * first), 1),
                np.round(np.exp(0.3 * second), 1),
            ]
        else:
            self.decisions = [(first > 0.4).astype(float), (second > 0.5).astype(float)]

    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "binary": self.binary,
                "count": self.count,
                "group": np.array(["a", "b"])[self.group],
                "now": self.decisions[0],
                "new": self.decisions[1],
            }
        )


@pytest.fixture
def case() -> Case:
    return Case()
