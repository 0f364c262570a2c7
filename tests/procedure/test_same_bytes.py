"""The same audit gives the same bytes for any order of rows or columns, frame library
and number of workers.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from joblib import parallel_config

import improvable
from conftest import Case
from flat import flat_audit, flat_compare
from people import CLUSTERED, make_people
from people import audited as audited_people

KINDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    "pandas with nullable types": lambda frame: pd.DataFrame(
        frame.to_dict(as_series=False)
    ).convert_dtypes(),
    "pyarrow": lambda frame: pa.table(frame.to_dict(as_series=False)),
}


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    case = Case(seed=9, rows=600)
    return case.frame().with_columns(
        signal=pl.Series(case.count + rng.normal(size=600)),
        visits=pl.Series(rng.integers(0, 9, 600)),
        insured=pl.Series(rng.random(600) < 0.7),
        score=pl.Series(case.count + rng.normal(0, 3, 600) + 2.0 * case.group),
    )


def audited(data: Any, **options: Any) -> str:
    settings = {
        "rule": "linear",
        "features": ["signal", "visits", "insured"],
        "repetitions": 3,
        "draws": 600,
    }
    result = flat_audit(
        data,
        outcome="count",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.3),
        **{**settings, **options},
    )
    return json.dumps(result.to_dict()) + str(
        [repetition.evidence.draws.sum() for repetition in result.repetitions]
    )


def compared(data: Any, **options: Any) -> str:
    result = flat_compare(
        data,
        outcome="count",
        group="group",
        status_quo="now",
        candidate=improvable.threshold("signal", capacity=0.3),
        draws=1_200,
        **options,
    )
    return json.dumps(result.to_dict()) + str(result.evidence.draws.sum())


@pytest.mark.parametrize("work", [audited, compared])
@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_of_data_frame(
    frame: pl.DataFrame, kind: str, work: Callable[..., str]
) -> None:
    assert work(KINDS[kind](frame)) == work(frame)


@pytest.mark.parametrize("work", [audited, compared])
def test_any_order_of_rows_and_columns(
    frame: pl.DataFrame, work: Callable[..., str]
) -> None:
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1).select(
        sorted(frame.columns)
    )
    assert work(shuffled) == work(frame)
    by_label = pd.DataFrame(frame.to_dict(as_series=False)).sample(
        frac=1.0, random_state=2
    )
    assert work(by_label) == work(frame)


@pytest.mark.parametrize("work", [audited, compared])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_any_kind_of_file(
    frame: pl.DataFrame, tmp_path: Path, suffix: str, work: Callable[..., str]
) -> None:
    path = tmp_path / f"people.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    assert work(path) == work(str(path)) == work(frame)


@pytest.mark.parametrize("work", [audited, compared])
def test_any_number_of_workers(frame: pl.DataFrame, work: Callable[..., str]) -> None:
    assert work(frame, n_jobs=2) == work(frame, n_jobs=1)


def test_worker_processes_instead_of_threads(frame: pl.DataFrame) -> None:
    with parallel_config(backend="loky"):  # processes are started once, for both
        in_processes = audited(frame, n_jobs=2)
        clustered = audited_people(make_people(1_500), n_jobs=2, **CLUSTERED)
    assert in_processes == audited(frame)
    assert clustered == audited_people(make_people(1_500), n_jobs=1, **CLUSTERED)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_a_table_is_of_the_callers_own_kind(frame: pl.DataFrame, kind: str) -> None:
    data = KINDS[kind](frame)
    result = improvable.compare(
        data,
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=200),
    )
    assert type(result.table()) is type(data)
    assert list(result.to_dict()["groups"]) == ["a", "b"]


def test_another_seed_gives_other_repetitions(frame: pl.DataFrame) -> None:
    assert audited(frame, seed=1) != audited(frame, seed=0)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_beyond_what_float64_holds(frame: pl.DataFrame, kind: str) -> None:
    with_ids = frame.with_columns(id=2**60 + pl.int_range(len(frame)))
    assert audited(KINDS[kind](with_ids)) == audited(with_ids)
