"""Which columns an analysis reads, known before any row is."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from improvable.errors import UnknownColumnError, nearest
from improvable.question.design import Design


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
