"""Attack 12: a file kind that does not verify, and levers that make every audit fail.

Dates and times have one fingerprint in CSV and in Parquet. A tiny training fraction or
a huge delta is a caution, and "not shown" says how large an improvement the audit could
have shown.
"""

import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.cli import run
from improvable.data.frame import read_rows
from improvable.data.keys import fingerprint
from protocol_room import OPTIONS, said


def dated(people: pl.DataFrame) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    days = rng.integers(0, 900, len(people))
    return people.with_columns(
        born=pl.Series([date(1950, 1, 1) + timedelta(days=int(day)) for day in days]),
        seen=pl.Series(
            [datetime(2020, 1, 1) + timedelta(minutes=int(37 * day)) for day in days]
        ),
        noted=pl.Series(
            [datetime(2020, 1, 1) + timedelta(hours=int(day)) for day in days]
        ).dt.replace_time_zone("UTC"),
    )


@pytest.mark.usefixtures("room")
def test_parquet_and_csv_with_dates_verify_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    people = dated(pl.read_csv("people.csv"))
    people.write_csv("dated.csv")
    people.reverse().write_parquet("dated.parquet")
    people.to_pandas().to_csv("pandas.csv", index=False)
    options = [
        one.replace("gagne_sum_tm1,dem_female", "gagne_sum_tm1,born,seen,noted")
        for one in OPTIONS
    ]
    options[options.index("--repetitions") + 1] = "1"
    assert (
        run(["audit", "dated.csv", *options, "--out", "run", "--json", "csv.json"]) == 0
    )
    assert (
        "date: year, month"
        in json.loads(Path("csv.json").read_text())["features"]["seen"]
    )
    capsys.readouterr()
    for other in ("dated.parquet", "pandas.csv"):
        assert run(["verify", "run", "--data", other, "--unsealed"]) == 0, other
        assert "VERIFIED" in said(capsys)


def test_times_have_one_fingerprint_however_they_are_written(tmp_path: Path) -> None:
    times = [
        datetime(2020, 3, 1, 10, 30) + timedelta(microseconds=m)
        for m in (0, 500_000, 123_456)
    ]
    whole = pl.DataFrame({"t": times})
    found = {fingerprint(read_rows(whole))}
    for text in (
        "%Y-%m-%dT%H:%M:%S%.6f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%dT%H:%M:%S%.9f",
    ):
        whole.with_columns(pl.col("t").dt.to_string(text)).write_csv(tmp_path / "t.csv")
        found.add(fingerprint(read_rows(tmp_path / "t.csv")))
    assert len(found) == 1
    other = pl.DataFrame({"t": [times[0], times[1], times[1]]})
    assert fingerprint(read_rows(other)) not in found


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("lever", "words"),
    [
        (
            {"scheme": "split", "train_fraction": 0.02},
            "learns from only 2% of the rows",
        ),
        ({"scheme": "split", "train_fraction": 0.97}, "tested on only 3% of the rows"),
        ({"delta_fairness": 0.9}, "asks that the gap shrink by 90%"),
        ({"delta_accuracy": 0.9}, "asks that accuracy rise by 90%"),
        ({"alpha": 0.4}, "chance alone shows an improvement that often"),
        ({"delta_accuracy": -0.6}, "lets every group lose 60% of its accuracy"),
        ({"delta_accuracy": -0.3}, "allows a loss of accuracy"),
        ({"delta_fairness": -0.5}, "allows a wider gap"),
    ],
)
def test_levers_that_decide_an_audit_are_cautions(
    lever: dict[str, Any], words: str
) -> None:
    result = flat_audit(
        improvable.datasets.care_management(6_000, seed=4),
        outcome="gagne_sum_t",
        group="race",
        rule="linear",
        features=["gagne_sum_tm1", "dem_female"],
        repetitions=1,
        draws=200,
        status_quo=improvable.threshold("risk_score_t", capacity=0.2),
        **lever,
    )
    assert any(words in text for text in result.warnings)
    assert any(words in text for text in result.verdict_warnings), (
        "they stand beside the verdict"
    )


def test_not_shown_says_what_could_have_been_shown() -> None:
    result = improvable.audit(
        improvable.datasets.care_management(3_000, seed=4),
        outcome="gagne_sum_t",
        group="race",
        rule="linear",
        features=["gagne_sum_tm1", "dem_female"],
        test=improvable.Test(repetitions=3, draws=500),
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    )
    assert not result.reject
    found = result.to_dict()["shortfall"]
    assert found["detectable"] > 0
    assert "this audit could have shown" in " ".join(result.summary().split())
