"""Columns and their roles: which ones an analysis reads, and which of them a candidate may read."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from improvable._typing import FloatArray
from improvable.data.frame import Rows, require_columns
from improvable.errors import Caution, DataError, OptionError
from improvable.question.design import Design

MAX_CATEGORIES = 40
MIN_ROWS_OF_AN_ID = 100
NEARLY_ALL = 0.95
EXCLUDED, NOT_NAMED = "excluded", "not among the features named"
AN_ID = "tells rows apart, as an id does"


@dataclass(frozen=True)
class Reads:
    """What an algorithm reads: columns that must hold complete numbers, features of a model, or perhaps anything."""

    numbers: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    anything: bool = False


@dataclass(frozen=True)
class Columns:
    """The columns of an audit or a comparison."""

    numeric: tuple[str, ...]  # must be complete numbers
    labels: tuple[str, ...]  # must be complete: groups, clusters, strata
    in_use: tuple[str, ...]  # scores and decisions of the status quo
    features: tuple[str, ...]  # what a candidate may read, before any is left out for what it holds
    excluded: tuple[str, ...]  # by name
    question: tuple[str, ...]  # outcome, groups and what the status quo reads: what is asked, whatever answers it
    judged: tuple[str, ...]  # what it takes to judge the status quo alone
    read: tuple[str, ...]  # all of them and the row id; every column where a function of the rows may want any


def make_columns(
    available: Sequence[str],
    design: Design,
    algorithms: Sequence[Reads],
    *,
    target: str | None = None,
    features: Sequence[str] | None = (),
    exclude: Sequence[str] = (),
    row_id: str | None = None,
    everything: bool = False,
) -> Columns:
    """Find the columns that are named; the first algorithm is the status quo.

    Without `features`, a candidate may read every column that has no other role; with `everything`, the caller's own
    rule may read any column at all.
    """
    question = design.question
    numbers = [name for algorithm in algorithms for name in algorithm.numbers]
    inputs = [name for algorithm in algorithms for name in algorithm.features]
    roles = [name for name in (*design.outcome_columns, target, *numbers, question.weight) if name is not None]
    numeric, labels = tuple(dict.fromkeys(roles)), tuple(design.label_columns)
    roles = [*numeric, *labels, *inputs, *([row_id] if row_id is not None else [])]
    require_columns(available, roles)
    excluded = match_columns(available, exclude)
    left_out = set(excluded)
    if features is None:
        chosen = tuple(name for name in available if name not in left_out)
    else:
        barred = {*design.outcome_columns, target, question.weight, *labels}
        chosen = match_columns(available, features, {name for name in barred if name is not None})
    taken = set(roles) - set(inputs)
    unknown = any(one.anything for one in algorithms) or any(utility.reads_rows for utility in design.utilities)
    in_use = algorithms[0].numbers
    asked = dict.fromkeys([question.outcome, *question.group, *in_use, *algorithms[0].features])
    return Columns(
        numeric=numeric,
        labels=labels,
        in_use=in_use,
        features=tuple(name for name in chosen if name not in taken),
        excluded=excluded,
        question=tuple(available if algorithms[0].anything else asked),
        judged=tuple(sorted(available if unknown else {*numeric, *labels, *inputs})),
        read=tuple(sorted(available if unknown or everything else {*roles, *chosen})),
    )


def match_columns(available: Sequence[str], names: Sequence[str], barred: Collection[str] = ()) -> tuple[str, ...]:
    """The columns named; * and ? in a name that is no column stand for anything but the barred columns."""
    known = set(available)
    found: dict[str, None] = {}
    for name in names:
        pattern = name.replace("[", "[[]")
        hits = [name] if name in known else [c for c in available if c not in barred and fnmatchcase(c, pattern)]
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
    in_use: Sequence[str],
    target: str,
    features: Sequence[str] | None,
    exclude: Sequence[str],
    available: Sequence[str],
) -> Features:
    """The columns asked for; by default all but outcomes, groups, weights, clusters, and the columns in use.

    In use are the status quo's score or decisions; a pattern such as * matches these too. Constant and empty columns
    are dropped. A column that identifies its rows (a name, an id) is left out unless it was asked for by its own name.
    `available` has all columns of the data, read or not.
    """
    question = design.question
    outcomes = list(dict.fromkeys([*design.outcome_columns, target]))
    roles = [name for name in (question.weight, question.cluster, question.stratum) if name is not None]
    require_columns(rows.columns, [*question.group, *outcomes, *roles])
    excluded = set(match_columns(rows.columns, exclude))
    taken = {*question.group, *outcomes, *roles, *excluded}
    if features is None:
        others = taken.union(in_use)
        chosen = tuple(name for name in rows.columns if name not in others)
    else:
        chosen = match_columns(rows.columns, features, taken)
        if leaked := [name for name in chosen if name in outcomes]:
            raise OptionError(
                f"'{leaked[0]}' is an outcome and cannot be a feature.",
                "A candidate decides before outcomes are known.",
            )
        chosen = tuple(name for name in chosen if name not in excluded)
    kinds = {name: _kind(rows, name) for name in chosen}
    useless = [name for name, kind in kinds.items() if kind.useless]
    ids = [name for name, kind in kinds.items() if kind.identifies and name not in (features or ())]
    nested = [name for name, kind in kinds.items() if kind.nested]
    dropped = [*useless, *ids, *nested]
    unused = set(dropped)
    kept = tuple(name for name in chosen if name not in unused)
    if not kept and dropped:
        raise DataError(
            f"no column is left for the candidate to read: {_listed(dropped)} "
            f"{'is' if len(dropped) == 1 else 'are'} constant, empty, nested or an id.",
            "Name features, or exclude fewer columns.",
        )
    if not kept:
        raise DataError(
            "no column is left for the candidate to read: the data have none but outcomes, groups, the status quo's "
            "and what is excluded.",
            "Bring columns that a candidate may read, or exclude fewer.",
        )
    why = {
        "useless": (useless, "constant or empty", "columns that are constant or empty are not used: {}."),
        "ids": (ids, AN_ID, "columns that tell rows apart, as a name or an id does, are not used: {}. To use one, name "
                "it in `features`."),
        "nested": (nested, "lists or records", "columns of lists or records are not used: {}."),
    }  # fmt: skip
    way = "`features=['*']`" if features is None else "name it in `features`"
    in_turn: list[tuple[Iterable[str | None], str]] = [
        (excluded, EXCLUDED),
        (in_use, f"the status quo decides by it; to let a candidate read it: {way}"),
        ([question.cluster], "cluster"),
        ([question.weight], "weight"),
        ([target], "what the rule predicts"),
        (design.outcome_columns, "outcome"),
        (question.group, "group"),
        *((names, reason) for names, reason, _ in why.values()),
    ]
    reasons = {name: reason for names, reason in in_turn for name in names}  # the last reason given holds
    return Features(
        columns=kept,
        treatment={name: kinds[name].words for name in kept},
        plain=all(kinds[name].plain for name in kept),
        cautions=tuple(Caution(kind, text.format(_listed(names))) for kind, (names, _, text) in why.items() if names),
        left_out={name: reasons.get(name, NOT_NAMED) for name in sorted(set(available) - set(kept))},
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:8]) + (", ..." if len(names) > 8 else "")


@dataclass(frozen=True)
class _Kind:
    words: str
    plain: bool = False
    useless: bool = False
    identifies: bool = False
    nested: bool = False


def _kind(rows: Rows, name: str) -> _Kind:
    if rows.is_numeric(name):
        return _numeric_kind(rows, name)
    if rows.is_nested(name):
        return _Kind("lists or records", nested=True)
    series = rows.frame[name]
    missing = int(series.is_null().sum())
    levels = int(series.n_unique()) - (missing > 0)
    if levels == 0 or (levels == 1 and not missing):
        return _Kind("constant or empty", useless=True)
    if rows.is_date(name):
        return _Kind("date: year, month, day and seconds since 1970")
    if levels <= MAX_CATEGORIES:
        return _Kind(f"category: one 0/1 column for each of {levels} levels" + (" and for missing" if missing else ""))
    identifies = levels > 0.5 * (len(rows) - missing)
    return _Kind(f"text with {levels:,} values: numbers from its parts", identifies=identifies)


def _numeric_kind(rows: Rows, name: str) -> _Kind:
    values = rows.read_numbers(name)
    finite = values[np.isfinite(values)]
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise DataError(f"column '{name}' has {infinite:,} infinite values.", "Fix them, or exclude the column.")
    missing = len(values) - len(finite)
    if len(finite) == 0 or (finite.min() == finite.max() and not missing):
        if len(finite) and int(rows.frame[name].n_unique()) > 1:  # long numbers, which floats run together
            return _Kind("number with more digits than are read", identifies=True)
        return _Kind("constant or empty", useless=True)
    if missing:
        return _Kind(f"number: {missing:,} missing values take the training mean and are flagged")
    whole = bool(rows.kind(name).is_integer()) and len(values) >= MIN_ROWS_OF_AN_ID
    return _Kind("number", plain=True, identifies=whole and _tells_rows_apart(values))


def _tells_rows_apart(values: FloatArray) -> bool:
    """Whether whole numbers are different in all rows; or in nearly all, and in more than chance makes different.

    Of n numbers drawn at random from a range, some are equal. A count or an amount has at least as many that are.
    """
    rows, distinct = len(values), len(np.unique(values))
    if distinct == rows:
        return True
    if distinct < NEARLY_ALL * rows:
        return False
    span = float(values.max() - values.min()) + 1
    by_chance = rows + span * np.expm1(rows * np.log1p(-1 / span))
    return bool(rows - distinct < by_chance - 4 * np.sqrt(by_chance))
