"""What was answered on the pages, as the options of our commands. Only choices that the pages offer become options."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from improvable.errors import OptionError
from improvable.question.checks import parse_names
from improvable.web.demo import EXAMPLE, EXAMPLE_MEASURE
from improvable.web.roles import FORMAT, Roles, number, roles_of

RULES = {
    "lasso": "LASSO",
    "linear": "linear regression",
    "tournament": "several rules compete",
    "logistic": "logistic regression",
    "boosting": "boosted trees",
    "forest": "random forest (slow)",
    "linear_search": "search for a linear rule",
}
"""The rules that the page offers; a rule of one's own needs the command line."""
PROCEDURES = {
    "forward": (
        "Forward (recommended)",
        "Learn from the first rows, test on the next, and so on, 7 times. Tests nine tenths of the rows.",
    ),
    "split": ("As in the paper", "Learn from one half, test on the other, 7 times. Needs more rows."),
}
OF_TWO_VALUES = (
    "positive_predictive_value", "true_positive_rate", "true_negative_rate", "classification_rate", "f_score", "lift",
    "selection_rate",
)  # fmt: skip
OF_AMOUNTS = ("calibration", "lift", "selection_rate")
GAPS_OF_TWO_VALUES = (
    "positive_predictive_value", "true_positive_rate", "false_positive_rate", "calibration_rejected",
    "classification_rate", "f_score", "lift", "selection_rate", "adverse_impact_ratio",
)  # fmt: skip
GAPS_OF_AMOUNTS = ("calibration", "calibration_rejected", "lift", "selection_rate", "adverse_impact_ratio")
"""Each measure once: of two values calibration is the predictive value, and rates of error have the same gaps as rates
of success. The first is proposed: it is what `audit` measures if nothing is said."""
DEFAULTS: dict[str, str] = {
    "share": "same", "accuracy": "", "fairness": "", "better": "more", "margin": "1", "shrink": "0",
    "selection": "benefit", "procedure": "forward", "rule": "lasso", "alpha": "5", "allow_group": "",
    "organization": "", "system": "", "author": "", "date": "",
}  # fmt: skip
CHOICES: dict[str, Sequence[str]] = {
    "share": ("same", "own"), "better": ("more", "no_worse"), "selection": ("benefit", "burden"),
    "procedure": tuple(PROCEDURES), "rule": tuple(RULES), "allow_group": ("", "yes"),
}  # fmt: skip
PERCENT = {"margin": (0.0, 100.0), "shrink": (0.0, 100.0), "alpha": (0.0, 50.0)}
FOR_THE_REPORT = ("organization", "system", "author", "date")


