"""An audit declared as plain data: what a protocol file holds, what a result remembers, what a digest is of."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from improvable.algorithms.deciding import (
    DecisionColumn,
    ScoreColumn,
    Threshold,
    ThresholdedScore,
    as_algorithm,
    threshold,
)
from improvable.errors import OptionError, nearest
from improvable.question.checks import as_names, as_specs
from improvable.question.settings import Settings

Declaration = dict[str, dict[str, Any]]

TEXT, TEXTS, NUMBER, WHOLE, FLAG, TABLE = (
    "text",
    "a list of texts",
    "a number",
    "a whole number",
    "true or false",
    "a table",
)

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "columns": {
        "outcome": ("outcome", TEXT),
        "group": ("group", TEXTS),
        "groups": ("groups", TEXTS),
        "cross": ("cross", FLAG),
        "min_group": ("min_group", WHOLE),
        "small": ("small", TEXT),
        "weight": ("weight", TEXT),
        "cluster": ("cluster", TEXT),
        "drop_missing": ("drop_missing", FLAG),
    },
    "status_quo": {
        "score": ("", TEXT),
        "capacity": ("", NUMBER),
        "above": ("", NUMBER),
        "decision": ("", TEXT),
    },
    "rule": {
        "name": ("rule", TEXT),
        "features": ("features", TEXTS),
        "exclude": ("exclude", TEXTS),
        "target": ("target", TEXT),
        "capacity": ("capacity", NUMBER),
        "monotone": ("monotone", TABLE),
        "selection_gap": ("selection_gap", NUMBER),
        "group_blind": ("group_blind", FLAG),
    },
    "claim": {
        "accuracy": ("accuracy", TEXTS),
        "fairness": ("fairness", TEXTS),
        "delta_accuracy": ("delta_accuracy", f"{NUMBER}, or {TABLE} with one for each group"),
        "delta_fairness": ("delta_fairness", NUMBER),
        "form": ("form", TEXT),
        "gap": ("gap", TEXT),
        "protected": ("protected", TEXTS),
        "overall": ("overall", f"'population', or {TABLE} with a weight for each group"),
    },
    "test": {
        "splits": ("splits", WHOLE),
        "combine": ("combine", TEXT),
        "tolerance": ("tolerance", NUMBER),
        "most_splits": ("most_splits", WHOLE),
        "train_fraction": ("train_fraction", NUMBER),
        "draws": ("draws", WHOLE),
        "alpha": ("alpha", NUMBER),
        "seed": ("seed", WHOLE),
        "method": ("method", TEXT),
        "engine": ("engine", TEXT),
        "train_rows": ("train_rows", WHOLE),
        "row_id": ("row_id", TEXT),
    },
}
"""Section, key, then the argument of `audit` that it is and what it must be. A new setting is a line here."""
SEQUENTIAL_ONLY = ("tolerance", "most_splits")


def declare(settings: Settings) -> Declaration | None:
    """Settings as plain data, complete with defaults; None where a rule, a utility or the status quo is an object.

    Examples
    --------
    >>> declare(Settings(outcome="y", group="g", status_quo="d"))["status_quo"]
    {'decision': 'd'}
    """
    decided = _declared_status_quo(settings.status_quo)
    utilities = [*as_specs(settings.accuracy), *as_specs(settings.fairness or [])]
    if decided is None or not isinstance(settings.rule, str) or not all(isinstance(u, str) for u in utilities):
        return None
    out: Declaration = {}
    for section, keys in SECTIONS.items():
        plain = decided if section == "status_quo" else {}
        for key, (name, kind) in keys.items():
            value = getattr(settings, name) if name else None
            skipped = key in SEQUENTIAL_ONLY and settings.combine != "sequential"
            skipped |= key == "engine" or (key == "seed" and settings.challenge is not None)
            skipped |= (section, key) == ("rule", "capacity") and value == decided.get("capacity")
            if value is not None and value != {} and not skipped:
                plain[key] = _plain(value, kind)
        out[section] = plain
    return out


def from_declaration(declared: Mapping[str, Any], challenge: str | None = None) -> Settings:
    """Settings from plain data; what is unknown, missing, of another kind or contradictory is refused in one line."""
    for section in declared:
        if section not in SECTIONS:
            raise OptionError(f"a protocol has no section [{section}].", nearest(section, SECTIONS))
        if not isinstance(declared[section], Mapping):
            raise OptionError(f"'{section}' is not a section.", f"Write [{section}] and its keys below.")
    arguments: dict[str, Any] = {}
    for section, keys in SECTIONS.items():
        for key, value in declared.get(section, {}).items():
            if key not in keys:
                raise OptionError(f"[{section}] has no key '{key}'.", nearest(key, keys))
            name, kind = keys[key]
            _check_kind(section, key, value, kind)
            if name:
                arguments[name] = value
    for section, key in (("columns", "outcome"), ("columns", "group"), ("rule", "name")):
        if key not in declared.get(section, {}):
            raise OptionError(f"the protocol does not say [{section}] {key}.", "Declare it before anything is run.")
    for key in SEQUENTIAL_ONLY:
        if key in arguments and arguments.get("combine") != "sequential":
            raise OptionError(f"[test] {key} goes with combine = 'sequential'.", "Leave it out, or change combine.")
    if challenge is not None and "seed" in arguments:
        raise OptionError("[test] seed is in a protocol that is sealed.", "A sealed audit has no seed; take it out.")
    return Settings(**arguments, status_quo=_status_quo(declared.get("status_quo", {})), challenge=challenge)


def digest_of(declared: Mapping[str, Any]) -> str:
    """A digest of what was declared; the seed is not part of it, and no default is told from the same value written."""
    settings = from_declaration(declared)
    complete = declare(settings)
    assert complete is not None
    complete["test"].pop("seed", None)
    text = json.dumps(complete, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def _declared_status_quo(status_quo: Any) -> dict[str, Any] | None:
    algorithm = as_algorithm(status_quo)
    if isinstance(algorithm, DecisionColumn):
        return {"decision": algorithm.column}
    scorer = getattr(algorithm, "scorer", None)
    if not isinstance(scorer, ScoreColumn):
        return None
    if isinstance(algorithm, Threshold):
        return {"score": scorer.column, "capacity": algorithm.capacity}
    assert isinstance(algorithm, ThresholdedScore)
    return {"score": scorer.column, "above": algorithm.cutoff}


def _status_quo(plain: Mapping[str, Any]) -> Any:
    keys = set(plain)
    if keys == {"decision"}:
        return plain["decision"]
    if keys == {"score", "capacity"}:
        return threshold(plain["score"], capacity=plain["capacity"])
    if keys == {"score", "above"}:
        return threshold(plain["score"], above=plain["above"])
    raise OptionError(
        f"[status_quo] has {', '.join(sorted(keys)) or 'nothing'}.",
        "It has a decision; or a score with a capacity; or a score with above.",
    )


def _plain(value: Any, kind: str) -> Any:
    if kind == TEXTS:
        return list(as_names(value))
    if isinstance(value, Mapping):
        return {str(key): one if isinstance(one, str) else float(one) for key, one in value.items()}
    if isinstance(value, bool | str):
        return value
    return int(value) if kind == WHOLE else float(value)


def _check_kind(section: str, key: str, value: Any, kind: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    good = {
        TEXT: isinstance(value, str),
        TEXTS: isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value)),
        NUMBER: number,
        WHOLE: isinstance(value, int) and not isinstance(value, bool),
        FLAG: isinstance(value, bool),
        TABLE: isinstance(value, Mapping),
    }
    if not good.get(kind, number or isinstance(value, str | Mapping)):
        raise OptionError(f"[{section}] {key} is {value!r}.", f"It must be {kind}.")
