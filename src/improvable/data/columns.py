"""Columns and their roles: which ones an analysis reads, and which of them a candidate
may read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from typing import NamedTuple

import numpy as np

from improvable._typing import FloatArray
from improvable.data.frame import Rows, require_columns
from improvable.errors import Caution, DataError, OptionError
from improvable.question.design import Design
from improvable.question.settings import Settings

MAX_CATEGORIES = 40
MIN_ROWS_OF_AN_ID = 100
NEARLY_ALL = 0.95
EXCLUDED, NOT_NAMED = "excluded", "not among the features named"
AN_ID = "tells rows apart, as an id does"
UNFIT = {
    "useless": (
        "constant or empty",
        "columns that are constant or empty are not used: {}.",
    ),
    "ids": (
        AN_ID,
        (
            "columns that tell rows apart, as a name or an id does, are not used: {}. "
            "To use one, name it in `features`."
        ),
    ),
    "nested": ("lists or records", "columns of lists or records are not used: {}."),
}
"""What makes a column unfit to be a feature: the reason, and the caution."""


@dataclass(frozen=True)
class Reads:
    """What an algorithm reads: columns that must hold complete numbers, features of a
    model, or perhaps anything.
    """

    numbers: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    anything: bool = False


@dataclass(frozen=True)
class Columns:
    numeric: tuple[str, ...]  # must be complete numbers
    labels: tuple[str, ...]  # must be complete: groups, clusters, strata
    in_use: tuple[str, ...]  # scores and decisions of the status quo
    # what a candidate may read, before any is left out for what it holds
    features: tuple[str, ...]
    excluded: tuple[str, ...]  # by name
    # outcome, groups and what the status quo reads: what is asked, whatever answers it
    question: tuple[str, ...]
    judged: tuple[str, ...]  # what it takes to judge the status quo alone
    # all of them and the row id; every column where a function of the rows may want any
    read: tuple[str, ...]


def make_columns(
    available: Sequence[str],
    design: Design,
    algorithms: Sequence[Reads],
    settings: Settings | None = None,
    everything: bool = False,
) -> Columns:
    """Find the columns that are named; the first algorithm is the status quo.

    The settings of an audit name features; by default a candidate may read every column
    that has no other role. With `everything`, the caller's own rule may read any column
    at all.
    """
    question = design.question
    named: tuple[str | None, str | None, Sequence[str] | None, Sequence[str]] = (
        None,
        None,
        (),
        (),
    )
    if settings is not None:
        named = (
            settings.target or settings.outcome,
            settings.row_id,
            settings.features,
            settings.exclude,
        )
    target, row_id, features, exclude = named
    numbers = [name for algorithm in algorithms for name in algorithm.numbers]
    inputs = [name for algorithm in algorithms for name in algorithm.features]
    roles = [
        name
        for name in (*design.outcome_columns, target, *numbers, question.weight)
        if name is not None
    ]
    numeric, labels = tuple(dict.fromkeys(roles)), tuple(design.label_columns)
    complete = tuple(
        name
        for name in numeric
        if question.unknown_outcomes is None or name != question.outcome
    )
    beside = [name for name in (row_id, design.groups.known) if name is not None]
    roles = [*numeric, *labels, *inputs, *beside]
    require_columns(available, roles)
    excluded = match_columns(available, exclude)
    if features is None:
        left_out = set(excluded)
        chosen = tuple(name for name in available if name not in left_out)
    else:
        chosen = match_columns(
            available,
            features,
            {*design.outcome_columns, target, question.weight, *labels},
        )
    taken, in_use = set(roles) - set(inputs), algorithms[0].numbers
    unknown = any(one.anything for one in algorithms) or any(
        utility.reads_rows for utility in design.utilities
    )
    asked = dict.fromkeys(
        [question.outcome, *question.group, *in_use, *algorithms[0].features]
    )
    return Columns(
        numeric=complete,
        labels=labels,
        in_use=in_use,
        features=tuple(name for name in chosen if name not in taken),
        excluded=excluded,
        question=tuple(available if algorithms[0].anything else asked),
        judged=tuple(
            sorted(
                available
                if unknown
                else {*numeric, *labels, *inputs, *beside} - {row_id}
            )
        ),
        read=tuple(sorted(available if unknown or everything else {*roles, *chosen})),
    )


def match_columns(
    available: Sequence[str], names: Sequence[str], barred: Collection[str | None] = ()
) -> tuple[str, ...]:
    """The columns named; * and ? in a name that is no column stand for anything but the
    barred columns.
    """
    known = set(available)
    found: dict[str, None] = {}
    for name in names:
        pattern = name.replace("[", "[[]")
        hits = (
            [name]
            if name in known
            else [c for c in available if c not in barred and fnmatchcase(c, pattern)]
        )
        if not hits:
            require_columns(available, [name])
        found.update(dict.fromkeys(hits))
    return tuple(found)


@dataclass(frozen=True)
class Features:
    """The columns that a candidate may read."""

    columns: tuple[str, ...]
    treatment: dict[str, str]  # what becomes of each column, in words
    plain: bool  # all are complete numbers, and nothing needs to be encoded
    cautions: tuple[Caution, ...]  # what was left out for what it holds, and why
    left_out: dict[str, str]  # every other column of the data, with the reason


def choose_features(
    rows: Rows,
    design: Design,
    columns: Columns,
    settings: Settings,
    missing: Mapping[str, int],
    infinite: Mapping[str, int],
    available: Sequence[str],
) -> Features:
    """The columns asked for; by default all but outcomes, groups, weights, clusters,
    and the columns in use.

    In use are the status quo's score or decisions; a pattern such as * matches these
    too. Constant and empty columns are dropped. A column that identifies its rows (a
    name, an id) is left out unless it was asked for by its own name. `rows` are some of
    the rows; `missing` and `infinite` values are counted in all. `available` has all
    columns of the data, read or not.
    """
    question, features, row_id = design.question, settings.features, settings.row_id
    target, excluded = (
        settings.target or settings.outcome,
        {*columns.excluded, row_id, design.groups.known},
    )
    taken = {
        *design.outcome_columns,
        target,
        question.weight,
        *design.label_columns,
        *excluded,
    }
    if features is None:
        others = taken.union(columns.in_use)
        chosen = tuple(name for name in rows.columns if name not in others)
    else:
        chosen = match_columns(rows.columns, features, taken)
        if leaked := [
            name for name in chosen if name in (*design.outcome_columns, target)
        ]:
            hint = "A candidate decides before outcomes are known."
            raise OptionError(
                f"'{leaked[0]}' is an outcome and cannot be a feature.", hint
            )
        chosen = tuple(name for name in chosen if name not in excluded)
    for name in chosen:
        if count := infinite[name]:
            raise DataError(
                f"column '{name}' has {count:,} infinite values.",
                "Fix them, or exclude the column.",
            )
    kinds = {name: _kind(rows, name, missing[name]) for name in chosen}
    unfit: dict[str, list[str]] = {why: [] for why in UNFIT}
    for name, kind in kinds.items():
        if kind.unfit and not (kind.unfit == "ids" and name in (features or ())):
            unfit[kind.unfit].append(name)
    dropped = list(chain.from_iterable(unfit.values()))
    unused = set(dropped)
    kept = tuple(name for name in chosen if name not in unused)
    if not kept:
        found = (
            "the data have none but outcomes, groups, the status quo's and what is "
            "excluded."
        )
        hint = "Bring columns that a candidate may read, or exclude fewer."
        if dropped:
            found = (
                f"{_listed(dropped)} {'is' if len(dropped) == 1 else 'are'} constant, "
                "empty, nested or an id."
            )
            hint = "Name features, or exclude fewer columns."
        raise DataError(f"no column is left for the candidate to read: {found}", hint)
    way = "`features=['*']`" if features is None else "name it in `features`"
    in_turn: list[tuple[Iterable[str | None], str]] = [
        (columns.excluded, EXCLUDED),
        (
            columns.in_use,
            f"the status quo decides by it; to let a candidate read it: {way}",
        ),
        ([question.cluster], "cluster"),
        ([question.weight], "weight"),
        ([target], "what the rule predicts"),
        (design.outcome_columns, "outcome"),
        ([design.groups.known, *question.group], "group"),
        *((unfit[why], reason) for why, (reason, _) in UNFIT.items()),
        ([row_id], "row id"),
    ]
    # the last reason given holds
    reasons = {name: reason for names, reason in in_turn for name in names}
    return Features(
        columns=kept,
        treatment={name: kinds[name].words for name in kept},
        plain=all(kinds[name].plain for name in kept),
        cautions=tuple(
            Caution(why, UNFIT[why][1].format(_listed(names)))
            for why, names in unfit.items()
            if names
        ),
        left_out={
            name: reasons.get(name, NOT_NAMED)
            for name in sorted(set(available) - set(kept))
        },
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:8]) + (
        ", ..." if len(names) > 8 else ""
    )


class _Kind(NamedTuple):
    words: str
    unfit: str = ""  # one of `UNFIT`
    plain: bool = False


def _kind(rows: Rows, name: str, missing_in_all: int) -> _Kind:
    if rows.is_numeric(name):
        values = rows.read_numbers(name)
        given = values[~np.isnan(values)]
        complete = len(given) == len(values)
        if len(given) == 0 or (given.min() == given.max() and complete):
            # long numbers, which floats run together
            if len(given) and int(rows.frame[name].n_unique()) > 1:
                return _Kind("number with more digits than are read", "ids")
            return _Kind("constant or empty", "useless")
        whole = (
            complete
            and rows.kind(name).is_integer()
            and len(values) >= MIN_ROWS_OF_AN_ID
        )
        unfit = "ids" if whole and _tells_rows_apart(values) else ""
        if missing_in_all:
            return _Kind(
                (
                    f"number: {missing_in_all:,} missing values take the training mean "
                    "and are flagged"
                ),
                unfit,
            )
        return _Kind("number", unfit, plain=True)
    if rows.is_nested(name):
        return _Kind("lists or records", "nested")
    series = rows.frame[name]
    missing = int(series.is_null().sum())
    levels = int(series.n_unique()) - (missing > 0)
    if levels == 0 or (levels == 1 and not missing):
        return _Kind("constant or empty", "useless")
    if rows.is_date(name):
        return _Kind("date: year, month, day and seconds since 1970")
    if levels <= MAX_CATEGORIES:
        return _Kind(
            f"category: one 0/1 column for each of {levels} levels"
            + (" and for missing" if missing else "")
        )
    unfit = "ids" if levels > 0.5 * (len(rows) - missing) else ""
    return _Kind(f"text with {levels:,} values: numbers from its parts", unfit)


def _tells_rows_apart(values: FloatArray) -> bool:
    """Whether whole numbers are different in all rows; or in nearly all, and in more
    than chance makes different.

    Of n numbers drawn at random from a range, some are equal. A count or an amount has
    at least as many that are.
    """
    rows, distinct = len(values), len(np.unique(values))
    if distinct == rows:
        return True
    if distinct < NEARLY_ALL * rows:
        return False
    span = float(values.max() - values.min()) + 1
    by_chance = rows + span * np.expm1(rows * np.log1p(-1 / span))
    return bool(rows - distinct < by_chance - 4 * np.sqrt(by_chance))
