"""How fast rows are counted, from Parquet through decisions to cells, and in how much
memory.

What is measured
----------------
An audit of made-up decisions that lie in a folder of Parquet files, one million rows
each: a count outcome, two groups, a score of which the top 3% are selected, eight
features, and an id. The engine is Arrow, the rule a linear regression, and there are
seven repetitions. Each of the three passes is timed alone; the third reads every row,
hashes it into a block of every repetition, decides by both algorithms for tested rows,
and counts cells. Its rate is rows times repetitions per second and core.

How
---
One process; pyarrow, Polars and BLAS have one thread each, and time is that of the
processor, summed over all threads, so that it is per core whatever runs beside. Memory
is the most that the process ever held, imports included (`ru_maxrss`). Files are made
before the clock starts, in another process. Times are printed and never asserted.

Run ``python benchmarks/counting_rows.py [--rows 5000000] [--repetitions 7]``; ``--rows
100000000`` is the long version and needs 4 GB of disk.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import improvable
from improvable.data.engines.arrow import Arrow, open_arrow

ROWS_PER_FILE = 1_000_000
FEATURES = tuple(f"x{j}" for j in range(8))
TARGET_RATE, TARGET_MEMORY = 5e6, 1.0
ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Timed(Arrow):
    """The Arrow engine with a clock for each pass."""

    passes: list[tuple[str, float]] = field(default_factory=list)

    def fold(self, work: Any, columns: Sequence[str], merge: Any) -> Any:
        start = time.process_time()
        found = super().fold(work, columns, merge)
        self.passes.append((type(work.args[0]).__name__, time.process_time() - start))
        return found


def write_files(folder: Path, rows: int) -> None:
    for i, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        size = min(ROWS_PER_FILE, rows - start)
        rng = np.random.default_rng(i)
        in_b = rng.random(size) < 0.12
        features = rng.normal(0, 1, (len(FEATURES), size)).astype(np.float32)
        need = np.exp(0.4 * features[:4].sum(axis=0) / 2)
        columns: dict[str, Any] = {
            "id": np.arange(start, start + size),
            "y": np.minimum(rng.poisson(need), 15).astype(np.int8),
            "g": pa.array(np.where(in_b, "b", "a")).dictionary_encode(),
            "score": (np.log(need) + rng.normal(0, 1 + 0.5 * in_b, size)).astype(
                np.float32
            ),
        }
        columns |= dict(zip(FEATURES, features, strict=True))
        pq.write_table(
            pa.table(columns), folder / f"part-{i:04d}.parquet", row_group_size=1 << 18
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument(
        "--folder", help="where to make the files, or where they are already"
    )
    parser.add_argument("--step", choices=["write", "measure"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == "write":
        write_files(Path(options.folder), options.rows)
    elif options.step == "measure":
        measure(Path(options.folder), options.rows, options.repetitions)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(options.folder or temporary)
            folder.mkdir(exist_ok=True)
            again = [
                sys.executable,
                __file__,
                "--rows",
                str(options.rows),
                "--repetitions",
                str(options.repetitions),
            ]
            for step in (
                ("measure",) if list(folder.glob("*.parquet")) else ("write", "measure")
            ):
                subprocess.run(
                    [*again, "--folder", str(folder), "--step", step],
                    check=True,
                    env={**os.environ, **ONE_THREAD},
                )


def measure(folder: Path, rows: int, repetitions: int) -> None:
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    warnings.simplefilter("ignore", improvable.errors.ImprovableWarning)
    engine = Timed(open_arrow(str(folder), workers=1).dataset, workers=1)
    start = time.process_time()
    result = improvable.audit(
        engine,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("score", capacity=0.03),
        rule="linear",
        features=FEATURES,
        test=improvable.Test(repetitions=repetitions),
        row_id="id",
    )
    whole = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{rows:,} rows, {repetitions} repetitions, seconds of one core; p = "
        f"{result.p_value:g}\n"
    )
    print(
        f"  {'pass':12}{'seconds':>10}{'million rows/s':>18}"
        f"{'million rows x repetitions/s':>28}"
    )
    for name, seconds in engine.passes:
        print(
            f"  {name:12}{seconds:>10.2f}{rows / seconds / 1e6:>18.2f}"
            f"{rows * repetitions / seconds / 1e6:>28.2f}"
        )
    print(
        f"  {'whole audit':12}{whole:>10.2f}{rows / whole / 1e6:>18.2f}"
        f"{rows * repetitions / whole / 1e6:>28.2f}"
    )
    rate = rows * repetitions / dict(engine.passes)["Counting"] / TARGET_RATE
    print(
        f"\n  counting, as a multiple of the target of {TARGET_RATE / 1e6:g} million: "
        f"{rate:.2f}"
    )
    print(f"  most memory: {memory:.2f} GiB (target: below {TARGET_MEMORY:g})")


if __name__ == "__main__":
    main()
