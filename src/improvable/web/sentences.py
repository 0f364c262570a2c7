"""The words of the page: the audit in sentences, and messages in which the page names
its own controls.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any

from improvable.question.options import FLAG
from improvable.question.settings import KNOWN, respell
from improvable.results.formatting import capital
from improvable.web.answers import (
    FOR_THE_REPORT,
    OTHERS,
    PROCEDURES,
    RULES,
    SINGLE,
    Roles,
    asked_of,
    kinds,
    roles_of,
)

CONTROLS = {
    "drop_missing": "Leave out rows that lack a value",
    "strip": "They are one value",
    "na": "Values that mean missing",
    "unknown_outcomes": "Nobody has seen how those not selected fared",
    **dict.fromkeys(
        ("positive", "lower_is_better"), "Whom should the algorithm select"
    ),
    "direction": "It is as stated",
    "outcome": "How each person fared",
    "group": "The groups to compare",
    **dict.fromkeys(("decision", "score", "status_quo"), "The algorithm in use"),
    "above": "or more",
    "exclude": OTHERS["left_out"],
    "features": OTHERS["feature"],
    **{role: OTHERS[role] for role in SINGLE},
    "duplicates": "Rows that are the same",
    "decimal": "Decimal mark",
    "rule": "Look with",
    "capacity": "How many people it selects",
    "accuracy": "What accuracy is",
    "fairness": "What the gap is measured by",
    "delta_accuracy": "How accurate it must be",
    "delta_fairness": "How much smaller",
    "selection": "What being selected means",
    "scheme": "How to test",
    "alpha": "Level of the test",
    "group_blind": "A candidate may read the group",
    **{
        name: name.capitalize()
        for name in ("sheet", "separator", "encoding", *FOR_THE_REPORT)
    },
    "challenge": "A text that the other side chooses",
    "seal": "The seal that you agreed to",
}
"""The label of the control for each setting that the page offers."""
OFFERED_VALUES = {
    "scheme": {"split": "As in the paper", "forward": "Forward"},
    "capacity": {"status_quo": "the same share of people"},
    "duplicates": {"keep": "different people", "cluster": "copies"},
}
FLAGGED = re.compile(
    r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)( (?:'[^']*'|[A-Z|]+|\d[\d.]*|\.\.\.))?"
)
"""An option in a message that was written for the command line alone."""
NAMES = {setting.flag: name for name, setting in KNOWN.items()}


def measure_words(answers: Mapping[str, Any], other: str = "") -> dict[str, str]:
    """Every measure in words that people use: "of those whose default is no, the share
    selected".
    """
    roles = roles_of(answers)
    name = roles.one("outcome")
    good = f"of those whose {name} is {roles.positive.get(name, '')}"
    bad = f"of those whose {name} is {other}" if other else "of the others"
    mean = (
        f"the share whose {name} is {roles.positive[name]}"
        if answers.get("binary")
        else f"the mean {name}"
    )
    return {
        **dict.fromkeys(
            ("calibration", "positive_predictive_value"), f"of those selected, {mean}"
        ),
        "calibration_rejected": f"of those not selected, {mean}",
        "lift": f"of those selected, {mean}, compared with the whole group",
        "true_positive_rate": f"{good}, the share selected",
        "true_negative_rate": f"{bad}, the share not selected",
        "false_positive_rate": f"{bad}, the share selected",
        "classification_rate": "the share of correct decisions",
        "f_score": (
            "the F-score (both of those: how many are found, how many are right)"
        ),
        "selection_rate": "the share selected",
        "adverse_impact_ratio": "the share selected, as a ratio between groups",
    }


def other_value(answers: Mapping[str, Any], found: Mapping[str, Any], name: str) -> str:
    """Of a column with two values, the one that is not meant."""
    column = next(
        (one for one in found.get("columns", []) if one["name"] == name), None
    )
    both = kinds(column, answers.get("reading", {})) if column else []
    return next(
        (value for value in both if value != roles_of(answers).positive.get(name)), ""
    )


def selects_words(roles: Roles) -> str:
    name = roles.algorithm
    if roles.one("decision"):
        return f"those whose {name} is {roles.positive[name]}"
    if roles.score.get("cut") == "least":
        return f"those whose {name} is {roles.score['least']} or more"
    return f"the {roles.score.get('top', '')}% with the highest {name}"


def should_words(roles: Roles) -> str:
    name = roles.one("outcome")
    if name in roles.positive:
        return f"those whose {name} is {roles.positive[name]}"
    return f"those with a {roles.better} {name}"


def told(answers: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """What pages say of an audit: the roles of columns, what was asked, and both in
    words.
    """
    roles = roles_of(answers)
    words = measure_words(answers, other_value(answers, found, roles.one("outcome")))
    return {
        "roles": roles,
        "asked": asked_of(answers),
        "words": words,
        "procedures": PROCEDURES,
        "rules": RULES,
        "selects": selects_words(roles),
        "should": should_words(roles),
    }


def lacking_words(counts: Mapping[str, Any]) -> str:
    """How many rows lack a value that is needed, by column and by group."""
    rows = (
        "1 row lacks"
        if counts["left_out"] == 1
        else f"{counts['left_out']:,} rows lack"
    )
    missing = counts["missing"]
    columns = " and ".join(
        f"{name} ({count:,})" if len(missing) > 1 else name
        for name, count in missing.items()
    )
    groups = ", ".join(
        f"{one['group']} {one['left_out']:,} of {one['rows']:,}"
        for one in counts["groups"]
    )
    return f"{rows} {columns}; by group, {groups}."


# Messages. ----


def spoken(text: str) -> str:
    """A message as the page says it: with the labels of controls for the names of
    settings.
    """
    return FLAGGED.sub(_of_flag, respell(text, _control))


def sentence(text: str) -> str:
    """The same as a sentence of its own."""
    return capital(spoken(text))


def _control(name: str, value: str | None) -> str:
    if name not in CONTROLS:
        return f"{name.replace('_', ' ')}, which only the command line offers"
    try:
        read = None if value is None else ast.literal_eval(value)
    except (ValueError, SyntaxError):
        read = None
    if isinstance(read, str) and read in OFFERED_VALUES.get(name, {}):
        return f"“{OFFERED_VALUES[name][read]}”"
    label = f"“{CONTROLS[name]}”"
    if name == "positive" and isinstance(read, Mapping):
        return " and ".join(
            f"{column} = {one}" if one is not ... else f"{label} ({column})"
            for column, one in read.items()
        )
    listed = ", ".join(map(str, read)) if isinstance(read, list | tuple) else read
    if name in ("exclude", "features", "cluster", "row_id") and isinstance(listed, str):
        return f"{label} for {listed}"
    return f"{label}: {listed}" if name == "na" and isinstance(listed, str) else label


def _of_flag(found: re.Match[str]) -> str:
    name = NAMES.get(f"--{found[1]}", found[1].replace("-", "_"))
    if name not in CONTROLS:
        return f"“{found[1].replace('-', ' ')}” on the command line"
    kept = (found[2] or "") if name in KNOWN and KNOWN[name].kind is FLAG else ""
    return _control(name, None) + kept
