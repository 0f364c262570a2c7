"""Whether a change made `compare` slower: this tree beside an earlier commit, on the
same rows.

What is measured
----------------
Whole comparisons of made-up decisions without a row id: a count outcome, three groups
and a region as text, and two algorithms, given as columns of decisions, as scores with
few distinct values (ties at the cutoff are drawn by the keys of rows) or as continuous
scores. Rows come as a Polars frame and, through Arrow, from a Parquet file.

How
---
One process for each tree, both at the same time so that they meet the same machine; the
same files; the fastest of a few rounds in processor seconds over all threads: wall
clock would mostly measure what else the machine does. With fewer rows, as in CI, what a
call costs weighs more beside what its rows cost. The earlier commit comes out of this
repository's history (`git archive`); where there is no git, or no such commit, only
this tree is timed. Where the two trees give other utilities or intervals, the line says
so. Times are printed and never asserted.

Run ``python benchmarks/speed.py [--rows 500000] [--against 79cb5ab] [--rounds 3]``, or
``make speed``.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parent.parent
LAST_ROUND = "79cb5ab"
CASES = ("decision", "tied", "score")


def write_people(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    group, health = rng.integers(0, 3, rows), rng.normal(0, 1, rows)
    columns: dict[str, Any] = {
        "outcome": np.minimum(rng.poisson(np.exp(0.4 * health)), 15).astype(np.int8),
        "group": np.array(["a", "b", "c"])[group],
        "region": np.array([f"region {j}" for j in range(8)])[rng.integers(0, 8, rows)],
    }
    for whose, noise in {
        "status_quo": 1 + 0.3 * (group == 1),
        "candidate": 0.8,
    }.items():
        score = health + noise * rng.normal(0, 1, rows)
        columns |= {
            f"{whose}_decision": (score > 1).astype(np.int8),
            f"{whose}_score": score,
        }
        columns[f"{whose}_tied"] = np.clip(np.round(10 * score + 30), 0, 99).astype(
            np.int16
        )
    pl.DataFrame(columns).write_parquet(path, row_group_size=1 << 18)


def measure(path: Path, rounds: int) -> None:
    """Print processor seconds and numbers of every case, with whatever `improvable`
    this process imports.
    """
    import pyarrow.dataset as ds

    import improvable

    warnings.simplefilter("ignore", improvable.errors.ImprovableWarning)
    found = {}
    for case in CASES:
        names = [f"{whose}_{case}" for whose in ("status_quo", "candidate")]
        algorithms = (
            names
            if case == "decision"
            else [improvable.threshold(name, capacity=0.1) for name in names]
        )
        frame = pl.read_parquet(path, columns=["outcome", "group", "region", *names])
        chosen = path.with_name(f"{case}-{os.getpid()}.parquet")
        frame.write_parquet(chosen, row_group_size=1 << 18)
        for kind, data in {"frame": frame, "arrow": ds.dataset(chosen)}.items():
            seconds = []
            # the first one also imports what is imported when it is needed
            for _ in range(rounds):
                start = time.process_time()
                result = improvable.compare(
                    data,
                    outcome="outcome",
                    group="group",
                    status_quo=algorithms[0],
                    candidate=algorithms[1],
                )
                seconds.append(time.process_time() - start)
            # p-values of so many rows are nearly all zero; intervals come from the
            # draws and tell trees apart.
            stated = result.to_dict()["repetitions"][0]
            numbers = [
                stated[name] for name in ("p_value", "accuracy", "gap", "intervals")
            ]
            found[f"{case}, {kind}"] = min(seconds), json.dumps(numbers, sort_keys=True)
    print(json.dumps(found))


def measured(
    sources: Sequence[Path], path: Path, rounds: int
) -> list[dict[str, tuple[float, str]]]:
    """What `measure` prints where `improvable` is imported from each of these trees."""
    command = [
        sys.executable,
        __file__,
        "--measure",
        str(path),
        "--rounds",
        str(rounds),
    ]
    begun = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source)},
        )
        for source in sources
    ]
    printed = [one.communicate()[0] for one in begun]
    if any(one.returncode for one in begun):
        sys.exit("a tree could not be measured")
    return [
        {case: (found[0], found[1]) for case, found in json.loads(text).items()}
        for text in printed
    ]


def source_of(commit: str, folder: Path) -> Path | None:
    """The source of an earlier commit, unpacked; None where this is no clone that has
    it.
    """
    try:
        packed = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--against", default=LAST_ROUND, metavar="COMMIT")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.measure, options.rounds)
        return
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "people.parquet")
        write_people(path, options.rows)
        earlier = source_of(options.against, Path(temporary))
        now, *others = measured(
            [ROOT / "src", *([] if earlier is None else [earlier])],
            path,
            options.rounds,
        )
    then = others[0] if others else {}
    print(f"compare on {options.rows:,} rows, processor seconds\n")
    if not then:
        print(f"  ({options.against} is not in this clone: this tree alone)\n")
    print(
        f"  {'':18}{'this tree':>12}"
        + (f"{options.against:>12}{'ratio':>9}" if then else "")
    )
    for case, (seconds, numbers) in now.items():
        before = (
            f"{then[case][0]:>12.2f}{seconds / then[case][0]:>8.2f}x" if then else ""
        )
        moved = "  other numbers" if then and numbers != then[case][1] else ""
        print(f"  {case:18}{seconds:>12.2f}{before}{moved}")


if __name__ == "__main__":
    main()
