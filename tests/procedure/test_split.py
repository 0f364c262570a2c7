"""Rows are put in order by their keys: at random, in each repetition anew, and the same
however they are stored.
"""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import improvable
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows
from improvable.data.keys import Keying, mix, siphash, tell_apart, with_keys
from improvable.procedure.split import Part, choose, forward_cuts, make_splitting
from people import audited, make_people


def keys_of(values: Any) -> list[int]:
    frame = values if isinstance(values, pd.DataFrame) else pl.DataFrame({"id": values})
    return [int(key) for key in Keying(5).of(read_rows(frame), ["id"])]


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


@pytest.mark.parametrize(
    "ids", [np.arange(40_000), 1_000_003 * np.arange(40_000) + 7, np.arange(40_000) / 8]
)
def test_places_are_uniform_and_repetitions_are_independent(ids: np.ndarray) -> None:
    """Shares within four standard errors: of one repetition, and of every pair of
    repetitions together.
    """
    splitting = make_splitting(5, [0.3], "id", ())
    keys = splitting.keying.of(read_rows(pl.DataFrame({"id": ids})), ["id"])
    trains = np.array(
        [splitting.trains(splitting.places(keys, k), Part(k)) for k in range(1, 7)]
    )
    assert np.abs(trains.mean(axis=1) - 0.3).max() < 4 * (0.21 / 40_000) ** 0.5
    together = (trains.astype(float) @ trains.T / 40_000)[np.triu_indices(6, 1)]
    assert np.abs(together - 0.09).max() < 4 * (0.09 * 0.91 / 40_000) ** 0.5
    neighbours = (trains[:, 1:] & trains[:, :-1]).mean(axis=1)
    assert np.abs(neighbours - 0.09).max() < 5 * (0.09 * 0.91 / 40_000) ** 0.5


@pytest.mark.parametrize("cuts", [[0.5], [0.12, 0.2, 0.4, 0.7]])
def test_training_and_test_rows_never_meet(cuts: list[float]) -> None:
    splitting = make_splitting(0, cuts, "id", ())
    keys = splitting.keying.of(read_rows(pl.DataFrame({"id": np.arange(999)})), ["id"])
    for part in splitting.parts([1, 2, 3]):
        places = splitting.places(keys, part.repetition)
        trains, tests = splitting.trains(places, part), splitting.tests(places, part)
        assert not (trains & tests).any()
        assert places[trains].max() < places[tests].min()
        chosen = choose(splitting, keys, keys, 100, [part])[part]
        assert len(chosen) == 100
        assert not tests[chosen].any()
        assert set(chosen) == set(
            sorted(np.arange(999), key=lambda row: places[row])[:100]
        )


def test_rows_of_one_key_stay_together() -> None:
    splitting = make_splitting(0, [0.9], None, ())
    keys = splitting.keying.of(
        read_rows(pl.DataFrame({"id": np.repeat(np.arange(60), 7)})), ["id"]
    )
    chosen = choose(splitting, np.arange(420, dtype=np.uint64), keys, 100, [Part(1)])[
        Part(1)
    ]
    assert 93 < len(chosen) <= 100
    _, times = np.unique(keys[chosen], return_counts=True)
    assert (times == 7).all()


@pytest.mark.parametrize("rows", [400, 6_000])
def test_few_or_many_training_rows(rows: int) -> None:
    """Rows are brought by a guess of how low their places are; what is brought is
    exact.
    """
    people = make_people(rows)
    engine = Memory(read_rows(people), 1, 1_111)
    results = {most: _found(engine, most) for most in (50, 180, 10**5, 10**6)}
    assert len(set(results.values())) == 3
    assert results[10**6] == results[10**5]


def _found(engine: Memory, most: int) -> str:
    """What an audit found, without what it was asked."""
    plain = re.sub(
        r'"protocol": \{"digest".*?\}\}\}, ',
        "",
        audited(engine, train_rows=most, repetitions=2, n_jobs=1),
    )
    return plain.replace(f'"train_rows": {most}', '"train_rows": 0')


