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
from improvable.data.frame import read_rows
from improvable.procedure.drivers import find_drivers
from improvable.report.blocks import Table
from improvable.report.labels import in_words
from improvable.report.people import drivers_of, driving_section
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
    found = find_drivers(candidate, Some(), ASKED["features"], keys, seed, "candidate")  # type: ignore[arg-type]
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

    def said(data: Any, **options: Any) -> dict[str, float]:
        return drivers_of(flat_audit(data, **ASKED, **options).facts)

    found = said(people)
    assert sum(found.values()) > 0
    people.write_parquet(tmp_path / "people.parquet")
    for same in (
        people.to_pandas(),
        people.to_arrow(),
        people.to_pandas().sample(frac=1.0, random_state=1),
    ):
        assert said(same) == found
    assert said(tmp_path / "people.parquet", engine="arrow") == found


def test_a_feature_with_a_label_has_its_auc_in_the_report() -> None:
    people = make_people(1_500)
    result = flat_audit(
        people, **ASKED, labels={"signal": "the signal", "group": "side"}
    )
    facts = in_words(result.facts)
    table = next(block for block in driving_section(facts) if isinstance(block, Table))
    assert table.heads == ("Feature", "Decisions changed", "Tells side (AUC)")
    changing = [(n, share) for n, share in drivers_of(facts).items() if share > 0]
    for (name, share), row in zip(changing, table.rows, strict=True):
        assert row[0] == {"signal": "the signal"}.get(name, name)
        assert row[1] == f"{share:.1%}"
        assert row[2]
