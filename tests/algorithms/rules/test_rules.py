"""Selection rules: they see training rows only, and whatever they find can be used
afterwards.
"""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import improvable
from flat import flat_audit
from improvable.algorithms.rules import as_tournament
from improvable.algorithms.rules.base import run_rule
from improvable.algorithms.rules.predictive import PredictiveRule
from improvable.procedure.prepare import prepare_audit
from improvable.question.settings import Settings


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    n = 900
    group = rng.random(n) < 0.4
    need = rng.normal(size=n)
    return pl.DataFrame(
        {
            "group": np.where(group, "b", "a"),
            "need_1": need + rng.normal(0, 0.5, n),
            "need_2": need + rng.normal(0, 0.5, n),
            "ward": rng.choice(["north", "south"], n),
            "score": 0.3 * need + rng.normal(0, 1, n) - 0.3 * group,
            "outcome": rng.poisson(np.exp(0.6 * need + 0.4)),
            "sick": (need + rng.normal(0, 0.5, n) > 0.5).astype(int),
            "cost": np.exp(need + rng.normal(0, 0.5, n)),
        }
    )


def audited(people: Any, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.2),
        "features": ["need_1", "need_2"],
        "repetitions": 2,
        "draws": 300,
    }
    return flat_audit(people, **{**settings, **options})


@pytest.mark.parametrize("name", ["linear", "lasso", "forest:30", "boosting"])
def test_every_regression_rule_finds_a_better_candidate(
    people: pl.DataFrame, name: str
) -> None:
    result = audited(people, rule=name)
    for repetition in result.to_dict()["repetitions"]:
        for group in result.groups:
            assert (
                repetition["accuracy"][group]["candidate"]
                > repetition["accuracy"][group]["status_quo"]
            )


@pytest.mark.parametrize(
    "name", ["linear", "lasso", "forest:30", "boosting", "logistic"]
)
@pytest.mark.parametrize("capacity", [None, 0.3])
def test_every_rule_decides_a_binary_outcome(
    people: pl.DataFrame, name: str, capacity: float | None
) -> None:
    result = audited(
        people,
        rule=name,
        outcome="sick",
        accuracy="classification_rate",
        repetitions=1,
        capacity=capacity,
        status_quo=improvable.threshold("score", above=0.0),
    )
    share = result.repetitions[0].counts["share_selected"]["candidate"]["test"]
    assert (
        share == pytest.approx(0.3, abs=3 * (0.3 * 0.7 / 225) ** 0.5)
        if capacity
        else 0.1 < share < 0.6
    )


def test_any_pipeline_is_a_rule_and_sees_named_columns_of_the_callers_kind(
    people: pl.DataFrame,
) -> None:
    frame = pd.DataFrame(people.to_dict(as_series=False))
    encode = make_column_transformer(
        (OneHotEncoder(), ["ward"]), remainder="passthrough"
    )
    features = ["need_1", "need_2"]
    plain = audited(
        frame,
        rule=make_pipeline(StandardScaler(), LinearRegression()),
        features=features,
    )
    assert plain.to_dict()["rule"] == "Pipeline"
    named = PredictiveRule(
        "wards", lambda *_: make_pipeline(encode, LinearRegression()), raw=True
    )
    seen = run_rule(named, training_rows(frame, ("need_1", "ward")), None).algorithm  # type: ignore[arg-type]
    assert seen.decide(frame).sum() > 0


def training_rows(frame: Any, features: tuple[str, ...]) -> improvable.Training:
    status_quo = improvable.threshold("score", capacity=0.3)
    ready = prepare_audit(
        frame,
        Settings(
            outcome="outcome", group="group", status_quo=status_quo, rule="linear"
        ),
    )
    plan = ready.plan
    return improvable.Training(
        ready.sample(),
        features,
        True,
        "outcome",
        plan.design,
        plan.constraints,
        np.random.SeedSequence(0),
    )


class Spy:
    """A rule that remembers what it saw, and selects by one feature."""

    name = "spy"

    def __init__(self) -> None:
        self.seen: list[improvable.Training] = []

    def select(
        self, training: improvable.Training, status_quo: improvable.Algorithm
    ) -> Any:
        self.seen.append(training)
        return improvable.threshold("need_1", capacity=0.2)


