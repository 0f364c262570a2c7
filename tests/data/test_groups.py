"""Many groups, several group columns, small groups, one-sided fairness, overall
accuracy, several utilities.
"""

from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_compare
from improvable._typing import FloatArray
from oracle import NAIVE_UTILITIES


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(21)
    n = 900
    race = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    sex = rng.choice(["f", "m"], n)
    shift = np.select([race == "a", race == "b"], [0.5, 0.0], -0.3) + 0.2 * (sex == "f")
    need = rng.normal(shift, 1.0)
    return pl.DataFrame(
        {
            "race": race,
            "sex": sex,
            "count": rng.poisson(np.exp(0.5 * need + 0.6)).astype(float),
            "sick": (need + rng.normal(0, 0.5, n) > 0).astype(int),
            "now": (need + rng.normal(0, 1.5, n) > 0.3).astype(int),
            "new": (need + rng.normal(0, 0.7, n) > 0.4).astype(int),
        }
    )


def compared(people: pl.DataFrame, **options: Any) -> improvable.Comparison:
    settings = {
        "outcome": "count",
        "group": "race",
        "status_quo": "now",
        "candidate": "new",
        "draws": 2_000,
    }
    return flat_compare(people, **{**settings, **options})


def naive(
    frame: pl.DataFrame, column: str, utility: str, outcome: str = "count"
) -> FloatArray:
    """U by group and algorithm, straight from the definition."""
    function = NAIVE_UTILITIES[utility]
    return np.array(
        [
            [
                function(part[outcome].to_numpy(), part[d].to_numpy())
                for d in ("now", "new")
            ]
            for _, part in sorted(frame.group_by(column), key=lambda item: item[0])
        ]
    )


def naive_draws(
    frame: pl.DataFrame,
    column: str,
    utility: str,
    outcome: str = "count",
    draws: int = 1_500,
) -> FloatArray:
    rng = np.random.default_rng(5)
    n = len(frame)
    return np.array(
        [
            naive(frame[rng.integers(0, n, n)], column, utility, outcome)
            for _ in range(draws)
        ]
    )


def centred(statistic: FloatArray, draws: FloatArray, upper: bool) -> float:
    deviation = draws - statistic
    return float(np.mean(deviation >= statistic if upper else deviation <= statistic))


def test_three_groups_agree_with_a_naive_twin(people: pl.DataFrame) -> None:
    """Two Monte Carlo errors of p-values from 2,000 and 1,500 draws are at most .017
    each; the margin is four.
    """
    result = compared(people)
    values, draws = (
        naive(people, "race", "calibration"),
        naive_draws(people, "race", "calibration"),
    )
    np.testing.assert_allclose(result.evidence.values[0][:, 0], values)
    for g, group in enumerate("abc"):
        p = centred(
            values[g, 1] - values[g, 0], draws[:, g, 1] - draws[:, g, 0], upper=True
        )
        assert result.assessment.p_accuracy[group] == pytest.approx(p, abs=0.07)
    high, low = int(np.argmax(values[:, 0])), int(np.argmin(values[:, 0]))
    pairs = [
        centred(
            (values[g, 1] - values[h, 1]) - (values[high, 0] - values[low, 0]),
            (draws[:, g, 1] - draws[:, h, 1]) - (draws[:, high, 0] - draws[:, low, 0]),
            upper=False,
        )
        for g, h in permutations(range(3), 2)
    ]
    assert result.assessment.p_fairness == pytest.approx(max(pairs), abs=0.07)
    spread = np.ptp(values, axis=0), np.ptp(draws, axis=1)
    folded = centred(
        spread[0][1] - spread[0][0], spread[1][:, 1] - spread[1][:, 0], upper=False
    )
    assert result.assessment.p_fairness_other == pytest.approx(folded, abs=0.07)


def test_several_group_columns_are_an_intersection_union(people: pl.DataFrame) -> None:
    """Point estimates equal those of either column alone; the p-value is the largest of
    all components.
    """
    both = compared(people, group=["race", "sex"])
    assert both.groups == ("race=a", "race=b", "race=c", "sex=f", "sex=m")
    for a, column in enumerate(("race", "sex")):
        np.testing.assert_allclose(
            both.evidence.values[a][:, 0], naive(people, column, "calibration")
        )
    assert both.p_value == max(
        component.tail.p_value for component in both.assessment.components
    )
    assert len(both.assessment.of("fairness")) == 2
    for column in ("race", "sex"):
        alone = compared(people, group=column).assessment
        mine = {
            g.removeprefix(f"{column}="): p
            for g, p in both.assessment.p_accuracy.items()
            if g.startswith(column)
        }
        for group, p in alone.p_accuracy.items():
            assert mine[group] == pytest.approx(p, abs=0.06)


