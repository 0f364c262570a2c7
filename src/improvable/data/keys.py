"""Keys that tell rows apart, and fingerprints of whole tables: the same for any frame library, file kind and row order.

A row's key is SipHash-2-4 of its values under a key that follows from the audit's seed, so that nobody can make rows
that collide before the seed is known. A fingerprint is BLAKE2b of the sorted BLAKE2b digests of all rows: it adds up
over batches in any order, and no two tables that differ have the same one.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.data.frames import Rows, text_of
from improvable.errors import DataError

Keys: TypeAlias = NDArray[np.uint64]
MOST_EXACT_INTEGER = 2**53
DIGEST = 16
"""Bytes of a row's digest, and of a text's inside it."""
ROWS_AT_A_TIME = 1 << 15
"""Rows whose hash state stays in a core's cache."""
NUMBER, MISSING = 0, 1
"""First words of a value that is a number, or missing; a text has its own digest there."""
_NAN = np.array([np.nan]).view(np.uint64)[0]


@dataclass(frozen=True)
class Keying:
    """Keys of rows under a seed."""

    seed: int

    @cached_property
    def secret(self) -> bytes:
        """The 16 bytes under which rows are hashed."""
        return hashlib.blake2b(f"improvable rows {self.seed}".encode(), digest_size=16).digest()

    def of(self, rows: Rows, columns: Sequence[str]) -> Keys:
        """The key of every row, by the content of some columns.

        Examples
        --------
        >>> import polars as pl
        >>> from improvable.data.frames import read_rows
        >>> whole = read_rows(pl.DataFrame({"y": [1, 2, 2], "g": ["a", "b", "b"]}))
        >>> real = read_rows(pl.DataFrame({"g": ["a", "b", "b"], "y": [1.0, 2.0, 2.0]}))
        >>> keys = Keying(1).of(whole, ["y", "g"])
        >>> bool((keys == Keying(1).of(real, ["g", "y"])).all()), bool(keys[1] == keys[2]), bool(keys[0] == keys[1])
        (True, True, False)
        """
        words = [self._words(rows, name) for name in sorted(columns)]
        return siphash(words, self.secret) if words else np.zeros(len(rows), dtype=np.uint64)

    def _words(self, rows: Rows, name: str) -> Keys:
        """64 bits of each value of a column; texts are hashed under the same secret."""
        bits, exact = number_bits(rows, name)
        if exact is None:
            return bits
        index, texts = exact
        known = {text: _int(hashlib.blake2b(text.encode(), digest_size=8, key=self.secret)) for text in set(texts)}
        bits[index] = np.fromiter(map(known.__getitem__, texts), dtype=np.uint64, count=len(texts))
        return bits


def tell_apart(rows: Rows, keying: Keying, columns: Sequence[str], row_id: str | None = None) -> Keys:
    """Keys of rows in memory: equal rows are told apart by how often they have occurred; a row id must not repeat.

    Different rows with the same key are refused. By chance there are none; someone who knows the seed could make some,
    and then the order of the file would decide which is which.
    """
    keys = np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        keys[part] = keying.of(Rows(rows.frame[part]), columns)
    order = np.argsort(keys, kind="stable")
    repeats = np.zeros(len(rows), dtype=np.bool_)
    repeats[1:] = keys[order[1:]] == keys[order[:-1]]
    if not repeats.any():
        return keys
    if row_id is not None:
        raise shared_row_id(row_id, int(repeats.sum()))
    starts = np.flatnonzero(~repeats)
    run = np.cumsum(~repeats) - 1
    shared = repeats.copy()
    shared[:-1] |= repeats[1:]
    alike = order[shared]
    digests = row_digests(Rows(rows.frame[np.sort(alike)]), columns)
    place = np.searchsorted(np.sort(alike), alike)
    first = np.searchsorted(np.sort(alike), order[starts[run[shared]]])
    if (digests[place] != digests[first]).any():
        raise DataError(
            "two different rows have the same key, which chance does not do.",
            "Name a column that differs in every row: `row_id=...`.",
        )
    occurrence = np.arange(len(rows)) - starts[run]
    again = np.flatnonzero(repeats)
    keys[order[again]] = siphash([keys[order[again]], occurrence[again].astype(np.uint64)], keying.secret)
    return keys


