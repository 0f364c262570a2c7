"""Fairlearn's algorithms as rules: what they keep close, what they refuse, and that nothing in them is random."""

import importlib
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import improvable
from improvable.algorithms.rules.randomized import GroupThresholds, Mixture
from improvable.algorithms.rules.reductions import ExponentiatedGradient, reduction
from improvable.data.frames import read_rows

pytest.importorskip("fairlearn")
NAMES = ["exponentiated_gradient", "grid_search", "threshold_optimizer"]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Equal need gives group b less access to care; one feature measures need, the other access."""
    rng = np.random.default_rng(3)
    n = 1_500
    group = rng.random(n) < 0.4
    need = rng.normal(size=n) + 0.5 * ~group
    access = need - 0.8 * group + rng.normal(0, 0.6, n)
    return pl.DataFrame(
        {
            "group": np.where(group, "b", "a"),
            "sex": rng.choice(["f", "m"], n),
            "need": need + rng.normal(0, 0.8, n),
            "access": access,
            "score": access + rng.normal(0, 0.8, n),
            "ward": rng.choice(["north", "south"], n),
            "visits": rng.poisson(2, n),
            "weight": rng.integers(1, 4, n).astype(float),
            "sick": (need + rng.normal(0, 0.7, n) > 0.4).astype(int),
        }
    )


def audited(people: Any, rule: Any, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "sick", "group": "group", "status_quo": improvable.threshold("score", above=0.4),
        "features": ["need", "access"], "accuracy": "classification_rate", "fairness": "selection_rate",
        "repetitions": 1, "draws": 200, "group_blind": False,
    }  # fmt: skip
    return improvable.audit(people, rule=reduction(rule) if isinstance(rule, str) else rule, **{**settings, **options})


def mean_gap(result: improvable.Audit, whose: str) -> float:
    return float(np.mean([repetition["gap"][whose] for repetition in result.to_dict()["repetitions"]]))


def notes(result: improvable.Audit) -> list[dict[str, Any]]:
    """Of every block of the first repetition."""
    return list(result.repetitions[0].notes["blocks"])


def noted(result: improvable.Audit, name: str) -> Any:
    """What all blocks agree on."""
    (value,) = {note[name] for note in notes(result)}
    return value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("fairness", "kept_close"),
    [
        ("selection_rate", "selection rates"),
        ("true_positive_rate", "true positive rates"),
        ("false_positive_rate", "false positive rates"),
    ],
)
def test_the_gap_that_is_asked_about_is_smaller_on_average_over_repetitions(
    people: pl.DataFrame, name: str, fairness: str, kept_close: str
) -> None:
    result = audited(people, name, fairness=fairness, repetitions=2)
    assert noted(result, "kept_close") == kept_close
    assert mean_gap(result, "candidate") < mean_gap(result, "status_quo")
    assert mean_gap(result, "candidate") < mean_gap(unconstrained(people, fairness), "candidate")


def unconstrained(people: pl.DataFrame, fairness: str) -> improvable.Audit:
    return improvable.audit(
        people, outcome="sick", group="group", status_quo=improvable.threshold("score", above=0.4), rule="logistic",
        features=["need", "access"], accuracy="classification_rate", fairness=fairness, repetitions=2, draws=200,
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_several_or_other_fairness_utilities(people: pl.DataFrame, name: str) -> None:
    both = audited(people, name, fairness=["false_negative_rate", "false_positive_rate"])
    assert noted(both, "kept_close") == "true and false positive rates"
    correct = audited(people, name, fairness="classification_rate")
    expected = "selection rates" if name == "threshold_optimizer" else "error rates"
    assert noted(correct, "kept_close") == expected


def test_fairness_without_a_counterpart_in_fairlearn_keeps_selection_rates_close(people: pl.DataFrame) -> None:
    assert noted(audited(people, "grid_search", fairness="calibration"), "kept_close") == "selection rates"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bound", [0.2, 0.05, 0.0])
def test_a_bound_on_selection_rates_is_kept_on_the_training_rows_or_there_is_no_candidate(
    people: pl.DataFrame, name: str, bound: float
) -> None:
    result = audited(people, name, selection_gap=bound, fairness="classification_rate")
    assert noted(result, "kept_close") == "selection rates"
    without = [one.get("decision") == "nothing found keeps the bound on the training rows" for one in notes(result)]
    assert any("found no candidate" in warning for warning in result.warnings) == any(without)
    assert bound < 0.2 or not any(without)
    assert result.p_value == 1 or not all(without)
    for one, nothing in zip(notes(result), without, strict=True):
        assert nothing or one["reached"]["selection_gap"] <= bound


@pytest.mark.parametrize("name", NAMES)
def test_candidates_decide_the_same_way_each_time_and_row_by_row(people: pl.DataFrame, name: str) -> None:
    result = audited(people, name)
    first, again = result.substitute(), result.substitute()
    decided = first.decide(people)
    assert set(np.unique(decided)) == {0.0, 1.0}
    np.testing.assert_array_equal(first.decide(people), decided)
    np.testing.assert_array_equal(again.decide(people), decided)
    np.testing.assert_array_equal(first.decide(pd.DataFrame(people.to_dict(as_series=False))), decided)
    np.testing.assert_array_equal(first.decide(people[::-1])[::-1], decided)
    np.testing.assert_array_equal(np.concatenate([first.decide(people[[i]]) for i in range(5)]), decided[:5])


def test_repetitions_in_threads_give_the_same_result(people: pl.DataFrame) -> None:
    one, two = (audited(people, "grid_search", repetitions=2, n_jobs=jobs).to_dict() for jobs in (1, 2))
    assert one == two


@pytest.mark.parametrize("name", NAMES)
def test_messy_columns_several_groups_and_weights(people: pl.DataFrame, name: str) -> None:
    messy = people.with_columns(need=pl.when(pl.col("need") > 1.5).then(None).otherwise(pl.col("need")))
    result = audited(
        messy, name, features=["need", "access", "ward"], group=["group", "sex"], weight="weight", fairness=None
    )
    assert noted(result, "row_weights") == "Fairlearn does not take them"
    assert 0 < result.substitute().decide(messy).mean() < 1


def test_the_majority_of_a_mixture_and_of_two_cutoffs() -> None:
    class Fixed:
        def __init__(self, *decisions: int) -> None:
            self.decisions = decisions

        def predict(self, _: Any) -> Any:
            return np.array(self.decisions)

    mixture = Mixture((Fixed(1, 1, 0), Fixed(1, 0, 0), Fixed(1, 0, 1)), np.array([0.4, 0.25, 0.35]))
    np.testing.assert_allclose(mixture.predict_proba(np.zeros((3, 1)))[:, 1], [1, 0.4, 0.35])

    class Identity:
        def score(self, rows: Any) -> Any:
            return rows.numbers("x")

    scorer = GroupThresholds(
        Identity(), ("g",), (("a",), ("b",)), np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[0.3, 0.7], [0.6, 0.2]]),  # type: ignore[arg-type]
        np.array([0.0, 0.1]),
    )  # fmt: skip
    frame = pl.DataFrame({"g": ["a", "a", "a", "b", "b"], "x": [0.0, 0.5, 1.5, 2.0, 2.5]})
    np.testing.assert_allclose(scorer.score(read_rows(frame)), [0, 0.3, 1, 0.1, 0.7])


def test_cutoffs_by_group_match_fairlearns_own_probabilities(people: pl.DataFrame) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    matrix, target = people[["need", "access"]].to_numpy(), people["sick"].to_numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    theirs = importlib.import_module("fairlearn.postprocessing").ThresholdOptimizer(
        estimator=model, predict_method="predict_proba"
    )
    theirs.fit(matrix, target, sensitive_features=people["group"].to_numpy())
    expected = theirs._pmf_predict(matrix, sensitive_features=people["group"].to_numpy())[:, 1]
    algorithm: Any = audited(people, "threshold_optimizer").substitute()
    np.testing.assert_allclose(algorithm.scorer.score(read_rows(people)), expected, atol=1e-12)
    np.testing.assert_array_equal(algorithm.decide(people), expected > 0.5)


def test_cutoffs_by_group_need_a_group_that_they_know(people: pl.DataFrame) -> None:
    algorithm = audited(people, "threshold_optimizer").substitute()
    with pytest.raises(improvable.AlgorithmError, match="know no group 'c'"):
        algorithm.decide(people.with_columns(group=pl.lit("c")))
    with pytest.raises(improvable.AlgorithmError, match="need the column 'group'"):
        algorithm.decide(people.drop("group"))
    with pytest.raises(improvable.AlgorithmError, match="1,500 rows have no group in 'group'"):
        algorithm.decide(people.with_columns(group=pl.lit(None, dtype=pl.String)))


def test_small_groups_that_are_pooled_share_their_cutoffs(people: pl.DataFrame) -> None:
    rare = people.with_columns(group=pl.when(pl.int_range(pl.len()) % 12 == 0).then(pl.lit("c")).otherwise("group"))
    rare = rare.with_columns(group=pl.when(pl.int_range(pl.len()) % 12 == 1).then(pl.lit("d")).otherwise("group"))
    algorithm: Any = audited(rare, "threshold_optimizer", min_group=300, small="pool").substitute()
    cutoffs = dict(zip(algorithm.scorer.levels, algorithm.scorer.cutoffs.tolist(), strict=True))
    assert cutoffs["c",] == cutoffs["d",]
    assert cutoffs["c",] != cutoffs["a",]


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        (
            "threshold_optimizer",
            {"group_blind": True},
            improvable.RuleError,
            "needs the group at decision time, which may be disparate treatment. Allow it with `group_blind=False`",
        ),
        ("grid_search", {"target": "visits"}, improvable.RuleError, "needs a target of 0 and 1, and 'visits' is not"),
        ("grid_search", {"capacity": 0.2}, improvable.OptionError, "grid_search' cannot honor capacity"),
        ("grid_search", {"monotone": {"need": "+"}}, improvable.OptionError, "cannot honor monotone"),
    ],
)
def test_what_they_cannot_do_says_why(
    people: pl.DataFrame, name: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        audited(people, name, **options)


def test_names() -> None:
    assert [reduction(name).name for name in NAMES] == [f"reductions:{name}" for name in NAMES]
    assert reduction("grid_search") == reduction("grid_search")
    with pytest.raises(improvable.OptionError, match=r"no rule 'reductions:grid'.*'grid_search'"):
        reduction("grid")


def test_without_fairlearn_the_extra_is_named(people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def missing(name: str, package: str | None = None) -> Any:
        if name.startswith("fairlearn"):
            raise ModuleNotFoundError(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(improvable.OptionError, match=r"needs Fairlearn. Install .*'improvable\[fairlearn\]'"):
        reduction("grid_search")
    with pytest.raises(improvable.RuleError, match=r"needs Fairlearn. Install .*'improvable\[fairlearn\]'"):
        audited(people, ExponentiatedGradient())
