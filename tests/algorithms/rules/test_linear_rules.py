"""The rule that finds a linear classifier itself, through a whole audit."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit, flat_compare
from improvable.algorithms.rules import as_rule
from improvable.algorithms.rules.linear.rule import LinearRule
from improvable.procedure.prepare import prepare_audit
from improvable.question.settings import Settings


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """With few distinct features, so that programs are small."""
    return programme(800).with_columns((pl.col("visits", "record") * 2).round(0) / 2)


def programme(n: int) -> pl.DataFrame:
    """`record` predicts well and is lower for group b at equal need; `visits` is
    even.
    """
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
        "outcome": "sick",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.25),
        "accuracy": "classification_rate",
        "rule": "linear_program:nodes=5",
        "features": ["visits", "record"],
        "repetitions": 2,
        "draws": 300,
    }
    return flat_audit(people, **{**settings, **options})


def refitted(people: pl.DataFrame, **options: Any) -> improvable.Algorithm:
    """The choice on all rows, after the least audit there is: one fit."""
    return audited(people, scheme="split", repetitions=1, **options).refit()


def judged(people: pl.DataFrame, algorithm: improvable.Algorithm) -> dict[str, Any]:
    """Of the comparison with the status quo on all rows, what it found."""
    result = improvable.compare(
        people,
        outcome="sick",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.25),
        accuracy="classification_rate",
        candidate=algorithm,
        test=improvable.Test(draws=200),
    )
    return dict(result.to_dict()["repetitions"][0])


def test_a_program_that_weighs_the_gap_has_a_smaller_one_than_prediction(
    people: pl.DataFrame,
) -> None:
    """On the rows that both learned from."""

    def gap(rule: str) -> float:
        return float(judged(people, refitted(people, rule=rule))["gap"]["candidate"])

    assert gap("linear_program:fairest:nodes=5") < gap("linear") - 0.02


@pytest.mark.parametrize("objective", ["fairest", "most_accurate:b:iota=0"])
def test_constraints_hold_on_the_training_rows(
    people: pl.DataFrame, objective: str
) -> None:
    result = audited(
        people,
        rule=f"linear_program:{objective}:nodes=5",
        selection_gap=0.3,
        monotone={"record": "+", "visits": "+"},
        delta_accuracy=-0.3,
        delta_fairness=-0.3,
        form="difference",
        repetitions=1,
    )
    assert not any("no candidate" in text for text in result.warnings)
    for repetition in result.to_dict()["repetitions"]:
        assert repetition["share_selected"]["candidate"]["train"] <= 0.25 + 1e-9
        assert repetition["rule_notes"]["reached"]["monotone_violations"] == 0
        assert len(repetition["rule_notes"]["blocks"]) == 4
        for block in repetition["rule_notes"]["blocks"]:
            assert block["reached"]["selection_gap"] <= 0.3 + 1e-9
            assert block["reached"]["monotone_violations"] == 0
    assert "Selection rates may differ by 0.3" in result.summary(verbose=True)


@pytest.mark.paper("Definition F.1")
def test_the_program_proves_its_optimum_and_the_classifier_reproduces_it(
    people: pl.DataFrame,
) -> None:
    few = programme(300).with_columns(pl.col("visits", "record").round(0))
    result = audited(
        few,
        rule="linear_program:fairest:iota=0",
        outcome="sick",
        accuracy="classification_rate",
        repetitions=1,
        draws=200,
        status_quo=improvable.threshold("score", above=-0.5),
    )
    notes = result.to_dict()["repetitions"][0]["rule_notes"]["blocks"]
    assert len(notes) == 2
    for note in notes:
        assert note["status"] == "optimal"
        assert note["gap"] == pytest.approx(0, abs=1e-6)
    algorithm = result.refit()
    found = improvable.compare(
        few,
        outcome="sick",
        group="group",
        status_quo=improvable.threshold("score", above=-0.5),
        candidate=algorithm,
        accuracy="classification_rate",
        test=improvable.Test(draws=200),
    ).to_dict()["repetitions"][0]
    for group in ("a", "b"):
        assert (
            found["accuracy"][group]["candidate"]
            >= found["accuracy"][group]["status_quo"] - 1e-12
        )
    assert found["gap"]["candidate"] <= found["gap"]["status_quo"]
    assert "Solver: optimal in 2 blocks." in result.summary(verbose=True)


def test_a_long_program_says_how_far_it_is(people: pl.DataFrame) -> None:
    status_quo, said = improvable.threshold("score", above=-0.5), list[str]()
    asked = Settings(
        outcome="sick",
        group="group",
        status_quo=status_quo,
        rule="linear",
        accuracy="classification_rate",
        features=["visits", "record"],
    )
    ready = prepare_audit(people.head(400), asked)
    training = improvable.Training(
        ready.sample(),
        ready.features.columns,
        True,
        "sick",
        ready.plan.design,
        ready.plan.constraints,
        np.random.SeedSequence(0),
        said.append,
    )
    status_quo = improvable.threshold("score", above=-0.5)
    rule = LinearRule("fairest", nodes=20)
    selection, again = (rule.select(training, status_quo) for _ in range(2))  # type: ignore[arg-type]
    assert (
        selection.algorithm.coefficients.tobytes()
        == again.algorithm.coefficients.tobytes()
    )
    assert selection.notes == again.notes
    assert selection.notes["status"] in ("optimal", "node_limit")
    assert all(text.startswith("program, ") for text in said)


@pytest.mark.paper("Appendix F")
def test_an_infeasible_program_is_said_plainly_and_has_p_one(
    people: pl.DataFrame,
) -> None:
    """Nothing is more accurate for every group than knowing the outcome."""
    few = people.head(200).with_columns(pl.col("visits", "record").round(0))
    knows = few.with_columns(
        score=pl.col("sick").cast(pl.Float64)
        + pl.when(pl.int_range(200) % 29 == 0).then(-1).otherwise(0)
    )
    result = audited(
        knows,
        rule="linear_program:fairest",
        outcome="sick",
        accuracy="classification_rate",
        repetitions=1,
        draws=200,
        status_quo=improvable.threshold("score", above=0.5),
    )
    (note,) = result.to_dict()["repetitions"][0]["rule_notes"]["blocks"]
    assert note["status"] == "infeasible"
    assert result.p_value == 1.0
    assert "Solver: infeasible in 1 block." in result.summary(verbose=True)


@pytest.mark.paper("Definition 4", "Appendix F")
@pytest.mark.parametrize("form", ["ratio", "difference"])
@pytest.mark.parametrize("objective", ["fairest", "most_accurate:a"])
def test_candidates_meet_the_claim_on_the_rows_they_learned_from(
    people: pl.DataFrame, objective: str, form: str
) -> None:
    """With iota to spare."""
    few = people.head(250)
    for accuracy, fairness in ((-0.05, 0.005), (0.08, 0.001)):
        size = {
            "delta_accuracy": {"a": accuracy, "b": accuracy / 2},
            "delta_fairness": fairness,
            "form": form,
        }
        algorithm = refitted(
            few, rule=f"linear_program:{objective}:iota=0.001:nodes=2", **size
        )
        found = judged(few, algorithm)
        for group, delta in size["delta_accuracy"].items():  # type: ignore[attr-defined]
            before, after = (
                found["accuracy"][group]["status_quo"],
                found["accuracy"][group]["candidate"],
            )
            assert (
                after
                >= ((1 + delta) * before if form == "ratio" else before + delta)
                + 0.001
                - 1e-9
            )
        gap = found["gap"]["status_quo"]
        assert (
            found["gap"]["candidate"]
            <= ((1 - fairness) * gap if form == "ratio" else gap - fairness)
            - 0.001
            + 1e-9
        )


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("linear_program", LinearRule()),
        ("linear_program:fairest:iota=0.01", LinearRule("fairest", 0.01)),
        (
            "linear_program:fairest:iota=2e-05:nodes=5",
            LinearRule("fairest", 0.00002, 5),
        ),
        ("linear_program:nodes=5", LinearRule(nodes=5)),
        (
            "linear_program:most_accurate:a=b:iota=0",
            LinearRule("most_accurate:a=b", 0.0),
        ),
    ],
)
def test_settings_are_part_of_the_name(name: str, rule: LinearRule) -> None:
    assert as_rule(name) == rule
    assert as_rule(rule.name) == rule


def test_messy_columns_and_weights_reach_the_program(people: pl.DataFrame) -> None:
    frame = people.with_columns(
        weight=pl.Series(np.random.default_rng(0).uniform(0.5, 2, len(people)))
    )
    result = audited(
        frame,
        features=["visits", "ward"],
        weight="weight",
        repetitions=1,
        scheme="split",
    )
    algorithm = result.refit()
    assert set(np.unique(algorithm.decide(people.head(50)))) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "linear_search"}, "there is no rule 'linear_search'"),
        (
            {"rule": "linear_program:balanced"},
            "'balanced' is not an objective of linear_program",
        ),
        ({"rule": "linear_program:most_accurate"}, "most_accurate:GROUP"),
        ({"rule": "linear_program:fairest:iota=-1"}, "iota is '-1'"),
        ({"rule": "linear_program:fairest:iota=1se"}, "iota is '1se'"),
        ({"rule": "linear_program:fairest:nodes=many"}, "nodes is 'many'"),
        ({"rule": "linear_program:fairest:nodes=0"}, "nodes is '0'"),
        (
            {"rule": "linear_program:fairest:seconds=60"},
            "linear_program:fairest:iota=0.01:nodes=500",
        ),
        ({"rule": "linear_program:most_accurate:c"}, "names no group"),
        ({"group": ["group", "ward"]}, "takes one group column"),
        (
            {
                "rule": "linear_program",
                "features": ["visits", "record"],
                "scheme": "split",
                "repetitions": 1,
            },
            "Use the rule 'aim'",
        ),
    ],
)
def test_what_cannot_be_searched_says_why(
    people: pl.DataFrame, options: dict[str, Any], message: str
) -> None:
    if options.get("rule") == "linear_program":
        people = pl.concat(
            [
                programme(1_500).with_columns(pl.col("visits") + i / 97)
                for i in range(12)
            ]
        )
    with pytest.raises(improvable.ImprovableError, match=message):
        audited(people, **options)


@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_candidates_meet_a_claim_of_lower_outcomes(form: str) -> None:
    """The selected must be less well, by a tenth; on the rows that the program learned
    from, they are.
    """
    coarse = programme(400).with_columns((pl.col("visits", "record") * 2).round(0) / 2)
    well = coarse.with_columns(
        well=(1 - pl.col("sick"))
        * pl.when(pl.int_range(pl.len()) % 2 == 0).then(1.0).otherwise(1.2)
    )
    asked: dict[str, Any] = {
        "outcome": "well",
        "accuracy": "calibration",
        "lower_is_better": True,
    }
    size: dict[str, Any] = {
        "delta_accuracy": 0.1 if form == "ratio" else 0.02,
        "form": form,
    }
    algorithm = refitted(well, rule="linear_program:fairest:nodes=1", **asked, **size)
    status_quo = improvable.threshold("score", capacity=0.25)
    found = flat_compare(
        well,
        group="group",
        status_quo=status_quo,
        candidate=algorithm,
        draws=200,
        **asked,
    ).to_dict()["repetitions"][0]
    for of in found["accuracy"].values():
        assert (
            of["candidate"]
            <= (0.9 * of["status_quo"] if form == "ratio" else of["status_quo"] - 0.02)
            + 1e-9
        )
    assert found["gap"]["candidate"] <= found["gap"]["status_quo"]
