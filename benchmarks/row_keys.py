"""What it costs to tell rows apart by their content, where no row id is named.

What is measured
----------------
Made-up decisions as in `counting_rows.py`, without an id: a count outcome, two groups
and a region as texts, a score and eight features. First the keys alone, against a twin
that makes and hashes the text of every value in Python, on a tenth of the rows; then
whole audits of all rows, as a Polars frame and through Arrow from Parquet files.

How
---
One process, all cores; the slow twin is timed on the same rows and must give the same
keys. Both audits must give the same p-value. Times are printed and never asserted.

Run ``python benchmarks/row_keys.py [--rows 10000000] [--repetitions 7]``.
"""

import argparse
import hashlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

import improvable
from counting_rows import FEATURES, write_files
from improvable.data.frame import Rows, is_missing, read_rows
from improvable.data.keys import Keying, number_bits, plain_time, siphash

T = TypeVar("T")
TARGET = 14.0
REGIONS = 8


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def slow_keys(rows: Rows, keying: Keying) -> NDArray[np.uint64]:
    """Keys with the text of every value made and looked up in Python."""
    words = []
    for name in sorted(rows.columns):
        if rows.is_numeric(name):
            words.append(number_bits(rows, name)[0])
            continue
        values = [
            value for value in rows.frame[name].to_list() if not is_missing(value)
        ]
        texts = [f"={plain_time(str(value))}" for value in values]
        hashes = {
            text: hashlib.blake2b(
                text.encode(), digest_size=8, key=keying.secret
            ).digest()
            for text in set(texts)
        }
        words.append(
            np.frombuffer(b"".join(map(hashes.__getitem__, texts)), dtype="<u8").astype(
                np.uint64
            )
        )
    return siphash(words, keying.secret)


def people(folder: Path) -> pl.DataFrame:
    """The rows of all files without their id, and with a region."""
    frame = pl.read_parquet(sorted(folder.glob("*.parquet"))).drop("id")
    region = np.random.default_rng(0).integers(0, REGIONS, len(frame))
    return frame.with_columns(
        pl.col("g").cast(pl.String), region=pl.format("region {}", pl.Series(region))
    )


def audited(data: Any, repetitions: int) -> float:
    result = improvable.audit(
        data,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("score", capacity=0.03),
        rule="linear",
        features=[*FEATURES, "region"],
        test=improvable.Test(repetitions=repetitions, draws=1_000),
        n_jobs=-1,
        read=improvable.Read(engine="arrow" if isinstance(data, str) else None),
    )
    return float(result.p_value)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    warnings.simplefilter("ignore", improvable.errors.ImprovableWarning)
    with tempfile.TemporaryDirectory() as temporary:
        made, read = Path(temporary, "made"), Path(temporary, "read")
        made.mkdir()
        read.mkdir()
        write_files(made, options.rows)
        frame = people(made)
        frame.write_parquet(read / "people.parquet", row_group_size=1 << 18)
        some, keying = read_rows(frame.head(options.rows // 10)), Keying(1)
        slow, expected = timed(lambda: slow_keys(some, keying))
        fast, keys = timed(lambda: keying.of(some, some.columns))
        assert (keys == expected).all()
        print(
            f"keys of {len(some):,} rows: {fast:.2f} s, value by value {slow:.2f} s: "
            f"{slow / fast:.1f} times faster\n"
        )
        print(
            f"audits of {options.rows:,} rows, {options.repetitions} repetitions, "
            f"{os.cpu_count()} cores, no row id\n"
        )
        p_values = set()
        for name, data in {"frame": frame, "arrow": str(read)}.items():
            seconds, p_value = timed(
                lambda data=data: audited(data, options.repetitions)  # type: ignore[misc]
            )
            p_values.add(p_value)
            print(
                f"  {name:8}{seconds:8.2f} s   (target: below {TARGET:g})", flush=True
            )
        assert len(p_values) == 1


if __name__ == "__main__":
    main()
