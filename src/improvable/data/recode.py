"""What values mean: which of two is 1, which mean that nothing is known, which are spelled two ways.

Columns are looked at once, as a whole; what was found is then applied to every batch, so that every engine reads the
same numbers. Outcomes, decisions and groups are recoded. A candidate reads features as they stand, because it must read
them so where it is put to use, with one exception: a text among numbers, such as n/a, is missing where the caller says
so. A number that means missing elsewhere, such as 9, may be a plain number in a feature, and stays one.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np

from improvable._typing import IntArray
from improvable.data.engines import Engine
from improvable.data.engines.base import Merge, T, Work, run
from improvable.data.engines.memory import Memory
from improvable.data.frame import Rows, as_number, labeltext_of, levels, two_levels
from improvable.data.io.csv import Note
from improvable.data.quality import plain_spelling
from improvable.errors import DataError, ImprovableError, OptionError, nearest
from improvable.question.options import as_names, plain_positive
from improvable.question.settings import Settings

MOST_KEPT = 60
"""Levels of a column that are told apart."""
MOST_SHOWN = 5
FLAGS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Values:
    """What the caller says of values: which are 1, bare (`positive`) or by column (`meant`), and which mean missing."""

    positive: tuple[str, ...] = ()
    meant: Mapping[str, str] = field(default_factory=dict)
    na: tuple[str, ...] = ()
    strip: bool = False


def values_of(settings: Settings) -> Values:
    """What the settings say of values."""
    said = plain_positive(settings.positive)
    bare, meant = ((), said) if isinstance(said, dict) else (tuple(said), {})
    return Values(bare, meant, as_names(settings.na), settings.strip)


def recode(
    engine: Engine, said: Values, numeric: Sequence[str], groups: Sequence[str], features: Sequence[str] = ()
) -> Engine:
    """The same data with outcomes, decisions (`numeric`), groups and features as the caller says they are read."""
    if said == Values():
        return engine
    columns = [*dict.fromkeys(numeric), *groups]
    seen = run(engine, Looking(tuple(columns), said.na), columns, merge_levels)
    marks = tuple(value for value in said.na if as_number(value) is None)
    others = [name for name in features if name not in columns] if marks else []
    strays = run(engine, Straying(tuple(others), marks), others, merge_strays) if others else {}
    recoding = find_recoding(seen, said, numeric, groups, {name: gone for name, gone in strays.items() if gone})
    if isinstance(engine, Memory):
        rows = recoding.apply(engine.rows)
        return replace(engine, rows=replace(rows, notes=(*engine.notes, *recoding.notes)))
    return Recoded(engine, recoding)


@dataclass(frozen=True)
class Levels:
    """The levels of a column, each with its rows: texts, numbers, and what means missing and is in neither."""

    texts: Counter[str] = field(default_factory=Counter)
    numbers: Counter[str] = field(default_factory=Counter)
    gone: Counter[str] = field(default_factory=Counter)

    @property
    def all(self) -> Counter[str]:
        return self.texts + self.numbers


@dataclass(frozen=True)
class Looking:
    """The work of a look at some columns."""

    columns: tuple[str, ...]
    na: tuple[str, ...]

    def __call__(self, rows: Rows) -> dict[str, Levels]:
        return {name: _levels(rows, name, self.na) for name in self.columns}


def _levels(rows: Rows, name: str, na: Sequence[str]) -> Levels:
    texts, numbers, gone = Counter[str](), Counter[str](), Counter[str]()
    for text, times in _counts(rows, name).items():
        meant = any(same_value(value, text) for value in na)
        (gone if meant else texts if as_number(text) is None else numbers)[text] = times
    return Levels(_few(name, texts), _kept(numbers), gone)


def _held(rows: Rows, name: str) -> tuple[IntArray, list[str]]:
    """Which level each row of a column holds, -1 where it is missing; and the levels."""
    if rows.is_numeric(name) and rows.kind(name) != nw.Boolean:
        numbers, codes = np.unique(rows.read_numbers(name), return_inverse=True)
        codes[np.isnan(numbers)[codes]] = -1
        return codes, [labeltext_of(number) for number in numbers[~np.isnan(numbers)].tolist()]  # NaN comes last
    codes, values = levels(rows.frame[name])
    return codes, [labeltext_of(value) for value in values]


def _counts(rows: Rows, name: str) -> Counter[str]:
    """How many rows have each level of a column."""
    codes, texts = _held(rows, name)
    found: Counter[str] = Counter()
    for text, times in zip(texts, np.bincount(codes[codes >= 0], minlength=len(texts)).tolist(), strict=True):
        found[text] += times
    return found


def _few(name: str, texts: Counter[str]) -> Counter[str]:
    if len(texts) > MOST_KEPT:
        raise DataError(
            f"column '{name}' has more than {MOST_KEPT} levels, such as '{min(texts)[:40]}'.",
            "Outcomes and decisions are numbers or one of two levels; groups are few.",
        )
    return texts


def _kept(numbers: Counter[str]) -> Counter[str]:
    """As many numbers as may be levels, the same for any order of batches."""
    return Counter(dict(sorted(numbers.items())[: MOST_KEPT + 1]))


def merge_levels(one: dict[str, Levels], other: dict[str, Levels]) -> dict[str, Levels]:
    merged = {}
    for name, here in one.items():
        there = other[name]
        texts, numbers = _few(name, here.texts + there.texts), _kept(here.numbers + there.numbers)
        merged[name] = Levels(texts, numbers, here.gone + there.gone)
    return merged


Strays = dict[str, Counter[str] | None]
"""Of each column, how often texts that mean missing occur among its numbers; None where it holds other texts too."""


@dataclass(frozen=True)
class Straying:
    """The work of finding texts that mean missing in columns that are otherwise numbers."""

    columns: tuple[str, ...]
    marks: tuple[str, ...]

    def __call__(self, rows: Rows) -> Strays:
        return {name: self._strays(rows, name) for name in self.columns}

    def _strays(self, rows: Rows, name: str) -> Counter[str] | None:
        if rows.is_numeric(name):
            return Counter()
        if rows.is_nested(name) or rows.is_date(name):
            return None
        counts = _counts(rows, name)
        gone = Counter({text: n for text, n in counts.items() if any(same_value(mark, text) for mark in self.marks)})
        return gone if all(text in gone or as_number(text) is not None for text in counts) else None


def merge_strays(one: Strays, other: Strays) -> Strays:
    pairs = {name: (here, other[name]) for name, here in one.items()}
    return {name: None if here is None or there is None else here + there for name, (here, there) in pairs.items()}


@dataclass(frozen=True)
class Recoding:
    """What becomes of values.

    Attributes
    ----------
    codes : dict
        Of columns with two levels, the number of each text; any other text is missing.
    labels : dict
        Of group columns, the name of each text; None where it means missing.
    holes : dict
        Of columns of numbers, the texts that mean missing.
    notes : tuple of Note
    """

    codes: Mapping[str, Mapping[str, float]]
    labels: Mapping[str, Mapping[str, str | None]]
    holes: Mapping[str, frozenset[str]]
    notes: tuple[Note, ...]

    def apply(self, rows: Rows) -> Rows:
        """The same rows with what is recoded."""
        new = [self._series(rows, name) for name in (*self.codes, *self.holes, *self.labels) if name in rows.columns]
        return Rows(rows.frame.with_columns(new), rows.keys, rows.notes) if new else rows

    def _series(self, rows: Rows, name: str) -> nw.Series[Any]:
        backend = rows.frame.implementation
        if name in self.holes and rows.is_numeric(name):
            numbers = rows.read_numbers(name)
            gone = [float(text) for text in self.holes[name] if as_number(text) is not None]
            kept = np.where(np.isin(numbers, gone), np.nan, numbers).tolist()
            return nw.new_series(name, [None if one != one else one for one in kept], nw.Float64, backend=backend)
        codes, texts = _held(rows, name)
        meant = np.array([*(self._meant(name, text) for text in texts), None], dtype=object)[codes]  # -1 is the last
        dtype = nw.String if name in self.labels else nw.Float64
        return nw.new_series(name, meant.tolist(), dtype, backend=backend)

    def _meant(self, name: str, text: str) -> float | str | None:
        """What one level of a column is read as."""
        if name in self.codes:
            return self.codes[name].get(text)
        if name in self.holes:
            return None if text in self.holes[name] else float(text)
        return self.labels[name].get(text, text)


@dataclass(frozen=True)
class Recoded:
    """An engine whose batches are recoded before anything else sees them."""

    engine: Engine
    recoding: Recoding

    @property
    def columns(self) -> list[str]:
        return self.engine.columns

    @property
    def backend(self) -> nw.Implementation:
        return self.engine.backend

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*self.engine.notes, *self.recoding.notes)

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        return self.engine.fold(_First(self.recoding, work), columns, merge)


@dataclass(frozen=True)
class _First:
    """Recode, then work."""

    recoding: Recoding
    work: Callable[[Rows], Any]

    def __call__(self, rows: Rows) -> Any:
        return self.work(self.recoding.apply(rows))


def find_recoding(
    seen: Mapping[str, Levels],
    said: Values,
    numeric: Sequence[str],
    groups: Sequence[str],
    strays: Strays,
) -> Recoding:
    """What becomes of the values that were seen; what cannot be, or changes nothing, is refused.

    Parameters
    ----------
    strays : mapping
        Of features that are numbers but for them, the texts that mean missing.
    """
    codes: dict[str, dict[str, float]] = {}
    holes = {name: frozenset(found) for name, found in strays.items() if found}
    labels: dict[str, dict[str, str | None]] = {}
    notes: list[str] = []
    columns = list(dict.fromkeys(numeric))
    kinds = {name: _kinds(seen[name], said.strip) for name in columns}
    wanted, vain = _meant(said, seen, kinds)
    for name in columns:
        held, spelled = seen[name], kinds[name]
        if name in wanted:
            one = wanted[name]
            codes[name] = {text: float(spelled[text] == one) for text in held.all}
            zero = next(kind for kind in spelled.values() if kind != one)
            rows = {kind: sum(held.all[text] for text in spelled if spelled[text] == kind) for kind in (one, zero)}
            notes.append(
                f"'{name}' is 1 where it says '{one}' ({rows[one]:,} rows) and 0 where it says '{zero}' "
                f"({rows[zero]:,} rows)."
            )
        elif held.texts:
            raise _unreadable(name, held.all, sorted(set(spelled.values())), said)
        elif held.gone:
            holes[name] = frozenset(held.gone)
        notes += _gone_notes(name, held.gone)
    if vain:
        known = [kind for spelled in kinds.values() if len(set(spelled.values())) == 2 for kind in spelled.values()]
        raise OptionError(
            f"`positive` is '{vain[0]}', which no outcome or decision with two values holds.", nearest(vain[0], known)
        )
    for name in groups:
        spelled = _spellings(seen[name].all) if said.strip else {}
        changed = {text: kind for text, kind in spelled.items() if text != kind}
        if seen[name].gone or changed:
            labels[name] = {**changed, **dict.fromkeys(seen[name].gone)}
        for kind in sorted(set(changed.values())):
            others = [f"'{text}'" for text in sorted(changed) if changed[text] == kind]
            notes.append(f"{' and '.join(others)} of '{name}' {'is' if len(others) == 1 else 'are'} read as '{kind}'.")
        notes += _gone_notes(name, seen[name].gone)
    for name, found in strays.items():
        notes += _gone_notes(name, found or {})
    gone = {text for found in (*(one.gone for one in seen.values()), *strays.values()) for text in found or ()}
    nowhere = [value for value in said.na if not any(same_value(value, text) for text in gone)]
    notes += [f"'{value}' is to be read as missing, and occurs nowhere." for value in nowhere]
    return Recoding(codes, labels, holes, tuple(map(Note, notes)))


def _kinds(held: Levels, strip: bool) -> dict[str, str]:
    """From each level to what it is read as: itself, or the most frequent of its spellings."""
    return _spellings(held.all) if strip and held.texts else {text: text for text in held.all}


def _meant(
    said: Values, seen: Mapping[str, Levels], kinds: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, str], list[str]]:
    """Of each column whose values are to be read as 0 and 1, the one that is 1; and bare values that none holds."""
    held = {name: sorted(set(spelled.values())) for name, spelled in kinds.items()}
    wanted, vain = {}, []
    for name, value in said.meant.items():
        if name not in held:
            raise OptionError(
                f"`positive` names '{name}', which is neither an outcome nor a decision.", nearest(name, list(held))
            )
        found = next((kind for kind in held[name] if same_value(value, kind)), None)
        if found is None:
            raise OptionError(f"'{name}' does not hold '{value}'.", nearest(value, held[name]))
        if len(held[name]) != 2:
            raise _unreadable(name, seen[name].all, held[name], said)
        wanted[name] = found
    for value in said.positive:
        # A column of 0 and 1 already is what positive=1 would make of it.
        of = [
            (name, kind)
            for name, two in held.items()
            for kind in two
            if len(two) == 2 and same_value(value, kind) and not (as_number(value) == 1 and _is_flag(two))
        ]
        flags = any(as_number(value) == 1 and _is_flag(two) for two in held.values())
        if len(of) > 1:
            raise _ambiguous(value, [(name, held[name]) for name, _ in of])
        if not of and not flags:
            vain.append(value)
        wanted |= dict(of)
    return wanted, vain


def _is_flag(kinds: Sequence[str]) -> bool:
    return {as_number(kind) for kind in kinds} == {0.0, 1.0}


def _ambiguous(value: str, columns: Sequence[tuple[str, Sequence[str]]]) -> OptionError:
    """A bare value that two columns hold: it may mean one thing in one of them and another in the other."""
    (first, _), (second, two) = columns[:2]
    other = next(kind for kind in two if not same_value(value, kind))
    same, opposite = ({first: value, second: kind} for kind in (value, other))
    return OptionError(
        f"`positive` is '{value}', which both '{first}' and '{second}' hold.",
        f"Say it for each: `positive={same}` or `positive={opposite}`.",
    )


def same_value(said: str, text: str) -> bool:
    """Whether a text is the one that was said: as it is, but for spaces and capitals, or as the same number."""
    if said == text or plain_spelling(said) == plain_spelling(text):
        return True
    one, other = (FLAGS.get(plain_spelling(some), as_number(some)) for some in (said, text))
    return one is not None and one == other


def _spellings(levels: Mapping[str, int]) -> dict[str, str]:
    """Each level's most frequent spelling, without spaces around it."""
    alike: dict[str, Counter[str]] = {}
    for text, times in levels.items():
        alike.setdefault(plain_spelling(text), Counter())[" ".join(text.split())] += times
    best = {plain: min(counts, key=lambda text: (-counts[text], text)) for plain, counts in alike.items()}
    return {text: best[plain_spelling(text)] for text in levels}


def _gone_notes(name: str, gone: Mapping[str, int]) -> list[str]:
    return [
        f"'{text}' is read as missing in '{name}': {gone[text]:,} row{'' if gone[text] == 1 else 's'}."
        for text in sorted(gone)
    ]


def _unreadable(name: str, left: Mapping[str, int], kinds: Sequence[str], said: Values) -> ImprovableError:
    """A column that holds texts which nothing turns into numbers."""
    if len(kinds) == 2:
        return two_levels(name, kinds)
    by_size = sorted(left, key=lambda text: (-left[text], text))
    listed = ", ".join(f"'{text[:40]}' ({left[text]:,})" for text in by_size[:MOST_SHOWN])
    more = ", ..." if len(left) > MOST_SHOWN else ""
    if not said.strip and len({plain_spelling(text) for text in left}) == 2:
        hint = "Some differ only in spaces or capitals: `strip=True` reads them as one."
    else:
        rare = by_size[-1]
        hint = f"Two levels are needed: `na={[rare]}` reads '{rare}' as missing."
    return DataError(f"column '{name}' holds {len(left)} levels: {listed}{more}.", hint)
