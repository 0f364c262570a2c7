"""The look at the data: what is refused, what is a caution, what is neither, and that
it is the same everywhere.
"""

import json
import re
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from improvable._typing import BoolArray, FloatArray
from improvable.algorithms.leakage import (
    Column,
    bins_of,
    determines,
    group_target,
    outcome_target,
    score_column,
    told_together,
)
from improvable.data.quality import written_number
from improvable.errors import ImprovableWarning
from improvable.procedure.prepare import Prepared, prepare_audit
from improvable.question.settings import Settings

N = 1_200


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    in_b = rng.random(N) < 0.4
    need = rng.normal(0.3 * in_b, 1.0)
    return pl.DataFrame(
        {
            "y": (need + rng.normal(0, 1.0, N) > 0.2).astype(np.int64),
            "visits": rng.poisson(np.exp(0.5 * need)),
            "cost": np.exp(need + rng.normal(0, 0.5, N)),
            "group": np.where(in_b, "b", "a"),
            "score": need + rng.normal(0, 1.0 + in_b, N),
            "need": need + rng.normal(0, 0.8, N),
            "age": rng.integers(18, 90, N),
            "region": rng.choice(["north", "south", "west"], N),
        }
    )


def looked(frame: Any, **options: Any) -> Prepared:
    settings: dict[str, Any] = {
        "outcome": "y",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.3),
        "rule": "linear",
        "exclude": ["visits", "cost"],
    }
    return prepare_audit(frame, Settings(**{**settings, **options}))


def kinds(ready: Prepared) -> list[str]:
    return [caution.kind for caution in ready.look.cautions]


def test_ordinary_features_raise_nothing(people: pl.DataFrame) -> None:
    assert looked(people).cautions == []


