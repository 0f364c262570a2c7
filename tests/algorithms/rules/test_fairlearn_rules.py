"""Fairlearn's algorithms as rules of one's own: what they keep close, what they refuse,
and that nothing is random.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.cli import run
from improvable.data.frame import read_rows

pytest.importorskip("fairlearn")
from fairlearn_rules import (
    Mixture,
    exponentiated_gradient,
    grid_search,
    threshold_optimizer,
)

RULES = [exponentiated_gradient, grid_search, threshold_optimizer]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Equal need gives group b less access to care; one feature measures need, the
    other access.
    """
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
        "outcome": "sick",
        "group": "group",
        "status_quo": improvable.threshold("score", above=0.4),
        "features": ["need", "access"],
        "accuracy": "classification_rate",
        "fairness": "selection_rate",
        "repetitions": 1,
        "draws": 200,
        "group_blind": False,
        "scheme": "split",
    }
    return flat_audit(people, rule=rule, **{**settings, **options})


def mean_gap(result: improvable.Audit) -> float:
    return float(
        np.mean(
            [
                repetition["gap"]["candidate"]
                for repetition in result.to_dict()["repetitions"]
            ]
        )
    )


@pytest.fixture(scope="module")
def gap_of_prediction(people: pl.DataFrame) -> dict[str, float]:
    asked = ("selection_rate", "true_positive_rate", "false_positive_rate")
    return {
        name: mean_gap(audited(people, "logistic", fairness=name, repetitions=2))
        for name in asked
    }


def noted(result: improvable.Audit) -> dict[str, Any]:
    (block,) = result.repetitions[0].notes["blocks"]
    return dict(block)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("fairness", "kept_close"),
    [
        ("selection_rate", "demographicparity"),
        ("true_positive_rate", "truepositiverateparity"),
        ("false_positive_rate", "falsepositiverateparity"),
        (["false_negative_rate", "false_positive_rate"], "equalizedodds"),
        ("calibration", "demographicparity"),
    ],
)
def test_the_gap_that_is_asked_about_is_smaller(
    people: pl.DataFrame,
    gap_of_prediction: dict[str, float],
    rule: Any,
    fairness: Any,
    kept_close: str,
) -> None:
    result = audited(people, rule, fairness=fairness, repetitions=2)
    assert noted(result)["kept_close"].replace("_", "").lower() == kept_close
    if isinstance(fairness, str) and fairness != "calibration":
        assert mean_gap(result) < gap_of_prediction[fairness]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("bound", [0.2, 0.05, 0.0])
def test_a_bound_is_kept_on_the_training_rows_or_there_is_no_candidate(
    people: pl.DataFrame, rule: Any, bound: float
) -> None:
    result = audited(people, rule, selection_gap=bound, fairness="classification_rate")
    notes = noted(result)
    nothing = (
        notes.get("decision") == "nothing found keeps the bound on the training rows"
    )
    assert bound < 0.2 or not nothing or rule is threshold_optimizer
    assert (
        result.p_value == 1 if nothing else notes["reached"]["selection_gap"] <= bound
    )


@pytest.mark.parametrize("rule", RULES)
def test_candidates_decide_the_same_way_each_time_and_row_by_row(
    people: pl.DataFrame, rule: Any
) -> None:
    candidate = audited(people, rule).refit()
    decided = candidate.decide(people)
    assert set(np.unique(decided)) == {0.0, 1.0}
    np.testing.assert_array_equal(
        candidate.decide(pd.DataFrame(people.to_dict(as_series=False))), decided
    )
    np.testing.assert_array_equal(candidate.decide(people[::-1])[::-1], decided)
    np.testing.assert_array_equal(
        np.concatenate([candidate.decide(people[[i]]) for i in range(5)]), decided[:5]
    )


