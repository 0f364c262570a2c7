"""Cutoffs from out-of-sample scores: whatever a rule memorizes, it selects its capacity
of new rows.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import improvable
from improvable.algorithms.models import final_step
from improvable.algorithms.rules import as_rule
from improvable.algorithms.rules.base import Training, run_rule
from improvable.algorithms.rules.lasso import FoldedLasso
from improvable.algorithms.rules.out_of_sample import (
    cutoff_folds,
    honest_scores,
    map_by_rank,
)
from improvable.algorithms.rules.predictive import PredictiveRule
from improvable.procedure.prepare import prepare_audit
from improvable.procedure.select import complete_status_quo
from improvable.question.settings import Settings

NEW = 20_000


def people(
    rows: int,
    features: int,
    seed: int,
    *,
    binary: bool = False,
    coarse: bool = False,
    signal: float = 1.0,
) -> pl.DataFrame:
    rng = np.random.default_rng([seed, rows])
    x = (
        rng.integers(0, 2, (rows, features)).astype(float)
        if coarse
        else rng.normal(size=(rows, features))
    )
    y = signal * (x[:, 0] + 0.5 * x[:, 1]) + rng.normal(size=rows)
    return pl.DataFrame({f"x{j}": x[:, j] for j in range(features)}).with_columns(
        y=pl.Series((y > 0.3).astype(float) if binary else y),
        g=pl.Series(np.where(rng.random(rows) < 0.5, "a", "b")),
        s=pl.Series(y + rng.normal(size=rows)),
        person=pl.Series(np.arange(rows) + rows * 10**6),
    )


def learned(
    frame: pl.DataFrame, rule: Any, capacity: float, **options: Any
) -> tuple[Training, Any]:
    """The training of a rule on all rows of a frame, and the status quo."""
    settings: dict[str, Any] = {
        "outcome": "y",
        "group": "g",
        "status_quo": improvable.threshold("s", capacity=capacity),
        "rule": rule,
        "features": [name for name in frame.columns if name.startswith("x")],
        "row_id": "person",
    }
    ready = prepare_audit(frame, Settings(**{**settings, **options}))
    sample, plan = ready.sample(), ready.plan
    status_quo = complete_status_quo(plan.status_quo, sample, plan.breaking)
    training = Training(
        sample,
        ready.features.columns,
        ready.features.plain,
        "y",
        plan.design,
        plan.constraints,
        np.random.SeedSequence(1),
        breaking=plan.breaking,
    )
    return training, status_quo


def share_of_new_rows(
    rule: Any, capacity: float, rows: int, features: int, **kind: Any
) -> float:
    training, status_quo = learned(people(rows, features, 1, **kind), rule, capacity)
    algorithm = run_rule(as_rule(rule), training, status_quo).algorithm
    return float(algorithm.decide(people(NEW, features, 2, **kind)).mean())


@pytest.mark.parametrize("capacity", [0.1, 0.43])
@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (KNeighborsRegressor(1), {}),
        (DecisionTreeRegressor(), {}),
        (DecisionTreeRegressor(max_depth=2), {}),
        ("forest:100", {}),
        ("forest:100", {"binary": True}),
        ("forest:20", {}),
        ("blend:0.5:forest:100", {}),
        ("tournament:forest:20,linear", {}),
        ("linear", {"coarse": True}),
        ("forest:100", {"coarse": True}),
        ("lasso", {"coarse": True}),
    ],
    ids=str,
)
def test_a_rule_selects_its_capacity_of_new_rows(
    rule: Any, kind: dict[str, Any], capacity: float
) -> None:
    """Within three standard errors, of 800 training and 20,000 new rows together."""
    error = (capacity * (1 - capacity) * (1 / 800 + 1 / NEW)) ** 0.5
    assert share_of_new_rows(rule, capacity, 800, 4, **kind) == pytest.approx(
        capacity, abs=3 * error
    )


def test_an_in_sample_cutoff_would_select_a_fraction() -> None:
    """What the above guards against: a memorizing rule's own scores, of which its new
    rows reach the top rarely.
    """
    training, _ = learned(people(800, 4, 1), "forest:100", 0.1)
    fitted = as_rule("forest:100").fit(training)  # type: ignore[attr-defined]
    naive = improvable.threshold(
        lambda frame: fitted.score(training.rows), capacity=0.1
    ).complete(  # type: ignore[union-attr]
        fitted.score(training.rows)
    )
    fresh = people(NEW, 4, 2)
    from improvable.data.frame import read_rows

    assert float((fitted.score(read_rows(fresh)) > naive.cutoff).mean()) < 0.07


def test_linear_with_many_features_selects_its_capacity() -> None:
    """500 rows and 150 features of noise: predictions for new rows are wider than for
    the rows of the regression, and a cutoff from the latter selects more than the
    capacity."""
    shares, naive = [], []
    for seed in range(8):
        frame = people(500, 150, seed, signal=0.0)
        training, status_quo = learned(frame, "linear", 0.1)
        algorithm = run_rule(as_rule("linear"), training, status_quo).algorithm
        fresh = people(NEW, 150, seed + 100, signal=0.0)
        shares.append(float(algorithm.decide(fresh).mean()))
        own = algorithm.scorer.score(training.rows)
        naive.append(float((algorithm.score(fresh) > np.quantile(own, 0.9)).mean()))
    error = (0.1 * 0.9 / 500 / 8) ** 0.5
    assert np.mean(shares) == pytest.approx(0.1, abs=3 * error)
    assert np.mean(naive) > 0.1 + 3 * error


@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_lasso_with_many_features_selects_its_capacity(signal: float) -> None:
    """Models for the cutoff keep the penalty that all training rows chose; the share is
    right all the same.
    """
    shares = []
    for seed in range(6):
        training, status_quo = learned(
            people(400, 100, seed, signal=signal), "lasso", 0.1
        )
        algorithm = run_rule(as_rule("lasso"), training, status_quo).algorithm
        shares.append(
            float(algorithm.decide(people(NEW, 100, seed + 100, signal=signal)).mean())
        )
    assert np.mean(shares) == pytest.approx(0.1, abs=3 * (0.1 * 0.9 / 400 / 6) ** 0.5)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_lasso_is_cross_fitted_with_the_penalty_that_all_rows_chose(
    weighted: bool, clustered: bool
) -> None:
    """Against refits of scikit-learn's on all rows but those of a fold, in units of all
    rows.
    """
    rng = np.random.default_rng(0)
    frame = people(400, 4, 1).with_columns(
        w=pl.Series(rng.exponential(size=400)), clinic=pl.Series(np.arange(400) // 4)
    )
    options = {"weight": "w"} if weighted else {}
    training, _ = learned(
        frame, "lasso", 0.2, **options, **({"cluster": "clinic"} if clustered else {})
    )
    rule = as_rule("lasso")
    assert isinstance(rule, PredictiveRule)
    fitted = rule.fit(training)
    matrix = StandardScaler().fit_transform(training.rows.matrix(training.features))
    weights, fold, own = (
        training.sample.relative_weights,
        cutoff_folds(training),
        fitted.score(training.rows),
    )
    if clustered:
        clusters = training.sample.unit_codes()
        assert all(len(np.unique(fold[clusters == one])) == 1 for one in range(100))
    expected = np.empty(400)
    for k in range(5):
        learn, judge = fold != k, fold == k
        model = Lasso(fitted.estimator[-1].alpha_, tol=1e-8)
        model.fit(
            matrix[learn],
            training.target[learn],
            sample_weight=None if weights is None else weights[learn],
        )
        scores = model.predict(matrix)
        expected[judge] = map_by_rank(scores[judge], scores[learn], own[learn])
    np.testing.assert_allclose(
        rule.honest_scores(fitted, training), expected, atol=0.02 * float(own.std())
    )


@pytest.mark.parametrize("features", [6, 120])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model", [LinearRegression(), make_pipeline(StandardScaler(), Ridge(10.0))], ids=str
)
def test_rows_left_out_are_predicted_as_by_refitting(
    model: Any, weighted: bool, features: int
) -> None:
    frame = people(80, features, 3).with_columns(
        w=pl.Series(np.random.default_rng(0).exponential(size=80))
    )
    options = {"weight": "w"} if weighted else {}
    rule = PredictiveRule("own", lambda *_: model)
    training, _ = learned(frame, rule, 0.2, **options)
    fitted = rule.fit(training)
    found = honest_scores(fitted, training, rule.fit)
    matrix, target = training.rows.matrix(training.features), training.target
    relative = training.sample.relative_weights
    weights = np.ones(80) if relative is None else relative
    if not isinstance(model, LinearRegression):  # the scale is learned from all rows
        matrix, model = (
            StandardScaler().fit_transform(matrix, sample_weight=None),
            Ridge(10.0),
        )
    for i in (0, 7, 79):
        others = np.arange(80) != i
        # each row alone carries a coefficient
        if isinstance(model, LinearRegression) and features > 80:
            assert found[i] == pytest.approx(np.average(target, weights=weights))
            continue
        again = model.fit(matrix[others], target[others], sample_weight=weights[others])
        assert found[i] == pytest.approx(float(again.predict(matrix[[i]])[0]), rel=1e-9)


def test_clusters_stay_whole() -> None:
    """Ten rows of one person are alike: a memorizing rule must not be judged by rows of
    people it knows.
    """
    rng = np.random.default_rng(4)
    frame = people(150, 4, 5)
    frame = frame[np.repeat(np.arange(150), 10)].with_columns(
        pl.col("y") + pl.Series(rng.normal(0, 0.1, 1_500)),
        clinic=pl.Series(np.repeat(np.arange(150), 10)),
        person=pl.Series(np.arange(1_500)),
        x0=pl.col("x0") + pl.Series(rng.normal(0, 1e-3, 1_500)),
    )
    training, status_quo = learned(frame, "forest:100", 0.2, cluster="clinic")
    algorithm = run_rule(as_rule("forest:100"), training, status_quo).algorithm
    error = (0.2 * 0.8 / 150) ** 0.5
    assert algorithm.decide(people(NEW, 4, 6)).mean() == pytest.approx(
        0.2, abs=3 * error
    )


def test_ties_of_one_model_become_ties_of_the_other() -> None:
    before, after = np.repeat([1.0, 2.0, 3.0], 10), np.repeat([10.0, 20.0, 30.0], 10)
    mapped = map_by_rank(np.repeat([1.0, 2.0, 3.0], 4), before, after)
    np.testing.assert_array_equal(mapped, np.repeat([10.0, 20.0, 30.0], 4))
    np.testing.assert_array_equal(
        map_by_rank(np.array([2.5, 0.0]), before, after), [25.0, 9.0]
    )


@pytest.mark.parametrize(
    ("rule", "final"), [("forest:100", RandomForestRegressor), ("lasso", FoldedLasso)]
)
def test_a_candidate_keeps_nothing_of_its_training_rows(rule: str, final: type) -> None:
    training, status_quo = learned(people(300, 4, 1), rule, 0.2)
    model = run_rule(as_rule(rule), training, status_quo).algorithm.scorer
    estimator = final_step(model.estimator)
    assert isinstance(estimator, final)
    assert (
        not {"oob_prediction_", "coef_by_fold_", "intercept_by_fold_"}
        & vars(estimator).keys()
    )


def test_the_substitute_selects_its_capacity_of_other_people() -> None:
    result = improvable.audit(
        people(800, 4, 1),
        outcome="y",
        group="g",
        status_quo=improvable.threshold("s", capacity=0.43),
        rule="forest:100",
        features=["x0", "x1", "x2", "x3"],
        test=improvable.Test(repetitions=1, draws=100),
        row_id="person",
    )
    share = float(result.refit().decide(people(NEW, 4, 2).drop("y", "g", "s")).mean())
    assert share == pytest.approx(0.43, abs=3 * (0.43 * 0.57 / 800) ** 0.5)
