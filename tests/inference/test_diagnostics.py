"""Theorem 2 and selection rates, each against a slow calculation from the rows or the
draws.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable.data.groups import Attribute
from improvable.inference.diagnostics import candidate_gaps, selection_rates


def compared(
    rows: int = 900, draws: int = 200, **options: Any
) -> improvable.Comparison:
    frame = Case(seed=3, rows=rows).frame()
    frame = frame.with_columns(
        region=pl.Series(
            np.random.default_rng(0).choice(["north", "south", "west"], rows)
        ),
        nobody=pl.Series(np.zeros(rows)),
        household=pl.Series(np.arange(rows) // 3),
        w=pl.Series(np.random.default_rng(1).integers(1, 4, rows)),
    )
    asked: dict[str, Any] = {
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
    } | options
    return flat_compare(frame, outcome="count", draws=draws, **asked)


@pytest.mark.paper("Theorem 2")
@pytest.mark.parametrize("protected", [(), "b"])
def test_the_candidates_gap_is_measured_in_standard_errors(protected: Any) -> None:
    result = compared(protected=protected, selection="burden")
    evidence, gaps = result.evidence, []
    (found,) = candidate_gaps(evidence, result.question.claim)
    high, low = (evidence.groups.index(group) for group in (found.higher, found.lower))
    for draw in evidence.draws:
        one, other = (draw[g, 0, 1, 0] / draw[g, 0, 1, 1] for g in (high, low))
        gaps.append(one - other)
    gap = evidence.sums[high, 0, 1, 0] / evidence.sums[high, 0, 1, 1]
    gap -= evidence.sums[low, 0, 1, 0] / evidence.sums[low, 0, 1, 1]
    spread = (sum((g - sum(gaps) / len(gaps)) ** 2 for g in gaps) / len(gaps)) ** 0.5
    assert found.gap == pytest.approx(gap)
    assert found.standard_errors == pytest.approx(abs(gap) / spread)
    assert found.near_zero == (abs(gap) / spread < 2)


def test_a_gap_that_is_undefined_has_no_standard_error() -> None:
    result = compared(candidate="nobody", form="difference")
    (found,) = candidate_gaps(result.evidence, result.question.claim)
    assert np.isnan(found.gap)
    assert found.standard_errors is None
    assert not found.near_zero
    assert result.facts["diagnostics"]["candidate_gaps"][0]["gap"] is None


def test_an_audits_selection_rates_are_those_of_all_rows() -> None:
    people = improvable.datasets.care_management(4_000, seed=1)
    result = improvable.audit(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        rule="linear",
        features=["gagne_sum_tm1"],
        test=improvable.Test(repetitions=2, draws=200),
    )
    chosen = people["risk_score_t"] > np.quantile(
        people["risk_score_t"].to_numpy(), 0.9
    )
    for one in result.facts["diagnostics"]["selection_rates"]:
        mine = people["race"] == one["group"]
        assert one["rate"] == pytest.approx((chosen & mine).sum() / mine.sum())


def test_selection_rates_are_those_of_the_data() -> None:
    frame = Case(seed=3, rows=900).frame()
    expected = dict(frame.group_by("group").agg(pl.col("now").mean()).iter_rows())
    rates = {
        one["group"]: one for one in compared().facts["diagnostics"]["selection_rates"]
    }
    assert {group: one["rate"] for group, one in rates.items()} == pytest.approx(
        expected
    )
    best = max(expected, key=lambda group: expected[group])
    assert rates[best]["best_off"]
    assert rates[best]["ratio"] == 1


def test_every_attribute_has_its_own_highest_rate() -> None:
    found = compared(group=["group", "region"]).facts["diagnostics"]["selection_rates"]
    assert [one["attribute"] for one in found] == ["group"] * 2 + ["region"] * 3
    assert sum(one["best_off"] for one in found) == 2


def test_standard_deviations_are_those_of_two_proportions() -> None:
    attribute = Attribute("g", ("a", "b"), np.array([0, 1, 1]))
    one = selection_rates(
        [attribute], np.array([100, 150, 250]), np.array([50, 40, 60])
    )[1]
    assert (one.rows, one.selected, one.ratio, one.below_four_fifths) == (
        400,
        100,
        0.5,
        True,
    )
    assert one.standard_deviations == pytest.approx(
        -0.25 / np.sqrt(0.3 * 0.7 * (1 / 100 + 1 / 400))
    )
    nobody = selection_rates(
        [attribute], np.array([100, 150, 250]), np.zeros(3, dtype=np.int64)
    )
    assert [
        (one.ratio, one.below_four_fifths, one.standard_deviations) for one in nobody
    ] == [(None, False, 0.0)] * 2
