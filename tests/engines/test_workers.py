"""Workers: one batch is counted where it is, several in threads, and no number of
either changes a result.
"""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from joblib import cpu_count

import improvable
from flat import flat_audit, flat_compare
from improvable.data.engines import ENGINES
from improvable.data.engines.memory import Memory
from improvable.data.frame import Rows, read_rows
from improvable.procedure.parallel import worker_count


def where(rows: Rows) -> tuple[set[str], int]:
    return {threading.current_thread().name}, len(rows)


def both(
    one: tuple[set[str], int], other: tuple[set[str], int]
) -> tuple[set[str], int]:
    return one[0] | other[0], one[1] + other[1]


@pytest.mark.parametrize(("size", "pooled"), [(1_000, False), (999, True), (100, True)])
def test_a_single_batch_needs_no_pool(size: int, pooled: bool) -> None:
    """Starting one costs five times as much as counting a few hundred rows."""
    engine = Memory(read_rows(pl.DataFrame({"x": range(1_000)})), workers=2, size=size)
    found = engine.fold(where, ["x"], both)
    assert found is not None
    threads, rows = found
    assert rows == 1_000
    assert (threading.main_thread().name not in threads) == pooled


def test_no_number_of_workers_is_all_cores_in_audits_and_in_comparisons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert worker_count(None) == worker_count(-1) == cpu_count()
    asked: list[int] = []

    def opened(data: Any, workers: int, format_: Any) -> Memory:
        asked.append(workers)
        return Memory(read_rows(data), workers)

    monkeypatch.setitem(ENGINES, "memory", replace(ENGINES["memory"], open=opened))
    rng = np.random.default_rng(0)
    need = rng.normal(size=400)
    people = pl.DataFrame(
        {
            "need": need,
            "y": need + rng.normal(size=400),
            "g": ["a", "b"] * 200,
            "s": rng.normal(size=400),
        }
    )
    options: dict[str, Any] = {
        "outcome": "y",
        "group": "g",
        "status_quo": improvable.threshold("s", capacity=0.3),
        "draws": 200,
    }
    candidate = improvable.threshold("need", capacity=0.3)
    audits = [
        flat_audit(
            people, **options, rule="linear", features=["need"], repetitions=2, n_jobs=n
        )
        for n in (None, 1)
    ]
    comparisons = [
        flat_compare(people, **options, candidate=candidate, n_jobs=n)
        for n in (None, 1)
    ]
    assert asked == [cpu_count(), 1, cpu_count(), 1]
    assert audits[0].to_dict() == audits[1].to_dict()
    assert comparisons[0].to_dict() == comparisons[1].to_dict()
