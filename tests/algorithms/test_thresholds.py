"""Cutoffs and ties: the capacity is met, and a decision depends on the row alone."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import improvable
from flat import flat_compare
from improvable.algorithms.thresholds import (
    ScoreColumn,
    Threshold,
    TieBreaking,
    tied_share,
)
from improvable.data.frame import read_rows


def coarse(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {"person": np.arange(rows) + seed * 10**6, "score": rng.integers(0, 4, rows)}
    )


def test_the_share_of_tied_rows_fills_what_the_rows_above_leave() -> None:
    """One of five rows is above: of the four that tie, a quarter makes two of five;
    with weights, by weight.
    """
    scores, weights = (
        np.array([1.0, 1.0, 1.0, 1.0, 2.0]),
        np.array([1.0, 1.0, 1.0, 3.0, 2.0]),
    )
    assert tied_share(scores, 1.0, 0.4) == pytest.approx(0.25)
    assert tied_share(scores, 1.0, 0.4, weights) == pytest.approx((0.4 * 8 - 2) / 6)


@pytest.mark.parametrize("capacity", [0.03, 0.3, 0.5, 0.9])
def test_tied_rows_are_drawn_so_that_the_capacity_is_met(capacity: float) -> None:
    """Four scores of a quarter each: strictly, the shares would be 0, 0.25, 0.5 and
    0.75.
    """
    frame, new = coarse(20_000), coarse(20_000, seed=1)
    algorithm = Threshold(ScoreColumn("score"), capacity).prepare(
        read_rows(frame), breaking=TieBreaking(5)
    )
    error = (capacity * (1 - capacity) / 20_000) ** 0.5
    for rows in (frame, new):
        assert algorithm.decide(rows).mean() == pytest.approx(capacity, abs=4 * error)
    above = new["score"].to_numpy() > algorithm.cutoff
    assert algorithm.decide(new)[above].all()
    assert not algorithm.decide(new)[new["score"].to_numpy() < algorithm.cutoff].any()


def test_without_a_draw_no_tied_row_is_selected() -> None:
    frame = coarse(20_000)
    strict = Threshold(ScoreColumn("score"), 0.3).prepare(read_rows(frame))
    np.testing.assert_array_equal(
        strict.decide(frame),
        (frame["score"] > np.quantile(frame["score"], 0.7)).to_numpy(),
    )


def test_weights_are_met_in_expectation() -> None:
    rng = np.random.default_rng(2)
    frame, weights = coarse(20_000), rng.exponential(size=20_000)
    algorithm = Threshold(ScoreColumn("score"), 0.4).prepare(
        read_rows(frame), weights, TieBreaking(5)
    )
    reached = float(weights[algorithm.decide(frame) == 1].sum() / weights.sum())
    assert reached == pytest.approx(0.4, abs=4 * (0.4 * 0.6 * 2 / 20_000) ** 0.5)


@pytest.mark.parametrize("row_id", [None, "person"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_decision_depends_on_the_row_alone(kind: Any, row_id: str | None) -> None:
    frame = coarse(3_000)
    algorithm = Threshold(ScoreColumn("score"), 0.3).prepare(
        read_rows(frame), breaking=TieBreaking(5, row_id)
    )
    whole = algorithm.decide(frame)
    order = np.random.default_rng(0).permutation(3_000)
    shuffled = kind(frame[order].select("score", "person").to_dict(as_series=False))
    np.testing.assert_array_equal(algorithm.decide(shuffled), whole[order])
    parts = [algorithm.decide(frame[start : start + 7]) for start in range(0, 3_000, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    if row_id:
        np.testing.assert_array_equal(
            algorithm.decide(frame.with_columns(note=pl.lit("x"))), whole
        )
    other = Threshold(ScoreColumn("score"), 0.3).prepare(
        read_rows(frame), breaking=TieBreaking(6, row_id)
    )
    assert (other.decide(frame) != whole).any()


def test_the_draw_among_ties_is_independent_of_the_repetitions() -> None:
    """Both hash the same keys; of the rows of either side the same share must be
    drawn.
    """
    rng = np.random.default_rng(3)
    rows = 40_000
    frame = pl.DataFrame(
        {
            "y": rng.normal(size=rows),
            "g": np.where(rng.random(rows) < 0.5, "a", "b"),
            "s": rng.integers(0, 2, rows),
            "x": rng.normal(size=rows),
        }
    )
    result = improvable.audit(
        frame,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("s", capacity=0.25),
        rule="linear",
        features=["x"],
        test=improvable.Test(repetitions=4, draws=100),
    )
    for repetition in result.repetitions:
        assert repetition.counts["share_selected"]["status_quo"][
            "train"
        ] == pytest.approx(0.25, abs=4 * (0.25 * 0.5 / 20_000) ** 0.5)
        assert repetition.counts["share_selected"]["status_quo"][
            "test"
        ] == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / 20_000) ** 0.5)


def test_the_paper_s_letter_can_be_asked_for() -> None:
    frame = coarse(400).with_columns(
        y=pl.Series(np.random.default_rng(0).normal(size=400)),
        g=pl.Series(["a", "b"] * 200),
    )
    asked: dict[str, Any] = {
        "outcome": "y",
        "group": "g",
        "draws": 100,
        "candidate": lambda f: np.ones(len(f)),
    }
    now = improvable.threshold("score", capacity=0.4)
    with pytest.warns(improvable.ImprovableWarning, match="fewer than its capacity"):
        strict = flat_compare(frame, status_quo=now, ties="strict", **asked)
    with pytest.warns(improvable.ImprovableWarning, match="candidate selects 100.0%"):
        drawn = flat_compare(frame, status_quo=now, **asked)
    assert strict.counts["share_selected"]["status_quo"]["test"] == float(
        (frame["score"] == 3).mean()  # type: ignore[arg-type]
    )
    assert drawn.counts["share_selected"]["status_quo"]["test"] == pytest.approx(
        0.4, abs=0.06
    )
