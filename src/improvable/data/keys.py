"""Keys that tell rows apart, and fingerprints of whole tables: the same for any frame
library, file kind and row order.

A row's key is SipHash-2-4 of its values under a key that follows from the audit's seed,
so that nobody can make rows that collide before the seed is known. A fingerprint is
BLAKE2b of the sorted BLAKE2b digests of all rows: it adds up over batches in any order,
and no two tables that differ have the same one.
"""

import hashlib
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from improvable._typing import FloatArray, IntArray
from improvable.data.engines import Engine, as_engine
from improvable.data.engines.base import run
from improvable.data.engines.memory import Memory
from improvable.data.frame import FrameLike, Rows, levels
from improvable.errors import DataError

Keys: TypeAlias = NDArray[np.uint64]
Digests: TypeAlias = NDArray[np.uint8]
TELL_APART = "Name a column that differs in every row: `row_id=...`."
MAX_EXACT_INTEGER = 2**53
DIGEST = 16  # bytes of a row's digest, and of a string's inside it
ROWS_AT_A_TIME = 1 << 15  # whose hash state stays in a core's cache
# that a thread keys at once: many, since each distinct string among them is hashed once
ROWS_PER_TASK = 1 << 20
# first words of a value that is a number, or missing; a string has its own digest there
NUMBER, MISSING = 0, 1
_NAN = np.array([np.nan]).view(np.uint64)[0]
_TIME = re.compile(
    r"^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?$"
)


@dataclass(frozen=True)
class Keying:
    """Keys of rows under a seed."""

    seed: int

    @cached_property
    def secret(self) -> bytes:
        return hashlib.blake2b(
            f"improvable rows {self.seed}".encode(), digest_size=16
        ).digest()

    def of(self, rows: Rows, columns: Sequence[str]) -> Keys:
        """The key of every row, by the content of some columns."""
        words = [self.words(rows, name) for name in sorted(columns)]
        return (
            siphash(words, self.secret)
            if words
            else np.zeros(len(rows), dtype=np.uint64)
        )

    def words(self, rows: Rows, name: str) -> Keys:
        """64 bits of each value of a column; strings are hashed under the same
        secret.
        """
        bits, exact = number_bits(rows, name)
        if exact is not None:
            bits[exact.rows] = _hashed(exact.texts, 8, self.secret)[exact.codes, 0]
        return bits


def tell_apart(
    rows: Rows,
    keying: Keying,
    columns: Sequence[str],
    row_id: str | None = None,
    workers: int = 1,
) -> Keys:
    """Keys of rows in memory: equal rows are told apart by how often they have
    occurred; a row id must not repeat.

    Different rows with the same key are refused. By chance there are none; someone who
    knows the seed could make some, and then the order of the file would decide which is
    which.
    """
    parts = [
        Rows(rows.frame[start : start + ROWS_PER_TASK])
        for start in range(0, max(1, len(rows)), ROWS_PER_TASK)
    ]
    with ThreadPoolExecutor(workers) as pool:
        keys = np.concatenate(
            list(pool.map(lambda part: keying.of(part, columns), parts))
        )
    # much faster than the order itself, which only repeats need
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return keys
    order = np.argsort(keys, kind="stable")
    # places in the order
    repeats = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) + 1
    if row_id is not None:
        raise shared_row_id(row_id, len(repeats))
    first = np.searchsorted(ordered, ordered[repeats])
    if not _same_content(rows, columns, order[repeats], order[first]):
        raise DataError(
            "two different rows have the same key, which chance does not do.",
            TELL_APART,
        )
    occurrence = (repeats - first).astype(np.uint64)
    keys[order[repeats]] = siphash([keys[order[repeats]], occurrence], keying.secret)
    return keys


def _same_content(
    rows: Rows, columns: Sequence[str], ones: IntArray, others: IntArray
) -> bool:
    """Whether pairs of rows hold the same values: bits of numbers and strings
    themselves, not their hashes.
    """
    used = np.zeros(len(rows), dtype=np.bool_)
    used[ones] = used[others] = True
    place = np.cumsum(used) - 1  # among the rows that are used, often a few
    some, ones, others = (
        Rows(rows.frame[np.flatnonzero(used)]),
        place[ones],
        place[others],
    )
    for name in columns:
        bits, exact = number_bits(some, name)
        codes = np.full(len(bits), -1)
        if exact is not None:
            # two levels may be one string
            codes[exact.rows] = _numbered(exact.texts)[0][exact.codes]
        if not np.array_equal(bits[ones], bits[others]) or not np.array_equal(
            codes[ones], codes[others]
        ):
            return False
    return True


