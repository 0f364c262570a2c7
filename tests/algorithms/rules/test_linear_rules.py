"""The rules that search for a linear classifier itself, through a whole audit."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return programme(1_500)


def programme(n: int) -> pl.DataFrame:
    """`record` predicts well and is lower for group b at equal need; `visits` is even."""
    rng = np.random.default_rng(4)
    group = rng.random(n) < 0.5
    need = rng.normal(size=n)
    return pl.DataFrame(
        {
            "group": np.where(group, "b", "a"),
            "visits": need + 0.6 * rng.normal(size=n),
            "record": need + 0.6 * rng.normal(size=n) - 1.5 * group,
            "score": need - 1.5 * group + 1.5 * rng.normal(size=n),
            "outcome": rng.poisson(np.exp(0.7 * need + 0.3)),
            "sick": (need + 0.5 * rng.normal(size=n) > 0.3).astype(int),
            "ward": rng.choice(["north", "south"], n),
        }
    )


def audited(people: pl.DataFrame, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "outcome", "group": "group", "status_quo": improvable.threshold("score", capacity=0.25),
        "rule": "linear_search", "features": ["visits", "record"], "splits": 2, "draws": 300,
    }  # fmt: skip
    return improvable.audit(people, **{**settings, **options})


def test_a_search_that_weighs_the_gap_has_a_smaller_one_than_prediction() -> None:
    """The means differ by .33 and more, with a standard error of about .1."""
    people = programme(6_000)

    def gap(rule: str) -> float:
        splits = audited(people, rule=rule, splits=5).to_dict()["splits"]
        return float(np.mean([split["gap"]["candidate"] for split in splits]))

    assert gap("linear_search:fairest") < gap("linear") - 0.1
    assert gap("linear_search:balanced") < gap("linear") - 0.1


@pytest.mark.parametrize("objective", ["balanced", "fairest", "most_accurate:b"])
def test_constraints_hold_on_the_training_rows(people: pl.DataFrame, objective: str) -> None:
    result = audited(
        people, rule=f"linear_search:{objective}", selection_gap=0.1, monotone={"record": "-", "visits": "+"}
    )
    for split in result.to_dict()["splits"]:
        reached = split["selection"]["reached"]
        assert split["share_selected"]["candidate"]["train"] <= 0.25 + 1e-9
        assert reached["train"]["selection_gap"] <= 0.1 + 1e-9
        assert reached["train"]["monotone_violations"] == reached["test"]["monotone_violations"] == 0
    assert "Selection rates may differ by 0.1" in result.summary()


def test_the_program_proves_its_optimum_and_the_classifier_reproduces_it(people: pl.DataFrame) -> None:
    few = people.head(300).with_columns(pl.col("visits", "record").round(0))
    result = audited(
        few, rule="linear_program:fairest", outcome="sick", accuracy="classification_rate", splits=1, draws=200,
        status_quo=improvable.threshold("score", above=-0.5),
    )  # fmt: skip
    note = result.to_dict()["splits"][0]["selection"]
    assert note["status"] == "optimal"
    assert note["gap"] == pytest.approx(0, abs=1e-6)
    algorithm = result.substitute()
    found = improvable.compare(
        few, outcome="sick", group="group", status_quo=improvable.threshold("score", above=-0.5), candidate=algorithm,
        accuracy="classification_rate", draws=200,
    ).to_dict()["splits"][0]  # fmt: skip
    for group in ("a", "b"):
        assert found["accuracy"][group]["candidate"] >= found["accuracy"][group]["status_quo"] - 1e-12
    assert found["gap"]["candidate"] <= found["gap"]["status_quo"]
    assert "Solver: optimal in 1 split" in result.summary()


def test_a_long_program_says_how_far_it_is(people: pl.DataFrame) -> None:
    from improvable.algorithms.rules.linear_classifiers import LinearRule

    result = audited(
        people.head(700), rule="linear", outcome="sick", accuracy="classification_rate", splits=1, draws=100,
        status_quo=improvable.threshold("score", above=-0.5),
    )  # fmt: skip
    assert result.source is not None
    source, said = result.source, list[str]()
    training = improvable.Training(
        source.sample, source.plan.features.columns, True, "sick", source.design, source.plan.constraints,
        np.random.SeedSequence(0), said.append,
    )  # fmt: skip
    status_quo = improvable.threshold("score", above=-0.5)
    selection = LinearRule("linear_program", "fairest", nodes=20).select(training, status_quo)  # type: ignore[arg-type]
    assert selection.notes["status"] in ("optimal", "node_limit")
    assert all(text.startswith("program, ") for text in said)


def test_an_infeasible_program_is_said_plainly_and_has_p_one(people: pl.DataFrame) -> None:
    """Nothing is more accurate for every group than knowing the outcome."""
    few = people.head(200).with_columns(pl.col("visits", "record").round(0))
    knows = few.with_columns(
        score=pl.col("sick").cast(pl.Float64) + pl.when(pl.int_range(200) % 29 == 0).then(-1).otherwise(0)
    )
    result = audited(
        knows, rule="linear_program:fairest", outcome="sick", accuracy="classification_rate", splits=1, draws=200,
        status_quo=improvable.threshold("score", above=0.5),
    )  # fmt: skip
    assert result.to_dict()["splits"][0]["selection"]["status"] == "infeasible"
    assert result.p_value == 1.0
    assert "infeasible in 1 split" in result.summary()


def test_messy_columns_and_weights_reach_the_search(people: pl.DataFrame) -> None:
    frame = people.with_columns(weight=pl.Series(np.random.default_rng(0).uniform(0.5, 2, len(people))))
    result = audited(frame, features=["visits", "ward"], weight="weight", splits=1)
    algorithm = result.substitute()
    assert set(np.unique(algorithm.decide(people.head(50)))) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "linear_search:kindest"}, "'kindest' is not an objective of linear_search"),
        ({"rule": "linear_search:most_accurate"}, "most_accurate:GROUP"),
        ({"rule": "linear_search:most_accurate:c"}, "names no group"),
        ({"group": ["group", "ward"]}, "takes one group column"),
        ({"rule": "linear_program", "features": ["visits", "record"]}, "linear_search"),
    ],
)
def test_what_cannot_be_searched_says_why(people: pl.DataFrame, options: dict[str, Any], message: str) -> None:
    many = pl.concat([people.with_columns(pl.col("visits") + i / 97) for i in range(12)])
    with pytest.raises(improvable.ImprovableError, match=message):
        audited(many if options.get("rule") == "linear_program" else people, **options)
