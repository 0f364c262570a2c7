"""What was answered on the pages, as the options of our commands. Only choices that the pages offer become options."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from improvable.errors import OptionError
from improvable.question.catalog import UTILITIES

ROLES = {
    "feature": "a candidate may read it",
    "outcome": "how each person fared",
    "group": "the groups to compare",
    "score": "score of the algorithm in use",
    "decision": "decision of the algorithm in use",
    "row_id": "id of a row",
    "weight": "sampling weight",
    "cluster": "which rows belong together",
    "stratum": "survey stratum",
    "left_out": "leave it out",
}
"""What a column can be, in words."""
SINGLE = ("outcome", "score", "decision", "row_id", "weight", "cluster", "stratum")
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
ACCURACIES = tuple(name for name, one in UTILITIES.items() if one.higher_is_better and name != "profit")
FAIRNESS = tuple(name for name in UTILITIES if name != "profit")
DEFAULTS: dict[str, str] = {
    "share": "same", "capacity": "", "accuracy": "calibration", "fairness": "calibration", "better": "more",
    "margin": "1", "shrink": "0", "selection": "benefit", "direction": "higher", "procedure": "forward",
    "rule": "lasso", "alpha": "5",
}  # fmt: skip
CHOICES: dict[str, Sequence[str]] = {
    "share": ("same", "own"), "accuracy": ACCURACIES, "fairness": FAIRNESS, "better": ("more", "no_worse"),
    "selection": ("benefit", "burden"), "direction": ("higher", "lower"), "procedure": tuple(PROCEDURES),
    "rule": tuple(RULES),
}  # fmt: skip
PERCENT = {"capacity": (0.0, 100.0), "margin": (0.0, 100.0), "shrink": (0.0, 100.0), "alpha": (0.0, 50.0)}


@dataclass(frozen=True)
class Roles:
    """What each column is."""

    by_name: Mapping[str, str]
    positive: str = ""

    def of(self, role: str) -> list[str]:
        """The columns of a role."""
        return [name for name, its in self.by_name.items() if its == role]

    def one(self, role: str) -> str:
        """The column of a role; empty where there is none."""
        return next(iter(self.of(role)), "")


def check_roles(by_name: Mapping[str, str], positive: str) -> Roles:
    """The roles, if they make a question."""
    roles = Roles({name: role if role in ROLES else "feature" for name, role in by_name.items()}, positive)
    for role in SINGLE:
        if len(roles.of(role)) > 1:
            raise OptionError(f"{_named(roles.of(role))} are all '{ROLES[role]}'.", "Choose one of them.")
    if not roles.one("outcome"):
        raise OptionError("no column says how each person fared.", f"Choose '{ROLES['outcome']}' for one.")
    if not roles.of("group"):
        raise OptionError("no column has the groups to compare.", f"Choose '{ROLES['group']}' for one.")
    if bool(roles.one("score")) == bool(roles.one("decision")):
        raise OptionError(
            "the algorithm in use must be one column, its score or its decisions.",
            f"Choose '{ROLES['score']}' or '{ROLES['decision']}' for one column, not for both.",
        )
    return roles


def roles_of(answers: Mapping[str, Any]) -> Roles:
    """The roles that were answered."""
    return Roles(dict(answers.get("roles", {})), str(answers.get("positive", "")))


def asked_of(answers: Mapping[str, Any]) -> dict[str, str]:
    """The question as answered, with what the page proposes where nothing was."""
    proposed = dict(DEFAULTS)
    if answers.get("binary"):
        proposed["accuracy"] = proposed["fairness"] = "true_positive_rate"
    if roles_of(answers).one("score"):
        proposed["share"], proposed["capacity"] = "own", "10"
    return {**proposed, **dict(answers.get("question", {}))}


def check_question(given: Mapping[str, str], roles: Roles) -> dict[str, str]:
    """The answers to the question, each one of those offered."""
    asked = {name: str(given.get(name, "")).strip() or DEFAULTS[name] for name in DEFAULTS}
    for name, choices in CHOICES.items():
        if asked[name] not in choices:
            raise OptionError(f"'{asked[name]}' is not one of the choices.", "Choose from the list.")
    for name, (least, most) in PERCENT.items():
        if asked[name] and not (_is_number(asked[name]) and least <= float(asked[name]) <= most):
            raise OptionError(f"'{asked[name]}' is not a percentage.", f"Write a number from {least:g} to {most:g}.")
    if roles.one("score") and not (asked["capacity"] and 0 < float(asked["capacity"]) < 100):
        raise OptionError("the share of people that the score selects is missing.", "Write it in percent, such as 10.")
    return asked


def options(answers: Mapping[str, Any]) -> list[str]:
    """The options of `check`, `power` and `audit` that the answers amount to."""
    roles, asked = roles_of(answers), asked_of(answers)
    words = ["--outcome", roles.one("outcome")]
    for name in roles.of("group"):
        words += ["--group", quoted(name)]
    words += ["--positive", roles.positive] if roles.positive else []
    if roles.one("score"):
        words += ["--score", roles.one("score"), "--capacity", _share(asked["capacity"])]
    else:
        words += ["--decision", roles.one("decision")]
        words += ["--capacity", "same"] if asked["share"] == "same" else []
    for role in ("weight", "cluster", "stratum"):
        words += [f"--{role}", roles.one(role)] if roles.one(role) else []
    for name in [*roles.of("left_out"), *roles.of("row_id")]:
        words += ["--exclude", quoted(name)]
    words += ["--rule", asked["rule"], "--accuracy", asked["accuracy"], "--fairness", asked["fairness"]]
    words += ["--lower-is-better"] if asked["direction"] == "lower" else []
    words += ["--selection", asked["selection"]] if asked["selection"] != "benefit" else []
    words += ["--no-worse", _share(asked["margin"])] if asked["better"] == "no_worse" else []
    words += ["--delta-fairness", _share(asked["shrink"])] if float(asked["shrink"]) else []
    words += ["--scheme", "split"] if asked["procedure"] == "split" else []
    words += ["--alpha", _share(asked["alpha"])] if float(asked["alpha"]) != 5 else []
    return words


def row_id_options(answers: Mapping[str, Any]) -> list[str]:
    """The row id, which `audit` takes and `power` does not."""
    name = roles_of(answers).one("row_id")
    return ["--row-id", name] if name else []


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


def _share(percent: str) -> str:
    return f"{float(percent) / 100:.10g}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
