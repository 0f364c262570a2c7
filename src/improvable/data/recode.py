"""What values mean: which of two is 1, which mean missing, which are one level spelled
two ways.

One pass counts the levels of columns; what follows from them is applied to every batch,
so that every engine reads the same numbers. Outcomes, decisions and groups are recoded.
A candidate reads features as they stand, because it will read them so where it is put
to use, with one exception: a string among numbers, such as n/a, is missing where the
caller says so. A number that means missing elsewhere, such as 9, may be a plain number
in a feature, and stays one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from improvable._typing import IntArray
from improvable.data.engines import Engine
from improvable.data.engines.base import Merge, T, Work, run
from improvable.data.engines.memory import Memory
from improvable.data.frame import (
    Rows,
    as_number,
    labeltext_of,
    levels,
    text_counts,
    two_levels,
)
from improvable.data.quality import plain_spelling
from improvable.errors import DataError, ImprovableError, OptionError, nearest
from improvable.question.options import as_names, plain_positive
from improvable.question.settings import Settings

MAX_LEVELS = 60  # of a column that are told apart
MAX_SHOWN = 5
FLAGS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Values:
    """What the caller says of values: which are 1, bare (`positive`) or by column
    (`meant`), and which mean missing.
    """

    positive: tuple[str, ...] = ()
    meant: Mapping[str, str] = field(default_factory=dict)
    na: tuple[str, ...] = ()
    strip: bool = False


def values_of(settings: Settings) -> Values:
    said = plain_positive(settings.positive)
    bare, meant = ((), said) if isinstance(said, dict) else (tuple(said), {})
    return Values(bare, meant, as_names(settings.na), settings.strip)


def recode(
    engine: Engine,
    said: Values,
    numeric: Sequence[str],
    groups: Sequence[str],
    features: Sequence[str] = (),
) -> Engine:
    """The same data with outcomes, decisions (`numeric`), groups and features as the
    caller says they are read.
    """
    if said == Values():
        return engine
    columns = list(dict.fromkeys([*numeric, *groups]))
    marks = tuple(value for value in said.na if as_number(value) is None)
    others = [name for name in features if name not in columns] if marks else []
    work = partial(
        _count_levels, columns=columns, na=said.na, features=others, marks=marks
    )
    seen = run(engine, work, [*columns, *others], _merge_levels)
    maps, found = _find_maps(seen, said, numeric, groups, others)
    notes = (*engine.notes, *found)
    if isinstance(engine, Memory):
        return replace(engine, rows=replace(_apply(maps, engine.rows), notes=notes))
    return Recoded(engine, maps, engine.columns, engine.backend, notes)


@dataclass(frozen=True)
class Levels:
    """The levels of a column, each with its rows: strings, numbers, and what means
    missing and is in neither.
    """

    texts: Counter[str] = field(default_factory=Counter)
    numbers: Counter[str] = field(default_factory=Counter)
    gone: Counter[str] = field(default_factory=Counter)

    @property
    def all(self) -> Counter[str]:
        return self.texts + self.numbers

    def few(self) -> "Levels":
        """One level more than may be told apart, the same ones for any order of
        batches.
        """
        texts, numbers = (
            Counter(dict(sorted(one.items())[: MAX_LEVELS + 1]))
            for one in (self.texts, self.numbers)
        )
        return Levels(texts, numbers, self.gone)


def _count_levels(
    rows: Rows,
    columns: Sequence[str],
    na: Sequence[str],
    features: Sequence[str],
    marks: Sequence[str],
) -> dict[str, Levels]:
    """The levels of the question's columns, and of features that may be numbers with a
    few strays.
    """
    found = {name: _levels_of(rows, name, na) for name in columns}
    for name in features:
        if rows.is_numeric(name):
            found[name] = Levels()
        elif rows.is_nested(name) or rows.is_date(name):
            # not a column of numbers with a few strays
            found[name] = Levels(texts=Counter([""]))
        else:
            found[name] = _levels_of(rows, name, marks)
    return found


def _merge_levels(
    one: dict[str, Levels], other: dict[str, Levels]
) -> dict[str, Levels]:
    pairs = {name: (here, other[name]) for name, here in one.items()}
    return {
        n: Levels(a.texts + b.texts, a.numbers + b.numbers, a.gone + b.gone).few()
        for n, (a, b) in pairs.items()
    }


def _levels_of(rows: Rows, name: str, na: Sequence[str]) -> Levels:
    found = Levels()
    for text, times in text_counts(*_held(rows, name)).items():
        missing = any(same_value(value, text) for value in na)
        (
            found.gone
            if missing
            else found.texts
            if as_number(text) is None
            else found.numbers
        )[text] += times
    return found.few()


def _held(rows: Rows, name: str) -> tuple[IntArray, list[str]]:
    """Which level each row of a column holds, -1 where it is missing; and the
    levels.
    """
    if rows.is_numeric(name) and rows.kind(name) != nw.Boolean:
        numbers, codes = np.unique(rows.read_numbers(name), return_inverse=True)
        codes[np.isnan(numbers)[codes]] = -1
        # NaN comes last
        return codes, [
            labeltext_of(number) for number in numbers[~np.isnan(numbers)].tolist()
        ]
    codes, values = levels(rows.frame[name])
    return codes, [labeltext_of(value) for value in values]


@dataclass(frozen=True)
class LevelMap:
    """What the levels of a column are read as; one that is not listed as a number, as
    itself, or as missing.
    """

    known: Mapping[str, float | str | None]
    others: type[float] | type[str] | None = None

    def apply(self, rows: Rows, name: str) -> nw.Series[Any]:
        # which may have millions of levels
        if self.others is float and rows.is_numeric(name):
            numbers = rows.read_numbers(name)
            gone = [
                number for number in map(as_number, self.known) if number is not None
            ]
            new = numbers.astype(object)
            new[np.isin(numbers, gone) | np.isnan(numbers)] = None
        else:
            codes, texts = _held(rows, name)
            read = [
                self.known[text]
                if text in self.known
                else self.others and self.others(text)
                for text in texts
            ]
            # -1, where a value is missing, is the last
            new = np.array([*read, None], dtype=object)[codes]
        dtype = nw.String if self.others is str else nw.Float64
        return nw.new_series(
            name, new.tolist(), dtype, backend=rows.frame.implementation
        )


def _apply(maps: Mapping[str, LevelMap], rows: Rows) -> Rows:
    new = [
        levels.apply(rows, name)
        for name, levels in maps.items()
        if name in rows.columns
    ]
    return Rows(rows.frame.with_columns(new), rows.keys, rows.notes) if new else rows


@dataclass(frozen=True)
class Recoded:
    """An engine whose batches are recoded before anything else sees them."""

    engine: Engine
    maps: Mapping[str, LevelMap]
    columns: list[str]
    backend: nw.Implementation
    notes: tuple[str, ...]

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        return self.engine.fold(partial(_recode_first, self.maps, work), columns, merge)


def _recode_first(maps: Mapping[str, LevelMap], work: Work[T], rows: Rows) -> T:
    return work(_apply(maps, rows))


def _find_maps(
    seen: Mapping[str, Levels],
    said: Values,
    numeric: Sequence[str],
    groups: Sequence[str],
    features: Sequence[str],
) -> tuple[dict[str, LevelMap], list[str]]:
    """What becomes of the levels that were seen, and notes on it; what cannot be read
    is refused.
    """
    for name in dict.fromkeys([*numeric, *groups]):
        if len(texts := seen[name].texts) > MAX_LEVELS:
            raise DataError(
                (
                    f"column '{name}' has more than {MAX_LEVELS} levels, such as "
                    f"'{min(texts)[:40]}'."
                ),
                (
                    "Outcomes and decisions are numbers or one of two levels; groups "
                    "are few."
                ),
            )
    maps: dict[str, LevelMap] = {}
    notes: list[str] = []
    # From each level to what it is read as: itself, or the most frequent of its
    # spellings.
    kinds = {
        name: _spellings(seen[name].all)
        if said.strip and seen[name].texts
        else {text: text for text in seen[name].all}
        for name in dict.fromkeys(numeric)
    }
    wanted, vain = _meant(said, seen, kinds)
    for name, spelled in kinds.items():
        held = seen[name]
        if name in wanted:
            one = wanted[name]
            maps[name] = LevelMap(
                {text: float(spelled[text] == one) for text in held.all}
            )
            zero = next(kind for kind in spelled.values() if kind != one)
            rows = {
                kind: sum(held.all[text] for text in spelled if spelled[text] == kind)
                for kind in (one, zero)
            }
            notes.append(
                f"'{name}' is 1 where it says '{one}' ({rows[one]:,} rows) and 0 where "
                f"it says '{zero}' ({rows[zero]:,} rows)."
            )
        elif held.texts:
            raise _unreadable(name, held.all, sorted(set(spelled.values())), said)
        elif held.gone:
            maps[name] = LevelMap(dict.fromkeys(held.gone), float)
        notes += _missing_notes(name, held.gone)
    if vain:
        known = [
            kind
            for spelled in kinds.values()
            if len(set(spelled.values())) == 2
            for kind in spelled.values()
        ]
        raise OptionError(
            (
                f"`positive` is '{vain[0]}', which no outcome or decision with two "
                "values holds."
            ),
            nearest(vain[0], known),
        )
    for name in groups:
        spelled = _spellings(seen[name].all) if said.strip else {}
        changed = {text: kind for text, kind in spelled.items() if text != kind}
        if seen[name].gone or changed:
            maps[name] = LevelMap({**changed, **dict.fromkeys(seen[name].gone)}, str)
        for kind in sorted(set(changed.values())):
            others = [f"'{text}'" for text in sorted(changed) if changed[text] == kind]
            notes.append(
                f"{' and '.join(others)} of '{name}' "
                f"{'is' if len(others) == 1 else 'are'} read as '{kind}'."
            )
        notes += _missing_notes(name, seen[name].gone)
    strays = {
        name: seen[name].gone
        for name in features
        if seen[name].gone and not seen[name].texts
    }
    for name, gone in strays.items():
        maps[name] = LevelMap(dict.fromkeys(gone), float)
        notes += _missing_notes(name, gone)
    asked = [seen[name].gone for name in (*numeric, *groups)]
    occur = {text for gone in (*asked, *strays.values()) for text in gone}
    nowhere = [
        value for value in said.na if not any(same_value(value, text) for text in occur)
    ]
    return maps, [
        *notes,
        *(
            f"'{value}' is to be read as missing, and occurs nowhere."
            for value in nowhere
        ),
    ]


def _meant(
    said: Values, seen: Mapping[str, Levels], kinds: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, str], list[str]]:
    """Of each column whose values are to be read as 0 and 1, the one that is 1; and
    bare values that none holds.
    """
    held = {name: sorted(set(spelled.values())) for name, spelled in kinds.items()}
    wanted, vain = {}, []
    for name, value in said.meant.items():
        if name not in held:
            raise OptionError(
                (
                    f"`positive` names '{name}', which is neither an outcome nor a "
                    "decision."
                ),
                nearest(name, list(held)),
            )
        found = next((kind for kind in held[name] if same_value(value, kind)), None)
        if found is None:
            raise OptionError(
                f"'{name}' does not hold '{value}'.", nearest(value, held[name])
            )
        if len(held[name]) != 2:
            raise _unreadable(name, seen[name].all, held[name], said)
        wanted[name] = found
    for value in said.positive:
        # A column of 0 and 1 already is what positive=1 would make of it.
        flags = [
            name
            for name, two in held.items()
            if as_number(value) == 1 and set(map(as_number, two)) == {0, 1}
        ]
        pairs = {
            name: two
            for name, two in held.items()
            if len(two) == 2 and name not in flags
        }
        of = [
            (name, kind)
            for name, two in pairs.items()
            for kind in two
            if same_value(value, kind)
        ]
        if len(of) > 1:  # it may mean one thing in one of them and another in the other
            (first, _), (second, _) = of[:2]
            other = next(kind for kind in held[second] if not same_value(value, kind))
            same, opposite = ({first: value, second: kind} for kind in (value, other))
            raise OptionError(
                f"`positive` is '{value}', which both '{first}' and '{second}' hold.",
                f"Say it for each: `positive={same}` or `positive={opposite}`.",
            )
        if not of and not flags:
            vain.append(value)
        wanted |= dict(of)
    return wanted, vain


def same_value(said: str, text: str) -> bool:
    """Whether a level is the one that was said: as it is, but for spaces and capitals,
    or as the same number.
    """
    if said == text or plain_spelling(said) == plain_spelling(text):
        return True
    one, other = (
        FLAGS.get(plain_spelling(some), as_number(some)) for some in (said, text)
    )
    return one is not None and one == other


def _spellings(levels: Mapping[str, int]) -> dict[str, str]:
    """Each level's most frequent spelling, without spaces around it."""
    alike: dict[str, Counter[str]] = {}
    for text, times in levels.items():
        alike.setdefault(plain_spelling(text), Counter())[" ".join(text.split())] += (
            times
        )
    best = {
        plain: min(counts, key=lambda text: (-counts[text], text))
        for plain, counts in alike.items()
    }
    return {text: best[plain_spelling(text)] for text in levels}


def _missing_notes(name: str, gone: Mapping[str, int]) -> list[str]:
    return [
        (
            f"'{text}' is read as missing in '{name}': {gone[text]:,} "
            f"row{'' if gone[text] == 1 else 's'}."
        )
        for text in sorted(gone)
    ]


def _unreadable(
    name: str, left: Mapping[str, int], kinds: Sequence[str], said: Values
) -> ImprovableError:
    """The error for a column of strings that nothing turns into numbers."""
    if len(kinds) == 2:
        return two_levels(name, kinds)
    by_size = sorted(left, key=lambda text: (-left[text], text))
    listed = ", ".join(
        f"'{text[:40]}' ({left[text]:,})" for text in by_size[:MAX_SHOWN]
    )
    more = ", ..." if len(left) > MAX_SHOWN else ""
    hint = (
        f"Two levels are needed: `na={by_size[-1:]}` reads '{by_size[-1]}' as missing."
    )
    if not said.strip and len({plain_spelling(text) for text in left}) == 2:
        hint = "Some differ only in spaces or capitals: `strip=True` reads them as one."
    return DataError(f"column '{name}' holds {len(left)} levels: {listed}{more}.", hint)
