"""What was answered on the pages: from forms to answers, and from answers to the
options of our commands.

A page holds a form, and its answers are kept; only choices that the pages offer become
options. The page proposes columns by their names. It never proposes what a value means:
a wrong guess would answer the opposite question.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from improvable.algorithms.rules import FAMILIES
from improvable.data.recode import same_value
from improvable.datasets import DIABETES_SCREENING
from improvable.errors import OptionError
from improvable.question.options import parse_names
from improvable.question.settings import SETTINGS
from improvable.web.files import EXAMPLE

LACKING = {
    "outcome": "no column says how each person fared.",
    "group": "no column has the groups to compare.",
    "algorithm": "no column says what the algorithm in use decided.",
}
OTHERS = {
    "feature": "a candidate may read it",
    "left_out": "leave it out",
    "group": "more groups to compare",
    "probability": "probability of a group, as is the column of groups above",
    "row_id": "id of a row",
    "weight": "sampling weight",
    "cluster": "which rows belong together",
    "stratum": "survey stratum",
}
"""What any other column can be."""
SINGLE = ("row_id", "weight", "cluster", "stratum")
FORMAT = ("sheet", "separator", "decimal", "encoding")
READING = ("na", "spelling", "drop", "duplicates", "unknown")
BAD_NEWS = (
    "default",
    "churn",
    "fraud",
    "delinquen",
    "charge",
    "late",
    "recid",
    "rearrest",
    "arrest",
    "dropout",
    "died",
    "death",
    "bad",
    "sick",
    "diabet",
    "disease",
    "readmi",
)
"""How names begin whose yes is bad news; whether it is to be found or to be avoided,
only a person knows.
"""
REFUSING = ("denied", "deny", "denial", "reject", "declin", "refus")
RULES = {
    name: FAMILIES[name].words
    for name in (
        "aim",
        "lasso",
        "linear",
        "tournament",
        "logistic",
        "boosting",
        "forest",
    )
}
"""The rules that the page offers; a rule of one's own needs the command line."""
REPETITIONS: int = SETTINGS["repetitions"].default
LEVEL = f"{100 * SETTINGS['alpha'].default:g}"
PROCEDURES = {
    "forward": (
        "Forward (recommended)",
        (
            f"Learn from the first rows, test on the next, and so on, {REPETITIONS} "
            "times. Tests nine tenths of the rows."
        ),
    ),
    "split": (
        "As in the paper",
        (
            f"Learn from one half, test on the other, {REPETITIONS} times. Needs more "
            "rows."
        ),
    ),
}
# Each measure once: of two values calibration is the predictive value, and rates of
# error have the same gaps as rates of success. The first is proposed: it is what
# `audit` measures if nothing is said.
OF_TWO_VALUES = (
    "positive_predictive_value",
    "true_positive_rate",
    "true_negative_rate",
    "classification_rate",
    "f_score",
    "lift",
    "selection_rate",
)
OF_AMOUNTS = ("calibration", "lift", "selection_rate")
GAPS_OF_TWO_VALUES = (
    "positive_predictive_value",
    "true_positive_rate",
    "false_positive_rate",
    "calibration_rejected",
    "classification_rate",
    "f_score",
    "lift",
    "selection_rate",
    "adverse_impact_ratio",
)
GAPS_OF_AMOUNTS = (
    "calibration",
    "calibration_rejected",
    "lift",
    "selection_rate",
    "adverse_impact_ratio",
)
CHOICES: dict[str, Sequence[str]] = {
    "share": ("same", "own"),
    "better": ("more", "no_worse"),
    "selection": SETTINGS["selection"].choices,
    "procedure": tuple(PROCEDURES),
    "rule": tuple(RULES),
    "allow_group": ("", "yes"),
}
"""What a question offers; the first is proposed."""
MAX_PERCENT = {"margin": 100, "shrink": 100, "alpha": 50}
FOR_THE_REPORT = ("organization", "system", "author", "date")
DEFAULTS: dict[str, str] = {
    **{name: choices[0] for name, choices in CHOICES.items()},
    "accuracy": "",
    "fairness": "",
    "margin": "1",
    "shrink": "0",
    "alpha": LEVEL,
    **dict.fromkeys(FOR_THE_REPORT, ""),
}


