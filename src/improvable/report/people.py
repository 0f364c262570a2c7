"""The people and the data behind a result: who changes, what drives the candidate, what
the data looked like.
"""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from improvable.inference.diagnostics import KINDS
from improvable.question.catalog import UTILITIES
from improvable.question.settings import as_options
from improvable.report.blocks import Block, Heading, Sentence, Table
from improvable.results.facts import PEOPLE, Facts, PersonFacts
from improvable.results.formatting import value_text

NAMES = {
    "both": "both",
    "only_status_quo": "only the status quo",
    "only_candidate": "only the candidate",
    "neither": "neither",
}
"""Kinds of people, and whom they are selected by."""
MAX_DRIVERS = 10
ROLES = {
    "outcome": "outcome",
    "group": "group",
    "target": "target of the rule",
    "weight": "weight",
    "cluster": "cluster",
    "row_id": "row id",
}


def people_count(kind: PersonFacts) -> str:
    """How many of 1,000 people, to a whole person; a tenth where there are fewer than
    ten.
    """
    return _number(kind["people"])


def _number(people: float) -> str:
    digits = Decimal(1) if people >= 9.95 or people == int(people) else Decimal("0.1")
    return f"{Decimal(people).quantize(digits, ROUND_HALF_UP):,f}"


def people_table(facts: Facts) -> Table:
    """How many of each kind, and their mean outcome; the last row is everyone."""
    rows = tuple(
        (
            group,
            *(
                cell
                for k in KINDS
                for cell in (
                    people_count(kinds[k]),
                    value_text(kinds[k]["mean_outcome"]),
                )
            ),
        )
        for group, kinds in facts["people"].items()
    )
    heads = ("Group", *("people", "mean outcome") * len(KINDS))
    spans = tuple((f"Selected by {NAMES[kind]}", 2) for kind in KINDS)
    note = (
        f"Of {PEOPLE:,} people in each group, and of everyone, on test rows; the "
        f"outcome is {facts['outcome']}."
    )
    return Table("people-table", heads, rows, spans, closing=1, note=note)


def describe_turned(facts: Facts) -> str:
    """How many decisions turn right and how many wrong; nothing where none does either.

    In which groups fewer turn right is said only where accuracy counts right decisions:
    a screening that finds more of the sick has more wrong decisions about the healthy,
    and is asked for the former.
    """
    turned = facts["turned"]
    if turned is None:
        return ""
    right, wrong = _number(turned["right"]), _number(turned["wrong"])
    if right == wrong == "0":
        return ""
    total = _number(sum(float(number.replace(",", "")) for number in (right, wrong)))
    repetitions = facts["repetitions"]
    tested = sum(repetition["rows"] for repetition in repetitions) / len(repetitions)
    whom = f"{_number(round(tested))} people tested"
    if facts["weight"]:
        # rows of unequal weight are not people of equal weight
        whom = f"{PEOPLE:,} people, by weight"
    over = " (means over the repetitions)" if len(repetitions) > 1 else ""
    more = ""
    if _counts_right_decisions(facts):
        more = _describe_not_more_right(facts, turned["not_more_right"])
    return (
        f"The decision changes for {total} of {whom}{over}: {right} go from a wrong "
        f"decision to a right one and {wrong} from a right one to a wrong one, as "
        f"judged by the recorded outcome (1 selected, 0 not){more}."
    )


def _counts_right_decisions(facts: Facts) -> bool:
    """Whether accuracy is the share of right decisions about the outcome."""
    rate = UTILITIES["classification_rate"].words
    return (rate, facts["outcome"]) in [
        (utility["words"], utility["outcome"])
        for utility in facts["accuracy_utilities"]
    ]


def _describe_not_more_right(facts: Facts, groups: Sequence[str]) -> str:
    """In which groups no more decisions turn right than wrong."""
    if len(groups) == len(facts["groups"]):
        return "; in no group are more put right than wrong"
    listed = " and ".join(filter(None, (", ".join(groups[:-1]), *groups[-1:])))
    but = f" but {listed}" if groups else ""
    return f"; more are put right than wrong in every group{but}"


