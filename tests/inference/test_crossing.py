"""Who changes, counted the slow way: row by row."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable.inference.diagnostics import KINDS
from people import make_people

KIND = {(1, 1): "both", (1, 0): "only_status_quo", (0, 1): "only_candidate", (0, 0): "neither"}


def naive(frame: pl.DataFrame, outcome: str, weight: str | None) -> dict[str, dict[str, list[float]]]:
    """By group and kind: the weight of rows, and the sum of their outcomes by weight."""
    out: dict[str, dict[str, list[float]]] = {}
    for row in frame.to_dicts():
        kinds = out.setdefault(row["group"], {kind: [0.0, 0.0] for kind in KINDS})
        one = kinds[KIND[int(row["now"]), int(row["new"])]]
        one[0] += row[weight] if weight else 1.0
        one[1] += (row[weight] if weight else 1.0) * row[outcome]
    return out


@pytest.mark.parametrize("outcome", ["count", "binary", "cost"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_shares_and_mean_outcomes_are_those_of_the_rows(outcome: str, weight: str | None) -> None:
    rng = np.random.default_rng(5)
    frame = (
        Case(seed=4, rows=700)
        .frame()
        .with_columns(cost=pl.Series(rng.exponential(100, 700)), weight=pl.Series(rng.integers(1, 9, 700) / 7))
    )
    result = improvable.compare(
        frame,
        outcome=outcome,
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=100),
        weight=weight,
    )
    expected, found = naive(frame, outcome, weight), result.facts["repetitions"][0]["changes"]
    assert set(found) == set(expected)
    for group, kinds in expected.items():
        whole = sum(total for total, _ in kinds.values())
        for kind, (total, outcomes) in kinds.items():
            assert found[group][kind]["share"] == pytest.approx(total / whole, rel=1e-12)
            assert found[group][kind]["mean_outcome"] == pytest.approx(outcomes / total, rel=1e-12)
    for group, shares in result.facts["repetitions"][0]["share_selected_by_group"].items():
        kinds_of = {kind: one["share"] for kind, one in found[group].items()}
        assert shares["status_quo"] == pytest.approx(kinds_of["both"] + kinds_of["only_status_quo"])
        assert shares["candidate"] == pytest.approx(kinds_of["both"] + kinds_of["only_candidate"])


def test_nobody_has_no_mean() -> None:
    frame = Case(seed=4, rows=700).frame()
    result = improvable.compare(
        frame, outcome="count", group="group", status_quo="now", candidate="now", test=improvable.Test(draws=100)
    )
    for kinds in result.facts["repetitions"][0]["changes"].values():
        assert kinds["only_candidate"] == {"share": 0.0, "mean_outcome": None}


@pytest.mark.parametrize("options", [{}, {"weight": "weight"}, {"cluster": "clinic"}])
def test_any_order_and_engine_counts_the_same(options: dict[str, Any], tmp_path: Path) -> None:
    people = make_people(900)
    asked: dict[str, Any] = {
        "outcome": "cost", "group": "group", "status_quo": improvable.threshold("score", capacity=0.2),
        "candidate": improvable.threshold("signal", capacity=0.2), "draws": 100, **options,
    }  # fmt: skip
    people.write_parquet(tmp_path / "rows.parquet")
    one = flat_compare(people, **asked).facts["repetitions"][0]["changes"]
    assert flat_compare(people.reverse(), **asked).facts["repetitions"][0]["changes"] == one
    assert flat_compare(tmp_path / "rows.parquet", engine="arrow", **asked).facts["repetitions"][0]["changes"] == one


def test_a_saved_result_still_knows(tmp_path: Path) -> None:
    frame = Case(seed=4, rows=700).frame()
    result = improvable.compare(
        frame, outcome="count", group="group", status_quo="now", candidate="new", test=improvable.Test(draws=100)
    )
    result.save(tmp_path / "kept")
    assert improvable.load(tmp_path / "kept").facts["repetitions"] == result.facts["repetitions"]
