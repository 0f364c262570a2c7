"""Rows that are there twice: a candidate would be tested on the people that it learned from.

Equal rows are no proof of copies. Where features are coarse (an age, a few flags) many people are alike, and drawing
them from a population makes equal rows by chance. Two things tell copies from coincidence, whatever the population:

- Where people are alike by chance, many more are alike but for one thing. Of pairs of rows that agree in all columns
  but one, let D disagree in it and A agree in it too. Two people agree in that column with a probability c, so chance
  makes about A = D c / (1 - c) of them. Copies agree in everything: whichever column is left out, A is many times that.
  Rows that are alike in large numbers (the healthy, who have all zeros) say nothing, and are left out.
- The numbers of contents that occur once, twice, three times, ... in rows drawn independently are a mixture of Poisson
  distributions, so that m(k) = k! f(k) is log-convex: m(k)^2 <= m(k - 1) m(k + 1). With every row there twice, contents
  that occur twice are many, and those that occur once or three times are none. Contents that occur dozens of times do
  so an odd number of times as often as an even one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.data.engines import Engine
from improvable.data.engines.batches import run
from improvable.data.frames import Rows
from improvable.data.keys import Keys, mix, number_bits
from improvable.data.sample import Reading

MOST_SHARE = 0.01
"""Rows that repeat another up to this share are harmless."""
MOST_CONTENTS = 1 << 21
"""So many rows are counted; of more, those whose content has a low hash, all copies of it together."""
MOST_COLUMNS = 40
"""Columns that are left out in turn: those with the most different values."""
MOST_COMPARED = 5
"""Columns whose values occur as often, with which a column is compared."""
MOST_ALIKE, FEWEST_PAIRS = 20, 5
LEAST_BY_CHANCE = 0.2
"""Of equal pairs: where chance explains fewer, they are copies. Columns that depend on each other explain too few;
`benchmarks/copies.py` measures how often that refuses people who are alike, and how often copies are missed."""
TELLS_APART = 0.9
"""Of different contents: a column with as many values tells them apart."""
MOST_COPIES, MOST_TIMES, STANDARD_ERRORS = 5, 60, 4.0
OFTEN, IN_MULTIPLES, MULTIPLE_ERRORS = 20, 0.8, 6.0
"""Contents that occur at least so many times are copied if this share of them occurs a multiple of m times, and if that
is so many standard errors more than one in m."""
GRAIN = 0.002
"""Of a standard deviation: numbers that are this near are nearly the same."""


@dataclass(frozen=True)
class Contents:
    """Hashes of what rows hold, as far as their first `bits` bits are zero, and of the clusters that rows are in."""

    keys: Keys
    clusters: Keys | None = None
    bits: int = 0

    def kept(self, bits: int) -> "Contents":
        """Those with more zeros."""
        if bits <= self.bits:
            return self
        low = self.keys >> np.uint64(64 - bits) == 0
        return Contents(self.keys[low], None if self.clusters is None else self.clusters[low], bits)

    def across_clusters(self) -> Keys:
        """What rows hold; in each cluster once, since its rows teach together and are tested together."""
        if self.clusters is None:
            return self.keys
        return np.unique(np.stack([self.keys, self.clusters], axis=1), axis=0)[:, 0]


@dataclass(frozen=True)
class Hashing:
    """The work of the pass that counts repeated rows."""

    reading: Reading
    columns: tuple[str, ...]
    clusters: tuple[str, ...] = ()

    def __call__(self, rows: Rows) -> Contents:
        rows, keying = self.reading.sample(rows).rows, self.reading.keying
        return _few(Contents(keying.of(rows, self.columns), keying.of(rows, self.clusters) if self.clusters else None))


def merge_contents(one: Contents, other: Contents) -> Contents:
    """The same in whatever order batches come: the fewest bits with which the hashes are few enough."""
    bits = max(one.bits, other.bits)
    first, second = one.kept(bits), other.kept(bits)
    clusters = None
    if first.clusters is not None and second.clusters is not None:
        clusters = np.concatenate([first.clusters, second.clusters])
    return _few(Contents(np.concatenate([first.keys, second.keys]), clusters, bits))


def _few(contents: Contents) -> Contents:
    while len(contents.keys) > MOST_CONTENTS:
        contents = contents.kept(contents.bits + 1)
    return contents


@dataclass(frozen=True)
class Repeats:
    """How often rows repeat others.

    Attributes
    ----------
    share : float
        Of rows that repeat another one, in contents that occur a few times: what occurs often is an atom of the
        population, such as the healthy, and not somebody's copies.
    times : array
        How many contents occur 0, 1, 2, ... times.
    """

    share: float
    times: IntArray

    @property
    def repeated(self) -> float:
        """The share of all rows that repeat another one, however often."""
        rows = int((np.arange(len(self.times)) * self.times).sum())
        return 1 - int(self.times.sum()) / rows if rows else 0.0

    @property
    def uneven(self) -> bool:
        """Whether contents that occur a number of times are too many for independent draws from any population."""
        often = np.concatenate([self.times, np.zeros(MOST_TIMES + 2, dtype=np.int64)]).astype(np.float64)
        for k in range(2, MOST_TIMES):
            sure = max(often[k] - STANDARD_ERRORS * np.sqrt(often[k]), 0.0)
            least = k / (k + 1) * sure**2 / max(often[k - 1] + STANDARD_ERRORS * np.sqrt(often[k - 1]), 1.0)
            if often[k + 1] < least - STANDARD_ERRORS * np.sqrt(least):
                return True
        return self._in_multiples

    @property
    def _in_multiples(self) -> bool:
        """Whether contents that occur often do so in multiples: of many people who are all there twice, even times.

        Of contents that independent draws make so often, about one in m occurs a multiple of m times.
        """
        often = np.arange(len(self.times)) >= OFTEN
        contents = int(self.times[often].sum())
        for m in range(2, MOST_COPIES + 1):
            found = int(self.times[often & (np.arange(len(self.times)) % m == 0)].sum())
            error = np.sqrt(contents * (m - 1)) / m
            if found > IN_MULTIPLES * contents and found - contents / m > MULTIPLE_ERRORS * error:
                return True
        return False


def count_repeats(
    engine: Engine, reading: Reading, columns: Sequence[str], read: Sequence[str], clusters: Sequence[str] = ()
) -> Repeats:
    """Count, over all rows, how many repeat another one in these columns; with clusters, one of another cluster."""
    found = run(engine, Hashing(reading, tuple(columns), tuple(clusters)), read, merge_contents)
    return repeats_of(found.across_clusters())


def repeats_of(keys: Keys) -> Repeats:
    """The same from hashes of contents."""
    _, counts = np.unique(keys, return_counts=True)
    share = float((counts[counts <= MOST_COPIES] - 1).sum()) / len(keys) if len(keys) else 0.0
    return Repeats(share, np.bincount(counts).astype(np.int64))


def are_copies(found: Repeats, words: Callable[[], Sequence[Keys]]) -> bool:
    """Whether rows repeat others in more than chance makes.

    Parameters
    ----------
    words : callable
        64 bits of each value, one array per column, of rows by which copies are told from coincidence; called only
        where there are repeats to be told.
    """
    if found.uneven:
        return True
    if found.share <= MOST_SHARE:
        return False
    chance = by_chance(words())
    return chance is not None and chance < LEAST_BY_CHANCE


def by_chance(words: Sequence[Keys]) -> float | None:
    """The share of pairs of equal rows that chance makes, judged by the column that explains the most.

    Parameters
    ----------
    words : sequence of arrays
        64 bits of each value, one array per column.

    Returns
    -------
    float or None
        About one or more where people are alike by chance, about zero for copies; None where too few pairs say.
    """
    words = _different(words)
    counted = [np.unique(word, return_counts=True)[1] for word in words]
    varied = sorted((j for j in range(len(words)) if len(counted[j]) > 1), key=lambda j: -len(counted[j]))
    hashed = {j: mix(word ^ mix(np.full(1, j, dtype=np.uint64) + _SALT)) for j, word in enumerate(words)}
    whole = np.zeros(len(words[0]), dtype=np.uint64)
    for part in hashed.values():
        whole += part
    # Where one column alone tells nearly all contents apart, nobody is like another by chance. Elsewhere few pairs say
    # little, and as many are taken to disagree as may well have: an upper bound of 98% of a Poisson mean.
    sure = bool(varied) and len(counted[varied[0]]) >= TELLS_APART * len(np.unique(whole))
    shares = []
    for j in varied[:MOST_COLUMNS]:
        _, group, sizes = np.unique(whole - hashed[j], return_inverse=True, return_counts=True)
        few = (sizes > 1) & (sizes <= MOST_ALIKE)
        _, alike = np.unique(whole[few[group]], return_counts=True)
        equal, pairs = _pairs(alike), _pairs(sizes[few])
        if equal >= FEWEST_PAIRS:
            agree = _pairs(counted[j]) / _pairs(np.array([len(whole)]))
            differ = float(pairs - equal) if sure else (np.sqrt(pairs - equal + 1) + 1) ** 2
            shares.append(differ * agree / (1 - agree) / equal)
    return max(shares) if shares else None


def _different(words: Sequence[Keys]) -> list[Keys]:
    """Columns without those that say the same as another in other words, such as a weight in kilograms and in pounds.

    With both, nobody who is alike but for the weight would be found: the other column differs too. Columns with a value
    for nearly every row say the same as any other such column, which means nothing.
    """
    kept: list[Keys] = []
    alike: dict[bytes, list[Keys]] = {}
    for word in words:
        _, counts = np.unique(word, return_counts=True)
        like = alike.setdefault(np.sort(counts).tobytes(), [])
        fine = 2 * len(counts) >= len(word)
        if not fine and any(len(np.unique(mix(word) ^ other)) == len(counts) for other in like[:MOST_COMPARED]):
            continue
        like.append(word)
        kept.append(word)
    return kept


_SALT = np.uint64(0x636F6C756D6E2021)


def _pairs(sizes: IntArray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def exact_words(rows: Rows, columns: Sequence[str]) -> list[Keys]:
    """64 bits of each value; texts are numbered."""
    return [_words(rows, name, None) for name in columns]


def rounded_words(rows: Rows, columns: Sequence[str]) -> list[Keys]:
    """The same, of numbers rounded to a grain of their standard deviation."""
    return [_words(rows, name, GRAIN) for name in columns]


def _words(rows: Rows, name: str, grain: float | None) -> Keys:
    if grain is not None and rows.is_numeric(name):
        values = rows.read_numbers(name)
        finite = values[np.isfinite(values)]
        spread = float(finite.std()) if len(finite) else 0.0
        return _bits(np.round(values / (grain * spread)) if spread > 0 else values)
    bits, exact = number_bits(rows, name)
    if exact is not None:
        index, texts = exact
        _, codes = np.unique(np.array(texts, dtype=np.str_), return_inverse=True)
        bits[index] = mix(codes.astype(np.uint64) + _SALT)
    return bits


def _bits(values: FloatArray) -> Keys:
    plain = values + 0.0
    plain[np.isnan(plain)] = np.nan
    return plain.view(np.uint64)


def hash_of(words: Sequence[Keys]) -> Keys:
    """One hash of all columns of each row."""
    whole = np.zeros(len(words[0]), dtype=np.uint64)
    for j, word in enumerate(words):
        whole += mix(word ^ mix(np.full(1, j, dtype=np.uint64) + _SALT))
    return whole


def near_twins(rows: Rows, columns: Sequence[str]) -> float:
    """The share of rows that have a twin once numbers are rounded to a grain of their standard deviation."""
    words = rounded_words(rows, columns)
    _, group, sizes = np.unique(hash_of(words), return_inverse=True, return_counts=True)
    return float((sizes[group] > 1).mean()) if len(rows) else 0.0
