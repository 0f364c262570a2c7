"""The rules that search for a linear classifier itself, through a whole audit."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit, flat_compare
from improvable.algorithms.rules import as_rule
from improvable.algorithms.rules.linear.problem import aim_at
from improvable.algorithms.rules.linear.rule import LinearRule, _negated
from improvable.procedure.prepare import prepare_audit
from improvable.question.design import Design, make_design
from improvable.question.settings import Settings


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
        "rule": "linear_search", "features": ["visits", "record"], "repetitions": 2, "draws": 300,
    }  # fmt: skip
    return flat_audit(people, **{**settings, **options})


def refitted(people: pl.DataFrame, **options: Any) -> improvable.Algorithm:
    """The choice on all rows, after the least audit there is: one fit."""
    return audited(people, scheme="split", repetitions=1, **options).refit()


def test_a_search_that_weighs_the_gap_has_a_smaller_one_than_prediction() -> None:
    """The means differ by .46 and more, with a standard error of about .15."""
    people = programme(4_000)

    def gap(rule: str) -> float:
        repetitions = audited(people, rule=rule, repetitions=3, scheme="split").to_dict()["repetitions"]
        return float(np.mean([repetition["gap"]["candidate"] for repetition in repetitions]))

    predicted = gap("linear")
    for objective in ("fairest", "balanced"):
        assert gap(f"linear_search:{objective}") < predicted - 0.1


@pytest.mark.parametrize("objective", ["balanced", "fairest:iota=0", "most_accurate:b:iota=0"])
def test_constraints_hold_on_the_training_rows(people: pl.DataFrame, objective: str) -> None:
    result = audited(
        people, rule=f"linear_search:{objective}", selection_gap=0.1, monotone={"record": "-", "visits": "+"},
        delta_accuracy=-0.2, repetitions=1,
    )  # fmt: skip
    assert not any("no candidate" in text for text in result.warnings)
    for repetition in result.to_dict()["repetitions"]:
        assert repetition["share_selected"]["candidate"]["train"] <= 0.25 + 1e-9
        assert repetition["rule_notes"]["reached"]["monotone_violations"] == 0
        assert len(repetition["rule_notes"]["blocks"]) == 4
        for block in repetition["rule_notes"]["blocks"]:
            assert block["reached"]["selection_gap"] <= 0.1 + 1e-9
            assert block["reached"]["monotone_violations"] == 0
    assert "Selection rates may differ by 0.1" in result.summary(verbose=True)


@pytest.mark.paper("Definition F.1")
def test_the_program_proves_its_optimum_and_the_classifier_reproduces_it(people: pl.DataFrame) -> None:
    few = people.head(300).with_columns(pl.col("visits", "record").round(0))
    result = audited(
        few, rule="linear_program:fairest:iota=0", outcome="sick", accuracy="classification_rate",
        repetitions=1, draws=200,
        status_quo=improvable.threshold("score", above=-0.5),
    )  # fmt: skip
    notes = result.to_dict()["repetitions"][0]["rule_notes"]["blocks"]
    assert len(notes) == 2
    for note in notes:
        assert note["status"] == "optimal"
        assert note["gap"] == pytest.approx(0, abs=1e-6)
    algorithm = result.refit()
    found = improvable.compare(
        few, outcome="sick", group="group", status_quo=improvable.threshold("score", above=-0.5), candidate=algorithm,
        accuracy="classification_rate", test=improvable.Test(draws=200),
    ).to_dict()["repetitions"][0]  # fmt: skip
    for group in ("a", "b"):
        assert found["accuracy"][group]["candidate"] >= found["accuracy"][group]["status_quo"] - 1e-12
    assert found["gap"]["candidate"] <= found["gap"]["status_quo"]
    assert "Solver: optimal in 2 blocks." in result.summary(verbose=True)


def test_a_long_program_says_how_far_it_is(people: pl.DataFrame) -> None:
    status_quo, said = improvable.threshold("score", above=-0.5), list[str]()
    asked = Settings(
        outcome="sick", group="group", status_quo=status_quo, rule="linear", accuracy="classification_rate",
        features=["visits", "record"],
    )  # fmt: skip
    ready = prepare_audit(people.head(400), asked)
    training = improvable.Training(
        ready.sample(), ready.features.columns, True, "sick", ready.plan.design, ready.plan.constraints,
        np.random.SeedSequence(0), said.append,
    )  # fmt: skip
    status_quo = improvable.threshold("score", above=-0.5)
    rule = LinearRule("linear_program", "fairest", iota=0, nodes=20)
    selection, again = (rule.select(training, status_quo) for _ in range(2))  # type: ignore[arg-type]
    assert selection.algorithm.coefficients.tobytes() == again.algorithm.coefficients.tobytes()
    assert selection.notes == again.notes
    assert selection.notes["status"] in ("optimal", "node_limit")
    assert all(text.startswith("program, ") for text in said)


@pytest.mark.paper("Appendix F")
def test_an_infeasible_program_is_said_plainly_and_has_p_one(people: pl.DataFrame) -> None:
    """Nothing is more accurate for every group than knowing the outcome."""
    few = people.head(200).with_columns(pl.col("visits", "record").round(0))
    knows = few.with_columns(
        score=pl.col("sick").cast(pl.Float64) + pl.when(pl.int_range(200) % 29 == 0).then(-1).otherwise(0)
    )
    result = audited(
        knows, rule="linear_program:fairest", outcome="sick", accuracy="classification_rate",
        repetitions=1, draws=200,
        status_quo=improvable.threshold("score", above=0.5),
    )  # fmt: skip
    (note,) = result.to_dict()["repetitions"][0]["rule_notes"]["blocks"]
    assert note["status"] == "infeasible"
    assert result.p_value == 1.0
    assert "Solver: infeasible in 1 block." in result.summary(verbose=True)


def test_the_search_says_where_it_found_nothing_feasible(people: pl.DataFrame) -> None:
    """Twice as accurate for everyone is out of reach; the best that was found falls short of it by .3 and more."""
    result = audited(people, rule="linear_search:fairest:iota=0", delta_accuracy=1.0, repetitions=1)
    for repetition in result.to_dict()["repetitions"]:
        for block in repetition["rule_notes"]["blocks"]:
            assert block["status"] == "nothing feasible found"
            assert block["violation"] > 0.3
        assert repetition["p_value"] == 1.0
    assert result.p_value == 1.0
    assert "Solver: nothing feasible found in 4 blocks." in result.summary(verbose=True)
    assert any("found no candidate, so p is 1" in text for text in result.warnings)
    with pytest.raises(improvable.RuleError, match="finds no candidate on all rows"):
        result.refit()


@pytest.mark.paper("Definition 4", "Appendix F")
@pytest.mark.parametrize("form", ["ratio", "difference"])
@pytest.mark.parametrize("objective", ["fairest", "most_accurate:a"])
def test_candidates_meet_the_claim_on_the_rows_they_learned_from(
    people: pl.DataFrame, objective: str, form: str
) -> None:
    """With iota to spare; and another claim is another candidate."""
    decided = []
    for accuracy, fairness in ((-0.05, 0.6), (0.1, 0.2)):
        size = {"delta_accuracy": {"a": accuracy, "b": accuracy / 2}, "delta_fairness": fairness, "form": form}
        algorithm = refitted(people, rule=f"linear_search:{objective}:iota=0.02", **size)
        status_quo = improvable.threshold("score", capacity=0.25)
        found = improvable.compare(
            people,
            outcome="outcome",
            group="group",
            status_quo=status_quo,
            candidate=algorithm,
            test=improvable.Test(draws=200),
        ).to_dict()["repetitions"][0]
        for group, delta in size["delta_accuracy"].items():  # type: ignore[attr-defined]
            before, after = found["accuracy"][group]["status_quo"], found["accuracy"][group]["candidate"]
            assert after >= ((1 + delta) * before if form == "ratio" else before + delta) + 0.02 - 1e-9
        gap = found["gap"]["status_quo"]
        assert found["gap"]["candidate"] <= ((1 - fairness) * gap if form == "ratio" else gap - fairness) - 0.02 + 1e-9
        decided.append(algorithm.decide(people))
    assert (decided[0] != decided[1]).any()


def test_balanced_measures_from_the_claim(people: pl.DataFrame) -> None:
    """Asked for a much smaller gap, it gives up accuracy for it."""

    def found(**size: Any) -> tuple[float, float]:
        algorithm = refitted(people, rule="linear_search:balanced", **size)
        repetition = improvable.compare(
            people, outcome="outcome", group="group", status_quo=improvable.threshold("score", capacity=0.25),
            candidate=algorithm, test=improvable.Test(draws=200),
        ).to_dict()["repetitions"][0]  # fmt: skip
        return min(of["candidate"] / of["status_quo"] for of in repetition["accuracy"].values()), repetition["gap"][
            "candidate"
        ]

    accurate, fair = found(delta_accuracy=0.3, delta_fairness=-0.5), found(delta_accuracy=-0.3, delta_fairness=0.7)
    assert accurate[0] > fair[0]
    assert accurate[1] > fair[1]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("linear_search", LinearRule("linear_search")),
        ("linear_search:fairest:iota=0.01", LinearRule("linear_search", "fairest", "0.01")),
        ("linear_program:fairest:iota=2se:nodes=5", LinearRule("linear_program", "fairest", "2se", 5)),
        ("linear_program:nodes=5", LinearRule("linear_program", "balanced", nodes=5)),
        ("linear_search:most_accurate:a=b:iota=0", LinearRule("linear_search", "most_accurate:a=b", "0")),
    ],
)
def test_settings_are_part_of_the_name(name: str, rule: LinearRule) -> None:
    assert as_rule(name) == rule
    assert as_rule(rule.name) == rule


def test_messy_columns_and_weights_reach_the_search(people: pl.DataFrame) -> None:
    frame = people.with_columns(weight=pl.Series(np.random.default_rng(0).uniform(0.5, 2, len(people))))
    result = audited(frame, features=["visits", "ward"], weight="weight", repetitions=1, scheme="split")
    algorithm = result.refit()
    assert set(np.unique(algorithm.decide(people.head(50)))) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "linear_search:kindest"}, "'kindest' is not an objective of linear_search"),
        ({"rule": "linear_search:most_accurate"}, "most_accurate:GROUP"),
        ({"rule": "linear_search:fairest:iota=-1"}, "iota is '-1'"),
        ({"rule": "linear_search:fairest:iota=some"}, "iota is 'some'"),
        ({"rule": "linear_search:balanced:iota=1se"}, "'balanced' has no iota"),
        ({"rule": "linear_search:fairest:nodes=9"}, "'nodes=9' is not a setting of linear_search"),
        ({"rule": "linear_program:fairest:nodes=many"}, "nodes is 'many'"),
        ({"rule": "linear_program:fairest:nodes=0"}, "cannot have nodes=0"),
        ({"rule": "linear_program:fairest:seconds=60"}, "linear_program:fairest:iota=0.01:nodes=500"),
        ({"rule": "linear_search:most_accurate:c"}, "names no group"),
        ({"group": ["group", "ward"]}, "takes one group column"),
        (
            {"rule": "linear_program", "features": ["visits", "record"], "scheme": "split", "repetitions": 1},
            "linear_search",
        ),
    ],
)
def test_what_cannot_be_searched_says_why(people: pl.DataFrame, options: dict[str, Any], message: str) -> None:
    if options.get("rule") == "linear_program":
        people = pl.concat([people.with_columns(pl.col("visits") + i / 97) for i in range(12)])
    with pytest.raises(improvable.ImprovableError, match=message):
        audited(people, **options)


def design(**changes: Any) -> Design:
    return make_design(Settings(**{"outcome": "y", "group": "g", "status_quo": "d", **changes}))


def test_a_share_of_what_is_better_when_lower_changes_its_sign() -> None:
    """Of a mean default rate: 10% less is -U1 > (1 - .1)(-U0), which an aim at the negative must ask for."""
    asked = design(accuracy="calibration", delta_accuracy=0.1, lower_is_better=True)
    negated = _negated(asked)
    assert [negated.delta_of(group, "calibration") for group in "ab"] == [-0.1, -0.1]
    aim = aim_at(negated, "ab", np.array([[-0.5], [-0.2]]), np.array([[0.5], [0.2]]), utilities=(["calibration"], [""]))
    np.testing.assert_allclose(aim.least, [[-0.45, -0.18]])
    assert aim.gaps == pytest.approx([0.3])


def test_only_shares_of_what_is_better_when_lower_change_their_sign() -> None:
    amounts = design(accuracy="calibration", delta_accuracy=0.1, lower_is_better=True, form="difference")
    assert _negated(amounts) == amounts.question.claim
    higher = design(accuracy="calibration", delta_accuracy={"a": 0.1, "b": 0.0})
    assert _negated(higher) == higher.question.claim
    both = ["calibration", "selection_rate"]
    mixed = design(accuracy=both, delta_accuracy={"a": 0.1, "b": 0.2}, lower_is_better=True)
    deltas = [[_negated(mixed).delta_of(group, label) for group in "ab"] for label in both]
    assert deltas == [[-0.1, -0.2], [0.1, 0.2]]
    margin = design(accuracy="calibration", no_worse=0.05, lower_is_better=True)
    assert _negated(margin).delta_of("a", "calibration") == 0.05


@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_candidates_meet_a_claim_of_lower_outcomes(people: pl.DataFrame, form: str) -> None:
    """The selected must be less well, by a tenth; on the rows that the search learned from, they are."""
    well = people.with_columns(
        well=(1 - pl.col("sick")) * pl.when(pl.int_range(pl.len()) % 2 == 0).then(1.0).otherwise(1.2)
    )
    asked: dict[str, Any] = {"outcome": "well", "lower_is_better": True}
    size: dict[str, Any] = {"delta_accuracy": 0.1 if form == "ratio" else 0.02, "form": form}
    algorithm = refitted(well, rule="linear_search:fairest:iota=0", **asked, **size)
    status_quo = improvable.threshold("score", capacity=0.25)
    found = flat_compare(well, group="group", status_quo=status_quo, candidate=algorithm, draws=200, **asked).to_dict()[
        "repetitions"
    ][0]
    for of in found["accuracy"].values():
        assert of["candidate"] <= (0.9 * of["status_quo"] if form == "ratio" else of["status_quo"] - 0.02) + 1e-9
    assert found["gap"]["candidate"] <= found["gap"]["status_quo"]