def test_a_rule_of_ones_own_sees_training_rows_only(people: pl.DataFrame) -> None:
    spy = Spy()
    result = audited(
        people, rule=spy, scheme="split", train_fraction=0.25, repetitions=3
    )
    for training, repetition in zip(spy.seen, result.repetitions, strict=True):
        assert len(training.rows) + repetition.rows == 900
        assert abs(len(training.rows) - 225) < 4 * (900 * 0.25 * 0.75) ** 0.5
    assert result.to_dict()["rule"] == "spy"


class ByNeed:
    """A rule without a name."""

    __slots__ = ()
    honors = frozenset({"capacity", "monotone"})

    def select(
        self, training: improvable.Training, status_quo: improvable.Algorithm
    ) -> Any:
        return improvable.threshold("need_1", capacity=0.2)


def test_a_rule_without_a_name_goes_by_its_class(people: pl.DataFrame) -> None:
    result = audited(people, rule=ByNeed(), repetitions=7, monotone={"need_1": "+"})
    assert result.to_dict()["rule"] == "ByNeed"
    assert as_tournament([ByNeed(), "linear"]).rules[0].name == "ByNeed"
    with pytest.raises(
        improvable.OptionError, match="code of its own, and fewer than 7"
    ):
        audited(people, rule=ByNeed())
    with pytest.raises(
        improvable.OptionError, match="a ByNeed is not a selection rule"
    ):
        audited(people, rule=ByNeed)


@pytest.mark.parametrize("scheme", ["forward", "split"])
def test_training_and_test_rows_never_meet(people: pl.DataFrame, scheme: str) -> None:
    """What the status quo is judged on by a candidate is exactly what comes after the
    rows that the rule saw.
    """
    numbered = people.with_columns(number=pl.int_range(len(people)).cast(pl.Float64))
    judged: list[set[float]] = []

    def watched(frame: Any) -> Any:
        judged.append(set(frame["number"].to_list()))
        return (frame["score"] > 0.5).to_numpy()

    spy = Spy()
    result = audited(
        numbered,
        rule=spy,
        status_quo=watched,
        capacity=0.2,
        repetitions=7,
        scheme=scheme,
    )
    everyone, blocks = set(range(len(people))), len(result.facts["blocks"]["cuts"])
    assert judged[0] == everyone
    learned = [set(training.rows.numbers("number")) for training in spy.seen]
    assert len(learned) == 7 * blocks
    expected = [everyone, set(range(0, len(people), 2))]
    for k, seen in enumerate(learned):
        # blocks are fitted in order
        after = everyone if k % blocks == blocks - 1 else learned[k + 1]
        assert seen < after
        expected += [seen, after - seen]
    # Functions are asked again about some of the rows: whether they decide for each row
    # by itself.
    assert [
        rows
        for rows in judged
        if rows not in expected and not any(rows < one for one in expected[2:])
    ] == []
    assert all(rows in judged for rows in expected)


def test_a_target_other_than_the_outcome(people: pl.DataFrame) -> None:
    spy = Spy()
    audited(people, rule=spy, target="cost", repetitions=7)
    rows = spy.seen[0].rows
    np.testing.assert_array_equal(spy.seen[0].target, rows.numbers("cost"))


def test_default_features_leave_out_group_outcomes_and_the_score_in_use(
    people: pl.DataFrame,
) -> None:
    numeric = people.drop("ward")
    result = audited(
        numeric,
        rule="linear",
        features=None,
        accuracy="calibration:cost",
        fairness="calibration",
    )
    assert list(result.setting["features"]) == ["need_1", "need_2", "sick"]
    result = audited(
        numeric, rule="linear", features=None, target="cost", exclude=["si*"]
    )
    assert list(result.setting["features"]) == ["need_1", "need_2"]


def test_the_score_in_use_is_a_feature_when_asked_for_by_name(
    people: pl.DataFrame,
) -> None:
    used = audited(people, rule="linear", features=["score", "need_1"]).setting[
        "features"
    ]
    assert list(used) == ["score", "need_1"]


