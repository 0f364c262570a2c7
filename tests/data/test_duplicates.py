"""Copies are told from coincidence, on simulated and on real data."""

import os
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import improvable
from improvable.data.duplicates import (
    Contents,
    are_copies,
    by_chance,
    exact_words,
    merge_contents,
    near_twins,
    repeats_of,
)
from improvable.data.frames import read_rows
from improvable.data.keys import Keying

DATA = Path(os.environ.get("IMPROVABLE_DATA", Path(__file__).parents[3] / "shared" / "data"))


def judged(frame: pl.DataFrame) -> tuple[float, bool]:
    """The share of repeated rows, and whether they look like copies."""
    rows = read_rows(frame)
    found = repeats_of(Keying(1).of(rows, frame.columns))
    return found.repeated, are_copies(found, lambda: exact_words(rows, frame.columns))


def coarse(rows: int, seed: int) -> pl.DataFrame:
    """Age, a count and flags, dependent on each other: most people have somebody who is just like them."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows)
    return pl.DataFrame(
        {"age": age, "visits": rng.poisson(age / 40), "ill": rng.random(rows) < age / 200, "y": rng.random(rows) < 0.3}
    )


def fine(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    flags = {f"flag_{j}": rng.random(rows) < 0.1 for j in range(4)}
    return pl.DataFrame({"income": rng.normal(size=rows), **flags, "y": rng.random(rows) < 0.3})


def many_levels(rows: int, seed: int) -> pl.DataFrame:
    """No column is fine; together they tell everyone apart."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({f"x{j}": rng.integers(0, 8, rows) for j in range(12)} | {"y": rng.random(rows) < 0.3})


def resampled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame.sample(len(frame), with_replacement=True, seed=seed)


@pytest.mark.parametrize("make", [fine, many_levels, coarse])
@pytest.mark.parametrize("seed", range(3))
def test_every_row_twice_is_found_even_among_people_who_are_alike(make: object, seed: int) -> None:
    people = make(2_000, seed)  # type: ignore[operator]
    share, copies = judged(pl.concat([people, people]))
    assert share >= 0.5
    assert copies


@pytest.mark.parametrize("make", [fine, many_levels])
@pytest.mark.parametrize("seed", range(3))
def test_some_copies_and_draws_with_replacement_are_found(make: object, seed: int) -> None:
    people = make(2_000, seed)  # type: ignore[operator]
    for copied in (pl.concat([people, people.head(60)]), resampled(people, seed)):
        share, copies = judged(copied)
        assert share > 0.02
        assert copies


@pytest.mark.parametrize("rows", [300, 2_000, 20_000])
@pytest.mark.parametrize("seed", range(3))
def test_people_who_are_alike_by_chance_are_not_copies(rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    binary = pl.DataFrame({name: rng.integers(0, 2, rows) for name in "abcy"})
    rare = pl.DataFrame({f"d{j}": (rng.random(rows) < 0.03).astype(int) for j in range(20)})
    cost = np.where(rng.random(rows) < 0.4, 0.0, rng.lognormal(size=rows))
    healthy = rare.with_columns(pl.when(pl.Series(cost) == 0).then(0).otherwise(pl.all()).name.keep(), cost=cost)
    for people in (coarse(rows, seed), binary, rare, healthy):
        share, copies = judged(people)
        assert share > 0.01
        assert not copies


def test_a_flag_and_its_opposite_are_one_among_many_flags() -> None:
    """With both, nobody would be alike but for one thing."""
    rng = np.random.default_rng(0)
    flags = pl.DataFrame({f"d{j}": (rng.random(2_000) < 0.03).astype(int) for j in range(20)})
    both = flags.with_columns((pl.all() == 0).name.suffix("_not"))
    assert by_chance(exact_words(read_rows(both), both.columns)) == pytest.approx(
        by_chance(exact_words(read_rows(flags), flags.columns))
    )


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("nhanes_diabetes.csv", ["age", "bmi", "sex", "diabetes"]),
        ("nhanes_diabetes.csv", ["age", "education", "insured", "income", "diabetes"]),
        ("obermeyer_holdout.csv", ["gagne_sum_t_hat", "log_cost_t_hat", "gagne_sum_t"]),
        ("obermeyer_holdout.csv", ["weighted_gagne_tm1", "weighted_cci_tm1", "gagne_sum_t"]),
        ("compas.csv", ["age", "priors_count", "juv_fel_count", "sex", "c_charge_degree", "two_year_recid"]),
    ],
)  # fmt: skip
def test_real_people_who_are_alike_are_not_copies(name: str, columns: list[str]) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name} is not there")
    people = pl.read_csv(DATA / name, infer_schema_length=None).select(columns)
    share, copies = judged(people)
    assert share > 0.03
    assert not copies
    assert judged(pl.concat([people, people]))[1]


