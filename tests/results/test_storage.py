"""Results that are kept, and runs that survive: killed, resumed, refused, damaged, out
of space.
"""

import errno
import json
import shutil
import time
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import improvable
from flat import flat_audit
from improvable.cli import run
from improvable.results import storage

REPETITIONS, DRAWS = 6, 2_000
COMMAND = (
    "audit patients.csv --outcome gagne_sum_t --group race --score risk_score_t "
    "--capacity 0.1 --rule linear --features gagne_sum_tm1,cost_*_tm1 --repetitions "
    f"{REPETITIONS} --draws {DRAWS} --cluster clinic --json out.json"
).split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    people = improvable.datasets.care_management(3_000, seed=2)
    rng = np.random.default_rng(0)
    people.with_columns(clinic=rng.integers(0, 200, len(people))).write_csv(
        place / "patients.csv"
    )
    return place


def contents(place: Path) -> dict[str, bytes]:
    """All files but that which names the command and the line of the ledger: a resumed
    run has others.
    """
    return {
        path.name: path.read_bytes()
        for path in sorted(place.iterdir())
        if path.name != storage.PROVENANCE
    }


@pytest.fixture(scope="module")
def uninterrupted(folder: Path) -> dict[str, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run([*COMMAND, "--out", "whole"]) == 0
        shutil.copy("out.json", "whole.json")
    return contents(folder / "whole")


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Processes that find imported what an audit needs: most of a short one's time."""
    context = get_context("forkserver")
    context.set_forkserver_preload(
        [
            "improvable.cli.audit",
            "improvable.procedure.run",
            "sklearn.ensemble",
            "skrub",
        ]
    )
    return context


@pytest.mark.parametrize("lot", range(2))
def test_killed_at_random_moments_and_resumed_gives_the_same_bytes(
    folder: Path,
    uninterrupted: dict[str, bytes],
    processes: ForkServerContext,
    monkeypatch: pytest.MonkeyPatch,
    lot: int,
) -> None:
    monkeypatch.chdir(folder)
    rng = np.random.default_rng(lot)
    part_way = 0
    for i in range(5):
        place = folder / f"killed-{lot}-{i}"
        process = processes.Process(target=run, args=([*COMMAND, "--out", place.name],))
        process.start()
        wanted = int(rng.integers(0, REPETITIONS))
        while process.exitcode is None and not (
            place.exists() and len(list(place.glob("repetition-*.npz"))) >= wanted
        ):
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.join()
        part_way += 0 < len(list(place.glob("repetition-*.npz"))) < REPETITIONS
        assert run([*COMMAND, "--out", place.name]) == 0
        left = {
            name: bytes_
            for name, bytes_ in contents(place).items()
            if not name.endswith(".partial")
        }
        assert left == uninterrupted
        assert (folder / "out.json").read_bytes() == (
            folder / "whole.json"
        ).read_bytes()
        shutil.rmtree(place)
    assert part_way >= 1


def test_finished_repetitions_are_not_run_again(
    folder: Path, uninterrupted: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    shutil.copytree("whole", "again", dirs_exist_ok=True)
    (folder / "again" / "repetition-005.npz").unlink()
    ran: list[int] = []
    real = storage.write_repetition

    def remember(result: improvable.Comparison, place: Path, run: str) -> None:
        ran.append(result.repetition)
        real(result, place, run)

    monkeypatch.setattr(storage, "write_repetition", remember)
    assert run([*COMMAND, "--out", "again"]) == 0
    assert ran == [5]
    assert contents(folder / "again") == uninterrupted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--seed", "1"], "belongs to another audit: seed differ"),
        (["--rule", "lasso"], "rule differ"),
        (["--delta-fairness", "0.1"], "delta_fairness differ"),
        (["--exclude", "gagne_sum_tm1"], "exclude differ"),
    ],
)
def test_a_folder_of_another_audit_is_refused(
    folder: Path,
    uninterrupted: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    assert run([*COMMAND, *change, "--out", "whole"]) == 2
    assert message in capsys.readouterr().err
    assert contents(folder / "whole") == uninterrupted


def test_other_data_are_another_audit(
    folder: Path,
    uninterrupted: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    lines = (folder / "patients.csv").read_text().splitlines()
    (folder / "other.csv").write_text("\n".join([lines[0], lines[2], *lines[2:]]))
    assert run(["audit", "other.csv", *COMMAND[2:], "--out", "whole"]) == 2
    assert "data differ" in capsys.readouterr().err
    assert contents(folder / "whole") == uninterrupted


def test_a_folder_that_is_no_run_folder_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "thesis.txt").write_text("do not lose")
    assert run([*COMMAND, "--out", "mine"]) == 2
    assert "not empty and not a run folder" in capsys.readouterr().err
    assert contents(folder / "mine") == {"thesis.txt": b"do not lose"}


def test_a_run_that_was_killed_while_writing_its_first_file_starts_again(
    folder: Path, uninterrupted: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "early").mkdir()
    (folder / "early" / ".run.json.0123456789abcdef.partial").write_bytes(b"{")
    assert run([*COMMAND, "--out", "early"]) == 0
    assert {
        name: found
        for name, found in contents(folder / "early").items()
        if not name.endswith(".partial")
    } == uninterrupted


def copy_of(folder: Path, name: str) -> Path:
    return Path(shutil.copytree(folder / "whole", folder / name))


def test_half_a_file_names_itself_and_nothing_is_lost(
    folder: Path,
    uninterrupted: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    place = copy_of(folder, "half")
    broken = place / "repetition-003.npz"
    broken.write_bytes(broken.read_bytes()[:500])
    before = contents(place)
    assert run([*COMMAND, "--out", "half"]) == 2
    err = capsys.readouterr().err
    assert (
        "repetition-003.npz' is damaged. Delete it and run the same audit again" in err
    )
    assert contents(place) == before
    broken.unlink()
    assert run([*COMMAND, "--out", "half"]) == 0
    assert contents(place) == uninterrupted


def test_a_folder_of_another_version_is_refused(
    folder: Path,
    uninterrupted: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    place = copy_of(folder, "older")
    plain = json.loads((place / "run.json").read_text())
    (place / "run.json").write_text(json.dumps({**plain, "version": "0.0.1"}))
    assert run([*COMMAND, "--out", "older"]) == 2
    assert "begun by version 0.0.1" in capsys.readouterr().err
    (place / "run.json").write_text(json.dumps({**plain, "format": 99}))
    assert run([*COMMAND, "--out", "older"]) == 2
    assert "has format 99" in capsys.readouterr().err


def test_a_full_disk_loses_nothing_that_was_finished(
    folder: Path,
    uninterrupted: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    real = Path.open

    def full(path: Path, *arguments: Any, **options: Any) -> Any:
        if "repetition-004" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        assert run([*COMMAND, "--out", "full"]) == 2
    err = capsys.readouterr().err
    assert (
        "repetition-004.npz': No space left on device. What was finished before is kept"
        in err
    )
    assert len(err.splitlines()) == 1
    kept = contents(folder / "full")
    assert {
        "run.json",
        "repetition-001.npz",
        "repetition-002.npz",
        "repetition-003.npz",
    } == set(kept)
    assert run([*COMMAND, "--out", "full"]) == 0
    assert contents(folder / "full") == uninterrupted


def test_a_loaded_audit_answers_new_questions_without_data(
    folder: Path, uninterrupted: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    loaded = improvable.load(folder / "whole")
    assert isinstance(loaded, improvable.Audit)
    assert json.dumps(loaded.to_dict()) == json.dumps(
        json.loads((folder / "whole.json").read_text())
    )
    options: dict[str, Any] = {
        "delta_accuracy": 0.05,
        "delta_fairness": 0.2,
        "gap": "absolute",
        "alpha": 0.1,
    }
    fresh = flat_audit(
        "patients.csv",
        outcome="gagne_sum_t",
        group="race",
        rule="linear",
        cluster="clinic",
        repetitions=REPETITIONS,
        draws=DRAWS,
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        features=["gagne_sum_tm1", "cost_*_tm1"],
        **options,
    )
    asked = loaded.with_claim(**options)
    assert asked.p_value == fresh.p_value
    assert [s["components"] for s in asked.to_dict()["repetitions"]] == [
        s["components"] for s in fresh.to_dict()["repetitions"]
    ]
    worse_off = asked.to_dict()["disparity"]["worse_off"]
    assert (
        asked.with_claim(
            protected=worse_off, overall="population", form="difference"
        ).p_value
        <= 1
    )
    with pytest.raises(improvable.OptionError, match="no data to fit on"):
        loaded.refit()
    with pytest.raises(
        improvable.OptionError, match="'draws' cannot be changed without the data"
    ):
        loaded.with_claim(draws=5)
    with pytest.raises(improvable.OptionError, match="'green' is not a group"):
        loaded.with_claim(protected="green")


def test_results_saved_and_loaded_are_the_same(folder: Path, tmp_path: Path) -> None:
    result = improvable.compare(
        folder / "patients.csv",
        outcome="gagne_sum_t",
        group=["race", "dem_female"],
        test=improvable.Test(draws=300),
        status_quo=improvable.threshold("risk_score_t", capacity=0.2),
        accuracy=["calibration", "selection_rate"],
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.2),
        claim=improvable.Claim(delta_fairness=0.1),
    )
    result.save(str(tmp_path / "kept"))
    loaded = improvable.load(tmp_path / "kept")
    assert isinstance(loaded, improvable.Comparison)
    assert loaded.to_dict() == result.to_dict()
    assert loaded.summary() == result.summary()
    np.testing.assert_array_equal(loaded.evidence.draws, result.evidence.draws)
    with pytest.raises(improvable.StorageError, match="already there and not empty"):
        result.save(str(tmp_path / "kept"))
    with np.load(tmp_path / "kept" / "repetition-000.npz", allow_pickle=False) as file:
        arrays = {
            "chain",
            "sums",
            "draws",
            "training",
            "members",
            "rows",
            "weight",
            "selected",
            "meta",
        }
        assert set(file.files) == arrays


def test_an_audit_can_be_saved_without_a_run_folder(
    folder: Path, tmp_path: Path
) -> None:
    result = improvable.audit(
        folder / "patients.csv",
        outcome="gagne_sum_t",
        group="race",
        rule="linear",
        test=improvable.Test(repetitions=2, draws=200),
        status_quo=improvable.threshold("risk_score_t", capacity=0.2),
        features=["gagne_sum_tm1"],
    )
    result.save(tmp_path / "kept")
    assert improvable.load(tmp_path / "kept").to_dict() == result.to_dict()


def test_what_is_no_result_or_not_finished_says_so(
    folder: Path, uninterrupted: dict[str, bytes], tmp_path: Path
) -> None:
    with pytest.raises(improvable.StorageError, match="holds no result"):
        improvable.load(tmp_path)
    place = copy_of(folder, "unfinished")
    (place / "result.json").unlink()
    with pytest.raises(
        improvable.StorageError,
        match=f"has not ended: {REPETITIONS} repetitions are done",
    ):
        improvable.load(place)
    (place / "result.json").write_text("{")
    with pytest.raises(improvable.StorageError, match="cannot be read"):
        improvable.load(place)


class TestWhatARunIs:
    """A folder belongs to one audit: objects and functions count as what they do, not
    by their names.
    """

    def audited(self, folder: Path, **changes: Any) -> improvable.Audit:
        people = improvable.datasets.care_management(2_000, seed=3)
        options: dict[str, Any] = {
            "outcome": "gagne_sum_t",
            "group": ["race", "dem_female"],
            "features": ["gagne_sum_tm1"],
            "rule": "linear",
            "status_quo": improvable.threshold("risk_score_t", capacity=0.2),
            "repetitions": 2,
            "draws": 200,
            "run_folder": folder,
        }
        return flat_audit(people, **options | changes)

    @pytest.mark.parametrize(
        ("first", "then"),
        [
            (
                {"rule": RandomForestRegressor(2, max_depth=1)},
                {"rule": RandomForestRegressor(5)},
            ),
            ({"min_group": 5}, {"min_group": 6}),
            (
                {"status_quo": lambda rows: rows["risk_score_t"] > 3, "capacity": 0.2},
                {"status_quo": lambda rows: rows["risk_score_t"] > 6, "capacity": 0.2},
            ),
        ],
    )
    def test_another_one_is_refused(
        self, tmp_path: Path, first: dict[str, Any], then: dict[str, Any]
    ) -> None:
        for _ in range(2):
            self.audited(tmp_path / "run", **first)
        with pytest.raises(improvable.StorageError, match="belongs to another audit"):
            self.audited(tmp_path / "run", **then)

    def test_a_repetition_of_another_seed_is_refused(self, tmp_path: Path) -> None:
        self.audited(tmp_path / "one")
        self.audited(tmp_path / "two", seed=5)
        (tmp_path / "one" / "result.json").unlink()
        (tmp_path / "two" / "repetition-002.npz").rename(
            tmp_path / "one" / "repetition-002.npz"
        )
        with pytest.raises(
            improvable.StorageError, match="is a repetition of another run"
        ):
            self.audited(tmp_path / "one")