@dataclass(frozen=True)
class Roles:
    """What each column is."""

    by_name: Mapping[str, str]
    # of an outcome and decisions with two values: the one that should be, or is,
    # selected
    positive: Mapping[str, str]
    # of an amount: whether those with "higher" or "lower" ones should be selected
    better: str
    # "top" with a percentage, or "least" with a number and the cutoff "above" it
    # amounts to
    score: Mapping[str, str]

    def of(self, *roles: str) -> list[str]:
        """The columns of some roles, in the order of the roles."""
        return [
            name for role in roles for name, its in self.by_name.items() if its == role
        ]

    def one(self, role: str) -> str:
        """The column of a role; empty where there is none."""
        return next(iter(self.of(role)), "")

    @property
    def groups(self) -> list[str]:
        """Columns of known groups."""
        return [] if self.probabilities else self.of("group")

    @property
    def probabilities(self) -> dict[str, str]:
        """The column of each group's probability, by the group: p_white is that of
        white.
        """
        columns = self.of("group", "probability") if self.of("probability") else []
        return {name.removeprefix("p_") or name: name for name in columns}

    @property
    def named_groups(self) -> list[str]:
        """What divides people into groups, for sentences."""
        return self.groups or [
            f"{group} (by probability)" for group in self.probabilities
        ]

    @property
    def algorithm(self) -> str:
        return self.one("decision") or self.one("score")


def roles_of(answers: Mapping[str, Any]) -> Roles:
    roles, positive, score = (
        dict(answers.get(name, {})) for name in ("roles", "positive", "score")
    )
    return Roles(roles, positive, str(answers.get("better", "")), score)


# Forms. ----


def form_of(answers: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, str]:
    """The form as it was answered; before that, with the columns that their names
    suggest.
    """
    places = {
        column["name"]: str(place)
        for place, column in enumerate(found.get("columns", []))
    }
    roles = roles_of(
        answers if "roles" in answers else {"roles": found.get("roles", {})}
    )
    outcome, group = roles.one("outcome"), roles.one("group")
    chosen = {"outcome": outcome, "group": group, "algorithm": roles.algorithm}
    form = {role: places.get(name, "") for role, name in chosen.items()}
    for name, value in roles.positive.items():
        form[f"{'outcome' if name == outcome else 'decision'}-{places[name]}"] = value
    for name, role in roles.by_name.items():
        if role in OTHERS and name != group:
            form[f"role-{places[name]}"] = role
    form |= {
        "better": roles.better,
        **{name: str(roles.score.get(name, "")) for name in ("cut", "top", "least")},
    }
    return form | {
        name: str(answers.get("reading", {}).get(name, "")) for name in READING
    }


def answers_from(form: Mapping[str, str], found: Mapping[str, Any]) -> dict[str, Any]:
    """The answers that a form amounts to; one that makes no question is refused, in the
    page's own words.
    """
    columns = {str(place): column for place, column in enumerate(found["columns"])}
    for role, words in LACKING.items():
        if form.get(role, "") not in columns:
            raise OptionError(words, "Choose one.")
    three = [form[role] for role in LACKING]
    if len(set(three)) < 3:
        raise OptionError(
            "one column is chosen twice.",
            "The outcome, the groups and the algorithm are three columns.",
        )
    outcome, group, algorithm = (columns[place] for place in three)
    roles = {
        column["name"]: form.get(f"role-{place}", "")
        for place, column in columns.items()
    }
    roles = {
        name: role if role in OTHERS else "feature" for name, role in roles.items()
    }
    roles |= {
        outcome["name"]: "outcome",
        group["name"]: "group",
        algorithm["name"]: "score",
    }
    for role in SINGLE:
        twice = [f"'{name}'" for name, its in roles.items() if its == role]
        if len(twice) > 1:
            raise OptionError(
                f"{' and '.join(twice)} are both '{OTHERS[role]}'.",
                "Choose one of them.",
            )
    reading = {name: form.get(name, "").strip() for name in READING}
    for column in (outcome, group, algorithm):
        alike = [
            texts for texts in column["alike"] if not _is_missing(texts[0], reading)
        ]
        if alike and reading["spelling"] not in ("one", "apart"):
            raise OptionError(
                (
                    f"{' and '.join(map(repr, alike[0]))} of '{column['name']}' differ "
                    "only in capitals or spaces."
                ),
                "Say below whether they are one value.",
            )
    positive, better, score, two = (
        dict[str, str](),
        "",
        dict[str, str](),
        kinds(outcome, reading),
    )
    whom = "whom should the algorithm select: those"
    if has_two(outcome, two, "outcome"):
        asked = f"{whom} whose '{outcome['name']}' is '{two[0]}', or '{two[-1]}'?"
        positive[outcome["name"]] = _choice(
            form.get(f"outcome-{three[0]}", ""), two, asked
        )
    else:
        asked = f"{whom} with a higher '{outcome['name']}', or a lower one?"
        better = _choice(form.get("better", ""), ("higher", "lower"), asked)
    two = kinds(algorithm, reading)
    if has_two(algorithm, two, "algorithm"):
        asked = f"which value of '{algorithm['name']}' means selected?"
        positive[algorithm["name"]] = _choice(
            form.get(f"decision-{three[2]}", ""), two, asked
        )
        roles[algorithm["name"]] = "decision"
    else:
        score = _score_from(form)
    flags = [
        column["name"]
        for column in (outcome, algorithm)
        if set(column["levels"]) == {"0", "1"}
    ]
    return {
        "roles": roles,
        "positive": positive,
        "better": better,
        "score": score,
        "reading": reading,
        "binary": not better,
        "flags": flags,
    }