def shared_row_id(row_id: str, repeats: int) -> DataError:
    return DataError(
        f"{repeats:,} rows repeat the '{row_id}' of another, so it is not a row id.",
        "Name one that differs in every row; rows that belong together go by `cluster=...`.",
    )


def row_digests(rows: Rows, columns: Sequence[str]) -> NDArray[np.uint8]:
    """BLAKE2b of every row's values in these columns, shape (rows, 16)."""
    words = np.empty((len(rows), 2 * len(columns)), dtype="<u8")
    for j, name in enumerate(sorted(columns)):
        bits, exact = number_bits(rows, name)
        missing = bits == _NAN
        words[:, 2 * j] = np.where(missing, MISSING, NUMBER)
        words[:, 2 * j + 1] = np.where(missing, 0, bits)
        if exact is not None:
            index, texts = exact
            known = {text: hashlib.blake2b(text.encode(), digest_size=DIGEST).digest() for text in set(texts)}
            joined = b"".join(map(known.__getitem__, texts))
            words[index, 2 * j : 2 * j + 2] = np.frombuffer(joined, dtype="<u8").reshape(-1, 2)
    content, width = words.tobytes(), words.shape[1] * 8
    digests = b"".join(
        hashlib.blake2b(content[start : start + width], digest_size=DIGEST).digest()
        for start in range(0, len(content), max(1, width))
    )
    return np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST)


def fingerprint_of(digests: NDArray[np.uint8], columns: Sequence[str]) -> str:
    """The fingerprint of a table from the digests of its rows, in any order.

    Examples
    --------
    >>> import polars as pl
    >>> from improvable.data.frames import read_rows
    >>> frame = pl.DataFrame({"y": [1, 2, 3], "g": ["a", "b", "b"]})
    >>> turned = frame.select("g", pl.col("y").cast(pl.Float32)).reverse()
    >>> one, other = (row_digests(read_rows(f), ["y", "g"]) for f in (frame, turned))
    >>> fingerprint_of(one, ["y", "g"]) == fingerprint_of(other, ["g", "y"])
    True
    """
    names = "".join(f"{len(name)}:{name}" for name in sorted(columns))
    found = hashlib.blake2b(f"{len(digests)} rows {names}".encode(), digest_size=32)
    halves = np.ascontiguousarray(digests).view(">u8").astype(np.uint64)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    found.update(digests[order].tobytes())
    return found.hexdigest()


def number_bits(rows: Rows, name: str) -> tuple[Keys, tuple[IntArray, list[str]] | None]:
    """64 bits of each value of a column, the same in any frame library and for numbers of any width.

    Values that are no float64 (texts, dates, long ids, decimals with many digits) come beside them: which rows have
    them, and what they are as texts. What is missing has the bits of NaN.
    """
    if not rows.is_numeric(name):
        texts = _texts(rows.frame[name])
        given = [row for row, text in enumerate(texts) if text is not None]
        bits = np.full(len(rows), _NAN, dtype=np.uint64)
        return bits, (np.array(given, dtype=np.int64), [f"={texts[row]}" for row in given])
    values = rows.read_numbers(name) + 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan  # one NaN among its many bit patterns
    bits = values.view(np.uint64)
    rough = np.flatnonzero(_beyond_floats(rows, name, values))
    if not len(rough):
        return bits, None
    exact = _exact_texts(rows.frame[name])
    return bits, (rough, [f"#{exact[row]}" for row in rough])


