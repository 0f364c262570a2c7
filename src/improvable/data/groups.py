"""Which groups a row belongs to: one or several group columns, crossed or side by side,
some levels or all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from improvable._typing import BoolArray, IntArray
from improvable.data.frame import Rows, labels_of
from improvable.data.quality import spelled_alike
from improvable.errors import DataError, OptionError, nearest
from improvable.question.claim import plain_group
from improvable.question.settings import Groups

MAX_LEVELS = 50


@dataclass(frozen=True)
class Attribute:
    """One way of dividing people into groups, such as race."""

    name: str
    levels: tuple[str, ...]  # the groups, as outputs call them
    member: IntArray  # the level to which each stratum belongs; -1 where to none

    def place_of(self, names: Sequence[str]) -> int | None:
        """Which of the levels is among the names; None where none is."""
        named = {*names}
        return next(
            (
                g
                for g, level in enumerate(self.levels)
                if named & {level, plain_group(level)}
            ),
            None,
        )


@dataclass(frozen=True)
class Grouping:
    """The stratum of every row. A stratum is a combination of levels, one of each
    attribute.
    """

    attributes: tuple[Attribute, ...]
    codes: IntArray

    @property
    def strata(self) -> int:
        return len(self.attributes[0].member)

    def take(self, index: IntArray) -> "Grouping":
        return Grouping(self.attributes, self.codes[index])


class GroupColumn(NamedTuple):
    name: str
    levels: tuple[str, ...]
    codes: IntArray  # the level of every row


class GroupReading(NamedTuple):
    grouping: Grouping  # of the rows kept
    keep: IntArray  # which rows these are
    notes: tuple[str, ...]  # what a reader should know


def read_groups(
    rows: Rows, choice: Groups, counts: IntArray | None = None
) -> GroupReading:
    """Read the group columns; levels are sorted, whatever the order of rows. With
    `counts`, each row is as many.
    """
    read = [
        GroupColumn(name, *labels_of(rows, name, MAX_LEVELS)) for name in choice.columns
    ]
    columns = read
    if len(read) > 1:
        columns = [cross_columns(read)] if choice.cross else prefix_levels(read)
    is_kept = find_named(columns, choice.only)
    if counts is None:
        counts = np.ones(len(rows), dtype=np.int64)
    attributes = [renumber_levels(column, is_kept) for column in columns]
    for attribute in attributes:
        refuse_small(attribute, counts[is_kept], choice.min_group)
    members, codes = combine(
        [(len(attribute.levels), attribute.codes) for attribute in attributes]
    )
    grouping = Grouping(
        tuple(
            Attribute(attribute.name, attribute.levels, member)
            for attribute, member in zip(attributes, members, strict=True)
        ),
        codes,
    )
    return GroupReading(grouping, np.flatnonzero(is_kept), note_spellings(read))


def cross_columns(columns: Sequence[GroupColumn]) -> GroupColumn:
    """One column of the intersections that occur."""
    members, codes = combine([(len(column.levels), column.codes) for column in columns])
    names = []
    for places in zip(*members, strict=True):
        parts = zip(columns, places, strict=True)
        names.append(", ".join(column.levels[place] for column, place in parts))
    title = " x ".join(column.name for column in columns)
    return GroupColumn(title, tuple(names), codes)


def prefix_levels(columns: Sequence[GroupColumn]) -> list[GroupColumn]:
    """The columns side by side, with levels that say which column they are of."""
    return [
        column._replace(
            levels=tuple(f"{column.name}={level}" for level in column.levels)
        )
        for column in columns
    ]


def find_named(columns: Sequence[GroupColumn], only: Sequence[str]) -> BoolArray:
    """Whether a row belongs to the groups named; a column none of whose levels is named
    keeps all.
    """
    known = [level for column in columns for level in column.levels]
    for name in only:
        if name not in known:
            raise OptionError(f"'{name}' is not a group.", nearest(name, known))
    is_kept = np.ones(len(columns[0].codes), dtype=np.bool_)
    for column in columns:
        is_named = np.array([level in only for level in column.levels])
        if is_named.any():
            is_kept &= is_named[column.codes]
    if not is_kept.any():
        raise DataError("no row belongs to the groups named.", "Name other groups.")
    return is_kept


def renumber_levels(column: GroupColumn, is_kept: BoolArray) -> GroupColumn:
    """A column of the rows kept, with the levels that occur in them."""
    used, codes = _renumbered(column.codes[is_kept], len(column.levels))
    return GroupColumn(column.name, tuple(column.levels[code] for code in used), codes)


def refuse_small(column: GroupColumn, counts: IntArray, min_group: int) -> None:
    """Refuse levels with too few rows, and a column of one level."""
    sizes = np.bincount(column.codes, weights=counts).astype(np.int64)
    small = np.flatnonzero(sizes < min_group)
    if len(small):
        listed = ", ".join(
            f"'{column.levels[code]}' ({sizes[code]:,})" for code in small
        )
        raise DataError(
            f"groups of '{column.name}' with fewer than {min_group:,} rows: {listed}.",
            (
                "Name the groups to keep, `groups=...`, or merge some in a column of "
                "your own."
            ),
        )
    if len(column.levels) < 2:
        raise DataError(
            f"column '{column.name}' has one level, '{column.levels[0]}', in the rows "
            "used.",
            "A gap needs at least two groups.",
        )


def note_spellings(columns: Sequence[GroupColumn]) -> tuple[str, ...]:
    """What a reader should know of levels that look the same."""
    notes = []
    for column in columns:
        for levels in spelled_alike(column.levels):
            listed = " and ".join(map(repr, levels))
            notes.append(
                f"groups {listed} of '{column.name}' differ only in spaces, capitals "
                "or what does not show. To read them as one: `strip=True`."
            )
    return tuple(notes)


def combine(columns: Sequence[tuple[int, IntArray]]) -> tuple[list[IntArray], IntArray]:
    """The combinations of levels that occur: the level of each column in each, and the
    combination of every row.
    """
    sizes = [size for size, _ in columns]
    joint = np.ravel_multi_index([codes for _, codes in columns], sizes)
    used, codes = _renumbered(joint.astype(np.int64), int(np.prod(sizes)))
    return [member.astype(np.int64) for member in np.unravel_index(used, sizes)], codes


def _renumbered(codes: IntArray, total: int) -> tuple[IntArray, IntArray]:
    """The codes below `total` that occur, and each row's place among them."""
    occurs = np.bincount(codes, minlength=total) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]
