"""Forward repetitions: which rows teach and which are tested, how small data are cut,
what is refused, and resuming.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import improvable
from flat import flat_audit
from improvable.algorithms.rules import Selection
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows
from improvable.procedure.prepare import Prepared, prepare_audit
from improvable.question.settings import Settings
from improvable.results.wording import candidate_words, scheme_words
from people import CLUSTERED, audited, make_people, write_folder

CUTS = (0.1, 0.2, 0.4, 0.7)
STATUS_QUO = improvable.threshold("score", above=2.0)


def numbered(rows: int) -> pl.DataFrame:
    return make_people(rows).with_columns(number=pl.int_range(rows))


@dataclass(frozen=True)
class Spy:
    """Writes down the numbers of the rows that it learns from, and selects by their
    mean signal.
    """

    seen: ClassVar[list[set[int]]] = []
    name: str = "spy"

    def select(self, training: Any, status_quo: Any) -> Any:
        self.seen.append({*training.rows.numbers("number").astype(int).tolist()})
        return improvable.threshold(
            "signal", above=float(training.rows.numbers("signal").mean())
        )


def asked(people: pl.DataFrame, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "visits",
        "group": "group",
        "status_quo": STATUS_QUO,
        "features": ["signal", "number"],
        "draws": 200,
        "row_id": "person",
    }
    return flat_audit(people, **settings | options)


def prepared(people: pl.DataFrame, **options: Any) -> Prepared:
    settings: dict[str, Any] = {
        "outcome": "visits",
        "group": "group",
        "status_quo": STATUS_QUO,
        "rule": "linear",
        "features": ["signal"],
        "capacity": 0.2,
    }
    return prepare_audit(people, Settings(**settings | options))


@pytest.mark.parametrize(
    "options", [{}, {"cluster": "clinic"}, {"weight": "weight"}], ids=str
)
@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_a_candidate_learns_from_exactly_the_rows_before_its_block(
    engine: str, options: dict[str, Any]
) -> None:
    people = numbered(1_500)
    Spy.seen.clear()
    result = asked(people, rule=Spy(), engine=engine, **options)
    learned = list(Spy.seen)
    assert result.facts["blocks"] == {"cuts": list(CUTS), "grown_for": None}
    rows = (
        asked(people, rule=Spy(), **options).repetition_rows().join(people, on="person")
    )
    assert len(rows) == 7 * 1_500
    for repetition in range(1, 8):
        own = rows.filter(repetition=repetition)
        assert own["person"].n_unique() == 1_500
        for block in range(1, 5):
            before = own.filter(pl.col("block") < block)
            # fitted in order
            assert learned[4 * repetition - 5 + block] == {*before["number"].to_list()}
        tested = own.filter(pl.col("block") > 0)
        assert len(tested) == result.repetitions[repetition - 1].rows
        assert (
            tested.select("status_quo", "candidate")
            .null_count()
            .sum_horizontal()
            .item()
            == 0
        )
        assert own.filter(block=0)["candidate"].null_count() == 1_500 - len(tested)
        if "cluster" in options:
            assert (
                own.group_by("clinic").agg(pl.col("block").n_unique())["block"].max()
                == 1
            )
    assert len(learned) == 28


def test_blocks_hold_their_shares_of_the_rows() -> None:
    rows = asked(numbered(3_000), rule="linear", capacity=0.2).repetition_rows()
    shares = np.diff([0.0, *CUTS, 1.0])
    for repetition in range(1, 8):
        found = rows.filter(repetition=repetition)["block"].value_counts().sort("block")
        assert found["block"].to_list() == [0, 1, 2, 3, 4]
        errors = np.sqrt(shares * (1 - shares) / 3_000)
        assert (np.abs(found["count"].to_numpy() / 3_000 - shares) < 4.5 * errors).all()


def test_rules_see_the_same_rows_of_several_blocks_only_once() -> None:
    """With fewer training rows than the first block has, all blocks share a candidate,
    found once.
    """
    Spy.seen.clear()
    result = asked(numbered(3_000), rule=Spy(), train_rows=100)
    assert len(Spy.seen) == 7
    assert all(len(rows) == 100 for rows in Spy.seen)
    assert [one["learned_from"] for one in result.repetitions[0].notes["blocks"]] == [
        100
    ] * 4
    assert len({*result.mixture(3).algorithms}) == 1  # type: ignore[attr-defined]


def test_engines_workers_and_order_change_no_bit(tmp_path: Path) -> None:
    people = make_people(1_500)
    options: dict[str, Any] = {**CLUSTERED, "repetitions": 2}
    whole = audited(people, **options)
    assert (
        audited(people.sample(fraction=1.0, shuffle=True, seed=1), n_jobs=2, **options)
        == whole
    )
    assert audited(Memory(read_rows(people.reverse()), 2, 397), **options) == whole
    assert (
        audited(write_folder(people, tmp_path / "f", [400, 400]), n_jobs=2, **options)
        == whole
    )


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


@dataclass(frozen=True)
class Mortal:
    """Selects by the mean signal of its training rows, until it is killed."""

    fits_left: ClassVar[float] = np.inf
    name: str = "mortal"

    def select(self, training: Any, status_quo: Any) -> Any:
        if Mortal.fits_left == 0:
            raise Killed
        Mortal.fits_left -= 1
        return improvable.threshold(
            "signal", above=float(training.rows.numbers("signal").mean())
        )


@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_killed_at_any_block_and_resumed_gives_the_same_bytes(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = make_people(1_200)
    options: dict[str, Any] = {
        "rule": Mortal(),
        "features": ["signal"],
        "engine": engine,
    }
    whole = asked(people, **options, run_folder=tmp_path / "whole")
    for repetition, block in [(1, 1), (2, 4), (4, 3), (7, 2)]:
        place = tmp_path / f"killed-{repetition}-{block}"
        # the last block is fitted first
        monkeypatch.setattr(Mortal, "fits_left", 4 * repetition - block)
        with pytest.raises(Killed):
            asked(people, **options, run_folder=place)
        kept = sorted(path.name for path in place.glob("repetition-*.npz"))
        # an engine counts all repetitions in one pass
        done = range(1, repetition) if engine == "memory" else ()
        assert kept == [f"repetition-{k:03d}.npz" for k in done]
        monkeypatch.setattr(Mortal, "fits_left", 28 - 4 * len(done))
        resumed = asked(people, **options, run_folder=place)
        assert Mortal.fits_left == 0
        assert contents(place) == contents(tmp_path / "whole")
        assert resumed.to_dict() == whole.to_dict()


def contents(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


@dataclass(frozen=True)
class Partial:
    """Finds `signal` above a cutoff, and where its training rows have the first person,
    something else.
    """

    otherwise: str
    name: str = "partial"

    def select(self, training: Any, status_quo: Any) -> Any:
        has_first = float(training.rows.read_numbers("first").max()) == 1
        if self.otherwise == "nothing" or (
            has_first and self.otherwise == "nothing for some blocks"
        ):
            return Selection(None)
        return status_quo if has_first else improvable.threshold("signal", above=2.0)


def partly(otherwise: str) -> tuple[improvable.Audit, pl.DataFrame]:
    people = make_people(1_200).with_columns(
        first=(pl.int_range(1_200) == 0).cast(pl.Int8)
    )
    return asked(people, rule=Partial(otherwise), features=["signal", "first"]), people


@pytest.mark.parametrize(
    "otherwise", ["status quo for some blocks", "nothing for some blocks"]
)
def test_blocks_whose_candidate_is_the_status_quo(otherwise: str) -> None:
    """Their rows count as they are: the other blocks' candidates alone move the pooled
    sums.
    """
    result, people = partly(otherwise)
    blocks = result.repetition_rows().join(people, on="person", suffix="_data")
    for one in result.repetitions:
        own = blocks.filter(repetition=one.repetition)
        first = own.filter(pl.col("first") == 1)["block"].item()
        tested = own.filter(pl.col("block") > 0)
        before = (tested["score"] > 2.0).to_numpy()
        # What a block learns from has the first person if that is in an earlier block.
        moved = (tested["block"] <= first).to_numpy()
        after = np.where(moved, (tested["signal"] > 2.0).to_numpy(), before)
        for g, group in enumerate(one.groups):
            mine = (tested["group"] == group).to_numpy()
            for t, decision in enumerate((before, after)):
                chosen = decision & mine
                expected = (
                    float(tested["visits"].to_numpy()[chosen].sum()),
                    float(chosen.sum()),
                )
                np.testing.assert_allclose(one.evidence.sums[g, 0, t], expected)
        p = max(one.assessment.p_accuracy.values())
        assert p == 1 if first == 0 else p < 1
    said = " ".join(result.warnings)
    firsts = blocks.filter(pl.col("first") == 1).sort("repetition")["block"].to_list()
    some = [k for k, block in enumerate(firsts, start=1) if 0 < block < 4]
    assert some
    nothing = otherwise == "nothing for some blocks"
    assert ("found no candidate for block" in said) == nothing
    if nothing:
        listed = ", ".join(map(str, some))
        assert (
            f"repetitions {listed} (first shown): rule 'partial' found no candidate "
            "for block"
        ) in said
        assert (
            f"no candidate for block {firsts[some[0] - 1] + 1}, where the status quo "
            "stands in for it."
        ) in said


def test_a_rule_that_finds_nothing_in_any_block_proves_nothing() -> None:
    result, _ = partly("nothing")
    assert result.p_value == 1
    assert not result.reject
    assert "found no candidate, so p is 1" in " ".join(result.warnings)


def binary_people(positive: int) -> pl.DataFrame:
    """3,000 rows, a third of them of group b; of these so many have the outcome."""
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b"], [2_000, 1_000])
    outcome = (rng.random(3_000) < 0.5).astype(int)
    outcome[2_000:] = np.arange(1_000) < positive
    signal = outcome + rng.normal(size=3_000)
    return pl.DataFrame(
        {
            "visits": outcome,
            "group": group,
            "signal": signal,
            "score": signal + rng.normal(size=3_000),
        }
    )


def with_small_group() -> pl.DataFrame:
    small = pl.when(pl.int_range(3_000) < 100).then(pl.lit("c"))
    return make_people(3_000).with_columns(group=small.otherwise("group"))


def with_clinics(clinics: int) -> pl.DataFrame:
    return make_people(3_000).with_columns(clinic=pl.int_range(3_000) % clinics)


def with_selected(people: int) -> pl.DataFrame:
    """Of 2,000 people the status quo has chosen so many."""
    return make_people(2_000).with_columns(
        chosen=(pl.int_range(2_000) < people).cast(pl.Int8)
    )


RARER = "10 of the rarer 'visits' in group 'b'"
AT_CUTOFF = "10 rows on either side of the cutoff"
GROWN: list[
    tuple[
        Callable[..., pl.DataFrame],
        int | None,
        dict[str, Any],
        tuple[float, ...],
        str | None,
    ]
] = [
    (make_people, 1_000, {}, CUTS, None),
    (make_people, 999, {}, (0.11, 0.2, 0.4, 0.7), "100 rows"),
    (make_people, 600, {}, (0.17, 0.4, 0.7), "100 rows"),
    (make_people, 250, {}, (0.4, 0.7), "100 rows"),
    (make_people, 218, {}, (0.46, 0.7), "100 rows"),
    (make_people, 212, {}, (0.5,), "100 rows"),
    (make_people, 200, {}, (0.5,), "100 rows"),
    (make_people, 120, {}, (0.5,), "100 rows"),
    (with_clinics, 100, {"cluster": "clinic"}, CUTS, None),
    (with_clinics, 40, {"cluster": "clinic"}, (0.25, 0.4, 0.7), "10 clusters"),
    (with_small_group, None, {}, (0.3, 0.7), "30 rows of group 'c'"),
    (binary_people, 40, {}, (0.25, 0.4, 0.7), RARER),
    (binary_people, 960, {}, (0.25, 0.4, 0.7), RARER),
    (binary_people, 1_000, {}, CUTS, None),
    (make_people, 2_000, {"capacity": 0.02}, (0.25, 0.4, 0.7), AT_CUTOFF),
    (make_people, 2_000, {"capacity": 0.98}, (0.25, 0.4, 0.7), AT_CUTOFF),
    (
        make_people,
        2_000,
        {"status_quo": improvable.threshold("score", capacity=0.02)},
        (0.25, 0.4, 0.7),
        AT_CUTOFF,
    ),
    (
        with_selected,
        40,
        {"status_quo": "chosen", "capacity": "status_quo"},
        (0.25, 0.4, 0.7),
        AT_CUTOFF,
    ),
    (with_selected, 40, {"status_quo": "chosen"}, CUTS, None),
    (with_selected, 0, {"status_quo": "chosen", "capacity": "status_quo"}, CUTS, None),
]


@pytest.mark.parametrize(("make", "size", "options", "cuts", "reason"), GROWN)
def test_the_first_block_grows_to_what_must_be_learned_from(
    make: Callable[..., pl.DataFrame],
    size: int | None,
    options: dict[str, Any],
    cuts: tuple[float, ...],
    reason: str | None,
) -> None:
    people = make() if size is None else make(size)
    ready = prepared(people, **options)
    assert ready.cuts.ends == ready.splitting.cuts == pytest.approx(cuts)
    assert ready.cuts.reason == reason
    assert ready.setting()["blocks"] == {
        "cuts": pytest.approx(list(cuts)),
        "grown_for": reason,
    }
    assert prepared(people, scheme="split", **options).cuts.ends == (0.5,)


def test_a_grown_block_is_said_wherever_the_result_is(tmp_path: Path) -> None:
    for rows, words, candidate in (
        (
            600,
            (
                "Forward: the first 17% of the rows, in random order, only teach; each "
                "of 3 later blocks is tested by what the rows before it taught. The "
                "first block grew so that it holds 100 rows."
            ),
            (
                "The candidate is the mixture of what the rule found on 17%, 40% and "
                "70% of the rows, each with the share of rows that it decided for."
            ),
        ),
        (
            180,
            (
                "Forward, with too few rows for blocks (the first must hold 100 rows): "
                "half of the rows teach and the others are tested, as in the paper's "
                "split."
            ),
            "The candidate is what the rule found on 50% of the rows.",
        ),
    ):
        result = asked(
            make_people(rows), rule="linear", capacity=0.2, features=["signal"]
        )
        assert scheme_words(result.facts) == words
        assert candidate_words(result.facts) == candidate
        result.report(tmp_path / "report.md")
        for text in (
            result.summary(verbose=True),
            (tmp_path / "report.md").read_text(),
        ):
            assert words in " ".join(text.split())
        assert (candidate in " ".join(result.summary(verbose=True).split())) == (
            rows == 600
        )
        assert result.to_dict()["blocks"]["grown_for"] == "100 rows"


def test_without_growth_the_words_are_short() -> None:
    result = asked(make_people(1_000), rule="linear", capacity=0.2, features=["signal"])
    assert scheme_words(result.facts) == (
        "Forward: the first 10% of the rows, in random order, only teach; each of 4 "
        "later blocks is tested by what the rows before it taught."
    )
    split = asked(
        make_people(1_000),
        rule="linear",
        capacity=0.2,
        features=["signal"],
        scheme="split",
        train_fraction=0.6,
    )
    assert (
        scheme_words(split.facts)
        == "Split: a rule learns from 60% of the rows and is tested on the others."
    )
    assert (
        candidate_words(split.facts)
        == "The candidate is what the rule found on 60% of the rows."
    )


@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_forward_down_to_halves_tests_the_rows_of_the_papers_split(engine: str) -> None:
    """Only the pair of groups is chosen elsewhere: on the tested rows."""
    people = make_people(190)
    options: dict[str, Any] = {
        "rule": "linear",
        "capacity": 0.3,
        "features": ["signal"],
        "engine": engine,
    }
    forward, split = asked(people, **options), asked(people, **options, scheme="split")
    for one, other in zip(forward.repetitions, split.repetitions, strict=True):
        np.testing.assert_array_equal(one.evidence.draws, other.evidence.draws)
        assert one.evidence.chooses_here
        assert not other.evidence.chooses_here
        assert one.assessment.p_accuracy == other.assessment.p_accuracy


def test_a_fraction_goes_with_the_split_only() -> None:
    with pytest.raises(
        improvable.OptionError,
        match=r"`train_fraction` goes with the paper's split\. Leave it out, or",
    ):
        asked(make_people(600), rule="linear", train_fraction=0.6)


class Foreign(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator of somebody's own."""

    def fit(self, x: Any, y: Any) -> "Foreign":
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, x: Any) -> Any:
        return np.asarray(x)[:, 0] + self.mean_


