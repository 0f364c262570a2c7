"""Cross-fitted audits: the same bytes everywhere, resumed or not; and folds in which the rule finds nothing new."""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from joblib import parallel_config

import improvable
from improvable.algorithms.rules.base import Selection
from improvable.cli import run
from improvable.data.engines.memory import Memory
from improvable.data.frames import read_rows
from improvable.procedure.preparing import prepare_audit
from improvable.procedure.splitting import Part
from improvable.question.settings import Settings
from people import audited, make_people, write_folder

FOLDS: dict[str, Any] = {"folds": 2, "weight": "weight", "cluster": "clinic"}


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=seed)


def test_engines_workers_and_order_change_no_bit(tmp_path: Path) -> None:
    people = make_people(1_500)
    whole = audited(people, **FOLDS)
    assert audited(shuffled(people, 1), n_jobs=2, **FOLDS) == whole
    assert audited(Memory(read_rows(shuffled(people, 4)), 2, 97), **FOLDS) == whole
    assert audited(write_folder(people, tmp_path / "f", [400, 400]), n_jobs=2, **FOLDS) == whole
    with parallel_config(backend="loky"):
        assert audited(people, n_jobs=2, **FOLDS) == whole


COMMAND = [
    "audit",
    "people.csv",
    "--outcome",
    "visits",
    "--group",
    "group",
    "--score",
    "score",
    "--capacity",
    "0.2",
    "--rule",
    "linear",
    "--row-id",
    "person",
    "--features",
    "signal,small",
    "--repetitions",
    "9",
    "--draws",
    "20000",
    "--folds",
    "2",
    "--json",
    "out.json",
    "--jobs",
    "1",
]


def test_killed_and_resumed_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_people(3_000).write_csv("people.csv")
    assert run([*COMMAND, "--out", "whole"]) == 0
    whole, said = contents(tmp_path / "whole"), (tmp_path / "out.json").read_bytes()
    program = [sys.executable, "-c", "import sys; from improvable.cli import main; main(sys.argv[1:])"]
    for wanted in (1, 4):
        place = tmp_path / f"killed-{wanted}"
        process = subprocess.Popen([*program, *COMMAND, "--out", place.name], stdout=subprocess.DEVNULL)
        while process.poll() is None and len(list(place.glob("repetition-*.npz"))) < wanted:
            time.sleep(0.005)
        process.kill()
        process.wait()
        assert len(list(place.glob("repetition-*.npz"))) < 9
        assert run([*COMMAND, "--out", place.name]) == 0
        left = {name: found for name, found in contents(place).items() if not name.endswith(".partial")}
        assert left == whole
        assert (tmp_path / "out.json").read_bytes() == said


def contents(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


@dataclass(frozen=True)
class Partial:
    """Finds `signal` above a cutoff, and in folds whose training rows have the first person, something else."""

    otherwise: str
    name: str = "partial"

    def select(self, training: Any, status_quo: Any) -> Any:
        has_first = float(training.rows.read_numbers("first").max()) == 1
        if self.otherwise == "nothing" or (has_first and self.otherwise == "nothing in one fold"):
            return Selection(None)
        return status_quo if has_first else improvable.threshold("signal", above=2.0)


def partly(otherwise: str) -> tuple[improvable.Audit, pl.DataFrame, dict[int, int]]:
    people = make_people(900).with_columns(first=(pl.int_range(900) == 0).cast(pl.Int8))
    asked: dict[str, Any] = {
        "outcome": "visits", "group": "group", "row_id": "person", "rule": Partial(otherwise), "folds": 2, "repetitions": 3,
        "draws": 400, "features": ["signal", "first"], "status_quo": improvable.threshold("score", above=2.0),
    }  # fmt: skip
    ready = prepare_audit(people, Settings(**asked))
    first = read_rows(people[:1])
    units = ready.splitting.units(ready.surveyed.reading.sample(first))
    tested_in = {}
    for repetition in (1, 2, 3):
        parts = [Part(repetition, fold) for fold in range(2)]
        tested_in[repetition] = next(
            part.fold for part in parts if ready.splitting.tests(ready.splitting.places(units, part), part)[0]
        )
    return improvable.audit(people, **asked), people, tested_in


@pytest.mark.parametrize("otherwise", ["status quo in one fold", "nothing in one fold"])
def test_one_fold_whose_candidate_is_the_status_quo(otherwise: str) -> None:
    """Its rows count as they are: the other fold's candidate alone moves the pooled sums."""
    result, people, tested_in = partly(otherwise)
    asked = Settings(outcome="visits", group="group", row_id="person", rule="linear", folds=2, repetitions=3, draws=400,
                     features=["signal"], status_quo=improvable.threshold("score", above=2.0))  # fmt: skip
    ready = prepare_audit(people, asked)
    sample = ready.surveyed.reading.sample(read_rows(people))
    before = (people["score"] > 2.0).to_numpy()
    for one in result.repetitions:
        # The candidate of the fold that tests the first person did not learn from it; the other one did.
        own = Part(one.repetition, tested_in[one.repetition])
        moved = ready.splitting.tests(ready.splitting.places(ready.splitting.units(sample), own), own)
        after = np.where(moved, (people["signal"] > 2.0).to_numpy(), before)
        for g, group in enumerate(one.groups):
            mine = (people["group"] == group).to_numpy()
            for t, decision in enumerate((before, after)):
                chosen = decision & mine
                expected = float(people["visits"].to_numpy()[chosen].sum()), float(chosen.sum())
                np.testing.assert_allclose(one.evidence.sums[g, 0, t], expected)
        assert 0 < max(one.assessment.p_accuracy.values()) < 1
    said = " ".join(result.warnings)
    assert ("found no candidate in fold" in said) == (otherwise == "nothing in one fold")
    assert ("repetition" in said) == (otherwise == "nothing in one fold")
    assert "decide alike" not in said


def test_a_rule_that_finds_nothing_in_any_fold_proves_nothing() -> None:
    result, *_ = partly("nothing")
    assert result.p_value == 1
    assert not result.reject
    assert "found no candidate, so p is 1" in " ".join(result.warnings)


def test_words_of_an_audit_in_folds_speak_of_repetitions(tmp_path: Path) -> None:
    result, *_ = partly("status quo in one fold")
    result.report(tmp_path / "report.md")
    for text in (result.summary(), (tmp_path / "report.md").read_text()):
        words = " ".join(text.split())
        assert "repetition" in words.lower()
        assert "repetition" not in words.lower().replace("the paper's split", "").replace("--export-repetitions", "")
    assert "the even mixture of what the rule found for the 2 folds" in " ".join(result.summary().split())
