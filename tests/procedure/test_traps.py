"""Traps that a careful reader of the paper would check, each by its number in the
design.
"""

import json
import warnings
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_audit, flat_compare
from improvable._typing import FloatArray
from improvable.inference.test import (
    lower_median,
    lower_tail,
    threshold_for,
    upper_tail,
)
from improvable.procedure.prepare import prepare_audit
from improvable.question.settings import Settings
from improvable.results.formatting import p_text


def compared(frame: pl.DataFrame, **options: object) -> improvable.Comparison:
    settings: dict[str, object] = {
        "outcome": "count",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "draws": 500,
    }
    return flat_compare(frame, **{**settings, **options})


@pytest.mark.parametrize("gap", ["signed", "absolute"])
def test_trap_1_an_identical_candidate_never_improves(case: Case, gap: str) -> None:
    result = compared(case.frame(), candidate="now", gap=gap)
    assert result.p_value == 1.0
    assert result.assessment.p_accuracy == {"a": 1.0, "b": 1.0}
    assert result.assessment.p_fairness == result.assessment.p_fairness_other == 1.0
    assert any("decide alike" in text for text in result.warnings)


def test_trap_1_identical_on_one_group_only(case: Case) -> None:
    frame = case.frame().with_columns(
        new=pl.when(pl.col("group") == "a").then("now").otherwise("new")
    )
    result = compared(frame)
    assert result.assessment.p_accuracy["a"] == 1.0 > result.assessment.p_accuracy["b"]


def test_trap_1_ties_count_against_rejection() -> None:
    assert (
        upper_tail(1.0, np.array([2.0, 2.0 - 1e-14, 1.0, 0.0]), scale=1.0).p_value
        == 0.5
    )
    assert (
        upper_tail(0.1 + 0.2 - 0.3, np.array([0.0, 0.0, 1.0]), scale=1.0).p_value == 1.0
    )


@pytest.mark.paper("Assumption 3")
def test_trap_1_a_statistic_without_variance_proves_nothing() -> None:
    tail = upper_tail(1.0, np.ones(50), scale=1.0)
    assert (tail.p_value, tail.degenerate) == (1.0, True)


def test_trap_2_p_values_are_centred() -> None:
    """T = 1 and skewed draws, for which P*(T* <= 0) and a percentile interval would say
    something else.
    """
    draws = np.array([0.5, 0.9, 1.0, 1.1, 2.1, 3.0, 1.2, 0.8, 1.0, 1.3])
    assert upper_tail(1.0, draws, 1.0).p_value == 0.2
    assert float(np.mean(draws <= 0)) == 0.0
    assert lower_tail(-1.0, -draws, 1.0).p_value == 0.2


@pytest.mark.paper("Section 3.1", "Corollary 1")
def test_trap_3_the_lower_median_strictly_below_half_alpha() -> None:
    assert lower_median([0.01, 0.02, 0.03, 0.9]) == 0.02
    assert lower_median([0.5, 0.01, 0.02]) == 0.02
    assert threshold_for(0.05, repetitions=7) == 0.025
    assert threshold_for(0.05, repetitions=1) == 0.05


def test_trap_3_an_audit_rejects_strictly(case: Case) -> None:
    result = audited(case, repetitions=2, draws=500)
    assert result.p_value == min(
        repetition.p_value for repetition in result.repetitions
    )
    tied = result.with_claim(alpha=2 * result.p_value)
    assert tied.level == tied.p_value
    assert not tied.reject


def with_scores(case: Case) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return case.frame().with_columns(
        signal=pl.Series(case.count + rng.normal(0, 1, len(case.count))),
        score=pl.Series(
            case.count + rng.normal(0, 3, len(case.count)) + 2.0 * case.group
        ),
    )


def audited(case: Case, **options: object) -> improvable.Audit:
    frame = with_scores(case)
    settings: dict[str, object] = {
        "outcome": "count",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.3),
        "rule": "linear",
        "features": ["signal"],
        "repetitions": 3,
        "draws": 300,
    }
    return flat_audit(frame, **{**settings, **options})