def squared(x: Any) -> Any:
    return np.asarray(x) ** 2


@pytest.mark.parametrize(
    "rule",
    [
        Spy(),
        Foreign(),
        make_pipeline(StandardScaler(), Foreign()),
        make_pipeline(FunctionTransformer(squared), LinearRegression()),
        "test_forward_rules:rule",
        "tournament:linear,test_forward_rules:rule",
    ],
    ids=[
        "rule",
        "estimator",
        "estimator in a pipeline",
        "function in a pipeline",
        "module",
        "contender",
    ],
)
def test_one_repetition_is_not_for_foreign_code(
    rule: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_forward_rules.py").write_text(
        "import improvable\n\n\nclass Rule:\n    name = 'theirs'\n\n    def "
        "select(self, training, status_quo):\n"
        "        return improvable.threshold('signal', above=1.0)\n\n\nrule = Rule()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    people = numbered(1_000)
    for repetitions in (1, 6):
        message = (
            "is code of its own, and fewer than 7 forward repetitions do not keep the "
            "level"
        )
        with pytest.raises(improvable.OptionError, match=message) as caught:
            asked(people, rule=rule, capacity=0.2, repetitions=repetitions)
        assert "Make at least 7, or use `test=Test(scheme='split')`." in str(
            caught.value
        )
        assert len(str(caught.value).splitlines()) == 1
    split = asked(people, rule=rule, capacity=0.2, repetitions=1, scheme="split")
    assert len(split.repetitions) == 1
    if isinstance(rule, str):  # a process for every block is slow, and tested elsewhere
        assert prepared(people, rule=rule, repetitions=7).plan.repetitions == 7
    else:
        enough = asked(people, rule=rule, capacity=0.2, repetitions=7)
        assert len(enough.repetitions) == 7


def test_foreign_code_that_decides_amounts_is_for_the_split() -> None:
    """It could raise its stakes while it is behind."""
    people = numbered(1_000).with_columns(price=pl.col("signal").clip(0).round(1))

    class Half:
        name = "half"

        def select(
            self, training: improvable.Training, status_quo: improvable.Algorithm
        ) -> Any:
            return lambda frame: frame["signal"].to_numpy() / 2

    options: dict[str, Any] = {
        "status_quo": "price",
        "accuracy": "profit",
        "outcome": "cost",
    }
    with pytest.raises(
        improvable.OptionError,
        match=r"rule 'half' is code of its own that decides amounts",
    ):
        asked(people, rule=Half(), **options)
    assert (
        asked(people, rule=Half(), **options, scheme="split").facts["scheme"] == "split"
    )
    assert asked(people, rule="linear", **options).facts["scheme"] == "forward"


@pytest.mark.parametrize(
    "rule",
    [
        "linear",
        "lasso",
        "tournament:linear,ridge:1",
        LinearRegression(),
        make_pipeline(StandardScaler(), Ridge()),
    ],
    ids=str,
)
def test_one_repetition_is_for_rules_and_estimators_that_are_known(rule: Any) -> None:
    result = asked(numbered(1_000), rule=rule, capacity=0.2, repetitions=1)
    assert result.level == 0.05
    assert result.p_value == result.repetitions[0].p_value


def test_the_split_is_that_of_earlier_versions() -> None:
    """The same seed divides the rows as it did before there were forward repetitions:
    sums of whole numbers.
    """
    result = improvable.audit(
        make_people(1_500),
        outcome="visits",
        group="group",
        rule="linear",
        features=["signal", "small"],
        test=improvable.Test(draws=300, repetitions=3, scheme="split"),
        status_quo=improvable.threshold("score", capacity=0.2),
        seed=5,
    )
    assert [one.evidence.sums[:, 0].tolist() for one in result.repetitions] == [
        [[[223, 83], [209, 70]], [[206, 76], [259, 75]]],
        [[[273, 77], [291, 82]], [[154, 63], [207, 61]]],
        [[[282, 89], [298, 87]], [[196, 78], [215, 63]]],
    ]
    assert [round(one.p_value * 300) for one in result.repetitions] == [231, 136, 44]


def test_an_audit_is_forward_unless_told_otherwise() -> None:
    assert (improvable.Test().scheme, improvable.Test().repetitions) == ("forward", 7)
    result = asked(numbered(1_000), rule="linear", capacity=0.2)
    assert (result.facts["scheme"], len(result.repetitions), result.level) == (
        "forward",
        7,
        0.025,
    )