def drivers_of(facts: Facts) -> dict[str, float]:
    """By feature, in falling order: of those the candidate selects, the share whose
    decision changes.
    """
    found: dict[str, float] = facts["repetitions"][0]["rule_notes"].get("drivers", {})
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def driving_section(facts: Facts) -> list[Block]:
    """The features that change most decisions, and how well each tells the group."""
    drivers = drivers_of(facts)
    named = [(name, share) for name, share in drivers.items() if share > 0]
    named = named[:MAX_DRIVERS]
    if not named:
        return []
    looked_at = facts["look"]["features"] if "look" in facts else {}
    columns: list[str] = []
    if looked_at:
        columns = list(next(iter(looked_at.values()))["tells_group"])
    labels = facts["about"].get("labels", {})
    rows = []
    for name, share in named:
        label = labels.get(name, name)
        tells = looked_at[label]["tells_group"] if label in looked_at else {}
        auc = [_digits(tells.get(column)) for column in columns]
        rows.append((label, f"{share:.1%}", *auc))
    heads = ["Feature", "Decisions changed"]
    heads += [f"Tells {column} (AUC)" for column in columns]
    last = "last block of the " if len(facts["blocks"]["cuts"]) > 1 else ""
    note = _describe_drivers(len(drivers) - len(named), has_auc=bool(columns))
    return [
        Heading("What drives the candidate", 3),
        Sentence(
            "What happens if one feature's values are shuffled among held-out rows "
            f"(permutation importance, in the {last}first repetition)."
        ),
        Table("drivers-table", tuple(heads), tuple(rows), note=note),
    ]


def _describe_drivers(rest: int, has_auc: bool) -> str:
    """What the columns mean, and how many features the table leaves out."""
    words = [
        "Decisions changed: of those whom the candidate selects, the share it would "
        "decide otherwise about."
    ]
    if has_auc:
        words.append(
            "AUC: how well the feature alone tells the group; 0.5 is not at all, 1 is "
            "exactly."
        )
    if rest:
        words.append(f"Features that change fewer decisions, or none: {rest:,}.")
    return " ".join(words)


def _digits(share: float | None) -> str:
    return "" if share is None else f"{share:.3f}"


def look_lines(look: Mapping[str, Any]) -> list[str]:
    """What is there: rows, roles, outcomes, groups, and how well the features tell
    them.
    """
    rows = look["rows"]
    lines = [
        f"Rows: {rows['total']:,}, of which {rows['used']:,} are used and "
        f"{rows['looked_at']:,} were looked at."
    ]
    roles = []
    for role, words in ROLES.items():
        names = look["roles"][role]
        roles += (
            [f"{words} {names if isinstance(names, str) else ', '.join(names)}"]
            if names
            else []
        )
    lines.append(f"Columns: {'; '.join(roles)}.")
    lines += [
        (
            f"{one['column']}: {one['values']:,} values from "
            f"{value_text(one['least'])} to {value_text(one['most'])}, mean "
            f"{value_text(one['mean'])}."
        )
        for one in look["outcomes"]
    ]
    for one in look["groups"]:
        mean = one["mean_outcome_selected"]
        chosen = "" if mean is None else f"; their mean outcome is {value_text(mean)}"
        lines.append(
            f"{one['group']}: {one['rows']:,} rows, mean outcome "
            f"{value_text(one['mean_outcome'])}; the status quo selects "
            f"{one['selected'] or 0.0:.1%}{chosen}."
        )
    lines += [
        (
            f"All features together tell {group} with an AUC of {value_text(auc)}; 0.5 "
            "is chance."
        )
        for group, auc in look["features_tell_group"].items()
    ]
    return lines


def feature_table(look: Mapping[str, Any]) -> list[list[str]]:
    """Heads, then every feature: what becomes of it, missing values, how well it alone
    tells outcomes and groups.
    """
    told: list[str] = []
    rows = []
    for name, one in look["features"].items():
        tells = [*one["tells_outcome"].items(), *one["tells_group"].items()]
        told = [f"tells {column}" for column, _ in tells]
        rows.append(
            [
                name,
                one["treatment"],
                f"{one['missing']:,}",
                *(_digits(value) for _, value in tells),
            ]
        )
    return [["feature", "read as", "missing", *told], *rows]


def left_out_lines(look: Mapping[str, Any]) -> list[str]:
    """What no candidate reads, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in look["left_out"].items():
        reasons.setdefault(reason, []).append(name)
    return [
        f"{', '.join(names)}: {as_options(reason)}."
        for reason, names in reasons.items()
    ]
