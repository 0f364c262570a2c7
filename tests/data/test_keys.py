"""Keys and digests of rows are those of a slow twin, which makes and hashes the text of
every value in Python.
"""

import hashlib
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from improvable.data import keys as module
from improvable.data.frame import Rows, is_missing, read_rows
from improvable.data.keys import Keying, plain_time, row_digests, siphash, tell_apart

SECRET = Keying(7).secret
NAN = int(np.array([np.nan]).view(np.uint64)[0])


def slow_text(series: nw.Series[Any], row: int) -> str | None:
    """The value of one row as a text; of a time, also what is below a microsecond."""
    value = series.to_list()[row]
    if is_missing(value):
        return None
    text = str(value)
    if series.dtype == nw.String:
        return plain_time(text)
    if series.dtype == nw.Datetime and series.dtype.time_unit == "ns":  # type: ignore[attr-defined]
        below = series.dt.timestamp("ns").to_list()[row] % 1000
        return f"{text} {below} ns" if below else text
    return text


def slow_value(rows: Rows, name: str, row: int) -> float | str | None:
    """A number, the text of anything that no float64 holds, or nothing."""
    series = rows.frame[name]
    if not rows.is_numeric(name):
        text = slow_text(series, row)
        return None if text is None else f"={text}"
    value, number = series.to_list()[row], float(rows.read_numbers(name)[row])
    if number != number:
        return None
    whole = series.dtype.is_integer() or series.dtype.is_decimal()
    if whole and (
        abs(number) >= 2**53 or (series.dtype.is_decimal() and Decimal(number) != value)
    ):
        return f"#{Decimal(str(value)).normalize():f}"
    return number + 0.0


def slow_keys(rows: Rows, columns: list[str]) -> list[int]:
    words = []
    for name in sorted(columns):
        found = []
        for row in range(len(rows)):
            value = slow_value(rows, name, row)
            if isinstance(value, str):
                digest = hashlib.blake2b(
                    value.encode(), digest_size=8, key=SECRET
                ).digest()
                found.append(int.from_bytes(digest, "little"))
            else:
                found.append(
                    NAN if value is None else int(np.array([value]).view(np.uint64)[0])
                )
        words.append(np.array(found, dtype=np.uint64))
    return [int(key) for key in siphash(words, SECRET)]


def slow_digests(rows: Rows, columns: list[str]) -> list[bytes]:
    out = []
    for row in range(len(rows)):
        content = b""
        for name in sorted(columns):
            value = slow_value(rows, name, row)
            if isinstance(value, str):
                content += hashlib.blake2b(value.encode(), digest_size=16).digest()
            else:
                kind = 1 if value is None else 0
                content += kind.to_bytes(8, "little") + (
                    b"\0" * 8 if value is None else np.float64(value).tobytes()
                )
        out.append(hashlib.blake2b(content, digest_size=16).digest())
    return out


WORDS = ["b", "a", "", None, "ä, ö", "a", "2020-03-12T21:23:29.000", "1", "nan", "b"]
DAYS = [date(2020, 1, day + 1) if day % 4 else None for day in range(10)]
TIMES = [
    datetime(2020, 1, 1, 10, 0, second, 5 * second) if second % 4 else None
    for second in range(10)
]
FRAMES: dict[str, Any] = {
    "polars": pl.DataFrame(
        {
            "text": WORDS,
            "category": pl.Series(WORDS, dtype=pl.Categorical),
            "day": DAYS,
            "time": TIMES,
            "enum": pl.Series(["x", "y"] * 5, dtype=pl.Enum(["y", "x"])),
            "empty": pl.Series([None] * 10, dtype=pl.String),
            "fine": pl.Series(range(0, 5_000, 500)).cast(pl.Datetime("ns")),
            "bytes": [b"a", b"b"] * 5,
            "list": [[1], [2, 3]] * 5,
        }
    ),
    "polars numbers": pl.DataFrame(
        {
            "long": [2**60 + k // 2 for k in range(10)],
            "short": range(10),
            "real": [0.0, -0.0, None, float("nan"), 1e300] * 2,
            "exact": [Decimal(10**17 + k) / 10 for k in range(10)],
            "flag": [True, None] * 5,
            "holes": [None, 2**53, 2**53 + 1, -(2**60), 5] * 2,
        }
    ),
    "pandas": pd.DataFrame(
        {
            "object": pd.Series(WORDS, dtype=object),
            "missing": pd.Series(["a", np.nan, None, "b", "a"] * 2, dtype=object),
            "mixed": pd.Series(["a", 1, 2.5, None, True] * 2, dtype=object),
            "text": pd.Series(WORDS, dtype="str"),
            "category": pd.Series(WORDS, dtype="category"),
            "numbered": pd.Series([1, 2, 2, 1, 3] * 2, dtype="category"),
            "reals": pd.Series([1e20, 2.5, None, 1.0, 1.0] * 2, dtype="category"),
            "time": pd.Series(TIMES),
            "ordered": pd.Series(
                pd.Categorical(["x", "y"] * 5, categories=["y", "x"], ordered=True)
            ),
        },
        index=range(10, 0, -1),
    ),
    "pyarrow": pa.table(
        {
            "text": WORDS,
            "large": pa.array(WORDS, pa.large_string()),
            "dictionary": pa.array(WORDS).dictionary_encode(),
            "numbered": pa.array([1, 2, None, 2, 1] * 2).dictionary_encode(),
            "day": DAYS,
            "time": TIMES,
            "chunked": pa.chunked_array(
                [
                    pa.array(WORDS[:4]).dictionary_encode(),
                    pa.array(WORDS[4:]).dictionary_encode(),
                ]
            ),
        }
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_keys_and_digests_are_those_of_a_slow_twin(kind: str) -> None:
    rows = read_rows(FRAMES[kind])
    for columns in (*([name] for name in rows.columns), rows.columns):
        assert Keying(7).of(rows, columns).tolist() == slow_keys(rows, columns), columns
        assert [bytes(digest) for digest in row_digests(rows, columns)] == slow_digests(
            rows, columns
        ), columns


@pytest.mark.parametrize("workers", [1, 2])
def test_keys_do_not_depend_on_batches_or_threads(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"x": rng.integers(0, 50, 900), "word": rng.choice(["a", "b", "c d"], 900)}
    )
    whole = tell_apart(read_rows(frame), Keying(7), frame.columns)
    monkeypatch.setattr(module, "ROWS_PER_TASK", 100)
    assert (
        tell_apart(read_rows(frame), Keying(7), frame.columns, workers=workers) == whole
    ).all()
    assert len(np.unique(whole)) == 900
    assert np.isin(slow_keys(read_rows(frame.unique()), frame.columns), whole).all()