@pytest.mark.paper("Section 6")
@pytest.mark.parametrize("scheme", ["forward", "split"])
def test_trap_4_thresholds_come_from_training_rows_for_both_algorithms(
    case: Case, scheme: Any
) -> None:
    """Recomputed by hand, block by block: strictly above the quantile of the rows
    before the block.
    """
    result = audited(case, repetitions=1, scheme=scheme)
    status_quo = improvable.threshold("score", capacity=0.3)
    asked = Settings(
        outcome="count",
        group="group",
        status_quo=status_quo,
        rule="linear",
        features=["signal"],
        scheme=scheme,
    )
    ready = prepare_audit(with_scores(case), asked)
    sample = ready.sample()
    place = ready.splitting.places(ready.splitting.units(sample), 1) / 2.0**64
    score, signal, count = (
        sample.rows.numbers(name) for name in ("score", "signal", "count")
    )
    expected = np.zeros((2, 2), dtype=int)
    cuts = [0.5, 1.0] if scheme == "split" else [0.2, 0.4, 0.7, 1.0]
    for begin, end in pairwise(cuts):
        train, block = place < begin, (place >= begin) & (place < end)
        before = score[block] > np.quantile(score[train], 0.7)
        line = partial(np.polyval, np.polyfit(signal[train], count[train], 1))
        after = line(signal[block]) > np.quantile(
            _left_out(signal[train], count[train]), 0.7
        )
        for g in range(2):
            own = sample.grouping.codes[block] == g
            expected[g] += [before[own].sum(), after[own].sum()]
    found = result.repetitions[0].counts["selected"].values()
    assert [[one["status_quo"], one["candidate"]] for one in found] == expected.tolist()


def _left_out(x: FloatArray, y: FloatArray) -> list[float]:
    """What a line that is fitted without it predicts for each point."""
    left = [np.arange(len(x)) != i for i in range(len(x))]
    return [
        float(np.polyval(np.polyfit(x[others], y[others], 1), x[i]))
        for i, others in enumerate(left)
    ]


@pytest.mark.paper("Assumption 2")
def test_trap_5_undefined_draws_count_against_rejection_and_are_reported() -> None:
    tail = upper_tail(1.0, np.array([np.nan, 0.9, 1.1, 1.0]), scale=1.0)
    assert (tail.p_value, tail.undefined) == (0.25, 1)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "group": ["a"] * 200 + ["b"] * 4,
            "count": [*rng.poisson(3, 200).tolist(), 5, 6, 7, 8],
            "now": [1] * 200 + [1, 1, 0, 0],
            "new": [1, 0] * 100 + [0, 0, 1, 1],
        }
    )
    result = compared(frame, direction="as stated")
    lost = int(np.isnan(result.evidence.drawn[0][:, 1, 0]).any(axis=1).sum())
    assert lost > 50
    assert result.assessment.undefined == lost
    assert result.assessment.p_accuracy["b"] >= lost / 500
    assert any("count against rejection" in text for text in result.warnings)


@pytest.mark.paper("Assumption 2")
def test_trap_6_a_status_quo_that_selects_nobody_of_a_group_is_an_error(
    case: Case,
) -> None:
    frame = case.frame().with_columns(
        now=pl.when(pl.col("group") == "a").then(0.0).otherwise("now")
    )
    with pytest.raises(
        improvable.DataError, match="status quo has no 'calibration' for group 'a'"
    ):
        compared(frame)


def test_trap_6_a_candidate_that_selects_nobody_of_a_group_has_p_one(
    case: Case,
) -> None:
    frame = case.frame().with_columns(
        new=pl.when(pl.col("group") == "a").then(0.0).otherwise("new")
    )
    result = compared(frame)
    assert result.p_value == 1.0
    assert any("selects nobody of group 'a'" in text for text in result.warnings)
    assert (
        json.loads(json.dumps(result.to_dict()))["repetitions"][0]["accuracy"]["a"][
            "candidate"
        ]
        is None
    )


def test_trap_6_fewer_than_thirty_selected_is_a_warning(case: Case) -> None:
    with pytest.warns(improvable.ImprovableWarning, match="fewer than 30"):
        compared(case.frame().head(60))


@pytest.mark.paper("Assumption 1")
def test_trap_7_a_status_quo_without_a_gap_is_refused() -> None:
    frame = pl.DataFrame(
        {
            "group": ["a", "b"] * 40,
            "count": [1, 1, 0, 0] * 20,
            "now": [1] * 80,
            "new": [1, 0] * 40,
        }
    )
    with pytest.raises(improvable.DataError, match="no gap at all"):
        compared(frame)


