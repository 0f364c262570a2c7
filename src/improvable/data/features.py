"""Which columns a candidate may read, and what each of them is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.data.columns import match_columns, require_columns
from improvable.data.frames import Rows
from improvable.errors import Caution, DataError, OptionError
from improvable.question.design import Design

MOST_CATEGORIES = 40
FEWEST_ROWS_OF_AN_ID = 100
NEARLY_ALL = 0.95
EXCLUDED, NOT_NAMED = "excluded", "not among the features named"
AN_ID = "tells rows apart, as an id does"


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
    barred = {*taken, *in_use}
    if features is not None:
        chosen = match_columns(rows.columns, features, taken)
        leaked = [name for name in chosen if name in outcomes]
        if leaked:
            raise OptionError(
                f"'{leaked[0]}' is an outcome and cannot be a feature.",
                "A candidate decides before outcomes are known.",
            )
        chosen = tuple(name for name in chosen if name not in excluded)
    else:
        chosen = tuple(name for name in rows.columns if name not in barred)
    kinds = {name: _kind(rows, name) for name in chosen}
    by_name = set(features or ())
    useless = [name for name, kind in kinds.items() if kind.useless]
    ids = [name for name, kind in kinds.items() if kind.identifies and name not in by_name and name not in useless]
    nested = [name for name, kind in kinds.items() if kind.nested]
    barred = {*useless, *ids, *nested}
    kept = tuple(name for name in chosen if name not in barred)
    if not kept:
        raise _nothing_left([*useless, *ids, *nested])
    cautions = []
    if useless:
        cautions.append(Caution("useless", f"columns that are constant or empty are not used: {_listed(useless)}."))
    if ids:
        text = (
            f"columns that tell rows apart, as a name or an id does, are not used: {_listed(ids)}. To use one, "
            "name it in `features`."
        )
        cautions.append(Caution("ids", text))
    if nested:
        cautions.append(Caution("nested", f"columns of lists or records are not used: {_listed(nested)}."))
    reasons = _reasons(design, in_use, target, excluded, features is not None)
    reasons |= (
        dict.fromkeys(useless, "constant or empty")
        | dict.fromkeys(nested, "lists or records")
        | dict.fromkeys(ids, AN_ID)
    )
    return Features(
        columns=kept,
        treatment={name: kinds[name].words for name in kept},
        plain=all(kinds[name].plain for name in kept),
        cautions=tuple(cautions),
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
