"""What it costs to leave memory: the same audit through the engines memory, Arrow and
Dask.

What is measured
----------------
Wall-clock time of a whole audit of the made-up decisions of `counting_rows.py`, ten
million rows in ten Parquet files: seven repetitions, a linear rule, 1,000 draws.
*memory* has the rows as a Polars frame already, and only counts; *arrow* streams the
files in each of its three passes; *dask* reads them on its threads. All must give the
same bits.

How
---
One process, interleaved, medians over rounds; memory and Arrow count in as many threads
as there are cores, as Dask does by default. Ratios are to memory. Times are printed and
never asserted.

Run ``python benchmarks/engine_overhead.py [--rows 10000000] [--rounds 3]``.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import polars as pl

import improvable
from counting_rows import FEATURES, write_files
from improvable.question.settings import EngineName

TARGETS = {"arrow": 1.5, "dask": 3.0}


def audited(data: Any, engine: EngineName | None) -> str:
    result = improvable.audit(
        data,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("score", capacity=0.03),
        rule="linear",
        features=FEATURES,
        row_id="id",
        test=improvable.Test(draws=1_000),
        n_jobs=-1,
        read=improvable.Read(engine=engine),
    )
    return json.dumps(result.to_dict())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", improvable.errors.ImprovableWarning)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), options.rows)
        frame = pl.read_parquet(folder)
        contenders: dict[str, Callable[[], str]] = {
            "memory": lambda: audited(frame, "memory"),
            "arrow": lambda: audited(folder, None),
            "dask": lambda: audited(dd.read_parquet(folder), None),
        }
        times: dict[str, list[float]] = {name: [] for name in contenders}
        said = set()
        for _ in range(options.rounds):
            for name, run in contenders.items():
                start = time.perf_counter()
                said.add(run())
                times[name].append(time.perf_counter() - start)
    if len(said) != 1:
        raise RuntimeError("the engines disagree.")
    print(
        f"{options.rows:,} rows, 7 repetitions, {os.cpu_count()} cores; medians of "
        f"{options.rounds} rounds\n"
    )
    print(f"  {'engine':10}{'seconds':>10}{'times memory':>14}{'target':>10}")
    middle = {name: statistics.median(values) for name, values in times.items()}
    for name, seconds in middle.items():
        target = f"< {TARGETS[name]:g}" if name in TARGETS else "-"
        print(
            "  "
            f"{name:10}{seconds:>10.2f}{seconds / middle['memory']:>13.2f}x{target:>10}"
        )


if __name__ == "__main__":
    main()
