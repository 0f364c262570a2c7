"""Prices: the rule that sets them for profit, against predicting what customers pay."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from improvable.algorithms.rules import as_rule


@pytest.fixture(scope="module")
def customers() -> pl.DataFrame:
    """Willingness to pay is a multiple of what the features tell; group b pays a little less."""
    rng = np.random.default_rng(8)
    n = 6_000
    b = rng.random(n) < 0.4
    income, visits = rng.normal(size=n), rng.normal(size=n)
    pays = np.exp(3.0 + 0.4 * income + 0.2 * visits - 0.1 * b + 0.35 * rng.normal(size=n))
    return pl.DataFrame(
        {"group": np.where(b, "b", "a"), "income": income, "visits": visits, "pays": pays, "price": np.full(n, 20.0)}
    )


def audited(customers: pl.DataFrame, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "pays", "group": "group", "status_quo": "price", "accuracy": "profit", "rule": "price",
        "features": ["income", "visits"], "repetitions": 1, "draws": 200,
    }  # fmt: skip
    return improvable.audit(customers, **{**settings, **options})


def profit(result: improvable.Audit) -> float:
    accuracy = result.to_dict()["repetitions"][0]["accuracy"]
    return min(float(of["candidate"]) for of in accuracy.values())


@pytest.mark.parametrize("rule", ["linear", "boosting", "forest:50"])
def test_a_price_earns_more_than_the_prediction_it_is_made_from(customers: pl.DataFrame, rule: str) -> None:
    """By more than one in ten; the standard error of a mean profit is about one in a hundred."""
    predicted, priced = (profit(audited(customers, rule=name)) for name in (rule, f"price:{rule}"))
    assert priced > 1.1 * predicted


def test_the_multiple_is_the_best_of_all(customers: pl.DataFrame) -> None:
    """Against every multiple of the same predictions: what everybody pays on new rows, over what is predicted."""
    result = audited(customers, rule="price:linear", repetitions=2)
    for repetition in result.to_dict()["repetitions"]:
        for block in repetition["rule_notes"]["blocks"]:
            assert 0.4 < block["multiple"] < 0.9
    algorithm = result.substitute()
    prices, pays = algorithm.decide(customers), customers["pays"].to_numpy()

    def earned(factor: float) -> float:
        return float((factor * prices * (pays >= factor * prices)).mean())

    assert earned(1.0) > max(earned(factor) for factor in np.linspace(0.5, 2.0, 151)) - 0.1
    assert (prices > 0).all()


def test_a_utility_of_ones_own_is_what_prices_are_set_for(customers: pl.DataFrame) -> None:
    """At a cost of ten a sale, prices are higher."""
    margin = improvable.Utility(lambda pays, price: (price - 10) * (pays >= price), name="margin")
    cheap, dear = (
        audited(customers, rule="price:linear", accuracy=accuracy, form="difference").to_dict()["repetitions"][0]
        for accuracy in ("profit", margin)
    )
    for most, least in zip(dear["rule_notes"]["blocks"], cheap["rule_notes"]["blocks"], strict=True):
        assert most["multiple"] > least["multiple"]


def test_what_prices_cannot_do_is_said(customers: pl.DataFrame) -> None:
    with pytest.raises(improvable.RuleError, match="sets prices, and a utility needs decisions of 0 and 1"):
        audited(
            customers.with_columns(price=pl.lit(1), pays=(pl.col("pays") > 20).cast(int)),
            accuracy="classification_rate",
        )
    with pytest.raises(improvable.RuleError, match="nobody who pays"):
        audited(customers.with_columns(target=pl.lit(0.0)), target="target")
    with pytest.raises(improvable.OptionError, match="'price:linear_search:balanced' is not a rule"):
        as_rule("price:linear_search")
    with pytest.raises(improvable.ImprovableError, match="selection gap needs decisions of 0 and 1"):
        audited(customers, rule="linear", selection_gap=0.1)


def test_monotone_features_raise_the_price(customers: pl.DataFrame) -> None:
    algorithm = audited(customers, monotone={"income": "+"}).substitute()
    richer = customers.with_columns(income=pl.col("income") + 1)
    assert (algorithm.decide(richer) >= algorithm.decide(customers)).all()
