"""What was answered about the columns: the outcome, the groups, the algorithm in use, and what their values mean.

A form is what the page holds, answers are what is kept. The page proposes columns by their names; what a value means
is never proposed, because a wrong guess would answer the opposite question.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from improvable.data.recoding import same_value
from improvable.errors import OptionError
from improvable.question.checks import parse_names

OTHERS = {
    "feature": "a candidate may read it",
    "left_out": "leave it out",
    "group": "more groups to compare",
    "row_id": "id of a row",
    "weight": "sampling weight",
    "cluster": "which rows belong together",
    "stratum": "survey stratum",
}
"""What a column can be that is none of the three."""
SINGLE = ("row_id", "weight", "cluster", "stratum")
FORMAT = ("sheet", "separator", "decimal", "encoding")
READING = ("na", "spelling", "drop", "duplicates")
BAD_NEWS = (
    "default", "churn", "fraud", "delinquen", "charge", "late", "recid", "rearrest", "arrest", "dropout", "died",
    "death", "bad", "sick", "diabet", "disease", "readmi",
)  # fmt: skip
"""How names begin whose yes is no good news; whether it is to be found or to be avoided, only a person knows."""
REFUSING = ("denied", "deny", "denial", "reject", "declin", "refus")


@dataclass(frozen=True)
class Roles:
    """What each column is.

    Attributes
    ----------
    by_name : mapping
        From a column to its role.
    positive : mapping
        From the outcome and the decisions to the value that should be, or is, selected, where they have two.
    better : str
        Of an amount, whether those with "higher" or "lower" ones should be selected.
    score : mapping
        Of a score: "top" with a percentage, or "least" with a number and the cutoff "above" that amounts to it.
    """

    by_name: Mapping[str, str]
    positive: Mapping[str, str] = field(default_factory=dict)
    better: str = ""
    score: Mapping[str, str] = field(default_factory=dict)

    def of(self, role: str) -> list[str]:
        """The columns of a role."""
        return [name for name, its in self.by_name.items() if its == role]

    def one(self, role: str) -> str:
        """The column of a role; empty where there is none."""
        return next(iter(self.of(role)), "")

    @property
    def algorithm(self) -> str:
        """The column of the algorithm in use."""
        return self.one("decision") or self.one("score")


def roles_of(answers: Mapping[str, Any]) -> Roles:
    """The roles that were answered."""
    kept = (dict(answers.get(name, {})) for name in ("roles", "positive", "score"))
    roles, positive, score = kept
    return Roles(roles, positive, str(answers.get("better", "")), score)


def form_of(answers: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, str]:
    """The form as it was answered; where nothing was, with columns that their names suggest."""
    places = {column["name"]: str(place) for place, column in enumerate(found.get("columns", []))}
    roles = roles_of(answers if "roles" in answers else {"roles": found.get("roles", {})})
    outcome, group = roles.one("outcome"), roles.one("group")
    form = {"outcome": places.get(outcome, ""), "group": places.get(group, "")}
    form["algorithm"] = places.get(roles.algorithm, "")
    for name, value in roles.positive.items():
        form[f"{'outcome' if name == outcome else 'decision'}-{places[name]}"] = value
    for name, role in roles.by_name.items():
        if role in OTHERS and name != group:
            form[f"role-{places[name]}"] = role
    form |= {"better": roles.better, **{name: str(roles.score.get(name, "")) for name in ("cut", "top", "least")}}
    return form | {name: str(answers.get("reading", {}).get(name, "")) for name in READING}


def answers_from(form: Mapping[str, str], found: Mapping[str, Any]) -> dict[str, Any]:
    """The answers that a form amounts to; what makes no question is refused, in the page's own words."""
    columns = {str(place): column for place, column in enumerate(found["columns"])}
    outcome = _chosen(form, "outcome", columns, "no column says how each person fared.")
    group = _chosen(form, "group", columns, "no column has the groups to compare.")
    algorithm = _chosen(form, "algorithm", columns, "no column says what the algorithm in use decided.")
    if len({outcome, group, algorithm}) < 3:
        raise OptionError("one column is chosen twice.", "The outcome, the groups and the algorithm are three columns.")
    roles = {column["name"]: _other(form, place) for place, column in columns.items()}
    for role in SINGLE:
        twice = [name for place, name in _rest(columns, outcome, group, algorithm) if _other(form, place) == role]
        if len(twice) > 1:
            raise OptionError(f"{_named(twice)} are both '{OTHERS[role]}'.", "Choose one of them.")
    reading = {name: form.get(name, "").strip() for name in READING}
    na = parse_names(reading["na"])
    for place in (outcome, group, algorithm):
        _check_spelling(columns[place], reading["spelling"], na)
    positive: dict[str, str] = {}
    better = ""
    two = kinds(columns[outcome], reading["spelling"], na)
    if _check_outcome(columns[outcome], two):
        name = columns[outcome]["name"]
        asked = f"whom should the algorithm select: those whose '{name}' is '{two[0]}', or '{two[-1]}'?"
        positive[name] = _value(form.get(f"outcome-{outcome}", ""), two, asked)
    else:
        better = form.get("better", "")
        if better not in ("higher", "lower"):
            raise OptionError(f"whom should the algorithm select: those with a higher '{columns[outcome]['name']}', "
                              "or a lower one?", "Choose one.")  # fmt: skip
    two = kinds(columns[algorithm], reading["spelling"], na)
    decides = _check_algorithm(columns[algorithm], two)
    score = {} if decides else score_from(form)
    if decides:
        name = columns[algorithm]["name"]
        positive[name] = _value(form.get(f"decision-{algorithm}", ""), two, f"which value of '{name}' means selected?")
    roles |= {columns[outcome]["name"]: "outcome", columns[group]["name"]: "group"}
    roles[columns[algorithm]["name"]] = "decision" if decides else "score"
    return {
        "roles": roles, "positive": positive, "better": better, "score": score, "reading": reading,
        "binary": not better, "flags": [columns[place]["name"] for place in (outcome, algorithm)
                                        if set(columns[place]["levels"]) == {"0", "1"}],
    }  # fmt: skip


