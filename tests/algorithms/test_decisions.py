"""Everything that can decide: columns, thresholds, fitted models, functions,
objects.
"""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import improvable
from conftest import Case
from flat import flat_compare
from improvable.algorithms.decisions import prepare
from improvable.data.frame import read_rows


def compared(data: Any, candidate: Any, **options: Any) -> improvable.Comparison:
    return flat_compare(
        data,
        outcome="binary",
        group="group",
        status_quo="now",
        candidate=candidate,
        draws=200,
        **options,
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_ways_to_say_the_same_thing_give_the_same_result(case: Case, kind: Any) -> None:
    columns = case.frame().to_dict(as_series=False)
    data = kind(columns)
    expected = compared(data, improvable.threshold("count", above=1)).to_dict()[
        "repetitions"
    ]

    class Cutoff:
        def decide(self, frame: Any) -> Any:
            return np.asarray(frame["count"]) > 1

    for candidate in (
        lambda frame: np.asarray(frame["count"]) > 1,
        Cutoff(),
        improvable.threshold(lambda frame: np.asarray(frame["count"]), above=1),
    ):
        assert compared(data, candidate).to_dict()["repetitions"] == expected


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_fitted_model_reads_its_own_columns(case: Case, kind: Any) -> None:
    data = kind(case.frame().to_dict(as_series=False))
    model = LogisticRegression().fit(
        data[["count"]], data["binary"].to_numpy().astype(int)
    )
    by_model = compared(data, model)
    by_function = compared(data, lambda frame: model.predict(frame[["count"]]))
    assert by_model.to_dict()["repetitions"] == by_function.to_dict()["repetitions"]
    top = compared(data, improvable.threshold(model, capacity=0.2))
    assert top.counts["share_selected"]["candidate"]["test"] == pytest.approx(
        0.2, abs=0.06
    )


def test_a_model_of_pyarrow_rows_reads_them_too(case: Case) -> None:
    columns = case.frame().to_dict(as_series=False)
    model = LogisticRegression().fit(
        pl.DataFrame(columns)[["count"]], case.binary.astype(int)
    )
    assert (
        compared(pa.table(columns), model).to_dict()["repetitions"]
        == compared(pl.DataFrame(columns), model).to_dict()["repetitions"]
    )


def test_rows_with_equal_covariates_tie_whatever_batch_they_are_in() -> None:
    """A matrix product may round the same row differently in another position; a
    threshold must not see that.
    """
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(40, 7)) * 1e3
    frame = pl.DataFrame(
        distinct[rng.integers(0, 40, 5_001)], schema=[f"x{j}" for j in range(7)]
    )
    model = LinearRegression().fit(frame, rng.normal(size=5_001))
    algorithm = prepare(improvable.threshold(model, capacity=0.3), read_rows(frame))
    whole = algorithm.decide(frame)
    for step in (1, 3, 17):
        parts = [
            algorithm.decide(frame[start : start + 500 * step])
            for start in range(0, 5_001, 500 * step)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    by_content: dict[tuple[float, ...], set[float]] = {}
    for row, decision in zip(frame.rows(), whole, strict=True):
        by_content.setdefault(row, set()).add(decision)
    assert all(len(decisions) == 1 for decisions in by_content.values())


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        ("nwe", "no column 'nwe'. Did you mean .*'new'"),
        (lambda frame: frame["absent"], "failed on the rows"),
        (lambda frame: np.ones(3), r"shape \(3,\) for 500 rows"),
        (lambda frame: np.full(500, np.nan), "missing or infinite answer for 500 rows"),
        (LogisticRegression().fit([[0], [1]], [0, 1]), "does not know its columns"),
        (
            LogisticRegression().fit(pd.DataFrame({"absent": [0, 1]}), [0, 1]),
            "no column 'absent'",
        ),
        (3.5, "a float cannot decide"),
        ("count", "needs decisions of 0 and 1; the candidate decides"),
    ],
)
def test_what_cannot_decide_says_why(case: Case, candidate: Any, message: str) -> None:
    with pytest.raises(improvable.ImprovableError, match=message):
        compared(case.frame(), candidate)


@pytest.mark.parametrize(
    "options",
    [{}, {"capacity": 0.1, "above": 3.0}, {"capacity": 0.0}, {"capacity": 1.0}],
)
def test_a_threshold_needs_one_sensible_cutoff(options: dict[str, float]) -> None:
    with pytest.raises(improvable.OptionError):
        improvable.threshold("score", **options)


def test_a_constant_score_is_refused(case: Case) -> None:
    frame = case.frame().with_columns(flat=pl.lit(2.0))
    with pytest.raises(improvable.DataError, match="'flat' is constant"):
        improvable.compare(
            frame,
            outcome="count",
            group="group",
            candidate="new",
            status_quo=improvable.threshold("flat", capacity=0.1),
        )
