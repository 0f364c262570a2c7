"""The people and the data behind a result: who changes, what drives the candidate, what
the data looked like.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from improvable.inference.diagnostics import KINDS
from improvable.inference.evidence import EVERYONE
from improvable.question.catalog import UTILITIES
from improvable.question.settings import as_options
from improvable.report.blocks import Block, Heading, Sentence, Table
from improvable.results.facts import PEOPLE, WAYS, Facts, PersonFacts, TurnFacts
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


def people_count(kind: PersonFacts | TurnFacts) -> str:
    """How many of 1,000 people, to a whole person; a tenth where there are fewer than
    ten.
    """
    return _number(kind["people"])


def _number(people: float) -> str:
    digits = Decimal(1) if people >= 9.95 or people == int(people) else Decimal("0.1")
    return f"{Decimal(people).quantize(digits, ROUND_HALF_UP):,f}"


def people_table(facts: Facts) -> Table:
    """How many of each kind, and their mean outcome."""
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
        f"Of {PEOPLE:,} people in each group, on test rows; the outcome is "
        f"{facts['outcome']}."
    )
    return Table("people-table", heads, rows, spans, note=note)


def turned_table(facts: Facts) -> Table:
    """Of every group, and of everyone, how many decisions turn right, and how many
    wrong.
    """
    found = {
        group: facts["right_and_wrong"][group] for group in (*facts["groups"], EVERYONE)
    }
    rows = tuple(
        (
            group,
            *(
                cell
                for way in WAYS
                for cell in (people_count(ways[way]), _number(ways[way]["rows"]))
            ),
        )
        for group, ways in found.items()
    )
    spans = tuple(
        (f"From {words}", 2) for words in ("wrong to right", "right to wrong")
    )
    note = (
        f"People: of {PEOPLE:,} in each "
        f"group{', by weight' if facts['weight'] else ''}. Rows: of the test rows. A "
        f"decision is right where it equals the recorded outcome, {facts['outcome']}: "
        "selected with 1, not with 0."
    )
    return Table(
        "turned-table",
        ("Group", *("people", "rows") * 2),
        rows,
        spans,
        closing=1,
        note=note,
    )


def turned_words(facts: Facts) -> str:
    """How many decisions turn right and how many wrong; nothing where none does either.

    In which groups fewer turn right is said only where accuracy counts right decisions:
    a screening that finds more of the sick has more wrong decisions about the healthy,
    and is asked for the former.
    """
    # rows of unequal weight are not people of equal weight
    counted = "people" if facts["weight"] else "rows"
    found = {
        group: [ways[way][counted] for way in WAYS]  # type: ignore[literal-required]
        for group, ways in facts["right_and_wrong"].items()
    }
    right, wrong = map(_number, found.pop(EVERYONE, (0.0, 0.0)))
    if right == wrong == "0":
        return ""
    repetitions = facts["repetitions"]
    tested = _number(
        PEOPLE
        if facts["weight"]
        else round(sum(one["rows"] for one in repetitions) / len(repetitions))
    )
    total = _number(sum(float(one.replace(",", "")) for one in (right, wrong)))
    over = " (means over the repetitions)" if len(repetitions) > 1 else ""
    more, rate = "", UTILITIES["classification_rate"].words
    if any(
        (one["words"], one["outcome"]) == (rate, facts["outcome"])
        for one in facts["accuracy_utilities"]
    ):
        fewer = [group for group, (better, worse) in found.items() if better <= worse]
        but = (
            f" but {' and '.join(filter(None, (', '.join(fewer[:-1]), fewer[-1])))}"
            if fewer
            else ""
        )
        more = f"; more are put right than wrong in every group{but}"
        more = (
            "; in no group are more put right than wrong"
            if len(fewer) == len(found)
            else more
        )
    return (
        f"The decision changes for {total} of {tested} "
        f"people{', by weight' if facts['weight'] else ' tested'}{over}: {right} go "
        f"from a wrong decision to a right one and {wrong} from a right one to a wrong "
        f"one, as judged by the recorded outcome (1 selected, 0 not){more}."
    )


def drivers_of(facts: Facts) -> dict[str, float]:
    """By feature, in falling order: of those the candidate selects, the share whose
    decision changes.
    """
    found: dict[str, float] = facts["repetitions"][0]["rule_notes"].get("drivers", {})
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def driving_section(facts: Facts) -> list[Block]:
    """The features that matter most, with their worth in accuracy, and how each goes
    with the group by itself.
    """
    drivers = drivers_of(facts)
    named = [(name, share) for name, share in drivers.items() if share > 0][
        :MAX_DRIVERS
    ]
    if not named:
        return []
    labels, tells = (
        facts["about"].get("labels", {}),
        facts["look"]["features"] if "look" in facts else {},
    )
    worth: dict[str, Any] = facts["repetitions"][0]["rule_notes"].get("importance", {})
    told = list(next(iter(tells.values()))["tells_group"]) if tells else []
    columns = next(iter(worth.values()))["correlation"] if worth else {}
    # Of two groups the one that is worse off: the other's correlation is the same with
    # its sign turned.
    worse = {gap["group"]: gap["worse_off"] for gap in reversed(facts["disparities"])}
    alone = {
        name: worse.get(labels.get(name, name)) if len(levels) == 2 else None
        for name, levels in columns.items()
    }
    heads = ["Feature", "Decisions changed", *["Accuracy lost"] * bool(worth)]
    heads += [
        f"Correlation with {group}"
        if group
        else f"Largest correlation by {labels.get(name, name)}"
        for name, group in alone.items()
    ]
    heads += [f"Tells {group} (AUC)" for group in told]
    rows = []
    for name, share in named:
        label, mine = labels.get(name, name), worth.get(name)
        cells = [label, f"{share:.1%}"]
        if mine is not None:
            cells.append(value_text(mine["accuracy_loss"]))
            cells += [
                _correlation(mine["correlation"][column], group)
                for column, group in alone.items()
            ]
        elif worth:
            cells += [""] * (1 + len(alone))
        found = tells[label]["tells_group"] if label in tells else {}
        rows.append((*cells, *(_digits(found.get(group)) for group in told)))
    rest = len(drivers) - len(named)
    others = (
        f" Features that change fewer decisions, or none: {rest:,}." if rest else ""
    )
    return [
        Heading("What drives the candidate", 3),
        Sentence(
            "What happens if one feature's values are shuffled among held-out rows "
            "(permutation importance, in the "
            f"{'last block of the ' if len(facts['blocks']['cuts']) > 1 else ''}first "
            "repetition)."
        ),
        Table(
            "drivers-table",
            tuple(heads),
            tuple(rows),
            note=_driver_words(facts, bool(worth), bool(told)) + others,
        ),
    ]


def _driver_words(facts: Facts, worth: bool, told: bool) -> str:
    said = [
        "Decisions changed: of those whom the candidate selects, the share it would "
        "decide otherwise about."
    ]
    if worth:
        measure = facts["accuracy_utilities"][0]["name"]
        said += [
            (
                f"Accuracy lost: how much worse accuracy ({measure}) would be over "
                "everyone; below zero is better. The cutoff stays, so that the share "
                "selected may move."
            ),
            (
                "Correlation: of the feature with being in the group, from -1 to 1; "
                "none where the feature is not a number or does not vary."
            ),
        ]
    if told:
        said.append(
            "AUC: how well the feature alone tells the group; 0.5 is not at all, 1 is "
            "exactly."
        )
    return " ".join(said)


def _correlation(by_group: Mapping[str, float | None], group: str | None) -> str:
    """The correlation of one feature with a group; by default the largest, with the
    group it is with.
    """
    found = {name: value for name, value in by_group.items() if value is not None}
    if not found:
        return "none"
    largest = group or max(found, key=lambda one: abs(found[one]))
    return f"{found[largest]:.2f}" + ("" if group else f", {largest}")


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
