"""A bound on the selection gap: kept by the rule that aims without reading the group,
and refused by name by rules that only predict.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.algorithms.serialize import export_algorithm, import_algorithm

BOUND = 0.05


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """`record` is lower for group b at equal need, and so is every prediction from
    it.
    """
    rng = np.random.default_rng(5)
    n = 3_000
    b, c = rng.random(n) < 0.4, rng.random(n) < 0.3
    need = rng.normal(size=n)
    return pl.DataFrame(
        {
            "group": np.where(b, "b", "a"),
            "site": np.where(c, "x", np.where(rng.random(n) < 0.5, "y", "z")),
            "visits": need + 0.6 * rng.normal(size=n),
            "record": need + 0.6 * rng.normal(size=n) - 1.0 * b + 0.6 * c,
            "distance": rng.normal(size=n) + 0.8 * b - 0.8 * c,
            "ward": np.where(b & (rng.random(n) < 0.5), "south", "north"),
            "score": need - 0.5 * b + rng.normal(size=n),
            "outcome": rng.poisson(np.exp(0.7 * need - 0.5 * b + 0.3)),
            "sick": (need + 0.5 * rng.normal(size=n) - 0.5 * b > 0.0).astype(int),
        }
    )


def audited(people: pl.DataFrame, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.25),
        "rule": "aim",
        "features": ["visits", "record", "distance"],
        "repetitions": 1,
        "draws": 200,
    }
    return flat_audit(people, **{**settings, **options})


def reached(result: improvable.Audit) -> float:
    """The selection gap of the candidate on all test rows."""
    return float(result.repetitions[0].notes["reached"]["selection_gap"])


def on_folds(result: improvable.Audit) -> list[float]:
    """What the rule of each block found its gap to be."""
    return [
        note["selection_gap"]["on_folds"]
        for note in result.repetitions[0].notes["blocks"]
    ]


@pytest.mark.parametrize("rule", ["aim", "aim:linear", "aim:boosting", "aim:ridge:1"])
def test_the_bound_holds_on_folds_and_nearly_on_test_rows(
    people: pl.DataFrame, rule: str
) -> None:
    """Rates of 2,700 test rows differ by chance by about .017 (two standard errors
    .033).
    """
    free = audited(people, rule=rule, scheme="split")
    bound = audited(people, rule=rule, selection_gap=BOUND)
    assert reached(free) > 0.1
    assert len(on_folds(bound)) == 4
    assert max(on_folds(bound)) <= BOUND
    assert reached(bound) < BOUND + 0.04
    shares = bound.to_dict()["repetitions"][0]["share_selected"]["candidate"]
    assert shares["test"] == pytest.approx(0.25, abs=0.035)
    assert "Selection rates may differ by 0.05" in bound.summary(verbose=True)


def test_without_a_capacity_too(people: pl.DataFrame) -> None:
    options: dict[str, Any] = {
        "outcome": "sick",
        "accuracy": "classification_rate",
        "status_quo": improvable.threshold("score", above=0.0),
    }
    assert reached(audited(people, **options)) > 0.1
    result = audited(people, **options, selection_gap=BOUND)
    assert max(on_folds(result)) <= BOUND
    assert reached(result) < BOUND + 0.06


def test_the_candidate_decides_alike_whatever_the_group_column_says(
    people: pl.DataFrame,
) -> None:
    algorithm = audited(people, selection_gap=BOUND).refit()
    blind = people.drop("group", "outcome", "score")
    assert (algorithm.decide(people) == algorithm.decide(blind)).all()


def test_a_bound_that_holds_anyway_changes_no_decision(people: pl.DataFrame) -> None:
    loose, free = audited(people, selection_gap=0.9), audited(people)
    assert loose.p_value == free.p_value
    assert (loose.refit().decide(people) == free.refit().decide(people)).all()


def test_several_groups_and_several_columns_and_messy_features(
    people: pl.DataFrame,
) -> None:
    three = audited(people, group="site", selection_gap=BOUND)
    assert max(on_folds(three)) <= BOUND < reached(audited(people, group="site"))
    both = audited(
        people,
        group=["group", "site"],
        features=["visits", "record", "ward"],
        selection_gap=BOUND,
        scheme="split",
    )
    assert max(on_folds(both)) <= BOUND


def test_weighted_rows_have_weighted_rates(people: pl.DataFrame) -> None:
    """A row of weight two is two rows."""
    weights = np.where(people["site"] == "x", 2, 1)
    result = audited(
        people.with_columns(w=pl.Series(weights)),
        weight="w",
        selection_gap=BOUND,
        scheme="split",
    )
    assert max(on_folds(result)) <= BOUND
    assert reached(result) < BOUND + 0.05


def test_monotone_features_stay_monotone(people: pl.DataFrame) -> None:
    result = audited(
        people, selection_gap=BOUND, monotone={"visits": "+", "record": "+"}
    )
    assert max(on_folds(result)) <= BOUND
    notes = result.repetitions[0].notes
    violations = {
        part["reached"]["monotone_violations"] for part in (notes, *notes["blocks"])
    }
    assert violations == {0}


def test_no_candidate_where_no_feature_tells_the_groups_apart(
    people: pl.DataFrame,
) -> None:
    """The monotone feature has no part in the guess of the group, and the other one is
    noise.
    """
    rng = np.random.default_rng(1)
    result = audited(
        people.with_columns(noise=pl.Series(rng.normal(size=len(people)))),
        selection_gap=0.01,
        features=["record", "noise"],
        monotone={"record": "+"},
        scheme="split",
    )
    assert on_folds(result)[0] > 0.01
    assert result.p_value == 1.0
    assert any("found no candidate" in text for text in result.warnings)


def test_monotone_features_alone_are_refused(people: pl.DataFrame) -> None:
    with pytest.raises(improvable.RuleError, match="every feature is monotone"):
        audited(people, features=["record"], monotone={"record": "+"})


@pytest.mark.parametrize(
    "rule", ["linear", "lasso", "boosting", "blend:0.5:linear", "tournament"]
)
def test_a_rule_that_predicts_is_refused_by_name(
    people: pl.DataFrame, rule: str
) -> None:
    with pytest.raises(
        improvable.OptionError,
        match=r"cannot honor selection_gap. Rules that can: aim, linear_program. "
        r"Or ask for a smaller gap: `fairness='selection_rate'`",
    ) as refused:
        audited(people, rule=rule, selection_gap=BOUND)
    assert rule in str(refused.value)


def test_a_bounded_candidate_survives_a_file(
    people: pl.DataFrame, tmp_path: Any
) -> None:
    algorithm = audited(people, group="site", selection_gap=BOUND).refit()
    export_algorithm(algorithm, tmp_path / "bounded.skops")
    again = import_algorithm(tmp_path / "bounded.skops")
    assert (again.decide(people) == algorithm.decide(people)).all()
