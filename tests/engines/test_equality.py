"""The same rows through any engine, in any order, partition and batch, give the same
bits.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest

import improvable
from flat import flat_compare
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows
from people import audited, compared, write_folder

Work = Callable[..., str]
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weights and clusters": {"weight": "weight", "cluster": "clinic"},
    "normal limit": {"method": "delta", "weight": "weight"},
}
SPLIT: dict[str, Any] = {"scheme": "split", "weight": "weight", "cluster": "clinic"}
SEALED: dict[str, Any] = {
    "challenge": "round 4411",
    "weight": "weight",
    "cluster": "clinic",
}


@pytest.fixture(scope="module")
def oracle(people: pl.DataFrame) -> dict[str, str]:
    """What the engine of rows in memory says, in one batch."""
    return {
        f"{name} {work.__name__}": work(people, engine="memory", **options)
        for name, options in OPTIONS.items()
        for work in (audited, compared)
    }


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=seed)


@pytest.mark.parametrize("work", [audited, compared])
@pytest.mark.parametrize("name", OPTIONS)
class TestEveryEngine:
    def test_memory_in_small_batches_and_threads(
        self, people: pl.DataFrame, oracle: dict[str, str], name: str, work: Work
    ) -> None:
        for size, workers in ((97, 1), (1_024, 2)):
            engine = Memory(read_rows(shuffled(people, size)), workers, size)
            assert work(engine, **OPTIONS[name]) == oracle[f"{name} {work.__name__}"]

    def test_a_folder_of_parquet(
        self,
        people: pl.DataFrame,
        oracle: dict[str, str],
        name: str,
        work: Work,
        tmp_path: Path,
    ) -> None:
        folder = write_folder(
            people, tmp_path / "f", {"plain": [1_500]}.get(name, [0, 500, 1, 800])
        )
        assert work(folder, **OPTIONS[name]) == oracle[f"{name} {work.__name__}"]

    def test_dask(
        self, people: pl.DataFrame, oracle: dict[str, str], name: str, work: Work
    ) -> None:
        parts = {"plain": 1}.get(name, 7)
        frame = dd.from_pandas(shuffled(people, parts).to_pandas(), npartitions=parts)
        assert work(frame, **OPTIONS[name]) == oracle[f"{name} {work.__name__}"]

    def test_duckdb(
        self, people: pl.DataFrame, oracle: dict[str, str], name: str, work: Work
    ) -> None:
        relation = duckdb.from_arrow(shuffled(people, 5).to_arrow())
        assert work(relation, **OPTIONS[name]) == oracle[f"{name} {work.__name__}"]


@pytest.mark.parametrize(
    ("name", "work"),
    [("plain", audited), ("weights and clusters", audited), ("normal limit", compared)],
)
def test_spark(
    people: pl.DataFrame, oracle: dict[str, str], spark: Any, name: str, work: Work
) -> None:
    frame = spark.createDataFrame(shuffled(people, 8).to_arrow()).repartition(3)
    assert work(frame, **OPTIONS[name]) == oracle[f"{name} {work.__name__}"]


@pytest.mark.parametrize("name", OPTIONS)
def test_a_frame_is_rows_in_memory(
    people: pl.DataFrame, oracle: dict[str, str], name: str
) -> None:
    frames = {
        "plain": people,
        "weights and clusters": shuffled(people, 4).to_pandas(),
        "normal limit": shuffled(people, 5).to_arrow(),
    }
    for frame in frames.values():
        assert compared(frame, **OPTIONS[name]) == oracle[f"{name} compared"]
    assert audited(frames[name], **OPTIONS[name]) == oracle[f"{name} audited"]


def test_sealed_audits_give_the_same_bytes_everywhere(
    people: pl.DataFrame, spark: Any, tmp_path: Path
) -> None:
    whole = audited(people, **SEALED)
    assert '"seed": 0,' not in whole
    assert audited(shuffled(people, 1).to_pandas(), **SEALED) == whole
    assert audited(write_folder(people, tmp_path / "f", [700, 700]), **SEALED) == whole
    assert (
        audited(
            dd.from_pandas(shuffled(people, 2).to_pandas(), npartitions=4), **SEALED
        )
        == whole
    )
    assert audited(duckdb.from_arrow(shuffled(people, 3).to_arrow()), **SEALED) == whole
    assert (
        audited(
            spark.createDataFrame(shuffled(people, 8).to_arrow()).repartition(3),
            **SEALED,
        )
        == whole
    )


def test_splits_give_the_same_bytes_everywhere(
    people: pl.DataFrame, spark: Any, tmp_path: Path
) -> None:
    whole = audited(people, **SPLIT)
    assert whole != audited(people, weight="weight", cluster="clinic")
    assert (
        audited(Memory(read_rows(shuffled(people, 4)), 2, 97), n_jobs=2, **SPLIT)
        == whole
    )
    assert audited(write_folder(people, tmp_path / "f", [700, 700]), **SPLIT) == whole
    assert (
        audited(dd.from_pandas(shuffled(people, 2).to_pandas(), npartitions=4), **SPLIT)
        == whole
    )
    assert audited(duckdb.from_arrow(shuffled(people, 3).to_arrow()), **SPLIT) == whole
    assert (
        audited(
            spark.createDataFrame(shuffled(people, 8).to_arrow()).repartition(3),
            **SPLIT,
        )
        == whole
    )


def test_csv_files_and_datasets(
    people: pl.DataFrame, oracle: dict[str, str], tmp_path: Path
) -> None:
    shuffled(people, 1).write_csv(tmp_path / "people.csv")
    assert audited(tmp_path / "people.csv", engine="arrow") == oracle["plain audited"]
    assert (
        audited(str(tmp_path / "people.csv"), engine="dask") == oracle["plain audited"]
    )
    folder = write_folder(people, tmp_path / "folder", [900])
    assert audited(ds.dataset(folder)) == oracle["plain audited"]
    assert audited(folder, engine="dask") == oracle["plain audited"]


def test_widths_of_numbers_do_not_matter(
    people: pl.DataFrame, oracle: dict[str, str], tmp_path: Path
) -> None:
    wide = people.with_columns(
        pl.col("visits").cast(pl.Int64), pl.col("small").cast(pl.Float64)
    )
    (tmp_path / "mixed").mkdir()
    people[:1_000].write_parquet(tmp_path / "mixed" / "a.parquet")
    wide[1_000:].write_parquet(tmp_path / "mixed" / "b.parquet")
    assert (
        audited(tmp_path / "mixed")
        == audited(wide, engine="memory")
        == oracle["plain audited"]
    )


@pytest.mark.parametrize("rule", ["forest", "aim", "logistic"])
def test_other_rules(people: pl.DataFrame, rule: str, tmp_path: Path) -> None:
    binary = people.with_columns(visits=(pl.col("visits") > 1).cast(pl.Int8))
    options = {
        "rule": rule,
        "features": ["signal", "small", "insured"],
        "repetitions": 1,
        "train_rows": 400,
    }
    whole = audited(binary, engine="memory", **options)
    assert audited(write_folder(binary, tmp_path / "f", [700, 700]), **options) == whole
    assert (
        audited(dd.from_pandas(binary.to_pandas(), npartitions=5), **options) == whole
    )


@pytest.mark.parametrize("rule", ["linear", "lasso"])
def test_prices_of_a_linear_model_do_not_depend_on_batches(
    people: pl.DataFrame, rule: str
) -> None:
    """Prices are not rounded, and BLAS may add up otherwise in a batch of another
    size.
    """
    priced = people[:1_000].with_columns(price=40 * pl.col("score").abs().round(1))
    found = {
        improvable.audit(
            Memory(read_rows(shuffled(priced, size)), 1, size),
            outcome="cost",
            group="group",
            status_quo="price",
            accuracy="profit",
            rule=rule,
            features=["signal", "small", "insured"],
            test=improvable.Test(repetitions=2, draws=100, train_rows=300),
            row_id="person",
            n_jobs=1,
        )
        .repetitions[1]
        .evidence.draws.tobytes()
        for size in (5, 97, 1_000)
    }
    assert len(found) == 1


def test_rows_are_told_apart_by_content_without_an_id(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    options = {"row_id": None, "features": ["signal", "small"]}
    whole = audited(people, engine="memory", **options)
    assert audited(write_folder(people, tmp_path / "f", [700, 700]), **options) == whole
    assert (
        audited(
            dd.from_pandas(shuffled(people, 2).to_pandas(), npartitions=5), **options
        )
        == whole
    )


def test_results_can_be_saved_reconsidered_and_reported(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    result = improvable.audit(
        write_folder(people, tmp_path / "f", [700]),
        outcome="visits",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.2),
        rule="linear",
        features=["signal"],
        test=improvable.Test(repetitions=3, draws=300, train_rows=900, method="delta"),
        row_id="person",
    )
    assert result.to_dict()["method"] == "delta"
    assert "normal limit" in result.summary(verbose=True)
    assert "hash of 'person'" in result.summary(verbose=True)
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "draws from the normal limit" in page
    assert "learn from at most 900 of the rows before a block" in page
    result.save(tmp_path / "saved")
    assert improvable.load(tmp_path / "saved").to_dict() == result.to_dict()
    assert result.frontier().p_value() == result.p_value
    assert len(result.refit().decide(people)) == len(people)


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_frames_of_any_kind_in_memory(
    people: pl.DataFrame, oracle: dict[str, str], kind: str
) -> None:
    frame = people.to_pandas() if kind == "pandas" else people.to_arrow()
    assert audited(frame, engine="memory") == oracle["plain audited"]
    assert audited(frame, engine="arrow") == oracle["plain audited"]


def test_tables_are_of_a_kind_that_goes_with_the_data(people: pl.DataFrame) -> None:
    settings = {
        "outcome": "visits",
        "group": "group",
        "status_quo": "insured",
        "candidate": "insured",
        "draws": 100,
    }
    frames = {
        pd.DataFrame: dd.from_pandas(people.to_pandas(), npartitions=2),
        pl.DataFrame: duckdb.from_arrow(people.to_arrow()),
    }
    for kind, data in frames.items():
        assert type(flat_compare(data, **settings).table()) is kind


@pytest.mark.parametrize("ties", ["random", "strict"])
def test_tied_rows_are_drawn_alike_everywhere(
    people: pl.DataFrame, ties: str, tmp_path: Path
) -> None:
    """Six scores, and a candidate of six values: most decisions at the cutoffs are
    draws by the rows' keys.
    """
    coarse = people.with_columns(
        pl.col("score").clip(0, 5).round(0), pl.col("signal").clip(0, 5).round(0)
    )
    options = {"features": ["signal"], "ties": ties}
    for work in (audited, compared):
        asked = options if work is audited else {"ties": ties}
        whole = work(coarse, engine="memory", **asked)
        assert work(Memory(read_rows(shuffled(coarse, 3)), 2, 97), **asked) == whole
        assert work(shuffled(coarse, 4).to_pandas(), **asked) == whole
        assert (
            work(write_folder(coarse, tmp_path / work.__name__, [0, 500, 800]), **asked)
            == whole
        )
        assert (
            work(
                dd.from_pandas(shuffled(coarse, 2).to_pandas(), npartitions=5), **asked
            )
            == whole
        )
