"""Which groups a row belongs to: one or several group columns, crossed or side by side,
some levels or all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from improvable._typing import IntArray
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
    read = [labels_of(rows, name, MAX_LEVELS) for name in choice.columns]
    if choice.cross and len(read) > 1:
        members, codes = combine([(len(levels), codes) for levels, codes in read])
        crossed = zip(*members, strict=True)
        names = tuple(
            ", ".join(read[c][0][code] for c, code in enumerate(one)) for one in crossed
        )
        columns = [(" x ".join(choice.columns), names, codes)]
    else:
        columns = [
            (
                name,
                tuple(
                    f"{name}={level}" if len(read) > 1 else level for level in levels
                ),
                codes,
            )
            for name, (levels, codes) in zip(choice.columns, read, strict=True)
        ]
    known = [level for _, levels, _ in columns for level in levels]
    if unknown := [name for name in choice.only if name not in known]:
        raise OptionError(f"'{unknown[0]}' is not a group.", nearest(unknown[0], known))
    keep = np.ones(len(rows), dtype=np.bool_)
    for _, levels, codes in columns:
        if wanted := [
            code for code, level in enumerate(levels) if level in choice.only
        ]:
            # a column none of whose levels is named keeps all
            keep &= np.isin(codes, wanted)
    if not keep.any():
        raise DataError("no row belongs to the groups named.", "Name other groups.")
    notes = [
        (
            f"groups {' and '.join(map(repr, several))} of '{name}' differ only in "
            "spaces, capitals or what does not show. To read them as one: `strip=True`."
        )
        for name, (levels, _) in zip(choice.columns, read, strict=True)
        for several in spelled_alike(levels)
    ]
    attributes = []
    for name, levels, codes in columns:
        used, recoded = _renumbered(codes if keep.all() else codes[keep], len(levels))
        sizes = np.bincount(
            recoded,
            weights=None if counts is None else counts[keep],
            minlength=len(used),
        )
        occurring = tuple(levels[code] for code in used)
        level_names, recoded = _without_small(
            name, occurring, recoded, sizes.astype(np.int64), choice, notes
        )
        if len(level_names) < 2:
            hint = "A gap needs at least two groups."
            raise DataError(
                f"column '{name}' has one level, '{level_names[0]}', in the rows used.",
                hint,
            )
        attributes.append((name, level_names, recoded))
    members, codes = combine([(len(levels), codes) for _, levels, codes in attributes])
    named = zip(attributes, members, strict=True)
    grouping = Grouping(
        tuple(Attribute(name, levels, member) for (name, levels, _), member in named),
        codes,
    )
    return GroupReading(grouping, np.flatnonzero(keep), tuple(notes))


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


def _without_small(
    name: str,
    levels: tuple[str, ...],
    codes: IntArray,
    sizes: IntArray,
    choice: Groups,
    notes: list[str],
) -> tuple[tuple[str, ...], IntArray]:
    """Pool or refuse levels with too few rows."""
    small = [code for code in range(len(levels)) if sizes[code] < choice.min_group]
    if not small:
        return levels, codes
    listed = ", ".join(f"'{levels[code]}' ({sizes[code]:,})" for code in small)
    if choice.small == "refuse":
        raise DataError(
            f"groups of '{name}' with fewer than {choice.min_group:,} rows: {listed}.",
            "Pool them with `small='pool'`, or name the groups to keep, `groups=...`.",
        )
    by_size = sorted(
        range(len(levels)), key=lambda code: (int(sizes[code]), levels[code])
    )
    enough = int(np.searchsorted(np.cumsum(sizes[by_size]), choice.min_group)) + 1
    small = by_size[: max(len(small), enough)]
    listed = ", ".join(f"'{levels[code]}' ({sizes[code]:,})" for code in small)
    kept_names = [levels[code] for code in range(len(levels)) if code not in small]
    pooled = f"{name}=other" if levels[0].startswith(f"{name}=") else "other"
    while pooled in kept_names:
        pooled += "_"
    notes.append(
        f"groups of '{name}' are pooled as '{pooled}' to reach {choice.min_group:,} "
        f"rows: {listed}."
    )
    names = sorted([*kept_names, pooled])
    new_code = np.array(
        [
            names.index(pooled if code in small else levels[code])
            for code in range(len(levels))
        ]
    )
    return tuple(names), new_code[codes]
