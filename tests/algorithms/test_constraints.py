"""Constraints on candidates: honored by the rules that can, refused by those that
cannot, reported as reached.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.algorithms.rules import RULES
from improvable.algorithms.rules.lasso import BoundedLinearRegression


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """A feature that helps, one that hurts, and one whose influence goes the wrong
    way.
    """
    rng = np.random.default_rng(3)
    n = 1_200
    group = rng.random(n) < 0.4
    need = rng.normal(size=n)
    wrong = rng.normal(size=n)
    return pl.DataFrame(
        {
            "group": np.where(group, "b", "a"),
            "need": need + rng.normal(0, 0.4, n),
            "wealth": -need + rng.normal(0, 0.8, n),
            "wrong": wrong,
            "score": 0.4 * need + rng.normal(0, 1, n),
            "outcome": rng.poisson(np.exp(0.5 * need - 0.4 * wrong + 0.3)),
            "proxy": np.where(group, 7, 3),
            "shade": np.where(group, rng.uniform(0.6, 1, n), rng.uniform(0, 0.5, n)),
            "letter": np.where(group, rng.choice(["x", "y"], n), "z"),
        }
    )


def audited(people: Any, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.2),
        "rule": "linear",
        "features": ["need", "wealth", "wrong"],
        "repetitions": 2,
        "draws": 200,
    }
    return flat_audit(people, **{**settings, **options})


@pytest.mark.paper("Section 2")
@pytest.mark.parametrize("rule", ["linear", "lasso", "forest:100", "boosting"])
def test_monotone_rules_never_decide_against_it(
    people: pl.DataFrame, rule: str
) -> None:
    free = audited(people, rule=rule, repetitions=1, scheme="split").refit()
    bound = audited(
        people, rule=rule, monotone={"wrong": "+", "wealth": "-"}, repetitions=1
    )
    for repetition in bound.to_dict()["repetitions"]:
        selection = repetition["rule_notes"]
        assert {
            part["reached"]["monotone_violations"]
            for part in (selection, *selection["blocks"])
        } == {0}
    moved = people.with_columns(wrong=pl.col("wrong") + 1)
    assert (free.decide(moved) < free.decide(people)).any()
    algorithm = bound.refit()
    assert not (algorithm.decide(moved) < algorithm.decide(people)).any()
    assert "Monotone in wrong:+, wealth:-: decisions for 0 rows" in bound.summary(
        verbose=True
    )


def test_violations_are_counted_for_a_rule_that_breaks_its_word(
    people: pl.DataFrame,
) -> None:
    class Liar:
        name = "liar"
        honors = frozenset({"capacity", "monotone"})

        def select(
            self, training: improvable.Training, status_quo: improvable.Algorithm
        ) -> Any:
            return improvable.threshold(
                lambda frame: -frame["need"].to_numpy(), capacity=0.2
            )

    result = audited(people, rule=Liar(), monotone={"need": "+"}, repetitions=7)
    assert (
        result.to_dict()["repetitions"][0]["rule_notes"]["reached"][
            "monotone_violations"
        ]
        > 10
    )


def test_least_squares_with_signs_is_least_squares_where_signs_do_not_bind() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) * [1, 100, 0.01]
    y = x @ [1.0, -0.02, 30.0] + 5 + rng.normal(0, 0.1, 200)
    exact = np.linalg.lstsq(np.column_stack([np.ones(200), x]), y, rcond=None)[0]
    fitted = BoundedLinearRegression(np.array([1, -1, 0])).fit(x, y)
    np.testing.assert_allclose([fitted.intercept_, *fitted.coef_], exact, rtol=1e-6)
    turned = BoundedLinearRegression(np.array([-1, 0, 0])).fit(x, y)
    assert turned.coef_[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rule": "logistic", "monotone": {"need": "+"}},
            "'logistic' cannot honor monotone. Rules that can: .*lasso",
        ),
        (
            {
                "rule": "aim",
                "selection_gap": 0.1,
                "capacity": None,
                "status_quo": "score",
                "accuracy": "profit",
            },
            "selection gap needs decisions of 0 and 1",
        ),
        ({"monotone": {"needs": "+"}}, "Did you mean 'need'"),
        ({"monotone": {"score": "+"}}, "'score', which is not a feature"),
        ({"monotone": {"need": "up"}}, "`monotone` in 'need' is 'up'"),
        ({"selection_gap": -0.1}, "`selection_gap` is -0.1"),
        (
            {"features": ["need", "letter"], "monotone": {"letter": "+"}},
            "'letter', which is not a number",
        ),
        (
            {"features": ["need", "group"]},
            "feature 'group' determines the group 'group' exactly",
        ),
        ({"features": ["need", "proxy"]}, "feature 'proxy' determines the group"),
        ({"features": ["need", "shade"]}, "feature 'shade' determines the group"),
        ({"features": ["need", "letter"]}, "feature 'letter' determines the group"),
    ],
)
def test_what_cannot_be_honored_is_refused_with_advice(
    people: pl.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(improvable.ImprovableError, match=message):
        audited(people, **options)


def test_a_group_may_be_read_when_allowed(people: pl.DataFrame) -> None:
    result = audited(people, features=["need", "proxy"], group_blind=False)
    assert result.to_dict()["group_blind"] is False


def test_features_that_only_lean_towards_a_group_are_no_proxies(
    people: pl.DataFrame,
) -> None:
    leaning = people.with_columns(
        lean=pl.when(pl.int_range(pl.len()) % 50 == 0).then(0).otherwise("proxy")
    )
    assert list(
        audited(leaning, features=["need", "lean"], repetitions=1).setting["features"]
    ) == ["need", "lean"]


@pytest.mark.paper("Section 2")
def test_every_rule_says_what_it_honors() -> None:
    for rule in RULES.values():
        assert rule.honors <= {"capacity", "monotone", "selection_gap"}  # type: ignore[attr-defined]


def test_selection_rates_are_reported_on_both_samples(people: pl.DataFrame) -> None:
    for repetition in audited(people).to_dict()["repetitions"]:
        selection = repetition["rule_notes"]
        for part in (selection, *selection["blocks"]):
            assert 0 <= part["reached"]["selection_gap"] <= 1
