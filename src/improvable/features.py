"""Which columns a candidate may read."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from improvable.algorithms import Algorithm, Threshold, columns_read
from improvable.cautions import Caution
from improvable.data import Rows
from improvable.design import Design
from improvable.errors import DataError, OptionError


@dataclass(frozen=True)
class Features:
    columns: tuple[str, ...]
    cautions: tuple[Caution, ...]


def match_columns(rows: Rows, names: Sequence[str]) -> tuple[str, ...]:
    """The columns named; * and ? in a name that is no column stand for anything."""
    found: dict[str, None] = {}
    for name in names:
        hits = [name] if name in rows.columns else [c for c in rows.columns if fnmatchcase(c, name.replace("[", "[[]"))]
        if not hits:
            rows.require([name])
        found.update(dict.fromkeys(hits))
    return tuple(found)


def choose_features(
    rows: Rows,
    design: Design,
    status_quo: Algorithm | Threshold,
    target: str,
    features: Sequence[str] | None,
    exclude: Sequence[str],
) -> Features:
    """The columns asked for; by default every numeric one that is no outcome, group, or score or decision in use."""
    outcomes = list(dict.fromkeys([*design.outcome_columns, target]))
    rows.require([design.group, *outcomes])
    excluded = set(match_columns(rows, exclude))
    if features is not None:
        asked = match_columns(rows, features)
        leaked = [name for name in asked if name in outcomes]
        if leaked:
            raise OptionError(
                f"'{leaked[0]}' is an outcome and cannot be a feature.",
                "A candidate decides before outcomes are known.",
            )
        chosen = tuple(name for name in asked if name not in excluded)
        skipped: list[str] = []
    else:
        in_use, _ = columns_read(status_quo)
        barred = {design.group, *outcomes, *in_use, *excluded}
        free = [name for name in rows.columns if name not in barred]
        chosen = tuple(name for name in free if rows.is_numeric(name))
        skipped = [name for name in free if not rows.is_numeric(name)]
    if not chosen:
        raise DataError("no column is left for the candidate to read.", "Name features, or exclude fewer columns.")
    cautions = []
    if skipped:
        listed = ", ".join(f"'{name}'" for name in skipped[:6]) + (", ..." if len(skipped) > 6 else "")
        cautions.append(Caution("text", f"columns that hold text are not used as features: {listed}."))
    return Features(chosen, tuple(cautions))