def with_keys(
    engine: Memory, keying: Keying, columns: Sequence[str], row_id: str | None = None
) -> Memory:
    keys = tell_apart(engine.rows, keying, columns, row_id, engine.workers)
    return replace(engine, rows=replace(engine.rows, keys=keys))


def shared_row_id(row_id: str, repeats: int) -> DataError:
    return DataError(
        f"{repeats:,} rows repeat the '{row_id}' of another, so it is not a row id.",
        (
            "Name one that differs in every row; rows that belong together go by "
            "`cluster=...`."
        ),
    )


def row_digests(rows: Rows, columns: Sequence[str]) -> Digests:
    """BLAKE2b of every row's values in these columns, shape (rows, 16)."""
    words = np.empty((len(rows), 2 * len(columns)), dtype="<u8")
    for j, name in enumerate(sorted(columns)):
        bits, exact = number_bits(rows, name)
        missing = bits == _NAN
        words[:, 2 * j] = np.where(missing, MISSING, NUMBER)
        words[:, 2 * j + 1] = np.where(missing, 0, bits)
        if exact is not None:
            words[exact.rows, 2 * j : 2 * j + 2] = _hashed(exact.texts, DIGEST)[
                exact.codes
            ]
    digests = b"".join(
        hashlib.blake2b(row.tobytes(), digest_size=DIGEST).digest() for row in words
    )
    return np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST)


@dataclass(frozen=True)
class Exact:
    """Values that no float64 holds: strings, dates, long ids, decimals with many
    digits.
    """

    rows: IntArray  # where they are
    codes: IntArray  # which of the strings each is
    texts: list[str]  # made and hashed once, however many rows hold it


def number_bits(rows: Rows, name: str) -> tuple[Keys, Exact | None]:
    """64 bits of each value, the same in any library and for any width, NaN's where
    missing; and what is no float64.
    """
    if not rows.is_numeric(name):
        codes, texts = _texts(rows.frame[name])
        given = np.flatnonzero(codes >= 0)
        return np.full(len(rows), _NAN, dtype=np.uint64), Exact(
            given, codes[given], [f"={text}" for text in texts]
        )
    values = rows.read_numbers(name)
    bits, dtype, beyond = (
        plain_bits(values),
        rows.kind(name),
        np.zeros(len(values), dtype=np.bool_),
    )
    # a float would run long ids together, and decimals with many digits
    if dtype.is_integer() or dtype.is_decimal():
        beyond = np.abs(values) >= MAX_EXACT_INTEGER
    if dtype.is_decimal():
        pairs = zip(rows.frame[name].to_list(), values.tolist(), strict=True)
        beyond |= np.array(
            [
                value is not None and Decimal(rounded) != value
                for value, rounded in pairs
            ]
        )
    rough = np.flatnonzero(beyond)
    if not len(rough):
        return bits, None
    # All their digits, the same for whole numbers and decimals.
    exact = [
        f"#{Decimal(str(value)).normalize():f}"
        for value in rows.frame[name][rough].to_list()
    ]
    return bits, Exact(rough, *_numbered(exact))


def plain_bits(values: FloatArray) -> Keys:
    """The bits of numbers, with one zero and one NaN among their many bit patterns."""
    values = values + 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.uint64)


