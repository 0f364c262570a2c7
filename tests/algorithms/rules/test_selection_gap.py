"""A bound on the selection gap for rules that predict: kept without reading the group,
at the least cost in scores.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import improvable
from flat import flat_audit
from improvable.algorithms.rules.selection_gap import Path, PenalizedScore, guess_group
from improvable.algorithms.serialize import export_algorithm, import_algorithm
from improvable.procedure.prepare import prepare_audit
from improvable.question.settings import Settings

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
        "rule": "linear",
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


def without_penalty(result: improvable.Audit) -> float:
    """The gap that the rule of the last block, with the most rows, would have had
    otherwise.
    """
    return float(
        result.repetitions[0].notes["blocks"][-1]["selection_gap"]["without_penalty"]
    )


@pytest.mark.parametrize(
    "rule", ["linear", "lasso", "boosting", "forest:15", "ridge:1", "blend:0.5:linear"]
)
def test_the_bound_holds_on_folds_and_nearly_on_test_rows(
    people: pl.DataFrame, rule: str
) -> None:
    """Rates of 2,700 test rows differ by chance by about .017 (two standard errors
    .033).
    """
    free, bound = (
        audited(people, rule=rule, scheme="split"),
        audited(people, rule=rule, selection_gap=BOUND),
    )
    assert reached(free) > 0.1
    assert without_penalty(bound) > 0.1
    assert len(on_folds(bound)) == 4
    assert max(on_folds(bound)) <= BOUND
    assert reached(bound) < BOUND + 0.04
    assert bound.to_dict()["repetitions"][0]["share_selected"]["candidate"][
        "test"
    ] == pytest.approx(0.25, abs=0.035)
    assert "Selection rates may differ by 0.05" in bound.summary(verbose=True)


@pytest.mark.parametrize("rule", ["logistic", "linear", "forest:15"])
def test_without_a_capacity_too(people: pl.DataFrame, rule: str) -> None:
    options: dict[str, Any] = {
        "rule": rule,
        "outcome": "sick",
        "accuracy": "classification_rate",
        "status_quo": improvable.threshold("score", above=0.0),
    }
    result = audited(people, **options, selection_gap=BOUND)
    assert max(on_folds(result)) <= BOUND < 0.1 < without_penalty(result)
    assert reached(result) < BOUND + 0.06


def test_the_candidate_decides_alike_whatever_the_group_column_says(
    people: pl.DataFrame,
) -> None:
    algorithm = audited(people, selection_gap=BOUND).refit()
    assert isinstance(algorithm.scorer, PenalizedScore)  # type: ignore[attr-defined]
    blind = people.drop("group", "outcome", "score")
    assert (algorithm.decide(people) == algorithm.decide(blind)).all()


def test_a_bound_that_holds_anyway_changes_no_score(people: pl.DataFrame) -> None:
    loose = audited(people, selection_gap=0.9).refit()
    free = audited(people).refit()
    assert not isinstance(loose.scorer, PenalizedScore)  # type: ignore[attr-defined]
    assert (loose.decide(people) != free.decide(people)).mean() < 0.01


def test_several_groups_and_several_columns_and_messy_features(
    people: pl.DataFrame,
) -> None:
    three = audited(people, group="site", selection_gap=BOUND)
    assert max(on_folds(three)) <= BOUND < without_penalty(three)
    messy: dict[str, Any] = {
        "group": ["group", "site"],
        "features": ["visits", "record", "ward"],
    }
    # 300 rows of six groups are too few for it
    both = audited(people, **messy, selection_gap=BOUND, scheme="split")
    assert max(on_folds(both)) <= BOUND < without_penalty(both)


def test_monotone_features_stay_monotone(people: pl.DataFrame) -> None:
    result = audited(
        people,
        rule="lasso",
        selection_gap=BOUND,
        monotone={"visits": "+", "record": "+"},
    )
    assert max(on_folds(result)) <= BOUND
    notes = result.repetitions[0].notes
    assert {
        part["reached"]["monotone_violations"] for part in (notes, *notes["blocks"])
    } == {0}
    with pytest.raises(improvable.RuleError, match="every feature is monotone"):
        audited(
            people, selection_gap=BOUND, features=["visits"], monotone={"visits": "+"}
        )


def test_no_candidate_where_no_penalty_meets_the_bound(people: pl.DataFrame) -> None:
    """Shares of two groups of odd sizes are never equal."""
    result = audited(people, selection_gap=0.0, scheme="split")
    assert 0 < on_folds(result)[0] < 0.01
    assert result.p_value == 1.0
    assert any("found no candidate" in text for text in result.warnings)


@pytest.mark.parametrize("capacity", [None, 0.3])
def test_no_group_blind_decision_has_a_higher_score_within_the_bound(
    capacity: float | None,
) -> None:
    """Against the linear program over every decision that sees only features, with
    P(g | x) as it is.
    """
    rng = np.random.default_rng(2)
    n, bound = 4_000, 0.1
    x = rng.normal(size=(n, 2))
    chance = 1 / (1 + np.exp(-1.5 * x[:, 0]))
    b = rng.random(n) < chance
    scores = 0.8 * x[:, 1] - 0.6 * x[:, 0] + 0.1
    looks = np.stack(
        [(1 - chance) / (1 - chance).mean(), chance / chance.mean()], axis=1
    )
    unlike = (looks[:, 0] - looks[:, 1]) / n
    limits = [np.stack([unlike, -unlike]), [bound, bound]]
    total = ([np.ones((1, n)), [np.floor(capacity * n)]]) if capacity else (None, None)
    ideal = linprog(-scores, *limits, *total, bounds=(0, 1))
    frame = pl.DataFrame(
        {
            "group": np.where(b, "b", "a"),
            "y": rng.normal(size=n),
            "f": x[:, 0],
            "d": x[:, 1] > 0,
        }
    )
    ready = prepare_audit(
        frame.with_columns(pl.col("d").cast(int)),
        Settings(
            outcome="y",
            group="group",
            features=["f"],
            rule="linear",
            capacity=0.3,
            status_quo="d",
            form="difference",
        ),
    )
    constraints = replace(ready.plan.constraints, capacity=capacity)
    training = improvable.Training(
        ready.sample(),
        ("f",),
        True,
        "y",
        ready.plan.design,
        constraints,
        np.random.SeedSequence(0),
    )
    # an audit orders its rows by their keys
    place = np.argsort(np.argsort(training.rows.numbers("f")))
    order = np.argsort(x[:, 0])[place]
    path = Path(training, scores[order], [looks[order]], None if capacity else 0.0)
    decided = path.decisions(path.descend(bound))
    assert path.gap(path.none) > 0.15
    assert abs(float(decided @ (unlike[order]))) < bound + 0.03
    assert float(decided @ scores[order]) == pytest.approx(-ideal.fun, rel=0.04)


def test_guessed_groups_are_calibrated_and_survive_a_file(
    people: pl.DataFrame, tmp_path: Any
) -> None:
    result = audited(people, group="site", selection_gap=BOUND)
    asked = Settings(
        outcome="outcome",
        group="site",
        features=list(result.setting["features"]),
        rule="linear",
        status_quo=improvable.threshold("score", capacity=0.25),
        selection_gap=BOUND,
    )
    ready = prepare_audit(people, asked)
    training = improvable.Training(
        ready.sample(),
        ready.features.columns,
        True,
        "outcome",
        ready.plan.design,
        ready.plan.constraints,
        np.random.SeedSequence(0),
    )
    guess = guess_group(training, training.sample.grouping.attributes[0])
    np.testing.assert_allclose(
        guess.relative(training.rows).mean(axis=0), 1.0, atol=1e-3
    )
    algorithm = result.refit()
    export_algorithm(algorithm, tmp_path / "bounded.skops")
    assert (
        import_algorithm(tmp_path / "bounded.skops").decide(people)
        == algorithm.decide(people)
    ).all()
