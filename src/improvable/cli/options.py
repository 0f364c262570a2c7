"""Options of commands: those of settings, made from their declaration, those that
several share, and panels of help.
"""

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from improvable.algorithms.rules import FAMILIES
from improvable.errors import OptionError
from improvable.question import options as o
from improvable.question.catalog import UTILITIES
from improvable.question.settings import SETTINGS, STATUS_QUO_KEYS

# Panels. ----

OUTPUT, OTHERS = "Output", "Options"
PANELS = {section: section.replace("_", " ").capitalize() for section in o.SECTIONS}
"""Where the settings of a protocol's section stand."""
ORDER = ("Arguments", *PANELS.values(), OUTPUT, OTHERS)
of_data, of_status_quo, of_test = (
    partial(typer.Option, rich_help_panel=PANELS[section])
    for section in (o.READ, o.STATUS_QUO, o.TEST)
)
of_output = partial(typer.Option, rich_help_panel=OUTPUT)
METAVARS = {
    "<str>": "TEXT",
    "<list[str]>": "A,B,...",
    "<int>": "N",
    "<float>": "NUMBER",
}
"""Typer's words for kinds of values, and the reader's."""
EXAMPLE_AUDIT = """improvable demo --simulated --write patients.csv
  improvable audit patients.csv --outcome gagne_sum_t --group race \\
      --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t'"""
EXAMPLE_RUN = f"{EXAMPLE_AUDIT} --out run"
"""What stands for {audit} and {run} in the examples of commands."""


class Paneled(TyperCommand):
    """A command whose help has a panel for each kind of option."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in ORDER}
        for one in self.get_params(ctx):
            name, words = one.get_help_record(ctx) or ("", "")
            if one.param_type_name == "argument":
                panels["Arguments"].append((name.removesuffix(" <str>"), words))
            elif name:
                for kind, metavar in METAVARS.items():
                    name = name.replace(kind, metavar)
                panels[getattr(one, "rich_help_panel", None) or OTHERS].append(
                    (name, words)
                )
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def add_command(app: typer.Typer, command: Callable[..., int]) -> None:
    """Make a function a command; the first line of its help is what the list of
    commands says of it, uncut.
    """
    words = inspect.cleandoc(command.__doc__ or "")
    texts = {
        "utilities": utilities_help(),
        "rules": rules_help(),
        "audit": EXAMPLE_AUDIT,
        "run": EXAMPLE_RUN,
    }
    for name, text in texts.items():
        words = words.replace(f"{{{name}}}", text)
    app.command(cls=Paneled, short_help=words.partition("\n")[0], help=words)(command)


def utilities_help() -> str:
    lines = ["\b\nUtilities:"]
    for name, utility in UTILITIES.items():
        words = (
            f"{utility.words}"
            f"{', as a ratio between groups' if utility.between == 'ratio' else ''}"
        )
        lines.append(
            textwrap.fill(
                words, 76, initial_indent=f"  {name:<26} ", subsequent_indent=" " * 29
            )
        )
    return "\n".join(lines) + (
        "\n\nProfit is for decisions that are prices: the price where the outcome, the "
        "most that a person would pay,\n"
        "reaches it, and otherwise 0."
    )


def rules_help() -> str:
    rules = [f"{family.usage} ({family.words})" for family in FAMILIES.values()]
    return textwrap.fill(
        f"Rules: {', '.join(rules)}, or module:object, a rule of your own.", 112
    )


# Options that are not settings. ----

DATA_FILE = (
    "A data file (CSV, Parquet, Excel, Stata, SPSS or SAS) or a folder of Parquet "
    "files, one row per person"
)
Data = Annotated[str, typer.Argument(metavar="DATA", help=f"{DATA_FILE}.")]
Source = Annotated[
    str,
    typer.Argument(metavar="DATA|PROTOCOL.toml", help=f"{DATA_FILE}; or a protocol."),
]
ProtocolData = Annotated[
    str | None, of_data(metavar="FILE", help="With a protocol: the data.")
]
Jobs = Annotated[
    int, of_test(help="Workers; -1 for all cores.", show_default="all cores")
]
Json = Annotated[
    str | None,
    of_output("--json", metavar="FILE", help="Write JSON; - prints only JSON."),
]
Report = Annotated[
    str | None,
    of_output(
        "--report", metavar="FILE", help="Write a report: .html, .pdf, .docx or .md."
    ),
]
Table = Annotated[
    str | None,
    of_output("--table", metavar="FILE", help="Write the table: .tex, .csv or .md."),
]
Ledger = Annotated[
    str | None,
    of_output(
        metavar="FILE",
        help="Record the run in this file.",
        show_default="DATA.ledger, beside the data",
    ),
]
ExitCode = Annotated[
    bool, of_output("--exit-code", help="Exit with 1 when the null is rejected.")
]
Against = Annotated[
    str | None,
    of_output(
        "--against",
        metavar="FILE",
        help=(
            "Compare with an earlier result of the same protocol, a file of --json; "
            "exit with 1 when the verdict or the set of cautions changed."
        ),
    ),
]
MovedBy = Annotated[
    float,
    of_output(
        "--moved-by",
        help="With --against: list estimates that moved by more than this share.",
    ),
]
Verbose = Annotated[
    bool,
    of_output(
        "--verbose",
        help="Print definitions, every repetition and the theory's conditions too.",
    ),
]
Quiet = Annotated[bool, of_output("--quiet", help="Print the verdict line alone.")]


# Settings as options. ----

ASKED, NO_WORSE = "asked", "no_worse"


def with_settings(
    command: str, *, required: bool = False, in_protocol: bool = False
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command an option for each of its settings, in place of its parameter
    `asked`, which gets their values.

    A setting that has no default must be given if `required`; otherwise it may be
    missing from `asked`. With `in_protocol`, only settings that a protocol can hold.
    """
    taken = [
        setting
        for setting in options_of(command)
        if setting.in_protocol or not in_protocol
    ]

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def run(**given: Any) -> int:
            texts = {setting.name: given.pop(setting.name) for setting in taken}
            asked = apply_margin(parsed(taken, texts), given.pop(NO_WORSE))
            return function(**given, **{ASKED: asked})

        parameters = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in inspect.signature(function).parameters.values()
            for one in (
                _with_margin([_option(one, required) for one in taken])
                if parameter.name == ASKED
                else [parameter]
            )
        ]
        vars(run)["__signature__"] = inspect.Signature(
            parameters, return_annotation=int
        )
        run.__annotations__ = {one.name: one.annotation for one in parameters} | {
            "return": int
        }
        return run

    return decorate


