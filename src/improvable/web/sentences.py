"""The audit in sentences, in the words of the file: what is measured, and what is declared before it runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from improvable.question.checks import parse_names
from improvable.web.answers import PROCEDURES, RULES, asked_of
from improvable.web.roles import Roles, kinds, roles_of


def measure_words(answers: Mapping[str, Any], other: str = "") -> dict[str, str]:
    """Every measure in words that people use: "of those whose default is no, the share selected"."""
    roles = roles_of(answers)
    name = roles.one("outcome")
    if answers.get("binary"):
        good = f"of those whose {name} is {roles.positive[name]}"
        bad = f"of those whose {name} is {other}" if other else "of the others"
        share = f"the share whose {name} is {roles.positive[name]}"
        means = {"lift": f"of those selected, {share}, compared with the whole group"}
    else:
        good = bad = ""
        share = f"the mean {name}"
        means = {
            "lift": f"of those selected, {share}, compared with the whole group",
            "calibration": f"of those selected, {share}",
        }
    return {
        "true_positive_rate": f"{good}, the share selected",
        "true_negative_rate": f"{bad}, the share not selected",
        "false_positive_rate": f"{bad}, the share selected",
        "positive_predictive_value": f"of those selected, {share}",
        "calibration_rejected": f"of those not selected, {share}",
        "classification_rate": "the share of correct decisions",
        "f_score": "the F-score (both of those: how many are found, how many are right)",
        "selection_rate": "the share selected",
        "adverse_impact_ratio": "the share selected, as a ratio between groups",
        **means,
    }  # fmt: skip


def other_value(answers: Mapping[str, Any], found: Mapping[str, Any], name: str) -> str:
    """Of a column with two values, the one that is not meant."""
    reading, meant = answers.get("reading", {}), roles_of(answers).positive.get(name)
    column = next((one for one in found.get("columns", []) if one["name"] == name), None)
    values = kinds(column, reading.get("spelling", ""), parse_names(reading.get("na"))) if column else []
    return next((value for value in values if value != meant), "")


def selects_words(roles: Roles) -> str:
    """Whom the algorithm in use selects."""
    name = roles.algorithm
    if roles.one("decision"):
        return f"those whose {name} is {roles.positive[name]}"
    if roles.score.get("cut") == "least":
        return f"those whose {name} is {roles.score['least']} or more"
    return f"the {roles.score.get('top', '')}% with the highest {name}"


def should_words(roles: Roles) -> str:
    """Whom it should select."""
    name = roles.one("outcome")
    return (
        f"those whose {name} is {roles.positive[name]}"
        if name in roles.positive
        else f"those with a {roles.better} {name}"
    )


def declared(answers: Mapping[str, Any], found: Mapping[str, Any], noticed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is declared, as heading and sentence, for people who do not read protocols."""
    roles, asked = roles_of(answers), asked_of(answers)
    words = measure_words(answers, other_value(answers, found, roles.one("outcome")))
    groups = " and ".join(roles.of("group"))
    better = (
        "is more accurate for every group"
        if asked["better"] == "more"
        else f"is nowhere less accurate by more than {asked['margin']}%, for every group"
    )
    same = asked["share"] == "same" or roles.score.get("cut") == "top"
    shrink = f"smaller by more than {asked['shrink']}%" if float(asked["shrink"]) else "smaller"
    features = list(noticed.get("features", {}))
    return [
        ("Data", f"{answers['file']}: {_rows(answers, found)}"),
        ("Algorithm in use", f"It selects {selects_words(roles)}. Being selected is a {asked['selection']}."),
        ("Aim", f"It should select {should_words(roles)}{_stated(answers)}."),
        ("Question", f"Is there a rule that selects {'the same' if same else 'any'} share of people, {better} of "
                     f"{groups}, and has a {shrink} gap between them?"),
        ("Accuracy", f"{_upper(words[asked['accuracy']])}."),
        ("Gap", f"{_upper(words[asked['fairness']])}."),
        ("Candidates", f"Algorithms that may be better, found by {RULES[asked['rule']]}. They may read "
                       f"{_listed(features)}{', and the group' if asked['allow_group'] else ''}."),
        ("Test", f"{PROCEDURES[asked['procedure']][1]} Level {asked['alpha']}%."),
    ]  # fmt: skip


def _rows(answers: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    counts, rows = answers.get("counts", {}), found.get("rows", 0)
    if not answers.get("reading", {}).get("drop") or not counts.get("left_out"):
        return f"{rows:,} rows, all of them used."
    return f"{rows:,} rows. {lacking_words(counts)} They are left out."


def lacking_words(counts: Mapping[str, Any]) -> str:
    """How many rows lack a value that is needed, by column and by group."""
    rows = "1 row lacks" if counts["left_out"] == 1 else f"{counts['left_out']:,} rows lack"
    missing = counts["missing"]
    columns = " and ".join(f"{name} ({count:,})" if len(missing) > 1 else name for name, count in missing.items())
    groups = ", ".join(f"{one['group']} {one['left_out']:,} of {one['rows']:,}" for one in counts["groups"])
    return f"{rows} {columns}; by group, {groups}."


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _stated(answers: Mapping[str, Any]) -> str:
    return " (as stated, though the algorithm in use does the opposite)" if answers.get("stated") else ""


def _listed(names: Sequence[str], most: int = 12) -> str:
    if not names:
        return "no column"
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
