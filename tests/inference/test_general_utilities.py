"""Utilities that are functions of several means, and gaps that are ratios, agree with
slow twins everywhere they go.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable._typing import FloatArray
from improvable.inference.cells import contributions, count
from improvable.inference.components import Condition, gaps
from improvable.inference.influence import influence_of
from improvable.inference.statistics import gap_between, gap_slopes, utilities_of
from improvable.studies.power import power_from_pilot
from oracle import naive_draws, naive_values

TWO_SUMS = improvable.Utility(
    lambda y, d: 2 * y * d, lambda y, d: y + d, name="two_sums", binary_decision=True
)
OWN = improvable.Utility(
    formula="sqrt(hit_rate * (1 - false_alarms))",
    means={
        "hit_rate": improvable.UTILITIES["true_positive_rate"],
        "false_alarms": improvable.UTILITIES["false_positive_rate"],
    },
    name="geometric_mean",
)


def compared(case: Case, **options: Any) -> improvable.Comparison:
    options = {
        "outcome": "binary",
        "draws": 600,
        "seed": 5,
        "accuracy": "f_score",
        **options,
    }
    return flat_compare(
        case.frame(), group="group", status_quo="now", candidate="new", **options
    )


@pytest.mark.paper("Section 3.2")
def test_the_f_score_is_also_a_ratio_of_two_sums() -> None:
    """So its value, and its variance by the delta method, have an independent twin."""
    case = Case(seed=3, rows=400)
    mine, twin = compared(case), compared(case, accuracy=TWO_SUMS)
    np.testing.assert_allclose(
        mine.evidence.values[0][:, 3], twin.evidence.values[0][:, 0], rtol=1e-13
    )
    coefficients = np.array([[1.0, -0.7], [-0.9, 0.4]])
    shapes = [
        influence_of(
            Condition("accuracy", "", m, np.arange(2), coefficients, 0.0),
            cells_of(case, result),
            result.evidence.sums,
            result.evidence.measures,
        )
        for result, m in ((mine, 3), (twin, 0))
    ]
    assert shapes[0].spread == pytest.approx(shapes[1].spread, rel=1e-12)
    assert shapes[0].largest == pytest.approx(shapes[1].largest, rel=1e-12)


def cells_of(case: Case, result: improvable.Comparison) -> Any:
    utility = (
        improvable.UTILITIES["f_score"]
        if len(result.evidence.measures) > 1
        else TWO_SUMS
    )
    vectors = contributions(
        utility.ingredients,
        None,  # type: ignore[arg-type]
        {None: case.binary},
        case.decisions,
    )
    return count(vectors.reshape(len(vectors), -1), case.group, 2)


@pytest.mark.parametrize("name", ["f_score", "lift"])
def test_the_delta_method_agrees_with_the_jackknife(name: str) -> None:
    case = Case(seed=4, rows=600)
    y = case.binary
    utility = improvable.UTILITIES[name]
    result = compared(case, accuracy=name)
    vectors = contributions(utility.ingredients, None, {None: y}, case.decisions)  # type: ignore[arg-type]
    cells = count(vectors.reshape(len(vectors), -1), case.group, 2)
    coefficients, measure = (
        np.array([[1.0, -0.5], [-1.0, 0.5]]),
        result.evidence.accuracy[0],
    )
    condition = Condition("accuracy", "", measure, np.arange(2), coefficients, 0.0)
    spread = influence_of(
        condition, cells, result.evidence.sums, result.evidence.measures
    ).spread

    def statistic(kept: FloatArray) -> float:
        values = naive_values(
            name, y[kept], [d[kept] for d in case.decisions], case.group[kept]
        )
        return float((coefficients * values).sum())

    everyone = np.arange(len(y))
    left_out = np.array([statistic(np.delete(everyone, i)) for i in everyone])
    assert spread == pytest.approx(
        np.sqrt(((left_out - left_out.mean()) ** 2).sum()), rel=0.02
    )


@pytest.mark.paper("Section 3.2")
@pytest.mark.parametrize("name", ["f_score", "lift", "adverse_impact_ratio"])
def test_the_normal_limit_agrees_with_resampling_rows(name: str) -> None:
    case = Case(seed=5, rows=800)
    limit = compared(
        case, accuracy="selection_rate", fairness=name, method="delta", draws=4_000
    )
    slow = naive_draws(name, case.binary, case.decisions, case.group, 1_500, seed=1)
    fast = limit.evidence.drawn[0][:, :, limit.evidence.fairness[0]]
    # error 2.2%, and skewness
    np.testing.assert_allclose(fast.std(axis=0), slow.std(axis=0), rtol=0.09)
    np.testing.assert_allclose(fast.mean(axis=0), slow.mean(axis=0), atol=0.01)


def test_the_order_of_rows_changes_nothing() -> None:
    case = Case(seed=6, rows=500)
    frame = case.frame()
    options: dict[str, Any] = {
        "outcome": "binary",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "accuracy": ["f_score", OWN],
        "fairness": ["lift", "adverse_impact_ratio"],
        "draws": 300,
    }
    one, other = (flat_compare(rows, **options) for rows in (frame, frame[::-1]))
    np.testing.assert_array_equal(one.evidence.draws, other.evidence.draws)
    assert one.to_dict() == other.to_dict()


def test_pairs_are_drawn_and_tested_as_they_are_alone() -> None:
    """A formula beside a pair (u, w) leaves the pair's estimate, and its place in the
    question, as they were.
    """
    case = Case(seed=7, rows=400)
    alone = compared(case, accuracy="calibration")
    beside = compared(case, accuracy=["calibration", "f_score"])
    np.testing.assert_array_equal(
        alone.evidence.values[0][:, 0], beside.evidence.values[0][:, 0]
    )
    assert [component.measure for component in beside.assessment.of("accuracy")] == [
        "calibration"
    ] * 2 + ["f_score"] * 2
    assert {
        one["measure"] for one in beside.to_dict()["repetitions"][0]["intervals"]
    } == {"calibration", "f_score"}


def test_a_result_with_a_formula_of_ones_own_comes_back_from_a_folder(
    tmp_path: Path,
) -> None:
    result = compared(
        Case(seed=8, rows=500), accuracy=OWN, fairness="adverse_impact_ratio"
    )
    result.save(tmp_path / "saved")
    back = improvable.load(tmp_path / "saved")
    assert back.to_dict() == result.to_dict()
    again = back.with_claim(delta_accuracy=-0.05)
    assert again.p_value == result.with_claim(delta_accuracy=-0.05).p_value
    assert back.frontier().to_dict() == result.frontier().to_dict()


def test_a_formula_for_everyone_reads_the_means_of_everyone() -> None:
    case = Case(seed=9, rows=500)
    result = compared(case, overall="population")
    expected = naive_values(
        "f_score",
        case.binary,
        case.decisions,
        np.zeros(len(case.binary), dtype=np.int64),
    )
    component = result.assessment.of("accuracy")[0]
    assert (component.status_quo, component.candidate) == pytest.approx(
        tuple(expected[0])
    )


def test_an_audit_takes_formulas() -> None:
    people = improvable.datasets.care_management(1_500, seed=2)
    result = improvable.audit(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.2),
        rule="linear",
        accuracy="lift",
        fairness="adverse_impact_ratio",
        test=improvable.Test(repetitions=2, draws=200),
    )
    gap = result.to_dict()["repetitions"][0]["gap"]
    rates = result.to_dict()["repetitions"][0]["fairness"].values()
    assert gap["candidate"] == pytest.approx(
        1 - min(r["candidate"] for r in rates) / max(r["candidate"] for r in rates)
    )
    with pytest.raises(improvable.RuleError, match="cannot aim at 'lift'"):
        improvable.audit(
            people,
            outcome="gagne_sum_t",
            group="race",
            status_quo=improvable.threshold("risk_score_t", capacity=0.2),
            rule="linear_program:fairest",
            accuracy="lift",
            test=improvable.Test(repetitions=1, draws=200),
        )


@pytest.mark.paper("Section 3.2")
@pytest.mark.parametrize(
    ("selection", "protected"), [("benefit", "b"), ("burden", "a"), ("benefit", None)]
)
def test_a_ratio_gap_is_the_share_by_which_the_lower_falls_short(
    selection: Any, protected: str | None
) -> None:
    case = Case(seed=10, rows=500)
    result = compared(
        case,
        accuracy="selection_rate",
        fairness="adverse_impact_ratio",
        selection=selection,
        protected=protected,
    )
    rates = naive_values("selection_rate", case.binary, case.decisions, case.group)
    gap = result.to_dict()["repetitions"][0]["gap"]
    for t, name in enumerate(("status_quo", "candidate")):
        low, high = sorted(rates[:, t])
        worst = rates["ab".index(protected or "b"), t] == (
            low if selection == "benefit" else high
        )
        assert gap[name] == pytest.approx(
            1 - low / high if protected is None or worst else 0.0
        )
    walked = next(gaps(result.evidence, result.question.claim))
    assert walked.scale == 1.0


@pytest.mark.parametrize("relative", [0, 1, -1])
def test_slopes_of_a_gap_are_those_of_small_steps(relative: int) -> None:
    above, below, step = (-0.3, -0.5, 1e-6) if relative < 0 else (0.5, 0.3, 1e-6)

    def gap(a: float, b: float) -> float:
        return float(gap_between(np.asarray(a), np.asarray(b), relative))

    up, down = gap_slopes(above, below, relative)
    assert up == pytest.approx(
        (gap(above + step, below) - gap(above - step, below)) / (2 * step)
    )
    assert down == pytest.approx(
        (gap(above, below + step) - gap(above, below - step)) / (2 * step)
    )
    assert np.isnan(gap_between(np.zeros(1), np.zeros(1), 1)).all()


def test_a_formula_that_divides_by_zero_is_refused_in_words() -> None:
    case = Case(seed=11, rows=300)
    frame = case.frame().with_columns(none=pl.lit(0))
    with pytest.raises(
        improvable.DataError,
        match=r"no 'lift' for group 'a': its formula divides by zero",
    ):
        improvable.compare(
            frame,
            outcome="none",
            group="group",
            status_quo="now",
            candidate="new",
            accuracy="lift",
            test=improvable.Test(draws=100),
        )


def test_utilities_of_pairs_are_untouched_by_formulas() -> None:
    sums = np.random.default_rng(0).uniform(1, 2, (3, 2, 2, 2))
    np.testing.assert_array_equal(utilities_of(sums), sums[..., 0] / sums[..., 1])


def test_a_plan_for_a_formula_is_that_of_its_twin() -> None:
    """The delta method from a pilot; both are simulated with their own random numbers,
    600 of them.
    """
    case = Case(seed=12, rows=1_500)
    frame = case.frame().with_columns(
        x=pl.Series(case.binary + np.random.default_rng(1).normal(0, 1, 1_500))
    )
    question: dict[str, Any] = {
        "outcome": "binary",
        "group": "group",
        "status_quo": "now",
        "rule": "logistic",
        "features": ["x"],
        "ask": "accuracy",
        "rows": 2_000,
        "sizes": 2,
        "fits": 3,
        "simulations": 600,
        "seed": 3,
    }
    mine, twin = (
        power_from_pilot(frame, accuracy=one, **question).asked
        for one in ("f_score", TWO_SUMS)
    )
    assert mine.power == pytest.approx(
        twin.power, abs=4 * max(mine.error, twin.error) + 0.02
    )
    with pytest.raises(
        improvable.OptionError, match="no plan for 'adverse_impact_ratio'"
    ):
        power_from_pilot(
            frame, fairness="adverse_impact_ratio", **{**question, "ask": "both"}
        )


def test_a_formula_may_have_a_long_tail() -> None:
    """Few rows differ and few have an outcome of 0: the tail of an F-score is cautioned
    as that of any utility.
    """
    rng = np.random.default_rng(1)
    now, groups = rng.random(120) < 0.5, rng.choice(["a", "b"], 120)
    new, good = now ^ (rng.random(120) < 0.1), rng.random(120) < 0.95
    frame = pl.DataFrame(
        {"group": groups, "now": now * 1, "new": new * 1, "good": good * 1}
    )
    result = improvable.compare(
        frame,
        outcome="good",
        group="group",
        status_quo="now",
        candidate="new",
        accuracy="f_score",
    )
    assert any(
        one.startswith("'f_score' is skewed") for one in result.to_dict()["warnings"]
    )