def test_group_columns_can_be_crossed(people: pl.DataFrame) -> None:
    by_hand = people.with_columns(both=pl.col("race") + ", " + pl.col("sex"))
    crossed, expected = (
        compared(people, group=["race", "sex"], cross=True),
        compared(by_hand, group="both"),
    )
    assert (
        crossed.groups
        == expected.groups
        == ("a, f", "a, m", "b, f", "b, m", "c, f", "c, m")
    )
    np.testing.assert_array_equal(crossed.evidence.draws, expected.evidence.draws)
    assert crossed.p_value == expected.p_value


def test_only_some_groups(people: pl.DataFrame) -> None:
    some = compared(people, groups=["a", "c"])
    by_hand = compared(people.filter(pl.col("race") != "b"))
    assert some.to_dict()["repetitions"] == by_hand.to_dict()["repetitions"]
    assert any("rows of other groups are left out" in text for text in some.warnings)


def test_one_sided_fairness_is_the_positive_part(people: pl.DataFrame) -> None:
    """Against the naive twin: how far the protected group falls short of the best-off,
    signed and folded.
    """
    result = compared(people, protected="c", groups=["a", "c"], selection="burden")
    frame = people.filter(pl.col("race") != "b")
    values, draws = (
        naive(frame, "race", "calibration"),
        naive_draws(frame, "race", "calibration"),
    )
    short, shorts = values[0] - values[1], draws[:, 0] - draws[:, 1]
    signed = max(
        centred(short[1] - short[0], shorts[:, 1] - shorts[:, 0], upper=False),
        centred(-short[0], -shorts[:, 0], upper=False),
    )
    assert result.assessment.p_fairness == pytest.approx(signed, abs=0.07)
    folded = centred(
        max(short[1], 0) - max(short[0], 0),
        np.maximum(shorts[:, 1], 0) - np.maximum(shorts[:, 0], 0),
        upper=False,
    )
    assert result.assessment.p_fairness_other == pytest.approx(folded, abs=0.07)


def test_one_sided_fairness_allows_a_reversed_gap() -> None:
    """A candidate that favours the protected group as much as the status quo
    disfavoured it has no one-sided gap.
    """
    rng = np.random.default_rng(3)
    n = 4_000
    group = rng.choice(["a", "b"], n)
    base = {"group": group, "y": np.ones(n), "now": 0, "new": 1}
    utility = improvable.Utility(
        lambda rows, y, d: np.where(
            d == 0, rows["before"].to_numpy(), rows["after"].to_numpy()
        ),
        name="value",
    )
    frame = pl.DataFrame(base).with_columns(
        before=pl.Series(rng.normal(np.where(group == "a", 2.0, 1.0), 1.0)),
        after=pl.Series(rng.normal(np.where(group == "a", 3.0, 4.0), 1.0)),
    )
    options: dict[str, Any] = {
        "outcome": "y",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "accuracy": utility,
        "draws": 500,
    }
    assert not flat_compare(frame, **options).reject
    one_sided = flat_compare(frame, protected="b", **options)
    assert one_sided.reject
    assert one_sided.to_dict()["repetitions"][0]["gap"]["candidate"] == 0.0


def test_a_protected_group_that_is_not_worse_off_is_refused(
    people: pl.DataFrame,
) -> None:
    with pytest.raises(
        improvable.DataError, match="protected group 'a' is not worse off"
    ):
        compared(people, protected="a", groups=["a", "c"], selection="burden")


def test_where_more_is_worse_the_protected_group_is_the_one_with_more(
    people: pl.DataFrame,
) -> None:
    options: dict[str, Any] = {
        "outcome": "sick",
        "accuracy": "classification_rate",
        "fairness": "false_positive_rate",
    }
    options["selection"] = "burden"
    rates = naive(people, "race", "false_positive_rate", "sick")[:, 0]
    worst = "abc"[int(np.argmax(rates))]
    result = compared(people, protected=worst, **options)
    gap = result.to_dict()["disparity"]
    assert gap["higher"] == gap["worse_off"] == worst
    assert gap["gap"] == pytest.approx(rates.max() - rates.min())


@pytest.mark.paper("Remark 1")
@pytest.mark.parametrize("overall", ["population", {"a": 2.0, "b": 1.0, "c": 1.0}])
def test_overall_accuracy(people: pl.DataFrame, overall: Any) -> None:
    result = compared(people, overall=overall)
    if overall == "population":
        values = naive(people.with_columns(race=pl.lit("all")), "race", "calibration")[
            0
        ]
        draws = naive_draws(
            people.with_columns(race=pl.lit("all")), "race", "calibration", draws=600
        )[:, 0]
    else:
        share = np.array([0.5, 0.25, 0.25])
        values = share @ naive(people, "race", "calibration")
        draws = np.einsum(
            "g,qgt->qt", share, naive_draws(people, "race", "calibration", draws=600)
        )
    component = result.assessment.of("accuracy")[0]
    assert [component.status_quo, component.candidate] == pytest.approx(values)
    p = centred(values[1] - values[0], draws[:, 1] - draws[:, 0], upper=True)
    assert component.tail.p_value == pytest.approx(p, abs=0.09)
    assert list(result.assessment.p_accuracy) == ["everyone"]