def test_the_substitute_is_the_rule_applied_to_all_rows(people: pl.DataFrame) -> None:
    algorithm = audited(people, rule="linear").refit()
    model = LinearRegression().fit(
        people[["need_1", "need_2"]].to_numpy(), people["outcome"].to_numpy()
    )
    scores = model.predict(people[["need_1", "need_2"]].to_numpy())
    expected = scores > np.quantile(scores, 0.8)
    decisions = algorithm.decide(people)
    assert (decisions != expected).mean() < 0.005, (
        "its cutoff is that of rows left out, nearly the same"
    )
    np.testing.assert_array_equal(
        algorithm.decide(pd.DataFrame(people.to_dict(as_series=False))), decisions
    )
    assert len(algorithm.decide(people.head(3))) == 3


class Broken(LinearRegression):  # type: ignore[misc]
    def fit(self, *_: Any) -> Any:
        raise RuntimeError("singular\nmatrix")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"rule": Broken(), "repetitions": 7},
            improvable.RuleError,
            (
                "repetition 1, block 1: rule 'Broken' failed on [0-9]+ training rows: "
                ".*singular matrix"
            ),
        ),
        (
            {"rule": Broken(), "scheme": "split"},
            improvable.RuleError,
            (
                "repetition 1: rule 'Broken' failed on 424 training rows: .*singular "
                "matrix"
            ),
        ),
        (
            {"rule": "forrest"},
            improvable.OptionError,
            "no rule 'forrest'. Did you mean 'forest'",
        ),
        (
            {"rule": LinearRegression},
            improvable.OptionError,
            "LinearRegression is not a selection rule",
        ),
        ({"rule": 3}, improvable.OptionError, "a int is not a selection rule"),
        (
            {"rule": LogisticRegression()},
            improvable.RuleError,
            "repetition 1, block 1: rule 'LogisticRegression' is a classifier",
        ),
        (
            {"rule": "linear", "status_quo": "sick"},
            improvable.RuleError,
            "nothing says whom to select. Give a capacity",
        ),
        ({"features": ["outcome"]}, improvable.OptionError, "'outcome' is an outcome"),
        (
            {"features": ["need_3"]},
            improvable.UnknownColumnError,
            "Did you mean 'need_",
        ),
        (
            {"features": ["need_1"], "exclude": ["need_1"]},
            improvable.DataError,
            "no column is left",
        ),
        ({"target": "costs"}, improvable.UnknownColumnError, "Did you mean 'cost'"),
    ],
)
def test_what_a_rule_cannot_use_says_why(
    people: pl.DataFrame, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        audited(people, **options)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda frame: np.ones(3),
            (
                r"candidate of rule 'odd' in repetition 1, block 1: .* shape \(3,\) "
                r"for \d+ rows"
            ),
        ),
        (
            lambda frame: np.full(len(frame), np.nan),
            r"repetition 1, block 1: .* missing or infinite answer for \d+",
        ),
        (
            lambda frame: np.full(len(frame), 2.0),
            "needs decisions of 0 and 1; the candidate decides 2",
        ),
    ],
)
def test_a_rule_whose_candidate_answers_badly_names_the_repetition(
    people: pl.DataFrame, answer: Any, message: str
) -> None:
    class Odd:
        name = "odd"

        def select(
            self, training: improvable.Training, status_quo: improvable.Algorithm
        ) -> Any:
            return answer

    with pytest.raises(improvable.ImprovableError, match=message):
        audited(people, rule=Odd(), repetitions=7)


def test_a_capacity_of_less_than_one_row_is_refused(people: pl.DataFrame) -> None:
    with pytest.raises(
        improvable.DataError,
        match=r"capacity of 0\.001 of 424 training rows is less than one row",
    ):
        audited(people, rule="linear", capacity=0.001)


def test_prices_are_decided_by_the_prediction(people: pl.DataFrame) -> None:
    rng = np.random.default_rng(0)
    frame = people.with_columns(
        price=pl.Series(np.round(rng.uniform(0.5, 3, len(people)), 1))
    )
    result = audited(
        frame,
        status_quo="price",
        outcome="cost",
        accuracy="profit",
        rule="linear",
        repetitions=1,
    )
    algorithm = result.refit()
    assert len(np.unique(algorithm.decide(frame))) > 100