def score_from(form: Mapping[str, str]) -> dict[str, str]:
    """Whom a score selects: the highest so many percent, or those with so much or more."""
    cut = form.get("cut", "")
    if cut not in ("top", "least"):
        raise OptionError("whom does the score select?", "Choose the highest so many percent, or a cutoff.")
    value = number(form.get(cut, ""))
    if value is None or (cut == "top" and not 0 < value < 100):
        what = "the share that it selects, in percent" if cut == "top" else "the lowest score that is selected"
        raise OptionError(f"'{form.get(cut, '')}' is not {what}.", "Write a number, such as 10.")
    return {"cut": cut, cut: f"{value:.15g}"}


def kinds(column: Mapping[str, Any], spelling: str, na: Sequence[str]) -> list[str]:
    """The values of a column with few of them, as they are read."""
    levels = column["levels"] if spelling == "apart" else column["kinds"]
    return [level for level in levels if not any(same_value(gone, level) for gone in na)]


def hint_of(name: str, role: str) -> str:
    """What a column's name suggests, beside the question and never instead of it."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    if role == "outcome" and any(word.startswith(BAD_NEWS) for word in words):
        return (
            "The name suggests bad news. A lender selects those without it; a screening, a fraud check or a risk label "
            "selects those with it."
        )
    if role == "decision" and any(word.startswith(REFUSING) for word in words):
        return "The name suggests that yes means not selected."
    return ""


def number(text: str) -> float | None:
    """A number as people write it, with a decimal point or comma, perhaps with a percent sign; None where it is none.

    Examples
    --------
    >>> number("2,5 %"), number("0.5"), number("1,000.5"), number("x")
    (2.5, 0.5, None, None)
    """
    plain = text.strip().removesuffix("%").strip()
    return float(plain.replace(",", ".")) if re.fullmatch(r"[-+]?\d*[.,]?\d+|[-+]?\d+[.,]", plain) else None


def _chosen(form: Mapping[str, str], role: str, columns: Mapping[str, Any], lacking: str) -> str:
    place = form.get(role, "")
    if place not in columns:
        raise OptionError(lacking, "Choose one.")
    return place


def _other(form: Mapping[str, str], place: str) -> str:
    role = form.get(f"role-{place}", "feature")
    return role if role in OTHERS else "feature"


def _rest(columns: Mapping[str, Any], *taken: str) -> list[tuple[str, str]]:
    return [(place, column["name"]) for place, column in columns.items() if place not in taken]


def _check_spelling(column: Mapping[str, Any], spelling: str, na: Sequence[str]) -> None:
    alike = [texts for texts in column["alike"] if not any(same_value(gone, texts[0]) for gone in na)]
    if alike and spelling not in ("one", "apart"):
        raise OptionError(
            f"{' and '.join(map(repr, alike[0]))} of '{column['name']}' differ only in capitals or spaces.",
            "Say below whether they are one value.",
        )


def _check_outcome(column: Mapping[str, Any], two: Sequence[str]) -> bool:
    """Whether the outcome has two values; what is no outcome is refused."""
    name = column["name"]
    if column["id"]:
        raise OptionError(f"'{name}' is different in every row: it is an id, not how people fared.", "Choose another.")
    if len(two) == 1 or not column["values"]:
        raise OptionError(f"'{name}' is the same for everyone{f': {two[0]}' if two else ''}.", "Choose another.")
    if len(two) != 2 and column["kind"] != "number":
        raise _many(column, two, "An outcome is an amount or one of two values.")
    return len(two) == 2


def _check_algorithm(column: Mapping[str, Any], two: Sequence[str]) -> bool:
    """Whether the algorithm is a column of decisions, of which there are two; otherwise it is a score."""
    name = column["name"]
    if column["id"]:
        raise OptionError(f"'{name}' is different in every row: it is an id.", "Choose the decisions, or the score.")
    if len(two) == 1 or not column["values"]:
        always = f" ('{two[0]}')" if two else ""
        raise OptionError(f"'{name}' decides the same for everyone{always}.", "Choose one that tells people apart.")
    if len(two) != 2 and column["kind"] != "number":
        raise _many(column, two, "A decision is one of two values, and a score is a number.")
    return len(two) == 2


def _many(column: Mapping[str, Any], two: Sequence[str], needed: str) -> OptionError:
    held = ", ".join(f"'{one}'" for one in two[:5]) + (", ..." if len(two) > 5 else "")
    held = held or f"{column['values']:,} texts"
    return OptionError(
        f"'{column['name']}' holds {held}. {needed}",
        "Choose another column; or name those that mean missing under “Values that mean missing”.",
    )


def _value(given: str, two: Sequence[str], asked: str) -> str:
    if given not in two:
        raise OptionError(asked, "Choose one.")
    return given


def _named(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)
