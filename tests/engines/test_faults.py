"""Workers that die, a driver that is killed, damaged files: the same result, or one
line that says why not.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows
from people import audited, compared, make_people, write_folder


def dying_score(marker: Path) -> Callable[[Any], Any]:
    """A score that kills the first worker process to compute it; on the driver it only
    computes.
    """
    driver, place = os.getpid(), str(marker)

    def score(frame: Any) -> Any:
        import os
        import signal

        if os.getpid() != driver:
            try:
                os.close(os.open(place, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return frame["score"]

    return score


def scored(data: Any, score: Callable[[Any], Any]) -> str:
    result = improvable.audit(
        data,
        outcome="visits",
        group="group",
        status_quo=improvable.threshold(score, capacity=0.2),
        rule="linear",
        features=["signal", "small"],
        test=improvable.Test(repetitions=2, draws=200, train_rows=500),
        row_id="person",
    )
    return str(result.to_dict()) + str(
        [repetition.evidence.draws.tobytes() for repetition in result.repetitions]
    )


def test_a_dask_worker_killed_in_the_middle(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    from distributed import Client, LocalCluster

    marker = tmp_path / "killed"
    undisturbed = scored(Memory(read_rows(people), 1), dying_score(marker))
    assert not marker.exists()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster),
    ):
        frame = dd.from_pandas(people.to_pandas(), npartitions=6)
        assert scored(frame, dying_score(marker)) == undisturbed
    assert marker.exists()


def test_a_spark_worker_killed_in_the_middle(
    people: pl.DataFrame, spark: Any, tmp_path: Path
) -> None:
    marker = tmp_path / "killed"
    undisturbed = scored(Memory(read_rows(people), 1), dying_score(marker))
    frame = spark.createDataFrame(people.to_arrow()).repartition(2)
    assert scored(frame, dying_score(marker)) == undisturbed
    assert marker.exists()


LINE = (
    "audit people --outcome visits --group group --score score --capacity 0.2 --rule "
    "linear --features signal,small --repetitions 3 --draws 300 --row-id person "
    "--train-rows 500 --json out.json"
)
COMMAND = LINE.split()
DYING = """
import os, signal, sys
from improvable.cli import main
from improvable.results import storage
write = storage.write_repetition
def write_and_die(*arguments):
    write(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
storage.write_repetition = write_and_die
main(sys.argv[1:])
"""


def bytes_of(folder: str) -> dict[str, bytes]:
    """Every file of a run but its provenance, which names the command and the line of
    the ledger.
    """
    return {
        path.name: path.read_bytes()
        for path in Path(folder).iterdir()
        if path.name != "provenance.json"
    }


def test_a_killed_driver_resumes_at_its_last_repetition_to_the_same_bytes(
    people: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from improvable.cli import run

    monkeypatch.chdir(tmp_path)
    write_folder(people, tmp_path / "people", [900, 900])
    assert run([*COMMAND, "--out", "whole"]) == 0
    whole = bytes_of("whole")
    assert sorted(whole) == [
        *(f"repetition-00{k}.npz" for k in (1, 2, 3)),
        "result.json",
        "run.json",
    ]
    document = Path("out.json").read_bytes()
    killed = subprocess.run(
        [sys.executable, "-c", DYING, *COMMAND, "--out", "killed"], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert sorted(bytes_of("killed")) == ["repetition-001.npz", "run.json"]
    first = Path("killed/repetition-001.npz").stat()
    assert run([*COMMAND, "--out", "killed"]) == 0
    assert Path("killed/repetition-001.npz").stat() == first, "it is not done again"
    assert bytes_of("killed") == whole
    assert Path("out.json").read_bytes() == document


def test_another_audit_in_the_same_folder_is_refused(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    audited(people, engine="memory", run_folder=tmp_path / "run")
    with pytest.raises(
        improvable.StorageError, match="belongs to another audit: train_rows differ"
    ):
        audited(people, engine="memory", run_folder=tmp_path / "run", train_rows=800)
    with pytest.raises(
        improvable.StorageError, match="belongs to another audit: data differ"
    ):
        audited(people[1:], engine="memory", run_folder=tmp_path / "run")


def test_a_corrupt_file_names_itself(people: pl.DataFrame, tmp_path: Path) -> None:
    folder = write_folder(people, tmp_path / "f", [900, 900])
    broken = folder / "part-1.parquet"
    content = bytearray(broken.read_bytes())
    content[200:6_000] = bytes(5_800)
    broken.write_bytes(content)
    for engine in ("arrow", "dask", "spark"):
        with pytest.raises(
            improvable.DataError, match=r"part-1\.parquet' cannot be read"
        ):
            audited(folder, engine=engine)
    broken.write_bytes(b"PAR1 and nothing else")
    for engine in ("arrow", "dask", "spark"):
        with pytest.raises(
            improvable.DataError, match=r"part-1\.parquet' cannot be read"
        ):
            audited(folder, engine=engine)


def test_columns_of_different_kinds_name_file_and_column(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    folder = write_folder(people, tmp_path / "f", [900])
    people[:9].with_columns(pl.col("signal").cast(pl.String)).write_parquet(
        folder / "part-9.parquet"
    )
    with pytest.raises(
        improvable.DataError,
        match=r"column 'signal' is large_string in '.*part-9.parquet' and double",
    ):
        audited(folder)
    people[:9].drop("signal").write_parquet(folder / "part-9.parquet")
    with pytest.raises(
        improvable.DataError,
        match=r"part-9.parquet' has no column 'signal', which '.*part-0",
    ):
        audited(folder)


def test_partitions_without_rows(
    people: pl.DataFrame, spark: Any, tmp_path: Path
) -> None:
    whole = compared(people)
    frame = dd.from_pandas(people.to_pandas(), npartitions=4)
    assert compared(dd.concat([frame, frame[frame["visits"] > 99]])) == whole
    rows = spark.createDataFrame(people.to_arrow())
    assert compared(rows.union(rows.filter("visits > 99"))) == whole
    with pytest.raises(improvable.DataError, match="columns and no rows"):
        compared(frame[frame["visits"] > 99])


ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown engine": (
        {"engine": "sparkle"},
        "`engine` is 'sparkle'. Did you mean 'spark'",
    ),
    "unknown row id": (
        {"row_id": "persn"},
        "there is no column 'persn'. Did you mean 'person'",
    ),
    "unknown feature": ({"features": ["signl"]}, "there is no column 'signl'"),
    "few training rows": ({"train_rows": 3}, "`train_rows` is 3"),
    "unknown method": ({"method": "jackknife"}, "`method` is 'jackknife'"),
    "holes": ({"target": "holes"}, "missing or infinite values: "),
    "too many groups": ({"group": "person"}, "levels"),
    "few rows": (
        {"scheme": "split", "train_fraction": 0.999},
        "for testing. Each needs at least 20",
    ),
    "relations only": ({"engine": "duckdb"}, "engine 'duckdb' reads relations"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_input_is_one_line(people: pl.DataFrame, name: str) -> None:
    options, message = ERRORS[name]
    settings = {
        "outcome": "visits",
        "group": "group",
        "engine": "memory",
        "row_id": "person",
        "train_rows": 900,
    }
    with pytest.raises(improvable.ImprovableError) as caught:
        flat_audit(
            people,
            status_quo=improvable.threshold("score", capacity=0.2),
            rule="linear",
            draws=100,
            **{**settings, **options},
        )
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_inside_workers_are_their_own(people: pl.DataFrame, spark: Any) -> None:
    bad = people.with_columns(visits=pl.lit("many"))
    for data in (
        dd.from_pandas(bad.to_pandas(), npartitions=3),
        spark.createDataFrame(bad[:20].to_arrow()),
    ):
        with pytest.raises(
            improvable.DataError, match="column 'visits' holds text such as 'many'"
        ):
            compared(data)


def test_a_frame_of_one_engine_is_not_for_another(people: pl.DataFrame) -> None:
    frame = dd.from_pandas(people.to_pandas(), npartitions=2)
    with pytest.raises(
        improvable.OptionError,
        match="engine 'spark' cannot read these data, which are for 'dask'",
    ):
        audited(frame, engine="spark")


def test_a_function_that_looks_at_other_rows_is_refused(people: pl.DataFrame) -> None:
    with pytest.raises(
        improvable.AlgorithmError,
        match="the status quo decides otherwise for the same rows",
    ):
        scored(
            Memory(read_rows(people), 1),
            lambda frame: frame["score"].rank() / len(frame),
        )


def test_candidates_too_heavy_to_send(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("improvable.procedure.candidate_size.MAX_BYTES", 1 << 20)
    audited(people, engine="arrow")
    audited(people, engine="memory", rule="forest", repetitions=1)
    with pytest.raises(
        improvable.RuleError,
        match=r"'forest' makes candidates of .*`test=Test.train_rows=\d+.`",
    ):
        audited(people, engine="arrow", rule="forest", repetitions=1)


def test_an_engine_that_is_not_installed(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for engine, package in (
        ("arrow", "pyarrow"),
        ("dask", "dask"),
        ("spark", "pyspark"),
    ):
        with pytest.raises(
            improvable.OptionError,
            match=rf"needs {package}.* pip install 'path/to/the/clone\[{engine}\]'",
        ):
            audited(people, engine=engine)


def test_no_java_for_spark(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(
        improvable.OptionError,
        match=r"Spark needs Java, and there is none. Install a Java runtime",
    ):
        audited(people, engine="spark")


def test_too_many_levels_over_all_batches() -> None:
    people = make_people(800).with_columns(
        group=(pl.int_range(800) // 10).cast(pl.String)
    )
    for data in (
        Memory(read_rows(people), 1, 100),
        dd.from_pandas(people.to_pandas(), npartitions=8),
    ):
        with pytest.raises(
            improvable.DataError, match="a group column has more than 50 levels"
        ):
            audited(data)