def measures(answers: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """What accuracy, and what the gap, can be measured by."""
    return (OF_TWO_VALUES, GAPS_OF_TWO_VALUES) if answers.get("binary") else (OF_AMOUNTS, GAPS_OF_AMOUNTS)


def asked_of(answers: Mapping[str, Any]) -> dict[str, str]:
    """The question as answered, with what the page proposes where nothing was."""
    accuracy, _ = measures(answers)
    measure = EXAMPLE_MEASURE if answers.get("file") == EXAMPLE and EXAMPLE_MEASURE in accuracy else accuracy[0]
    return {**DEFAULTS, "accuracy": measure, "fairness": measure, **dict(answers.get("question", {}))}


def check_question(given: Mapping[str, str], answers: Mapping[str, Any]) -> dict[str, str]:
    """The answers to the question, each one of those offered."""
    proposed = asked_of({**answers, "question": {}})
    asked = {name: str(given.get(name, "")).strip() or proposed[name] for name in DEFAULTS}
    accuracies, gaps = measures(answers)
    for name, choices in {**CHOICES, "accuracy": accuracies, "fairness": gaps}.items():
        if asked[name] not in choices:
            raise OptionError(f"'{asked[name]}' is not one of the choices.", "Choose from the list.")
    for name, (least, most) in PERCENT.items():
        value = number(asked[name])
        if value is None or not least <= value <= most:
            raise OptionError(f"'{asked[name]}' is not a percentage.", f"Write a number from {least:g} to {most:g}.")
        asked[name] = f"{value:.15g}"
    return asked


def options(answers: Mapping[str, Any]) -> list[str]:
    """The options of `check`, `power` and `audit` that the answers amount to."""
    roles, asked = roles_of(answers), asked_of(answers)
    words = ["--outcome", roles.one("outcome")]
    for name in roles.of("group"):
        words += ["--group", quoted(name)]
    words += _positive(roles, answers)
    words += ["--lower-is-better"] if roles.better == "lower" else []
    words += _algorithm(roles, asked)
    for role in ("weight", "cluster", "stratum"):
        words += [f"--{role}", roles.one(role)] if roles.one(role) else []
    words += _reading(answers)
    for name in [*roles.of("left_out"), *roles.of("row_id")]:
        words += ["--exclude", quoted(name)]
    words += ["--rule", asked["rule"], "--accuracy", asked["accuracy"], "--fairness", asked["fairness"]]
    words += ["--allow-group"] if asked["allow_group"] else []
    words += ["--selection", asked["selection"]] if asked["selection"] != "benefit" else []
    words += ["--no-worse", _share(asked["margin"])] if asked["better"] == "no_worse" else []
    words += ["--delta-fairness", _share(asked["shrink"])] if float(asked["shrink"]) else []
    words += ["--scheme", "split"] if asked["procedure"] == "split" else []
    words += ["--alpha", _share(asked["alpha"])] if float(asked["alpha"]) != 5 else []
    return words


def audit_options(answers: Mapping[str, Any]) -> list[str]:
    """The same with what `audit` and `check` take and `power` does not."""
    asked, name = asked_of(answers), roles_of(answers).one("row_id")
    words = [*options(answers), *(["--row-id", name] if name else [])]
    duplicates = answers.get("reading", {}).get("duplicates")
    words += ["--duplicates", duplicates] if duplicates in ("keep", "cluster") else []
    for field in FOR_THE_REPORT:
        words += [f"--{field}", asked[field]] if asked[field] else []
    return words


def format_options(answers: Mapping[str, Any]) -> list[str]:
    """How the file is written, where that was said."""
    said = answers.get("format", {})
    return [word for name in FORMAT if said.get(name) for word in (f"--{name}", said[name])]


def quoted(name: str) -> str:
    """A column's name as a list of names on the command line: in quotes where it has a comma or a quote.

    Examples
    --------
    >>> quoted("age"), quoted("income, net")
    ('age', '"income, net"')
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([name])
    return out.getvalue()


def _positive(roles: Roles, answers: Mapping[str, Any]) -> list[str]:
    """Which values are meant; a column of 0 and 1 already says that 1 is."""
    plain = [name for name in answers.get("flags", ()) if roles.positive.get(name) == "1"]
    pairs = [quoted(f"{name}={value}") for name, value in roles.positive.items() if name not in plain]
    return ["--positive", ",".join(pairs)] if pairs else []


def _algorithm(roles: Roles, asked: Mapping[str, str]) -> list[str]:
    same = ["--capacity", "same"] if asked["share"] == "same" else []
    if roles.one("decision"):
        return ["--decision", roles.one("decision"), *same]
    if roles.score.get("cut") == "least":
        return ["--score", roles.one("score"), "--above", roles.score.get("above", roles.score["least"]), *same]
    return ["--score", roles.one("score"), "--capacity", _share(roles.score.get("top", "0"))]


def _reading(answers: Mapping[str, Any]) -> list[str]:
    reading, words = answers.get("reading", {}), format_options(answers)
    for value in parse_names(reading.get("na")):
        words += ["--na", quoted(value)]
    words += ["--strip"] if reading.get("spelling") == "one" else []
    words += ["--drop-missing"] if reading.get("drop") else []
    words += ["--direction", "as stated"] if answers.get("stated") else []
    return words


def _share(percent: str) -> str:
    return f"{float(percent) / 100:.10g}"
