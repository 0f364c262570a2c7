"""What drives a candidate, against a loop over features, in any order of rows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.algorithms.leakage import Column, read_column
from improvable.data.frame import read_rows
from improvable.procedure.importance import (
    SHUFFLES,
    accuracy_losses,
    correlations,
    drivers,
)
from improvable.procedure.prepare import prepare_audit
from improvable.question.settings import Settings
from improvable.report.blocks import Table
from improvable.report.labels import in_words
from improvable.report.people import drivers_of, driving_section
from improvable.results.formatting import value_text
from people import make_people

ASKED: dict[str, Any] = {
    "outcome": "visits",
    "group": "group",
    "status_quo": improvable.threshold("score", capacity=0.2),
    "rule": "linear",
    "features": ["signal", "small", "insured", "holes", "region"],
    "repetitions": 3,
    "draws": 200,
    "row_id": "person",
}


def test_the_share_is_that_of_a_loop_over_features() -> None:
    people = make_people(400)
    result = flat_audit(people, **ASKED)
    candidate = result.mixture(1)

    class Some:
        """As much of a sample as is read."""

        rows = read_rows(people)

        def __len__(self) -> int:
            return len(self.rows)

    keys = np.arange(400, dtype=np.uint64)[::-1].copy()
    seed = np.random.SeedSequence(3)
    found = drivers(candidate, Some(), ASKED["features"], keys, seed, "candidate")  # type: ignore[arg-type]
    ordered, shuffled = (
        people.reverse(),
        np.random.default_rng(np.random.SeedSequence(3)).permutation(400),
    )
    before = np.asarray(candidate.decide(ordered))
    for name in ASKED["features"]:
        moved = ordered.with_columns(
            pl.Series(
                name,
                [ordered[name][int(i)] for i in shuffled],
                dtype=ordered[name].dtype,
            )
        )
        after = np.asarray(candidate.decide(moved))
        assert found[name] == pytest.approx(
            float((after != before)[before != 0].mean())
        )


def test_what_decides_comes_first_and_noise_last_in_any_order_of_rows() -> None:
    people = make_people(1_500)
    result = flat_audit(people, **ASKED)
    found = drivers_of(result.facts)
    assert set(found) == set(ASKED["features"])
    assert next(iter(found)) in ("signal", "holes"), "the one is the other, rounded"
    assert list(found.values()) == sorted(found.values(), reverse=True)
    shuffled = people.sample(fraction=1.0, shuffle=True, seed=1)
    assert drivers_of(flat_audit(shuffled, **ASKED).facts) == found
    assert json.loads(json.dumps(found)) == found
    assert driving_section(result.facts)


def test_nothing_is_said_of_a_candidate_that_is_not_there() -> None:
    result = improvable.compare(
        make_people(500),
        outcome="visits",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.2),
        candidate=improvable.threshold("signal", capacity=0.2),
        test=improvable.Test(draws=100),
    )
    assert driving_section(result.facts) == []
    audit = flat_audit(make_people(500), **ASKED)
    repetitions = tuple(
        replace(repetition, notes={**repetition.notes, "drivers": {}})
        for repetition in audit.repetitions
    )
    assert driving_section(replace(audit, repetitions=repetitions).facts) == []


def test_libraries_and_engines_say_the_same(tmp_path: Path) -> None:
    people = make_people(900)

    def said(data: Any, **options: Any) -> tuple[Any, Any]:
        notes = flat_audit(data, **ASKED, **options).facts["repetitions"][0][
            "rule_notes"
        ]
        return notes["drivers"], notes["importance"]

    found = said(people)
    assert sum(found[0].values()) > 0
    assert found[1]
    people.write_parquet(tmp_path / "people.parquet")
    for same in (
        people.to_pandas(),
        people.to_arrow(),
        people.to_pandas().sample(frac=1.0, random_state=1),
    ):
        assert said(same) == found
    assert said(tmp_path / "people.parquet", engine="arrow") == found


# What features are worth, and how they go with the group.


def prepared(people: pl.DataFrame, **changes: Any) -> tuple[improvable.Audit, Any, Any]:
    """An audit, the design it was made with, and all its rows as a sample."""
    settings = Settings(**{**ASKED, **changes})
    ready = prepare_audit(people, settings)
    return (
        flat_audit(people, **{**ASKED, **changes}),
        ready.plan.design,
        ready.surveyed.reading.sample(read_rows(people)),
    )


def loop_of_losses(
    candidate: Any,
    people: pl.DataFrame,
    accuracy: Any,
    features: list[str],
    seed: np.random.SeedSequence,
) -> dict[str, float]:
    """Slow and obvious: one frame after the other with one column shuffled, and the
    accuracy by its definition.
    """
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(people)) for _ in range(SHUFFLES)]
    before = accuracy(people, np.asarray(candidate.decide(people)))
    out = {}
    for name in features:
        after = []
        for order in orders:
            values = [people[name][int(i)] for i in order]
            moved = people.with_columns(
                pl.Series(name, values, dtype=people[name].dtype)
            )
            after.append(accuracy(people, np.asarray(candidate.decide(moved))))
        out[name] = before - sum(after) / len(after)
    return out


def mean_visits(people: pl.DataFrame, decision: Any) -> float:
    weight = people["weight"].to_numpy() * decision
    return float((weight * people["visits"].to_numpy()).sum() / weight.sum())


def few_visits(people: pl.DataFrame, decision: Any) -> float:
    """Turned, since lower is better."""
    return -float(people["visits"].to_numpy()[decision == 1].mean())


@pytest.mark.parametrize(
    ("changes", "accuracy"),
    [
        ({"weight": "weight"}, mean_visits),
        ({"lower_is_better": True, "direction": "as stated"}, few_visits),
    ],
    ids=["weighted", "lower is better"],
)
def test_losses_are_those_of_a_loop_over_features_and_shuffles(
    changes: dict[str, Any], accuracy: Any
) -> None:
    people = make_people(400)
    result, design, sample = prepared(people, **changes)
    candidate = result.mixture(1)
    features = ["signal", "region", "holes"]
    found = accuracy_losses(
        candidate, design, sample, features, np.random.SeedSequence(8), "candidate"
    )
    slow = loop_of_losses(
        candidate, people, accuracy, features, np.random.SeedSequence(8)
    )
    assert found == pytest.approx(list(slow.values()), abs=1e-5)


def test_correlations_are_those_of_given_rows_and_none_of_words() -> None:
    people = make_people(400)
    _, _, sample = prepared(people)
    in_b = (people["group"] == "b").to_numpy()
    for name in ("signal", "insured", "holes"):
        values = people[name].cast(float).to_numpy()
        given = np.isfinite(values)
        told = correlations(read_column(sample.rows, name), sample)["group"]
        expected = np.corrcoef(values[given], in_b[given])[0, 1]
        assert told == {
            "a": pytest.approx(-expected, abs=1e-4),
            "b": pytest.approx(expected, abs=1e-4),
        }
    assert correlations(read_column(sample.rows, "region"), sample) == {
        "group": {"a": None, "b": None}
    }
    constant = Column("same", np.ones(400), ordered=True)
    assert correlations(constant, sample) == {"group": {"a": None, "b": None}}
    huge = Column("huge", people["signal"].to_numpy() * 1e200, ordered=True)
    assert correlations(huge, sample) == correlations(
        read_column(sample.rows, "signal"), sample
    )


def test_worth_is_in_the_json_the_report_and_a_kept_result(tmp_path: Path) -> None:
    people = make_people(1_500)
    result = flat_audit(
        people, **ASKED, labels={"signal": "the signal", "group": "side"}
    )
    worth = result.facts["repetitions"][0]["rule_notes"]["importance"]
    assert list(worth) == [
        name for name, share in drivers_of(result.facts).items() if share > 0
    ]
    assert max(one["accuracy_loss"] for one in worth.values()) > 0.05
    result.save(tmp_path / "run")
    kept = improvable.load(tmp_path / "run")
    assert kept.facts["repetitions"][0]["rule_notes"]["importance"] == worth
    facts = in_words(result.facts)
    table = next(block for block in driving_section(facts) if isinstance(block, Table))
    worse = facts["disparity"]["worse_off"]
    assert table.heads == (
        "Feature",
        "Decisions changed",
        "Accuracy lost",
        f"Correlation with {worse}",
        "Tells side (AUC)",
    )
    for (name, one), row in zip(worth.items(), table.rows, strict=True):
        correlation = one["correlation"]["group"][worse]
        assert row[0] == {"signal": "the signal"}.get(name, name)
        assert row[2] == value_text(one["accuracy_loss"])
        assert row[3] == ("none" if correlation is None else f"{correlation:.2f}")
        assert row[4], "a feature with a label has its AUC too"


def test_of_many_groups_the_largest_correlation_is_named() -> None:
    rng = np.random.default_rng(2)
    people = make_people(1_500)
    third = pl.Series(
        "group", np.where(rng.random(1_500) < 0.3, "c", people["group"].to_numpy())
    )
    facts = flat_audit(people.with_columns(third), **ASKED).facts
    table = next(block for block in driving_section(facts) if isinstance(block, Table))
    worth = facts["repetitions"][0]["rule_notes"]["importance"]
    assert "Largest correlation by group" in table.heads
    for name, row in zip(worth, table.rows, strict=True):
        found = worth[name]["correlation"]["group"]
        if found["a"] is None:
            assert row[3] == "none"
        else:
            group = max(found, key=lambda one: abs(found[one]))
            assert row[3] == f"{found[group]:.2f}, {group}"
