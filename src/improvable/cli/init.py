"""`improvable init`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typer import Argument, Option

from improvable._text import shown
from improvable.cli.output import check_outputs, in_command, say
from improvable.data.frame import read_rows
from improvable.data.io.safe import write_whole
from improvable.errors import StorageError
from improvable.question.options import (
    COLUMNS,
    READ,
    RULE,
    SAME_SHARE,
    SECTIONS,
    STATUS_QUO,
)
from improvable.question.settings import SETTINGS, section_keys
from improvable.trust.seal import protocol_text

HEAD = """\
# What an audit will ask and do, declared before it runs. Fill in the lines that are marked, and check what was guessed.
# A line that begins with # is not read. If it shows a value, that value holds while nothing else is said.
# Check it: improvable check {name} --data DATA
# Seal it:  improvable seal {name} --data DATA --challenge 'a text the other side draws'
# Run it:   improvable audit {name} --data DATA --out FOLDER
"""  # noqa: E501
MEANINGS = {
    "outcome": "Whom should the algorithm select: those whose {name} is {levels}?",
    "decision": "Which {name} means selected: {levels}?",
}
LEFT_OUT = ("seed", "rule_source")
"""A sealed protocol has no seed, and a digest of code is written by
--write-protocol.
"""
Places = dict[tuple[str, str], Any]  # by a protocol's section and key


def init(
    file: str = Argument(
        metavar="FILE", help="The protocol to write, such as care.toml."
    ),
    data: str | None = Option(
        None, metavar="FILE", help="The data, to guess which column is which."
    ),
) -> int:
    """Write a commented protocol, with the roles of columns guessed.

    Which column is the outcome, the group, the algorithm in use or a weight is guessed
    by names and values. What a value means is never guessed, since a wrong guess would
    answer the opposite question. Lines to fill in are marked; every other setting is
    there too, with what it means and what holds if nothing is said. The protocol is a
    short text file: edit it, then look at the data with improvable check.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable init care.toml --data patients.csv
    """
    from improvable.web.preview import preview

    check_outputs(file)
    place = Path(file)
    if place.exists():
        raise StorageError(
            f"'{file}' already exists.",
            "Name another file; a declared protocol is not overwritten.",
        )
    found = {"columns": [], "roles": {}} if data is None else preview(read_rows(data))
    given, missing = guess_roles(found["columns"], found["roles"])
    write_whole(place, protocol_template(given, missing, place.name).encode())
    say(f"Wrote {file}. Check what was guessed:" if given else f"Wrote {file}.")
    for (section, key), value in given.items():
        say(f"  [{section}] {key} = {value!r}")
    if missing:
        say("Fill in:")
    for (section, key), words in missing.items():
        say(f"  [{section}] {key}: {words}")
    say(
        f"Then: improvable check {in_command(file)} --data "
        f"{'DATA' if data is None else in_command(data)}"
    )
    return 0


def guess_roles(
    columns: Sequence[Mapping[str, Any]], roles: Mapping[str, str]
) -> tuple[Places, Places]:
    """What a protocol can say of columns that `web.preview` describes, and what
    somebody must fill in, in words.
    """
    by_role = {role: name for name, role in roles.items()}
    facts = {column["name"]: column for column in columns}
    if "cluster" not in by_role:
        by_role.pop("stratum", None)  # a stratum is one of clusters
    given: Places = {}
    missing: Places = {}
    for role in ("outcome", "group", "weight", "cluster", "stratum", "row_id"):
        if role in by_role:
            section = SETTINGS[role].section
            given[section, role] = [by_role[role]] if role == "group" else by_role[role]
        elif SETTINGS[role].required or role == "group":
            missing[COLUMNS, role] = SETTINGS[role].help
    if "decision" in by_role:
        given |= {
            (STATUS_QUO, "decision"): by_role["decision"],
            (RULE, "capacity"): SAME_SHARE,
        }
    elif "score" in by_role:
        given[STATUS_QUO, "score"] = by_role["score"]
        share = (
            "The share of people that the score selects, such as 0.03; or above, a "
            "cutoff."
        )
        missing[STATUS_QUO, "capacity"] = share
    else:
        missing[STATUS_QUO, "decision"] = (
            "The column of decisions; or score, with capacity or above."
        )
    asked = {}
    for role, words in MEANINGS.items():
        levels = facts[by_role[role]]["kinds"] if role in by_role else []
        if len(levels) == 2 and (role, levels) != ("decision", ["0", "1"]):
            asked[by_role[role]] = words.format(
                name=by_role[role], levels=" or ".join(map(repr, levels))
            )
    if asked:
        table = ", ".join(f'"{name}" = "..."' for name in asked)
        missing[READ, "positive"] = (
            f"{' '.join(asked.values())} Write positive = {{ {table} }}; of 0 and 1 it "
            "is 1 otherwise."
        )
    lacking = [name for name in by_role.values() if facts[name]["missing"]]
    if lacking:
        counts = ", ".join(
            f"{facts[name]['missing']:,} in '{name}'" for name in lacking
        )
        missing[READ, "drop_missing"] = (
            f"Values are missing: {counts}. true leaves these rows out."
        )
    return given, missing


def protocol_template(given: Places, missing: Places, name: str) -> str:
    """A protocol with every setting: what is given, what is to be filled in, and the
    others as comments.
    """
    given = {(RULE, "name"): SETTINGS["rule"].default, **given}
    known = {
        (section, key): one
        for section in SECTIONS
        for key, one in section_keys(section).items()
    }
    known = {
        here: setting for here, setting in known.items() if setting.name not in LEFT_OUT
    }
    every: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for (section, key), setting in known.items():
        default = (
            None if setting.default is None else setting.kind.plain(setting.default)
        )
        every[section][key] = given.get((section, key), default)
    lines, section = [HEAD.format(name=name)], ""
    for line in protocol_text(every).partition("\n\n")[2].splitlines():
        key, equals, value = line.partition(" = ")
        if line.startswith("["):
            section = line[1:-1]
            lines.append(f"# {SECTIONS[section]}\n{line}")
        elif not equals:
            lines.append(line)
        else:
            setting, here = known[section, key], (section, key)
            if here in missing:
                lines.append(f"# FILL IN. {shown(missing[here])}")
            choices = f" ({' or '.join(setting.choices)})" if setting.choices else ""
            value = f"<{setting.kind.words}>" if value == "null" else value
            lines.append(
                f"{'' if here in given else '# '}{key} = {value}  # "
                f"{setting.help}{choices}"
            )
    return "\n".join(lines) + "\n"
