"""`improvable init`: an audit's options, or guesses from data, become a protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from typer import Argument, Option

from improvable.algorithms.rules.own_code import source_digest
from improvable.cli import options as o
from improvable.cli.output import check_outputs, in_command, say
from improvable.data.frame import read_rows
from improvable.data.io.safe import write_whole
from improvable.errors import StorageError
from improvable.procedure.plan import make_plan
from improvable.procedure.prepare import prepare_audit
from improvable.question.options import (
    COLUMNS,
    GROUPS,
    READ,
    RULE,
    SAME_SHARE,
    STATUS_QUO,
)
from improvable.question.protocol import Declaration, declare, from_declaration
from improvable.question.settings import (
    SETTINGS,
    STATUS_QUO_KEYS,
    Settings,
    section_keys,
)
from improvable.trust.seal import default_of, protocol_text

MEANINGS = {
    "outcome": "Whom should the algorithm select: those whose {name} is {levels}?",
    "decision": "Which {name} means selected: {levels}?",
}
Places = dict[tuple[str, str], Any]  # by a protocol's section and key


@o.with_settings("audit", in_protocol=True)
def init(
    file: str = Argument(
        metavar="FILE", help="The protocol to write, such as care.toml."
    ),
    data: str | None = Option(
        None,
        metavar="FILE",
        help="The data: to guess which column is which, or to check the options.",
    ),
    *,
    asked: dict[str, Any],
) -> int:
    """Write a commented protocol, from options or guesses.

    It takes the options of improvable audit, and the protocol says what they say.
    Unless one of them names a column, the outcome, the group, the algorithm in use and
    weights are guessed by names and values of the data. What a value means is never
    guessed, since a wrong guess would answer the opposite question. Lines to fill in
    are marked; every other setting is there too, with what it means and what holds if
    nothing is said. The protocol is a short text file: edit it, then look at the data
    with improvable check.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable init care.toml --data patients.csv

    All of an audit in options; nothing is guessed, and the data are checked:

    \b
      improvable init all.toml --data patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t'
    """
    check_outputs(file)
    place = Path(file)
    if place.exists():
        raise StorageError(
            f"'{file}' already exists.",
            "Name another file; a declared protocol is not overwritten.",
        )
    given = declare_options(asked)
    guessed: Places = {}
    missing: Places = {}
    if any(section in (COLUMNS, STATUS_QUO) for section, _ in given):
        missing = find_missing(given)
        if not missing:
            check_question(given, data)
    else:
        guessed, missing = guess_from(data)
        guessed = {where: guessed[where] for where in guessed if where not in given}
        missing = {where: missing[where] for where in missing if where not in given}
    text = protocol_text(as_declaration(guessed | given), place.name, missing)
    write_whole(place, text.encode())
    say_written(file, data, guessed, missing)
    return 0


def declare_options(asked: Mapping[str, Any]) -> Places:
    """What a protocol says of options; not those that are as by default."""
    arguments = {name: value for name, value in asked.items() if name in SETTINGS}
    arguments = {"outcome": "", "status_quo": {}, **arguments}
    if asked.keys() & STATUS_QUO_KEYS.keys() - {"capacity"}:
        arguments["status_quo"] = o.completed(asked)["status_quo"]
    settings = Settings(**arguments)
    if settings.rule_source is None:
        settings = replace(settings, rule_source=source_digest(settings.rule))
    declared = declare(settings)
    assert declared is not None, "options of the command line are names"
    given: Places = {}
    for section, keys in declared.items():
        for key, value in keys.items():
            if value not in ("", default_of(section_keys(section)[key])):
                given[section, key] = value
    return given


def as_declaration(given: Places) -> Declaration:
    """What is given, section by section, with the rule, which a protocol must say."""
    declared: Declaration = {RULE: {"name": SETTINGS["rule"].default}}
    for (section, key), value in given.items():
        declared.setdefault(section, {})[key] = value
    return declared


def check_question(given: Places, data: str | None) -> None:
    """Refuse a question that is complete and cannot be asked, of the data if any."""
    settings = from_declaration(as_declaration(given))
    if data is None:
        make_plan(settings)
    else:
        prepare_audit(data, settings)


def say_written(file: str, data: str | None, guessed: Places, missing: Places) -> None:
    """Say what was guessed, what is to be filled in, and what comes next."""
    say(f"Wrote {file}. Check what was guessed:" if guessed else f"Wrote {file}.")
    for (section, key), value in guessed.items():
        say(f"  [{section}] {key} = {value!r}")
    if missing:
        say("Fill in:")
    for (section, key), words in missing.items():
        say(f"  [{section}] {key}: {words}")
    rows = "DATA" if data is None else in_command(data)
    say(f"Then: improvable check {in_command(file)} --data {rows}")


def find_missing(given: Places) -> Places:
    """What somebody must fill in, in words: columns and the algorithm in use."""
    missing: Places = {}
    if (COLUMNS, "outcome") not in given:
        missing[COLUMNS, "outcome"] = SETTINGS["outcome"].help
    if not {(COLUMNS, "group"), (GROUPS, "probabilities")} & given.keys():
        missing[COLUMNS, "group"] = SETTINGS["group"].help
    keys = {key for section, key in given if section == STATUS_QUO}
    if not keys:
        missing[STATUS_QUO, "decision"] = (
            "The column of decisions; or score, with capacity or above."
        )
    elif keys == {"score"}:
        missing[STATUS_QUO, "capacity"] = (
            "The share of people that the score selects, such as 0.03; or above, a "
            "cutoff."
        )
    return missing


def guess_from(data: str | None) -> tuple[Places, Places]:
    """What data suggest, and what somebody must fill in."""
    if data is None:
        return {}, find_missing({})
    from improvable.web.preview import preview

    seen = preview(read_rows(data))
    return guess_roles(seen["columns"], seen["roles"])


def guess_roles(
    columns: Sequence[Mapping[str, Any]], roles: Mapping[str, str]
) -> tuple[Places, Places]:
    """What a protocol can say of columns that `web.preview` describes, and what
    somebody must fill in, in words.
    """
    by_role = {role: name for name, role in roles.items()}
    if "cluster" not in by_role:
        by_role.pop("stratum", None)  # a stratum is one of clusters
    given: Places = {}
    for role in ("outcome", "group", "weight", "cluster", "stratum", "row_id"):
        if role in by_role:
            setting = SETTINGS[role]
            given[setting.section, role] = setting.kind.plain(by_role[role])
    if "decision" in by_role:
        given[STATUS_QUO, "decision"] = by_role["decision"]
        given[RULE, "capacity"] = SAME_SHARE
    elif "score" in by_role:
        given[STATUS_QUO, "score"] = by_role["score"]
    facts = {column["name"]: column for column in columns}
    missing = find_missing(given) | ask_meanings(by_role, facts)
    lacking = [name for name in by_role.values() if facts[name]["missing"]]
    if lacking:
        counts = ", ".join(
            f"{facts[name]['missing']:,} in '{name}'" for name in lacking
        )
        missing[READ, "drop_missing"] = (
            f"Values are missing: {counts}. true leaves these rows out."
        )
    return given, missing


def ask_meanings(
    by_role: Mapping[str, str], facts: Mapping[str, Mapping[str, Any]]
) -> Places:
    """The question which of two values is meant, of outcome and decision."""
    questions = {}
    for role, words in MEANINGS.items():
        levels = facts[by_role[role]]["kinds"] if role in by_role else []
        if len(levels) == 2 and (role, levels) != ("decision", ["0", "1"]):
            listed = " or ".join(map(repr, levels))
            questions[by_role[role]] = words.format(name=by_role[role], levels=listed)
    if not questions:
        return {}
    table = ", ".join(f'"{name}" = "..."' for name in questions)
    words = " ".join(questions.values())
    return {
        (READ, "positive"): (
            f"{words} Write positive = {{ {table} }}; of 0 and 1 it is 1 otherwise."
        )
    }
