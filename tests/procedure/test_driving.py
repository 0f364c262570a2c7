"""What drives a candidate, against a loop over features, in any order of rows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from improvable.data.frames import read_rows
from improvable.procedure.driving import drivers
from improvable.report.driving import drivers_of, driving_section
from people import make_people

ASKED: dict[str, Any] = {
    "outcome": "visits", "group": "group", "status_quo": improvable.threshold("score", capacity=0.2), "rule": "linear",
    "features": ["signal", "small", "insured", "holes", "region"], "splits": 3, "draws": 200, "row_id": "person",
}  # fmt: skip


def test_the_share_is_that_of_a_loop_over_features() -> None:
    people = make_people(400)
    result = improvable.audit(people, **ASKED)
    candidate = result.mixture(1)

    class Some:
        """As much of a sample as is read."""

        rows = read_rows(people)

        def __len__(self) -> int:
            return len(self.rows)

    keys = np.arange(400, dtype=np.uint64)[::-1].copy()
    seed = np.random.SeedSequence(3)
    found = drivers(candidate, Some(), ASKED["features"], keys, seed, "candidate")  # type: ignore[arg-type]
    ordered, shuffled = people.reverse(), np.random.default_rng(np.random.SeedSequence(3)).permutation(400)
    before = np.asarray(candidate.decide(ordered))
    for name in ASKED["features"]:
        moved = ordered.with_columns(
            pl.Series(name, [ordered[name][int(i)] for i in shuffled], dtype=ordered[name].dtype)
        )
        after = np.asarray(candidate.decide(moved))
        assert found[name] == pytest.approx(float((after != before)[before != 0].mean()))


def test_what_decides_comes_first_and_noise_last_in_any_order_of_rows() -> None:
    people = make_people(1_500)
    result = improvable.audit(people, **ASKED)
    found = drivers_of(result.facts)
    assert set(found) == set(ASKED["features"])
    assert next(iter(found)) in ("signal", "holes"), "the one is the other, rounded"
    assert list(found.values()) == sorted(found.values(), reverse=True)
    shuffled = people.sample(fraction=1.0, shuffle=True, seed=1)
    assert drivers_of(improvable.audit(shuffled, **ASKED).facts) == found
    assert json.loads(json.dumps(found)) == found
    assert driving_section(result.facts)


def test_nothing_is_said_of_a_candidate_that_is_not_there() -> None:
    result = improvable.compare(
        make_people(500), outcome="visits", group="group", status_quo=improvable.threshold("score", capacity=0.2),
        candidate=improvable.threshold("signal", capacity=0.2), draws=100,
    )  # fmt: skip
    assert driving_section(result.facts) == []
    audit = improvable.audit(make_people(500), **ASKED)
    splits = tuple(replace(split, notes={**split.notes, "drivers": {}}) for split in audit.splits)
    assert driving_section(replace(audit, splits=splits).facts) == []


def test_libraries_and_engines_say_the_same(tmp_path: Path) -> None:
    people = make_people(900)
    found = drivers_of(improvable.audit(people, **ASKED).facts)
    assert sum(found.values()) > 0
    people.write_parquet(tmp_path / "people.parquet")
    for same in (people.to_pandas(), people.to_arrow(), people.to_pandas().sample(frac=1.0, random_state=1)):
        assert drivers_of(improvable.audit(same, **ASKED).facts) == found
    assert drivers_of(improvable.audit(tmp_path / "people.parquet", engine="arrow", **ASKED).facts) == found