def _hashed(texts: Sequence[str], size: int, key: bytes = b"") -> Keys:
    """BLAKE2b of each text as 64-bit words, shape (texts, size / 8)."""
    digests = (
        hashlib.blake2b(text.encode(), digest_size=size, key=key).digest()
        for text in texts
    )
    return (
        np.frombuffer(b"".join(digests), dtype="<u8")
        .astype(np.uint64)
        .reshape(-1, size // 8)
    )


def siphash(words: Sequence[Keys], secret: bytes) -> Keys:
    """SipHash-2-4 (Aumasson and Bernstein, 2012) of rows of 64-bit words, one array per
    word, some rows at a time.
    """
    out = np.empty(len(words[0]), dtype=np.uint64)
    for start in range(0, len(out), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        out[part] = _siphash([word[part] for word in words], secret)
    return out


def _siphash(words: Sequence[Keys], secret: bytes) -> Keys:
    keys = np.tile(np.frombuffer(secret, dtype="<u8").astype(np.uint64), 2)
    start = keys ^ np.frombuffer(
        b"somepseudorandomlygeneratedbytes", dtype=">u8"
    ).astype(np.uint64)
    v0, v1, v2, v3 = (np.full(len(words[0]), one) for one in start)
    spare = np.empty_like(v0)

    def rotate(v: Keys, left: int) -> None:
        np.left_shift(v, np.uint64(left), out=spare)
        np.right_shift(v, np.uint64(64 - left), out=v)
        np.bitwise_or(v, spare, out=v)

    def mix_in(one: Keys, other: Keys, left: int) -> None:
        one += other
        rotate(other, left)
        other ^= one

    def rounds(times: int) -> None:
        for _ in range(times):
            mix_in(v0, v1, 13)
            rotate(v0, 32)
            mix_in(v2, v3, 16)
            mix_in(v0, v3, 21)
            mix_in(v2, v1, 17)
            rotate(v2, 32)

    length = np.full(len(v0), np.uint64((8 * len(words)) % 256 << 56))
    for word in (*words, length):
        np.bitwise_xor(v3, word, out=v3)
        rounds(2)
        np.bitwise_xor(v0, word, out=v0)
    np.bitwise_xor(v2, np.uint64(0xFF), out=v2)
    rounds(4)
    return np.asarray(v0 ^ v1 ^ v2 ^ v3)


def mix(bits: Keys) -> Keys:
    """The finalizer of splitmix64: every input bit moves every output bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _texts(series: nw.Series[Any]) -> tuple[IntArray, list[str]]:
    """Which of a column's distinct values each row holds, -1 where it is missing; and
    these values as strings.
    """
    codes, values = levels(series)
    if series.dtype == nw.String:
        return codes, [plain_time(value) for value in values]
    if series.dtype != nw.Datetime or getattr(series.dtype, "time_unit", "") != "ns":
        return codes, [str(value) for value in values]
    # Python's own times leave out what is below a microsecond.
    given, where = np.flatnonzero(codes >= 0), np.zeros(len(values), dtype=np.int64)
    where[codes[given]] = given
    held = series[where]
    below = [
        f" {stamp % 1000} ns" if stamp % 1000 else ""
        for stamp in held.dt.timestamp("ns").to_list()
    ]
    return codes, [
        str(value) + rest for value, rest in zip(held.to_list(), below, strict=True)
    ]


def _numbered(texts: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Which of the distinct strings each one is, and these."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([places[text] for text in texts], dtype=np.int64), list(places)


def plain_time(text: str) -> str:
    """A time as a typed column has it, with or without T, zone and digits below a
    second; any other text as it is.
    """
    if not (found := _TIME.match(text)):
        return text
    day, hours, below, zone = found.groups(default="")
    micro, nano = below.ljust(9, "0")[:6], int(below.ljust(9, "0")[6:])
    zone = {"": "", "Z": "+00:00"}.get(zone, f"{zone[:3]}:{zone[-2:]}")
    return (
        f"{day} {hours}"
        + (f".{micro}" if int(micro) else "")
        + zone
        + (f" {nano} ns" if nano else "")
    )


@dataclass(frozen=True)
class Fingerprint:
    """The fingerprint of some columns of data, computed when it is first asked for: it
    costs a pass.
    """

    engine: Engine
    columns: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        digests = run(
            self.engine,
            partial(row_digests, columns=self.columns),
            self.columns,
            _joined,
        )
        names = "".join(f"{len(name)}:{name}" for name in sorted(self.columns))
        found = hashlib.blake2b(f"{len(digests)} rows {names}".encode(), digest_size=32)
        halves = np.ascontiguousarray(digests).view(">u8").astype(np.uint64)
        found.update(digests[np.lexsort((halves[:, 1], halves[:, 0]))].tobytes())
        return found.hexdigest()


def _joined(one: Digests, other: Digests) -> Digests:
    return np.concatenate([one, other])


def fingerprint(data: FrameLike, columns: Sequence[str] | None = None) -> str:
    """The fingerprint of the named columns, by default all, wherever the data live."""
    engine = as_engine(data, None, workers=1)
    return Fingerprint(
        engine, tuple(engine.columns if columns is None else columns)
    ).digest
