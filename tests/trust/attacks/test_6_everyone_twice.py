"""Attack 6: every row is there twice, so that a forest is tested on the people that it
learned; noise is REJECTED.

The share of rows that repeat the features and outcome of others stands beside the
verdict where it is hardly chance, in every engine and whatever was declared of them,
since an id that is new in every row says nothing. `--duplicates cluster` keeps copies
together, and noise is not REJECTED. Near copies are a caution.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.errors import ImprovableWarning


def noise(people: int, seed: int) -> pl.DataFrame:
    """Nothing in the features tells anything of the outcome."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, people)
    return pl.DataFrame(
        {
            "y": rng.normal(size=people) + 0.8 * group,
            "group": np.where(group == 1, "a", "b"),
            "score": rng.normal(size=people) + 0.3 * group,
            **{f"x{j}": rng.normal(size=people) for j in range(4)},
        }
    )


def audited(data: Any, **more: Any) -> improvable.Audit:
    """By default with a quick rule, in one repetition: what is said about copies does
    not depend on these.
    """
    options: dict[str, Any] = {
        "rule": "ridge:10",
        "scheme": "split",
        "repetitions": 1,
        "draws": 200,
    } | more
    return flat_audit(
        data,
        outcome="y",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.3),
        features=["x0", "x1", "x2", "x3"],
        ask="accuracy",
        n_jobs=1,
        **options,
    )


@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_copies_stand_beside_the_verdict_in_every_engine(
    engine: Any, tmp_path: Path
) -> None:
    people = noise(600, 1)
    twice = pl.concat([people, people.with_columns(score=pl.col("score") + 0.5)])
    assert not twice.is_duplicated().any(), (
        "the copies differ in what is neither feature nor outcome"
    )
    (tmp_path / "people").mkdir()
    twice.write_parquet(tmp_path / "people" / "1.parquet")
    found = audited(twice if engine == "memory" else tmp_path / "people", engine=engine)
    (beside,) = [text for text in found.verdict_warnings if "repeat" in text]
    assert beside.startswith(
        "50.0% of the rows repeat the features and outcome of another row."
    )
    assert "`duplicates='cluster'`" in beside
    some = audited(pl.concat([people, people.head(20)]))
    assert any("3.2% of the rows repeat" in text for text in some.verdict_warnings)


def test_copies_that_are_kept_make_noise_look_like_an_improvement_and_clusters_do_not() -> (  # noqa: E501
    None
):
    """The attack itself, and the answer to it: copies stay together in every block and
    every draw.
    """
    twice = pl.concat([noise(1_000, 1)] * 2)
    forest: dict[str, Any] = {
        "rule": "forest:30",
        "scheme": "forward",
        "repetitions": 1,
        "draws": 400,
    }
    kept = audited(twice, duplicates="keep", **forest)
    together = audited(twice, duplicates="cluster", **forest)
    assert kept.reject
    assert any(
        "50.0% of the rows repeat" in text and "duplicates='keep'" in text
        for text in kept.verdict_warnings
    )
    assert together.to_dict()["clusters"] == 1_000
    assert not together.reject
    alone = audited(noise(1_000, 1), **forest)
    assert not alone.reject


def test_near_copies_are_a_caution() -> None:
    people = noise(600, 2)
    near = pl.concat([people, people.with_columns(pl.col("x0") + 1e-7)]).with_row_index(
        "person"
    )
    with pytest.warns(
        ImprovableWarning, match="have nearly the features and outcome of another row"
    ):
        audited(near, row_id="person")


def test_a_row_id_or_a_cluster_says_what_rows_are() -> None:
    people = noise(400, 3).with_row_index("person")
    audited(pl.concat([people, people]), cluster="person")
    flags = [(pl.col(f"x{j}") > 0).cast(pl.Int8) for j in range(4)]
    coarse = noise(400, 3).with_columns(*flags, y=pl.col("y").round())
    assert coarse.select("y", "x0", "x1", "x2", "x3").is_duplicated().sum() > 200
    audited(coarse)


@pytest.mark.parametrize("role", ["cluster", "row_id"])
def test_an_id_that_is_new_in_every_row_does_not_silence_the_check(role: str) -> None:
    people = noise(400, 3)
    twice = pl.concat([people, people]).with_row_index("person")
    found = audited(twice, **{role: "person"})
    beside = [
        text
        for text in found.verdict_warnings
        if "50.0% of the rows" in text and "repeat" in text
    ]
    assert len(beside) == 1
    assert "'person' tells them apart" in beside[0]


def test_copies_within_a_cluster_are_no_copies_across_clusters() -> None:
    people = noise(400, 3).with_row_index("person")
    found = audited(pl.concat([people, people]), cluster="person")
    assert not [text for text in found.warnings if "repeat the features" in text]


def test_a_cluster_that_is_new_in_every_row_does_not_keep_copies_together() -> None:
    people = noise(400, 3)
    twice = pl.concat([people, people]).with_row_index("person")
    found = audited(twice, cluster="person", duplicates="cluster")
    assert any("50.0% of the rows" in text for text in found.verdict_warnings)


def test_people_who_are_alike_are_a_caution_unless_it_is_said_who_they_are() -> None:
    flags = [(pl.col(f"x{j}") > 0).cast(pl.Int8) for j in range(4)]
    coarse = (
        noise(400, 3)
        .with_columns(*flags, y=pl.col("y").round(1))
        .with_row_index("person")
    )
    found = audited(coarse)
    (text,) = [text for text in found.warnings if "repeat the features" in text]
    assert "as different people may where features are coarse" in text
    assert text not in found.verdict_warnings
    said: list[dict[str, Any]] = [
        {"duplicates": "keep"},
        {"row_id": "person"},
        {"cluster": "person"},
    ]
    for declared in said:
        assert not [
            text
            for text in audited(coarse, **declared).warnings
            if "repeat the features" in text
        ]
    twice = audited(pl.concat([coarse, coarse]).drop("person"), duplicates="keep")
    assert any("repeat the features" in text for text in twice.verdict_warnings)