def test_columns_that_say_the_same_in_other_words_are_one() -> None:
    people = coarse(3_000, 1).with_columns(born=2026 - pl.col("age"), days=pl.col("age") * 365.25, sick=~pl.col("ill"))
    share, copies = judged(people)
    assert share > 0.5
    assert not copies
    assert judged(pl.concat([people, people]))[1]


def test_simulated_patients_are_not_copies() -> None:
    people = improvable.datasets.care_management(8_000, seed=1)
    chosen = people.select("gagne_sum_tm1", "dem_female", "gagne_sum_t")
    assert judged(chosen)[0] > 0.5
    assert not judged(chosen)[1]
    assert not judged(people.select(*improvable.datasets.CARE_MANAGEMENT_COVARIATES, "gagne_sum_t"))[1]


def test_what_chance_explains_is_that_of_a_slow_count() -> None:
    people = coarse(150, 4)
    rows = [tuple(row) for row in people.iter_rows()]
    every, shares = list(combinations(range(len(rows)), 2)), []
    for j in range(people.width):
        rest = [row[:j] + row[j + 1 :] for row in rows]
        sizes = Counter(rest)
        pairs = [(a, b) for a, b in every if rest[a] == rest[b] and sizes[rest[a]] <= 20]
        equal = sum(rows[a] == rows[b] for a, b in pairs)
        agree = sum(rows[a][j] == rows[b][j] for a, b in every) / len(every)
        if equal >= 5:
            at_most = (np.sqrt(len(pairs) - equal + 1) + 1) ** 2  # so many may well disagree
            shares.append(at_most * agree / (1 - agree) / equal)
    assert by_chance(exact_words(read_rows(people), people.columns)) == pytest.approx(max(shares))


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_an_experiment_copied_as_a_whole_is_found(times: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = pl.DataFrame({f"factor{j}": rng.integers(0, 3, 5_000) for j in range(4)})
    assert not judged(people)[1]
    assert judged(pl.concat([people] * times))[1]


@pytest.mark.parametrize("seed", range(10))
def test_few_people_who_are_alike_are_not_copies(seed: int) -> None:
    """Mostly zeros and their sum, where only the outcome can tell people apart, and few pairs say how often it does."""
    rng = np.random.default_rng(seed)
    frail = np.where(rng.random(300) < 0.3, rng.gamma(1, 1, 300), 0.0)
    events = rng.poisson(frail[:, None] * rng.uniform(0.05, 0.6, 15))
    people = pl.DataFrame({f"events{j}": events[:, j] for j in range(15)})
    people = people.with_columns(total=events.sum(axis=1), y=pl.Series(rng.random(300) < 0.15))
    assert not judged(people)[1]


def test_near_copies_have_near_twins() -> None:
    people = fine(1_000, 1)
    jittered = people.with_columns(pl.col("income") + 1e-9)
    apart = fine(1_000, 2).with_columns(pl.col("income") * 1_000)
    assert near_twins(read_rows(pl.concat([people, jittered])), people.columns) > 0.99
    assert near_twins(read_rows(pl.DataFrame({"x": np.arange(0, 9_000, 9.0), "z": apart["income"]})), ["x", "z"]) < 0.3


@pytest.mark.parametrize("seed", range(5))
def test_near_twins_are_those_of_a_naive_twin(seed: int) -> None:
    rounded = np.random.default_rng(seed).integers(0, 3, (40, 3)).astype(float)
    slow = [any(i != j and (one == other).all() for j, other in enumerate(rounded)) for i, one in enumerate(rounded)]
    rows = read_rows(pl.DataFrame({f"x{j}": column for j, column in enumerate(rounded.T)}))
    assert near_twins(rows, rows.columns) == np.mean(slow)
    assert near_twins(rows.take(slice(0, 1)), rows.columns) == 0


def test_counting_is_the_same_for_any_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("improvable.data.duplicates.MOST_CONTENTS", 400)
    keys = Keying(3).of(read_rows(resampled(fine(3_000, 1), 1)), fine(10, 1).columns)
    found = []
    for cut in (1, 700, 2_999):
        one, other = (
            merge_contents(Contents(keys[:cut]), Contents(keys[cut:])),
            merge_contents(Contents(keys[cut:]), Contents(keys[:cut])),
        )
        assert sorted(one.keys) == sorted(other.keys)
        found.append(repeats_of(one.keys).repeated)
    assert len(set(found)) == 1
    assert found[0] == pytest.approx(repeats_of(keys).repeated, abs=0.08)
