"""`result.table()`: one row per condition and repetition, the numbers of `to_dict`, the
same columns everywhere.
"""

from typing import Any

import pandas as pd
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.results.result import COLUMNS
from reported import SHAPES, compare_case

pytestmark = pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")


def audited(data: Any = None, **options: Any) -> improvable.Audit:
    people = (
        improvable.datasets.care_management(2_000, seed=4) if data is None else data
    )
    asked: dict[str, Any] = {
        "outcome": "gagne_sum_t",
        "group": "race",
        "status_quo": improvable.threshold("risk_score_t", capacity=0.1),
        "rule": "linear",
        "features": ["gagne_sum_tm1", "dem_female"],
        "repetitions": 2,
        "draws": 200,
    }
    return flat_audit(people, **{**asked, **options})


def rows_of(result: improvable.Audit | improvable.Comparison) -> list[dict[str, Any]]:
    """The table as its documentation says it, written out from `to_dict`."""
    facts, rows = result.to_dict(), []
    for repetition in facts["repetitions"]:
        for one in repetition["components"]:
            of_group = one["kind"] == "accuracy" and facts["overall"] is None
            row: dict[str, Any] = dict.fromkeys(COLUMNS)
            row |= {
                name: one[name]
                for name in ("kind", "utility", "group", "p_value", "p_other")
            }
            row |= {"repetition": repetition["repetition"], "rows": repetition["rows"]}
            row["p_repetition"] = repetition["p_value"]
            for name in ("status_quo", "candidate"):
                row[name] = one[name]
                row[f"share_{name}"] = repetition["share_selected"][name]["test"]
                if of_group:
                    row[f"selected_{name}"] = repetition["selected"][one["group"]][name]
                    row[f"share_{name}"] = repetition["share_selected_by_group"][
                        one["group"]
                    ][name]
                    row[f"effective_{name}"] = repetition["effective_rows"][
                        one["group"]
                    ][name]
            row["difference"] = one["candidate"] - one["status_quo"]
            row["ratio"] = one["candidate"] / one["status_quo"]
            for found in repetition["intervals"] if of_group else ():
                if (found["measure"], found["group"]) == (one["utility"], one["group"]):
                    (
                        row[f"{found['quantity']}_low"],
                        row[f"{found['quantity']}_high"],
                    ) = found["low"], found["high"]
            rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("make", "block"),
    [
        (audited, "mixture"),
        (lambda: audited(scheme="split"), "1"),
        (lambda: audited(overall="population", repetitions=1), "mixture"),
        (lambda: audited(ask="accuracy", repetitions=1), "mixture"),
        (
            lambda: audited(fairness=["calibration", "selection_rate"], repetitions=1),
            "mixture",
        ),
        (compare_case, "all rows"),
    ],
)
def test_the_table_has_a_row_per_condition_and_the_numbers_of_the_result(
    make: Any, block: str
) -> None:
    result = make()
    table = result.table()
    assert isinstance(table, pl.DataFrame)
    rows = rows_of(result)
    assert len(rows) == len(result.repetitions) * len(
        result.facts["repetitions"][0]["components"]
    )
    for row, expected in zip(table.to_dicts(), rows, strict=True):
        assert row == pytest.approx({**expected, "block": block}, nan_ok=True)
    keys = ["repetition", "block", "kind", "utility", "group"]
    assert table.select(keys).n_unique() == len(table), "what names a row names one"


def test_p_values_of_the_table_make_the_verdict() -> None:
    result = audited(repetitions=3)
    by_repetition = (
        result.table()
        .group_by("repetition")
        .agg(pl.col("p_value").max(), pl.col("p_repetition").first())
    )
    assert by_repetition["p_value"].equals(by_repetition["p_repetition"])
    assert sorted(by_repetition["p_value"])[1] == result.p_value


def test_tables_of_different_questions_can_be_stacked() -> None:
    """Columns and types are the same, also where a question has no number for a
    column.
    """
    tables = [
        audited(ask="accuracy", repetitions=1).table(),
        audited(ask="fairness", repetitions=1).table(),
    ]
    tables.append(compare_case().table())
    assert len(pl.concat(tables)) == sum(map(len, tables))
    people = improvable.datasets.care_management(2_000, seed=4).to_pandas()
    table = audited(people, ask="accuracy", repetitions=1).table()
    assert isinstance(table, pd.DataFrame)
    assert [*table.columns] == [*COLUMNS]
    assert table["p_other"].dtype == float
    assert table["p_other"].isna().all()


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_result_has_a_table(shape: dict[str, Any]) -> None:
    result = compare_case(**shape)
    components, table = result.to_dict()["repetitions"][0]["components"], result.table()
    for name in (
        "kind",
        "utility",
        "group",
        "status_quo",
        "candidate",
        "p_value",
        "p_other",
    ):
        assert table[name].to_list() == [one[name] for one in components]
