"""Columns and their roles: which ones an analysis reads, and which of them a candidate may read."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from improvable._typing import FloatArray
from improvable.data.frame import Rows
from improvable.errors import Caution, DataError, OptionError, UnknownColumnError, nearest
from improvable.question.design import Design

MOST_CATEGORIES = 40
FEWEST_ROWS_OF_AN_ID = 100
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
    """The columns of an audit or a comparison.

    Attributes
    ----------
    numeric, labels : tuple of str
        Columns that must be complete: numbers, and groups or clusters.
    in_use : tuple of str
        Of these, the scores and decisions of the status quo.
    features : tuple of str
        Columns that a candidate may read, before any is left out for what it holds.
    excluded : tuple of str
        The ones that were excluded by name.
    question : tuple of str
        The outcome, the groups, and what the status quo reads: what is asked, whatever answers it.
    judged : tuple of str
        What must be read to judge the status quo alone.
    read : tuple of str
        All of them, and the row id; every column where a function of the rows may want any.
    """

    numeric: tuple[str, ...]
    labels: tuple[str, ...]
    in_use: tuple[str, ...]
    features: tuple[str, ...]
    excluded: tuple[str, ...]
    question: tuple[str, ...]
    judged: tuple[str, ...]
    read: tuple[str, ...]


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

    Parameters
    ----------
    features : sequence of str, optional
        What a candidate may read; None for every column that has no other role.
    everything : bool
        Whether a rule of the caller's own may want any column.
    """
    question = design.question
    roles = [*design.outcome_columns, *([target] if target is not None else [])]
    inputs: list[str] = []
    for algorithm in algorithms:
        roles += algorithm.numbers
        inputs += algorithm.features
    if question.weight is not None:
        roles.append(question.weight)
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


def require_columns(available: Collection[str], names: Iterable[str]) -> None:
    """Raise for the first name that is not a column, with the nearest ones that are."""
    known = set(available)
    for name in names:
        if name not in known:
            raise unknown_column(name, available)


def unknown_column(name: str, available: Collection[str]) -> UnknownColumnError:
    """A name that is not a column, with the nearest ones that are; perhaps it is half of a name with a comma."""
    whole = next((one for one in available if "," in one and name in one.split(",")[0]), None)
    hint = nearest(name, available)
    if whole is not None:
        hint = f"A name with a comma stands in double quotes: '\"{whole}\"'."
    return UnknownColumnError(f"there is no column '{name}'.", hint)


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
    """The columns that a candidate may read.

    Attributes
    ----------
    columns : tuple of str
    treatment : dict
        What becomes of each column, in words.
    plain : bool
        Whether all are complete numbers, so that nothing needs to be encoded.
    cautions : tuple of Caution
        What was left out for what it holds, and why.
    left_out : dict
        Every other column of the data, with the reason.
    """

    columns: tuple[str, ...]
    treatment: dict[str, str]
    plain: bool
    cautions: tuple[Caution, ...]
    left_out: dict[str, str]


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

    In use are the status quo's score or decisions; a pattern such as * matches these too.

    Constant and empty columns are dropped. A column that names its rows (a name, an id) is left out unless it was asked
    for by its own name.

    Parameters
    ----------
    available : sequence of str
        All columns of the data, read or not.
    """
    question = design.question
    outcomes = list(dict.fromkeys([*design.outcome_columns, target]))
    roles = [name for name in (question.weight, question.cluster, question.stratum) if name is not None]
    require_columns(rows.columns, [*question.group, *outcomes, *roles])
    excluded = set(match_columns(rows.columns, exclude))
    taken = {*question.group, *outcomes, *roles, *excluded}
    if features is None:
        chosen = tuple(name for name in rows.columns if name not in {*taken, *in_use})
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
    kept = tuple(name for name in chosen if name not in {*useless, *ids, *nested})
    if not kept:
        raise _nothing_left([*useless, *ids, *nested])
    why = {
        "useless": (useless, "constant or empty", "columns that are constant or empty are not used: {}."),
        "ids": (ids, AN_ID, "columns that tell rows apart, as a name or an id does, are not used: {}. To use one, name "
                "it in `features`."),
        "nested": (nested, "lists or records", "columns of lists or records are not used: {}."),
    }  # fmt: skip
    reasons = _reasons(design, in_use, target, excluded, features is not None)
    for names, reason, _ in why.values():
        reasons |= dict.fromkeys(names, reason)
    return Features(
        columns=kept,
        treatment={name: kinds[name].words for name in kept},
        plain=all(kinds[name].plain for name in kept),
        cautions=tuple(Caution(kind, text.format(_listed(names))) for kind, (names, _, text) in why.items() if names),
        left_out={name: reasons.get(name, NOT_NAMED) for name in sorted(set(available) - set(kept))},
    )


def _reasons(design: Design, in_use: Sequence[str], target: str, excluded: set[str], named: bool) -> dict[str, str]:
    """Why columns that have another part to play are no features; the last reason given holds."""
    question = design.question
    way = "name it in `features`" if named else "`features=['*']`"
    reasons = dict.fromkeys(excluded, EXCLUDED)
    reasons |= dict.fromkeys(in_use, f"the status quo decides by it; to let a candidate read it: {way}")
    reasons |= {name: word for name, word in ((question.cluster, "cluster"), (question.weight, "weight")) if name}
    reasons |= {target: "what the rule predicts"}
    reasons |= dict.fromkeys(design.outcome_columns, "outcome")
    return reasons | dict.fromkeys(question.group, "group")


def _nothing_left(left_out: Sequence[str]) -> DataError:
    if not left_out:
        return DataError(
            "no column is left for the candidate to read: the data have none but outcomes, groups, the status quo's "
            "and what is excluded.",
            "Bring columns that a candidate may read, or exclude fewer.",
        )
    return DataError(
        f"no column is left for the candidate to read: {_listed(left_out)} "
        f"{'is' if len(left_out) == 1 else 'are'} constant, empty, nested or an id.",
        "Name features, or exclude fewer columns.",
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
    if levels <= MOST_CATEGORIES:
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
    whole = bool(rows.kind(name).is_integer()) and len(values) >= FEWEST_ROWS_OF_AN_ID
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