def kinds(column: Mapping[str, Any], reading: Mapping[str, str]) -> list[str]:
    """The values of a column that has few, as they are read."""
    levels = column["levels"] if reading.get("spelling") == "apart" else column["kinds"]
    return [level for level in levels if not _is_missing(level, reading)]


def _is_missing(text: str, reading: Mapping[str, str]) -> bool:
    return any(same_value(gone, text) for gone in parse_names(reading.get("na")))


def has_two(column: Mapping[str, Any], two: Sequence[str], role: str) -> bool:
    """Whether an outcome or an algorithm has two values; otherwise it is an amount or a
    score, or refused.
    """
    name, is_outcome = column["name"], role == "outcome"
    another = "Choose another." if is_outcome else "Choose the decisions, or the score."
    if column["id"]:
        what = "an id, not how people fared" if is_outcome else "an id"
        raise OptionError(f"'{name}' is different in every row: it is {what}.", another)
    if len(two) == 1 or not column["values"]:
        always = (
            f"{'is' if is_outcome else 'decides'} the same for "
            f"everyone{f': {two[0]}' if two else ''}"
        )
        raise OptionError(f"'{name}' {always}.", another)
    if len(two) != 2 and column["kind"] != "number":
        held = ", ".join(f"'{one}'" for one in two[:5]) or f"{column['values']:,} texts"
        needed = "A decision is one of two values, and a score is a number."
        needed = (
            "An outcome is an amount or one of two values." if is_outcome else needed
        )
        raise OptionError(
            f"'{name}' holds {held}{', ...' if len(two) > 5 else ''}. {needed}",
            (
                "Choose another column; or name those that mean missing under “Values "
                "that mean missing”."
            ),
        )
    return len(two) == 2


def _choice(given: str, choices: Sequence[str], asked: str) -> str:
    if given not in choices:
        raise OptionError(asked, "Choose one.")
    return given


def _score_from(form: Mapping[str, str]) -> dict[str, str]:
    """Whom a score selects: a percentage from the top, or those at a cutoff or above
    it.
    """
    cut = form.get("cut", "")
    if cut not in ("top", "least"):
        raise OptionError(
            "whom does the score select?",
            "Choose the highest so many percent, or a cutoff.",
        )
    value = number(form.get(cut, ""))
    if value is None or (cut == "top" and not 0 < value < 100):
        what = (
            "the share that it selects, in percent"
            if cut == "top"
            else "the lowest score that is selected"
        )
        raise OptionError(
            f"'{form.get(cut, '')}' is not {what}.", "Write a number, such as 10."
        )
    return {"cut": cut, cut: f"{value:.15g}"}


def hint_of(name: str, role: str) -> str:
    """What a column's name suggests; it stands beside the question, and never answers
    it.
    """
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    if role == "outcome" and any(word.startswith(BAD_NEWS) for word in words):
        return (
            "The name suggests bad news. A lender selects those without it; a "
            "screening, a fraud check or a risk label selects those with it."
        )
    if role == "decision" and any(word.startswith(REFUSING) for word in words):
        return "The name suggests that yes means not selected."
    return ""


def number(text: str) -> float | None:
    """A number as people write it, with a decimal point or comma and perhaps a percent
    sign; otherwise None.
    """
    plain = text.strip().removesuffix("%").strip()
    return (
        float(plain.replace(",", "."))
        if re.fullmatch(r"[-+]?\d*[.,]?\d+|[-+]?\d+[.,]", plain)
        else None
    )


# The question. ----