def options_of(command: str) -> list[o.Setting]:
    """The settings that a command takes, in order; the status quo's keys stand where it
    does.
    """
    every = (
        [*STATUS_QUO_KEYS.values()] if name == o.STATUS_QUO else [one]
        for name, one in SETTINGS.items()
    )
    return [
        setting for some in every for setting in some if command in setting.commands
    ]


def _option(setting: o.Setting, required: bool) -> inspect.Parameter:
    kind, default = setting.kind, setting.default
    if kind is o.FLAG:
        default = False
    elif kind is o.TEXTS:
        default = list(o.as_names(default)) or None
    elif kind.option is str and isinstance(default, float):
        default = f"{default:g}"
    needed = required and setting.required
    option = typer.Option(
        setting.flag,
        help=setting.flag_help or setting.help,
        metavar=f"[{'|'.join(setting.choices)}]" if setting.choices else None,
        rich_help_panel=PANELS[setting.section],
        show_default=setting.unset or True,
    )
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if needed else default,
        annotation=Annotated[
            kind.option if needed or default is not None else kind.option | None, option
        ],
    )


def _with_margin(options: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Options with --no-worse behind the delta of which it is a spelling."""
    names = [option.name for option in options]
    place = names.index("delta_accuracy") + 1
    words = "The same as a negative --delta-accuracy: 0.01 is no worse by more than 1%."
    option = typer.Option("--no-worse", help=words, rich_help_panel=PANELS[o.CLAIM])
    margin = inspect.Parameter(
        NO_WORSE,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[float | None, option],
    )
    return [*options[:place], margin, *options[place:]]


def apply_margin(asked: dict[str, Any], margin: float | None) -> dict[str, Any]:
    """What is asked, with --no-worse as the negative delta that it is."""
    if margin is None:
        return asked
    if asked["ask"] == "fairness":
        raise OptionError(
            "--no-worse is about accuracy, and only fairness is asked for.",
            "Leave one of them out.",
        )
    o.check_number("--no-worse", margin, 0, 1 if asked["form"] == "ratio" else inf)
    if asked["delta_accuracy"] not in (0, -margin):
        raise OptionError(
            f"--no-worse of {margin:g} contradicts --delta-accuracy.",
            "Give one of them: --no-worse is minus that delta.",
        )
    return {**asked, "delta_accuracy": -margin}


def parsed(taken: list[o.Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of options by setting, without those that were not given and have no
    default.
    """
    values: dict[str, Any] = {}
    for setting in taken:
        value = given[setting.name]
        if value is None:
            continue
        if setting.choices:
            o.check_choice(setting.flag, value, setting.choices)
        if setting.kind is o.FLAG:
            value = setting.default != value
        else:
            try:
                value = setting.kind.parse(value)
            except ValueError:
                shown = value if isinstance(value, str) else ",".join(value)
                raise OptionError(
                    f"{setting.flag} is '{shown}'.", f"Write {setting.kind.example}."
                ) from None
        if value != []:
            values[setting.name] = value
    return values


def completed(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an audit: options that describe the status quo become one."""
    arguments = {name: value for name, value in asked.items() if name in SETTINGS}
    arguments["status_quo"] = status_quo_from(
        {name: asked[name] for name in STATUS_QUO_KEYS if name in asked}
    )
    return arguments


def status_quo_from(given: Mapping[str, Any]) -> dict[str, Any]:
    """The status quo as a protocol has it, from --score, --capacity, --above and
    --decision.
    """
    if ("score" in given) == ("decision" in given):
        raise OptionError(
            "the status quo is a score or a column of decisions.",
            "Give --score S --capacity 0.03, --score S --above 4, or --decision D.",
        )
    if "decision" in given:
        if "above" in given:
            raise OptionError(
                "--above goes with --score.", "A column of decisions needs no cutoff."
            )
        return {"decision": given["decision"]}
    if given.get("capacity") == o.SAME_SHARE and "above" not in given:
        raise OptionError(
            (
                "--capacity same is the share that the status quo selects, and --score "
                "alone selects none."
            ),
            "Give --capacity 0.03, or --score S --above 4 --capacity same.",
        )
    for key in ("above", "capacity"):
        if key in given:
            return {"score": given["score"], key: given[key]}
    raise OptionError(
        "--score needs --capacity or --above.",
        "For example --capacity 0.03 selects the top 3%.",
    )
