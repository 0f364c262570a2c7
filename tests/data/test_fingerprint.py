"""Fingerprints are the same for the same content however it is held, and another for
any other content.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import improvable
from flat import flat_audit
from improvable.data.frame import read_rows
from improvable.data.keys import Keying, fingerprint


@pytest.fixture
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    n = 500
    return pl.DataFrame(
        {
            "count": rng.poisson(3, n),
            "share": [
                None if hole else share
                for hole, share in zip(rng.random(n) < 0.1, rng.random(n), strict=True)
            ],
            "flag": rng.random(n) < 0.5,
            "label": np.where(rng.random(n) < 0.5, "a", "b, with comma"),
        }
    )


def test_same_for_any_library_order_and_file(
    frame: pl.DataFrame, tmp_path: Path
) -> None:
    expected = fingerprint(read_rows(frame))
    frame.write_csv(tmp_path / "data.csv")
    frame.write_parquet(tmp_path / "data.parquet")
    held = [
        frame.reverse(),
        frame.select(sorted(frame.columns)),
        frame.sample(fraction=1, shuffle=True, seed=2),
        frame.with_columns(pl.col("count").cast(pl.Int16)),
        frame.to_pandas(),
        frame.to_arrow(),
        tmp_path / "data.csv",
        tmp_path / "data.parquet",
    ]
    assert {fingerprint(read_rows(data)) for data in held} == {expected}


def test_any_other_value_is_another_fingerprint(frame: pl.DataFrame) -> None:
    prints = {fingerprint(read_rows(frame))}
    changes = [
        frame.with_columns(
            pl.when(pl.int_range(pl.len()) == 77)
            .then(pl.col("count") + 1)
            .otherwise("count")
        ),
        frame.with_columns(
            pl.when(pl.int_range(pl.len()) == 3).then(~pl.col("flag")).otherwise("flag")
        ),
        frame.with_columns(
            pl.when(pl.int_range(pl.len()) == 9)
            .then(pl.lit("c"))
            .otherwise("label")
            .alias("label")
        ),
        frame.with_columns(pl.col("share").fill_null(0.0)),
        frame.rename({"count": "number"}),
        frame.head(499),
        pl.concat([frame, frame.head(1)]),
        frame.with_columns(pl.col("count").shuffle(seed=1)),
    ]
    prints |= {fingerprint(read_rows(changed)) for changed in changes}
    assert len(prints) == len(changes) + 1


def test_ids_that_a_float_would_run_together_stay_apart() -> None:
    ids = [2**60, 2**60 + 1, 2**60 + 2]
    rows = read_rows(pl.DataFrame({"id": ids}))
    assert len(set(Keying(0).of(rows, ["id"]).tolist())) == 3
    assert fingerprint(rows) != fingerprint(
        read_rows(pl.DataFrame({"id": [2**60, 2**60, 2**60 + 2]}))
    )
    assert fingerprint(rows) == fingerprint(read_rows(pd.DataFrame({"id": ids})))
    assert fingerprint(rows) == fingerprint(read_rows(pa.table({"id": ids})))


def test_decimals_and_nanoseconds_keep_all_their_digits() -> None:
    ids = [10**17 + k for k in range(150)]
    decimals = read_rows(pl.DataFrame({"id": [Decimal(one) for one in ids]}))
    assert len(set(Keying(0).of(decimals, ["id"]).tolist())) == 150
    assert fingerprint(decimals) == fingerprint(read_rows(pl.DataFrame({"id": ids})))
    holes = pd.DataFrame({"id": pd.array([*ids[:-1], None], dtype="Int64")})
    assert fingerprint(read_rows(holes)) != fingerprint(decimals)
    times = [
        read_rows(pl.DataFrame({"t": pl.Series(stamps).cast(pl.Datetime("ns"))}))
        for stamps in ([1, 2], [3, 4])
    ]
    assert fingerprint(times[0]) != fingerprint(times[1])
    number, text = (
        read_rows(pl.DataFrame({"t": [2**60]})),
        read_rows(pl.DataFrame({"t": [str(2**60)]})),
    )
    assert fingerprint(number) != fingerprint(text)


def test_only_the_columns_that_are_read_matter() -> None:
    """An unused column, or its absence in a copy cut to what is read, changes neither
    the print nor the repetitions.
    """
    people = improvable.datasets.care_management(3_000, seed=2)
    options: dict[str, Any] = {
        "outcome": "gagne_sum_t",
        "group": "race",
        "status_quo": improvable.threshold("risk_score_t", capacity=0.2),
        "rule": "linear",
        "features": ["gagne_sum_tm1", "dem_female"],
        "repetitions": 2,
        "draws": 200,
    }
    whole = flat_audit(people, **options).to_dict()
    read = ["gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female"]
    cut = flat_audit(people.select(read).reverse(), **options).to_dict()
    for one in (cut, whole):
        del one["look"]  # which lists every column of the file, with why it is not read
    assert cut == whole
    assert len(whole["data_fingerprint"]) == 64
    compared = improvable.compare(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=options["status_quo"],
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.2),
        test=improvable.Test(draws=200),
    )
    assert compared.data_fingerprint == fingerprint(read_rows(people), read[:4])


def test_a_loaded_result_knows_the_data_it_came_from(tmp_path: Path) -> None:
    people = improvable.datasets.care_management(2_000, seed=2)
    result = improvable.compare(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.2),
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.2),
        test=improvable.Test(draws=200),
    )
    result.save(tmp_path / "saved")
    loaded = improvable.load(tmp_path / "saved")
    assert loaded.to_dict()["data_fingerprint"] == result.data_fingerprint
    loaded.report(tmp_path / "report.html")
    assert str(result.data_fingerprint) in (tmp_path / "report.html").read_text()
