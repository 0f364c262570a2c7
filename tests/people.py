"""Data that are audited through every engine, and everything that an audit or a
comparison says of them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import improvable
from flat import flat_audit, flat_compare

ROWS = 3_000


def make_people(rows: int = ROWS, seed: int = 3) -> pl.DataFrame:
    """Numbers of several widths, truth values, text with holes, weights, clusters, and
    an id.
    """
    rng = np.random.default_rng(seed)
    in_b = rng.random(rows) < 0.4
    need = rng.gamma(1.5, 1.0, rows)
    signal = need + rng.normal(0, 0.7, rows)
    return pl.DataFrame(
        {
            "person": 2**60 + np.arange(rows),
            "visits": np.minimum(rng.poisson(need), 9).astype(np.int32),
            "cost": np.round(need * 100 + rng.exponential(30, rows), 2),
            "group": np.where(in_b, "b", "a"),
            "score": need + rng.normal(0, 1.0 + in_b, rows) - 0.6 * in_b,
            "signal": signal,
            "small": rng.integers(0, 9, rows).astype(np.int16),
            "insured": rng.random(rows) < 0.7,
            "holes": np.where(rng.random(rows) < 0.1, np.nan, np.round(signal, 1)),
            "region": [
                None if r < 0.1 else f"region {int(5 * r)}" for r in rng.random(rows)
            ],
            "weight": rng.integers(1, 5, rows) / 7,
            "clinic": rng.integers(0, 120, rows),
        }
    ).with_columns(pl.col("holes").fill_nan(None))


CLUSTERED: dict[str, Any] = {"weight": "weight", "cluster": "clinic"}


def audited(data: Any, **options: Any) -> str:
    """Everything an audit says, draws included, as one text."""
    settings: dict[str, Any] = {
        "rule": "linear",
        "features": ["signal", "small", "insured", "holes", "region"],
        "repetitions": 2,
        "draws": 300,
        "row_id": "person",
        "train_rows": 900,
    }
    result = flat_audit(
        data,
        outcome="visits",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.2),
        **{**settings, **options},
    )
    return json.dumps(result.to_dict()) + str(
        [repetition.evidence.draws.tobytes() for repetition in result.repetitions]
    )


def compared(data: Any, **options: Any) -> str:
    result = flat_compare(
        data,
        outcome="visits",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.2),
        candidate=improvable.threshold("signal", capacity=0.2),
        draws=300,
        **options,
    )
    return json.dumps(result.to_dict()) + str(result.evidence.draws.tobytes())


def write_folder(frame: pl.DataFrame, folder: Path, sizes: list[int]) -> Path:
    """A folder of Parquet files of these sizes, in a shuffled order of rows."""
    folder.mkdir()
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=len(sizes))
    start = 0
    for i, size in enumerate([*sizes, len(frame) - sum(sizes)]):
        shuffled[start : start + size].write_parquet(
            folder / f"part-{i}.parquet", row_group_size=137
        )
        start += size
    return folder