def measures(answers: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """What accuracy, and what the gap, can be measured by."""
    return (
        (OF_TWO_VALUES, GAPS_OF_TWO_VALUES)
        if answers.get("binary")
        else (OF_AMOUNTS, GAPS_OF_AMOUNTS)
    )


def asked_of(answers: Mapping[str, Any]) -> dict[str, str]:
    """The question as answered, and as the page proposes where it was not."""
    accuracy, _ = measures(answers)
    example = str(DIABETES_SCREENING["accuracy"])
    measure = (
        example
        if answers.get("file") == EXAMPLE and example in accuracy
        else accuracy[0]
    )
    return {
        **DEFAULTS,
        "accuracy": measure,
        "fairness": measure,
        **dict(answers.get("question", {})),
    }


def check_question(
    given: Mapping[str, str], answers: Mapping[str, Any]
) -> dict[str, str]:
    """The answers to the question, each one of those offered."""
    proposed = asked_of({**answers, "question": {}})
    asked = {
        name: str(given.get(name, "")).strip() or proposed[name] for name in DEFAULTS
    }
    accuracies, gaps = measures(answers)
    for name, choices in {**CHOICES, "accuracy": accuracies, "fairness": gaps}.items():
        if asked[name] not in choices:
            raise OptionError(
                f"'{asked[name]}' is not one of the choices.", "Choose from the list."
            )
    for name, most in MAX_PERCENT.items():
        value = number(asked[name])
        if value is None or not 0 <= value <= most:
            raise OptionError(
                f"'{asked[name]}' is not a percentage.",
                f"Write a number from 0 to {most}.",
            )
        asked[name] = f"{value:.15g}"
    return asked


# Options. ----


def options(answers: Mapping[str, Any]) -> list[str]:
    """The options of `check`, `power` and `audit` that the answers amount to."""
    roles, asked, reading = (
        roles_of(answers),
        asked_of(answers),
        answers.get("reading", {}),
    )
    # A column of 0 and 1 already says that 1 is meant.
    plain = [
        name for name in answers.get("flags", ()) if roles.positive.get(name) == "1"
    ]
    meant = [
        quoted(f"{name}={value}")
        for name, value in roles.positive.items()
        if name not in plain
    ]
    if roles.one("decision"):
        algorithm = [("--decision", roles.one("decision"))]
    elif roles.score.get("cut") == "least":
        algorithm = [
            ("--score", roles.one("score")),
            ("--above", roles.score.get("above", roles.score["least"])),
        ]
    else:
        algorithm = [
            ("--score", roles.one("score")),
            ("--capacity", _share(roles.score.get("top", "0"))),
        ]
    if asked["share"] == "same" and algorithm[-1][0] != "--capacity":
        algorithm.append(("--capacity", "same"))
    return _words(
        ("--outcome", roles.one("outcome")),
        *(("--group", quoted(name)) for name in roles.groups),
        (
            "--group-probabilities",
            ",".join(
                quoted(f"{group}={name}") for group, name in roles.probabilities.items()
            ),
        ),
        ("--positive", ",".join(meant)),
        ("--lower-is-better", roles.better == "lower"),
        *algorithm,
        *((f"--{role}", roles.one(role)) for role in ("weight", "cluster", "stratum")),
        *((f"--{name}", answers.get("format", {}).get(name, "")) for name in FORMAT),
        *(("--na", quoted(value)) for value in parse_names(reading.get("na"))),
        ("--strip", reading.get("spelling") == "one"),
        ("--drop-missing", bool(reading.get("drop"))),
        ("--direction", "as stated" if answers.get("stated") else ""),
        *(("--exclude", quoted(name)) for name in roles.of("left_out", "row_id")),
        ("--rule", asked["rule"]),
        ("--accuracy", asked["accuracy"]),
        ("--fairness", asked["fairness"]),
        ("--allow-group", bool(asked["allow_group"])),
        (
            "--selection",
            asked["selection"] if asked["selection"] != DEFAULTS["selection"] else "",
        ),
        (
            "--delta-accuracy",
            f"-{_share(asked['margin'])}" if asked["better"] == "no_worse" else "",
        ),
        ("--delta-fairness", _share(asked["shrink"]) if float(asked["shrink"]) else ""),
        (
            "--scheme",
            asked["procedure"] if asked["procedure"] != DEFAULTS["procedure"] else "",
        ),
        (
            "--alpha",
            _share(asked["alpha"]) if float(asked["alpha"]) != float(LEVEL) else "",
        ),
    )


def audit_options(answers: Mapping[str, Any]) -> list[str]:
    """The same with what `audit` and `check` take and `power` does not."""
    asked, reading = asked_of(answers), answers.get("reading", {})
    return options(answers) + _words(
        ("--row-id", roles_of(answers).one("row_id")),
        (
            "--duplicates",
            reading["duplicates"]
            if reading.get("duplicates") in ("keep", "cluster")
            else "",
        ),
        ("--unknown-outcomes", reading.get("unknown", "")),
        *((f"--{name}", asked[name]) for name in FOR_THE_REPORT),
    )


def _words(*given: tuple[str, str | bool]) -> list[str]:
    """Options as words: one that has no value, or is off, is left out."""
    return [
        word
        for flag, value in given
        if value
        for word in ((flag,) if value is True else (flag, value))
    ]


def quoted(name: str) -> str:
    """A column's name in a list on the command line: in quotes if it has a comma or a
    quote.
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([name])
    return out.getvalue()


def _share(percent: str) -> str:
    return f"{float(percent) / 100:.10g}"