def siphash(words: Sequence[Keys], secret: bytes) -> Keys:
    """SipHash-2-4 of rows of 64-bit words, one array per word; as many bytes long as the words have.

    Aumasson and Bernstein, SipHash: a fast short-input PRF (2012).
    """
    out = np.empty(len(words[0]), dtype=np.uint64)
    for start in range(0, len(out), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        out[part] = _siphash([word[part] for word in words], secret)
    return out


def _siphash(words: Sequence[Keys], secret: bytes) -> Keys:
    k0, k1 = np.frombuffer(secret, dtype="<u8").astype(np.uint64)
    size = len(words[0])
    v0 = np.full(size, k0 ^ np.uint64(0x736F6D6570736575))
    v1 = np.full(size, k1 ^ np.uint64(0x646F72616E646F6D))
    v2 = np.full(size, k0 ^ np.uint64(0x6C7967656E657261))
    v3 = np.full(size, k1 ^ np.uint64(0x7465646279746573))
    spare = np.empty(size, dtype=np.uint64)

    def turn(v: Keys, left: int) -> None:
        np.left_shift(v, np.uint64(left), out=spare)
        np.right_shift(v, np.uint64(64 - left), out=v)
        np.bitwise_or(v, spare, out=v)

    def rounds(times: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(times):
            v0 += v1
            turn(v1, 13)
            v1 ^= v0
            turn(v0, 32)
            v2 += v3
            turn(v3, 16)
            v3 ^= v2
            v0 += v3
            turn(v3, 21)
            v3 ^= v0
            v2 += v1
            turn(v1, 17)
            v1 ^= v2
            turn(v2, 32)

    length = np.full(size, np.uint64((8 * len(words)) % 256 << 56))
    for word in (*words, length):
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= np.uint64(0xFF)
    rounds(4)
    return np.asarray(v0 ^ v1 ^ v2 ^ v3)


def mix(bits: Keys) -> Keys:
    """The finalizer of splitmix64: every input bit moves every output bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _beyond_floats(rows: Rows, name: str, values: FloatArray) -> BoolArray:
    """Which numbers a float would run together with others: long ids, decimals with many digits."""
    dtype = rows.kind(name)
    if not (dtype.is_integer() or dtype.is_decimal()):
        return np.zeros(len(values), dtype=np.bool_)
    rough = np.abs(values) >= MOST_EXACT_INTEGER
    if dtype.is_decimal():
        pairs = zip(rows.frame[name].to_list(), values.tolist(), strict=True)
        rough |= np.array([value is not None and Decimal(rounded) != value for value, rounded in pairs])
    return rough


def _exact_texts(series: nw.Series[Any]) -> list[str | None]:
    """Numbers with all their digits, the same for whole numbers and decimals."""
    values = [None if text_of(value) is None else Decimal(str(value)) for value in series.to_list()]
    return [None if value is None else f"{value.normalize():f}" for value in values]


def _texts(series: nw.Series[Any]) -> list[str | None]:
    """Values as texts; of times, also what is below a microsecond, which Python's own times leave out."""
    values = series.to_list()
    if series.dtype == nw.String:
        given = [text_of(value) for value in values]
        known = {text: plain_time(text) for text in set(given) if text is not None}
        return [None if text is None else known[text] for text in given]
    texts = [text_of(value) for value in values]
    if series.dtype == nw.Datetime and getattr(series.dtype, "time_unit", "") == "ns":
        below = [stamp % 1000 if stamp is not None else 0 for stamp in series.dt.timestamp("ns").to_list()]
        texts = [f"{text} {rest} ns" if text and rest else text for text, rest in zip(texts, below, strict=True)]
    return texts


def plain_time(text: str) -> str:
    """A time in a text file as a typed column has it; any other text as it is.

    Libraries write the same time in several ways: with a T or a space, with or without digits below a second.

    Examples
    --------
    >>> plain_time("2020-03-12T21:23:29.000000"), plain_time("2020-08-02T10:00:00.500000+0000"), plain_time("10:00 T")
    ('2020-03-12 21:23:29', '2020-08-02 10:00:00.500000+00:00', '10:00 T')
    """
    if not (found := _TIME.match(text)):
        return text
    day, hours, below, zone = found.groups()
    digits = (below or "").ljust(9, "0")
    micro, nano = digits[:6], int(digits[6:])
    fine = f".{micro}" if int(micro) else ""
    zone = {"": "", "Z": "+00:00"}.get(zone or "", f"{(zone or '')[:3]}:{(zone or '')[-2:]}")
    return f"{day} {hours}" + fine + zone + (f" {nano} ns" if nano else "")


_TIME = re.compile(r"^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?$")


def _int(digest: Any) -> int:
    return int.from_bytes(digest.digest(), "little")