@pytest.mark.paper("Assumption 1")
def test_trap_7_a_gap_that_may_be_zero_is_a_warning_with_its_interval(
    case: Case,
) -> None:
    with pytest.warns(
        improvable.ImprovableWarning, match="gap.*may be zero.*interval from"
    ):
        compared(case.frame().head(150))


def test_trap_8_a_nearly_fair_candidate_is_judged_without_folding() -> None:
    """At the kink the folded statistic is surer of a large cut than the data allow; the
    signed one is not.
    """
    rng = np.random.default_rng(5)
    group = np.repeat(["a", "b"], 400)
    before = rng.normal(np.where(group == "a", 1.52, 0.0), 3.0)
    after = rng.normal(0.0, 3.0, 800)
    after[:400] += after[400:].mean() - after[:400].mean()
    frame = pl.DataFrame(
        {"group": group, "before": before, "after": after, "now": 0.0, "new": 1.0}
    )
    value = improvable.Utility(
        lambda rows, y, d: np.where(d == 1, rows["after"].to_numpy(), y), name="value"
    )
    result = compared(
        frame,
        outcome="before",
        accuracy=value,
        form="difference",
        delta_accuracy=-10,
        delta_fairness=1,
    )
    facts = result.to_dict()["repetitions"][0]
    assert facts["gap"]["candidate"] == pytest.approx(0, abs=1e-9)
    assert facts["p_fairness"] == result.assessment.p_fairness > 0.05
    assert facts["p_fairness_other"] == result.assessment.p_fairness_other < 0.05


def test_trap_9_a_p_value_of_zero_prints_as_less_than_one_in_draws() -> None:
    assert p_text(0.0, 10_000) == "< 0.0001"
    assert p_text(0.0, 500) == "< 0.002"
    assert p_text(0.0, 300) == "< 0.0034"
    assert p_text(0.0, 1_000_000) == "< 0.000001"
    assert p_text(0.0001, 10_000) == "0.0001"
    assert p_text(0.000002, 1_000_000) == "0.000002"


def test_trap_10_ties_that_break_the_capacity_are_reported(case: Case) -> None:
    rng = np.random.default_rng(0)
    frame = case.frame().with_columns(coarse=pl.Series(rng.integers(0, 4, 500)))
    now = improvable.threshold("coarse", capacity=0.4)
    met = compared(frame, status_quo=now)
    assert met.counts["share_selected"]["status_quo"]["test"] == pytest.approx(
        0.4, abs=0.04
    )
    with pytest.warns(
        improvable.ImprovableWarning,
        match=r"status quo selects 2\d\.\d\d% .* fewer than its capacity",
    ):
        result = compared(frame, status_quo=now, ties="strict")
    assert any(
        "fewer than its capacity" in text
        for text in result.to_dict()["verdict_warnings"]
    )
    assert result.counts["share_selected"]["status_quo"]["test"] == pytest.approx(
        float((frame["coarse"] == 3).mean())  # type: ignore[arg-type]
    )


def test_trap_10_the_capacity_reached_is_reported_for_both_algorithms_and_samples(
    case: Case,
) -> None:
    for repetition in audited(case).to_dict()["repetitions"]:
        for name in ("status_quo", "candidate"):
            assert repetition["share_selected"][name]["train"] == pytest.approx(
                0.3, abs=0.01
            )
            assert repetition["share_selected"][name]["test"] == pytest.approx(
                0.3, abs=0.12
            )


def test_trap_14_workers_change_no_bit(case: Case) -> None:
    one, two = (
        audited(case, n_jobs=1, rule="forest:30"),
        audited(case, n_jobs=2, rule="forest:30"),
    )
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    for a, b in zip(one.repetitions, two.repetitions, strict=True):
        np.testing.assert_array_equal(a.evidence.draws, b.evidence.draws)


def test_trap_14_no_global_randomness(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.random.seed(1)  # noqa: NPY002
        first = audited(case, rule="boosting").p_value
        np.random.seed(2)  # noqa: NPY002
        assert audited(case, rule="boosting").p_value == first