def test_several_utilities_are_an_intersection_union_over_the_same_draws(
    people: pl.DataFrame,
) -> None:
    result = compared(
        people,
        accuracy=["calibration", "selection_rate"],
        fairness=["calibration", "calibration_rejected"],
    )
    assert len(result.assessment.components) == 2 * 3 + 2
    for utility in ("calibration", "selection_rate", "calibration_rejected"):
        m = [measure.label for measure in result.evidence.measures].index(utility)
        np.testing.assert_allclose(
            result.evidence.values[0][:, m], naive(people, "race", utility)
        )
    alone = compared(
        people, accuracy="calibration", fairness=["calibration", "calibration_rejected"]
    )
    mine = [
        c.tail.p_value
        for c in result.assessment.components
        if c.measure == "calibration" and c.kind == "accuracy"
    ]
    assert mine == pytest.approx(list(alone.assessment.p_accuracy.values()), abs=0.06)
    assert result.p_value == max(
        component.tail.p_value for component in result.assessment.components
    )
    utilities = {
        (c["kind"], c["utility"])
        for c in result.to_dict()["repetitions"][0]["components"]
    }
    assert len(utilities) == 4


def test_every_utility_gap_ratio_and_difference_has_an_interval(
    people: pl.DataFrame,
) -> None:
    """Against percentiles of a naive twin's draws, reflected at the estimate."""
    result = compared(people, groups=["a", "b"])
    frame = people.filter(pl.col("race") != "c")
    values, draws = (
        naive(frame, "race", "calibration"),
        naive_draws(frame, "race", "calibration"),
    )
    found = {
        (one["group"], one["quantity"]): one
        for one in result.to_dict()["repetitions"][0]["intervals"]
    }
    assert len(found) == 12
    for g, group in enumerate("ab"):
        cases = {
            "status_quo": (values[g, 0], draws[:, g, 0]),
            "candidate": (values[g, 1], draws[:, g, 1]),
            "ratio": (values[g, 1] / values[g, 0], draws[:, g, 1] / draws[:, g, 0]),
            "difference": (
                values[g, 1] - values[g, 0],
                draws[:, g, 1] - draws[:, g, 0],
            ),
        }
        for quantity, (estimate, drawn) in cases.items():
            one = found[group, quantity]
            low, high = 2 * estimate - np.quantile(drawn, [0.975, 0.025])
            assert one["estimate"] == pytest.approx(estimate)
            assert [one["low"], one["high"]] == pytest.approx(
                [low, high], abs=0.6 * drawn.std()
            )
    gap, gaps = values[0] - values[1], draws[:, 0] - draws[:, 1]
    for quantity, estimate, drawn in (
        ("status_quo", gap[0], gaps[:, 0]),
        ("candidate", gap[1], gaps[:, 1]),
        ("difference", gap[1] - gap[0], gaps[:, 1] - gaps[:, 0]),
    ):
        one = found["a minus b", quantity]
        low, high = 2 * estimate - np.quantile(drawn, [0.975, 0.025])
        assert one["estimate"] == pytest.approx(estimate)
        assert [one["low"], one["high"]] == pytest.approx(
            [low, high], abs=0.6 * drawn.std()
        )
    (row,) = result.table().filter(kind="accuracy", group="a").to_dicts()
    one = found["a", "candidate"]
    assert (row["candidate_low"], row["candidate_high"]) == (one["low"], one["high"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protected": "d"}, "protected group 'd' is not a group"),
        ({"groups": ["a", "d"]}, "'d' is not a group"),
        ({"groups": ["a"]}, "one level, 'a'"),
        ({"min_group": 200}, r"fewer than 200 rows: 'c' \(\d+\)"),
        ({"overall": "everyone"}, "`overall` is 'everyone'"),
        ({"overall": {"a": 1.0, "b": 1.0}}, "does not weigh every group"),
        ({"overall": {"a": 1.0, "b": 1.0, "d": 1.0}}, "`overall` names 'd'"),
        ({"overall": {"a": -1.0, "b": 1.0, "c": 1.0}}, "a weight in overall is -1"),
        (
            {"overall": "population", "delta_accuracy": {"a": 0.0, "b": 0.0, "c": 0.0}},
            "takes no deltas of groups",
        ),
        ({"group": []}, "no group column"),
        ({"group": ["race", "count"]}, "named as outcome and as group"),
    ],
)
def test_bad_groups_are_refused_with_advice(
    people: pl.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(improvable.ImprovableError, match=message):
        compared(people, **options)