@pytest.mark.parametrize("rule", RULES)
def test_messy_columns_several_groups_and_weights(
    people: pl.DataFrame, rule: Any
) -> None:
    messy = people.with_columns(
        need=pl.when(pl.col("need") > 1.5).then(None).otherwise(pl.col("need"))
    )
    result = audited(
        messy,
        rule,
        features=["need", "access", "ward"],
        group=["group", "sex"],
        weight="weight",
        fairness=None,
    )
    assert 0 < result.refit().decide(messy).mean() < 1


def test_the_majority_of_a_mixture() -> None:
    class Fixed:
        def __init__(self, *decisions: int) -> None:
            self.decisions = decisions

        def predict(self, _: Any) -> Any:
            return np.array(self.decisions)

    mixture = Mixture(
        (Fixed(1, 1, 0), Fixed(1, 0, 0), Fixed(1, 0, 1)), np.array([0.4, 0.25, 0.35])
    )
    np.testing.assert_allclose(
        mixture.predict_proba(np.zeros((3, 1)))[:, 1], [1, 0.4, 0.35]
    )


def test_cutoffs_by_group_match_fairlearns_own_probabilities(
    people: pl.DataFrame,
) -> None:
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    matrix, target = people[["need", "access"]].to_numpy(), people["sick"].to_numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    theirs = ThresholdOptimizer(estimator=model, predict_method="predict_proba")
    theirs.fit(matrix, target, sensitive_features=people["group"].to_numpy())
    expected = theirs._pmf_predict(
        matrix, sensitive_features=people["group"].to_numpy()
    )[:, 1]
    algorithm: Any = audited(people, threshold_optimizer).refit()
    np.testing.assert_allclose(
        algorithm.scorer.score(read_rows(people)), expected, atol=1e-12
    )
    np.testing.assert_array_equal(algorithm.decide(people), expected > 0.5)


def test_cutoffs_by_group_need_a_group_that_they_know(people: pl.DataFrame) -> None:
    algorithm = audited(people, threshold_optimizer).refit()
    with pytest.raises(improvable.AlgorithmError, match="know no group 'c'"):
        algorithm.decide(people.with_columns(group=pl.lit("c")))
    with pytest.raises(improvable.ImprovableError, match="'group'"):
        algorithm.decide(people.drop("group"))
    with pytest.raises(improvable.AlgorithmError, match="1,500 rows have no group"):
        algorithm.decide(people.with_columns(group=pl.lit(None, dtype=pl.String)))


@pytest.mark.parametrize(
    ("rule", "options", "error", "message"),
    [
        (
            threshold_optimizer,
            {"group_blind": True},
            improvable.RuleError,
            "needs the group at decision time, which may be disparate treatment. "
            "Allow it with `constraints=Constraints.group_blind=False.`",
        ),
        (
            grid_search,
            {"target": "visits"},
            improvable.RuleError,
            "needs a target of 0 and 1, and 'visits' is not",
        ),
        (
            grid_search,
            {"capacity": 0.2},
            improvable.OptionError,
            "grid_search' cannot honor capacity",
        ),
        (
            grid_search,
            {"monotone": {"need": "+"}},
            improvable.OptionError,
            "cannot honor monotone",
        ),
    ],
)
def test_what_they_cannot_do_says_why(
    people: pl.DataFrame,
    rule: Any,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        audited(people, rule, **options)


@pytest.mark.parametrize("rule", RULES)
def test_they_run_by_name_and_find_the_same(
    people: pl.DataFrame,
    rule: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As module:object, in a process of their own."""
    monkeypatch.chdir(tmp_path)
    people.write_csv("people.csv")
    command = (
        "audit people.csv --outcome sick --group group --score score --above 0.4 "
        "--features need,access --accuracy classification_rate --fairness "
        "selection_rate --repetitions 1 --draws 200 --allow-group --scheme split "
        f"--json - --rule {rule.name}"
    )
    assert run(command.split()) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rule"] == rule.name
    here = audited(pl.read_csv("people.csv"), rule).to_dict()["repetitions"][0]
    assert facts["repetitions"][0]["gap"] == here["gap"]
