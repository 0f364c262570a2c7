"""`result.tidy()` and `result.glance()`: the numbers of the summary, in frames that can
be stacked.
"""

from typing import Any

import pandas as pd
import polars as pl
import pytest

import improvable
from flat import flat_audit
from reported import SHAPES, compare_case, make_audit, many_groups

pytestmark = pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")


def test_tidy_has_a_row_per_condition_and_the_numbers_of_the_summary() -> None:
    result, text = make_audit(), make_audit().summary()
    tidy, table = result.tidy(), result.table()
    assert tidy.select("kind", "group").rows() == [
        ("accuracy", "black"),
        ("accuracy", "white"),
        ("fairness", "race"),
    ]
    assert tidy["p_value"].max() == result.p_value
    for row in tidy.to_dicts():
        mine = table.filter(
            (pl.col("kind") == row["kind"]) & (pl.col("group") == row["group"])
        )
        assert sorted(mine["p_value"])[1] == row["p_median"]
        for name in ("status_quo", "candidate"):
            assert row[name] == pytest.approx(mine[name].mean())
            assert f"{row[name]:.3f} (" in text


def test_glance_is_one_row() -> None:
    result = make_audit()
    (row,) = result.glance().to_dicts()
    assert row == {
        "p_value": result.p_value,
        "reject": result.reject,
        "alpha": 0.05,
        "level": 0.025,
        "scheme": "forward",
        "repetitions": 3,
        "rows": 4_000,
        "groups": 2,
        "rule": "linear",
        "version": improvable.__version__,
        "warnings": len(result.warnings),
    }
    rows = pl.concat([result.glance(), many_groups(2).glance()])
    assert rows["rule"].to_list() == ["linear", None], "a comparison has none"


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_result_has_both(shape: dict[str, Any]) -> None:
    result = compare_case(**shape)
    assert result.tidy()["p_value"].to_list() == [
        one["p_value"] for one in result.facts["repetitions"][0]["components"]
    ]
    assert len(result.glance()) == 1


def test_they_are_frames_of_the_callers_own_kind() -> None:
    people = improvable.datasets.care_management(2_000, seed=4).to_pandas()
    result = flat_audit(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear",
        features=["gagne_sum_tm1"],
        repetitions=1,
        draws=100,
    )
    assert isinstance(result.tidy(), pd.DataFrame)
    assert isinstance(result.glance(), pd.DataFrame)
    assert result.glance()["reject"].dtype == bool
