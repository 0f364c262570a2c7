"""Who changes, counted the slow way: row by row."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_audit, flat_compare
from improvable.inference.diagnostics import KINDS
from improvable.results.collect import share_turned
from people import make_people

KIND = {
    (1, 1): "both",
    (1, 0): "only_status_quo",
    (0, 1): "only_candidate",
    (0, 0): "neither",
}


def naive(
    frame: pl.DataFrame, outcome: str, weight: str | None
) -> dict[str, dict[str, list[float]]]:
    """Of everyone, and by group, and kind: the weight of rows, and the sum of their
    outcomes by weight.
    """
    out: dict[str, dict[str, list[float]]] = {}
    for row in frame.to_dicts():
        for group in ("everyone", row["group"]):
            kinds = out.setdefault(group, {kind: [0.0, 0.0] for kind in KINDS})
            one = kinds[KIND[int(row["now"]), int(row["new"])]]
            one[0] += row[weight] if weight else 1.0
            one[1] += (row[weight] if weight else 1.0) * row[outcome]
    return out


@pytest.mark.parametrize("outcome", ["count", "binary", "cost"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_shares_and_mean_outcomes_are_those_of_the_rows(
    outcome: str, weight: str | None
) -> None:
    rng = np.random.default_rng(5)
    frame = (
        Case(seed=4, rows=700)
        .frame()
        .with_columns(
            cost=pl.Series(rng.exponential(100, 700)),
            weight=pl.Series(rng.integers(1, 9, 700) / 7),
        )
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
    expected, found = (
        naive(frame, outcome, weight),
        result.facts["repetitions"][0]["changes"],
    )
    assert set(found) == set(expected)
    for group, kinds in expected.items():
        whole = sum(total for total, _ in kinds.values())
        for kind, (total, outcomes) in kinds.items():
            assert found[group][kind]["share"] == pytest.approx(
                total / whole, rel=1e-12
            )
            assert found[group][kind]["mean_outcome"] == pytest.approx(
                outcomes / total, rel=1e-12
            )
    for group, shares in result.facts["repetitions"][0][
        "share_selected_by_group"
    ].items():
        kinds_of = {kind: one["share"] for kind, one in found[group].items()}
        assert shares["status_quo"] == pytest.approx(
            kinds_of["both"] + kinds_of["only_status_quo"]
        )
        assert shares["candidate"] == pytest.approx(
            kinds_of["both"] + kinds_of["only_candidate"]
        )


def test_nobody_has_no_mean() -> None:
    frame = Case(seed=4, rows=700).frame()
    result = improvable.compare(
        frame,
        outcome="count",
        group="group",
        status_quo="now",
        candidate="now",
        test=improvable.Test(draws=100),
    )
    for kinds in result.facts["repetitions"][0]["changes"].values():
        assert kinds["only_candidate"] == {"share": 0.0, "mean_outcome": None}


@pytest.mark.parametrize("options", [{}, {"weight": "weight"}, {"cluster": "clinic"}])
def test_any_order_and_engine_counts_the_same(
    options: dict[str, Any], tmp_path: Path
) -> None:
    people = make_people(900)
    asked: dict[str, Any] = {
        "outcome": "cost",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.2),
        "candidate": improvable.threshold("signal", capacity=0.2),
        "draws": 100,
        **options,
    }
    people.write_parquet(tmp_path / "rows.parquet")
    one = flat_compare(people, **asked).facts["repetitions"][0]["changes"]
    assert (
        flat_compare(people.reverse(), **asked).facts["repetitions"][0]["changes"]
        == one
    )
    assert (
        flat_compare(tmp_path / "rows.parquet", engine="arrow", **asked).facts[
            "repetitions"
        ][0]["changes"]
        == one
    )


def test_a_saved_result_still_knows(tmp_path: Path) -> None:
    frame = Case(seed=4, rows=700).frame()
    result = improvable.compare(
        frame,
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=100),
    )
    result.save(tmp_path / "kept")
    assert (
        improvable.load(tmp_path / "kept").facts["repetitions"]
        == result.facts["repetitions"]
    )


def turned(frame: pl.DataFrame, weight: str | None) -> dict[str, list[float]]:
    """By group: rows in all, those that turn right and those that turn wrong; the same
    by weight.
    """
    out: dict[str, list[float]] = {}
    for row in frame.to_dicts():
        before, after = row["now"] == row["binary"], row["new"] == row["binary"]
        for group in (row["group"], "everyone"):
            one = out.setdefault(group, [0.0] * 6)
            for place, counts in enumerate(
                (True, after and not before, before and not after)
            ):
                one[place] += counts
                one[3 + place] += counts * (row[weight] if weight else 1.0)
    return out


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize(
    "options", [{}, {"selection": "burden"}, {"positive": {"binary": "1"}}]
)
def test_decisions_that_turn_right_are_those_of_the_rows(
    weight: str | None, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(6)
    frame = (
        Case(seed=4, rows=700)
        .frame()
        .with_columns(weight=pl.Series(rng.integers(1, 9, 700) / 7))
    )
    facts = flat_compare(
        frame,
        outcome="binary",
        group="group",
        status_quo="now",
        candidate="new",
        draws=100,
        weight=weight,
        accuracy="classification_rate",
        fairness="classification_rate",
        **options,
    ).facts
    (repetition,), expected = facts["repetitions"], turned(frame, weight)
    assert repetition["binary"]
    for group, counts in expected.items():
        rows, right, wrong, whole, right_weight, wrong_weight = counts
        changes = repetition["changes"][group]
        shares = share_turned(changes)
        assert shares == pytest.approx(
            (right_weight / whole, wrong_weight / whole), rel=1e-12
        )
        if group == "everyone":
            people = 1_000 * right_weight / whole, 1_000 * wrong_weight / whole
            counted = pytest.approx(people) if weight else (right, wrong)
            assert facts["turned"] is not None
            assert (facts["turned"]["right"], facts["turned"]["wrong"]) == counted
            continue
        rates = repetition["accuracy"][group]
        assert rates["candidate"] is not None
        assert rates["status_quo"] is not None
        gain = rates["candidate"] - rates["status_quo"]
        assert shares[0] - shares[1] == pytest.approx(gain)
        if weight is None:
            assert right - wrong == pytest.approx(gain * rows)


def test_the_value_that_selection_looks_for_is_what_positive_names() -> None:
    """Of outcomes with 0 named, who turns right and who wrong trade places."""
    frame = Case(seed=4, rows=700).frame()
    asked: dict[str, Any] = {
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "draws": 100,
    }
    facts = flat_compare(frame, outcome="binary", **asked).facts
    turned_around: dict[str, Any] = {
        "positive": {"binary": "0"},
        "direction": "as stated",
    }
    with pytest.warns(improvable.ImprovableWarning):
        trading = flat_compare(frame, outcome="binary", **turned_around, **asked).facts
    assert facts["turned"] is not None
    assert trading["turned"] is not None
    assert facts["turned"]["right"] == trading["turned"]["wrong"] > 0
    assert facts["turned"]["wrong"] == trading["turned"]["right"] > 0


def test_other_outcomes_have_no_right_and_wrong() -> None:
    frame = Case(seed=4, rows=700).frame().with_columns(half=pl.col("count") / 2)
    asked: dict[str, Any] = {
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "draws": 100,
    }
    for outcome in ("count", "half"):
        result = flat_compare(frame, outcome=outcome, **asked)
        assert result.facts["turned"] is None
        assert "from a wrong decision" not in result.summary()


@pytest.mark.parametrize("least", [0.0, 0.25])
def test_prices_have_no_right_and_wrong(least: float) -> None:
    rng = np.random.default_rng(7)
    frame = Case(seed=4, rows=700).frame()
    prices = {
        name: pl.Series(rng.choice([least, 0.5, 1.0], 700)) for name in ("now", "new")
    }
    result = flat_compare(
        frame.with_columns(**prices),
        outcome="binary",
        group="group",
        status_quo="now",
        candidate="new",
        draws=100,
        accuracy="profit",
        fairness="profit",
    )
    assert result.facts["turned"] is None
    assert "from a wrong decision" not in result.summary()


def test_blocks_and_engines_count_who_turns_right_alike(tmp_path: Path) -> None:
    people = make_people(900).with_columns(sick=(pl.col("visits") > 4).cast(pl.Int8))
    asked: dict[str, Any] = {
        "outcome": "sick",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.4),
        "row_id": "person",
        "rule": "linear",
        "features": ["signal", "small"],
        "repetitions": 2,
        "draws": 100,
        "capacity": 0.4,
        "accuracy": "classification_rate",
        "fairness": "classification_rate",
    }
    people.write_parquet(tmp_path / "rows.parquet")
    facts = flat_audit(people, **asked).facts
    assert len(facts["blocks"]["cuts"]) > 1
    assert (
        flat_audit(tmp_path / "rows.parquet", engine="arrow", **asked).facts[
            "repetitions"
        ]
        == facts["repetitions"]
    )
    for repetition in facts["repetitions"]:
        for group, rates in repetition["accuracy"].items():
            assert rates["candidate"] is not None
            assert rates["status_quo"] is not None
            changes = repetition["changes"][group]
            right, wrong = share_turned(changes)
            gain = rates["candidate"] - rates["status_quo"]
            assert right - wrong == pytest.approx(gain)
