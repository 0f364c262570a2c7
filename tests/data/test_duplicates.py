"""Rows that repeat others are counted: exactly, nearly, within clusters, and alike in
any batches.
"""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import improvable
from improvable.data.duplicates import (
    MAX_NEAR,
    MAX_SHARE,
    Contents,
    Repeats,
    merge_contents,
    near_repeats,
    repeats_of,
)
from improvable.data.frame import read_rows
from improvable.data.keys import Keying


def counted(frame: pl.DataFrame) -> Repeats:
    return repeats_of(Keying(1).of(read_rows(frame), frame.columns)[:, None])


def coarse(rows: int, seed: int) -> pl.DataFrame:
    """Age, a count and flags: most people have somebody who is just like them."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows)
    return pl.DataFrame(
        {
            "age": age,
            "visits": rng.poisson(age / 40),
            "ill": rng.random(rows) < age / 200,
            "y": rng.random(rows) < 0.3,
        }
    )


def fine(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    flags = {f"flag_{j}": rng.random(rows) < 0.1 for j in range(4)}
    return pl.DataFrame(
        {"income": rng.normal(size=rows), **flags, "y": rng.random(rows) < 0.3}
    )


@pytest.mark.parametrize("seed", range(3))
def test_repeats_are_those_of_a_slow_count(seed: int) -> None:
    people = coarse(400, seed)
    times = Counter(people.iter_rows())
    found = counted(people)
    assert sorted(found.times) == sorted(times.values())
    assert found.share == pytest.approx(1 - len(times) / 400)
    assert found.suspect == pytest.approx(
        sum(n - 1 for n in times.values() if n <= 5) / 400
    )


@pytest.mark.parametrize("make", [fine, coarse])
@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_file_appended_to_itself_is_known_even_among_people_who_are_alike(
    make: object, times: int, seed: int
) -> None:
    people = make(2_000, seed)  # type: ignore[operator]
    assert not counted(people).appended
    assert counted(pl.concat([people] * times)).appended
    assert counted(pl.concat([people] * times)).share >= 1 - 1 / times


def test_some_copies_and_draws_with_replacement_are_counted() -> None:
    people = fine(2_000, 1)
    assert counted(people).suspect == 0
    assert counted(pl.concat([people, people.head(60)])).suspect == pytest.approx(
        60 / 2_060
    )
    assert (
        counted(people.sample(len(people), with_replacement=True, seed=1)).suspect > 0.3
    )


def test_what_occurs_often_is_no_copy() -> None:
    rng = np.random.default_rng(0)
    binary = pl.DataFrame({name: rng.integers(0, 2, 20_000) for name in "abcy"})
    assert counted(binary).share > 0.99
    assert counted(binary).suspect <= MAX_SHARE
    assert not counted(binary).appended


def test_simulated_patients_are_not_suspect() -> None:
    people = improvable.datasets.care_management(8_000, seed=1)
    assert (
        counted(
            people.select(
                *improvable.datasets.CARE_MANAGEMENT_COVARIATES, "gagne_sum_t"
            )
        ).suspect
        <= MAX_SHARE
    )


def test_a_content_counts_once_in_each_cluster() -> None:
    keys = np.array([[1, 1], [1, 1], [1, 2], [2, 1]], dtype=np.uint64)
    assert sorted(repeats_of(keys).times) == [1, 2]


def test_near_copies_are_counted_and_numbers_that_are_near_by_chance_are_few() -> None:
    people = fine(1_000, 1)
    jittered = people.with_columns(pl.col("income") + 1e-9)
    copied = pl.concat([people, jittered])
    assert counted(copied).suspect == 0
    assert near_repeats(read_rows(copied), people.columns, Keying(1)).suspect > 0.49
    alone = fine(100_000, 2).select("income")
    assert 0 < near_repeats(read_rows(alone), ["income"], Keying(1)).suspect < MAX_NEAR


@pytest.mark.parametrize("seed", range(5))
def test_near_repeats_are_those_of_a_naive_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, (40, 3)).astype(float)
    times = Counter(map(tuple, values))
    frame = pl.DataFrame(
        {f"x{j}": column for j, column in enumerate(values.T)}
    ).with_columns(word=pl.lit("a"))
    assert sorted(
        near_repeats(read_rows(frame), frame.columns, Keying(1)).times
    ) == sorted(times.values())


def test_counting_is_the_same_for_any_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("improvable.data.duplicates.MAX_CONTENTS", 400)
    drawn = fine(3_000, 1).sample(3_000, with_replacement=True, seed=1)
    keys = Keying(3).of(read_rows(drawn), drawn.columns)[:, None]
    found = []
    for cut in (1, 700, 2_999):
        one, other = (
            merge_contents(Contents(keys[:cut]), Contents(keys[cut:])),
            merge_contents(Contents(keys[cut:]), Contents(keys[:cut])),
        )
        assert sorted(one.keys[:, 0]) == sorted(other.keys[:, 0])
        found.append(repeats_of(one.keys).share)
    assert len(set(found)) == 1
    assert found[0] == pytest.approx(repeats_of(keys).share, abs=0.08)