LEAKS: dict[str, pl.Expr] = {
    "itself": pl.col("y"),
    "its complement": 1 - pl.col("y"),
    "as text": pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")),
    "recoded": pl.when(pl.col("y") == 1)
    .then(pl.lit(3))
    .otherwise(pl.col("age") % 2 * 4 + 1),
    "a cutoff": pl.col("y") * 10 + pl.col("age") / 10,
    "with holes": pl.when(pl.col("age") > 25).then(pl.col("y")),
    "where it is missing": pl.when(pl.col("y") == 1).then(pl.col("age")),
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_the_answer_is_refused_in_every_disguise(
    people: pl.DataFrame, leak: pl.Expr
) -> None:
    with pytest.raises(
        improvable.DataError,
        match=r"'leak' determines the outcome 'y' exactly.* `exclude=\['leak'\]`",
    ):
        looked(people.with_columns(leak=leak))
    assert (
        looked(
            people.with_columns(leak=leak), exclude=["visits", "cost", "leak"]
        ).cautions
        == []
    )


@pytest.mark.parametrize(
    ("outcome", "leak"),
    [
        ("visits", pl.col("visits").cast(str)),
        ("visits", (pl.col("visits") * 7) % 23),
        ("cost", pl.col("cost").log()),
        ("cost", 100 - 3 * pl.col("cost")),
        (
            "cost",
            pl.col("cost").map_elements(lambda c: f"{c:,.9f}", return_dtype=pl.String),
        ),
    ],
)
def test_counts_and_amounts_are_refused_too(
    people: pl.DataFrame, outcome: str, leak: pl.Expr
) -> None:
    features = ["need", "age", "leak"]
    with pytest.raises(
        improvable.DataError, match=f"'leak' determines the outcome '{outcome}'"
    ):
        looked(people.with_columns(leak=leak), outcome=outcome, features=features)


def test_all_answers_are_named_at_once(people: pl.DataFrame) -> None:
    frame = people.with_columns(one=pl.col("y"), two=1 - pl.col("y"))
    with pytest.raises(
        improvable.DataError,
        match=r"'one' and 'two' determine .* `exclude=\['one', 'two'\]`",
    ):
        looked(frame)


def test_what_nearly_tells_the_outcome_is_named(people: pl.DataFrame) -> None:
    rng = np.random.default_rng(1)
    wrong = rng.random(N) < 0.005
    frame = people.with_columns(
        near=np.where(wrong, 1 - people["y"].to_numpy(), people["y"].to_numpy())
    )
    (caution,) = looked(frame).look.cautions
    assert caution.kind == "near outcome y"
    assert "'near'" in caution.text
    assert "`exclude=['near']`" in caution.text


def test_a_noisy_copy_of_a_long_tailed_outcome_is_named(people: pl.DataFrame) -> None:
    noise = np.random.default_rng(2).normal(1, 0.01, N)
    ready = looked(
        people.with_columns(near=pl.col("cost") * noise),
        outcome="cost",
        features=["need", "near"],
    )
    assert kinds(ready) == ["near outcome cost"]


def test_a_proxy_that_is_right_in_998_of_1000_rows_is_a_caution_and_an_exact_one_is_refused(  # noqa: E501
    people: pl.DataFrame,
) -> None:
    group = people["group"].to_numpy()
    wrong = np.arange(N) % 500 == 0
    proxy = np.where(wrong, np.where(group == "b", "a", "b"), group)
    ready = looked(people.with_columns(proxy=proxy))
    (caution,) = ready.look.cautions
    assert caution.kind == "near group group"
    assert "'proxy' 0.9" in caution.text
    assert ready.look.facts["features_tell_group"]["group"] > 0.99
    assert kinds(looked(people.with_columns(proxy=proxy), group_blind=False)) == []
    with pytest.raises(
        improvable.DataError, match="'proxy' determines the group 'group' exactly"
    ):
        looked(people.with_columns(proxy=group))


def test_features_that_tell_the_group_only_together(people: pl.DataFrame) -> None:
    rng = np.random.default_rng(3)
    base, in_b = rng.normal(0, 10, N), (people["group"] == "b").to_numpy()
    ready = looked(
        people.with_columns(left=base, right=base + in_b + rng.normal(0, 0.2, N))
    )
    (caution,) = ready.look.cautions
    assert caution.kind == "together group"
    alone = ready.look.facts["features"]
    assert max(one["tells_group"]["group"] for one in alone.values()) < 0.7


def test_an_outcome_the_wrong_way_round(people: pl.DataFrame) -> None:
    wrong_way = people.with_columns(y=1 - pl.col("y"))
    with pytest.raises(
        improvable.OptionError, match=r"have a lower mean 'y'.*direction='as stated'"
    ):
        looked(wrong_way)
    stated = looked(wrong_way, direction="as stated").look
    assert [caution.kind for caution in stated.cautions] == ["direction"]
    chosen = wrong_way["score"] > wrong_way["score"].quantile(0.7, "linear")
    seen = stated.facts["direction"]
    assert seen["selected"] == pytest.approx(
        wrong_way.filter(chosen)["y"].mean(), rel=1e-5
    )
    assert seen["others"] == pytest.approx(
        wrong_way.filter(~chosen)["y"].mean(), rel=1e-5
    )
    one, other = (wrong_way.filter(side)["y"].to_numpy() for side in (chosen, ~chosen))
    error = np.sqrt(one.var() / len(one) + other.var() / len(other))
    assert seen["standard_errors"] == pytest.approx(
        (one.mean() - other.mean()) / error, abs=0.01
    )
    assert (
        kinds(looked(wrong_way, accuracy="selection_rate", fairness="selection_rate"))
        == []
    )


def test_a_nearly_perfect_candidate_is_a_caution(people: pl.DataFrame) -> None:
    rng = np.random.default_rng(4)
    half = rng.normal(size=N)
    frame = people.with_columns(
        one=half, two=pl.col("y") + half + rng.normal(0, 0.01, N)
    )
    with pytest.warns(
        ImprovableWarning, match="almost exactly the test rows with the highest 'y'"
    ):
        found = improvable.audit(
            frame,
            outcome="y",
            group="group",
            status_quo=improvable.threshold("score", capacity=0.3),
            rule="linear",
            features=["one", "two"],
            test=improvable.Test(repetitions=1, draws=200),
        )
    assert [
        caution.kind for caution in found.cautions if caution.kind.startswith("perfect")
    ] == ["perfect y"]


def test_ids_are_not_read_and_repeating_ones_hint_at_clusters(
    people: pl.DataFrame,
) -> None:
    rng = np.random.default_rng(6)
    frame = people.with_columns(
        row=1000 + pl.int_range(N), once_more=pl.int_range(N)
    ).with_columns(
        once_more=pl.when(pl.col("row") % 100 == 0).then(7).otherwise("once_more")
    )
    left_out = looked(frame).look.facts["left_out"]
    assert left_out["row"] == left_out["once_more"] == "tells rows apart, as an id does"
    # Three rows a person, all of the person's own group, with person numbers in no
    # order.
    numbers = rng.permutation(10_000)[:N]
    by_group = frame.sort("group").with_columns(patient=numbers[np.arange(N) // 3])
    whole = by_group.filter(pl.col("group").n_unique().over("patient") == 1)
    assert kinds(looked(whole)) == ["repeats patient"]
    assert kinds(looked(whole, cluster="patient")) == []
    amounts = people.with_columns(amount=rng.integers(0, 2_000, N))
    assert kinds(looked(amounts)) == []


def test_nothing_is_left_out_in_silence(people: pl.DataFrame) -> None:
    ready = looked(
        people.with_columns(flat=1),
        exclude=["visits", "cost"],
        weight="age",
        target="y",
    )
    facts = ready.look.facts
    assert set(facts["features"]) | set(facts["left_out"]) == {*people.columns, "flat"}
    assert facts["left_out"] == {
        "age": "weight",
        "cost": "excluded",
        "flat": "constant or empty",
        "group": "group",
        "score": (
            "the status quo decides by it; to let a candidate read it: `features=['*']`"
        ),
        "visits": "excluded",
        "y": "outcome",
    }


def test_a_star_includes_the_score_and_neither_outcome_nor_group(
    people: pl.DataFrame,
) -> None:
    every = looked(people, features=["*"])
    assert set(every.features.columns) == {"score", "need", "age", "region"}
    some = looked(people, features=["n*", "age"], exclude=[])
    assert some.look.facts["left_out"]["region"] == "not among the features named"


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (
            {
                "region": pl.when(pl.int_range(N) < 3)
                .then(pl.lit("North "))
                .otherwise("region")
            },
            "levels",
            (
                "'North ' in 3 rows.*Spell them alike in the data; `strip=True` leaves "
                "features"
            ),
        ),
        (
            {
                "age": (pl.col("age") * 1000).map_elements(
                    lambda a: f"{a:,}", return_dtype=pl.String
                )
            },
            "text numbers",
            "'age'",
        ),
        (
            {
                "age": pl.when(pl.int_range(N) == 5)
                .then(pl.lit("unknown"))
                .otherwise(pl.col("age").cast(str))
            },
            "stray text",
            "'unknown' in 1 row, which `na=\\['unknown'\\]`",
        ),
        (
            {"y": pl.when(pl.int_range(N) % 100 == 5).then(9).otherwise("y")},
            "codes y",
            "9 in 12 rows.*`na=\\['9'\\]`",
        ),
        (
            {"y": pl.when(pl.int_range(N) % 100 == 5).then(-1).otherwise("y")},
            "codes y",
            "-1 in 12 rows",
        ),
        (
            {
                "group": pl.when(pl.int_range(N) < 40)
                .then(pl.lit("B"))
                .otherwise("group")
            },
            "group note 0",
            "'B' and 'b' of 'group'.*To read them as one: `strip=True`",
        ),
    ],
)
def test_values_that_are_probably_not_meant(
    people: pl.DataFrame, change: dict[str, pl.Expr], kind: str, words: str
) -> None:
    """Each problem is one caution, with the advice that fixes it."""
    ready = looked(people.with_columns(**change))
    (found,) = [*ready.surveyed.cautions, *ready.look.cautions]
    assert found.kind == kind
    assert re.search(words, found.text)


def test_amounts_with_a_code_far_above_them_are_named(people: pl.DataFrame) -> None:
    counts = np.minimum(np.random.default_rng(8).poisson(2.0, N), 9)
    counts[::50] = 99
    (found,) = [
        *(
            ready := looked(
                people.with_columns(visits=counts),
                outcome="visits",
                exclude=["y", "cost"],
            )
        ).cautions
    ]
    assert found.kind == "codes visits"
    assert "but for 99 in 24 rows" in found.text
    assert ready.look.cautions == (found,)


def test_a_count_with_a_rare_nine_is_a_count(people: pl.DataFrame) -> None:
    counts = np.minimum(np.random.default_rng(8).poisson(2.0, N), 9)
    assert (
        kinds(
            looked(
                people.with_columns(visits=counts),
                outcome="visits",
                exclude=["y", "cost"],
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234.5", 1234.5),
        ("12,34", None),
        ("-3", -3.0),
        ("", None),
        ("4+", None),
        ("1e3", 1000.0),
        ("007", None),
    ],
)
def test_numbers_in_texts(text: str, number: float | None) -> None:
    assert written_number(text) == number


def slow_auc(scores: FloatArray, positive: BoolArray) -> float:
    """How often a positive row scores above another, counting pairs one by one."""
    wins = [
        (a > b) + 0.5 * (a == b)
        for a, b in product(scores[positive], scores[~positive])
    ]
    return float(np.mean(wins))


def test_shares_agree_with_slow_ones() -> None:
    rng = np.random.default_rng(9)
    x, n = rng.integers(0, 12, 400).astype(float), 400
    x[rng.random(n) < 0.1] = np.nan
    y = (np.nan_to_num(x, nan=3.0) + rng.normal(0, 4, n) > 5).astype(np.int64)
    column = Column("x", x, ordered=True)
    learned, overall = {}, y[:200].mean()
    for value in {*x[:200][~np.isnan(x[:200])], "missing"}:
        mine = np.isnan(x[:200]) if value == "missing" else x[:200] == value
        learned[value] = y[:200][mine].mean()
    scores = np.array(
        [learned.get("missing" if np.isnan(v) else v, overall) for v in x[200:]]
    )
    target = group_target("y", y, 2)
    assert score_column(column, *bins_of(column), target) == pytest.approx(
        slow_auc(scores, y[200:] == 1), abs=6e-4
    )
    z = np.nan_to_num(x) * 2 + rng.normal(0, 1, n)
    means = {
        value: z[:200][np.nan_to_num(x[:200], nan=-1) == value].mean()
        for value in [*range(12), -1]
    }
    predicted = np.array([means[v] for v in np.nan_to_num(x[200:], nan=-1)])
    slow = (
        1 - ((z[200:] - predicted) ** 2).sum() / ((z[200:] - z[200:].mean()) ** 2).sum()
    )
    ranks = np.array([(z < v).sum() + ((z == v).sum() + 1) / 2 for v in z])
    assert outcome_target("z", z).ranks.tolist() == ranks.tolist()
    means = {
        value: ranks[:200][np.nan_to_num(x[:200], nan=-1) == value].mean()
        for value in [*range(12), -1]
    }
    predicted = np.array([means[v] for v in np.nan_to_num(x[200:], nan=-1)])
    spread = ((ranks[200:] - ranks[200:].mean()) ** 2).sum()
    slow_of_ranks = 1 - ((ranks[200:] - predicted) ** 2).sum() / spread
    target = outcome_target("z", z)
    unordered = Column("x", x, ordered=False)
    by_bins = max(slow, slow_of_ranks)
    assert score_column(unordered, *bins_of(column), target) == pytest.approx(
        by_bins, abs=6e-4
    )
    known = np.flatnonzero(~np.isnan(x))
    before = known[known < 200]
    line = np.full(n, z[:200].mean())
    line[known] = np.polyval(np.polyfit(x[before], z[before], 1), x[known])
    spread = ((z[200:] - z[200:].mean()) ** 2).sum()
    by_line = 1 - ((z[200:] - line[200:]) ** 2).sum() / spread
    assert score_column(column, *bins_of(column), target) == pytest.approx(
        max(by_bins, by_line), abs=6e-4
    )
    one_bin = np.zeros(n, dtype=np.int64)  # then the line alone tells anything
    assert score_column(column, one_bin, 1, target) == pytest.approx(by_line, abs=6e-4)


@pytest.mark.parametrize("tail", [1.0, 2.0])
def test_a_long_tail_hides_no_copy(tail: float) -> None:
    rng = np.random.default_rng(11)
    y = rng.lognormal(0, tail, 2_000).round(1)
    target = outcome_target("y", y)
    noisy = Column("x", y * rng.lognormal(0, 0.02, 2_000), ordered=True)
    unrelated = Column("x", rng.permutation(y), ordered=True)
    scores = [
        score_column(one, *bins_of(one), target) or 0.0 for one in (noisy, unrelated)
    ]
    assert scores[0] > 0.98
    assert scores[1] < 0.1


def test_noise_that_hides_all_but_the_tail_hides_no_copy() -> None:
    """Four in five outcomes are 0, and the noise is wider than most of the others."""
    rng = np.random.default_rng(0)
    n = 10_000
    y = np.where(rng.random(n) < 0.8, 0, rng.lognormal(0, 2.5, n))
    noisy = Column("x", y + 0.05 * y.std() * rng.normal(size=n), ordered=True)
    target = outcome_target("y", y)
    assert (score_column(noisy, *bins_of(noisy), target) or 0.0) > 0.98


def test_together_is_about_what_a_logistic_regression_gives() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(10)
    x = rng.normal(size=(2_000, 5))
    y = (x @ [1.0, -1, 0.5, 0, 0] + rng.logistic(size=2_000) > 0).astype(np.int64)
    columns = [Column(str(j), x[:, j], ordered=True) for j in range(5)]
    found = told_together(
        columns, [bins_of(one) for one in columns], group_target("y", y, 2)
    )
    aucs = []
    for learn, score in (
        (slice(0, 1000), slice(1000, None)),
        (slice(1000, None), slice(0, 1000)),
    ):
        model = LogisticRegression().fit(x[learn], y[learn])
        aucs.append(slow_auc(model.decision_function(x[score]), y[score] == 1))
    assert found == pytest.approx(np.mean(aucs), abs=0.003)


@pytest.mark.parametrize("seed", range(20))
def test_no_column_determines_by_accident(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = outcome_target("y", (rng.random(300) < 0.03).astype(float))
    amounts = outcome_target("amount", rng.normal(size=300))
    for column in (
        Column("x", rng.normal(size=300), ordered=True),
        Column("t", rng.integers(0, 30, 300).astype(np.float64), False),
    ):
        assert not determines(column, y, where_given=True)
        assert not determines(column, amounts, where_given=True)


def test_the_look_is_the_same_for_any_kind_and_order_of_rows(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    frame = people.with_columns(
        id=pl.int_range(N), odd=pl.when(pl.col("age") > 80).then(None).otherwise("age")
    )
    frame.write_parquet(tmp_path / "people.parquet")
    forms: dict[str, Callable[[], Any]] = {
        "reversed": frame.reverse,
        "columns": lambda: frame.select(sorted(frame.columns, reverse=True)),
        "pandas": frame.to_pandas,
        "arrow": frame.to_arrow,
        "file": lambda: str(tmp_path / "people.parquet"),
    }
    expected = looked(frame, row_id="id", train_rows=700)
    assert expected.look.facts["rows"]["looked_at"] == 700
    for name, form in forms.items():
        engine = "arrow" if name == "file" else None
        seen = looked(form(), row_id="id", train_rows=700, engine=engine)
        assert json.dumps(seen.look.facts) == json.dumps(expected.look.facts), name
        assert seen.cautions == expected.cautions


def test_a_candidate_that_ranks_the_rows_it_is_given_is_refused_in_memory(
    people: pl.DataFrame,
) -> None:
    class Ranks:
        name = "ranks"

        def select(
            self, training: improvable.Training, status_quo: improvable.Algorithm
        ) -> Any:
            return improvable.threshold(
                lambda rows: rows["need"].rank().to_numpy(), capacity=0.3
            )

    with pytest.raises(
        improvable.ImprovableError,
        match=(
            "rule 'ranks' in repetition 1, block 1 decides otherwise for the same rows"
        ),
    ):
        improvable.audit(
            people,
            outcome="y",
            group="group",
            status_quo=improvable.threshold("score", capacity=0.3),
            rule=Ranks(),
            features=["need"],
            test=improvable.Test(draws=200),
        )


@pytest.mark.parametrize(
    ("file", "options", "expected"),
    [
        (
            "compas.csv",
            {
                "outcome": "two_year_recid",
                "group": "race",
                "groups": ["African-American", "Caucasian"],
                "status_quo": improvable.threshold("decile_score", above=4),
                "exclude": [],
            },
            ["alike"],
        ),
        (
            "nhanes_diabetes.csv",
            {
                "outcome": "diabetes",
                "group": "race",
                "status_quo": improvable.threshold("bmi", above=25),
                "weight": "weight",
                "drop_missing": True,
                "exclude": [],
            },
            [],
        ),
        (
            "obermeyer_holdout.csv",
            {
                "outcome": "gagne_sum_t",
                "group": "race",
                "exclude": ["*_t"],
                "status_quo": improvable.threshold("risk_score_t", capacity=0.03),
            },
            [],
        ),
    ],
)
def test_real_data_raise_few_alarms(
    shared_data: Path, file: str, options: dict[str, Any], expected: list[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImprovableWarning)
        assert kinds(looked(str(shared_data / file), **options)) == expected


def test_the_simulated_program_raises_no_alarm() -> None:
    ready = looked(
        improvable.datasets.care_management(6_000, seed=1),
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.03),
        exclude=["*_t"],
    )
    assert ready.cautions == []
    assert len(ready.look.facts["features"]) == 149
