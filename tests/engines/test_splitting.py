"""Rows fall to splits by their keys: at random, each split anew, and the same however the rows are stored."""

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import improvable
from engines.conftest import audited, make_people
from improvable.data.engines.memory import Memory
from improvable.data.frames import read_rows
from improvable.procedure.sampling import lowest
from improvable.procedure.splitting import id_keys, make_splitting


def keys_of(values: Any) -> list[int]:
    frame = values if isinstance(values, pd.DataFrame) else pl.DataFrame({"id": values})
    return [int(key) for key in id_keys(read_rows(frame), "id")]


def test_keys_do_not_depend_on_width_or_library() -> None:
    small = np.arange(-3, 5_000)
    whole = keys_of(small.astype(np.int64))
    assert len(set(whole)) == len(small)
    for kind in (np.int16, np.int32, np.float64):
        assert keys_of(small.astype(kind)) == whole
    assert keys_of(pd.DataFrame({"id": small})) == whole


def test_ids_beyond_what_float64_holds_stay_apart() -> None:
    large = np.arange(2**60, 2**60 + 1_000)
    assert len(set(keys_of(large))) == 1_000
    assert keys_of(large) == keys_of(pl.Series(large).cast(pl.UInt64))
    assert len(set(keys_of([str(value) for value in large]))) == 1_000


@pytest.mark.parametrize("ids", [np.arange(40_000), 1_000_003 * np.arange(40_000) + 7, np.arange(40_000) / 8])
def test_places_are_uniform_and_splits_are_independent(ids: np.ndarray) -> None:
    """Shares within four standard errors: of one split, and of every pair of splits together."""
    splitting = make_splitting(5, 6, 0.3, "id", None, ())
    keys = id_keys(read_rows(pl.DataFrame({"id": ids})), "id")
    trains = np.array([splitting.trains(splitting.places(keys, k), k) for k in range(1, 7)])
    assert np.abs(trains.mean(axis=1) - 0.3).max() < 4 * (0.21 / 40_000) ** 0.5
    together = (trains.astype(float) @ trains.T / 40_000)[np.triu_indices(6, 1)]
    assert np.abs(together - 0.09).max() < 4 * (0.09 * 0.91 / 40_000) ** 0.5
    neighbours = (trains[:, 1:] & trains[:, :-1]).mean(axis=1)
    assert np.abs(neighbours - 0.09).max() < 5 * (0.09 * 0.91 / 40_000) ** 0.5


def test_training_and_test_rows_never_meet() -> None:
    splitting = make_splitting(0, 3, 0.5, "id", None, ())
    keys = id_keys(read_rows(pl.DataFrame({"id": np.arange(999)})), "id")
    for split in (1, 2, 3):
        places = splitting.places(keys, split)
        assert (splitting.trains(places, split) ^ splitting.tests(places, split)).all()
        chosen = lowest(splitting, keys, split, 100)
        assert len(chosen) == 100
        assert not splitting.tests(places, split)[chosen].any()
        assert set(chosen) == set(sorted(np.arange(999), key=lambda row: places[row])[:100])


def test_rows_of_one_key_stay_together() -> None:
    splitting = make_splitting(0, 1, 0.9, None, "id", ())
    keys = id_keys(read_rows(pl.DataFrame({"id": np.repeat(np.arange(60), 7)})), "id")
    chosen = lowest(splitting, keys, 1, 100)
    assert 93 < len(chosen) <= 100
    _, times = np.unique(keys[chosen], return_counts=True)
    assert (times == 7).all()


@pytest.mark.parametrize("rows", [400, 20_000])
def test_few_or_many_training_rows(rows: int) -> None:
    """Rows are brought by a guess of how low their places are; what is brought is exact."""
    people = make_people(rows)
    engine = Memory(read_rows(people), 1, 1_111)
    results = {most: _found(engine, most) for most in (50, 180, 10**5, 10**6)}
    assert len(set(results.values())) == 3
    assert results[10**6] == results[10**5]


def _found(engine: Memory, most: int) -> str:
    """What an audit found, without what it was asked."""
    plain = re.sub(r'"protocol": \{"digest".*?\}\}\}, ', "", audited(engine, train_rows=most, splits=2))
    return plain.replace(f'"train_rows": {most}', '"train_rows": 0')


def test_a_shared_key_is_refused() -> None:
    people = make_people().with_columns(person=pl.int_range(3_000) // 2)
    with pytest.raises(improvable.DataError, match=r"100% of the rows share their 'person' .* no row id"):
        audited(people, engine="memory")
    alike = people.with_columns(signal=pl.col("small").cast(pl.Float64), score=pl.col("visits").cast(pl.Float64))
    with pytest.raises(improvable.DataError, match=r"like another, and their content cannot tell them apart. Name"):
        audited(alike, engine="memory", row_id=None, features=["signal"])