@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_a_shared_row_id_is_refused(engine: str) -> None:
    for repeated, rows in (
        (pl.int_range(3_000) // 2, "1,500"),
        (pl.int_range(3_000).clip(1), "1"),
    ):
        people = make_people().with_columns(person=repeated)
        with pytest.raises(
            improvable.DataError,
            match=f"{rows} rows repeat the 'person' of another, so it is not",
        ):
            audited(people, train_rows=3_000, engine=engine)


def test_equal_rows_are_told_apart_in_memory_and_refused_by_other_engines() -> None:
    people = make_people().with_columns(
        signal=pl.col("small").cast(pl.Float64), score=pl.col("visits") / 4
    )
    options: dict[str, Any] = {
        "row_id": None,
        "features": ["signal"],
        "train_rows": 3_000,
    }
    whole = audited(people, **options)
    assert whole == audited(
        people.sample(fraction=1.0, shuffle=True, seed=1), **options
    )
    assert whole == audited(Memory(read_rows(people.reverse()), 2, 111), **options)
    with pytest.raises(
        improvable.DataError,
        match=r"have a twin, and an engine cannot tell them apart .* Name",
    ):
        audited(people, engine="arrow", **options)


def test_twins_do_not_stay_together() -> None:
    """Of 4,000 pairs of equal rows, about half are divided by a cut in half: within
    four standard errors.
    """
    pairs = pl.DataFrame({"x": np.repeat(np.arange(4_000), 2)})
    splitting = make_splitting(3, [0.5], None, ("x",))
    keys = with_keys(Memory(read_rows(pairs), 1), splitting.keying, ("x",)).rows.keys
    assert keys is not None
    assert len(np.unique(keys)) == 8_000
    trains = splitting.trains(splitting.places(keys, 1), Part(1)).reshape(4_000, 2)
    assert abs((trains[:, 0] != trains[:, 1]).mean() - 0.5) < 4 * 0.5 / 4_000**0.5


def test_different_rows_with_one_key_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = read_rows(pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1, 1, 1]}))
    monkeypatch.setattr(
        Keying, "words", lambda self, rows, name: np.zeros(len(rows), dtype=np.uint64)
    )
    with pytest.raises(
        improvable.DataError, match="two different rows have the same key"
    ):
        tell_apart(rows, Keying(1), ["x", "y"])
    assert len(set(tell_apart(rows, Keying(1), ["y"]).tolist())) == 3


def test_another_seed_gives_other_keys_from_the_first_step() -> None:
    rows = read_rows(
        pl.DataFrame(
            {"x": np.arange(1_000), "t": [f"text {i % 9}" for i in range(1_000)]}
        )
    )
    for columns in (["x"], ["t"], ["x", "t"]):
        one, other = (Keying(seed).of(rows, columns) for seed in (1, 2))
        assert not (one == other).any()
        assert len(np.unique(mix(one) ^ mix(other))) >= 9


def test_siphash_has_the_published_values() -> None:
    """Vectors of 8 and 16 bytes from the reference implementation, key 00 01 .. 0f."""
    words = [
        np.frombuffer(bytes(range(start, start + 8)), dtype="<u8").astype(np.uint64)
        for start in (0, 8)
    ]
    secret = bytes(range(16))
    assert int(siphash(words[:1], secret)[0]) == 0x93F5F5799A932462
    assert int(siphash(words, secret)[0]) == 0x3F2ACC7F57C29BDB


@pytest.mark.parametrize("cuts", [[0.1, 0.2, 0.4, 0.7], [0.3, 0.7], [0.5]])
def test_every_row_after_the_first_cut_is_tested_exactly_once(
    cuts: list[float],
) -> None:
    splitting = make_splitting(1, cuts, "id", ())
    keys = splitting.keying.of(
        read_rows(pl.DataFrame({"id": np.arange(9_000)})), ["id"]
    )
    sizes = np.diff([*cuts, 1.0])
    assert splitting.weights == pytest.approx(sizes / sizes.sum())
    for repetition in (1, 2):
        places, tests = splitting.places(keys, repetition), []
        for part, cut, size in zip(
            splitting.parts([repetition]), cuts, sizes, strict=True
        ):
            tests.append(splitting.tests(places, part))
            trains = splitting.trains(places, part)
            assert (trains == (places < cut * 2.0**64)).all()
            assert abs(tests[-1].mean() - size) < 4 * (size / 9_000) ** 0.5
            assert abs(trains.mean() - cut) < 4 * (cut / 9_000) ** 0.5
        assert (np.sum(tests, axis=0) == (places >= cuts[0] * 2.0**64)).all()


def test_blocks_begin_exactly_at_their_cuts() -> None:
    splitting = make_splitting(1, [0.1, 0.2, 0.4, 0.7], "id", ())
    edges = [splitting.edge(block) for block in splitting.blocks]
    for block, (edge, following) in enumerate(
        pairwise([*edges, np.uint64(2**64 - 1)]), start=1
    ):
        places = np.array(
            [edge - np.uint64(1), edge, following - np.uint64(1)], dtype=np.uint64
        )
        assert splitting.block_of(places).tolist() == [block - 1, block, block]
    assert splitting.block_of(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [
        0,
        4,
    ]


def test_a_first_block_that_grows_keeps_the_later_cuts_that_are_far_enough() -> None:
    assert forward_cuts(0.25, "30 rows of group 'b'").ends == (0.25, 0.4, 0.7)
