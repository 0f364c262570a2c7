"""Rules that compete inside the training rows, and variations of rules."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.algorithms.rules import as_rule, as_tournament
from improvable.algorithms.rules.base import folds_of
from improvable.data.sample import Sample
from improvable.procedure.prepare import prepare_audit
from improvable.question.settings import Settings


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return make_people(1_500)


@pytest.fixture(scope="module")
def many() -> pl.DataFrame:
    """So many that the better rule wins on the first tenth of them."""
    return make_people(8_000)


def make_people(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    group = rng.random(n) < 0.4
    need = rng.normal(size=n)
    return pl.DataFrame(
        {
            "group": np.where(group, "b", "a"),
            "need": need + rng.normal(0, 0.4, n),
            "cost_old": need - 0.8 * group + rng.normal(0, 0.5, n),
            "noise": rng.normal(size=n),
            "score": need - 0.8 * group + rng.normal(0, 1.0, n),
            "outcome": rng.poisson(np.exp(0.6 * need + 0.3)),
            "clinic": rng.integers(0, 100, n),
            "person": np.arange(n),
        }
    )


def audited(people: Any, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.2),
        "features": ["need", "cost_old", "noise"],
        "repetitions": 3,
        "draws": 300,
        "row_id": "person",
    }
    return flat_audit(people, **{**settings, **options})


@dataclass(frozen=True)
class By:
    """Select by one column."""

    column: str

    @property
    def name(self) -> str:
        return f"by {self.column}"

    def select(
        self, training: improvable.Training, status_quo: improvable.Algorithm
    ) -> Any:
        return improvable.threshold(self.column, capacity=0.2)


def test_the_better_rule_wins_and_is_what_gets_tested(many: pl.DataFrame) -> None:
    contest = audited(
        many, rule=as_tournament([By("noise"), By("need")]), repetitions=7
    )
    alone = audited(many, rule=By("need"), repetitions=7)
    for repetition, expected in zip(
        contest.to_dict()["repetitions"], alone.to_dict()["repetitions"], strict=True
    ):
        for block in repetition["rule_notes"]["blocks"]:
            assert block["winner"] == "by need"
            assert block["margins"]["by need"] > block["margins"]["by noise"]
        assert repetition["components"] == expected["components"]
    assert "Won inside the training rows: by need (28)." in contest.summary(
        verbose=True
    )


@pytest.mark.parametrize("options", [{}, {"scheme": "split", "train_fraction": 0.4}])
def test_contenders_never_see_test_rows_nor_the_fold_they_are_judged_on(
    many: pl.DataFrame, options: dict[str, Any]
) -> None:
    """Every call sees four fifths of the training rows, or, to refit, all of them;
    never a row from outside.
    """
    seen: list[set[float]] = []

    @dataclass(frozen=True)
    class Spy(By):
        def select(
            self, training: improvable.Training, status_quo: improvable.Algorithm
        ) -> Any:
            seen.append(set(training.rows.numbers("noise")))
            return super().select(training, status_quo)

    result = audited(
        many, rule=as_tournament([Spy("need"), By("noise")]), repetitions=7, **options
    )
    learned = [
        block["learned_from"]
        for one in result.repetitions
        for block in one.notes["blocks"]
    ]
    assert len(seen) == 6 * len(learned) == 6 * 7 * (1 if options else 4)
    assert sorted(len(seen[last]) for last in range(5, len(seen), 6)) == sorted(learned)
    for fit in range(len(learned)):
        *parts, training = seen[6 * fit : 6 * fit + 6]
        assert all(abs(len(rows) - 0.8 * len(training)) < 1 for rows in parts)
        assert all(rows < training for rows in parts)
        held_out = [training - rows for rows in parts]
        assert set.union(*held_out) == training
        assert sum(map(len, held_out)) == len(training)


def test_clusters_stay_whole_in_folds(people: pl.DataFrame) -> None:
    result = audited(
        people, rule="tournament:linear,ridge:10", cluster="clinic", repetitions=1
    )
    assert result.repetitions[0].clusters is not None
    assert abs(result.repetitions[0].clusters - 90) < 12
    sample = training_rows(people, cluster="clinic")
    for clusters, folds in ((100, 5), (10, 5), (9, 4), (5, 2), (4, 2)):
        some = sample.take(np.flatnonzero(sample.rows.numbers("clinic") < clusters))
        parts = folds_of(as_training(some))
        assert len(parts) == folds
        judged = [{*some.rows.numbers("clinic")[judge]} for _, judge in parts]
        assert all(len(own) >= 2 for own in judged)
        assert sum(map(len, judged)) == len(set.union(*judged)) == clusters
        for (learn, _), own in zip(parts, judged, strict=True):
            assert not own & {*learn.rows.numbers("clinic")}


def training_rows(people: pl.DataFrame, **options: Any) -> Sample:
    status_quo = improvable.threshold("score", capacity=0.2)
    named: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "rule": "linear",
        "features": ["need"],
    }
    asked = Settings(status_quo=status_quo, **named, **options)
    return prepare_audit(people, asked).sample()


def as_training(sample: Sample) -> improvable.Training:
    nothing: Any = None
    return improvable.Training(
        sample, ("need",), True, "outcome", nothing, nothing, np.random.SeedSequence(0)
    )


def test_the_same_seed_gives_the_same_winner_with_any_workers(
    people: pl.DataFrame,
) -> None:
    rule = "tournament:linear,lasso,boosting"
    one, two = (
        audited(people, rule=rule, scheme="split", n_jobs=jobs) for jobs in (1, 2)
    )
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())


def test_a_blend_of_nearly_nothing_is_the_status_quo_and_of_nearly_all_the_model(
    people: pl.DataFrame,
) -> None:
    def decisions(rule: str) -> Any:
        return audited(people, rule=rule, repetitions=1).refit().decide(people)

    scores = people["score"].to_numpy()
    np.testing.assert_array_equal(
        decisions("blend:0.000001:linear"), scores > np.quantile(scores, 0.8)
    )
    assert (decisions("blend:0.999999:linear") == decisions("linear")).mean() > 0.999


def test_a_rule_can_be_named_by_module_and_object(
    people: pl.DataFrame, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_rules.py").write_text(
        "import improvable\n"
        "class Need:\n"
        "    name = 'need'\n"
        "    def select(self, training, status_quo):\n"
        "        return improvable.threshold('need', "
        "capacity=training.constraints.capacity)\n"
        "rule = Need()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    split: dict[str, Any] = {"scheme": "split", "repetitions": 2}
    named = audited(people, rule="my_rules:rule", **split)
    assert named.p_value == audited(people, rule=By("need"), **split).p_value


def test_a_rule_that_finds_nothing_has_p_one(people: pl.DataFrame) -> None:
    class Nothing:
        name = "nothing"

        def select(
            self, training: improvable.Training, status_quo: improvable.Algorithm
        ) -> Any:
            return improvable.Selection(None, {"status": "infeasible"})

    result = audited(people, rule=Nothing(), repetitions=7)
    assert result.p_value == 1.0
    assert any("found no candidate, so p is 1" in text for text in result.warnings)
    assert "infeasible in 28 blocks" in result.summary(verbose=True)
    with pytest.raises(improvable.RuleError, match="finds no candidate on all rows"):
        result.refit()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("tournament:linear", "at least two different rules"),
        ("tournament:linear,linear", "at least two different rules"),
        ("blend:2:linear", "is not a blend"),
        ("blend:0.5", "Write it like blend:0.5:linear"),
        ("blend:0.5:linear_program", "is not a blend"),
        ("ridge:strong", "Write it like ridge:10"),
        ("ridgge:1", "cannot be found"),
        ("os:nothing", "cannot be imported"),
        ("tournament:linear,forrest", "Did you mean 'forest'"),
    ],
)
def test_rules_that_cannot_be_read_say_how_to_write_them(
    rule: str, message: str
) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        as_rule(rule)


def test_a_rule_that_fails_on_the_rows_names_the_repetition(
    people: pl.DataFrame,
) -> None:
    message = (
        "repetition 1, block 1: contender 'logistic': rule 'logistic' is a classifier"
    )
    with pytest.raises(improvable.RuleError, match=message):
        audited(people, rule="tournament:linear,logistic")


def test_a_blend_needs_a_score(people: pl.DataFrame) -> None:
    with pytest.raises(improvable.RuleError, match="blends the status quo's score"):
        audited(
            people,
            rule="blend:0.5:linear",
            status_quo=lambda frame: frame["score"].to_numpy() > 1,
            capacity=0.2,
        )


def test_too_few_training_rows_for_folds(people: pl.DataFrame) -> None:
    sample = training_rows(people, cluster="clinic")
    few = sample.take(np.flatnonzero(sample.rows.numbers("clinic") < 3))
    with pytest.raises(
        improvable.DataError,
        match="3 training clusters are too few to judge a rule by rows left out",
    ):
        folds_of(as_training(few))
