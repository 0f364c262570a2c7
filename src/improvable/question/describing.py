"""What is known of one setting: its kind, its words, and where the command line and a protocol have it."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from functools import partial
from typing import Any, Literal, get_args, get_origin

from improvable.question.kinds import TEXT, Kind

AUDIT, COMPARE, POWER = "audit", "compare", "power"
EVERYWHERE, SEARCHING, TESTING = (AUDIT, COMPARE, POWER), (AUDIT, POWER), (AUDIT, COMPARE)
COLUMNS, STATUS_QUO, RULE, CLAIM, TEST, REPORT = "columns", "status_quo", "rule", "claim", "test", "report"
SECTIONS = {
    COLUMNS: "Columns and groups of the data.",
    STATUS_QUO: "The algorithm in use: a decision; or a score with a capacity; or a score with a cutoff (above).",
    RULE: "How a candidate is found, and what it may do.",
    CLAIM: "The improvement to be shown.",
    TEST: "How it is tested.",
    REPORT: "Whose audit this is, and in what words. Nothing here changes a number.",
}
"""Sections of a protocol, in order, with what each is about."""


def about(
    kind: Kind,
    help: str,  # noqa: A002
    *,
    commands: tuple[str, ...],
    section: str = "",
    key: str = "",
    flag: str = "",
    flag_help: str = "",
    unset: str = "",
    needs: tuple[str, str] | None = None,
    identity: bool = True,
) -> dict[str, Any]:
    """The metadata of a field; see `Setting`."""
    return {name: value for name, value in locals().items() if value or name in ("identity", "commands")}


of_columns = partial(about, section=COLUMNS, commands=EVERYWHERE)
of_rule = partial(about, section=RULE, commands=SEARCHING)
of_claim = partial(about, section=CLAIM, commands=EVERYWHERE)
of_test = partial(about, section=TEST)
of_report = partial(about, section=REPORT, commands=TESTING, identity=False)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is known of one setting.

    Attributes
    ----------
    name : str
        In Python.
    help : str
        What it means, in one line.
    kind : Kind
    commands : tuple of str
        Commands that take it.
    section, key : str
        Where a protocol has it; nowhere without a section.
    flag : str
        How the command line spells it. A flag that takes no value turns the default around.
    flag_help : str
        What the flag does, where that is not `help`.
    unset : str
        What holds where it is None, in words.
    needs : pair of str, optional
        The setting and its value without which this one means nothing.
    identity : bool
        Whether two runs that differ in it are two audits.
    default : Any
    required : bool
    choices : tuple of str
        The only texts that are allowed; any text where empty.
    """

    name: str
    help: str
    kind: Kind
    commands: tuple[str, ...]
    section: str = ""
    key: str = ""
    flag: str = ""
    flag_help: str = ""
    unset: str = ""
    needs: tuple[str, str] | None = None
    identity: bool = True
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()


def described(name: str, annotation: Any, default: Any, metadata: Mapping[str, Any]) -> Setting:
    """The setting that a field declares; its key and flag are its name where it says nothing else."""
    spelled = {"key": name, "flag": f"--{name.replace('_', '-')}", **metadata}
    required = default is MISSING
    return Setting(
        name=name,
        default=None if required else default,
        required=required,
        choices=_choices(annotation) if metadata["kind"] is TEXT else (),
        **spelled,
    )


def _choices(annotation: Any) -> tuple[str, ...]:
    """The texts of a Literal, also where None is allowed beside it."""
    for part in (annotation, *get_args(annotation)):
        if get_origin(part) is Literal:
            return get_args(part)
    return ()
