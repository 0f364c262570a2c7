"""Text, categories, dates, booleans and holes among the covariates."""

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import improvable
from flat import flat_audit
from improvable.algorithms.models import fit_encoder
from improvable.data.frame import read_rows


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    n = 600
    need = rng.normal(size=n)
    group = rng.random(n) < 0.4
    ward = np.where(need > 0.5, "north", np.where(need > -0.5, "east", "south")).astype(
        object
    )
    return pl.DataFrame(
        {
            "group": np.where(group, "b", "a"),
            "outcome": rng.poisson(np.exp(0.6 * need + 0.4)),
            "score": need + rng.normal(0, 2, n),
            "age": [
                None if i % 13 == 0 else float(round(50 + 10 * x))
                for i, x in enumerate(need)
            ],
            "ward": [None if i % 17 == 0 else w for i, w in enumerate(ward)],
            "admitted": [
                dt.date(2024, 1, 1) + dt.timedelta(days=int(50 + 20 * x)) for x in need
            ],
            "insured": rng.random(n) < 0.6,
            "street": [
                f"{'Elm' if x > 0 else 'Oak'} street {rng.integers(1, 60)}"
                for x in need
            ],
            "name": [f"person {i}" for i in range(n)],
            "number": np.arange(n) * 7 + 1,
            "always": 1,
            "never": pl.Series([None] * n, dtype=pl.String),
        }
    )


def audited(data: Any, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.2),
        "rule": "linear",
        "repetitions": 2,
        "draws": 300,
    }
    return flat_audit(data, **{**settings, **options})


def test_what_became_of_each_column_is_reported(people: pl.DataFrame) -> None:
    result = audited(people)
    used = result.to_dict()["features"]
    assert list(used) == ["admitted", "age", "insured", "street", "ward"]
    assert (
        used["age"]
        == "number: 47 missing values take the training mean and are flagged"
    )
    assert (
        used["ward"] == "category: one 0/1 column for each of 3 levels and for missing"
    )
    assert used["admitted"].startswith("date")
    assert used["street"].startswith("text with")
    warned = " ".join(result.warnings)
    assert "constant or empty are not used: 'always', 'never'" in warned
    assert "name or an id does, are not used: 'name', 'number'" in warned


def test_a_name_is_used_when_asked_for_by_name(people: pl.DataFrame) -> None:
    assert list(audited(people, features=["age", "name"]).setting["features"]) == [
        "age",
        "name",
    ]
    assert list(audited(people, features=["age", "nam*"]).setting["features"]) == [
        "age"
    ]


@pytest.mark.parametrize("rule", ["linear", "lasso", "forest:30", "boosting"])
def test_every_rule_learns_from_messy_columns(people: pl.DataFrame, rule: str) -> None:
    result = audited(
        people,
        rule=rule,
        repetitions=1,
        features=["age", "ward", "admitted", "insured"],
    )
    repetition = result.to_dict()["repetitions"][0]
    for group in ("a", "b"):
        assert (
            repetition["accuracy"][group]["candidate"]
            > repetition["accuracy"][group]["status_quo"]
        )


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_any_kind_of_data_frame_gives_the_same_bytes(
    people: pl.DataFrame, kind: str
) -> None:
    columns = people.to_dict(as_series=False)
    data = (
        pd.DataFrame(columns).astype({"admitted": "datetime64[s]"})
        if kind == "pandas"
        else pa.table(columns)
    )
    expected = (
        people.with_columns(pl.col("admitted").cast(pl.Datetime("ms")))
        if kind == "pandas"
        else people
    )
    assert json.dumps(audited(data).to_dict()) == json.dumps(
        audited(expected).to_dict()
    )


def test_the_encoding_is_learnt_from_training_rows_only(people: pl.DataFrame) -> None:
    """A level and a hole that occur only in test rows change nothing in what was
    learnt.
    """
    rows = read_rows(people)
    train = rows.take(np.arange(0, 300))
    encoder = fit_encoder(train, ["age", "ward"], seed=0)
    strange = people.with_columns(
        ward=pl.lit("unheard of"), age=pl.lit(None, dtype=pl.Float64)
    )
    coded = encoder.encode(read_rows(strange))
    assert np.isfinite(coded).all()
    assert coded[:, 0] == pytest.approx(
        np.mean(people["age"].head(300).drop_nulls().to_numpy())
    )
    again = fit_encoder(train, ["age", "ward"], seed=0)
    np.testing.assert_array_equal(again.encode(rows), encoder.encode(rows))
    assert encoder.encode(rows).shape[1] == 1 + 4 + 1


def test_the_substitute_reads_messy_columns_of_new_rows(people: pl.DataFrame) -> None:
    algorithm = audited(people).refit()
    new = people.head(20).with_columns(
        ward=pl.lit("elsewhere"), age=pl.lit(None, dtype=pl.Float64)
    )
    assert set(np.unique(algorithm.decide(new))) <= {0.0, 1.0}
    assert algorithm.decide(people).mean() == pytest.approx(0.2, abs=0.02)


def test_an_infinite_feature_is_refused(people: pl.DataFrame) -> None:
    with pytest.raises(improvable.DataError, match="'age' has 1 infinite values"):
        audited(
            people.with_columns(
                age=pl.when(pl.int_range(600) == 3).then(float("inf")).otherwise("age")
            )
        )
